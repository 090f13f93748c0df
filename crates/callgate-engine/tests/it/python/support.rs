//! Engines for Python programs, and their programs.

use std::sync::{Arc, OnceLock};

use callgate_core::Signal;
use callgate_core::program::{FailureKind, Program, ProgramEnd, ProgramEngine, ProgramFailure};
use callgate_engine::{Python, PythonEngine};
use callgate_schema::Json;

use crate::support::{Host, block_on, tools};

/// One engine for all tests without limits of their own.
pub(crate) fn engine() -> &'static PythonEngine {
    static ENGINE: OnceLock<PythonEngine> = OnceLock::new();
    ENGINE.get_or_init(|| Python::worker().build().unwrap())
}

pub(crate) fn run(engine: &dyn ProgramEngine, source: &str, host: &Arc<Host>) -> ProgramEnd {
    block_on(engine.run(Program::new(source, vec![tools()]), host.clone(), Signal::new())).unwrap()
}

/// The value of a program that must succeed.
#[track_caller]
pub(crate) fn value(source: &str) -> Option<Json> {
    let end = run(engine(), source, &Arc::default());
    assert_eq!(end.failure, None, "{source}");
    end.value
}

/// Checks what a program returns, as JSON text.
#[track_caller]
pub(crate) fn returns(source: &str, expected: &str) {
    assert_eq!(value(source).map(|value| value.to_string()).as_deref(), Some(expected), "{source}");
}

#[track_caller]
pub(crate) fn failed(end: ProgramEnd, source: &str) -> ProgramFailure {
    assert_eq!(end.value, None, "a failed run has no value");
    end.failure.unwrap_or_else(|| panic!("{source} did not fail"))
}

/// Checks that a program fails with that kind, and with a message that contains a text.
#[track_caller]
pub(crate) fn fails(source: &str, kind: FailureKind, text: &str) {
    let failure = failed(run(engine(), source, &Arc::default()), source);
    assert_eq!(failure.kind, kind, "{source}: {}", failure.message);
    assert!(failure.message.contains(text), "{source}: {}", failure.message);
}

/// Checks what a program logs.
#[track_caller]
pub(crate) fn logs(source: &str, expected: &[&str]) {
    let end = run(engine(), source, &Arc::default());
    let logs: Vec<&str> = end.logs.iter().map(|entry| &**entry).collect();
    assert_eq!((logs, end.failure), (expected.to_vec(), None), "{source}");
}

/// Checks which calls a program makes, in order.
#[track_caller]
pub(crate) fn calls(source: &str, expected: &[(&str, Json)]) {
    let host = Arc::<Host>::default();
    let end = run(engine(), source, &host);
    assert_eq!(end.failure, None, "{source}");
    let calls = host.calls.lock().unwrap();
    let calls: Vec<(&str, Json)> =
        calls.iter().map(|(member, arguments)| (&**member, arguments.clone())).collect();
    assert_eq!(calls, expected, "{source}");
}
