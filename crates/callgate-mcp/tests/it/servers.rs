//! Servers that are missing, slow, noisy or dying, beside one that is fine.

use std::time::Duration;

use callgate::{FailureClass, Json, Mode, json};
use callgate_mcp::{Gateway, GatewayOptions, McpServers, ServerConfig, ServerState, Stdio};
use tokio::time::{Instant, sleep};

use crate::support::{
    Client, Fake, Host, PATIENCE, eventually, gateway, is_ready, options, text, tool,
};

fn healthy() -> Fake {
    Fake::with_tools(json!([tool("echo")]), json!({}))
}

fn reason(state: &ServerState) -> &str {
    match state {
        ServerState::Down { reason, .. }
        | ServerState::Incomplete { reason }
        | ServerState::Unusable { reason } => reason,
        other => panic!("nothing is wrong: {other:?}"),
    }
}

#[tokio::test]
async fn a_healthy_server_is_listed_in_time_and_callable_whatever_the_others_do() {
    let fine = healthy();
    let silent = Fake::new(&json!({ "initialize": "never" }));
    let dying = Fake::new(&json!({ "pages": [[tool("gone")]], "exit_after_ms": 200 }));
    let servers = vec![
        ServerConfig::stdio("missing", Stdio::new("no-such-command")),
        silent.server("silent"),
        dying.server("dying"),
        ServerConfig::unusable("unset", "the variable `TOKEN` in `env.KEY` is not set"),
        fine.server("fine"),
    ];
    let runtime = callgate::ToolRuntime::builder().build().unwrap();
    let start = Instant::now();
    let servers = callgate_mcp::McpServers::connect(&runtime, servers, options());
    let gateway = std::sync::Arc::new(Gateway::new(runtime, servers, GatewayOptions::default()));
    let mut client = Client::greeted(&gateway).await;
    assert!(client.tool_names().await.contains(&"fine__echo".to_owned()));
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        assert_eq!(client.call("fine__echo", json!({})).await, text("{}"));
        sleep(Duration::from_millis(50)).await;
    }
    let status = gateway.status();
    let state = |name: &str| status.iter().find(|status| &*status.name == name).unwrap();
    assert_eq!(
        reason(&state("missing").state),
        "the command `no-such-command` does not exist; install it, or correct `command` (it is looked up in PATH)"
    );
    assert_eq!(state("silent").state, ServerState::Starting);
    assert_eq!(
        state("unset").state,
        ServerState::Unusable { reason: "the variable `TOKEN` in `env.KEY` is not set".into() }
    );
    assert!((2..=4).contains(&state("dying").starts), "{}", state("dying").starts);
    assert_eq!(state("fine").starts, 1);
}

#[tokio::test]
async fn a_server_that_does_not_answer_the_handshake_is_given_up_and_tried_again() {
    let silent = Fake::new(&json!({ "initialize": "never" }));
    let mut server = silent.server("silent");
    server.timeouts.start = Duration::from_millis(300);
    let host = Host::start(vec![server]).await;
    assert_eq!(
        reason(&host.status("silent").state),
        "the handshake failed: no answer within 300ms"
    );
    silent.follow(&json!({ "pages": [[tool("echo")]] }));
    eventually("it is ready", || is_ready(&host.status("silent"))).await;
    assert_eq!(host.call("silent__echo", json!({})).await.text(), "{}");
}

#[tokio::test]
async fn a_call_of_a_server_that_is_down_fails_at_once_and_says_why() {
    let fake =
        Fake::with_tools(json!([tool("die"), tool("echo")]), json!({ "die": { "exit": 3 } }));
    let host = Host::start(vec![fake.server("s")]).await;
    let dying = host.call("s__die", json!({})).await;
    let error = dying.error().unwrap();
    assert_eq!(error.class(), FailureClass::Unavailable);
    assert_eq!(
        error.message(),
        "server `s` went away while it ran `die`, so whether it was done is unknown: it exited with status 3"
    );
    let start = Instant::now();
    let result = host.call("s__echo", json!({})).await;
    let error = result.error().unwrap();
    assert!(start.elapsed() < Duration::from_millis(200));
    assert_eq!(error.class(), FailureClass::Unavailable);
    let message = error.message();
    let expected =
        "server `s` is not available: it exited with status 3; it is started again in 1 s";
    assert!(message == expected || message.contains("still starting"), "{message}");
    eventually("it is back", || is_ready(&host.status("s"))).await;
    assert_eq!(host.call("s__echo", json!({})).await.text(), "{}");
    assert_eq!(host.status("s").starts, 2);
}

#[tokio::test]
async fn last_words_on_standard_error_are_part_of_the_reason() {
    let fake = Fake::new(&json!({ "initialize": "exit", "stderr": "missing API key" }));
    let host = Host::start(vec![fake.server("s")]).await;
    let status = host.status("s");
    assert_eq!(
        reason(&status.state),
        "it exited with status 5 (its last line on standard error: missing API key)"
    );
    assert_eq!(status.last_words, ["missing API key"]);
}

#[tokio::test]
async fn a_check_says_what_is_wrong_with_each_server_and_how_to_mend_it() {
    let (fine, silent, dying) = (
        Fake::with_tools(json!([tool("get.status")]), json!({})),
        Fake::new(&json!({ "initialize": "never" })),
        Fake::new(&json!({ "initialize": "exit" })),
    );
    let mut quiet = silent.server("silent");
    quiet.timeouts.start = Duration::from_millis(300);
    let servers = vec![fine.server("fine"), quiet, dying.server("dying")];
    let found = McpServers::check(servers, options(), PATIENCE).await.unwrap();
    assert!(found[0].is_fine() && !found[1].is_fine() && !found[2].is_fine());
    assert_eq!(
        (found[0].product.as_deref(), found[0].protocol.as_deref()),
        (Some("fake 1"), Some("2025-06-18"))
    );
    assert_eq!(
        found[0].renamed,
        [("get.status".into(), callgate::schema::public_name("fine", "get.status").into())]
    );
    assert_eq!(reason(&found[1].state), "the handshake failed: no answer within 300ms");
    let remedy = found[1].remedy.as_deref().unwrap();
    assert!(remedy.ends_with("if it only needs longer, raise its start timeout"), "{remedy}");
    assert_eq!(reason(&found[2].state), "it exited with status 5");
    let remedy = found[2].remedy.as_deref().unwrap();
    assert!(
        remedy.starts_with("run `")
            && remedy.ends_with("` in a terminal to see what it complains about"),
        "{remedy}"
    );
    eventually("none of them runs", || [&fine, &silent].iter().all(|fake| !fake.is_running()))
        .await;
}

#[tokio::test]
async fn restarts_back_off() {
    let fake = Fake::new(&json!({ "initialize": "exit" }));
    let host = Host::start(vec![fake.server("s")]).await;
    sleep(Duration::from_secs(4)).await;
    // At once, after 0.5, 1 and 2 seconds.
    let starts = host.status("s").starts;
    assert!((3..=4).contains(&starts), "{starts}");
}

#[tokio::test]
async fn a_version_that_nobody_knows_is_named() {
    let fake = Fake::new(&json!({ "protocol": "1999-12-31" }));
    let host = Host::start(vec![fake.server("s")]).await;
    assert_eq!(
        reason(&host.status("s").state),
        "it speaks version `1999-12-31` of the protocol; known are 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25"
    );
}

#[tokio::test]
async fn the_second_server_of_a_name_is_refused_and_the_first_untouched() {
    let (one, two) = (healthy(), healthy());
    let host = Host::start(vec![one.server("s"), two.server("s")]).await;
    let status = host.servers.status();
    assert_eq!(status[0].state, ServerState::Ready);
    assert_eq!(reason(&status[1].state), "the name `s` is used twice; rename this server");
    assert_eq!(two.received(), Vec::<Json>::new());
}

#[tokio::test]
async fn noise_between_messages_is_counted_and_costs_no_call() {
    let noise = json!([
        "Welcome to the server!",
        "",
        "\u{feff}banner behind a byte order mark",
        "{ this is a log line",
        "{\"level\":\"info\",\"msg\":\"up\"}",
        "[]",
        "ends like a text of another system\r",
        { "bytes": [255, 254, 65] },
        { "bytes": [123, 34, 255, 34, 125] },
        { "repeat": ["x", 5_000_000] },
        { "repeat": ["{\"a\":", 2_000] },
    ]);
    let script = json!({ "noise": noise.clone(), "noise_between": noise.clone(), "pages": [[tool("echo")]] });
    let (loud, quiet) = (Fake::new(&script), healthy());
    let gateway = gateway(Mode::Native, vec![loud.server("loud"), quiet.server("quiet")]).await;
    let mut client = Client::greeted(&gateway).await;
    assert_eq!(client.tool_names().await, ["loud__echo", "quiet__echo"]);
    for name in ["loud__echo", "quiet__echo"] {
        assert_eq!(client.call(name, json!({ "x": 1 })).await, text(r#"{"x":1}"#));
    }
    let status = gateway.status();
    assert_eq!((status[0].noise, status[1].noise), (33, 0));
    assert_eq!((status[0].starts, status[0].state.clone()), (1, ServerState::Ready));
}

#[tokio::test]
async fn messages_may_end_in_carriage_returns_and_begin_with_byte_order_marks() {
    let line = |start: &str, end: &str| json!({ "line": format!(r#"{start}{{"jsonrpc":"2.0","id":$ID,"result":{{"content":[]}}}}{end}"#) });
    let calls =
        json!({ "crlf": line("", "\r"), "bom": line("\u{feff}", ""), "space": line("  \t", "  ") });
    let fake = Fake::with_tools(json!([tool("crlf"), tool("bom"), tool("space")]), calls);
    let host = Host::start(vec![fake.server("s")]).await;
    for name in ["crlf", "bom", "space"] {
        assert_eq!(
            host.call(&format!("s__{name}"), json!({})).await.value(),
            Some(&json!([])),
            "{name}"
        );
    }
    assert_eq!(host.status("s").noise, 0);
}

#[tokio::test]
async fn an_answer_beyond_the_limit_fails_its_call_and_only_that() {
    let padding = "x".repeat(300_000);
    let fake = Fake::with_tools(
        json!([tool("long"), tool("echo")]),
        json!({ "long": { "result": text(&padding) } }),
    );
    let mut options = options();
    options.max_message_bytes = 100_000;
    let host =
        Host::start_with(callgate::testing::ScriptedEngine::new(), vec![fake.server("s")], options)
            .await;
    let result = host.call("s__long", json!({})).await;
    let length = text(&padding).to_string().len() + r#"{"jsonrpc":"2.0","id":3,"result":}"#.len();
    assert_eq!(
        result.error().unwrap().message(),
        format!(
            "the answer of server `s` to `long` cannot be used: the message has {length} bytes, and at most 100000 are accepted"
        )
    );
    assert_eq!(host.call("s__echo", json!({})).await.text(), "{}");
    assert_eq!(host.status("s").starts, 1);
}

#[tokio::test]
async fn a_large_result_arrives_whole() {
    let large = "0123456789".repeat(2_000_000);
    let fake =
        Fake::with_tools(json!([tool("large")]), json!({ "large": { "result": text(&large) } }));
    let host = Host::start(vec![fake.server("s")]).await;
    let result = host.call("s__large", json!({})).await;
    assert_eq!(result.value().and_then(Json::as_str).map(str::len), Some(large.len()));
}

#[tokio::test]
async fn servers_get_the_declared_variables_and_the_few_that_all_get() {
    let fake = Fake::with_tools(json!([tool("env")]), json!({ "env": { "environment": true } }));
    let mut options = options();
    options.environment =
        [("PATH", "/bin"), ("LC_ALL", "C"), ("SECRET_TOKEN", "s"), ("HTTPS_PROXY", "p")]
            .map(|(name, value)| (name.into(), value.into()))
            .into();
    let mut server = fake.server("s");
    server.transport =
        callgate_mcp::Transport::Stdio(fake.stdio().env("API_KEY", "k").env("LC_ALL", "de"));
    let host =
        Host::start_with(callgate::testing::ScriptedEngine::new(), vec![server], options).await;
    let result = host.call("s__env", json!({})).await;
    let expected = json!({ "PATH": "/bin", "LC_ALL": "de", "HTTPS_PROXY": "p", "API_KEY": "k" });
    assert_eq!(result.value(), Some(&expected));
}

#[tokio::test]
async fn a_server_runs_where_it_is_told_to_and_a_missing_directory_is_named() {
    let fake = healthy();
    let nowhere = fake.stdio().cwd("/no/such/directory");
    let host = Host::start(vec![ServerConfig::stdio("s", nowhere)]).await;
    assert_eq!(
        reason(&host.status("s").state),
        "its working directory `/no/such/directory` does not exist; correct `cwd`"
    );
}

#[tokio::test]
async fn servers_come_and_go_with_their_declarations_and_others_stay_as_they_are() {
    let (stays, goes, changes, comes) = (healthy(), healthy(), healthy(), healthy());
    let parallel = |fake: &Fake, pattern: &str| {
        let mut server = fake.server("changes");
        server.parallel = callgate_mcp::Parallel::matching([pattern]).unwrap();
        server
    };
    let host =
        Host::start(vec![stays.server("stays"), goes.server("goes"), parallel(&changes, "a*")])
            .await;
    assert!(host.runtime.get("goes__echo").is_some());
    let declared = vec![stays.server("stays"), parallel(&changes, "b*"), comes.server("comes")];
    host.servers.retain(&declared);
    // What is gone is gone at once, what stays was never away.
    let is_there = |name: &str| host.runtime.get(&format!("{name}__echo")).is_some();
    assert_eq!(["stays", "goes", "changes", "comes"].map(is_there), [true, false, false, false]);
    host.servers.start(declared);
    eventually("the others are there", || is_there("changes") && is_there("comes")).await;
    assert_eq!(host.call("comes__echo", json!({})).await.text(), "{}");
    eventually("it has ended", || !goes.is_running()).await;
    let status = host.servers.status();
    let starts: Vec<(&str, u64)> = status.iter().map(|it| (&*it.name, it.starts)).collect();
    assert_eq!(starts, [("stays", 1), ("changes", 1), ("comes", 1)]);
    // Whatever the old process does while it ends, the new one's tools stay.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(is_there("changes"));
}

#[tokio::test]
async fn ended_servers_leave_no_tools_behind() {
    let fake = healthy();
    let host = Host::start(vec![fake.server("s")]).await;
    assert!(host.runtime.get("s__echo").is_some());
    host.servers.shutdown().await;
    assert!(host.runtime.get("s__echo").is_none());
    assert_eq!(host.status("s").state, ServerState::Stopped);
    let other = Host::start(vec![fake.server("s")]).await;
    let runtime = other.runtime.clone();
    drop(other);
    eventually("the tools are gone", || runtime.get("s__echo").is_none()).await;
}
