//! Cancellation: cooperative, quiescent, and it remembers why.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use callgate_core::testing::{Results, ScriptedEngine};
use callgate_core::{
    CallInput, Cause, FailureClass, Mode, Output, PostDecision, Signal, ToolContext,
    ToolDefinition, ToolRuntime, codes, render,
};
use callgate_schema::{Json, ParamSpec, ValueSpec, json};
use tokio::sync::Notify;

use crate::support::{Counter, run_program};

fn stopped(code: &'static str) -> Cause {
    Cause::new(code, format!("because of {code}"))
}

/// A tool whose body runs `body`, counts its starts and its ends.
fn tool<F>(
    started: &Counter,
    ended: &Counter,
    body: impl Fn(ToolContext) -> F + Send + Sync + 'static,
) -> ToolDefinition
where
    F: Future<Output = ()> + Send + 'static,
{
    let (started, ended) = (started.clone(), ended.clone());
    ToolDefinition::new(
        "subject",
        "Takes its time.",
        ParamSpec::new(),
        Output::new(ValueSpec::string(), render::json),
        move |_: Json, context: ToolContext| {
            started.add();
            let (ended, body) = (ended.clone(), body(context));
            async move {
                body.await;
                ended.add();
                Ok(json!("done"))
            }
        },
    )
}

fn input() -> CallInput {
    CallInput::new("call-1", "subject", json!({}))
}

// RUST-5 CANCEL-7
#[test]
fn a_signal_keeps_its_first_cause_and_hands_it_down() {
    let parent = Signal::new();
    let (child, other) = (parent.child(), parent.child());
    child.cancel(stopped("own"));
    parent.cancel(stopped("first"));
    parent.cancel(stopped("second"));
    let code = |signal: &Signal| signal.cause().map(|cause| cause.code().to_owned());
    assert_eq!(code(&parent).as_deref(), Some("first"));
    assert_eq!(code(&child).as_deref(), Some("own"));
    assert_eq!(code(&other).as_deref(), Some("first"));
    assert_eq!(code(&parent.child()).as_deref(), Some("first"));
    assert!(parent == parent.clone() && parent != child);

    let (caller, replacement) = (Signal::new(), Signal::new());
    let fused = Signal::either(&caller, &replacement);
    replacement.cancel(stopped("replacement"));
    caller.cancel(stopped("caller"));
    assert_eq!(code(&fused).as_deref(), Some("replacement"));
    // Cancelled before both: the second, which replaces, gives the cause.
    assert_eq!(code(&Signal::either(&caller, &replacement)).as_deref(), Some("replacement"));
    // Cancelling what was fused reaches neither source.
    let (caller, replacement) = (Signal::new(), Signal::new());
    Signal::either(&caller, &replacement).cancel(stopped("fused"));
    assert!(!caller.is_cancelled() && !replacement.is_cancelled());
}

// CANCEL-1 CANCEL-2
#[tokio::test(start_paused = true)]
async fn a_body_that_ignores_its_signal_is_waited_for() {
    let (started, ended) = (Counter::default(), Counter::default());
    let deaf = tool(&started, &ended, |_| tokio::time::sleep(Duration::from_mins(1)));
    let runtime = ToolRuntime::builder().tool(deaf).build().unwrap();
    let signal = Signal::new();
    let clock = tokio::time::Instant::now();
    let call = runtime.execute(input().with_signal(signal.clone()));
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        signal.cancel(stopped("user"));
    };
    let (result, ()) = tokio::join!(call, cancel);
    assert_eq!(result.error().unwrap().code(), Some(codes::ABORTED));
    assert_eq!((clock.elapsed().as_secs(), ended.get()), (60, 1));
}

// CANCEL-5 CANCEL-6
#[tokio::test]
async fn a_replaced_signal_reaches_the_body_and_nobody_else() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let noting = tool(&Counter::default(), &Counter::default(), move |context| {
        noted.lock().unwrap().push(context.signal().clone());
        std::future::ready(())
    });
    let runtime = ToolRuntime::builder().tool(noting).build().unwrap();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let noted = calls.clone();
    runtime.observe(move |call, _| noted.lock().unwrap().push(call.signal().clone()));

    runtime.execute(input()).await;
    let replacement = Signal::new();
    let mine = replacement.clone();
    runtime.on_execute(move |_, mut next| {
        let mine = mine.clone();
        async move {
            let executed = next.run_with(mine).await;
            assert_eq!(next.signal(), next.signal());
            executed
        }
    });
    runtime.execute(input()).await;
    let (seen, calls) = (seen.lock().unwrap(), calls.lock().unwrap());
    // Without a replacement the body gets the very handle of the call.
    assert_eq!(seen[0], calls[0]);
    // With one it gets a new handle that either source cancels.
    assert!(seen[1] != calls[1] && seen[1] != replacement);
    assert!(!calls[1].is_cancelled());
    replacement.cancel(stopped("late"));
    assert!(!calls[1].is_cancelled());
}

// CANCEL-10
#[tokio::test]
async fn a_success_under_a_cancelled_replacement_is_aborted() {
    let patient = tool(&Counter::default(), &Counter::default(), |context| async move {
        context.signal().cancelled().await;
    });
    let runtime = ToolRuntime::builder().tool(patient).build().unwrap();
    runtime.on_execute(async |call, mut next| {
        let mine = call.signal().child();
        let canceller = mine.clone();
        let (executed, ()) = tokio::join!(next.run_with(mine), async {
            tokio::task::yield_now().await;
            canceller.cancel(stopped("hook"));
        });
        executed
    });
    let result = runtime.execute(input()).await;
    assert_eq!(result.error().unwrap().code(), Some(codes::ABORTED));
}

// CANCEL-14
#[tokio::test]
async fn a_cancelled_call_still_goes_through_the_post_stage() {
    let runtime = ToolRuntime::builder().build().unwrap();
    runtime
        .register(tool(&Counter::default(), &Counter::default(), |context| {
            context.call().signal().cancel(stopped("user"));
            std::future::ready(())
        }))
        .unwrap();
    runtime.on_post_execute(async |_, next| {
        assert_eq!(next.result().error().unwrap().code(), Some(codes::ABORTED));
        Ok(PostDecision::block([callgate_session::Content::text("stopped")]))
    });
    let result = runtime.execute(input()).await;
    assert_eq!(result.error().unwrap().class(), FailureClass::Blocked);
}

// RESULT-13
#[tokio::test]
async fn an_aborted_call_says_so_in_one_fixed_form() {
    let runtime = ToolRuntime::builder().build().unwrap();
    let signal = Signal::new();
    signal.cancel(Cause::new("user", "the user pressed stop"));
    let result = runtime.execute(input().with_signal(signal)).await;
    let info = result.error().unwrap().info().unwrap();
    assert_eq!((&*info.name, &*info.code), ("AbortError", "ABORTED_BEFORE_DISPATCH"));
    assert_eq!(
        result.text(),
        "Error: the call was cancelled before it started: the user pressed stop"
    );
}

/// A pipeline that suspends in every stage.
fn suspending() -> (ToolRuntime, Counter, Counter) {
    async fn pause() {
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
    }
    let (started, ended) = (Counter::default(), Counter::default());
    let runtime = ToolRuntime::builder().tool(tool(&started, &ended, |_| pause())).build().unwrap();
    runtime.on_pre_execute(async |_, next| {
        pause().await;
        next.run().await
    });
    runtime.on_execute(async |_, mut next| {
        pause().await;
        next.run().await
    });
    runtime.on_post_execute(async |_, next| {
        pause().await;
        next.run().await
    });
    (runtime, started, ended)
}

/// Polls a future `times` times, yielding between; answers whether it is still pending.
async fn poll_times(
    future: &mut (impl Future<Output = callgate_core::CallResult> + Unpin),
    times: usize,
) -> bool {
    for _ in 0..times {
        let polled = std::future::poll_fn(|task| {
            Poll::Ready(std::pin::Pin::new(&mut *future).poll(task).is_pending())
        });
        if !polled.await {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

// CANCEL-3: adapted, dropping is a cancellation with cause `dropped`.
#[tokio::test(start_paused = true)]
async fn a_call_dropped_after_any_poll_publishes_once_and_abandons_no_body() {
    let mut polls = 1;
    loop {
        let (runtime, started, ended) = suspending();
        let (results, _) = Results::observe(&runtime);
        let mut call = runtime.execute(input());
        let is_pending = poll_times(&mut call, polls).await;
        drop(call);
        // Time moves only when every task is idle: the rest of the call included.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let published = results.only("call-1");
        let published = published.unwrap_or_else(|| panic!("published once after {polls} polls"));
        assert_eq!(started.get(), ended.get(), "after {polls} polls");
        if !is_pending {
            assert_eq!(published.text(), "done");
            break;
        }
        let error = published.error().unwrap_or_else(|| panic!("a success after {polls} polls"));
        let expected =
            if started.get() == 1 { codes::ABORTED } else { codes::ABORTED_BEFORE_DISPATCH };
        assert_eq!(error.code(), Some(expected), "after {polls} polls");
        let (call, _) = results.all().remove(0);
        assert_eq!(call.signal().cause().unwrap().code(), Cause::DROPPED);
        polls += 1;
    }
    assert!(polls > 6, "the call must suspend in every stage, and ended after {polls} polls");
}

// RUST-7
#[tokio::test(start_paused = true)]
async fn a_call_that_was_never_polled_has_no_effect() {
    let (runtime, started, _) = suspending();
    let (results, _) = Results::observe(&runtime);
    drop(runtime.execute(input()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((started.get(), results.all().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn dropping_one_call_leaves_its_neighbours_under_the_same_signal_alone() {
    let (runtime, _, ended) = suspending();
    let signal = Signal::new();
    let mut dropped = runtime.execute(input().with_signal(signal.clone()));
    poll_times(&mut dropped, 2).await;
    drop(dropped);
    let kept = runtime.execute(CallInput::new("call-2", "subject", json!({})).with_signal(signal));
    assert_eq!(kept.await.text(), "done");
    assert!(ended.get() >= 1);
}

#[test]
fn without_a_runtime_a_dropped_call_publishes_that_its_outcome_is_unknown() {
    let never = tool(&Counter::default(), &Counter::default(), |_| std::future::pending());
    let runtime = ToolRuntime::builder().tool(never).build().unwrap();
    let (results, _) = Results::observe(&runtime);
    let mut call = Box::pin(runtime.execute(input()));
    let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
    drop(call);
    let error = results.only("call-1").unwrap().error().cloned().unwrap();
    assert_eq!(error.code(), Some(codes::ABORTED));
}

#[test]
fn a_runtime_that_shuts_down_leaves_one_published_result() {
    let never = tool(&Counter::default(), &Counter::default(), |_| std::future::pending());
    let runtime = ToolRuntime::builder().tool(never).build().unwrap();
    let (results, _) = Results::observe(&runtime);
    let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
    tokio.block_on(async {
        let mut call = pin!(runtime.execute(input()));
        std::future::poll_fn(|task| {
            assert!(call.as_mut().poll(task).is_pending());
            Poll::Ready(())
        })
        .await;
    });
    drop(tokio);
    assert_eq!(results.only("call-1").unwrap().error().unwrap().code(), Some(codes::ABORTED));
}

// CANCEL-2
#[tokio::test(start_paused = true)]
async fn a_hook_that_stops_waiting_cannot_abandon_the_body() {
    let (started, ended) = (Counter::default(), Counter::default());
    let slow = tool(&started, &ended, |_| tokio::time::sleep(Duration::from_secs(9)));
    let runtime = ToolRuntime::builder().tool(slow).build().unwrap();
    runtime.on_execute(async |_, mut next| {
        match tokio::time::timeout(Duration::from_secs(1), next.run()).await {
            Ok(executed) => executed,
            Err(_) => Err(callgate_core::ToolError::timed_out("too slow for me")),
        }
    });
    let clock = tokio::time::Instant::now();
    let result = runtime.execute(input()).await;
    assert_eq!(result.error().unwrap().code(), Some(codes::TOOL_TIMEOUT));
    // The call ends when the body does.
    assert_eq!((clock.elapsed().as_secs(), ended.get()), (9, 1));
}

// CANCEL-4 CANCEL-13
#[tokio::test]
async fn cancelling_after_publication_changes_nothing() {
    let runtime = ToolRuntime::builder()
        .tool(tool(&Counter::default(), &Counter::default(), |_| std::future::ready(())))
        .build()
        .unwrap();
    runtime.observe(|call, _| {
        call.signal().cancel(stopped("late"));
    });
    assert_eq!(runtime.execute(input()).await.text(), "done");
}

// BRIDGE-24 CODE-20
#[tokio::test(start_paused = true)]
async fn cancelling_a_run_reaches_the_bodies_of_its_sub_calls_with_its_cause() {
    let reached = Arc::new(Notify::new());
    let causes = Arc::new(Mutex::new(Vec::new()));
    let (noted, notify) = (causes.clone(), reached.clone());
    let listening = tool(&Counter::default(), &Counter::default(), move |context| {
        let (noted, notify) = (noted.clone(), notify.clone());
        async move {
            notify.notify_one();
            context.signal().cancelled().await;
            noted.lock().unwrap().push(context.signal().cause().unwrap().code().to_owned());
        }
    });
    let engine = ScriptedEngine::new()
        .program("go", async |tools| tools.call("subject", json!({})).await.map(Some));
    let runtime =
        ToolRuntime::builder().mode(Mode::Both).engine(engine).tool(listening).build().unwrap();
    let signal = Signal::new();
    let arguments = json!({ "code": "go", "description": "Waits for a tool" });
    let run =
        runtime.execute(CallInput::new("run", "run_code", arguments).with_signal(signal.clone()));
    let cancel = async {
        reached.notified().await;
        signal.cancel(stopped("user"));
    };
    let (result, ()) = tokio::join!(run, cancel);
    let error = result.error().unwrap();
    assert_eq!(error.code(), Some(codes::CODE_RUN_FAILED));
    assert!(error.message().starts_with("the program failed (abort): because of user"), "{error}");
    assert_eq!(*causes.lock().unwrap(), ["user"]);

    // CODE-20: cancelled before entry, the engine is never asked.
    let signal = Signal::new();
    signal.cancel(stopped("user"));
    let arguments = json!({ "code": "no such script", "description": "Never runs" });
    let early = runtime.execute(CallInput::new("run-2", "run_code", arguments).with_signal(signal));
    assert_eq!(early.await.error().unwrap().code(), Some(codes::ABORTED_BEFORE_DISPATCH));
    assert!(run_program(&runtime, "run-3", "no such script").await.is_error());
}
