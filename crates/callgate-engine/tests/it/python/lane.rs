//! Python programs under Code Mode's own lane.

use callgate_core::{
    CallInput, CallResult, Denial, Mode, Output, RUN_CODE, ToolDefinition, ToolRuntime, render,
};
use callgate_schema::{Json, ParamSpec, ValueSpec, json};

use super::support::engine;
use crate::support::block_on;

fn runtime() -> ToolRuntime {
    let output = Output::new(ValueSpec::json(), render::json);
    let parameters = ParamSpec::new().required("text", ValueSpec::string());
    let echo = ToolDefinition::new("echo", "Echoes.", parameters, output, |arguments: Json, _| {
        std::future::ready(Ok(arguments))
    });
    ToolRuntime::builder().mode(Mode::Both).engine(engine().clone()).tool(echo).build().unwrap()
}

fn run_code(runtime: &ToolRuntime, program: &str) -> CallResult {
    let input = json!({ "code": program, "description": "Runs a program of the tests" });
    block_on(runtime.execute(CallInput::new("run", RUN_CODE, input)))
}

#[test]
fn a_rule_stops_a_call_from_a_python_program_as_it_stops_a_direct_one() {
    let runtime = runtime();
    let program = "print('before')\nreturn await tools.echo(text='hi')";
    let result = run_code(&runtime, program);
    let expected = json!({ "logs": ["before"], "result": { "text": "hi" } });
    assert_eq!(result.value(), Some(&expected), "{}", result.text());
    runtime.guard(|call| (&**call.name() == "echo").then(|| Denial::new("not today")));
    let direct =
        block_on(runtime.execute(CallInput::new("direct", "echo", json!({ "text": "hi" }))));
    assert!(direct.text().contains("not today"));
    let result = run_code(&runtime, program);
    assert!(result.is_error() && result.text().contains("not today"), "{}", result.text());
}
