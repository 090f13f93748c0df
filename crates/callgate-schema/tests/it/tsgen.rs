//! TypeScript type text.

use std::fmt::Write as _;

use callgate_schema::{Json, Object, SdkTool, SubsetSchema, json, python, typescript};
use proptest::collection::hash_set;
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::{arbitrary, vectors};

// The rules each vector checks stand in the vector.
#[test]
fn schemas_of_the_subset_print_as_the_vectors_say() {
    for vector in &vectors::load("ts-types.json") {
        if let Some(schema) = vectors::schema(vector) {
            let expected = vectors::text(vector, "ts");
            assert_eq!(
                typescript::type_text(&schema, 0),
                expected,
                "{}",
                vectors::text(vector, "id")
            );
        }
    }
}

#[test]
fn declarations_print_as_the_vectors_say() {
    for vector in &vectors::load("ts-types.json") {
        if let Some(tools) = vectors::tools(vector) {
            let (id, expected) = (vectors::text(vector, "id"), vectors::text(vector, "sdk"));
            assert_eq!(typescript::strict_declarations(&tools), expected, "{id}");
            if id != "ts-099" {
                assert_eq!(typescript::declarations(&tools), expected, "{id}");
            }
        }
    }
}

// TSGEN-14
#[test]
fn deep_schemas_print_as_the_vectors_say() {
    for vector in &vectors::load("deep.json") {
        let text = match vectors::text(vector, "op") {
            "ts" => typescript::type_text(&vectors::nested(&vector["schema_nest"]), 0),
            "ts_sdk" => {
                let parameters = vectors::nested(&vector["schema_nest"]);
                let output = json!({ "type": "string" });
                let tool = SdkTool::new(vectors::text(vector, "tool"), "", &parameters, &output);
                typescript::declarations(&[tool])
            }
            _ => continue,
        };
        assert_text(&text, vector);
    }
}

/// Compares a text with the description of one in a vector.
pub(crate) fn assert_text(text: &str, vector: &Json) {
    let expected = &vector["text"];
    let found = json!({
        "bytes": text.len(),
        "sha256": hex(&Sha256::digest(text)),
        "head": &text[..40],
        "tail": &text[text.len() - 20..],
    });
    assert_eq!(found, *expected, "{}", vectors::text(vector, "id"));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

// TSGEN-5, TSGEN-6: see case 1 of the field: the element type of a list must be grouped.
#[test]
fn the_element_type_of_a_list_is_grouped_in_every_position() {
    let tags = json!({ "type": "array", "items": { "anyOf": [{ "type": "string" }, { "type": "null" }] } });
    let parameters = json!({
        "type": "object",
        "properties": { "tags": tags.clone(), "more": { "type": "array", "items": tags } },
        "required": ["tags"],
        "additionalProperties": false,
    });
    let part = |name: &str, kind: &str| json!({ "type": "object", "properties": { (name): { "type": kind } }, "required": [name] });
    let joined = json!({ "allOf": [part("id", "integer"), { "anyOf": [part("name", "string"), { "type": "null" }] }] });
    let output = json!({
        "type": "object",
        "properties": {
            "parts": { "type": "array", "items": { "allOf": [part("id", "integer"), part("name", "string")] } },
            "joined": { "type": "array", "items": joined },
        },
        "required": ["parts", "joined"],
        "additionalProperties": false,
    });
    let tool = SdkTool::new("tag_all", "Tag everything.", &parameters, &output);
    insta::assert_snapshot!(typescript::declaration_of(&tool), @r#"
    declare const tools: {
      /** Tag everything. */
      tag_all(args: {
        tags: (string | null)[];
        more?: ((string | null)[])[];
      }): Promise<{
        parts: ({
          id: number;
          name: string;
        } & Record<string, JsonValue>)[];
        joined: ({
          id: number;
        } & Record<string, JsonValue> & ({
          name: string;
        } & Record<string, JsonValue> | null))[];
      }>;
    }
    "#);
    insta::assert_snapshot!(python::declaration_of(&tool), @r#"
    class TagAllArgs(TypedDict):
        tags: list[str | None]
        more: NotRequired[list[list[str | None]]]

    class TagAllOutputParts(TypedDict):
        id: int
        name: str
        # Extra keys are accepted.

    class TagAllOutputJoined(TypedDict):
        id: int
        # Extra keys are accepted.

    class TagAllOutput(TypedDict):
        parts: list[TagAllOutputParts]
        joined: list[TagAllOutputJoined]

    class Tools(Protocol):
        async def tag_all(self, args: TagAllArgs) -> TagAllOutput:
            """Tag everything."""
    "#);
}

// TSGEN-9
#[test]
fn the_level_indents_what_belongs_to_the_construct() {
    let point = json!({ "type": "object", "properties": { "x": { "type": "number" } }, "additionalProperties": false });
    let schema =
        json!({ "oneOf": [{ "type": "array", "items": point.clone() }, { "type": "null" }] });
    assert_eq!(typescript::type_text(&schema, 2), "{\n      x?: number;\n    }[] | null");
    assert_eq!(
        typescript::type_text(&point, 40),
        format!("{{\n{}x?: number;\n{}}}", " ".repeat(82), " ".repeat(80))
    );
}

// TSGEN-14
#[test]
fn depth_and_width_cost_no_more_than_the_text_they_give() {
    let nest = |wrap: &str, depth: u32, leaf: Json| {
        vectors::nested(&json!({ "wrap": wrap, "depth": depth, "leaf": leaf }))
    };
    let nullable = json!({ "oneOf": [{ "type": "string" }, { "type": "null" }] });
    let text = typescript::type_text(&nest("array", 5_000, nullable), 0);
    assert_eq!(text, format!("{}string | null{}", "(".repeat(5_000), ")[]".repeat(5_000)));
    let text = typescript::type_text(&nest("null_one_of", 50_000, json!({ "type": "string" })), 0);
    assert_eq!(text, format!("{}string", "null | ".repeat(50_000)));
    let text = typescript::type_text(&nest("open_object", 1_000, json!({})), 0);
    assert_eq!(text.lines().count(), 2_001);
    let properties: Object =
        (0..20_000).map(|index| (format!("p{index}"), json!({ "type": "string" }))).collect();
    let required: Vec<Json> = properties.keys().map(|name| Json::from(&**name)).collect();
    let wide = json!({ "type": "object", "properties": properties, "required": required });
    assert_eq!(typescript::type_text(&wide, 0).matches(": string;\n").count(), 20_000);
}

// FOREIGN-26
#[test]
fn nested_unions_outside_the_subset_are_spliced_at_any_depth() {
    let schema = (0..60).fold(json!({ "type": "string", "minLength": 1 }), |inner, _| {
        json!({ "anyOf": [inner.clone(), { "type": "array", "items": { "type": "null" } }] })
    });
    let text = typescript::foreign_type_text(&schema, 0);
    assert_eq!(text, "string | null[]");
    assert_eq!(text, typescript::foreign_type_text(&schema, 0));
}

// TSGEN-13: the reading for text agrees with the assertion about what is of the subset.
#[test]
fn exactly_the_schemas_of_the_subset_have_a_type() {
    for file in [
        "unsupported-schemas.json",
        "json-schema.json",
        "ts-types.json",
        "py-types.json",
        "foreign-types.json",
    ] {
        // A schema with a number that no `Json` holds is nobody's.
        let lossless = |vector: &&Json| vector.get("schema_text").is_none();
        for schema in vectors::load(file).iter().filter(lossless).filter_map(vectors::schema) {
            assert_agreement(&schema);
        }
    }
}

fn assert_agreement(schema: &Json) {
    let accepted = SubsetSchema::assert(schema).is_ok();
    assert_eq!(typescript::type_text(schema, 0) != "unknown", accepted, "{schema}");
    let output = json!({ "type": "null" });
    let python = python::strict_declarations(&[SdkTool::new("t", "", schema, &output)]);
    assert!(accepted || python.contains("args: Any)"), "{schema}");
}

proptest! {
    // TSGEN-13
    #[test]
    fn text_and_assertion_agree_about_any_schema(schema in prop_oneof![arbitrary::schema(), arbitrary::rubble()]) {
        assert_agreement(&schema);
    }

    // TSGEN-15
    #[test]
    fn any_schema_gives_the_same_text_again(schema in prop_oneof![arbitrary::schema(), arbitrary::rubble()]) {
        let text = typescript::foreign_type_text(&schema, 0);
        let copy = Json::parse(&schema.to_string()).unwrap();
        prop_assert_eq!(&text, &typescript::foreign_type_text(&copy, 0));
    }

    // TSGEN-29
    #[test]
    fn no_line_ends_the_code_fence(schema in arbitrary::schema(), name in "(```|[a-z`\n]{0,5})", description in "(```|\n```ts\n|.{0,9})") {
        let tool = SdkTool::new(&name, &description, &schema, &schema);
        for text in [typescript::section(&[tool]), python::section(&[tool])] {
            let fences: Vec<_> = text.lines().filter(|line| line.trim_start().starts_with("```")).collect();
            prop_assert_eq!(fences.len(), 2, "{}", text);
        }
    }

    // TSGEN-30
    #[test]
    fn the_order_of_tools_does_not_matter(names in hash_set("[a-cA-Z_-]{1,4}", 1..8), schema in arbitrary::schema()) {
        let mut tools: Vec<_> = names.iter().map(|name| SdkTool::new(name, name, &schema, &schema)).collect();
        let (typescript, python) = (typescript::section(&tools), python::section(&tools));
        tools.reverse();
        prop_assert_eq!(typescript, typescript::section(&tools));
        prop_assert_eq!(python, python::section(&tools));
    }
}

// TSGEN-26
#[test]
fn the_section_says_how_to_call_tools_and_which_there_are() {
    let schemas = sample();
    insta::assert_snapshot!(typescript::section(&tools_of(&schemas)));
}

#[test]
fn the_catalogue_has_a_line_for_each_tool() {
    let any = json!({});
    let long = "A sentence that goes on and on ".repeat(9);
    let tools = [
        ("read", "Read a file, e.g. a text. Not for folders."),
        ("class", "What? Yes."),
        ("my-tool", "  Two\n lines  "),
        ("日本", "日本語の文。次の文。"),
        ("zero", ""),
        ("long", &long),
        ("dots", "See v1.2.3 or a.b! Then."),
    ]
    .map(|(name, description)| SdkTool::new(name, description, &any, &any));
    insta::assert_snapshot!(typescript::catalogue(&tools), @r#"
    - tools.class: What?
    - tools.dots: See v1.2.3 or a.b!
    - tools.long: A sentence that goes on and on A sentence that goes on and on A sentence that goes on and on A sentence that goes on an…
    - tools["my-tool"]: Two lines
    - tools.read: Read a file, e.g. a text.
    - tools.zero
    - tools["日本"]: 日本語の文。
    "#);
    insta::assert_snapshot!(python::catalogue(&tools), @r#"
    - tools["class"]: What?
    - tools.dots: See v1.2.3 or a.b!
    - tools.long: A sentence that goes on and on A sentence that goes on and on A sentence that goes on and on A sentence that goes on an…
    - tools["my-tool"]: Two lines
    - tools.read: Read a file, e.g. a text.
    - tools.zero
    - tools.日本: 日本語の文。
    "#);
}

/// Name, description, parameters and output of a tool.
type Sample = (&'static str, &'static str, Json, Json);

/// A few tools.
pub(crate) fn sample() -> [Sample; 3] {
    let text = json!({ "type": "string" });
    let read = json!({
        "type": "object",
        "properties": { "path": { "type": "string", "description": "File to read." }, "limit": { "type": "integer" } },
        "required": ["path"],
        "additionalProperties": false,
    });
    let issues = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "repo": { "type": "string", "pattern": "^[^/]+/[^/]+$" },
            "labels": { "type": "array", "items": { "type": ["string", "null"] }, "maxItems": 10 },
            "page": { "type": "integer", "minimum": 1, "default": 1, "description": "Page to return." },
        },
        "required": ["repo"],
    });
    let page = json!({
        "type": "object",
        "properties": { "items": { "type": "array", "items": { "$ref": "#/$defs/Issue" } } },
        "required": ["items"],
        "$defs": { "Issue": { "type": "object", "properties": { "id": { "type": "integer" }, "title": { "type": "string" } } } },
    });
    [
        ("read", "Read a file.", read, text),
        ("github__list_issues", "List the issues of a repository.", issues, page),
        ("fs__my-tool", "", json!({ "type": "object", "properties": {} }), json!({})),
    ]
}

pub(crate) fn tools_of(schemas: &[Sample]) -> Vec<SdkTool<'_>> {
    schemas
        .iter()
        .map(|(name, description, parameters, output)| {
            SdkTool::new(name, description, parameters, output)
        })
        .collect()
}
