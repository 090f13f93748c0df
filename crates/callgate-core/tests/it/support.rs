//! What many tests need: small tools, and a run of the scripted engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callgate_core::testing::ScriptedEngine;
use callgate_core::{
    CallInput, CallResult, Layer, Mode, Output, RUN_CODE, ToolContext, ToolDefinition, ToolRuntime,
    render,
};
use callgate_schema::{Json, ParamSpec, ValueSpec, json};

/// Counts how often something happened.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<AtomicUsize>);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A tool without parameters that counts its runs and returns its own name.
pub(crate) fn counting(name: &str, counter: &Counter) -> ToolDefinition {
    let counter = counter.clone();
    let value = name.to_owned();
    ToolDefinition::new(
        name,
        "Counts.",
        ParamSpec::new(),
        Output::new(ValueSpec::string(), render::json),
        move |_, _| {
            counter.add();
            let value = value.clone();
            async move { Ok(json!(value)) }
        },
    )
    .concurrency_safe()
}

/// A tool that does nothing but return its name.
pub(crate) fn plain(name: &str) -> ToolDefinition {
    counting(name, &Counter::default())
}

/// A tool whose body sleeps for `ms` milliseconds of (paused) time and returns its argument.
pub(crate) fn napping(name: &str) -> ToolDefinition {
    ToolDefinition::new(
        name,
        "Naps.",
        ParamSpec::new().required("ms", ValueSpec::integer()),
        Output::new(ValueSpec::integer(), render::json),
        |arguments: Json, _: ToolContext| async move {
            let ms = arguments.get("ms").and_then(Json::as_u64).unwrap_or(0);
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(json!(ms))
        },
    )
}

/// A tool whose body calls the tool `inner` and hands on its outcome.
pub(crate) fn delegating(name: &str, inner: &str) -> ToolDefinition {
    let inner = inner.to_owned();
    ToolDefinition::new(
        name,
        "Calls another tool.",
        ParamSpec::new(),
        Output::new(ValueSpec::json(), render::json),
        move |arguments: Json, context: ToolContext| {
            let inner = inner.clone();
            async move {
                let id = format!("{}:nested", context.call().id());
                let result = context.execute(id, inner, arguments).await;
                match result.error() {
                    Some(error) => Err(error.clone()),
                    None => Ok(result.value().cloned().unwrap_or_default()),
                }
            }
        },
    )
}

/// A runtime in mode `both` over the given programs.
pub(crate) fn runtime_with(engine: ScriptedEngine) -> ToolRuntime {
    ToolRuntime::builder().mode(Mode::Both).engine(engine).build().unwrap()
}

/// Runs one program.
pub(crate) async fn run_program(layer: &Layer, id: &str, program: &str) -> CallResult {
    let input = json!({ "code": program, "description": "Runs a program of the tests" });
    layer.execute(CallInput::new(id, RUN_CODE, input)).await
}
