//! Metrics: calls as `tracing` spans and events, with the names that OpenTelemetry gives them.
//!
//! Here they are printed. Add the layers of `tracing-opentelemetry` to your subscriber instead,
//! and the spans become traces, the events metrics.

use std::time::Duration;

use callgate::hooks::Metrics;
use callgate::{
    CallInput, Denial, Error, Output, ParamSpec, ToolDefinition, ToolError, ToolRuntime, ValueSpec,
    json, render,
};
use tokio::time::sleep;

fn tool(name: &str, millis: u64, failure: Option<ToolError>) -> ToolDefinition {
    ToolDefinition::new(
        name,
        "Takes its time.",
        ParamSpec::new(),
        Output::new(ValueSpec::string(), render::json),
        move |_, _| {
            let failure = failure.clone();
            async move {
                sleep(Duration::from_millis(millis)).await;
                failure.map_or_else(|| Ok(json!("done")), Err)
            }
        },
    )
}

// The clock of this example jumps to the next event, so that durations are always the same.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Error> {
    tracing_subscriber::fmt()
        .without_time()
        .with_ansi(false)
        .with_max_level(tracing::Level::INFO)
        .init();

    let full = ToolError::coded("IoError", "ENOSPC", "the disk is full");
    let runtime = ToolRuntime::builder()
        .tool(tool("read", 20, None))
        .tool(tool("write", 1_500, Some(full)))
        .tool(tool("remove", 0, None))
        .build()?;
    runtime.guard(|call| (&**call.name() == "remove").then(|| Denial::new("nothing is removed")));
    runtime.install(&Metrics::new())?;

    for name in ["read", "write", "remove"] {
        let id = format!("call to {name}");
        runtime.execute(CallInput::new(id, name, json!({}))).await;
    }
    Ok(())
}
