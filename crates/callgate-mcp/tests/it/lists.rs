//! Lists of tools: all pages, names that work everywhere, changes told to whom they concern.

use std::collections::BTreeSet;
use std::time::Duration;

use callgate::testing::{ScriptedEngine, ScriptedTools};
use callgate::{Array, Json, Mode, Object, json};
use callgate_mcp::{GatewayOptions, ServerState};
use tokio::time::{Instant, sleep};

use crate::support::{
    Client, Fake, Host, eventually, gateway, gateway_with, is_ready, options, tool,
};

const CURSORS: [&str; 2] = ["cGFnZQ==/2=é", "cGFnZQ==/3=ü&x"];

/// A script with 101 tools, 50 a page.
fn paged() -> Object {
    let page = |numbers: std::ops::Range<usize>| -> Json {
        numbers.map(|number| tool(&format!("t{number}"))).collect::<Array>().into()
    };
    let pages = json!([page(1..51), page(51..101), page(101..102)]);
    Object::builder()
        .with("pages", pages)
        .with("cursors", CURSORS.into_iter().collect::<Array>())
        .build()
}

#[tokio::test]
async fn every_tool_of_every_page_is_listed_declared_and_callable() {
    let fake = Fake::new(&paged().into());
    let program = async |tools: ScriptedTools| {
        let members = tools.members().len();
        let mut values = vec![json!(members)];
        for name in ["s__t1", "s__t51", "s__t101"] {
            values.push(tools.call(name, json!({ "n": name })).await?);
        }
        Ok(Some(Json::from(values)))
    };
    let engine = ScriptedEngine::new().program("calls", program);
    let gateway =
        gateway_with(Mode::Both, engine, vec![fake.server("s")], GatewayOptions::default()).await;
    let mut client = Client::greeted(&gateway).await;
    let names: BTreeSet<String> = client.tool_names().await.into_iter().collect();
    let mut expected: BTreeSet<String> = (1..=101).map(|number| format!("s__t{number}")).collect();
    expected.insert("run_code".to_owned());
    assert_eq!(names, expected);
    for name in ["s__t1", "s__t51", "s__t101"] {
        let answer = client.call(name, json!({ "n": name })).await;
        assert_eq!(answer["content"][0]["text"], json!(format!(r#"{{"n":"{name}"}}"#)));
    }
    let answer = client.call("run_code", json!({ "code": "calls", "description": "Calls" })).await;
    let value = Json::parse(answer["content"][0]["text"].as_str().unwrap()).unwrap();
    let echoed = |name: &str| json!({ "n": name });
    assert_eq!(value, json!([101, echoed("s__t1"), echoed("s__t51"), echoed("s__t101")]));
    let sdk = client.ask("resources/read", json!({ "uri": "callgate://sdk/typescript" })).await;
    let sdk = sdk["contents"][0]["text"].as_str().unwrap();
    assert!((1..=101).all(|number| sdk.contains(&format!("s__t{number}:"))));
    let cursors: Vec<Json> = fake
        .received_of("tools/list")
        .iter()
        .map(|message| message["params"]["cursor"].clone())
        .collect();
    assert_eq!(cursors, [Json::Null, json!(CURSORS[0]), json!(CURSORS[1])]);
}

#[tokio::test]
async fn what_was_read_before_a_page_failed_is_kept_and_the_list_is_read_again() {
    let failing = Json::Object(paged().with("failing_page", 2));
    let fake = Fake::new(&failing);
    let host = Host::start(vec![fake.server("s")]).await;
    let status = host.status("s");
    assert_eq!(status.tools, 100);
    let reason = "page 3 failed: no such page (error -32000)".into();
    assert_eq!(status.state, ServerState::Incomplete { reason });
    assert_eq!(host.call("s__t51", json!({})).await.text(), "{}");
    fake.follow(&paged().into());
    eventually("the list is complete", || is_ready(&host.status("s"))).await;
    assert_eq!(host.status("s").tools, 101);
    assert_eq!(host.call("s__t101", json!({})).await.text(), "{}");
}

#[tokio::test]
async fn a_cursor_that_leads_back_ends_the_reading() {
    let pages = json!([[tool("a")], [tool("b")]]);
    let fake = Fake::new(&json!({ "pages": pages, "cursors": ["x", "x"] }));
    let host = Host::start(vec![fake.server("s")]).await;
    let status = host.status("s");
    assert_eq!(status.tools, 2);
    let reason = "page 2 leads back to an earlier page".into();
    assert_eq!(status.state, ServerState::Incomplete { reason });
}

// FOREIGN-3
#[tokio::test]
async fn listed_names_suit_every_api_and_each_reaches_its_own_tool() {
    let long = "x".repeat(60);
    let raw_names = [
        "get.status",
        "get-status",
        "get_status",
        "list/all",
        "größe",
        "b__c",
        "c",
        "class",
        "constructor",
        "__proto__",
        "run_code",
        "search",
        &long,
    ];
    let tools: Array = raw_names.iter().map(|name| tool(name)).collect();
    let servers = ["acme.infra-tools-server", "a", "a__b"];
    let fakes = servers.map(|_| Fake::with_tools(tools.clone().into(), json!({})));
    let configs =
        || servers.iter().zip(&fakes).map(|(name, fake)| fake.server(name)).collect::<Vec<_>>();
    let gateway_of = |configs| gateway(Mode::Native, configs);
    let gateway = gateway_of(configs()).await;
    let mut client = Client::greeted(&gateway).await;
    let listed = client.tools().await;
    let names = client.tool_names().await;
    let is_fine = |name: &String| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    assert!(names.iter().all(is_fine), "{names:?}");
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 3 * raw_names.len());
    for tool in &listed {
        let name = tool["name"].as_str().unwrap();
        client.call(name, json!({ "called": name })).await;
    }
    for (server, fake) in servers.iter().zip(&fakes) {
        let calls = fake.calls();
        assert_eq!(calls.len(), raw_names.len());
        for call in calls {
            let called = call["arguments"]["called"].as_str().unwrap();
            let origin = gateway.servers().origin(called).unwrap();
            assert_eq!(
                (&*origin.server, Json::String(origin.tool)),
                (*server, call["name"].clone())
            );
        }
    }
    // Another order and one more server change no name.
    let other = Fake::with_tools(json!([tool("c")]), json!({}));
    let mut more = configs();
    more.reverse();
    more.push(other.server("z"));
    let again = gateway_of(more).await;
    let mut client = Client::greeted(&again).await;
    let mut expected = names;
    expected.push("z__c".to_owned());
    expected.sort();
    assert_eq!(client.tool_names().await, expected);
}

#[tokio::test]
async fn a_foreign_run_code_does_not_displace_ours_and_programs_reach_every_name() {
    let raw_names = ["run_code", "constructor", "__proto__", "class", "größe"];
    let tools: Array = raw_names.iter().map(|name| tool(name)).collect();
    let fake = Fake::with_tools(tools.into(), json!({}));
    let engine = ScriptedEngine::new().program("all", async |tools: ScriptedTools| {
        for name in tools.members() {
            tools.call(name.clone(), json!({})).await?;
        }
        Ok(None)
    });
    let host = Host::start_with(engine, vec![fake.server("s")], options()).await;
    let result = host.run("all").await;
    assert!(!result.is_error(), "{}", result.text());
    let called: Vec<Json> = fake.calls().iter().map(|call| call["name"].clone()).collect();
    assert_eq!(called.len(), raw_names.len());
    assert!(raw_names.iter().all(|name| called.contains(&json!(*name))));
}

fn described(name: &str, description: &str) -> Json {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
}

fn notifying(tools: Json, notifications: u64) -> Json {
    json!({
        "pages": [tools],
        "calls": { "tell": { "list_changed": notifications, "every_ms": 5, "result": { "content": [] } } },
    })
}

#[tokio::test]
async fn clients_are_told_of_changes_that_they_see_and_running_programs_keep_their_tools() {
    let before =
        json!([described("tell", ""), described("old", "Old."), described("same", "Before.")]);
    let fake = Fake::new(&notifying(before, 1));
    let engine = ScriptedEngine::new().program("survives", async |tools: ScriptedTools| {
        let members = tools.members().len();
        tools.call("s__tell", json!({})).await?;
        let mut outcome = Ok(json!(null));
        for _ in 0..400 {
            outcome = tools.call("s__old", json!({})).await;
            if outcome.is_err() {
                break;
            }
            sleep(Duration::from_millis(10)).await;
        }
        let message = outcome.expect_err("the tool goes away");
        Ok(Some(json!([members, tools.members().len(), message])))
    });
    let options = GatewayOptions::default;
    let native =
        gateway_with(Mode::Native, engine.clone(), vec![fake.server("s")], options()).await;
    let code = gateway_with(Mode::Code, engine, vec![fake.server("s")], options()).await;
    let mut seeing = Client::greeted(&native).await;
    let mut writing = Client::greeted(&code).await;
    let listed = seeing.tools().await;
    let described_before = writing.tools().await[0]["description"].clone();
    let after =
        json!([described("new", "New."), described("same", "After."), described("tell", "")]);
    fake.follow(&notifying(after, 1));
    let answer =
        writing.call("run_code", json!({ "code": "survives", "description": "Survives" })).await;
    let value = Json::parse(answer["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&value[0], &value[1]), (&json!(3), &json!(3)));
    let message = value[2].as_str().unwrap();
    assert!(message.starts_with("unknown tool"), "{message}");
    writing.wait_for("notifications/tools/list_changed").await;
    let described_after = writing.tools().await[0]["description"].clone();
    assert_ne!(described_before, described_after);
    assert!(described_after.as_str().unwrap().contains("s__new"));
    // The other gateway has its own process of the same server; it is told by its own.
    seeing.call("s__tell", json!({})).await;
    seeing.wait_for("notifications/tools/list_changed").await;
    assert_eq!(seeing.tool_names().await, ["s__new", "s__same", "s__tell"]);
    assert_ne!(seeing.tools().await, listed);
}

#[tokio::test]
async fn a_storm_of_notifications_leads_to_few_readings_and_few_notifications() {
    let fake = Fake::new(&notifying(json!([tool("tell"), tool("a")]), 200));
    let gateway = gateway(Mode::Native, vec![fake.server("s")]).await;
    let mut client = Client::greeted(&gateway).await;
    client.tools().await;
    fake.follow(&notifying(json!([tool("tell"), tool("b")]), 200));
    let start = Instant::now();
    client.call("s__tell", json!({})).await;
    eventually("the new tool is there", || gateway.runtime().get("s__b").is_some()).await;
    sleep(Duration::from_millis(700)).await;
    let readings = fake.received_of("tools/list").len() as u64 - 1;
    let allowed = 3 + 2 * start.elapsed().as_secs();
    assert!((1..=allowed).contains(&readings), "{readings} readings, {allowed} allowed");
    assert_eq!(client.told_of("notifications/tools/list_changed").await.len(), 1);
}

#[tokio::test]
async fn another_order_is_no_change() {
    let one = json!([tool("tell"), described("a", "A."), described("b", "B.")]);
    let other = json!([described("b", "B."), tool("tell"), described("a", "A.")]);
    let fake = Fake::new(&notifying(one, 1));
    let gateway = gateway(Mode::Both, vec![fake.server("s")]).await;
    let mut client = Client::greeted(&gateway).await;
    let before = Json::from(client.tools().await).to_string();
    fake.follow(&notifying(other, 1));
    client.call("s__tell", json!({})).await;
    eventually("the list was read again", || fake.received_of("tools/list").len() == 2).await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!(client.told_of("notifications/tools/list_changed").await, Vec::<Json>::new());
    assert_eq!(Json::from(client.tools().await).to_string(), before);
}

#[tokio::test]
async fn a_client_of_programs_only_hears_nothing_of_what_it_does_not_see() {
    // Both lists give the same catalogue and the same declarations.
    let hinted = |hint: bool| json!([tool("tell"), { "name": "a", "inputSchema": { "type": "object" }, "annotations": { "openWorldHint": hint } }]);
    let fake = Fake::new(&notifying(hinted(true), 1));
    let engine = ScriptedEngine::new().program("tell", async |tools: ScriptedTools| {
        tools.call("s__tell", json!({})).await.map(Some)
    });
    let servers = vec![fake.server("s")];
    let gateway = gateway_with(Mode::Code, engine, servers, GatewayOptions::default()).await;
    let mut client = Client::greeted(&gateway).await;
    client.tools().await;
    fake.follow(&notifying(hinted(false), 1));
    client.call("run_code", json!({ "code": "tell", "description": "Tells" })).await;
    eventually("the change is in", || {
        let origin = gateway.servers().origin("s__a").unwrap();
        origin.annotations == json!({ "openWorldHint": false })
    })
    .await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!(client.told_of("notifications/tools/list_changed").await, Vec::<Json>::new());
}

#[tokio::test]
async fn concurrency_is_what_the_server_says_unless_the_configuration_says_otherwise() {
    use callgate::{CallInput, ExecutionMode};
    use callgate_mcp::Parallel;
    let tools = json!([
        { "name": "reads", "inputSchema": {}, "annotations": { "readOnlyHint": true } },
        { "name": "writes", "inputSchema": {}, "annotations": { "readOnlyHint": false } },
        tool("silent"),
    ]);
    let fake = Fake::with_tools(tools, json!({}));
    let cases = [
        (Parallel::ReadOnly, ["reads"].as_slice()),
        (Parallel::All, &["reads", "writes", "silent"]),
        (Parallel::None, &[]),
        (Parallel::matching(["w*", "silent"]).unwrap(), &["writes", "silent"]),
    ];
    for (parallel, expected) in cases {
        let mut server = fake.server("s");
        server.parallel = parallel;
        let host = Host::start(vec![server]).await;
        let is_parallel = |name: &&&str| {
            let input = CallInput::new("1", format!("s__{name}"), json!({}));
            host.runtime.execution_mode(&input) == ExecutionMode::Parallel
        };
        let parallel: Vec<_> = ["reads", "writes", "silent"]
            .iter()
            .filter(|name| is_parallel(name))
            .copied()
            .collect();
        assert_eq!(parallel, expected);
    }
}
