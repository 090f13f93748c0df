//! Results: blocks untouched, values useful, declared schemas kept or reported.

use callgate::testing::{ScriptedEngine, ScriptedTools};
use callgate::{
    Content, FailureClass, Json, Mode, Output, ParamSpec, PostDecision, Source, ToolContext,
    ToolDefinition, UserMessage, ValueSpec, codes, json, render,
};
use callgate_mcp::{GatewayOptions, ResultForm, ServerConfig, Validation};

use crate::support::{Client, Fake, Host, gateway, gateway_with, options, text, tool};

/// A tool that declares a schema, and five answers to calls of it.
fn declared(name: &str) -> Json {
    json!({ "name": name, "inputSchema": { "type": "object" }, "outputSchema": {
        "type": "object",
        "properties": {
            "id": { "type": "integer" },
            "created": { "type": "string", "format": "date-time" },
            "note": { "type": "string" },
        },
        "required": ["id", "created", "note"],
    } })
}

const ANSWERS: [(&str, &str); 5] = [
    (
        "a",
        r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"id":1,"created":"2026-01-01T00:00:00","note":null}}"#,
    ),
    ("b", r#"{"content":[{"type":"text","text":"only text"}]}"#),
    (
        "c",
        r#"{"content":[{"type":"text","text":"quota used up"}],"structuredContent":{"code":7},"isError":true,"_meta":{"x":1}}"#,
    ),
    (
        "d",
        r#"{"content":[{"type":"text","text":"d"}],"structuredContent":{"id":1,"created":"2026-01-01T00:00:00Z","note":"n"}}"#,
    ),
    (
        "e",
        r#"{"content":[],"structuredContent":{"id":1,"created":"x","note":"n","more":[1.5,12345678901234567890]},"isError":false}"#,
    ),
];

fn answer(name: &str) -> Json {
    Json::parse(ANSWERS.iter().find(|(known, _)| *known == name).unwrap().1).unwrap()
}

fn fake() -> Fake {
    let tools: Json =
        ANSWERS.iter().map(|(name, _)| declared(name)).collect::<callgate::Array>().into();
    let calls: callgate::Object =
        ANSWERS.iter().map(|(name, raw)| (*name, json!({ "raw": *raw }))).collect();
    Fake::with_tools(tools, calls.into())
}

fn server(fake: &Fake, validation: Validation) -> ServerConfig {
    let mut server = fake.server("s");
    server.validate_results = validation;
    server
}

const NOTE: &str = "value.structuredContent.note: expected a string, got null";
const MISSING: &str = "value.structuredContent: missing, although an output schema is declared";

/// An answer with what is wrong with it.
fn marked(name: &str, warning: &str) -> Json {
    let answer = answer(name);
    let answer = answer.as_object().unwrap();
    answer.with("_meta", json!({ "callgate/warnings": [warning] })).into()
}

// FOREIGN-18
#[tokio::test]
async fn clients_get_results_that_do_not_fit_with_a_mark_and_the_rest_untouched() {
    let fake = fake();
    let gateway = gateway(Mode::Native, vec![server(&fake, Validation::Warn)]).await;
    let mut client = Client::greeted(&gateway).await;
    assert_eq!(client.call("s__a", json!({})).await, marked("a", NOTE));
    assert_eq!(client.call("s__b", json!({})).await, marked("b", MISSING));
    for name in ["c", "d", "e"] {
        assert_eq!(client.call(&format!("s__{name}"), json!({})).await, answer(name), "{name}");
    }
    assert_eq!(gateway.status()[0].mismatches, 2);
}

#[tokio::test]
async fn a_schema_that_results_are_not_held_to_is_mentioned_but_not_listed() {
    let fake = fake();
    for validation in [Validation::Warn, Validation::Off] {
        let gateway = gateway(Mode::Native, vec![server(&fake, validation)]).await;
        let mut client = Client::greeted(&gateway).await;
        let listed = client.tools().await;
        assert_eq!(listed[0].get("outputSchema"), None);
        assert_eq!(listed[0]["_meta"]["callgate/outputSchema"], declared("a")["outputSchema"]);
    }
}

#[tokio::test]
async fn where_schemas_are_enforced_what_does_not_fit_is_held_back_and_the_schema_is_listed() {
    let fake = fake();
    let gateway = gateway(Mode::Native, vec![server(&fake, Validation::Enforce)]).await;
    let mut client = Client::greeted(&gateway).await;
    let listed = client.tools().await;
    assert_eq!(listed[0]["outputSchema"], declared("a")["outputSchema"]);
    for (name, fault) in [("a", NOTE), ("b", MISSING)] {
        let message = format!(
            "Error: server `s` ran `{name}`, but its result does not fit the schema it declares and was held back: {fault}"
        );
        let held_back =
            json!({ "content": [{ "type": "text", "text": message }], "isError": true });
        assert_eq!(client.call(&format!("s__{name}"), json!({})).await, held_back);
    }
    for name in ["c", "d", "e"] {
        assert_eq!(client.call(&format!("s__{name}"), json!({})).await, answer(name), "{name}");
    }
    let host = Host::start(vec![server(&fake, Validation::Enforce)]).await;
    let result = host.call("s__a", json!({})).await;
    assert_eq!(result.error().unwrap().code(), Some(codes::INVALID_TOOL_OUTPUT));
    assert_eq!(result.error().unwrap().class(), FailureClass::InvalidOutput);
}

#[tokio::test]
async fn programs_get_the_structured_part_or_the_text_and_failures_are_thrown() {
    let fake = fake();
    let program = async |tools: ScriptedTools| {
        let mut outcomes = Vec::new();
        for (name, _) in ANSWERS {
            outcomes.push(match tools.call(format!("s__{name}"), json!({})).await {
                Ok(value) => json!({ "value": value }),
                Err(message) => json!({ "thrown": message }),
            });
        }
        Ok(Some(Json::from(outcomes)))
    };
    let thrown = json!({ "thrown": "failed: quota used up" });
    let value = |name: &str| json!({ "value": answer(name)["structuredContent"].clone() });
    let held_back = |name: &str, fault: &str| {
        let message = format!(
            "invalid output: server `s` ran `{name}`, but its result does not fit the schema it declares and was held back: {fault}"
        );
        json!({ "thrown": message })
    };
    let cases = [
        (Validation::Warn, value("a"), json!({ "value": "only text" })),
        (Validation::Off, value("a"), json!({ "value": "only text" })),
        (Validation::Enforce, held_back("a", NOTE), held_back("b", MISSING)),
    ];
    for (validation, a, b) in cases {
        let engine = ScriptedEngine::new().program("five", program);
        let host = Host::start_with(engine, vec![server(&fake, validation)], options()).await;
        let result = host.run("five").await;
        let expected = json!([a, b, thrown.clone(), value("d"), value("e")]);
        assert_eq!(result.value().unwrap()["result"], expected, "{validation:?}");
    }
}

#[tokio::test]
async fn the_value_is_what_a_program_can_use() {
    let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
    let cases = [
        ("text", json!({ "content": [{ "type": "text", "text": "plain" }] }), json!("plain")),
        ("object", text(r#"{"n":[1,2]}"#), json!({ "n": [1, 2] })),
        ("list", text(" [1, \"x\"] "), json!([1, "x"])),
        ("scalar", text("42"), json!("42")),
        ("broken", text("{not json}"), json!("{not json}")),
        (
            "rounded",
            text(r#"{"n":123456789012345678901}"#),
            json!(r#"{"n":123456789012345678901}"#),
        ),
        ("image", json!({ "content": [image.clone()] }), json!([image.clone()])),
        (
            "two",
            json!({ "content": [{ "type": "text", "text": "{}" }, image.clone()] }),
            json!([{ "type": "text", "text": "{}" }, image]),
        ),
        ("none", json!({ "content": [] }), json!([])),
        (
            "sent",
            json!({ "content": [{ "type": "text", "text": "x" }], "structuredContent": { "k": 1 } }),
            json!({ "k": 1 }),
        ),
        (
            "null",
            json!({ "content": [{ "type": "text", "text": "x" }], "structuredContent": null }),
            json!("x"),
        ),
        ("legacy", json!({ "toolResult": { "n": 1 } }), json!({ "n": 1 })),
    ];
    let tools: callgate::Array = cases.iter().map(|(name, ..)| tool(name)).collect();
    let calls: callgate::Object = cases
        .iter()
        .map(|(name, result, _)| (*name, json!({ "result": result.clone() })))
        .collect();
    let fake = Fake::with_tools(tools.into(), calls.into());
    let mut envelope = fake.server("e");
    envelope.result = ResultForm::Envelope;
    let host = Host::start(vec![fake.server("s"), envelope]).await;
    for (name, result, value) in &cases {
        let useful = host.call(&format!("s__{name}"), json!({})).await;
        assert_eq!(useful.value(), Some(value), "{name}");
        assert_eq!(useful.raw(), Some(result), "{name}");
        let whole = host.call(&format!("e__{name}"), json!({})).await;
        let blocks: callgate::Array = whole.content().iter().map(Content::to_json).collect();
        let structured = result.get("structuredContent").filter(|value| !value.is_null()).cloned();
        let expected = callgate::Object::builder().with("content", Json::from(blocks));
        let expected = expected.with_some("structuredContent", structured).build();
        assert_eq!(whole.value(), Some(&Json::from(expected)), "{name}");
    }
}

#[tokio::test]
async fn blocks_of_every_kind_pass_with_members_nobody_knows() {
    let result = json!({
        "content": [
            { "type": "text", "text": "t", "annotations": { "audience": ["user"], "priority": 0.5 }, "_meta": { "a": 1 } },
            { "type": "image", "data": "aGk=", "mimeType": "image/png", "extra": [null] },
            { "type": "audio", "data": "aGk=", "mimeType": "audio/wav" },
            { "type": "resource_link", "uri": "x://y", "name": "y" },
            { "type": "resource", "resource": { "uri": "x://y", "blob": "aGk=" } },
            { "type": "from_the_future", "payload": { "n": 12_345_678_901_234_567_890_u64 } },
            "not even an object",
        ],
        "_meta": { "trace/id": "1" },
        "unknownMember": { "b": 1, "a": 2 },
    });
    let fake =
        Fake::with_tools(json!([tool("all")]), json!({ "all": { "result": result.clone() } }));
    let gateway = gateway(Mode::Native, vec![fake.server("s")]).await;
    let mut client = Client::greeted(&gateway).await;
    let answer = client.call("s__all", json!({})).await;
    assert_eq!(answer.to_string(), result.to_string());
}

#[tokio::test]
async fn an_answer_that_cannot_be_kept_exactly_fails_its_call_and_no_other() {
    let line = |result: &str| json!({ "line": format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#) });
    let cases = [
        ("zero", r#"{"content":[],"n":-0}"#, "value.result.n: "),
        ("huge", r#"{"content":[],"n":1e999}"#, "value.result.n: "),
        ("wide", r#"{"content":[],"n":123456789012345678901}"#, "value.result.n: "),
        ("half", r#"{"content":[],"n":"\ud800"}"#, ""),
        ("deep", &format!("{}{}", "[".repeat(6_000), "]".repeat(6_000)), ""),
        ("list", "[]", "it is array, not a result"),
        ("blocks", r#"{"content":"x"}"#, "its `content` is string, not a list of blocks"),
    ];
    let tools: callgate::Array =
        cases.iter().map(|(name, ..)| tool(name)).chain([tool("fine")]).collect();
    let calls: callgate::Object =
        cases.iter().map(|(name, result, _)| (*name, line(result))).collect();
    let fake = Fake::with_tools(tools.into(), calls.into());
    let host = Host::start(vec![fake.server("s")]).await;
    for (name, _, reason) in &cases {
        let result = host.call(&format!("s__{name}"), json!({})).await;
        let error = result.error().unwrap_or_else(|| panic!("{name}"));
        let start = format!("the answer of server `s` to `{name}` cannot be used: {reason}");
        assert!(error.message().starts_with(&start), "{}", error.message());
    }
    assert_eq!(host.call("s__fine", json!({})).await.text(), "{}");
    assert_eq!(host.status("s").starts, 1);
}

#[tokio::test]
async fn errors_of_the_protocol_are_failures_with_the_servers_words() {
    let calls = json!({
        "refuses": { "error": { "code": -32000, "message": "not today", "data": { "retry": 5 } } },
        "mumbles": { "result": { "content": [], "isError": true } },
        "odd": { "error": "just text" },
    });
    let fake = Fake::with_tools(json!([tool("refuses"), tool("mumbles"), tool("odd")]), calls);
    let host = Host::start(vec![fake.server("s")]).await;
    let cases = [
        ("s__refuses", "not today (error -32000)"),
        ("s__mumbles", "the server reports a failure and does not say why"),
        ("s__odd", "just text (error -32603)"),
    ];
    for (name, message) in cases {
        let result = host.call(name, json!({})).await;
        let error = result.error().unwrap();
        assert_eq!((error.message(), error.class()), (message, FailureClass::Failed));
    }
}

#[tokio::test]
async fn a_tool_that_runs_only_as_a_task_fails_without_a_word_to_the_server() {
    let task = json!({ "name": "t", "inputSchema": { "type": "object" }, "execution": { "taskSupport": "required" } });
    let fake = Fake::with_tools(json!([task]), json!({}));
    let host = Host::start(vec![fake.server("s")]).await;
    let result = host.call("s__t", json!({})).await;
    assert_eq!(
        result.error().unwrap().message(),
        "`s__t` runs only as a task, and tasks are not supported"
    );
    assert_eq!(fake.calls(), Vec::<Json>::new());
}

#[tokio::test]
async fn what_a_hook_puts_in_place_is_all_that_clients_get() {
    let fake = fake();
    let gateway = gateway(Mode::Native, vec![server(&fake, Validation::Enforce)]).await;
    let scope = gateway.runtime();
    scope.on_post_execute(|call, next| async move {
        Ok(match &**call.name() {
            "s__d" => {
                PostDecision::replace_value(json!({ "id": 2, "created": "now", "note": "mine" }))
            }
            "s__e" => PostDecision::replace_content([Content::text("short")]),
            "s__c" => PostDecision::block([Content::text("secret")]),
            _ => return next.run().await,
        })
    });
    let mut client = Client::greeted(&gateway).await;
    let replaced = client.call("s__d", json!({})).await;
    assert_eq!(replaced["structuredContent"], json!({ "id": 2, "created": "now", "note": "mine" }));
    let shortened = client.call("s__e", json!({})).await;
    assert_eq!(shortened["content"], text("short")["content"]);
    assert_eq!(
        shortened["structuredContent"],
        answer("e")["structuredContent"],
        "strict clients insist on it"
    );
    let blocked = client.call("s__c", json!({})).await;
    assert_eq!(
        blocked,
        json!({ "content": [{ "type": "text", "text": "secret" }], "isError": true })
    );
}

#[tokio::test]
async fn images_of_sub_calls_contexts_and_the_mark_of_a_conclusion_reach_the_client() {
    let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
    let fake = Fake::with_tools(
        json!([tool("draw")]),
        json!({ "draw": { "result": { "content": [image.clone()] } } }),
    );
    let engine = ScriptedEngine::new().program("draws", async |tools: ScriptedTools| {
        tools.call("s__draw", json!({})).await?;
        tools.call("done", json!({})).await?;
        Ok(Some(json!("drawn")))
    });
    let servers = vec![fake.server("s")];
    let gateway = gateway_with(Mode::Both, engine, servers, GatewayOptions::default()).await;
    let done = ToolDefinition::new(
        "done",
        "Ends the turn.",
        ParamSpec::new(),
        Output::new(ValueSpec::string(), render::json),
        |_, context: ToolContext| async move {
            context
                .defer_context(UserMessage::new(Source::plugin("test"), [Content::text("a note")]));
            context.conclude_turn();
            Ok(json!("done"))
        },
    );
    gateway.runtime().register(done).unwrap();
    let mut client = Client::greeted(&gateway).await;
    let note = json!({ "type": "text", "text": "a note" });
    let meta = json!({ "callgate/concludesTurn": true });
    let direct = client.call("done", json!({})).await;
    let own = json!({ "type": "text", "text": "done" });
    assert_eq!(direct, json!({ "content": [own, note.clone()], "_meta": meta.clone() }));
    let answer = client.call("run_code", json!({ "code": "draws", "description": "Draws" })).await;
    let own = json!({ "type": "text", "text": "drawn" });
    assert_eq!(answer, json!({ "content": [own, image, note], "_meta": meta }));
}
