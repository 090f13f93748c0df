//! The lane: order, overlap, barriers, the end of a run.

use callgate_core::program::{
    EngineError, Isolation, Language, Program, ProgramEnd, ProgramEngine, ProgramHost,
};
use callgate_core::testing::ScriptedEngine;
use callgate_core::{CallInput, Denial, Mode, Recorder, Signal, ToolRuntime};
use callgate_schema::{Str, json};
use callgate_session::{EventBody, LogChecker, Session, SessionHeader};
use futures_util::future::BoxFuture;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

use crate::support::{Counter, counting, napping, plain, run_program, runtime_with};

/// The dispatch events of a log, as `start NAME` and `settle NAME`.
fn dispatches(session: &Session) -> Vec<String> {
    let describe = |body| match body {
        EventBody::CodeDispatchStart(start) => Some(format!("start {}", start.name)),
        EventBody::CodeDispatch(settled) => Some(format!("settle {}", settled.name)),
        _ => None,
    };
    session.events().into_iter().filter_map(|event| describe(event.body)).collect()
}

// BRIDGE-19, BRIDGE-14, BRIDGE-18
#[tokio::test(start_paused = true)]
async fn safe_calls_overlap_and_an_exclusive_one_is_a_barrier() {
    let engine = ScriptedEngine::new().program("go", async |tools| {
        let calls = [("a", 50), ("b", 10), ("c", 10), ("d", 10)]
            .map(|(name, ms)| tools.call(name, json!({ "ms": ms })));
        for call in calls {
            call.await?;
        }
        Ok(None)
    });
    let runtime = runtime_with(engine);
    for name in ["a", "b", "d"] {
        runtime.register(napping(name).concurrency_safe()).unwrap();
    }
    runtime.register(napping("c")).unwrap();
    let session = Session::in_memory(SessionHeader::new("s", 0));
    let recorder = Recorder::new(runtime.scope(), session.clone()).unwrap();
    let started = tokio::time::Instant::now();
    let input = json!({ "code": "go", "description": "Makes four calls" });
    let result = recorder.call(CallInput::new("run", "run_code", input)).await;
    recorder.close().unwrap();

    assert_eq!(result.text(), "(the program finished without output)");
    assert_eq!(
        dispatches(&session),
        [
            "start a", "start b", "settle a", "settle b", "start c", "settle c", "start d",
            "settle d"
        ]
    );
    // a and b together, then c, then d.
    assert_eq!(started.elapsed().as_millis(), 70);
    LogChecker::check_all(&session.events()).unwrap();
}

// BRIDGE-16, PIPE-17
#[tokio::test(start_paused = true)]
async fn a_rule_added_while_a_sub_call_is_queued_stops_it() {
    let arrived = Arc::new(Notify::new());
    let engine = ScriptedEngine::new().program("go", {
        let arrived = arrived.clone();
        move |tools: callgate_core::testing::ScriptedTools| {
            let arrived = arrived.clone();
            async move {
                let first = tools.call("slow", json!({ "ms": 100 }));
                let queued = tools.call("secret", json!({}));
                arrived.notify_one();
                first.await?;
                Ok(Some(queued.await.unwrap_err().into()))
            }
        }
    });
    let runtime = runtime_with(engine);
    let body_runs = Counter::default();
    runtime.register(napping("slow")).unwrap();
    runtime.register(counting("secret", &body_runs)).unwrap();
    let adding = async {
        arrived.notified().await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        runtime
            .guard(|call| (&**call.name() == "secret").then(|| Denial::new("too late for that")));
    };
    let (result, ()) = tokio::join!(run_program(&runtime, "run", "go"), adding);
    assert_eq!(result.value().unwrap().get("result").unwrap(), &json!("denied: too late for that"));
    assert_eq!(body_runs.get(), 0);
}

// BRIDGE-24, BRIDGE-25, BRIDGE-26, BRIDGE-27
#[tokio::test(start_paused = true)]
async fn the_end_of_a_program_cancels_what_runs_and_refuses_what_waits() {
    let engine = ScriptedEngine::new().program("go", async |tools| {
        let _running = tools.call("slow", json!({ "ms": 100 }));
        let _waiting = tools.call("fine", json!({}));
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        Ok(Some(json!("done")))
    });
    let runtime = runtime_with(engine);
    runtime.register(napping("slow")).unwrap();
    let body_runs = Counter::default();
    runtime.register(counting("fine", &body_runs)).unwrap();
    runtime.register(plain("other")).unwrap();
    let session = Session::in_memory(SessionHeader::new("s", 0));
    let recorder = Recorder::new(runtime.scope(), session.clone()).unwrap();
    let started = tokio::time::Instant::now();
    let input = json!({ "code": "go", "description": "Leaves calls behind" });
    let result = recorder.call(CallInput::new("run", "run_code", input)).await;

    assert_eq!(result.text(), "done");
    // The body that ignores its signal is waited for, and its success does not count.
    assert_eq!(started.elapsed().as_millis(), 100);
    assert_eq!(dispatches(&session), ["start slow", "settle slow"]);
    let settled = session.events().into_iter().find_map(|event| match event.body {
        EventBody::CodeDispatch(settled) => Some(settled),
        _ => None,
    });
    assert!(settled.unwrap().is_error);
    assert_eq!(body_runs.get(), 0);
}

/// What a program may make in all is counted before anything is decided about a call.
#[tokio::test]
async fn calls_beyond_the_limit_take_no_path() {
    let engine = ScriptedEngine::new().program("go", async |tools| {
        let mut outcomes = Vec::new();
        for _ in 0..3 {
            outcomes.push(match tools.call("a", json!({})).await {
                Ok(value) => value,
                Err(message) => message.into(),
            });
        }
        Ok(Some(outcomes.into()))
    });
    let builder = ToolRuntime::builder().mode(Mode::Both).engine(engine);
    let runtime = builder.max_sub_calls(2).build().unwrap();
    runtime.register(plain("a")).unwrap();
    let session = Session::in_memory(SessionHeader::new("s", 0));
    let recorder = Recorder::new(runtime.scope(), session.clone()).unwrap();
    let input = json!({ "code": "go", "description": "Makes three calls" });
    let result = recorder.call(CallInput::new("run", "run_code", input)).await;
    recorder.close().unwrap();
    let denied = "denied: `a` was not called, a program may make at most 2 calls";
    assert_eq!(result.value().unwrap()["result"], json!(["a", "a", denied]));
    assert_eq!(dispatches(&session), ["start a", "settle a", "start a", "settle a"]);
}

/// Engines that keep something for the next program are told whose it is.
#[tokio::test]
async fn a_program_says_which_session_it_belongs_to() {
    let engine = SessionTeller::default();
    let told = engine.0.clone();
    let runtime = ToolRuntime::builder().mode(Mode::Both).engine(engine).build().unwrap();
    let scopes = [runtime.scope(), runtime.scope(), runtime.scope()];
    for scope in &scopes[..2] {
        scope.set_session(Session::in_memory(SessionHeader::new("same id", 0))).unwrap();
    }
    for scope in [0, 1, 0, 2] {
        run_program(&scopes[scope], "run", "go").await;
    }
    let told = told.lock().unwrap();
    assert!(told[0].is_some() && told[1].is_some());
    assert_eq!((&told[0], &told[3]), (&told[2], &None));
    assert_ne!(told[0], told[1]);
}

/// Runs nothing and remembers the sessions of its programs.
#[derive(Debug, Default)]
struct SessionTeller(Arc<Mutex<Vec<Option<Str>>>>);

impl ProgramEngine for SessionTeller {
    fn language(&self) -> Language {
        Language::TypeScript
    }

    fn isolation(&self) -> Isolation {
        Isolation::InProcess
    }

    fn run(
        &self,
        program: Program,
        _host: Arc<dyn ProgramHost>,
        _signal: Signal,
    ) -> BoxFuture<'static, Result<ProgramEnd, EngineError>> {
        self.0.lock().unwrap().push(program.session);
        Box::pin(async { Ok(ProgramEnd::default()) })
    }
}
