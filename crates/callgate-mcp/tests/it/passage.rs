//! Resources, prompts, completions, log messages and instructions pass through.

use callgate::testing::ScriptedEngine;
use callgate::{Json, Mode, json};
use callgate_mcp::GatewayOptions;

use crate::support::{Client, Fake, eventually, gateway, gateway_with, text, tool};

fn library() -> Fake {
    Fake::new(&json!({
        "capabilities": { "tools": {}, "prompts": {}, "resources": {}, "completions": {}, "logging": {} },
        "instructions": "Ask before you write.",
        "pages": [[]],
        "answers": {
            "prompts/list": { "prompts": [{ "name": "greet.me", "arguments": [{ "name": "who" }], "_meta": { "x": 1 } }] },
            "prompts/get": { "messages": [{ "role": "user", "content": { "type": "text", "text": "hi" } }], "odd": 1.5 },
            "resources/list": { "resources": [{ "uri": "book://1", "name": "one", "size": 12 }] },
            "resources/templates/list": { "resourceTemplates": [{ "uriTemplate": "book://{id}", "name": "any" }] },
            "resources/read": { "contents": [{ "uri": "book://1", "text": "once upon a time" }] },
            "resources/subscribe": {},
            "completion/complete": { "completion": { "values": ["a", "b"] } },
            "logging/setLevel": {},
        },
    }))
}

#[tokio::test]
async fn prompts_are_listed_and_got_under_names_that_tell_whose_they_are() {
    let (library, bare) = (library(), Fake::with_tools(json!([]), json!({})));
    let gateway = gateway(Mode::Native, vec![library.server("lib"), bare.server("bare")]).await;
    let mut client = Client::greeted(&gateway).await;
    let listed = client.ask("prompts/list", json!({})).await;
    let name = callgate::schema::public_name("lib", "greet.me");
    let origin = json!({ "server": "lib", "prompt": "greet.me" });
    assert_eq!(
        listed,
        json!({ "prompts": [{
            "name": name.clone(),
            "arguments": [{ "name": "who" }],
            "_meta": { "x": 1, "callgate/origin": origin },
        }] })
    );
    let got =
        client.ask("prompts/get", json!({ "name": name, "arguments": { "who": "me" } })).await;
    let answer = json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "hi" } }], "odd": 1.5 });
    assert_eq!(got, answer);
    assert_eq!(
        library.received_of("prompts/get")[0]["params"],
        json!({ "name": "greet.me", "arguments": { "who": "me" } })
    );
    let refusal = client.refusal("prompts/get", json!({ "name": "lib__nothing" })).await;
    assert_eq!(refusal, json!({ "code": -32602, "message": "there is no prompt `lib__nothing`" }));
}

#[tokio::test]
async fn resources_are_listed_with_their_server_and_read_by_that_or_their_own_address() {
    let library = library();
    let gateway = gateway(Mode::Native, vec![library.server("my lib")]).await;
    let mut client = Client::greeted(&gateway).await;
    let listed = client.ask("resources/list", json!({})).await;
    assert_eq!(
        listed,
        json!({ "resources": [{
            "uri": "callgate://server/my%20lib/book://1",
            "name": "one",
            "size": 12,
            "_meta": { "callgate/origin": { "server": "my lib", "uri": "book://1" } },
        }] })
    );
    let templates = client.ask("resources/templates/list", json!({})).await;
    let template = &templates["resourceTemplates"][0];
    assert_eq!(template["uriTemplate"], json!("callgate://server/my%20lib/book://{id}"));
    for uri in ["callgate://server/my%20lib/book://1", "book://1"] {
        let read = client.ask("resources/read", json!({ "uri": uri })).await;
        assert_eq!(
            read,
            json!({ "contents": [{ "uri": "book://1", "text": "once upon a time" }] })
        );
    }
    let asked: Vec<Json> =
        library.received_of("resources/read").iter().map(|read| read["params"].clone()).collect();
    assert_eq!(asked, vec![json!({ "uri": "book://1" }); 2]);
}

#[tokio::test]
async fn a_resource_that_nobody_has_is_refused_by_its_address() {
    let bare = Fake::with_tools(json!([tool("echo")]), json!({}));
    let gateway = gateway(Mode::Native, vec![bare.server("s")]).await;
    let mut client = Client::greeted(&gateway).await;
    assert_eq!(client.ask("resources/list", json!({})).await, json!({ "resources": [] }));
    assert_eq!(client.ask("prompts/list", json!({})).await, json!({ "prompts": [] }));
    let refusal = client.refusal("resources/read", json!({ "uri": "x://y" })).await;
    let expected = json!({ "code": -32002, "message": "there is no resource `x://y`", "data": { "uri": "x://y" } });
    assert_eq!(refusal, expected);
}

#[tokio::test]
async fn completions_reach_the_server_in_its_own_terms() {
    let library = library();
    let gateway = gateway(Mode::Native, vec![library.server("lib")]).await;
    let mut client = Client::greeted(&gateway).await;
    let listed = client.ask("prompts/list", json!({})).await;
    let prompt = listed["prompts"][0]["name"].clone();
    let argument = json!({ "name": "who", "value": "a" });
    let references = [
        json!({ "type": "ref/prompt", "name": prompt }),
        json!({ "type": "ref/resource", "uri": "callgate://server/lib/book://{id}" }),
    ];
    for reference in references {
        let params = json!({ "ref": reference, "argument": argument.clone() });
        let completed = client.ask("completion/complete", params).await;
        assert_eq!(completed, json!({ "completion": { "values": ["a", "b"] } }));
    }
    let asked: Vec<Json> = library
        .received_of("completion/complete")
        .iter()
        .map(|asked| asked["params"]["ref"].clone())
        .collect();
    assert_eq!(
        asked,
        [
            json!({ "type": "ref/prompt", "name": "greet.me" }),
            json!({ "type": "ref/resource", "uri": "book://{id}" }),
        ]
    );
}

#[tokio::test]
async fn the_log_level_reaches_the_servers_that_have_logs_even_before_the_handshake() {
    let library = library();
    let gateway = gateway(Mode::Native, vec![library.server("lib")]).await;
    let mut client = Client::connect(&gateway);
    assert_eq!(client.ask("logging/setLevel", json!({ "level": "error" })).await, json!({}));
    client.greet("2025-11-25").await;
    eventually("the server is told", || library.received_of("logging/setLevel").len() == 1).await;
    assert_eq!(library.received_of("logging/setLevel")[0]["params"], json!({ "level": "error" }));
    let refusal = client.refusal("logging/setLevel", json!({ "level": "loud" })).await;
    assert_eq!(refusal["code"], json!(-32602));
}

#[tokio::test]
async fn what_servers_say_is_passed_on_under_their_names() {
    let say = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
    };
    let noise = [
        say("notifications/message", r#"{"level":"warning","logger":"db","data":{"n":1}}"#),
        say("notifications/message", r#"{"level":"debug","data":"details"}"#),
        say("notifications/prompts/list_changed", "{}"),
        say("notifications/resources/list_changed", "{}"),
        say("notifications/resources/updated", r#"{"uri":"book://1"}"#),
        say("notifications/resources/updated", r#"{"uri":"book://2"}"#),
    ];
    let noise: Json = noise.into_iter().collect::<callgate::Array>().into();
    let fake = Fake::new(&json!({
        "capabilities": { "tools": {}, "prompts": {}, "resources": { "subscribe": true }, "logging": {} },
        "pages": [[tool("tell")]],
        "answers": { "prompts/list": { "prompts": [] }, "resources/list": { "resources": [] }, "resources/subscribe": {}, "logging/setLevel": {} },
    }));
    let gateway = gateway(Mode::Native, vec![fake.server("s")]).await;
    let mut client = Client::greeted(&gateway).await;
    client.ask("prompts/list", json!({})).await;
    client.ask("resources/list", json!({})).await;
    client.ask("logging/setLevel", json!({ "level": "info" })).await;
    client.ask("resources/subscribe", json!({ "uri": "callgate://server/s/book://1" })).await;
    fake.follow(&json!({ "noise_between": noise, "pages": [[tool("tell")]] }));
    client.call("s__tell", json!({})).await;
    let updated = client.wait_for("notifications/resources/updated").await;
    assert_eq!(updated, json!({ "uri": "callgate://server/s/book://1" }));
    client.wait_for("notifications/prompts/list_changed").await;
    client.wait_for("notifications/resources/list_changed").await;
    let mut other = Client::greeted(&gateway).await;
    other.call("s__tell", json!({})).await;
    let logs = other.told_of("notifications/message").await;
    assert_eq!(
        logs,
        [
            json!({ "level": "warning", "logger": "s/db", "data": { "n": 1 } }),
            json!({ "level": "debug", "logger": "s", "data": "details" }),
        ]
    );
    let logs = client.told_of("notifications/message").await;
    assert!(logs.iter().all(|log| log["level"] == json!("warning")), "{logs:?}");
    assert!(!logs.is_empty());
}

#[tokio::test]
async fn the_greeting_speaks_the_clients_version_and_passes_instructions_on() {
    let library = library();
    let gateway = gateway(Mode::Native, vec![library.server("lib")]).await;
    for (wanted, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("1999-01-01", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
    ] {
        let mut client = Client::connect(&gateway);
        let hello = client.greet(wanted).await;
        assert_eq!(hello["protocolVersion"], json!(spoken));
        assert_eq!(hello["instructions"], json!("# Server `lib`\n\nAsk before you write."));
        assert_eq!(hello["serverInfo"]["name"], json!("callgate"));
    }
}

#[tokio::test]
async fn bad_requests_are_refused_one_by_one() {
    let fake = Fake::with_tools(json!([tool("echo")]), json!({}));
    let gateway = gateway(Mode::Native, vec![fake.server("s")]).await;
    let mut client = Client::greeted(&gateway).await;
    let cases = [
        ("tools/call", json!({}), -32602, "`name` must be the name of a tool"),
        (
            "tools/list",
            json!({ "cursor": "x" }),
            -32602,
            "there is no page \"x\"; lists have one page",
        ),
        ("no/such/method", json!({}), -32601, "there is no method `no/such/method`"),
        ("resources/read", json!({}), -32602, "`uri` must be the address of a resource"),
        (
            "resources/subscribe",
            json!({ "uri": "x" }),
            -32602,
            "`x` is not the listed address of a resource",
        ),
    ];
    for (method, params, code, message) in cases {
        let refusal = client.refusal(method, params).await;
        assert_eq!(refusal, json!({ "code": code, "message": message }), "{method}");
    }
    client.send_line(r#"{"jsonrpc":"2.0","id":"bad","method":"tools/call","params":{"name":"s__echo","arguments":{"n":-0}}}"#).await;
    let answer = client.answer("bad").await;
    assert_eq!(answer["error"]["code"], json!(-32602));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("value.params.arguments.n: `-0` is negative zero"), "{message}");
    client.send_line("garbage").await;
    assert_eq!(client.hear().await["error"]["code"], json!(-32700));
    let unknown = client.call("s__ecko", json!({})).await;
    let expected = text("Error: unknown tool `s__ecko`; did you mean `s__echo`?");
    assert_eq!(unknown["content"], expected["content"]);
    assert_eq!(unknown["isError"], json!(true));
}

#[tokio::test]
async fn a_batch_of_an_old_client_is_answered() {
    let fake = Fake::with_tools(json!([tool("echo")]), json!({}));
    let gateway = gateway(Mode::Native, vec![fake.server("s")]).await;
    let mut client = Client::greeted(&gateway).await;
    client.send_line(r#"[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]"#).await;
    for id in ["a", "b"] {
        assert_eq!(client.answer(id).await["result"], json!({}));
    }
}

#[tokio::test]
async fn in_code_mode_there_is_only_run_code_and_the_sdk_as_description_instructions_and_resource()
{
    let fake = Fake::with_tools(json!([tool("echo")]), json!({}));
    let servers = vec![fake.server("s")];
    let gateway =
        gateway_with(Mode::Code, ScriptedEngine::new(), servers, GatewayOptions::default()).await;
    let mut client = Client::connect(&gateway);
    let hello = client.greet("2025-06-18").await;
    let tools = client.tools().await;
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0]["name"], json!("run_code"));
    assert_eq!(hello["instructions"], tools[0]["description"]);
    let listed = client.ask("resources/list", json!({})).await;
    let uri = listed["resources"][0]["uri"].clone();
    assert_eq!(uri, json!("callgate://sdk/typescript"));
    let read = client.ask("resources/read", json!({ "uri": uri })).await;
    let sdk = read["contents"][0]["text"].as_str().unwrap();
    assert!(tools[0]["description"].as_str().unwrap().ends_with(sdk));
    let refused = client.call("s__echo", json!({})).await;
    assert_eq!(refused["isError"], json!(true));
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("run_code"));
    assert_eq!(fake.calls(), Vec::<Json>::new());
}
