//! Calls on their way: cancelled, overdue, reported on, denied.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate::testing::{ScriptedEngine, ScriptedTools};
use callgate::{
    CallInput, Cause, Denial, FailureClass, Json, Mode, Output, ParamSpec, Signal, ToolContext,
    ToolDefinition, ValueSpec, codes, json, render,
};
use callgate_mcp::{GatewayOptions, ServerState};
use tokio::time::{Instant, sleep};

use crate::support::{Client, Fake, Host, eventually, gateway, gateway_with, text, tool};

fn hanging() -> Fake {
    Fake::with_tools(json!([tool("hang"), tool("echo")]), json!({ "hang": { "hang": true } }))
}

#[tokio::test]
async fn a_call_that_its_client_takes_back_is_taken_back_upstream_and_not_answered() {
    let fake = hanging();
    let gateway = gateway(Mode::Native, vec![fake.server("s")]).await;
    let mut client = Client::greeted(&gateway).await;
    let id = client.request("tools/call", json!({ "name": "s__hang" })).await;
    eventually("the server has the call", || fake.calls().len() == 1).await;
    client
        .notify("notifications/cancelled", json!({ "requestId": id, "reason": "changed my mind" }))
        .await;
    eventually("the server hears of it", || {
        !fake.received_of("notifications/cancelled").is_empty()
    })
    .await;
    let cancelled = &fake.received_of("notifications/cancelled")[0];
    let call = &fake.received_of("tools/call")[0];
    assert_eq!(
        cancelled["params"],
        json!({ "requestId": call["id"].clone(), "reason": "changed my mind" })
    );
    // The next answer is that of the next question.
    let next = client.request("tools/call", json!({ "name": "s__echo" })).await;
    assert_eq!(client.hear().await["id"], json!(next));
}

#[tokio::test]
async fn a_cancelled_call_is_aborted_with_the_first_cause() {
    let fake = hanging();
    let host = Host::start(vec![fake.server("s")]).await;
    let signal = Signal::new();
    let input = CallInput::new("1", "s__hang", json!({})).with_signal(signal.clone());
    let call = host.runtime.execute(input);
    let cancelling = async {
        eventually("the server has the call", || fake.calls().len() == 1).await;
        signal.cancel(Cause::new("user", "the user pressed stop"));
    };
    let (result, ()) = tokio::join!(call, cancelling);
    let error = result.error().unwrap();
    assert_eq!((error.class(), error.code()), (FailureClass::Aborted, Some(codes::ABORTED)));
    assert_eq!(error.message(), "the call was cancelled while it ran: the user pressed stop");
}

#[tokio::test]
async fn a_call_without_an_answer_times_out_and_the_server_is_told() {
    let fake = hanging();
    let mut server = fake.server("s");
    server.timeouts.idle = Duration::from_millis(200);
    let host = Host::start(vec![server]).await;
    let result = host.call("s__hang", json!({})).await;
    let error = result.error().unwrap();
    assert_eq!((error.class(), error.code()), (FailureClass::TimedOut, Some(codes::TOOL_TIMEOUT)));
    assert_eq!(
        error.message(),
        "server `s` gave no answer to `hang` and no sign of progress for 200ms; the call was given up"
    );
    eventually("the server hears of it", || fake.received_of("notifications/cancelled").len() == 1)
        .await;
    assert_eq!(host.status("s").state, ServerState::Ready);
}

/// A tool that reports progress ten times, 50 ms apart, and then answers.
fn progressing() -> Fake {
    let progress: Vec<Json> =
        (1..=10).map(|step| json!({ "progress": step, "total": 10, "message": "at it" })).collect();
    let slow = json!({ "progress": progress, "progress_every_ms": 50, "result": text("done") });
    Fake::with_tools(json!([tool("slow")]), json!({ "slow": slow }))
}

#[tokio::test]
async fn progress_reaches_the_client_under_its_own_token_and_shows_that_the_server_lives() {
    let fake = progressing();
    let mut server = fake.server("s");
    server.timeouts.idle = Duration::from_millis(250);
    let gateway = gateway(Mode::Native, vec![server]).await;
    let mut client = Client::greeted(&gateway).await;
    let meta = json!({ "progressToken": "mine", "trace": { "id": 7 } });
    let params = json!({ "name": "s__slow", "arguments": {}, "_meta": meta });
    assert_eq!(client.ask("tools/call", params).await, text("done"));
    let told = client.told_of("notifications/progress").await;
    let expected: Vec<Json> = (1..=10)
        .map(|step| json!({ "progress": step, "total": 10, "message": "at it", "progressToken": "mine" }))
        .collect();
    assert_eq!(told, expected);
    let sent = &fake.calls()[0]["_meta"];
    assert_eq!(sent["trace"], json!({ "id": 7 }));
    assert_ne!(sent["progressToken"], json!("mine"));
}

#[tokio::test]
async fn progress_of_sub_calls_counts_on_under_the_token_of_the_program() {
    let fake = progressing();
    let engine = ScriptedEngine::new().program("twice", async |tools: ScriptedTools| {
        tools.call("s__slow", json!({})).await?;
        tools.call("s__slow", json!({})).await.map(Some)
    });
    let gateway =
        gateway_with(Mode::Code, engine, vec![fake.server("s")], GatewayOptions::default()).await;
    let mut client = Client::greeted(&gateway).await;
    let arguments = json!({ "code": "twice", "description": "Twice" });
    let params =
        json!({ "name": "run_code", "arguments": arguments, "_meta": { "progressToken": 5 } });
    client.ask("tools/call", params).await;
    let told = client.told_of("notifications/progress").await;
    let expected: Vec<Json> = (1..=20)
        .map(|step| json!({ "progress": step, "message": "s__slow: at it", "progressToken": 5 }))
        .collect();
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_call_that_goes_on_for_too_long_ends_whatever_progress_it_makes() {
    let fake = progressing();
    let mut server = fake.server("s");
    server.timeouts.call = Duration::from_millis(200);
    let host = Host::start(vec![server]).await;
    let start = Instant::now();
    let result = host.call("s__slow", json!({})).await;
    assert_eq!(
        result.error().unwrap().message(),
        "server `s` did not finish `slow` within 200ms; the call was given up"
    );
    assert!(start.elapsed() < Duration::from_millis(450));
}

#[tokio::test]
async fn calls_of_a_client_run_beside_each_other() {
    let fake = Fake::with_tools(
        json!([tool("slow"), tool("echo")]),
        json!({ "slow": { "delay_ms": 400, "result": text("slow") } }),
    );
    let gateway = gateway(Mode::Native, vec![fake.server("s")]).await;
    let mut client = Client::greeted(&gateway).await;
    let slow = client.request("tools/call", json!({ "name": "s__slow" })).await;
    let quick = client.request("tools/call", json!({ "name": "s__echo" })).await;
    assert_eq!(client.hear().await["id"], json!(quick));
    assert_eq!(client.hear().await["id"], json!(slow));
}

/// A tool of the host that calls another.
fn delegating(name: &'static str, inner: &'static str) -> ToolDefinition {
    let output = Output::new(ValueSpec::json(), render::json);
    ToolDefinition::new(
        name,
        "Calls another tool.",
        ParamSpec::new(),
        output,
        move |arguments: Json, context: ToolContext| async move {
            let id = format!("{}:nested", context.call().id());
            let result = context.execute(id, inner, arguments).await;
            match result.error() {
                Some(error) => Err(error.clone()),
                None => Ok(result.value().cloned().unwrap_or_default()),
            }
        },
    )
}

#[tokio::test]
async fn a_rule_stops_a_call_whoever_makes_it() {
    let fake = Fake::with_tools(json!([tool("echo"), tool("other")]), json!({}));
    let engine = ScriptedEngine::new()
        .program("alone", async |tools: ScriptedTools| {
            Ok(Some(json!(tools.call("s__echo", json!({})).await.unwrap_err())))
        })
        .program("together", async |tools: ScriptedTools| {
            let calls = [tools.call("s__other", json!({})), tools.call("s__echo", json!({}))];
            let [other, denied] = calls;
            other.await?;
            Ok(Some(json!(denied.await.unwrap_err())))
        })
        .program("nested", async |tools: ScriptedTools| {
            Ok(Some(json!(tools.call("outer", json!({})).await.unwrap_err())))
        });
    let gateway =
        gateway_with(Mode::Both, engine, vec![fake.server("s")], GatewayOptions::default()).await;
    gateway.runtime().register(delegating("outer", "s__echo")).unwrap();
    gateway.runtime().guard(|call| {
        (&**call.name() == "s__echo").then(|| Denial::new("no echoes here").by_rule("quiet"))
    });
    let denied: Arc<Mutex<Vec<(String, FailureClass, String)>>> = Arc::default();
    let seen = denied.clone();
    gateway.runtime().observe(move |call, result| {
        if let (true, Some(error)) = (&**call.name() == "s__echo", result.error()) {
            let message = error.message().to_owned();
            seen.lock().unwrap().push((call.id().to_string(), error.class(), message));
        }
    });
    let mut client = Client::greeted(&gateway).await;
    let refused = json!({ "content": [{ "type": "text", "text": "Error: no echoes here" }], "isError": true });
    for name in ["s__echo", "outer"] {
        assert_eq!(client.call(name, json!({})).await, refused, "{name}");
    }
    for program in ["alone", "together", "nested"] {
        let answer =
            client.call("run_code", json!({ "code": program, "description": "Calls" })).await;
        assert_eq!(answer, text("denied: no echoes here"), "{program}");
    }
    let called: Vec<Json> = fake.calls().iter().map(|call| call["name"].clone()).collect();
    assert_eq!(called, [json!("other")]);
    let same = |id: &str| (id.to_owned(), FailureClass::Denied, "no echoes here".to_owned());
    let ids = ["call-1", "call-2:nested", "call-3:code:1", "call-4:code:2", "call-5:code:1:nested"];
    assert_eq!(*denied.lock().unwrap(), ids.map(same));
}

#[tokio::test]
async fn the_end_of_a_session_lets_calls_finish_and_cancels_those_that_do_not() {
    let fake = Fake::with_tools(
        json!([tool("slow"), tool("hang")]),
        json!({ "slow": { "delay_ms": 300, "result": text("slow") }, "hang": { "hang": true } }),
    );
    let mut options = GatewayOptions::default();
    options.drain = Duration::from_secs(2);
    let gateway =
        gateway_with(Mode::Native, ScriptedEngine::new(), vec![fake.server("s")], options).await;
    let mut client = Client::greeted(&gateway).await;
    let slow = client.request("tools/call", json!({ "name": "s__slow" })).await;
    let hang = client.request("tools/call", json!({ "name": "s__hang" })).await;
    eventually("the server has both", || fake.calls().len() == 2).await;
    let start = Instant::now();
    client.end_input().await;
    assert_eq!(client.answer(slow).await["result"], text("slow"));
    let aborted = client.answer(hang).await["result"].clone();
    assert_eq!(
        aborted["content"][0]["text"],
        json!("Error: the call was cancelled while it ran: the session ended")
    );
    client.serving.await.unwrap();
    let elapsed = start.elapsed();
    assert!(
        (Duration::from_millis(900)..Duration::from_millis(1_900)).contains(&elapsed),
        "{elapsed:?}"
    );
}

#[tokio::test]
async fn a_session_that_is_stopped_cancels_its_calls_at_once() {
    let fake = hanging();
    let gateway = gateway(Mode::Native, vec![fake.server("s")]).await;
    let mut client = Client::greeted(&gateway).await;
    let hang = client.request("tools/call", json!({ "name": "s__hang" })).await;
    eventually("the server has it", || fake.calls().len() == 1).await;
    let start = Instant::now();
    client.stop.cancel(Cause::new("signal", "SIGTERM"));
    let aborted = client.answer(hang).await["result"].clone();
    assert_eq!(aborted["isError"], json!(true));
    client.serving.await.unwrap();
    assert!(start.elapsed() < Duration::from_millis(900), "{:?}", start.elapsed());
    sleep(Duration::from_millis(20)).await;
    assert_eq!(fake.received_of("notifications/cancelled").len(), 1);
}
