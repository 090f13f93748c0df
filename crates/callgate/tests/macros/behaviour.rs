//! What the tools do that `#[tool]` makes.

use std::collections::BTreeMap;
use std::time::Duration;

use callgate::{
    CallInput, CallResult, Json, Object, ToolContext, ToolDefinition, ToolError, ToolRuntime, json,
    tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adds two whole numbers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// How a list is sorted.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Order {
    Up,
    Down,
}

/// A page of names.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Page {
    names: Vec<String>,
    /// Whether there are more.
    more: bool,
}

type Context = ToolContext;
type Outcome<T> = Result<T, std::num::ParseIntError>;

/// Sorts names.
///
/// Ends after `limit` of them.
#[tool(name = "sort_names", concurrency_safe, repeatable, timeout_ms = 1_500)]
async fn sort(
    /// The names,
    /// in any order.
    names: Vec<String>,
    cx: Context,
    order: Option<Order>,
    /// The largest number of names, in digits.
    r#limit: Option<String>,
) -> Outcome<Page> {
    let limit = limit.map(|digits| digits.parse()).transpose()?;
    assert_eq!(&**cx.call().name(), "sort_names");
    let mut names = names;
    names.sort();
    if matches!(order, Some(Order::Down)) {
        names.reverse();
    }
    let more = limit.is_some_and(|limit| names.len() > limit);
    names.truncate(limit.unwrap_or(names.len()));
    Ok(Page { names, more })
}

/// Halves a small number.
#[tool]
fn halve(mut number: u8) -> Result<u8, ToolError> {
    if number % 2 == 1 {
        return Err(ToolError::failed(format!("{number} is odd; send an even number")));
    }
    number /= 2;
    Ok(number)
}

/// Does nothing.
#[tool]
fn nothing() {}

/// Puts a label on anything.
#[tool]
fn label(value: Json, more: Option<Json>, rest: Object) -> BTreeMap<String, Json> {
    let more = more.unwrap_or_default();
    let parts = [("value", value), ("more", more), ("rest", Json::Object(rest))];
    parts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Counts the words of a text.
#[tool]
fn words(text: String, _first: ToolContext, _second: ToolContext) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word.to_owned()).or_default() += 1;
    }
    counts
}

async fn call(tool: ToolDefinition, arguments: Json) -> CallResult {
    let name = tool.name().to_owned();
    let runtime = ToolRuntime::builder().tool(tool).build().unwrap();
    runtime.execute(CallInput::new("1", name, arguments)).await
}

#[tokio::test]
async fn a_function_becomes_a_tool_and_stays_callable() {
    // TEST-2
    let runtime = ToolRuntime::builder().tool(add::tool()).build().unwrap();
    let schemas = runtime.schemas();
    assert_eq!((&*schemas[0].name, &*schemas[0].description), ("add", "Adds two whole numbers."));
    assert_eq!(
        schemas[0].parameters,
        json!({
            "type": "object",
            "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
            "required": ["a", "b"],
        })
    );
    let result = runtime.execute(CallInput::new("1", "add", json!({ "a": 2, "b": 3 }))).await;
    assert_eq!(result.value(), Some(&json!(5)));
    assert_eq!(result.text(), "5");
    assert_eq!(add(2, 3).await, 5);
}

#[tokio::test]
async fn json_of_any_kind_passes_through_as_it_came() {
    // DERIVE-4
    let tool = label::tool();
    assert_eq!(
        *tool.parameters(),
        json!({
            "type": "object",
            "properties": { "value": {}, "more": {}, "rest": { "type": "object", "additionalProperties": true } },
            "required": ["value", "rest"],
        })
    );
    let value = Json::parse("[18446744073709551615, -9223372036854775808, 0.1]").unwrap();
    let given = json!({ "value": value.clone(), "rest": { "b": 1, "a": null } });
    let result = call(tool, given).await;
    assert_eq!(
        result.value(),
        Some(&json!({ "more": null, "rest": { "b": 1, "a": null }, "value": value }))
    );
    let refused = call(label::tool(), json!({ "value": 1, "rest": [] })).await;
    assert_eq!(refused.error().and_then(|error| error.code()), Some("INVALID_ARGS"));
}

#[tokio::test]
async fn names_docs_options_and_context_come_from_the_signature() {
    let tool = sort::tool();
    assert_eq!(tool.name(), "sort_names");
    assert_eq!(tool.description(), "Sorts names.\n\nEnds after `limit` of them.");
    insta::assert_snapshot!(tool.parameters().render_result());
    insta::assert_snapshot!(tool.output_schema().render_result());
    assert!(tool.is_repeatable());
    assert_eq!(tool.declared_timeout(), Some(Duration::from_millis(1_500)));
    let runtime = ToolRuntime::builder().tool(tool).tool(add::tool()).build().unwrap();
    let is_safe = |name: &str, arguments: Json| {
        format!("{:?}", runtime.execution_mode(&CallInput::new("1", name, arguments)))
    };
    assert_eq!(is_safe("sort_names", json!({ "names": [] })), "Parallel");
    assert_eq!(is_safe("add", json!({ "a": 1, "b": 2 })), "Exclusive");
}

#[tokio::test]
async fn arguments_are_read_by_name_and_may_be_left_out_if_optional() {
    let all = json!({ "limit": "2", "order": "down", "names": ["a", "c", "b"] });
    let result = call(sort::tool(), all).await;
    assert_eq!(result.value(), Some(&json!({ "names": ["c", "b"], "more": true })));
    let result = call(sort::tool(), json!({ "names": ["b", "a"] })).await;
    assert_eq!(result.value(), Some(&json!({ "names": ["a", "b"], "more": false })));
    let result = call(nothing::tool(), json!({ "more": "than declared" })).await;
    assert_eq!(result.value(), Some(&Json::Null));
    let result = call(words::tool(), json!({ "text": "to be or not to be" })).await;
    assert_eq!(result.value(), Some(&json!({ "be": 2, "not": 1, "or": 1, "to": 2 })));
}

#[tokio::test]
async fn what_does_not_fit_is_told_with_its_place() {
    for (tool, arguments, code, expected) in [
        (
            sort::tool(),
            json!({ "names": "a", "order": "sideways" }),
            Some("INVALID_ARGS"),
            "invalid arguments for `sort_names`: names: expected a list of strings, got the string \"a\"; wrap a \
             single item in a list\norder: expected one of \"up\", \"down\", or null, got the string \"sideways\"",
        ),
        (
            halve::tool(),
            json!({ "number": 300 }),
            Some("INVALID_ARGS"),
            "invalid arguments for `halve`: number: invalid value: integer `300`, expected u8",
        ),
        (sort::tool(), json!({ "names": [], "limit": "x" }), None, "invalid digit found in string"),
        (halve::tool(), json!({ "number": 3 }), None, "3 is odd; send an even number"),
    ] {
        let result = call(tool, arguments).await;
        let error = result.error().unwrap();
        assert_eq!((error.code(), error.message()), (code, expected));
    }
    assert_eq!(call(halve::tool(), json!({ "number": 8 })).await.value(), Some(&json!(4)));
}

#[tokio::test]
async fn a_tool_can_be_made_inside_of_a_function_of_types_from_there() {
    #[derive(Deserialize, JsonSchema)]
    struct Args {
        text: String,
    }
    #[doc = concat!("Shouts", " loudly.")]
    #[tool(crate = ::callgate)]
    fn shout(arguments: Args) -> String {
        arguments.text.to_uppercase()
    }
    assert_eq!(shout::tool().description(), "Shouts loudly.");
    let result = call(shout::tool(), json!({ "arguments": { "text": "hey" } })).await;
    assert_eq!(result.text(), "HEY");
}
