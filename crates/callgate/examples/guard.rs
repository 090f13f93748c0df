//! A guard: the rule that nobody can undo, for direct calls and for calls of programs alike.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use callgate::testing::ScriptedEngine;
use callgate::{
    CallInput, Decision, Denial, Error, Json, Mode, Output, ParamSpec, ToolDefinition, ToolRuntime,
    ValueSpec, hook, json, render,
};

fn delete() -> ToolDefinition {
    ToolDefinition::new(
        "delete",
        "Deletes a file.",
        ParamSpec::new().required("path", ValueSpec::string()),
        Output::new(ValueSpec::string(), render::json),
        |arguments: Json, _| async move {
            Ok(json!(format!("deleted {}", arguments["path"].as_str().unwrap_or_default())))
        },
    )
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    // A program, as a model would write it: it tries, catches, and goes on.
    let engine = ScriptedEngine::new().program("clean up", async |tools| {
        let mut report = Vec::new();
        for path in ["draft.txt", "/etc/passwd"] {
            let deleted = tools.call("delete", json!({ "path": path })).await;
            report.push(deleted.unwrap_or_else(Json::from));
        }
        Ok(Some(report.into()))
    });
    let runtime = ToolRuntime::builder().mode(Mode::Both).engine(engine).tool(delete()).build()?;

    runtime.guard(|call| {
        let path = call.arguments()["path"].as_str()?;
        path.starts_with('/')
            .then(|| Denial::new("absolute paths are off limits").by_rule("no-abs"))
    });
    // Even a hook that allows everything, in front of all others, changes nothing about that.
    runtime.prepend(hook::from_fn::<hook::PreExecute, _, _>(async |_, _| Ok(Decision::Allow)));

    for path in ["draft.txt", "/etc/passwd"] {
        let input = CallInput::new("direct", "delete", json!({ "path": path }));
        println!("direct: {}", runtime.execute(input).await.text());
    }
    let program = json!({ "code": "clean up", "description": "Deletes two files" });
    println!(
        "program: {}",
        runtime.execute(CallInput::new("run", "run_code", program)).await.text()
    );
    Ok(())
}
