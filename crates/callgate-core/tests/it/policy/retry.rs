//! Retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use callgate_core::hooks::{Backoff, Retry};
use callgate_core::{
    CallInput, Cause, FailureClass, HookError, Signal, ToolContext, ToolDefinition, ToolError,
};
use callgate_schema::json;
use futures_util::FutureExt;
use futures_util::future::join;
use tokio::time::{Instant, sleep};

use super::{call, contexts, failure, ms, note, runtime, tool};

/// A tool that fails so many times before it succeeds, and defers a message each time.
fn flaky(failures: u32, class: FailureClass, runs: &Arc<AtomicU32>) -> ToolDefinition {
    let runs = runs.clone();
    tool("flaky", move |_, context: ToolContext| {
        let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
        context.defer_context(note(&format!("run {run}")));
        let error = ToolError::of(class, format!("failed in run {run}"));
        std::future::ready(if run <= failures { Err(error) } else { Ok(json!(run)) })
    })
}

#[tokio::test(start_paused = true)]
async fn only_failures_that_may_pass_are_repeated_and_only_where_the_tool_allows() {
    use FailureClass::{
        Aborted, Blocked, Denied, Failed, InvalidArguments, InvalidOutput, TimedOut, Unavailable,
        UnknownTool,
    };
    for class in [
        Failed,
        Unavailable,
        TimedOut,
        Denied,
        Aborted,
        Blocked,
        InvalidArguments,
        InvalidOutput,
        UnknownTool,
    ] {
        for is_repeatable in [true, false] {
            let runs = Arc::default();
            let tool = flaky(9, class, &runs);
            let runtime = runtime([if is_repeatable { tool.repeatable() } else { tool }]);
            runtime.install(&Retry::new(3, Backoff::constant(ms(10)))).unwrap();
            let result = call(&runtime, "flaky").await;
            let attempts = if is_repeatable && matches!(class, Failed | Unavailable | TimedOut) {
                3
            } else {
                1
            };
            let message = format!("failed in run {attempts}");
            assert_eq!(failure(&result), (class, None, &*message), "repeatable: {is_repeatable}");
            assert_eq!(runs.load(Ordering::SeqCst), attempts);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn messages_of_failed_attempts_stay() {
    // PIPE-29
    let runs = Arc::default();
    let runtime = runtime([flaky(2, FailureClass::Unavailable, &runs).repeatable()]);
    runtime.hook(Retry::new(5, Backoff::none()));
    let result = call(&runtime, "flaky").await;
    assert_eq!(result.value(), Some(&json!(3)));
    assert_eq!(contexts(&result), ["run 1", "run 2", "run 3"]);
}

#[tokio::test(start_paused = true)]
async fn the_pauses_are_those_of_the_backoff() {
    let second = ms(1_000);
    let rows = [
        (1, Backoff::constant(second), 0),
        (0, Backoff::constant(second), 0),
        (4, Backoff::none(), 0),
        (4, Backoff::constant(second), 3),
        (4, Backoff::exponential(second), 1 + 2 + 4),
        (5, Backoff::exponential(second).at_most(ms(3_000)), 1 + 2 + 3 + 3),
        (9, Backoff::exponential(second), 1 + 2 + 4 + 8 + 16 + 30 + 30 + 30),
    ];
    for (attempts, backoff, seconds) in rows {
        let runs = Arc::default();
        let runtime = runtime([flaky(99, FailureClass::Failed, &runs).repeatable()]);
        runtime.hook(Retry::new(attempts, backoff));
        let start = Instant::now();
        assert!(call(&runtime, "flaky").await.is_error());
        assert_eq!(start.elapsed().as_secs(), seconds, "{attempts} × {backoff:?}");
        assert_eq!(runs.load(Ordering::SeqCst), attempts.max(1));
    }
    assert_eq!(Backoff::exponential(second).after(u32::MAX), ms(30_000));
    assert_eq!(Backoff::exponential(std::time::Duration::MAX).after(3), ms(30_000));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_stops_pausing_and_keeps_its_last_failure() {
    // Whether the caller cancels, or a hook further out takes the signal away.
    for is_callers in [true, false] {
        let runs = Arc::default();
        let runtime = runtime([flaky(9, FailureClass::Failed, &runs).repeatable()]);
        let signal = Signal::new();
        let replacement = signal.clone();
        if !is_callers {
            runtime.on_execute(move |_, mut next| {
                let replacement = replacement.clone();
                async move { next.run_with(replacement).await }
            });
        }
        runtime.hook(Retry::new(3, Backoff::constant(ms(60_000))));
        let input = CallInput::new("call-1", "flaky", json!({}));
        let input = if is_callers { input.with_signal(signal.clone()) } else { input };
        let start = Instant::now();
        let stop = async {
            sleep(ms(5)).await;
            signal.cancel(Cause::new("user", "stop"));
        };
        let (result, ()) = join(runtime.execute(input), stop).await;
        assert_eq!(failure(&result), (FailureClass::Failed, None, "failed in run 1"));
        assert_eq!((start.elapsed(), runs.load(Ordering::SeqCst)), (ms(5), 1));
    }
}

#[test]
fn without_a_runtime_only_calls_that_pause_fail() {
    for (backoff, expected) in [
        (Backoff::none(), "failed in run 3"),
        (
            Backoff::constant(ms(1)),
            "time limits and pauses need a tokio runtime; make the call inside one",
        ),
    ] {
        let runs = Arc::default();
        let runtime = runtime([flaky(9, FailureClass::Failed, &runs).repeatable()]);
        runtime.hook(Retry::new(3, backoff));
        let result = call(&runtime, "flaky").now_or_never().unwrap();
        assert_eq!(failure(&result), (FailureClass::Failed, None, expected));
    }
}

#[tokio::test(start_paused = true)]
async fn the_failure_of_another_hook_is_not_repeated() {
    let runs = Arc::default();
    let runtime = runtime([flaky(0, FailureClass::Failed, &runs).repeatable()]);
    runtime.hook(Retry::new(3, Backoff::none()));
    runtime.on_execute(|_, mut next| async move {
        let _done = next.run().await?;
        Err(HookError::failed("the hook is broken"))
    });
    let result = call(&runtime, "flaky").await;
    assert_eq!(failure(&result), (FailureClass::Failed, None, "the hook is broken"));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}
