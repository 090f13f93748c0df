//! Timeouts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_core::hooks::{Backoff, Retry, Timeout};
use callgate_core::program::RunClock;
use callgate_core::testing::{ScriptedEngine, ScriptedTools};
use callgate_core::{
    Approval, CallInput, Cause, Decision, Executed, FailureClass, HookError, Signal, ToolContext,
    ToolDefinition, ToolError, codes,
};
use callgate_schema::{Json, json};
use futures_util::FutureExt;
use futures_util::future::join;
use tokio::time::{Instant, sleep};

use super::{call, contexts, failure, go, ms, note, runtime, runtime_for, tool};
use crate::support::{Counter, counting, delegating, napping};

/// A tool that works for some time and stops at once when it is told to.
fn obedient(name: &str, work: Duration) -> ToolDefinition {
    tool(name, move |_, context: ToolContext| async move {
        tokio::select! {
            () = sleep(work) => Ok(json!("done")),
            () = context.signal().cancelled() => {
                Err(ToolError::failed(format!("stopped: {}", context.signal().cause().unwrap())))
            }
        }
    })
}

const LATE: &str = "`slow` used up its time budget of 50 ms and was stopped";

fn timed_out(message: &str) -> (FailureClass, Option<&str>, &str) {
    (FailureClass::TimedOut, Some(codes::TOOL_TIMEOUT), message)
}

#[tokio::test(start_paused = true)]
async fn a_declared_budget_does_nothing_by_itself_and_is_shown_to_nobody() {
    // POLICY-1
    let runtime = runtime([obedient("slow", ms(200)).timeout(ms(50))]);
    let unlimited = super::runtime([obedient("slow", ms(200))]);
    assert_eq!(runtime.schemas(), unlimited.schemas());
    assert_eq!(call(&runtime, "slow").await.text(), "done");

    runtime.hook(Timeout::declared());
    assert_eq!(failure(&call(&runtime, "slow").await), timed_out(LATE));
}

#[tokio::test(start_paused = true)]
async fn only_the_budget_that_the_calling_scope_sees_counts() {
    // POLICY-2
    let same_handle = |_, context: ToolContext| async move {
        Ok(json!(context.signal() == context.call().signal()))
    };
    let runtime = runtime([
        tool("free", same_handle),
        tool("limited", same_handle).timeout(ms(50)),
        obedient("slow", ms(100)).timeout(ms(50)),
    ]);
    runtime.install(&Timeout::declared()).unwrap();
    assert_eq!(call(&runtime, "free").await.value(), Some(&json!(true)));
    assert_eq!(call(&runtime, "limited").await.value(), Some(&json!(false)));

    let scope = runtime.scope();
    scope.register(obedient("slow", ms(100)).timeout(ms(150))).unwrap();
    assert_eq!(call(&scope, "slow").await.text(), "done");
    assert_eq!(failure(&call(&runtime, "slow").await), timed_out(LATE));
}

#[tokio::test(start_paused = true)]
async fn the_timer_is_disarmed_when_the_body_has_settled() {
    // POLICY-3
    let kept = Arc::new(Mutex::new(None));
    let keep = kept.clone();
    let keeping = tool("quick", move |_, context: ToolContext| {
        *keep.lock().unwrap() = Some(context.signal().clone());
        std::future::ready(Ok(json!("done")))
    });
    let runtime = runtime([keeping.timeout(ms(50))]);
    runtime.hook(Timeout::declared());
    assert_eq!(call(&runtime, "quick").await.text(), "done");
    sleep(ms(1_000)).await;
    let signal: Signal = kept.lock().unwrap().take().unwrap();
    assert_eq!(signal.cause(), None);
}

#[tokio::test(start_paused = true)]
async fn whatever_comes_too_late_becomes_a_timeout() {
    // POLICY-4
    let late = |is_error: bool| {
        tool("slow", move |_, context: ToolContext| async move {
            context.defer_context(note("deferred by the body"));
            context.signal().cancelled().await;
            if is_error { Err(ToolError::failed("broken")) } else { Ok(json!("late")) }
        })
    };
    for (is_error, is_recovered) in [(false, false), (true, false), (true, true)] {
        let runtime = runtime([late(is_error).timeout(ms(50))]);
        runtime.hook(Timeout::declared());
        runtime.on_execute(move |_, mut next| async move {
            let executed = next.run().await?;
            let executed = if is_recovered { Executed::success("cached") } else { executed };
            Ok(executed.with_context(note("from a hook further in")))
        });
        let result = call(&runtime, "slow").await;
        assert_eq!(failure(&result), timed_out(LATE));
        assert_eq!(result.text(), format!("Error: {LATE}"));
        assert_eq!(&*result.error().unwrap().info().unwrap().name, "ToolTimeoutError");
        assert_eq!(contexts(&result), ["deferred by the body"]);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_cancels_first_decides() {
    // POLICY-5
    let aborted = (FailureClass::Aborted, Some(codes::ABORTED));
    let late = (FailureClass::TimedOut, Some(codes::TOOL_TIMEOUT));
    for (user_stops_at, expected) in [(ms(20), aborted), (ms(80), late)] {
        let signal = Signal::new();
        let runtime = runtime([napping("slow").timeout(ms(50))]);
        runtime.hook(Timeout::declared());
        let input = CallInput::new("call-1", "slow", json!({ "ms": 100 }));
        let stop = async {
            sleep(user_stops_at).await;
            signal.cancel(Cause::new("user", "stop"));
        };
        let (result, ()) = join(runtime.execute(input.with_signal(signal.clone())), stop).await;
        let (class, code, _) = failure(&result);
        assert_eq!((class, code), expected, "the user stops at {user_stops_at:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_somebody_further_out_is_an_ordinary_cancellation() {
    // POLICY-6
    for code in ["deadline", Cause::TIMEOUT] {
        let runtime = runtime([napping("slow").timeout(ms(50))]);
        runtime.on_execute(move |_, mut next| async move {
            let signal = Signal::new();
            let deadline = async {
                sleep(ms(20)).await;
                signal.cancel(Cause::new(code, "the outer deadline passed"));
            };
            join(next.run_with(signal.clone()), deadline).await.0
        });
        runtime.hook(Timeout::declared());
        let result = runtime.execute(CallInput::new("call-1", "slow", json!({ "ms": 100 }))).await;
        let message = "the call was cancelled while it ran: the outer deadline passed";
        assert_eq!(failure(&result), (FailureClass::Aborted, Some(codes::ABORTED), message));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_when_its_body_has_settled_and_not_before() {
    // POLICY-7
    let runtime = runtime([napping("slow").timeout(ms(50))]);
    runtime.hook(Timeout::declared());
    let start = Instant::now();
    let result = runtime.execute(CallInput::new("call-1", "slow", json!({ "ms": 500 }))).await;
    assert_eq!(failure(&result), timed_out(LATE));
    assert_eq!(start.elapsed(), ms(500));
}

#[tokio::test(start_paused = true)]
async fn the_order_of_registration_decides_what_a_budget_covers() {
    // POLICY-8
    let failing = |runs: &Counter| {
        let runs = runs.clone();
        tool("slow", move |_, context: ToolContext| {
            runs.add();
            async move {
                tokio::select! {
                    () = sleep(ms(30)) => {}
                    () = context.signal().cancelled() => {}
                }
                Err(ToolError::failed("broken"))
            }
        })
        .timeout(ms(50))
        .repeatable()
    };
    let retry = || Retry::new(3, Backoff::none());
    let broken = (FailureClass::Failed, None, "broken");
    for (timeout_first, runs_made, expected) in [(true, 2, timed_out(LATE)), (false, 3, broken)] {
        let runs = Counter::default();
        let runtime = runtime([failing(&runs)]);
        if timeout_first {
            runtime.hook(Timeout::declared());
            runtime.hook(retry());
        } else {
            runtime.hook(retry());
            runtime.hook(Timeout::declared());
        }
        let result = call(&runtime, "slow").await;
        assert_eq!((failure(&result), runs.get()), (expected, runs_made));
    }
}

#[tokio::test(start_paused = true)]
async fn the_failure_of_a_hook_further_in_is_not_hidden_by_a_timeout() {
    // POLICY-9
    let runtime = runtime([obedient("slow", ms(100)).timeout(ms(50))]);
    runtime.hook(Timeout::declared());
    runtime.on_execute(|_, mut next| async move {
        let _late = next.run().await?;
        Err(HookError::failed("the hook is broken"))
    });
    let result = call(&runtime, "slow").await;
    assert_eq!(failure(&result), (FailureClass::Failed, None, "the hook is broken"));
}

/// Makes every call of `careful` wait 10 s for approval.
fn slow_approvals(runtime: &callgate_core::ToolRuntime) {
    runtime.install(&callgate_core::hooks::Approvals::new()).unwrap();
    runtime.on_pre_execute(|call, next| async move {
        if &**call.name() == "careful" { Ok(Decision::ask("be careful")) } else { next.run().await }
    });
    runtime.on_approve(|_, _| async {
        sleep(ms(10_000)).await;
        Ok(Approval::AllowedOnce)
    });
}

#[tokio::test(start_paused = true)]
async fn waiting_for_an_approval_does_not_count() {
    let nap = async |work: u64| {
        let runtime = runtime([
            obedient("careful", ms(work)),
            delegating("outer", "careful").timeout(ms(50)),
        ]);
        runtime.hook(Timeout::declared());
        slow_approvals(&runtime);
        let start = Instant::now();
        let result = call(&runtime.scope(), "outer").await;
        (result.text(), start.elapsed())
    };
    assert_eq!(nap(40).await, ("done".to_owned(), ms(10_040)));
    let late = "Error: `outer` used up its time budget of 50 ms and was stopped";
    assert_eq!(nap(60).await, (late.to_owned(), ms(10_050)));
}

#[tokio::test(start_paused = true)]
async fn a_question_about_one_call_of_a_program_gives_the_others_no_time() {
    let engine = ScriptedEngine::new().program("go", async |tools: ScriptedTools| {
        let slow = tools.call("slow", json!({}));
        let careful = tools.call("careful", json!({}));
        Ok(Some(json!([slow.await.unwrap_err(), careful.await?])))
    });
    let runtime = runtime_for(engine);
    runtime.register(obedient("slow", ms(1_000)).timeout(ms(50)).concurrency_safe()).unwrap();
    runtime.register(obedient("careful", ms(1)).concurrency_safe()).unwrap();
    runtime.hook(Timeout::declared());
    slow_approvals(&runtime);
    let result = runtime.scope().execute(go()).await;
    let expected = json!([format!("timed out: {LATE}"), "done"]);
    assert_eq!(result.value().unwrap()["result"], expected);
}

#[tokio::test(start_paused = true)]
async fn any_budget_is_exact_and_none_is_too_long() {
    let budgets: [(Duration, Json); 3] = [
        (Duration::from_micros(500), json!("0.5 ms")),
        (ms(30_000), json!("30000 ms")),
        (Duration::MAX, Json::Null),
    ];
    for (budget, stated) in budgets {
        let runtime = runtime([obedient("slow", ms(3_600_000)).timeout(budget)]);
        runtime.hook(Timeout::declared());
        let result = call(&runtime, "slow").await;
        let expected = match stated.as_str() {
            None => "done".to_owned(),
            Some(stated) => {
                format!("Error: `slow` used up its time budget of {stated} and was stopped")
            }
        };
        assert_eq!(result.text(), expected);
    }
}

#[test]
fn without_a_runtime_a_limited_call_fails_before_its_body_runs() {
    let runs = Counter::default();
    let runtime = runtime([counting("quick", &runs).timeout(ms(50)), counting("free", &runs)]);
    runtime.hook(Timeout::declared());
    let result = call(&runtime, "quick").now_or_never().unwrap();
    let message = "time limits and pauses need a tokio runtime; make the call inside one";
    assert_eq!(failure(&result), (FailureClass::Failed, None, message));
    assert_eq!(runs.get(), 0);
    assert_eq!(call(&runtime, "free").now_or_never().unwrap().text(), "free");
}

#[tokio::test(start_paused = true)]
async fn a_clock_stands_still_for_its_own_pauses_and_for_those_of_its_parts() {
    let run = RunClock::default();
    let (part, other) = (run.child(), run.child());
    let first = part.pause();
    sleep(ms(10)).await;
    let second = part.pause();
    sleep(ms(10)).await;
    drop(first);
    sleep(ms(10)).await;
    assert_eq!([&run, &part, &other].map(RunClock::waited), [ms(30), ms(30), ms(0)]);
    drop(second);
    sleep(ms(10)).await;
    let third = run.pause();
    sleep(ms(10)).await;
    assert_eq!([&run, &part, &other].map(RunClock::waited), [ms(40), ms(30), ms(0)]);
    drop(third);

    let start = Instant::now();
    let asking = async {
        sleep(ms(5)).await;
        let _pause = part.pause();
        sleep(ms(1_000)).await;
    };
    join(asking, part.sleep(ms(20))).await;
    assert_eq!(start.elapsed(), ms(1_020));
}
