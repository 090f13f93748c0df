//! What a model is told about `run_code`, whole or as a catalogue.

use callgate::schema::{python, typescript};
use callgate::testing::{ScriptedEngine, ScriptedTools};
use callgate::{Array, Json, Language, Mode, json};
use callgate_mcp::{GatewayOptions, SdkDetail};

use crate::support::{Client, Fake, gateway_with, tool};

fn small() -> Fake {
    let tools = json!([
        {
            "name": "list-issues",
            "description": "Lists the issues of a repository. Newest first.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "repo": { "type": "string", "minLength": 1, "description": "Owner and name." },
                    "labels": { "type": "array", "items": { "anyOf": [{ "type": "string" }, { "type": "null" }] } },
                },
                "required": ["repo"],
            },
            "outputSchema": {
                "type": "object",
                "properties": { "issues": { "type": "array", "items": { "$ref": "#/$defs/Issue" } } },
                "required": ["issues"],
                "$defs": { "Issue": { "type": "object", "properties": { "id": { "type": "integer" } }, "required": ["id"] } },
            },
        },
        { "name": "close", "inputSchema": { "type": "object" } },
    ]);
    Fake::with_tools(tools, json!({}))
}

async fn description(fake: &Fake, engine: ScriptedEngine, options: GatewayOptions) -> String {
    let gateway = gateway_with(Mode::Code, engine, vec![fake.server("tracker")], options).await;
    let mut client = Client::greeted(&gateway).await;
    let tools = client.tools().await;
    tools[0]["description"].as_str().unwrap().to_owned()
}

/// The text without what other crates say and test.
fn own_part(text: &str, gateway_language: Language) -> String {
    let instructions = match gateway_language {
        Language::TypeScript => typescript::instructions(),
        Language::Python => python::instructions(),
    };
    let (_, own) = text.split_once("\n\n").unwrap();
    format!("[what run_code is]\n\n{}", own.replace(instructions, "[how to call tools]"))
}

fn detail(detail: SdkDetail) -> GatewayOptions {
    let mut options = GatewayOptions::default();
    options.sdk = detail;
    options
}

#[tokio::test]
async fn a_small_sdk_is_shown_whole() {
    let text = description(&small(), ScriptedEngine::new(), GatewayOptions::default()).await;
    insta::assert_snapshot!(own_part(&text, Language::TypeScript));
}

#[tokio::test]
async fn a_catalogue_shows_one_line_for_each_tool_and_how_to_look_the_rest_up() {
    let text = description(&small(), ScriptedEngine::new(), detail(SdkDetail::Catalogue)).await;
    insta::assert_snapshot!(own_part(&text, Language::TypeScript));
}

#[tokio::test]
async fn the_catalogue_speaks_the_language_of_programs() {
    let engine = ScriptedEngine::new().in_language(Language::Python);
    let text = description(&small(), engine, detail(SdkDetail::Catalogue)).await;
    insta::assert_snapshot!(own_part(&text, Language::Python));
}

fn many() -> Fake {
    let tools: Array = (0..400)
        .map(|number| {
            let description = format!("Does the thing with number {number}. {}", "It takes a while. ".repeat(5));
            json!({ "name": format!("thing_{number}"), "description": description, "inputSchema": { "type": "object" } })
        })
        .collect();
    Fake::with_tools(tools.into(), json!({}))
}

#[tokio::test]
async fn the_form_is_chosen_by_size_and_a_long_catalogue_ends_with_how_many_more_there_are() {
    let text = description(&many(), ScriptedEngine::new(), GatewayOptions::default()).await;
    assert!(text.contains("- tools.tracker__thing_1:"), "{text}");
    let (_, hidden) = text.split_once("- … and ").expect("some are hidden");
    let (hidden, _) = hidden.split_once(" more, which you find by searching\n").unwrap();
    let shown = text.matches("\n- tools.").count();
    assert_eq!(shown + hidden.parse::<usize>().unwrap(), 400);
    assert!(text.len() < 16_384 + 8_000, "{}", text.len());
    let whole = description(&many(), ScriptedEngine::new(), detail(SdkDetail::Full)).await;
    assert!(whole.contains("tracker__thing_399: Record<string, JsonValue>;"));
}

#[tokio::test]
async fn programs_find_tools_and_their_declarations() {
    let engine = ScriptedEngine::new().program("look", async |tools: ScriptedTools| {
        let found = tools.call("search", json!({ "query": "thing 37", "limit": 2 })).await?;
        let all = tools.call("search", json!({ "query": "takes a while", "limit": 1000 })).await?;
        let names = json!([found[0]["name"].clone()]);
        let described = tools.call("describe", json!({ "names": names })).await?;
        let wrong =
            tools.call("describe", json!({ "names": ["tracker__thing37"] })).await.unwrap_err();
        let all = all.as_array().map_or(0, |all| all.len());
        Ok(Some(json!([found, all, described, wrong])))
    });
    let fake = many();
    let gateway =
        gateway_with(Mode::Both, engine, vec![fake.server("tracker")], GatewayOptions::default())
            .await;
    let mut client = Client::greeted(&gateway).await;
    let names = client.tool_names().await;
    assert!(!names.contains(&"search".to_owned()) && !names.contains(&"describe".to_owned()));
    let answer = client.call("run_code", json!({ "code": "look", "description": "Looks" })).await;
    let value = Json::parse(answer["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(value[0][0]["name"], json!("tracker__thing_37"));
    assert_eq!(value[0].as_array().unwrap().len(), 2);
    assert_eq!(value[1], json!(400));
    let described = value[2].as_str().unwrap();
    assert!(
        described.starts_with("declare const tools: {\n  /** Does the thing with number 37."),
        "{described}"
    );
    assert_eq!(
        value[3],
        json!(
            "invalid arguments: there is no tool `tracker__thing37`; did you mean `tracker__thing_37`?"
        )
    );
}

#[tokio::test]
async fn tools_that_have_the_names_already_keep_them() {
    let engine = ScriptedEngine::new();
    let fake = small();
    let gateway =
        gateway_with(Mode::Code, engine, vec![fake.server("s")], detail(SdkDetail::Catalogue))
            .await;
    let own = callgate::ToolDefinition::new(
        "search",
        "Searches files.",
        callgate::ParamSpec::new(),
        callgate::Output::new(callgate::ValueSpec::string(), callgate::render::json),
        |_, _| async { Ok(json!("mine")) },
    );
    gateway.runtime().register(own).unwrap();
    let mut client = Client::greeted(&gateway).await;
    let tools = client.tools().await;
    let text = tools[0]["description"].as_str().unwrap();
    assert!(text.contains("- tools.search: Searches files."), "{text}");
    assert!(
        text.contains("await tools.search_tools({ query:")
            && text.contains("await tools.describe({ names:"),
        "{text}"
    );
}

#[tokio::test]
async fn the_form_follows_the_tools() {
    let fake = many();
    let engine = ScriptedEngine::new();
    let gateway =
        gateway_with(Mode::Code, engine, vec![fake.server("t")], GatewayOptions::default()).await;
    let mut client = Client::greeted(&gateway).await;
    let before = client.tools().await[0]["description"].clone();
    assert!(before.as_str().unwrap().contains("tools.search("));
    fake.follow(&json!({ "pages": [[tool("only")]], "calls": {} }));
    gateway.servers().refresh("t");
    client.wait_for("notifications/tools/list_changed").await;
    let after = client.tools().await[0]["description"].clone();
    assert!(!after.as_str().unwrap().contains("tools.search("), "{after}");
    assert!(after.as_str().unwrap().contains("interface ToolArgsMap {\n  t__only"), "{after}");
}
