//! A host for programs under test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_core::Signal;
use callgate_core::program::{
    ErrorClass, FailureKind, Namespace, Program, ProgramCall, ProgramEnd, ProgramEngine,
    ProgramHost, Reply,
};
use callgate_engine::{TypeScript, TypeScriptBuilder};
use callgate_schema::{Json, Str};

/// A host whose functions answer at once, and which remembers its calls.
#[derive(Default)]
pub(crate) struct Host {
    pub(crate) calls: Mutex<Vec<(String, Json)>>,
    /// Replies of calls to `hold`, which nobody answers.
    pub(crate) held: Mutex<Vec<Reply>>,
}

pub(crate) const MEMBERS: &[&str] =
    &["echo", "fail", "hold", "later", "__proto__", "constructor", "a-b", ""];

impl ProgramHost for Host {
    fn call(&self, call: ProgramCall, reply: Reply) {
        self.calls.lock().unwrap().push((call.member.to_string(), call.arguments.clone()));
        match &*call.member {
            "fail" => {
                reply.send(Err(call.arguments.as_str().unwrap_or("failed").to_owned()));
            }
            "hold" => self.held.lock().unwrap().push(reply),
            "later" => drop(std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(call.arguments.as_u64().unwrap_or(1)));
                reply.send(Ok(call.arguments));
            })),
            _ => reply.send(Ok(call.arguments)),
        }
    }
}

/// The namespace of every test: `tools`, with its error class.
pub(crate) fn tools() -> Namespace {
    let members = MEMBERS.iter().map(|name| Str::from(*name)).collect();
    Namespace::new("tools", members, Some(ErrorClass::new("ToolCallError", "toolName")))
}

pub(crate) fn engine() -> TypeScriptBuilder {
    TypeScript::in_process()
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Runs a program on an engine with these limits.
pub(crate) fn run_on(engine: TypeScriptBuilder, source: &str) -> (ProgramEnd, Arc<Host>) {
    let host = Arc::new(Host::default());
    let program = Program::new(source, vec![tools()]);
    let end = block_on(engine.build().unwrap().run(program, host.clone(), Signal::new())).unwrap();
    (end, host)
}

pub(crate) fn run(source: &str) -> ProgramEnd {
    run_on(engine(), source).0
}

/// The value of a program that must succeed.
#[track_caller]
pub(crate) fn value(source: &str) -> Option<Json> {
    let end = run(source);
    assert_eq!(end.failure, None, "{source}");
    end.value
}

/// Checks what a program returns, as JSON text.
#[track_caller]
pub(crate) fn returns(source: &str, expected: &str) {
    assert_eq!(value(source).map(|value| value.to_string()).as_deref(), Some(expected), "{source}");
}

/// Checks what a program logs.
#[track_caller]
pub(crate) fn logs(source: &str, expected: &[&str]) {
    let end = run(source);
    let logs: Vec<&str> = end.logs.iter().map(|entry| &**entry).collect();
    assert_eq!((logs, end.failure), (expected.to_vec(), None), "{source}");
}

/// The kind and the message of the failure of a program.
#[track_caller]
pub(crate) fn failure(source: &str) -> (FailureKind, String) {
    failure_on(engine(), source)
}

#[track_caller]
pub(crate) fn failure_on(engine: TypeScriptBuilder, source: &str) -> (FailureKind, String) {
    let (end, _) = run_on(engine, source);
    let failure = end.failure.unwrap_or_else(|| panic!("{source} did not fail: {:?}", end.value));
    assert_eq!(end.value, None, "a failed run has no value");
    (failure.kind, failure.message)
}

/// Checks that a program fails with that kind, and with a message that contains a text.
#[track_caller]
pub(crate) fn fails(source: &str, kind: FailureKind, text: &str) {
    let (actual, message) = failure(source);
    assert_eq!(actual, kind, "{source}: {message}");
    assert!(message.contains(text), "{source}: {message}");
}

/// How many containers a value has inside each other.
pub(crate) fn nested(value: &Json) -> usize {
    let mut depth = 0;
    let mut current = value;
    loop {
        let next = match current {
            Json::Array(items) => items.first(),
            Json::Object(members) => members.values().next(),
            _ => return depth,
        };
        let Some(inner) = next else { return depth + 1 };
        depth += 1;
        current = inner;
    }
}

/// An example, next to the test binary. `cargo test` builds it; where only the tests were built it
/// is built here.
pub(crate) fn example(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let profile = tests.ancestors().nth(2).unwrap();
    let path = profile.join("examples").join(name);
    let made = |path: &Path| path.metadata().and_then(|about| about.modified()).ok();
    if made(&path).is_none_or(|example| Some(example) < made(&tests)) {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--example", name, "--manifest-path"]);
        cargo.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        cargo.arg("--target-dir").arg(profile.parent().unwrap());
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "the example builds");
    }
    assert!(path.exists(), "`cargo build --example {name}` makes {}", path.display());
    path
}
