//! The invariant checker, and the announcements it hangs on.

use std::sync::{Arc, Mutex};

use callgate_core::testing::Results;
use callgate_core::{
    CallInput, Invariants, PromptSection, Recorder, Signal, StageName, ToolError, ToolRuntime,
    codes,
};
use callgate_schema::json;
use callgate_session::{CodeDispatchStart, Event, Session, SessionHeader, StepStart, TurnStart};

use crate::support::{Counter, counting, delegating, plain};

fn input(id: &str, name: &str) -> CallInput {
    CallInput::new(id, name, json!({}))
}

// EVT-19 INV-1
#[tokio::test]
async fn every_stage_is_announced_once_before_its_hooks() {
    let runtime = ToolRuntime::builder().invariants(false).tool(plain("x")).build().unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let note = |heard: &Arc<Mutex<Vec<String>>>, what: String| heard.lock().unwrap().push(what);
    let (stages, hooks) = (heard.clone(), heard.clone());
    runtime
        .change(|change| {
            change.on_stage(move |stage, call, result| {
                note(&stages, format!("{stage:?} {} {}", call.name(), result.is_some()));
                Ok(())
            })
        })
        .unwrap();
    runtime.on_pre_execute(move |_, next| {
        note(&hooks, "hook".to_owned());
        async move { next.run().await }
    });
    runtime.execute(input("1", "x")).await;
    let expected =
        ["PreExecute x false", "hook", "Execute x false", "PostExecute x false", "Result x true"];
    assert_eq!(*heard.lock().unwrap(), expected);
}

// INV-2: a violation inside a stage fails the call, at publication it takes the result's place.
#[tokio::test]
async fn a_violation_fails_the_call_it_is_found_in() {
    for (at, body_runs) in [
        (StageName::PreExecute, 0),
        (StageName::Execute, 0),
        (StageName::PostExecute, 1),
        (StageName::Result, 1),
    ] {
        let counter = Counter::default();
        let runtime = ToolRuntime::builder().tool(counting("x", &counter)).build().unwrap();
        runtime
            .change(|change| {
                change.on_stage(move |stage, _, _| {
                    if stage == at {
                        Err(ToolError::coded("InvariantError", codes::INVARIANT, "broken"))
                    } else {
                        Ok(())
                    }
                })
            })
            .unwrap();
        let (results, _) = Results::observe(&runtime);
        let result = runtime.execute(input("1", "x")).await;
        assert_eq!(result.error().unwrap().code(), Some(codes::INVARIANT), "{at:?}");
        assert!(results.only("1").unwrap().ptr_eq(&result), "{at:?}");
        assert_eq!(counter.get(), body_runs, "{at:?}");
    }
}

// INV-3 INV-4 INV-5 INV-6 SESSION-14
#[tokio::test]
async fn ordinary_calls_break_no_invariant_even_if_the_checker_comes_late() {
    let runtime = ToolRuntime::builder()
        .invariants(false)
        .tool(plain("x"))
        .tool(delegating("outer", "x"))
        .build()
        .unwrap();
    let installing = runtime.clone();
    runtime.on_execute(move |_, mut next| {
        // Installed while a call is under way.
        let _plugin = installing.install(&Invariants);
        async move { next.run().await }
    });
    for (id, name) in [("1", "x"), ("2", "outer"), ("3", "nobody")] {
        let result = runtime.execute(input(id, name)).await;
        let code = result.error().and_then(ToolError::code);
        assert_ne!(code, Some(codes::INVARIANT), "{name}: {}", result.text());
    }
}

// INV-8
#[tokio::test]
async fn a_published_call_has_an_id_and_a_name() {
    let runtime = ToolRuntime::builder().invariants(true).tool(plain("x")).build().unwrap();
    for (id, name) in [("", "x"), ("1", "")] {
        let result = runtime.execute(input(id, name)).await;
        assert_eq!(result.error().unwrap().code(), Some(codes::INVARIANT));
    }
}

// INV-16
#[tokio::test]
async fn an_assembled_prompt_has_unique_section_names() {
    let runtime = ToolRuntime::builder().invariants(true).build().unwrap();
    runtime.on_assemble(async |_, next| {
        let mut prompt = next.run().await?;
        prompt.sections.extend([PromptSection::new("a", "1"), PromptSection::new("a", "2")]);
        Ok(prompt)
    });
    let error = runtime.assemble(&Signal::new()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "an invariant is broken: the section name `a` is empty or not unique"
    );
}

fn dispatch(session: &Session, root: &str, parent: &str, id: &str) -> Result<Event, String> {
    let start = CodeDispatchStart {
        root_call_id: root.into(),
        parent_call_id: parent.into(),
        sub_call_id: id.into(),
        name: "x".into(),
        arguments: json!({}),
    };
    session.append(start).map_err(|error| error.to_string())
}

// INV-9 INV-10 INV-11 INV-12
#[tokio::test]
async fn a_watched_log_is_replayed_and_then_held_to_its_rules() {
    let session = Session::in_memory(SessionHeader::new("s", 0));
    let outside = dispatch(&session, "r", "r", "r:1").unwrap();
    assert_eq!(outside.seq, 0);
    // The event outside a turn is found by the replay.
    assert!(Invariants::watch(&session).is_err());

    let session = Session::in_memory(SessionHeader::new("s", 0));
    Invariants::watch(&session).unwrap();
    assert!(dispatch(&session, "r", "r", "r:1").is_err());
    session.append(TurnStart { turn: 1 }).unwrap();
    session.append(StepStart { turn: 1, step: 1 }).unwrap();
    // A refused entry leaves no trace: the id is free for another root.
    dispatch(&session, "r", "r", "r:1").unwrap();
    assert!(dispatch(&session, "other", "other", "r:1").is_err());
    assert!(dispatch(&session, "r", "unknown", "r:2").is_err());
    dispatch(&session, "r", "r:1", "r:2").unwrap();
}

#[tokio::test]
async fn a_recorder_keeps_its_log_within_the_rules() {
    let runtime = ToolRuntime::builder().tool(plain("x")).build().unwrap();
    let session = Session::in_memory(SessionHeader::new("s", 0));
    Invariants::watch(&session).unwrap();
    let recorder = Recorder::new(runtime.scope(), session).unwrap();
    let calls = ["1", "2"].map(|id| recorder.call(input(id, "x")));
    for result in futures_util::future::join_all(calls).await {
        assert_eq!(result.text(), "x");
    }
    recorder.close().unwrap();
}
