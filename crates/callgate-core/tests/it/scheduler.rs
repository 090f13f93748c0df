//! The scheduler of an agent loop.

use std::sync::{Arc, Mutex};

use callgate_core::testing::Results;
use callgate_core::{
    CallInput, Cause, Decision, ExecutionMode, Output, Registration, Scheduler, Scope, SessionStep,
    Signal, ToolContext, ToolDefinition, ToolRuntime, codes, render,
};
use callgate_schema::{Json, ParamSpec, ValueSpec, json};
use callgate_session::{EventBody, LogChecker, Session, SessionHeader, StepStart, TurnStart};

use crate::support::{Counter, counting, napping};

fn call(id: &str, name: &str, ms: u64) -> CallInput {
    CallInput::new(id, name, json!({ "ms": ms }))
}

fn logged(scope: &Scope) -> (Scheduler, Session) {
    let session = Session::in_memory(SessionHeader::new("s", 0));
    session.append(TurnStart { turn: 1 }).unwrap();
    session.append(StepStart { turn: 1, step: 1 }).unwrap();
    let step = SessionStep::new(session.clone(), 1, 1);
    (Scheduler::new(scope).log(step), session)
}

/// The events of a step, as `call ID` and `result ID`.
fn order(session: &Session) -> Vec<String> {
    LogChecker::check_all(&session.events()).unwrap();
    let describe = |body| match body {
        EventBody::ToolCall(call) => Some(format!("call {}", call.call_id)),
        EventBody::ToolResult(result) => Some(format!("result {}", result.message.call_id)),
        _ => None,
    };
    session.events().into_iter().filter_map(|event| describe(event.body)).collect()
}

fn runtime() -> ToolRuntime {
    ToolRuntime::builder()
        .tool(napping("safe").concurrency_safe())
        .tool(napping("alone"))
        .build()
        .unwrap()
}

// LOOP-3 LOOP-5 LOOP-6 LOOP-8 TURN-4
#[tokio::test(start_paused = true)]
async fn safe_calls_overlap_and_results_come_in_model_order() {
    let scope = runtime().scope();
    let (scheduler, session) = logged(&scope);
    let clock = tokio::time::Instant::now();
    let calls = vec![
        call("1", "safe", 50),
        call("2", "safe", 10),
        call("3", "alone", 10),
        call("4", "safe", 10),
    ];
    let step = scheduler.run(calls, &Signal::new()).await;
    assert_eq!(clock.elapsed().as_millis(), 70);
    let texts: Vec<String> = step.results.iter().map(callgate_core::CallResult::text).collect();
    assert_eq!(texts, ["50", "10", "10", "10"]);
    // The second settles first and is held back.
    let expected =
        ["call 1", "call 2", "result 1", "result 2", "call 3", "result 3", "call 4", "result 4"];
    assert_eq!(order(&session), expected);
}

// LOOP-4 TURN-4
#[tokio::test(start_paused = true)]
async fn the_pool_holds_no_more_than_its_limit() {
    let scope = runtime().scope();
    let run = async |limit: usize, naps: &[u64]| {
        let (scheduler, session) = logged(&scope);
        let calls =
            naps.iter().enumerate().map(|(index, ms)| call(&format!("{}", index + 1), "safe", *ms));
        let clock = tokio::time::Instant::now();
        scheduler.max_parallel(limit).unwrap().run(calls.collect(), &Signal::new()).await;
        (clock.elapsed().as_millis(), order(&session))
    };
    let (ms, serial) = run(1, &[10, 10]).await;
    assert_eq!(
        (ms, serial),
        (20, ["call 1", "result 1", "call 2", "result 2"].map(str::to_owned).to_vec())
    );
    let (ms, rolling) = run(2, &[10, 30, 30]).await;
    let expected = ["call 1", "call 2", "result 1", "call 3", "result 2", "result 3"];
    assert_eq!((ms, rolling), (40, expected.map(str::to_owned).to_vec()));
    assert!(Scheduler::new(&scope).max_parallel(0).is_err());
}

// LOOP-4
#[tokio::test(start_paused = true)]
async fn a_call_that_policy_settles_takes_no_slot() {
    let runtime = runtime();
    let scope = runtime.scope();
    scope.on_pre_execute(async |call, next| {
        if &**call.id() == "2" { Ok(Decision::deny("no")) } else { next.run().await }
    });
    let calls = vec![call("1", "safe", 10), call("2", "safe", 10), call("3", "safe", 10)];
    let clock = tokio::time::Instant::now();
    let step = Scheduler::new(&scope).max_parallel(2).unwrap().run(calls, &Signal::new()).await;
    assert_eq!(clock.elapsed().as_millis(), 10);
    let failed: Vec<bool> = step.results.iter().map(callgate_core::CallResult::is_error).collect();
    assert_eq!(failed, [false, true, false]);
}

// LOOP-16 SCHED-10
#[tokio::test(start_paused = true)]
async fn what_an_earlier_call_changed_applies_to_those_that_have_not_started() {
    let runtime = ToolRuntime::builder().build().unwrap();
    let registration: Arc<Mutex<Option<Registration>>> = Arc::default();
    *registration.lock().unwrap() =
        Some(runtime.register(napping("x").concurrency_safe()).unwrap());
    let (old, layer) = (registration.clone(), runtime.clone());
    let swap = ToolDefinition::new(
        "swap",
        "Replaces x by one that runs alone.",
        ParamSpec::new(),
        Output::new(ValueSpec::string(), render::json),
        move |_: Json, _: ToolContext| {
            old.lock().unwrap().take().unwrap().dispose();
            layer.register(napping("x")).unwrap();
            async { Ok(json!("swapped")) }
        },
    );
    runtime.register(swap).unwrap();
    let scope = runtime.scope();
    let (scheduler, session) = logged(&scope);
    let calls = vec![call("1", "swap", 0), call("2", "x", 10), call("3", "x", 10)];
    scheduler.run(calls, &Signal::new()).await;
    let expected = ["call 1", "result 1", "call 2", "result 2", "call 3", "result 3"];
    assert_eq!(order(&session), expected);
}

// LOOP-11 LOOP-12 TURN-9
#[tokio::test(start_paused = true)]
async fn after_a_cancellation_what_runs_is_drained_and_every_other_call_gets_a_result() {
    let runtime = runtime();
    let counter = Counter::default();
    runtime.register(counting("never", &counter)).unwrap();
    let scope = runtime.scope();
    let (published, _) = Results::observe(&scope);
    let (scheduler, session) = logged(&scope);
    let calls = vec![
        call("1", "safe", 50),
        call("2", "safe", 10),
        call("3", "alone", 10),
        call("4", "never", 0),
    ];
    let signal = Signal::new();
    let cancel = async {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        signal.cancel(Cause::new("user", "stop"));
    };
    let (step, ()) = tokio::join!(scheduler.run(calls, &signal), cancel);
    let found: Vec<_> =
        step.results.iter().map(|result| result.error().and_then(|error| error.code())).collect();
    let before = Some(codes::ABORTED_BEFORE_DISPATCH);
    // The second had settled, but was committed only after the first: cancelled by then.
    assert_eq!(found, [Some(codes::ABORTED), Some(codes::ABORTED), before, before]);
    let expected =
        ["call 1", "call 2", "result 1", "result 2", "call 3", "result 3", "call 4", "result 4"];
    assert_eq!(order(&session), expected);
    // The skipped ones never entered the registry.
    let ids: Vec<String> = published.all().iter().map(|(call, _)| call.id().to_string()).collect();
    assert_eq!((ids, counter.get()), (vec!["1".to_owned(), "2".to_owned()], 0));
}

// LOOP-11
#[tokio::test]
async fn a_step_that_is_cancelled_before_it_starts_skips_every_call() {
    let scope = runtime().scope();
    let signal = Signal::new();
    signal.cancel(Cause::new("user", "stop"));
    let step = Scheduler::new(&scope).run(vec![call("1", "safe", 1)], &signal).await;
    assert_eq!(step.results[0].error().unwrap().code(), Some(codes::ABORTED_BEFORE_DISPATCH));
}

// LOOP-15 TURN-11
#[tokio::test(start_paused = true)]
async fn a_log_that_cannot_be_written_stops_starts_and_invents_no_results() {
    let scope = runtime().scope();
    let (scheduler, session) = logged(&scope);
    let closing = session.clone();
    scope.observe(move |_, _| {
        let _closed = closing.close();
    });
    let calls = vec![call("1", "alone", 10), call("2", "alone", 10)];
    let step = scheduler.run(calls, &Signal::new()).await;
    assert_eq!(step.failure.unwrap().code(), Some(codes::LOG_FAILED));
    assert_eq!((step.results.len(), order(&session)), (0, vec!["call 1".to_owned()]));
}

// REG-23
#[test]
fn only_an_exact_yes_of_the_classifier_makes_a_call_parallel() {
    let runtime = runtime();
    let odd = |_: &Json| -> bool { panic!("no idea") };
    runtime.register(napping("panics").concurrency_safe_if(odd)).unwrap();
    runtime
        .register(napping("short").concurrency_safe_if(|arguments| {
            arguments.get("ms").and_then(Json::as_u64).is_some_and(|ms| ms < 10)
        }))
        .unwrap();
    let mode =
        |name: &str, arguments: Json| runtime.execution_mode(&CallInput::new("1", name, arguments));
    assert_eq!(mode("safe", json!({ "ms": 1 })), ExecutionMode::Parallel);
    assert_eq!(mode("short", json!({ "ms": 1 })), ExecutionMode::Parallel);
    assert_eq!(mode("short", json!({ "ms": 99 })), ExecutionMode::Exclusive);
    // BOUND-2 DSL-26: arguments that do not fit are not even shown to the classifier.
    assert_eq!(mode("short", json!({ "ms": "1" })), ExecutionMode::Exclusive);
    for name in ["panics", "alone", "nobody"] {
        assert_eq!(mode(name, json!({ "ms": 1 })), ExecutionMode::Exclusive, "{name}");
    }
    let lossy = CallInput::from_text("1", "safe", "{\"ms\": -0}");
    assert_eq!(runtime.execution_mode(&lossy), ExecutionMode::Exclusive);
    let collapsed = runtime.scope();
    collapsed.present_as(callgate_core::Mode::Code).unwrap();
    let direct = CallInput::new("1", "safe", json!({ "ms": 1 }));
    assert_eq!(collapsed.execution_mode(&direct), ExecutionMode::Exclusive);
}

// SCHED-5 SCHED-6 BRIDGE-11
#[tokio::test]
async fn the_staged_form_is_what_execute_does() {
    let runtime = runtime();
    let scope = runtime.scope();
    let admitted = runtime.admit(Some(&scope), call("1", "safe", 1));
    assert_eq!(&**admitted.call().id(), "1");
    let prepared = admitted.prepare().await;
    assert!(prepared.is_ready());
    let staged = prepared.dispatch().await.finalize().await.publish();
    let whole = scope.execute(call("1", "safe", 1)).await;
    assert_eq!((staged.text(), staged.value()), (whole.text(), whole.value()));

    scope.guard(|_| Some(callgate_core::Denial::new("no")));
    let prepared = runtime.admit(Some(&scope), call("2", "safe", 1)).prepare().await;
    assert!(!prepared.is_ready());
    assert!(prepared.dispatch().await.finalize().await.publish().is_error());
}

// SCHED-8: each phase is consumed by the next, and dropping one ends the call.
#[tokio::test(start_paused = true)]
async fn dropping_a_phase_cancels_the_call_and_publishes_once() {
    let runtime = runtime();
    let (results, _) = Results::observe(&runtime);
    let settle = || tokio::time::sleep(std::time::Duration::from_secs(1));
    drop(runtime.admit(None, call("admitted", "safe", 1)));
    settle().await;
    assert_eq!(results.all().len(), 0);

    drop(runtime.admit(None, call("prepared", "safe", 1)).prepare().await);
    drop(runtime.admit(None, call("dispatched", "safe", 1)).prepare().await.dispatch().await);
    let dispatched =
        runtime.admit(None, call("finalized", "safe", 1)).prepare().await.dispatch().await;
    drop(dispatched.finalize().await);
    settle().await;
    let code = |id: &str| {
        let result = results.only(id).unwrap_or_else(|| panic!("{id} was not published once"));
        result.error().and_then(|error| error.code().map(str::to_owned))
    };
    assert_eq!(code("prepared").as_deref(), Some(codes::ABORTED_BEFORE_DISPATCH));
    assert_eq!(code("dispatched").as_deref(), Some(codes::ABORTED));
    assert_eq!(code("finalized"), None);
}
