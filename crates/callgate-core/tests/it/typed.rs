//! Typed tools: closures and structs whose schemas come from their types.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callgate_core::{
    CallInput, CallResult, ErrorKind, Executed, Output, Tool, ToolContext, ToolDefinition,
    ToolError, ToolRuntime, codes, render,
};
use callgate_schema::{Json, ParamSpec, Str, ValueSpec, ViolationKind, json};
use callgate_session::Content;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::support::Counter;

/// A search.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
struct Args {
    /// What to look for.
    text: String,
    /// How many results.
    limit: Option<u8>,
    #[serde(default)]
    places: Vec<Place>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq)]
struct Place {
    path: String,
    depth: u8,
}

/// What was found.
#[derive(Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct Found {
    text: String,
    limit: u8,
    score: f64,
}

fn search(counter: &Counter) -> ToolDefinition {
    let counter = counter.clone();
    ToolDefinition::typed("search", "Searches.", move |args: Args, _: ToolContext| {
        counter.add();
        async move {
            let score = if args.text == "nan" { f64::NAN } else { 0.5 };
            Ok(Found { text: args.text, limit: args.limit.unwrap_or(10), score })
        }
    })
}

fn runtime(tool: ToolDefinition) -> ToolRuntime {
    ToolRuntime::builder().tool(tool).build().unwrap()
}

async fn call(tool: ToolDefinition, arguments: Json) -> CallResult {
    let name = tool.name().to_owned();
    runtime(tool).execute(CallInput::new("1", name, arguments)).await
}

/// Path and kind of each violation.
fn violations(result: &CallResult) -> Vec<(String, ViolationKind)> {
    let violations = result.error().unwrap().violations();
    violations.iter().map(|violation| (violation.path(), violation.kind())).collect()
}

#[tokio::test]
async fn a_closure_becomes_a_tool_with_schemas_in_the_order_of_its_fields() {
    let tool = search(&Counter::default());
    let runtime = runtime(tool.clone());
    // TEST-2
    let schemas = runtime.schemas();
    assert_eq!((&*schemas[0].name, &*schemas[0].description), ("search", "Searches."));
    // DSL-20
    assert_eq!(
        schemas[0].parameters.to_string(),
        json!({
            "type": "object",
            "description": "A search.",
            "properties": {
                "text": { "type": "string", "description": "What to look for." },
                "limit": {
                    "oneOf": [{ "type": "integer" }, { "type": "null" }],
                    "description": "How many results. [minimum: 0, maximum: 255]",
                },
                "places": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": true,
                        "properties": {
                            "path": { "type": "string" },
                            "depth": {
                                "type": "integer",
                                "description": "[minimum: 0, maximum: 255]",
                            },
                        },
                        "required": ["path", "depth"],
                    },
                },
            },
            "required": ["text"],
        })
        .to_string()
    );
    // BOUND-3
    assert_eq!(
        tool.output_schema().to_string(),
        json!({
            "type": "object",
            "description": "What was found.",
            "additionalProperties": false,
            "properties": {
                "text": { "type": "string" },
                "limit": { "type": "integer" },
                "score": { "type": "number" },
            },
            "required": ["text", "limit", "score"],
        })
        .to_string()
    );
    // DSL-20: what was not given is absent.
    assert_eq!((tool.declared_timeout(), tool.is_repeatable()), (None, false));
    let result = runtime.execute(CallInput::new("1", "search", json!({ "text": "a" }))).await;
    let found = json!({ "text": "a", "limit": 10, "score": 0.5 });
    assert_eq!(result.value(), Some(&found));
    assert_eq!(result.text(), found.render_result());
    assert_eq!(result.meta(), None);
}

#[tokio::test]
async fn arguments_that_do_not_fit_never_reach_the_body() {
    let counter = Counter::default();
    let result = call(search(&counter), json!({ "limit": "5", "places": [{ "path": 1 }] })).await;
    assert_eq!(counter.get(), 0);
    // DSL-22 BOUND-1
    assert_eq!(
        violations(&result),
        [
            ("text".to_owned(), ViolationKind::Required),
            ("limit".to_owned(), ViolationKind::OneOf),
            ("places[0].depth".to_owned(), ViolationKind::Required),
            ("places[0].path".to_owned(), ViolationKind::Type),
        ]
    );
    // DSL-23
    let error = result.error().unwrap();
    assert_eq!(error.code(), Some(codes::INVALID_ARGS));
    for violation in error.violations() {
        assert!(error.message().contains(&violation.to_string()), "{violation}");
    }
}

/// Refuses itself as a whole.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "Place")]
struct Never;
impl TryFrom<Place> for Never {
    type Error = Str;
    fn try_from(place: Place) -> Result<Self, Str> {
        Err(format!("`{}` is not allowed", place.path).into())
    }
}

#[tokio::test]
async fn arguments_that_fit_the_schema_but_not_the_type_are_invalid_arguments_too() {
    let counter = Counter::default();
    for (arguments, path) in [
        (json!({ "text": "a", "limit": 300 }), "limit"),
        (json!({ "text": "a", "places": [{ "path": "/", "depth": -1 }] }), "places[0].depth"),
    ] {
        let result = call(search(&counter), arguments).await;
        // DSL-34
        assert_eq!(violations(&result), [(path.to_owned(), ViolationKind::Decode)]);
        assert_eq!(result.error().unwrap().code(), Some(codes::INVALID_ARGS));
    }
    let tool = ToolDefinition::typed("never", "Never.", |_: Never, _: ToolContext| async { Ok(1) });
    let result = call(tool, json!({ "path": "/", "depth": 0 })).await;
    // DSL-34: without a place inside, the path is the arguments themselves.
    assert_eq!(violations(&result), [("arguments".to_owned(), ViolationKind::Decode)]);
    assert_eq!(counter.get(), 0);
}

#[tokio::test]
async fn the_body_gets_the_same_arguments_and_undeclared_ones_too() {
    #[derive(Debug, Deserialize, JsonSchema, Serialize)]
    struct All {
        #[serde(default)]
        known: Option<i64>,
    }
    let declared = ToolDefinition::new(
        "dynamic",
        "Returns its arguments.",
        ParamSpec::new().optional("known", ValueSpec::integer()),
        Output::new(ValueSpec::json(), render::json),
        |arguments: Json, _| async move { Ok(arguments) },
    );
    let arguments = json!({ "more": [1], "known": 1.0 });
    // DSL-29
    assert_eq!(call(declared, arguments.clone()).await.value(), Some(&arguments));
    let typed =
        ToolDefinition::typed("typed", "Looks.", |all: All, context: ToolContext| async move {
            Ok((all.known, context.call().arguments().get("more").is_some()))
        });
    // BOUND-1: unknown members are accepted.
    assert_eq!(
        call(typed, json!({ "more": 1, "known": 7 })).await.value(),
        Some(&json!([7, true]))
    );
}

#[tokio::test]
async fn conditions_beyond_the_schema_are_the_bodys() {
    let tool =
        ToolDefinition::typed("strict", "Takes text.", |args: Args, _: ToolContext| async move {
            if args.text.is_empty() {
                return Err(ToolError::invalid_arguments("text: must not be empty"));
            }
            Ok(args.text)
        });
    // DSL-30
    let result = call(tool.clone(), json!({ "text": "" })).await;
    assert_eq!(result.error().unwrap().code(), Some(codes::INVALID_ARGS));
    assert_eq!(call(tool, json!({ "text": "a" })).await.text(), "a");
}

/// Says that it is a text, and is a number.
#[derive(JsonSchema)]
struct Liar(#[expect(dead_code)] String);
impl Serialize for Liar {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(1)
    }
}

#[tokio::test]
async fn an_output_that_breaks_its_declaration_is_an_invalid_output() {
    let result = call(search(&Counter::default()), json!({ "text": "nan" })).await;
    let error = result.error().unwrap();
    // DSL-35
    assert_eq!(error.code(), Some(codes::INVALID_TOOL_OUTPUT));
    assert!(error.message().contains("value.score"), "{error}");

    let tool = ToolDefinition::typed("liar", "Lies.", |_: Args, _: ToolContext| async {
        Ok(Liar(String::new()))
    });
    // DSL-35: serialised, then checked like any other value.
    let result = call(tool, json!({ "text": "" })).await;
    assert_eq!(result.error().unwrap().code(), Some(codes::INVALID_TOOL_OUTPUT));
}

#[tokio::test]
async fn typed_projections_decode_first_and_a_failure_is_an_invalid_output() {
    let tool = search(&Counter::default())
        .with_render(|args: &Args, found: &Found| {
            vec![Content::text(format!("{} ({})", args.text, found.limit))]
        })
        .with_meta(|_: &Json, found: &Found| json!({ "limit": found.limit }));
    // DSL-28
    let result = call(tool.clone(), json!({ "text": "a" })).await;
    assert_eq!(result.text(), "a (10)");
    assert_eq!(result.meta(), Some(&json!({ "limit": 10 })));

    let runtime = runtime(tool.clone());
    runtime.on_execute(|_, _| async {
        Ok(Executed::success(json!({ "text": "a", "limit": 1, "score": 1 })))
    });
    let result = runtime.execute(CallInput::new("1", "search", json!({ "text": 5 }))).await;
    // DSL-28: the arguments of a call that a hook answered were never checked.
    let error = result.error().unwrap();
    assert_eq!(error.code(), Some(codes::INVALID_TOOL_OUTPUT));
    assert!(error.message().contains("render function cannot read arguments.text"), "{error}");

    let unprintable = tool.with_meta(|_: &Json, _: &Found| f64::INFINITY);
    // DSL-28
    let result = call(unprintable, json!({ "text": "a" })).await;
    assert_eq!(result.error().unwrap().code(), Some(codes::INVALID_TOOL_OUTPUT));
}

#[tokio::test]
async fn the_finalizer_sees_calls_whose_arguments_do_not_fit() {
    let tool = search(&Counter::default()).finalize_content(|call, _| {
        Some(vec![Content::text(format!("final {}", call.arguments()))])
    });
    // DSL-27
    let result = call(tool, json!({ "text": 1 })).await;
    assert!(result.is_error());
    assert_eq!(result.text(), r#"final {"text":1}"#);
}

#[test]
fn a_timeout_is_metadata_and_never_zero() {
    let tool = search(&Counter::default());
    let timed = tool.clone().timeout(Duration::from_millis(5));
    // DSL-21
    assert_eq!(timed.declared_timeout(), Some(Duration::from_millis(5)));
    assert_eq!(runtime(timed).schemas(), runtime(tool.clone()).schemas());
    let error = ToolRuntime::builder().tool(tool.timeout(Duration::ZERO)).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidDefinition);
}

#[test]
fn a_type_outside_the_subset_is_reported_at_registration_with_its_path() {
    #[derive(Deserialize, JsonSchema, Serialize)]
    struct Overlapping {
        either: Either,
    }
    #[derive(Deserialize, JsonSchema, Serialize)]
    #[serde(untagged)]
    enum Either {
        Whole(i64),
        Fraction(f64),
    }
    let arguments =
        ToolDefinition::typed("a", "A.", |_: Overlapping, _: ToolContext| async { Ok(1) });
    let output = ToolDefinition::typed("b", "B.", |_: Args, _: ToolContext| async {
        Ok(Overlapping { either: Either::Whole(1) })
    });
    let scalar = ToolDefinition::typed("c", "C.", |_: i64, _: ToolContext| async { Ok(1) });
    // DSL-20
    for (tool, part, path) in [
        (arguments, "parameters", "schema.properties.either.anyOf"),
        (output, "output", "schema.properties.either.anyOf"),
        (scalar, "parameters", "schema.type"),
    ] {
        let error = ToolRuntime::builder().tool(tool).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedSchema);
        assert_eq!(error.violations()[0].path(), path, "{error}");
        assert!(error.to_string().starts_with(&format!("the {part} schema of tool")), "{error}");
    }
}

/// A tool with state.
struct Adder(AtomicUsize);

#[derive(Deserialize, JsonSchema)]
struct Summand {
    by: usize,
}

impl Tool for Adder {
    type Args = Summand;
    type Output = usize;
    const NAME: &'static str = "add";

    fn description(&self) -> Str {
        "Adds up.".into()
    }

    async fn call(&self, summand: Summand, context: ToolContext) -> Result<usize, ToolError> {
        context.check_cancelled()?;
        Ok(self.0.fetch_add(summand.by, Ordering::SeqCst) + summand.by)
    }
}

#[tokio::test]
async fn a_struct_becomes_a_tool_and_keeps_its_state() {
    let runtime = runtime(ToolDefinition::from_tool(Adder(AtomicUsize::new(1))));
    for (by, sum) in [(2, 3), (4, 7)] {
        let result = runtime.execute(CallInput::new("1", "add", json!({ "by": by }))).await;
        assert_eq!(result.value(), Some(&json!(sum)));
    }
    assert_eq!(&*runtime.schemas()[0].description, "Adds up.");
}

#[tokio::test]
async fn panics_of_typed_code_fail_the_call_only() {
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(try_from = "String")]
    struct Bomb;
    impl TryFrom<String> for Bomb {
        type Error = Str;
        fn try_from(_: String) -> Result<Self, Str> {
            panic!("while decoding")
        }
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Carrier {
        #[expect(dead_code)]
        bomb: Bomb,
    }
    let tool = ToolDefinition::typed("t", "T.", |_: Carrier, _: ToolContext| async { Ok(1) });
    let result = call(tool, json!({ "bomb": "" })).await;
    assert_eq!(result.error().unwrap().message(), "the tool panicked: while decoding");
}
