//! The ready-made policies, each through whole calls.

mod approvals;
mod call_budget;
mod metrics;
mod repeat_reminder;
mod retry;
mod spill;
mod timeout;

use std::future::Future;
use std::time::Duration;

use callgate_core::testing::ScriptedEngine;
use callgate_core::{
    CallInput, CallResult, FailureClass, Layer, Mode, Output, Recorder, RuntimeBuilder,
    ToolContext, ToolDefinition, ToolError, ToolRuntime, render,
};
use callgate_schema::{Json, ValueSpec, json};
use callgate_session::{Content, Event, Session, SessionHeader, Source, UserMessage};

/// A tool that takes and returns anything.
fn tool<F>(
    name: &str,
    body: impl Fn(Json, ToolContext) -> F + Send + Sync + 'static,
) -> ToolDefinition
where
    F: Future<Output = Result<Json, ToolError>> + Send + 'static,
{
    let any = json!({ "type": "object" });
    ToolDefinition::new(
        name,
        "Does something.",
        any,
        Output::new(ValueSpec::json(), render::json),
        body,
    )
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn runtime(tools: impl IntoIterator<Item = ToolDefinition>) -> ToolRuntime {
    let builder = tools.into_iter().fold(ToolRuntime::builder(), RuntimeBuilder::tool);
    builder.build().unwrap()
}

/// A runtime in mode `both` with one program, `go`.
fn runtime_for(engine: ScriptedEngine) -> ToolRuntime {
    ToolRuntime::builder().mode(Mode::Both).engine(engine).build().unwrap()
}

async fn call(layer: &Layer, name: &str) -> CallResult {
    layer.execute(CallInput::new("call-1", name, json!({}))).await
}

/// The run of the program `go`.
fn go() -> CallInput {
    let arguments = json!({ "code": "go", "description": "Runs a program of the tests" });
    CallInput::new("run", "run_code", arguments)
}

fn recorder(runtime: &ToolRuntime) -> Recorder {
    Recorder::new(runtime.scope(), Session::in_memory(SessionHeader::new("session-1", 0))).unwrap()
}

/// Class, code and message of a failure.
fn failure(result: &CallResult) -> (FailureClass, Option<&str>, &str) {
    let error = result.error().unwrap();
    (error.class(), error.code(), error.message())
}

fn note(text: &str) -> UserMessage {
    UserMessage::new(Source::plugin("tests"), [Content::text(text)])
}

/// The texts of the messages that come with a result.
fn contexts(result: &CallResult) -> Vec<String> {
    result.additional_contexts().iter().map(|context| text(&context.content)).collect()
}

fn text(content: &[Content]) -> String {
    content.iter().filter_map(Content::as_text).collect()
}

/// The events of one family, as their JSON data.
fn events(session: &Session, family: &str) -> Vec<Json> {
    let is_meant = |event: &Event| event.kind().starts_with(family);
    let data = |event: Event| Json::parse(&event.to_string()).unwrap();
    let form = |json: Json| json!({ "type": json["type"].clone(), "data": json["data"].clone() });
    session.events().into_iter().filter(is_meant).map(data).map(form).collect()
}

/// How many cases a property is tried on; many more when the long tests are asked for.
fn cases(short: u32) -> u32 {
    if std::env::var_os("CALLGATE_TEST_LONG").is_some() { 50 * short } else { short }
}
