//! Random runs under the lane, in which every stage takes its time: whatever takes how long,
//! fails or is cancelled, the order of everything is as it must be.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_core::testing::{ScriptedEngine, ScriptedTools};
use callgate_core::{
    Call, CallInput, CallResult, Cause, Decision, Invariants, Mode, Output, PostDecision, Recorder,
    Scope, Signal, ToolContext, ToolDefinition, ToolError, ToolRuntime, render,
};
use callgate_schema::{Json, ParamSpec, ValueSpec, json};
use callgate_session::{Content, EventBody, LogChecker, Session, SessionHeader};
use futures_util::future::join_all;
use proptest::prelude::*;

use crate::support::{counting, napping};

/// One call of a random program. Times are milliseconds.
#[derive(Clone, Copy, Debug)]
struct Planned {
    safe: bool,
    gate: u64,
    body: u64,
    post: u64,
    log: u64,
    /// How long the program waits before it submits this call.
    gap: u64,
    /// Whether it waits for the answer before it goes on.
    awaited: bool,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Fine,
    Denied,
    Fails,
    Blocked,
    /// Its body ends as soon as it is cancelled.
    Heeds,
}

#[derive(Clone, Debug)]
struct Plan {
    calls: Vec<Planned>,
    cap: usize,
    /// When the program returns, whatever still runs.
    leaves: Option<u64>,
    /// When the caller cancels.
    cancelled: Option<u64>,
}

fn plans() -> impl Strategy<Value = Plan> {
    let time = || prop_oneof![2 => Just(0_u64), 1 => 0..20_u64];
    let fate = prop_oneof![
        4 => Just(Fate::Fine),
        1 => Just(Fate::Denied),
        1 => Just(Fate::Fails),
        1 => Just(Fate::Blocked),
        1 => Just(Fate::Heeds)
    ];
    let times = (time(), 0..30_u64, time(), time(), 0..10_u64);
    let call = (any::<bool>(), times, prop::bool::weighted(0.3), fate).prop_map(
        |(safe, (gate, body, post, log, gap), awaited, fate)| Planned {
            safe,
            gate,
            body,
            post,
            log,
            gap,
            awaited,
            fate,
        },
    );
    let calls = prop::collection::vec(call, 1..12);
    let moment = || prop::option::weighted(0.3, 0..120_u64);
    (calls, 1..5_usize, moment(), moment()).prop_map(|(calls, cap, leaves, cancelled)| Plan {
        calls,
        cap,
        leaves,
        cancelled,
    })
}

/// What happened, in order: a word, and the number of the call.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<(&'static str, usize)>>>);

impl Trace {
    fn note(&self, what: &'static str, number: usize) {
        self.0.lock().unwrap().push((what, number));
    }

    /// Notes an end even where what ends is dropped.
    fn until(&self, what: &'static str, number: usize) -> impl Drop + use<> {
        struct Until(Trace, &'static str, usize);
        impl Drop for Until {
            fn drop(&mut self) {
                self.0.note(self.1, self.2);
            }
        }
        Until(self.clone(), what, number)
    }
}

/// The number of a sub-call, from 1.
fn number(id: &str) -> Option<usize> {
    id.strip_prefix("run:code:")?.parse().ok()
}

async fn pass(ms: u64) {
    if ms > 0 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

fn tool(name: &'static str, plan: &Plan, trace: &Trace) -> ToolDefinition {
    let (plan, trace) = (plan.clone(), trace.clone());
    let body = move |_: Json, context: ToolContext| {
        let number = number(context.call().id()).unwrap();
        let (planned, trace) = (plan.calls[number - 1], trace.clone());
        async move {
            trace.note("body", number);
            let _done = trace.until("done", number);
            if planned.fate == Fate::Heeds {
                tokio::select! {
                    () = pass(planned.body) => {}
                    () = context.signal().cancelled() => return Err(ToolError::failed("stopped")),
                }
            } else {
                pass(planned.body).await;
            }
            if planned.fate == Fate::Fails { Err(ToolError::failed("no")) } else { Ok(Json::Null) }
        }
    };
    let output = Output::new(ValueSpec::null(), render::nothing);
    ToolDefinition::new(name, "", ParamSpec::new(), output, body)
}

fn engine(plan: &Plan) -> ScriptedEngine {
    let plan = plan.clone();
    ScriptedEngine::new().program("go", move |tools: ScriptedTools| {
        let plan = plan.clone();
        let leaves = plan.leaves;
        let calling = async move {
            let mut open = Vec::new();
            for call in plan.calls {
                pass(call.gap).await;
                let answer = tools.call(if call.safe { "safe" } else { "alone" }, json!({}));
                if call.awaited {
                    let _answer = answer.await;
                } else {
                    open.push(answer);
                }
            }
            join_all(open).await;
        };
        async move {
            match leaves {
                Some(at) => {
                    let _late = tokio::time::timeout(Duration::from_millis(at), calling).await;
                }
                None => calling.await,
            }
            Ok(None)
        }
    })
}

/// Hooks on every stage that take as long as is planned, and decide as is planned.
fn arrange(scope: &Scope, plan: &Plan, trace: &Trace) {
    let of = {
        let plan = plan.clone();
        move |call: &Call| number(call.id()).map(|number| (number, plan.calls[number - 1]))
    };
    let (planned, noted) = (of.clone(), trace.clone());
    scope.on_pre_execute(move |call, next| {
        let (planned, noted) = (planned(&call), noted.clone());
        async move {
            let Some((number, planned)) = planned else { return next.run().await };
            noted.note("gate", number);
            let _judged = noted.until("judged", number);
            pass(planned.gate).await;
            match planned.fate {
                Fate::Denied => Ok(Decision::deny("no")),
                _ => next.run().await,
            }
        }
    });
    let (planned, noted) = (of, trace.clone());
    scope.on_post_execute(move |call, next| {
        let (planned, noted) = (planned(&call), noted.clone());
        async move {
            let Some((number, planned)) = planned else { return next.run().await };
            noted.note("post", number);
            let _posted = noted.until("posted", number);
            pass(planned.post).await;
            match planned.fate {
                Fate::Blocked => Ok(PostDecision::block([Content::text("no")])),
                _ => next.run().await,
            }
        }
    });
    let (plan, noted) = (plan.clone(), trace.clone());
    scope.on_code_dispatch_log(move |_, next| {
        let number = number(next.sub_call_id()).unwrap();
        let (log, noted) = (plan.calls[number - 1].log, noted.clone());
        async move {
            noted.note("log", number);
            let _logged = noted.until("logged", number);
            pass(log).await;
            next.run().await
        }
    });
    let noted = trace.clone();
    scope.observe(move |call, _| {
        if let Some(number) = number(call.id()) {
            noted.note("result", number);
        }
    });
}

async fn run(plan: &Plan, trace: &Trace) -> (CallResult, Session) {
    let builder = ToolRuntime::builder().mode(Mode::Both).engine(engine(plan));
    let builder = builder.max_parallel_sub_calls(plan.cap);
    let builder = builder.tool(tool("safe", plan, trace).concurrency_safe());
    let runtime = builder.tool(tool("alone", plan, trace)).build().unwrap();
    let session = Session::in_memory(SessionHeader::new("s", 0));
    Invariants::watch(&session).unwrap();
    let noted = trace.clone();
    session.observe(move |event| match &event.body {
        EventBody::CodeDispatchStart(start) => {
            noted.note("start", number(&start.sub_call_id).unwrap());
        }
        EventBody::CodeDispatch(end) => noted.note("settle", number(&end.sub_call_id).unwrap()),
        _ => {}
    });
    let scope = runtime.scope();
    arrange(&scope, plan, trace);
    let recorder = Recorder::new(scope, session.clone()).unwrap();
    let signal = Signal::new();
    let arguments = json!({ "code": "go", "description": "Runs a program of the tests" });
    let input = CallInput::new("run", "run_code", arguments).with_signal(signal.clone());
    let cancelling = async {
        match plan.cancelled {
            Some(at) => {
                tokio::time::sleep(Duration::from_millis(at)).await;
                signal.cancel(Cause::new("user", "stop"));
            }
            None => std::future::pending().await,
        }
    };
    let mut call = std::pin::pin!(recorder.call(input));
    let result = tokio::select! {
        biased;
        result = &mut call => result,
        () = cancelling => call.await,
    };
    recorder.close().unwrap();
    (result, session)
}

/// Reads what happened from first to last, and holds every rule of the lane against it.
fn check_trace(plan: &Plan, trace: &[(&'static str, usize)]) {
    let mut lane = None;
    let (mut started, mut committed) = (0, 0);
    let (mut running, mut copies) = (BTreeSet::new(), BTreeSet::new());
    let (mut begun, mut settled) = (BTreeSet::new(), BTreeSet::new());
    for (at, &(what, number)) in trace.iter().enumerate() {
        let is_safe = plan.calls[number - 1].safe;
        let told = || format!("at {at}, {what} {number}: {trace:?}");
        match what {
            "start" => {
                assert_eq!((number, lane), (started + 1, None), "{}", told());
                started = number;
                // Alone before its start, and until it is committed; in a slot otherwise.
                let before = plan.calls[committed..number - 1].iter();
                assert!(before.clone().all(|call| call.safe), "{}", told());
                assert!(is_safe || committed == number - 1, "{}", told());
                assert!(running.len() < plan.cap, "{}", told());
                assert!(copies.len() <= plan.cap, "{}", told());
            }
            // One stage of one call at a time.
            "gate" | "post" => {
                assert_eq!(lane.replace(number), None, "{}", told());
                assert!(!running.contains(&number), "{}", told());
                assert_eq!(
                    number,
                    if what == "gate" { started } else { committed + 1 },
                    "{}",
                    told()
                );
            }
            "judged" | "posted" => assert_eq!(lane.take(), Some(number), "{}", told()),
            "body" => {
                assert!(begun.insert(number) && running.insert(number), "{}", told());
                assert!(running.len() <= plan.cap, "{}", told());
                assert!(is_safe || running.len() == 1, "{}", told());
            }
            "done" => assert!(running.remove(&number), "{}", told()),
            "result" => {
                assert_eq!((number, lane), (committed + 1, None), "{}", told());
                assert!(!running.contains(&number), "{}", told());
                committed = number;
            }
            "log" => {
                assert!(number <= committed && copies.insert(number), "{}", told());
                assert!(copies.len() <= plan.cap + 1, "{}", told());
            }
            "logged" => assert!(copies.remove(&number), "{}", told()),
            "settle" => assert!(number <= committed && settled.insert(number), "{}", told()),
            _ => unreachable!(),
        }
    }
    // Nothing is left: every call that began is committed and recorded.
    assert_eq!((running.len(), copies.len(), lane), (0, 0, None), "{trace:?}");
    assert_eq!((committed, settled.len()), (started, started), "{trace:?}");
    if plan.leaves.is_none() && plan.cancelled.is_none() {
        assert_eq!(started, plan.calls.len(), "{trace:?}");
    }
}

// BRIDGE-12 BRIDGE-13 BRIDGE-14 BRIDGE-17 BRIDGE-18 BRIDGE-26 BRIDGE-30 BRIDGE-33
#[test]
fn random_runs_with_slow_stages_failures_and_cancellations_keep_every_order() {
    let cases = if std::env::var_os("CALLGATE_TEST_LONG").is_some() { 20_000 } else { 2_000 };
    let config = ProptestConfig { cases, ..ProptestConfig::default() };
    proptest!(config, |(plan in plans())| {
        let tokio = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let trace = Trace::default();
        let (_, session) = tokio.block_on(run(&plan, &trace));
        LogChecker::check_all(&session.events()).unwrap();
        let happened = trace.0.lock().unwrap().clone();
        check_trace(&plan, &happened);
        // Nothing comes later.
        tokio.block_on(pass(1_000));
        prop_assert_eq!(trace.0.lock().unwrap().len(), happened.len());
    });
}

// BRIDGE-33: calls that are committed in one burst, because the first of them was slow, do not
// all have their copies made at once.
#[tokio::test(start_paused = true)]
async fn a_burst_of_commits_waits_for_copies_of_the_log() {
    let engine = ScriptedEngine::new().program("go", async |tools| {
        let slow = tools.call("slow", json!({ "ms": 100 }));
        let fast = (0..20).map(|_| tools.call("fast", json!({})));
        join_all(std::iter::once(slow).chain(fast)).await;
        Ok(None)
    });
    let builder = ToolRuntime::builder().mode(Mode::Both).engine(engine);
    let runtime = builder.max_parallel_sub_calls(2).build().unwrap();
    runtime.register(napping("slow").concurrency_safe()).unwrap();
    runtime.register(counting("fast", &crate::support::Counter::default())).unwrap();
    let open = Arc::new(Mutex::new((0_usize, 0_usize)));
    let counted = open.clone();
    let scope = runtime.scope();
    scope.on_code_dispatch_log(move |_, next| {
        let counted = counted.clone();
        async move {
            {
                let mut counted = counted.lock().unwrap();
                counted.0 += 1;
                counted.1 = counted.1.max(counted.0);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            counted.lock().unwrap().0 -= 1;
            next.run().await
        }
    });
    let session = Session::in_memory(SessionHeader::new("s", 0));
    let recorder = Recorder::new(scope, session.clone()).unwrap();
    let arguments = json!({ "code": "go", "description": "Commits in a burst" });
    recorder.call(CallInput::new("run", "run_code", arguments)).await;
    recorder.close().unwrap();
    assert_eq!(*open.lock().unwrap(), (0, 3));
    LogChecker::check_all(&session.events()).unwrap();
}
