//! Deadlines and second attempts: a tool declares how long it may take and that it may be
//! repeated; the two policies see to it.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use callgate::hooks::{Backoff, Retry, Timeout};
use callgate::{
    CallInput, Error, Output, ParamSpec, ToolContext, ToolDefinition, ToolRuntime, ValueSpec, json,
    render,
};
use tokio::time::{Instant, sleep};

/// A server that is slow to answer the first request and quick to answer the next.
fn forecast() -> ToolDefinition {
    let requests = AtomicU32::new(0);
    ToolDefinition::new(
        "forecast",
        "Tells the weather of tomorrow.",
        ParamSpec::new(),
        Output::new(ValueSpec::string(), render::json),
        move |_, context: ToolContext| {
            let request = requests.fetch_add(1, Ordering::Relaxed) + 1;
            async move {
                println!("  request {request}");
                let answer = Duration::from_millis(if request == 1 { 60_000 } else { 200 });
                // A body that declares a budget promises to obey its signal.
                tokio::select! {
                    () = sleep(answer) => Ok(json!("sunny")),
                    () = context.signal().cancelled() => {
                        context.check_cancelled()?;
                        Ok(json!("no forecast"))
                    }
                }
            }
        },
    )
    .timeout(Duration::from_secs(1))
    .repeatable()
}

// The clock of this example jumps to the next event, so that nobody has to wait.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Error> {
    let start = Instant::now();
    let runtime = ToolRuntime::builder().tool(forecast()).build()?;

    // The order of registration matters: the retry is further out, so the budget of one second
    // covers each attempt. The other way round it would cover all of them together.
    runtime.hook(Retry::new(3, Backoff::constant(Duration::from_millis(500))));
    runtime.hook(Timeout::declared());

    println!("with a retry:");
    let result = runtime.execute(CallInput::new("call-1", "forecast", json!({}))).await;
    println!("  {} after {} ms", result.text(), start.elapsed().as_millis());

    // Without a retry the model reads that the time was up, and can decide what to do.
    let start = Instant::now();
    let runtime = ToolRuntime::builder().tool(forecast()).build()?;
    runtime.hook(Timeout::declared());

    println!("without:");
    let result = runtime.execute(CallInput::new("call-1", "forecast", json!({}))).await;
    let code = result.error().and_then(|error| error.code()).unwrap_or("none");
    println!("  {} ({code}) after {} ms", result.text(), start.elapsed().as_millis());
    Ok(())
}
