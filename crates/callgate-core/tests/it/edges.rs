//! What people do who mean harm, or do not mean anything: each ends, and no rule is lost on the way.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use callgate_core::hooks::CallBudget;
use callgate_core::testing::ScriptedEngine;
use callgate_core::{
    Approval, ApprovalRequest, Approver, Call, CallInput, CallResult, Decision, Denial, ErrorKind,
    HookError, Next, Output, Signal, ToolContext, ToolDefinition, ToolError, ToolRuntime, hook,
    render,
};
use callgate_schema::{Json, ParamSpec, ValueSpec, json};
use futures_util::future::BoxFuture;

use crate::support::{Counter, counting, plain, run_program, runtime_with};

fn runtime(tool: ToolDefinition) -> ToolRuntime {
    ToolRuntime::builder().tool(tool).build().unwrap()
}

fn input(id: &str) -> CallInput {
    CallInput::new(id, "x", json!({}))
}

/// What must not take for ever.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future).await.expect("it hangs")
}

// REG-7 REG-16
#[tokio::test]
async fn a_registration_of_one_runtime_undoes_nothing_in_another() {
    let (one, other) = (runtime(plain("x")), runtime(plain("x")));
    other.guard(|_| Some(Denial::new("closed")));
    let of_one = one.guard(|_| Some(Denial::new("closed too")));
    other.change(|change| change.undo(&of_one)).unwrap();
    assert!(other.execute(input("1")).await.is_error());
    assert!(one.execute(input("1")).await.is_error());
}

#[tokio::test]
async fn scopes_of_different_runtimes_are_different_scopes() {
    let (one, other) = (runtime(plain("x")), runtime(plain("x")));
    let budget = CallBudget::new(1);
    let scopes = [&one, &other].map(|runtime| {
        runtime.install(&budget).unwrap();
        runtime.scope()
    });
    assert_ne!(scopes[0].id(), scopes[1].id());
    for scope in &scopes {
        assert!(!scope.execute(input("1")).await.is_error());
        assert!(scope.execute(input("2")).await.is_error());
    }
}

/// Never answers, and never notices that nobody asks any more.
struct Nobody;

impl Approver for Nobody {
    fn approve(&self, _: ApprovalRequest) -> BoxFuture<'static, Result<Approval, HookError>> {
        Box::pin(pending())
    }
}

/// A program that makes one call and does not wait for it.
fn hasty() -> ToolRuntime {
    let engine = ScriptedEngine::new().program("go", async |tools| {
        let call = tools.call("x", json!({}));
        tokio::time::sleep(Duration::from_millis(10)).await;
        drop(call);
        Ok(Some(json!("gave up")))
    });
    let runtime = runtime_with(engine);
    runtime.register(plain("x")).unwrap();
    runtime
}

// BRIDGE-25
#[tokio::test(start_paused = true)]
async fn the_end_of_a_program_reaches_the_hooks_around_its_calls() {
    for stage in ["gate", "post", "approval"] {
        let runtime = hasty();
        let scope = runtime.scope();
        match stage {
            "gate" => {
                scope.on_pre_execute(async |call: Call, next: Next<hook::PreExecute>| {
                    if &**call.name() == "x" {
                        call.signal().cancelled().await;
                    }
                    next.run().await
                });
            }
            "post" => {
                scope.on_post_execute(async |call: Call, next: Next<hook::PostExecute>| {
                    if &**call.name() == "x" {
                        call.signal().cancelled().await;
                    }
                    next.run().await
                });
            }
            _ => {
                scope.on_pre_execute(async |call: Call, next: Next<hook::PreExecute>| {
                    if &**call.name() == "x" {
                        return Ok(Decision::ask("really?"));
                    }
                    next.run().await
                });
                scope.set_approver(Nobody).unwrap();
            }
        }
        let result = soon(run_program(&scope, "run", "go")).await;
        assert_eq!(result.value().unwrap()["result"], json!("gave up"), "{stage}");
    }
}

// PIPE-17
#[tokio::test(start_paused = true)]
async fn a_guard_that_comes_before_the_body_is_asked_wherever_the_call_waits() {
    let bodies = Counter::default();
    let runtime = runtime(counting("x", &bodies));
    let scope = runtime.scope();
    let layer = scope.clone();
    let adding = scope.on_execute(move |_, mut next: Next<hook::Execute>| {
        layer.guard(|_| Some(Denial::new("too late is not too late")));
        async move { next.run().await }
    });
    let result = scope.execute(input("1")).await;
    assert_eq!((result.text().as_str(), bodies.get()), ("Error: too late is not too late", 0));
    adding.dispose();

    let scope = runtime.scope();
    let layer = scope.clone();
    scope.on_execute(move |_, mut next: Next<hook::Execute>| {
        let layer = layer.clone();
        async move {
            layer.dispose().await;
            next.run().await
        }
    });
    let result = scope.execute(input("1")).await;
    assert!(result.text().contains("disposed"), "{result:?}");
    assert_eq!(bodies.get(), 0);
}

// PIPE-17
#[tokio::test]
async fn a_prepared_call_is_held_to_the_guards_of_the_moment_it_is_dispatched() {
    let bodies = Counter::default();
    let runtime = runtime(counting("x", &bodies));
    let prepared = runtime.admit(None, input("1")).prepare().await;
    assert!(prepared.is_ready());
    runtime.guard(|_| Some(Denial::new("closed")));
    let result = prepared.dispatch().await.finalize().await.publish();
    assert_eq!((result.text().as_str(), bodies.get()), ("Error: closed", 0));
}

/// What a hook kept of a call that is over runs nothing.
#[tokio::test]
async fn a_hook_cannot_run_a_body_after_its_call() {
    let bodies = Counter::default();
    let runtime = runtime(counting("x", &bodies));
    let kept = Arc::new(Mutex::new(None));
    let keeping = kept.clone();
    runtime.on_execute(move |_, next: Next<hook::Execute>| {
        *keeping.lock().unwrap() = Some(next);
        async { Err(ToolError::failed("later")) }
    });
    assert!(runtime.execute(input("1")).await.is_error());
    let mut next = kept.lock().unwrap().take().unwrap();
    let late = next.run().await;
    assert!(late.is_err() || late.is_ok_and(|executed| executed.is_error()));
    assert_eq!(bodies.get(), 0);
}

/// A clean-up may dispose what is being disposed already, and what that is in.
#[tokio::test]
async fn disposing_from_inside_a_clean_up_waits_for_nothing() {
    let runtime = ToolRuntime::builder().build().unwrap();
    let outer = runtime.scope();
    let inner = outer.scope();
    let own = inner.clone();
    inner.on_dispose(move || async move { own.dispose().await });
    let above = outer.clone();
    inner.on_dispose(move || async move { above.dispose().await });
    let ended = Counter::default();
    let end = ended.clone();
    outer.on_dispose(move || async move { end.add() });
    soon(outer.dispose()).await;
    assert_eq!(ended.get(), 1);
}

/// A tool that calls itself until somebody stops it.
fn endless() -> ToolDefinition {
    let body = |_: Json, context: ToolContext| async move {
        let result: CallResult = context.execute("again", "x", json!({})).await;
        match result.error() {
            Some(error) => Err(error.clone()),
            None => Ok(json!(1)),
        }
    };
    let output = Output::new(ValueSpec::json(), render::json);
    ToolDefinition::new("x", "Calls itself.", ParamSpec::new(), output, body)
}

#[tokio::test]
async fn a_tool_that_calls_itself_comes_to_an_end() {
    let result = runtime(endless()).execute(input("1")).await;
    assert_eq!(
        result.text(),
        "Error: calls are nested more than 64 deep; a tool that calls tools must come to an end"
    );
}

#[test]
fn chains_of_any_length_are_dropped() {
    let mut signal = Signal::new();
    for _ in 0..200_000 {
        signal = signal.child();
    }
    drop(signal);
    let runtime = ToolRuntime::builder().build().unwrap();
    let mut scope = runtime.scope();
    for _ in 0..20_000 {
        scope = scope.scope();
    }
    drop(scope);
}

#[tokio::test]
async fn calls_and_tools_have_names() {
    let runtime = ToolRuntime::builder().build().unwrap();
    assert_eq!(runtime.register(plain("")).unwrap_err().kind(), ErrorKind::InvalidDefinition);
    let bodies = Counter::default();
    runtime.register(counting("x", &bodies)).unwrap();
    let result = runtime.execute(input("")).await;
    assert!(result.is_error());
    assert!(runtime.execute(CallInput::new("1", "", json!({}))).await.is_error());
    assert_eq!(bodies.get(), 0);
}

/// A guard that adds a guard each time it is asked, which is to be asked, which adds a guard …
#[tokio::test]
async fn guards_that_never_stop_changing_fail_the_call_closed() {
    fn add(layer: &callgate_core::Layer) {
        let inner = layer.clone();
        layer.guard(move |_| {
            add(&inner);
            None
        });
    }
    let bodies = Counter::default();
    let runtime = runtime(counting("x", &bodies));
    add(&runtime);
    let result = runtime.execute(input("1")).await;
    assert!(result.text().contains("guards"), "{result:?}");
    assert_eq!(bodies.get(), 0);
}

/// What a removed tool does when it goes is contained like every callback.
#[tokio::test]
async fn a_tool_that_panics_when_it_is_dropped_leaves_everybody_told() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "dropped");
        }
    }
    let runtime = ToolRuntime::builder().build().unwrap();
    let loud = Arc::new(Loud);
    let output = Output::new(ValueSpec::json(), render::json);
    let body = move |_, _| {
        let _loud = &loud;
        async { Ok(Json::Null) }
    };
    let told = Counter::default();
    let tell = told.clone();
    let tool = ToolDefinition::new("x", "Is loud.", ParamSpec::new(), output, body);
    let registration = runtime.register(tool).unwrap();
    runtime.on_change(move || tell.add());
    registration.dispose();
    assert_eq!(told.get(), 1);
}

/// What others made is quoted, but not without end.
#[tokio::test]
async fn a_message_about_a_place_that_is_very_deep_is_short() {
    let (mut spec, mut value) = (ValueSpec::from(ValueSpec::integer()), json!("no"));
    for _ in 0..4_000 {
        spec = ValueSpec::array_of(spec).into();
        value = json!([value]);
    }
    let body = move |_, _| {
        let value = value.clone();
        async { Ok(value) }
    };
    let output = Output::new(spec, render::json);
    let tool = ToolDefinition::new("x", "Digs.", ParamSpec::new(), output, body);
    let text = runtime(tool).execute(input("1")).await.text();
    assert!(text.starts_with("Error: the output of `x` is invalid: value[0][0][0]"), "{text}");
    assert!(text.len() < 9_000 && text.ends_with(" more bytes)"), "{text}");
}

/// A body that nobody is left to drive is freed with its call.
#[test]
fn what_nobody_can_drive_to_its_end_is_freed() {
    for hook in [false, true] {
        let held = Arc::new(());
        let holds = held.clone();
        let output = Output::new(ValueSpec::json(), render::json);
        let body = move |_, _| {
            let held = holds.clone();
            async move {
                let value = pending::<Result<Json, ToolError>>().await;
                drop(held);
                value
            }
        };
        let runtime = runtime(ToolDefinition::new("x", "Waits.", ParamSpec::new(), output, body));
        if hook {
            runtime.on_execute(async |_, mut next: Next<hook::Execute>| next.run().await);
        }
        let mut call = Box::pin(runtime.execute(input("1")));
        // No runtime of tokio is there to take it over.
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(Arc::strong_count(&held), 3, "the tool, the body, and this");
        drop(call);
        assert_eq!(Arc::strong_count(&held), 2);
    }
}
