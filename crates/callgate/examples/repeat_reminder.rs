//! Repeat reminders: a model that makes the same call again and again is told so.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use callgate::hooks::RepeatReminder;
use callgate::{
    CallInput, Error, Output, ParamSpec, ToolDefinition, ToolRuntime, ValueSpec, json, render,
};

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition::new(
        name,
        "Looks for something.",
        ParamSpec::new().optional("query", ValueSpec::string()),
        Output::new(ValueSpec::string(), render::json),
        |_, _| async { Ok(json!("nothing found")) },
    )
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let runtime = ToolRuntime::builder().tool(tool("search")).tool(tool("poll")).build()?;

    // Remind of the third and the fifth call; a tool that is made to be repeated is left alone.
    runtime.hook(RepeatReminder::new().thresholds([3, 5])?.exclude(["poll*"]));

    // Every scope has a count of its own. Member order and the spelling of numbers do not matter,
    // and calls of tools that are not watched do not interrupt.
    let agent = runtime.scope();
    for number in 1..=5 {
        let input =
            CallInput::from_text(format!("call-{number}"), "search", r#"{ "query": "cats" }"#);
        let result = agent.execute(input).await;
        println!("{number}: {}", result.text());
        for context in result.additional_contexts() {
            for block in context.content.iter() {
                println!("   + {}", block.as_text().unwrap_or_default());
            }
        }
        agent.execute(CallInput::new("poll", "poll", json!({}))).await;
    }
    Ok(())
}
