//! Arguments: missing, empty, null, wrong; and what reaches the server of them.

use callgate::testing::{ScriptedEngine, ScriptedTools};
use callgate::{Json, Mode, json};
use callgate_mcp::Validation;

use crate::support::{Client, Fake, Host, gateway, options, tool};

/// The same tool without parameters in the three spellings that servers use.
fn bare_tools() -> Json {
    json!([
        { "name": "typed", "inputSchema": { "type": "object" } },
        { "name": "empty", "inputSchema": {} },
        { "name": "listed", "inputSchema": { "type": "object", "properties": {} } },
    ])
}

#[tokio::test]
async fn missing_and_null_arguments_of_a_client_become_an_empty_object() {
    let fake = Fake::with_tools(bare_tools(), json!({}));
    let gateway = gateway(Mode::Native, vec![fake.server("s")]).await;
    let mut client = Client::greeted(&gateway).await;
    for name in ["typed", "empty", "listed"] {
        for params in [
            json!({ "name": format!("s__{name}") }),
            json!({ "name": format!("s__{name}"), "arguments": {} }),
            json!({ "name": format!("s__{name}"), "arguments": null }),
        ] {
            let answer = client.ask("tools/call", params).await;
            assert_eq!(answer, json!({ "content": [{ "type": "text", "text": "{}" }] }));
        }
    }
    let sent: Vec<Json> = fake.calls().iter().map(|call| call["arguments"].clone()).collect();
    assert_eq!(sent, vec![json!({}); 9]);
}

#[tokio::test]
async fn other_arguments_than_an_object_are_refused_and_never_sent() {
    let fake = Fake::with_tools(bare_tools(), json!({}));
    let mut lenient = fake.server("lenient");
    lenient.validate_arguments = Validation::Off;
    let gateway = gateway(Mode::Native, vec![fake.server("s"), lenient]).await;
    let mut client = Client::greeted(&gateway).await;
    for server in ["s", "lenient"] {
        for (arguments, kind) in
            [(json!([]), "array"), (json!("{}"), "string"), (json!(7), "number")]
        {
            let answer = client.call(&format!("{server}__typed"), arguments).await;
            let text = format!(
                "Error: invalid arguments for `{server}__typed`: arguments: expected an object, got {kind}; \
                 send the arguments by name"
            );
            assert_eq!(
                answer,
                json!({ "content": [{ "type": "text", "text": text }], "isError": true })
            );
        }
    }
    assert_eq!(fake.calls(), Vec::<Json>::new());
}

fn update_tool() -> Json {
    json!([{ "name": "update", "inputSchema": {
        "type": "object",
        "properties": {
            "id": { "type": "integer" },
            "title": { "type": "string" },
            "label": { "type": ["string", "null"] },
        },
        "required": ["id"],
    } }])
}

/// What each case sends, and what is wrong with it.
const CASES: &[(&str, Option<&str>)] = &[
    (r#"{"id":1}"#, None),
    (r#"{"id":1,"label":null}"#, None),
    (r#"{"id":1,"label":"x","title":"t"}"#, None),
    (r#"{"id":12345678901234567890}"#, None),
    (r#"{"id":1,"title":null}"#, Some("title: expected a string, got null")),
    (r#"{"title":"t"}"#, Some("id: missing")),
    (r#"{"ID":3}"#, Some("id: missing; `ID` was sent, rename it if it was meant")),
];

// FOREIGN-17
#[tokio::test]
async fn what_is_not_given_is_absent_and_an_explicit_null_goes_where_it_may() {
    let fake = Fake::with_tools(update_tool(), json!({}));
    let gateway = gateway(Mode::Native, vec![fake.server("s")]).await;
    let mut client = Client::greeted(&gateway).await;
    for (arguments, fault) in CASES {
        let answer = client.call("s__update", Json::parse(arguments).unwrap()).await;
        let text = match fault {
            None => (*arguments).to_owned(),
            Some(fault) => format!("Error: invalid arguments for `s__update`: {fault}"),
        };
        assert_eq!(answer["content"], json!([{ "type": "text", "text": text }]));
        assert_eq!(answer.get("isError"), fault.map(|_| json!(true)).as_ref());
    }
    let sent: Vec<String> = fake.calls().iter().map(|call| call["arguments"].to_string()).collect();
    let accepted: Vec<&str> =
        CASES.iter().filter(|(_, fault)| fault.is_none()).map(|(sent, _)| *sent).collect();
    assert_eq!(sent, accepted);
}

#[tokio::test]
async fn programs_are_told_the_same_and_send_the_same() {
    let fake = Fake::with_tools(update_tool(), json!({}));
    let engine = ScriptedEngine::new().program("cases", async |tools: ScriptedTools| {
        let mut outcomes = Vec::new();
        for (arguments, _) in CASES {
            let outcome = tools.call("s__update", Json::parse(arguments).unwrap()).await;
            outcomes.push(Json::from(outcome.err()));
        }
        Ok(Some(outcomes.into_iter().collect::<callgate::Array>().into()))
    });
    let host = Host::start_with(engine, vec![fake.server("s")], options()).await;
    let result = host.run("cases").await;
    let told = |(_, fault): &(&str, Option<&str>)| {
        fault.map(|fault| format!("invalid arguments for `s__update`: {fault}"))
    };
    let expected: Vec<Json> = CASES.iter().map(told).map(Json::from).collect();
    assert_eq!(result.value().unwrap()["result"], Json::from(expected));
    let sent: Vec<String> = fake.calls().iter().map(|call| call["arguments"].to_string()).collect();
    let accepted: Vec<&str> =
        CASES.iter().filter(|(_, fault)| fault.is_none()).map(|(sent, _)| *sent).collect();
    assert_eq!(sent, accepted);
}

// FOREIGN-2
#[tokio::test]
async fn a_server_may_be_left_to_check_its_arguments_itself() {
    let fake = Fake::with_tools(update_tool(), json!({}));
    for validation in [Validation::Warn, Validation::Off] {
        let mut server = fake.server("s");
        server.validate_arguments = validation;
        let host = Host::start(vec![server]).await;
        let result = host.call("s__update", json!({ "id": "one" })).await;
        assert_eq!(result.text(), r#"{"id":"one"}"#);
    }
}

// FOREIGN-14
#[tokio::test]
async fn a_schema_nobody_can_compile_leaves_its_tool_callable_and_unchecked() {
    let broken = json!({ "name": "broken", "inputSchema": { "type": "object", "properties": { "a": { "type": "nonsense" } } } });
    let fake = Fake::with_tools(json!([broken, tool("fine")]), json!({}));
    let host = Host::start(vec![fake.server("s")]).await;
    let result = host.call("s__broken", json!({ "a": 1 })).await;
    assert_eq!(result.text(), r#"{"a":1}"#);
    let status = host.status("s");
    assert_eq!(status.tools, 2);
    assert_eq!(status.warnings.len(), 1, "{:?}", status.warnings);
    assert!(
        status.warnings[0].starts_with("`broken`: its `inputSchema` is not enforced:"),
        "{:?}",
        status.warnings
    );
}

// FOREIGN-11
#[tokio::test]
async fn a_tool_that_takes_no_object_is_skipped_and_the_others_stay() {
    let odd = json!({ "name": "odd", "inputSchema": { "type": "string" } });
    let fake =
        Fake::with_tools(json!([odd, { "no": "name" }, tool("fine"), tool("fine")]), json!({}));
    let host = Host::start(vec![fake.server("s")]).await;
    let status = host.status("s");
    assert_eq!(status.tools, 1);
    assert_eq!(
        status.warnings,
        [
            "`odd` is skipped: its `inputSchema` has type \"string\", and arguments are always an object",
            "an entry without a name: {\"no\":\"name\"}",
            "`fine` is listed twice; only the first counts",
        ]
    );
    assert_eq!(host.call("s__fine", json!({})).await.text(), "{}");
}

#[tokio::test]
async fn a_schema_that_is_an_object_only_by_its_branches_is_listed_as_one_and_enforced_whole() {
    let branch = |name: &str| json!({ "type": "object", "required": [name] });
    let schemas = json!([
        { "name": "branches", "inputSchema": { "title": "T", "anyOf": [branch("a"), branch("b")] } },
        { "name": "nullable", "inputSchema": { "type": ["null", "object"], "properties": { "a": { "type": "integer" } } } },
        { "name": "verbatim", "inputSchema": { "type": "object", "anyOf": [branch("a"), branch("b")], "x-own": 1.0 } },
        { "name": "none" },
    ]);
    let fake = Fake::with_tools(schemas.clone(), json!({}));
    let gateway = gateway(Mode::Native, vec![fake.server("s")]).await;
    let mut client = Client::greeted(&gateway).await;
    let listed = client.tools().await;
    let schema = |name: &str| {
        let tool = listed.iter().find(|tool| tool["name"] == json!(format!("s__{name}"))).unwrap();
        tool["inputSchema"].to_string()
    };
    assert_eq!(schema("branches"), r#"{"type":"object","title":"T"}"#);
    assert_eq!(schema("nullable"), r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#);
    assert_eq!(schema("verbatim"), schemas[2]["inputSchema"].to_string());
    assert_eq!(schema("none"), r#"{"type":"object"}"#);
    for name in ["branches", "verbatim"] {
        let refused = client.call(&format!("s__{name}"), json!({ "c": 1 })).await;
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("fits none of the 2 alternatives"), "{text}");
        assert_eq!(
            client.call(&format!("s__{name}"), json!({ "b": 1 })).await.get("isError"),
            None
        );
    }
}
