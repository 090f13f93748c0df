//! Where the pipeline meets schemas, generated text and Code Mode.

use std::time::Duration;

use callgate_core::testing::ScriptedEngine;
use callgate_core::{
    CallInput, ErrorKind, Language, Mode, Output, Section, Signal, ToolContext, ToolDefinition,
    ToolRuntime, codes, render,
};
use callgate_schema::{Json, ParamSpec, ValueSpec, json};
use callgate_session::Content;

use crate::support::{plain, run_program, runtime_with};

fn body(_: Json, _: ToolContext) -> std::future::Ready<Result<Json, callgate_core::ToolError>> {
    std::future::ready(Ok(json!("done")))
}

// REG-3
#[tokio::test]
async fn a_definition_may_carry_everything_optional_at_once() {
    let output = Output::new(ValueSpec::string(), render::json).with_meta(|_, _| Ok(json!(1)));
    let whole = ToolDefinition::new("whole", "Has it all.", ParamSpec::new(), output, body)
        .timeout(Duration::from_secs(1))
        .concurrency_safe_if(|_| true)
        .repeatable()
        .finalize_content(|_, _| Some(vec![Content::text("last word")]));
    assert_eq!(whole.declared_timeout(), Some(Duration::from_secs(1)));
    let runtime = ToolRuntime::builder().tool(whole).build().unwrap();
    let scope = runtime.scope();
    scope.register(plain("own")).unwrap();
    let result = scope.execute(CallInput::new("1", "whole", json!({}))).await;
    assert_eq!((result.text().as_str(), result.meta()), ("last word", Some(&json!(1))));
    assert!(runtime.get("own").is_none());
}

// BOUND-3
#[tokio::test]
async fn the_nine_kinds_of_the_authors_language_are_enforced() {
    let kinds: [(&str, ValueSpec, Json, Json); 9] = [
        ("string", ValueSpec::string().into(), json!("a"), json!(1)),
        ("number", ValueSpec::number().into(), json!(1.5), json!("1.5")),
        ("integer", ValueSpec::integer().into(), json!(1), json!(1.5)),
        ("boolean", ValueSpec::boolean().into(), json!(true), json!(0)),
        ("null", ValueSpec::null().into(), Json::Null, json!(0)),
        ("array", ValueSpec::array_of(ValueSpec::integer()).into(), json!([1]), json!(["1"])),
        (
            "object",
            ValueSpec::object().closed().required("a", ValueSpec::integer()).into(),
            json!({ "a": 1 }),
            json!({}),
        ),
        ("json", ValueSpec::json().into(), json!([null, {}]), Json::Null),
        (
            "oneOf",
            ValueSpec::one_of(ValueSpec::string(), ValueSpec::null()).into(),
            Json::Null,
            json!(1),
        ),
    ];
    for (kind, spec, fits, does_not) in kinds {
        let parameters = ParamSpec::new().required("value", spec);
        let tool = ToolDefinition::new(
            "t",
            "",
            parameters,
            Output::new(ValueSpec::string(), render::json),
            body,
        );
        let runtime = ToolRuntime::builder().tool(tool).build().unwrap();
        let run = async |value: Json| {
            runtime.execute(CallInput::new("1", "t", json!({ "value": value }))).await
        };
        assert!(!run(fits).await.is_error(), "{kind}");
        if kind != "json" {
            let error = run(does_not).await.error().cloned().unwrap();
            assert_eq!(error.code(), Some(codes::INVALID_ARGS), "{kind}");
        }
        // BOUND-1: the root is open, and defaults are nobody's business.
        let more = runtime.execute(CallInput::new("2", "t", json!({ "unknown": 1 }))).await;
        assert!(more.error().unwrap().message().contains("value"), "{kind}");
    }
}

// BOUND-4 JSCHEMA-57
#[test]
fn a_schema_outside_the_subset_is_refused_where_it_is_enforced() {
    let runtime = ToolRuntime::builder().build().unwrap();
    for schema in [json!({ "$ref": "#" }), json!({ "type": ["string", "null"] }), json!(true)] {
        let tool = ToolDefinition::new(
            "t",
            "",
            json!({}),
            Output::new(schema.clone(), render::json),
            body,
        );
        let error = runtime.register(tool).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedSchema, "{schema}");
        assert!(!error.violations().is_empty());
    }
    // JSCHEMA-58: the parameters of a raw tool may be anything.
    let raw = ToolDefinition::new(
        "t",
        "",
        json!({ "$ref": "#" }),
        Output::new(ValueSpec::string(), render::json),
        body,
    );
    runtime.register(raw).unwrap();
}

// BOUND-5 SDKSEC-7 SDKSEC-8 SDKSEC-9
#[test]
fn generated_text_quotes_exotic_names_and_never_fails() {
    let runtime = runtime_with(ScriptedEngine::new());
    let text = |language| runtime.sdk(language);
    let empty = text(Language::TypeScript);
    assert!(empty.contains("interface ToolArgsMap {}"), "{empty}");
    runtime.register(plain("my-tool")).unwrap();
    runtime.register(plain("__proto__")).unwrap();
    let deep = Json::parse(&format!(
        "{}{{}}{}",
        "{\"type\":\"array\",\"items\":".repeat(2_000),
        "}".repeat(2_000)
    ))
    .unwrap();
    let strange = ToolDefinition::new(
        "class",
        "Ends */ early.",
        deep,
        Output::new(ValueSpec::string(), render::json),
        body,
    );
    runtime.register(strange).unwrap();
    let odd = json!({ "type": "object", "properties": { "when": { "type": "string", "format": "date" }, "x": 7 } });
    let foreign = ToolDefinition::new(
        "foreign",
        "",
        odd,
        Output::new(ValueSpec::string(), render::json),
        body,
    );
    runtime.register(foreign).unwrap();
    let typescript = text(Language::TypeScript);
    for part in [
        "type JsonValue",
        "interface ToolArgsMap",
        "interface ToolOutputMap",
        "type ToolName",
        "class ToolCallError",
        "declare const tools",
        "\"my-tool\":",
        "*\\/ early",
    ] {
        assert!(typescript.contains(part), "{part}");
    }
    let python = text(Language::Python);
    for part in [
        "class ToolCallError(Exception)",
        "class Tools(Protocol)",
        "# tools[\"my-tool\"]",
        "# tools[\"class\"]",
        "tools: Tools",
    ] {
        assert!(python.contains(part), "{part}");
    }
}

// PYGEN-46
#[test]
fn texts_and_language_are_decided_in_one_place() {
    for language in Language::ALL {
        let engine = ScriptedEngine::new().in_language(language);
        let runtime = ToolRuntime::builder().mode(Mode::Code).engine(engine).build().unwrap();
        let name = if language == Language::Python { "Python" } else { "TypeScript" };
        assert!(runtime.schemas()[0].description.contains(name), "{language}");
        assert!(runtime.sdk(language).contains(name), "{language}");
    }
}

// PROMPT-11
#[tokio::test]
async fn a_scoped_section_takes_the_place_of_the_registrys_own() {
    let runtime = runtime_with(ScriptedEngine::new());
    let scope = runtime.scope();
    scope.add_section(Section::text("tools:sdk", 150, "my own words")).unwrap();
    let prompt = scope.assemble(&Signal::new()).await.unwrap();
    assert_eq!(prompt.system(), "my own words");
    assert!(
        runtime.assemble(&Signal::new()).await.unwrap().system().contains("declare const tools")
    );
}

// BRIDGE-10 BRIDGE-9
#[tokio::test]
async fn intermediate_values_have_no_cap_and_no_depth() {
    let runtime = runtime_with(ScriptedEngine::new().program("go", async |tools| {
        let big = "x".repeat(20 << 20);
        let echoed = tools.call("echo", json!(big)).await?;
        let deep = Json::parse(&format!("{}{}", "[".repeat(5_000), "]".repeat(5_000))).unwrap();
        let same = tools.call("echo", deep.clone()).await? == deep;
        Ok(Some(json!([echoed.as_str().map_or(0, str::len), same])))
    }));
    let output = Output::new(ValueSpec::json(), render::nothing);
    runtime
        .register(ToolDefinition::new("echo", "", json!({}), output, |arguments, _| async {
            Ok(arguments)
        }))
        .unwrap();
    let result = run_program(&runtime, "run", "go").await;
    assert_eq!(result.value().unwrap()["result"], json!([20 << 20, true]));
}
