//! Spill: a result that would fill the model's context is saved whole, and the model gets its two
//! ends and the place where the rest is.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use callgate::hooks::{Spill, SpillDirectory, SpillStore, SpillText, Spilled};
use callgate::session::{Session, SessionHeader};
use callgate::{
    CallInput, HookError, Output, ParamSpec, Recorder, ToolDefinition, ToolRuntime, ValueSpec,
    json, render,
};
use futures_util::future::BoxFuture;

/// A store of one's own: files that only this user can read, under numbers instead of paths.
///
/// Where paths are fine for the model, a `SpillDirectory` alone will do.
#[derive(Clone)]
struct Numbered {
    directory: SpillDirectory,
    paths: Arc<Mutex<Vec<String>>>,
}

impl SpillStore for Numbered {
    fn save(&self, text: SpillText) -> BoxFuture<'_, Result<Spilled, HookError>> {
        Box::pin(async move {
            let saved = self.directory.save(text).await?;
            let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
            paths.push(saved.locator);
            let locator = format!("output {}", paths.len());
            Ok(Spilled { locator, hint: "ask for the lines you need".to_owned(), ..saved })
        })
    }
}

fn build() -> ToolDefinition {
    ToolDefinition::new(
        "build",
        "Builds the project.",
        ParamSpec::new(),
        Output::new(ValueSpec::string(), render::json),
        |_, _| async {
            let lines = (1..=2_000).map(|step| format!("step {step:04}: compiled\n"));
            Ok(json!(lines.collect::<Vec<_>>().concat()))
        },
    )
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let runtime = ToolRuntime::builder().tool(build()).build()?;
    let store = Numbered { directory: SpillDirectory::private()?, paths: Arc::default() };
    runtime.install(&Spill::new(store.clone()).max_inline_bytes(250))?;

    // The owner of a spilled text is a session, so the call needs one.
    let session = Session::in_memory(SessionHeader::new("session-1", 0));
    let recorder = Recorder::new(runtime.scope(), session)?;
    let result = recorder.call(CallInput::new("call-1", "build", json!({}))).await;
    recorder.close()?;

    // What the model reads.
    println!("{}", result.text());

    // Programs, and the file, have everything.
    let path = store.paths.lock().unwrap_or_else(PoisonError::into_inner).remove(0);
    let saved = std::fs::read_to_string(path)?;
    println!("shown: {} bytes, saved: {} bytes", result.text().len(), saved.len());
    println!("the file is the value: {}", result.value() == Some(&json!(saved)));
    std::fs::remove_dir_all(store.directory.root())?;
    Ok(())
}
