//! Sessions without an agent loop: how they end.

use callgate_core::{CallInput, Recorder, ToolRuntime};
use callgate_schema::json;
use callgate_session::{
    AbortCause, EventBody, Failure, LogChecker, Session, SessionHeader, TurnEndReason,
};

use crate::support::plain;

fn recorder() -> Recorder {
    let runtime = ToolRuntime::builder().build().unwrap();
    runtime.register(plain("x")).unwrap();
    let session = Session::in_memory(SessionHeader::new("s", 0));
    Recorder::new(runtime.scope(), session).unwrap()
}

/// The number and the reason of each turn that ended.
fn endings(recorder: &Recorder) -> Vec<(u64, TurnEndReason)> {
    let pick = |body| match body {
        EventBody::TurnEnd(end) => Some((end.turn, end.reason)),
        _ => None,
    };
    recorder.session().events().into_iter().filter_map(|event| pick(event.body)).collect()
}

#[tokio::test]
async fn a_session_ends_for_the_reason_that_is_given() {
    // SESSION-4
    let failure = Failure { message: "no".into(), code: "UNKNOWN".into() };
    let reasons = [
        TurnEndReason::Completed,
        TurnEndReason::Aborted(AbortCause::User),
        TurnEndReason::Aborted(AbortCause::Disposed),
        TurnEndReason::Error(failure),
    ];
    let recorder = recorder();
    for reason in &reasons {
        recorder.call(CallInput::new("call", "x", json!({}))).await;
        recorder.close_with(reason.clone()).unwrap();
    }
    recorder.call(CallInput::new("call", "x", json!({}))).await;
    recorder.close().unwrap();
    let expected: Vec<_> =
        (1..).zip(reasons.into_iter().chain([TurnEndReason::Completed])).collect();
    assert_eq!(endings(&recorder), expected);
    LogChecker::check_all(&recorder.session().events()).unwrap();
}

#[tokio::test]
async fn a_session_that_never_began_and_one_that_ended_have_nothing_to_end() {
    let recorder = recorder();
    recorder.close_with(TurnEndReason::Aborted(AbortCause::User)).unwrap();
    assert!(recorder.session().events().is_empty());
    recorder.call(CallInput::new("call", "x", json!({}))).await;
    recorder.close_with(TurnEndReason::Aborted(AbortCause::User)).unwrap();
    recorder.close().unwrap();
    assert_eq!(endings(&recorder), [(1, TurnEndReason::Aborted(AbortCause::User))]);
}
