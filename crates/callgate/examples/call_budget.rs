//! Call budgets: every scope may make so many calls and no more.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use callgate::hooks::CallBudget;
use callgate::{
    CallInput, Error, Output, ParamSpec, ToolDefinition, ToolRuntime, ValueSpec, json, render,
};

fn tool(name: &str) -> ToolDefinition {
    let answer = format!("{name} is done");
    ToolDefinition::new(
        name,
        "Does something that costs money.",
        ParamSpec::new(),
        Output::new(ValueSpec::string(), render::json),
        move |_, _| {
            let answer = json!(answer.clone());
            async move { Ok(answer) }
        },
    )
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let tools = ["search", "fetch", "think"].map(tool);
    let [search, fetch, think] = tools;
    let runtime = ToolRuntime::builder().tool(search).tool(fetch).tool(think).build()?;

    // Two calls for every scope, and only of the tools that cost money.
    let budget = CallBudget::new(2).only(["search", "fetch"]);
    runtime.install(&budget)?;

    let agent = runtime.scope();
    for name in ["search", "fetch", "search", "think"] {
        let result = agent.execute(CallInput::new("call", name, json!({}))).await;
        println!("{name}: {}", result.text());
    }
    println!("allowed: {}", budget.allowed(Some(agent.id())));

    // Another agent has a budget of its own.
    let other = runtime.scope();
    let result = other.execute(CallInput::new("call", "search", json!({}))).await;
    println!("another agent: {}", result.text());
    Ok(())
}
