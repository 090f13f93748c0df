//! What the author of a program reads when it fails, whole: kind, message, the author's own lines, the calls that were
//! made, what was printed.

use std::time::Duration;

use callgate_core::program::ProgramEngine;
use callgate_core::{
    CallInput, CallResult, Mode, Output, RUN_CODE, RuntimeBuilder, ToolDefinition, ToolError,
    ToolRuntime, codes, render,
};
use callgate_engine::TypeScript;
use callgate_schema::{Json, ParamSpec, ValueSpec, json};
use callgate_session::{CodeDispatchStart, EventBody, Session, SessionHeader};

use crate::support::block_on;

fn tools() -> [ToolDefinition; 2] {
    let output = || Output::new(ValueSpec::json(), render::json);
    let echo = ToolDefinition::new(
        "echo",
        "Gives back what it is given.",
        ParamSpec::new().optional("value", ValueSpec::json()),
        output(),
        |arguments: Json, _| async move { Ok::<_, ToolError>(arguments) },
    );
    let fail = ToolDefinition::new("fail", "Fails.", ParamSpec::new(), output(), |_, _| async {
        Err::<Json, _>(ToolError::failed("quota used up"))
    });
    [echo, fail]
}

fn runtime(engine: impl ProgramEngine) -> ToolRuntime {
    let builder = ToolRuntime::builder().mode(Mode::Code).engine(engine);
    tools().into_iter().fold(builder, RuntimeBuilder::tool).build().unwrap()
}

fn run(engine: impl ProgramEngine, source: &str) -> CallResult {
    let input = json!({ "code": source, "description": "Runs a program of the tests" });
    block_on(runtime(engine).execute(CallInput::new("run", RUN_CODE, input)))
}

/// Programs that fail in a way that is the same wherever they run.
const PROGRAMS: &[(&str, &str)] = &[
    (
        "an error of a tool",
        "console.log('start');\nconst a = await tools.echo({ value: 1 });\n\nconst b = await tools.fail({});\nreturn [a, b];",
    ),
    (
        "an error in a function",
        "interface Row { name: string }\nfunction first(rows: Row[]): string {\n  return rows[0].name;\n}\nawait tools.echo({});\nreturn first([]);",
    ),
    ("an error after an await", "await tools.echo({});\nnull!.x;\n"),
    ("a value that is no error", "throw { code: 7, why: 'because' };"),
    (
        "an error with a cause",
        "try {\n  await tools.fail({});\n} catch (cause) {\n  throw new Error('gave up', { cause });\n}",
    ),
    (
        "several errors",
        "await Promise.any([tools.fail({}), Promise.reject(new RangeError('far'))]);",
    ),
    (
        "a rejection nobody handles",
        "Promise.reject(new Error('lost'));\nawait tools.echo({});\nreturn 1;",
    ),
    ("a member that is not there", "const name = 'ehco';\nawait tools[name]({});"),
    ("a name that is not there", "const text = await fetch('https://example.com');"),
    (
        "a refused argument",
        "const value = new Map();\nconst box = { value };\nawait tools.echo(box);",
    ),
    ("a returned function", "return { a: [() => 1] };"),
    ("a promise that never settles", "console.log('waiting');\nawait new Promise(() => {});"),
    ("a declaration that is there twice", "const a = 1;\nconst a = 2;\nreturn a;"),
    (
        "what is found before",
        "console.log('never printed');\nawait tools.ehco({});\nawait tools.echo({ valeu: 1 });",
    ),
    ("text that is no program", "const a = 1;\nreturn a +;"),
    (
        "far to the right",
        "/* …………………………………………………………………………………………………………………………………………………………… */ throw new Error('😀'); // and a comment that goes on and on and on and on and on and on and on",
    ),
];

#[test]
fn a_failed_run_tells_all_there_is_to_tell() {
    // CODE-18 RUNTIME-3 RUNTIME-15 TSRT-4 TSRT-10
    let texts = PROGRAMS.iter().map(|(name, source)| {
        let result = run(TypeScript::in_process().build().unwrap(), source);
        let info = result.error().and_then(|error| error.info().cloned()).unwrap();
        assert_eq!((&*info.name, &*info.code), ("CodeRunFailedError", codes::CODE_RUN_FAILED));
        format!("── {name}\n{}\n", result.text())
    });
    insta::assert_snapshot!(texts.collect::<String>());
}

#[cfg(unix)]
#[test]
fn a_failed_run_tells_the_same_in_a_worker() {
    // TSRT-1
    let engine = crate::worker::support::worker().build().unwrap().for_session("failures");
    for (name, source) in PROGRAMS {
        let here = run(TypeScript::in_process().build().unwrap(), source);
        assert_eq!(run(engine.clone(), source).text(), here.text(), "{name}");
    }
}

#[test]
fn a_run_that_is_stopped_tells_why_and_what_was_done() {
    // RUNTIME-18 RUNTIME-22 RUNTIME-23
    let begin = "console.log('start');\nawait tools.echo({});\n";
    let short = || TypeScript::in_process().compute(Duration::from_millis(50));
    let cases = [
        ("compute", short().wall(Duration::from_mins(1)), "for (;;) {}"),
        (
            "wall",
            TypeScript::in_process().wall(Duration::from_millis(50)),
            "await new Promise((done) => setTimeout(done, 60_000));",
        ),
        (
            "memory",
            TypeScript::in_process().memory(16 << 20),
            "const a = [];\nfor (;;) a.push('x'.repeat(9_999) + a.length);",
        ),
        ("output", TypeScript::in_process().max_output_bytes(200), "return 'x'.repeat(200);"),
    ];
    let texts = cases.map(|(name, engine, source)| {
        let result = run(engine.build().unwrap(), &format!("{begin}{source}"));
        format!("── {name}\n{}\n", result.text())
    });
    insta::assert_snapshot!(texts.concat());
}

#[test]
fn an_argument_that_cannot_cross_fails_its_call_and_no_other() {
    // BRIDGE-6
    let refused = [
        "undefined",
        "",
        "() => 1",
        "Symbol('s')",
        "5n",
        "NaN",
        "Infinity",
        "-0",
        "[1, , 2]",
        "[undefined]",
        "Object.assign([1], { extra: 1 })",
        "new (class Point { x = 1 })()",
        "new Date(0)",
        "cyclic",
        "{ [Symbol('s')]: 1 }",
        "{ get x() { throw new Error('no') } }",
        "new Map()",
        "'\\ud800'",
    ];
    let attempts: Vec<String> = refused
        .iter()
        .map(|value| format!("try {{ await call({value}); refused.push('passed'); }} catch (e) {{ refused.push(e.message); }}\n"))
        .collect();
    let source = format!(
        "const call: any = tools.echo;\nconst cyclic: any = {{}};\ncyclic.self = cyclic;\nconst refused = [];\n{}\
         return {{ refused, good: await tools.echo({{ value: 1 }}) }};",
        attempts.concat()
    );
    let runtime = runtime(TypeScript::in_process().build().unwrap());
    let session = Session::in_memory(SessionHeader::new("s", 0));
    let layer = runtime.scope();
    let recorder = callgate_core::Recorder::new(layer, session.clone()).unwrap();
    let input = json!({ "code": source, "description": "Passes what cannot be passed" });
    let result = block_on(recorder.call(CallInput::new("run", RUN_CODE, input)));
    insta::assert_snapshot!(result.text());
    let events = session.events();
    let calls: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::CodeDispatchStart(CodeDispatchStart { sub_call_id, .. }) => {
                Some(sub_call_id.as_ref())
            }
            _ => None,
        })
        .collect();
    assert_eq!(calls, ["run:code:1"]);
}
