//! Python type text.

use callgate_schema::{Json, Object, SdkTool, json, python};
use proptest::prelude::*;

use crate::tsgen::{assert_text, sample, tools_of};
use crate::{arbitrary, vectors};

// The rules each vector checks stand in the vector.
#[test]
fn schemas_of_the_subset_print_as_the_vectors_say() {
    for vector in &vectors::load("py-types.json") {
        if let Some(schema) = vectors::schema(vector) {
            let expected = vectors::text(vector, "py");
            assert_eq!(python::type_text(&schema), expected, "{}", vectors::text(vector, "id"));
        }
    }
}

#[test]
fn declarations_print_as_the_vectors_say() {
    for vector in &vectors::load("py-types.json") {
        if let Some(tools) = vectors::tools(vector) {
            let (id, expected) = (vectors::text(vector, "id"), vectors::text(vector, "sdk"));
            assert_eq!(python::strict_declarations(&tools), expected, "{id}");
            if id != "py-089" {
                assert_eq!(python::declarations(&tools), expected, "{id}");
            }
        }
    }
}

// PYGEN-40
#[test]
fn deep_schemas_print_as_the_vectors_say() {
    for vector in &vectors::load("deep.json") {
        match vectors::text(vector, "op") {
            "py" => {
                assert_text(&python::type_text(&vectors::nested(&vector["schema_nest"])), vector);
            }
            "py_sdk" => {
                let parameters = vectors::nested(&vector["schema_nest"]);
                let output = json!({ "type": "string" });
                let tool = SdkTool::new(vectors::text(vector, "tool"), "", &parameters, &output);
                let text = python::declarations(&[tool]);
                assert_text(&text, vector);
                let classes = text
                    .lines()
                    .filter_map(|line| line.strip_prefix("class ")?.strip_suffix("(TypedDict):"));
                let lengths: Vec<_> = classes.map(|name| name.encode_utf16().count()).collect();
                assert_eq!(Some(lengths.len() as u64), vector["classes"].as_u64());
                assert_eq!(
                    lengths.iter().max().map(|&length| length as u64),
                    vector["longest_class"].as_u64()
                );
            }
            _ => {}
        }
    }
}

// PYGEN-40
#[test]
fn depth_costs_no_more_than_the_text_it_gives() {
    let nest = |wrap: &str, depth: u32, leaf: Json| {
        vectors::nested(&json!({ "wrap": wrap, "depth": depth, "leaf": leaf }))
    };
    let closed = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"], "additionalProperties": false });
    let deep = nest("one_of_null", 50_000, closed.clone());
    let lists = nest("array", 181, json!({ "type": "integer" }));
    let text = python::declarations(&[SdkTool::new("deep", "", &deep, &lists)]);
    let (classes, rest) = text.split_once("class Tools").unwrap();
    // The name of the innermost class would be 50,000 digits long.
    let name = format!("DeepArgs{}", "1".repeat(112));
    assert!(classes.contains(&format!("class {name}(TypedDict):\n    a: str\n")));
    assert!(rest.contains(&format!(
        "args: {name}{}) -> {}Any{}: ...",
        " | None".repeat(50_000),
        "list[".repeat(180),
        "]".repeat(180)
    )));
    let wide: Object = (0..20_000).map(|index| (format!("p{index}"), closed.clone())).collect();
    let wide = json!({ "type": "object", "properties": wide });
    assert_eq!(
        python::declarations(&[SdkTool::new("wide", "", &wide, &json!({}))])
            .matches("(TypedDict):")
            .count(),
        20_001
    );
}

// PYGEN-41
#[test]
fn collisions_are_settled_by_the_order_of_names_not_of_registration() {
    let parameters = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let mut tools =
        ["b", "b2_args", "B", "b-"].map(|name| SdkTool::new(name, "", &parameters, &parameters));
    let text = python::declarations(&tools);
    tools.reverse();
    assert_eq!(python::declarations(&tools), text);
    let classes: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("class ")?.strip_suffix("(TypedDict):"))
        .collect();
    assert_eq!(
        classes,
        [
            "BArgs",
            "BOutput",
            "BArgs2",
            "BOutput2",
            "BArgs3",
            "BOutput3",
            "B2ArgsArgs",
            "B2ArgsOutput"
        ]
    );
}

// PYGEN-42
#[test]
fn the_section_says_how_to_call_tools_and_which_there_are() {
    let schemas = sample();
    insta::assert_snapshot!(python::section(&tools_of(&schemas)));
}

// PYGEN-39
#[test]
fn a_tool_named_as_what_annotations_use_is_no_method() {
    let any = json!({});
    let tools = ["Never", "Protocol", "set"].map(|name| SdkTool::new(name, "", &any, &any));
    insta::assert_snapshot!(python::declarations(&tools), @r#"
    from typing import Any, Protocol

    class ToolCallError(Exception):
        toolName: str

    class Tools(Protocol):
        # tools["Never"](args: Any) -> Any
        async def Protocol(self, args: Any) -> Any: ...
        async def set(self, args: Any) -> Any: ...

    tools: Tools
    "#);
}

// PYGEN-45
#[test]
fn names_follow_the_tables_of_unicode() {
    let parameters = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": false });
    let names = ["ßtraße", "ǆungla", "ŉgo", "x·y", "ªb", "𝔘x", "①", "ª", "ſhy"];
    let text = names.map(|name| {
        let text = python::declaration_of(&SdkTool::new(name, "", &parameters, &json!({})));
        let line = |start: &str| {
            text.lines()
                .find(|line| line.trim_start().starts_with(start))
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        format!("{} / {}{}", line("class "), line("async def"), line("# tools"))
    });
    insta::assert_snapshot!(text.join("\n"), @r#"
    class SStraßeArgs(TypedDict): / async def ßtraße(self, args: SStraßeArgs) -> Any: ...
    class DŽunglaArgs(TypedDict): / # tools["ǆungla"](args: DŽunglaArgs) -> Any
    class ʼNgoArgs(TypedDict): / # tools["ŉgo"](args: ʼNgoArgs) -> Any
    class X·yArgs(TypedDict): / async def x·y(self, args: X·yArgs) -> Any: ...
    class abArgs(TypedDict): / # tools["ªb"](args: abArgs) -> Any
    class UxArgs(TypedDict): / # tools["𝔘x"](args: UxArgs) -> Any
    class ToolArgs(TypedDict): / # tools["①"](args: ToolArgs) -> Any
    class aArgs(TypedDict): / # tools["ª"](args: aArgs) -> Any
    class ShyArgs(TypedDict): / # tools["ſhy"](args: ShyArgs) -> Any
    "#);
    let decomposed =
        python::declaration_of(&SdkTool::new("e\u{301}a", "", &parameters, &json!({})));
    assert!(decomposed.starts_with("class ÉaArgs(TypedDict):"));
}

proptest! {
    // PYGEN-34
    #[test]
    fn nothing_is_imported_in_vain(schema in arbitrary::schema()) {
        let text = python::declarations(&[SdkTool::new("tool", "", &schema, &schema)]);
        let (line, body) = text.split_once('\n').unwrap();
        for name in line.strip_prefix("from typing import ").unwrap().split(", ") {
            let mut words = body.split(|char: char| !char.is_alphanumeric() && char != '_');
            prop_assert!(words.any(|word| word == name), "{} is not used in {}", name, text);
        }
    }
}
