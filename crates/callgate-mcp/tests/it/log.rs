//! The log of a client's session.

use std::sync::Arc;

use callgate::session::{AbortCause, EventBody, LogChecker, Session, SessionHeader, TurnEndReason};
use callgate::testing::{ScriptedEngine, ScriptedTools};
use callgate::{Cause, Denial, Json, Mode, json};
use callgate_mcp::GatewayOptions;

use crate::support::{Client, Fake, gateway_with, tool};

/// Kind and the part that matters of each event.
fn story(log: &Session) -> Vec<String> {
    let events = log.events().into_iter();
    events
        .map(|event| match &event.body {
            EventBody::ToolCall(call) => format!("{} {}", event.kind(), call.name),
            EventBody::ToolResult(result) => {
                format!("{} error={}", event.kind(), result.message.is_error)
            }
            EventBody::CodeDispatch(call) => {
                format!("{} {} error={}", event.kind(), call.name, call.is_error)
            }
            EventBody::PolicyDecision(decision) => {
                format!(
                    "{} {} {}",
                    event.kind(),
                    decision.name,
                    decision.rule.as_deref().unwrap_or("-")
                )
            }
            EventBody::GatewayNotice(notice) => format!("{} {}", event.kind(), notice.message),
            _ => event.kind().to_owned(),
        })
        .collect()
}

#[tokio::test]
async fn every_call_is_recorded_in_one_turn_and_the_log_keeps_the_rules() {
    let fake = Fake::with_tools(json!([tool("echo"), tool("get.status")]), json!({}));
    let renamed = callgate::schema::public_name("s", "get.status");
    let called = renamed.clone();
    let engine = ScriptedEngine::new().program("both", move |tools: ScriptedTools| {
        let called = called.clone();
        async move {
            tools.call(called.clone(), json!({})).await?;
            tools.call(called, json!({})).await?;
            let denied = tools.call("s__echo", json!({ "secret": true })).await.unwrap_err();
            Ok(Some(json!(denied)))
        }
    });
    let log = Session::in_memory(SessionHeader::new("s-1", 0));
    log.add_check(LogChecker::new()).unwrap();
    let mut options = GatewayOptions::default();
    let made = log.clone();
    options.log = Some(Arc::new(move || Ok(made.clone())));
    let gateway = gateway_with(Mode::Both, engine, vec![fake.server("s")], options).await;
    gateway.runtime().guard(|call| {
        let is_secret = call.arguments().get("secret").and_then(Json::as_bool) == Some(true);
        is_secret.then(|| Denial::new("no secrets").by_rule("no-secrets"))
    });
    let mut client = Client::greeted(&gateway).await;
    client.call("s__echo", json!({})).await;
    client.call("run_code", json!({ "code": "both", "description": "Both" })).await;
    client.call("s__echo", json!({ "secret": true })).await;
    client.end_input().await;
    client.serving.await.unwrap();
    let dispatched = format!("tool/code-dispatch {renamed} error=false");
    assert_eq!(
        story(&log),
        [
            "turn/start",
            "step/start",
            "tool/call s__echo",
            "tool/result error=false",
            "tool/call run_code",
            "tool/code-dispatch-start",
            &format!("gateway/notice `{renamed}` is the tool `get.status` of server `s`"),
            &dispatched,
            "tool/code-dispatch-start",
            &dispatched,
            "tool/code-dispatch-start",
            "policy/decision s__echo no-secrets",
            "tool/code-dispatch s__echo error=true",
            "tool/result error=false",
            "tool/call s__echo",
            "policy/decision s__echo no-secrets",
            "tool/result error=true",
            "step/end",
            "turn/end",
        ]
    );
}

/// How the log says that a session ended, which made one call and then went that way.
async fn ending(stop: Option<Cause>) -> TurnEndReason {
    let fake = Fake::with_tools(json!([tool("echo")]), json!({}));
    let log = Session::in_memory(SessionHeader::new("s-1", 0));
    let mut options = GatewayOptions::default();
    let made = log.clone();
    options.log = Some(Arc::new(move || Ok(made.clone())));
    let servers = vec![fake.server("s")];
    let gateway = gateway_with(Mode::Native, ScriptedEngine::new(), servers, options).await;
    let mut client = Client::greeted(&gateway).await;
    client.call("s__echo", json!({})).await;
    match stop {
        Some(cause) => {
            client.stop.cancel(cause);
        }
        None => client.end_input().await,
    }
    client.serving.await.unwrap();
    match log.events().pop().unwrap().body {
        EventBody::TurnEnd(end) => end.reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_log_tells_why_its_session_ended() {
    // SESSION-4
    assert_eq!(ending(None).await, TurnEndReason::Completed);
    let by_hand = Cause::new(Cause::INTERRUPT, "interrupted by Ctrl-C");
    assert_eq!(ending(Some(by_hand)).await, TurnEndReason::Aborted(AbortCause::User));
    let by_program = Cause::new("terminate", "SIGTERM");
    assert_eq!(ending(Some(by_program)).await, TurnEndReason::Aborted(AbortCause::Disposed));
}

#[tokio::test]
async fn a_session_whose_log_cannot_be_made_is_not_served() {
    let fake = Fake::with_tools(json!([tool("echo")]), json!({}));
    let mut options = GatewayOptions::default();
    options.log = Some(Arc::new(|| Err(std::io::Error::other("the disk is full"))));
    let engine = ScriptedEngine::new();
    let gateway = gateway_with(Mode::Native, engine, vec![fake.server("s")], options).await;
    let (_ours, theirs) = tokio::io::duplex(64);
    let (reader, writer) = tokio::io::split(theirs);
    let served = gateway.serve(reader, writer, &callgate::Signal::new()).await;
    assert_eq!(served.unwrap_err().to_string(), "the disk is full");
}
