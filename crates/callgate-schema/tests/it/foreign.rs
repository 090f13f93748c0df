//! Types of schemas that others wrote, and the names of their tools.

use callgate_schema::foreign::{self, SchemaLimit};
use callgate_schema::{
    Json, Object, SdkOutput, SdkTool, SubsetSchema, json, public_name, python, typescript,
};
use proptest::prelude::*;

use crate::vectors;

// The rules each vector checks stand in the vector.
#[test]
fn foreign_schemas_print_as_the_vectors_say() {
    let output = json!({ "type": "string" });
    for vector in &vectors::load("foreign-types.json") {
        let (id, schema) = (vectors::text(vector, "id"), vectors::schema(vector).unwrap());
        assert_eq!(typescript::foreign_type_text(&schema, 0), vectors::text(vector, "ts"), "{id}");
        let tool = SdkTool::new("t", "", &schema, &output);
        assert_eq!(python::declarations(&[tool]), vectors::text(vector, "py_sdk"), "{id}");
    }
}

/// Compares the types of member schemas, in TypeScript and in Python.
fn check(cases: &[(Json, &str, &str)]) {
    for (schema, typescript, python) in cases {
        let found = types_of(schema);
        assert_eq!((&*found.0, &*found.1), (*typescript, *python), "{schema}");
    }
}

/// The types of a required member, `m`, of a closed object with some definitions.
fn types_of(schema: &Json) -> (String, String) {
    let root = json!({
        "type": "object",
        "properties": { "m": schema.clone() },
        "required": ["m"],
        "additionalProperties": false,
        "definitions": { "Old": { "type": "boolean" } },
        "$defs": {
            "N": { "type": "integer" },
            "a/b": { "c~d": { "type": "null" } },
            "Named": { "$anchor": "here", "type": "string", "enum": ["x"] },
            "Late": { "$id": "#there", "type": "number" },
            "A": { "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] },
            "B": { "properties": { "b": { "type": "string" } }, "additionalProperties": false },
            "Maybe": { "type": "string", "nullable": true },
            "Wrapped": { "$ref": "#/$defs/N", "nullable": true },
            "Nodes": { "type": "array", "items": { "$ref": "#/$defs/Nodes" } },
            "Tree": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "$ref": "#/$defs/Tree" } }] },
            "Loop": { "$ref": "#/$defs/Loop" },
            "Ping": { "allOf": [{ "$ref": "#/$defs/Pong" }] },
            "Pong": { "$ref": "#/$defs/Ping" },
        },
    });
    let typescript = typescript::foreign_type_text(&root, 0);
    // A line of documentation may stand in front.
    let (_, typescript) = typescript.split_once("  m: ").unwrap();
    let typescript = typescript.strip_suffix(";\n}");
    let text = json!({ "type": "string" });
    let python = python::declarations(&[SdkTool::new("t", "", &root, &text)]);
    let member = python.lines().find_map(|line| line.strip_prefix("    m: "));
    (typescript.unwrap().to_owned(), member.unwrap().to_owned())
}

// FOREIGN-3
#[test]
fn tools_of_servers_are_named_as_the_vectors_say() {
    for vector in &vectors::load("mcp-names.json") {
        let (server, raw) = (vectors::text(vector, "server"), vectors::text(vector, "raw"));
        assert_eq!(public_name(server, raw), vectors::text(vector, "name"));
    }
}

// FOREIGN-3, with the server names that count as changed.
#[test]
fn server_names_that_leave_doubt_are_hashed_and_none_is_refused() {
    let names = [
        ("a", "b__c"),
        ("a__b", "c"),
        ("a_", "_c"),
        ("a", "_c"),
        ("_a", "c"),
        ("s23456789012345678901234567890-2", "c"),
        ("s23456789012345678901234567890-23", "c"),
        ("acme.infra-tools-server", "get.status"),
        ("", ""),
    ]
    .map(|(server, raw)| public_name(server, raw));
    insta::assert_snapshot!(names.join("\n"), @r#"
    a__b__c
    a__b__c_a92700ced282
    a____c_98399f1332c6
    a___c
    _a__c
    s23456789012345678901234567890-2__c
    s23456789012345678901234567890-23__c_f87053dbff9f
    acme_infra-tools-server__get_status_3791319ab1b3
    __
    "#);
}

proptest! {
    // FOREIGN-3
    #[test]
    fn public_names_fit_every_api_and_tell_tools_apart(
        a in ("[a-c_.é]{0,40}", "[a-c_.é]{0,70}"),
        b in ("[a_]{0,4}", "[a_]{0,4}"),
        c in ("[a_]{0,4}", "[a_]{0,4}"),
    ) {
        for (server, raw) in [&a, &b, &c] {
            let name = public_name(server, raw);
            prop_assert!((1..=64).contains(&name.len()));
            prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)));
        }
        prop_assert_eq!(b == c, public_name(&b.0, &b.1) == public_name(&c.0, &c.1));
    }
}

// FOREIGN-20
#[test]
fn a_schema_of_the_subset_reads_the_same_by_both_roads() {
    for vector in &vectors::load("ts-types.json") {
        let Some(schema) = vectors::schema(vector) else { continue };
        if SubsetSchema::assert(&schema).is_ok() {
            assert_eq!(
                typescript::foreign_type_text(&schema, 1),
                typescript::type_text(&schema, 1)
            );
        }
    }
}

// FOREIGN-20
#[test]
fn what_multiplies_by_references_is_cut_off_at_the_budget() {
    let level = |level: u32| {
        let next = json!({ "$ref": format!("#/$defs/L{}", level + 1) });
        json!({ "type": "object", "properties": { "a": next.clone(), "b": next.clone(), "c": next } })
    };
    let levels: Object = (0..30).map(|index| (format!("L{index}"), level(index))).collect();
    let schema = json!({ "$ref": "#/$defs/L0", "$defs": levels });
    let text = typescript::foreign_type_text(&schema, 0);
    assert!(text.len() < 1_000_000, "{}", text.len());
    assert!(text.contains("?: JsonValue;"));
    let output = json!({ "type": "null" });
    assert!(python::declarations(&[SdkTool::new("t", "", &schema, &output)]).len() < 2_000_000);
}

// FOREIGN-20
#[test]
fn what_comes_first_is_shown_when_the_budget_is_spent() {
    let properties: Object =
        (0..6_000).map(|index| (format!("p{index}"), json!({ "type": "string" }))).collect();
    let schema = json!({ "type": "object", "properties": properties, "minProperties": 1 });
    let text = typescript::foreign_type_text(&schema, 0);
    assert_eq!(text.matches("?: string;").count(), 4_999);
    assert_eq!(text.matches("?: JsonValue;").count(), 1_001);
}

// FOREIGN-21
#[test]
fn nodes_that_say_nothing_are_any_and_only_false_is_never() {
    check(&[
        (json!(true), "JsonValue", "Any"),
        (json!({}), "JsonValue", "Any"),
        (json!(5), "JsonValue", "Any"),
        (json!({ "type": 5 }), "JsonValue", "Any"),
        (json!({ "type": "string", "enum": [] }), "string", "str"),
        (json!({ "required": true }), "JsonValue", "Any"),
        (json!(false), "never", "Never"),
        (json!({ "type": "array", "items": false }), "never[]", "list[Never]"),
    ]);
}

// FOREIGN-22
#[test]
fn references_lead_to_any_place_inside_the_document() {
    check(&[
        (json!({ "$ref": "#/$defs/N" }), "number", "int"),
        (json!({ "$ref": "#/definitions/Old" }), "boolean", "bool"),
        (json!({ "$ref": "#/$defs/a~1b/c~0d" }), "null", "None"),
        (json!({ "$ref": "#/%24defs/a~1b/c%7e0d" }), "null", "None"),
        (json!({ "$ref": "#here" }), "\"x\"", "Literal[\"x\"]"),
        (json!({ "$ref": "#there" }), "number", "float"),
        (json!({ "$ref": "#/$defs/Tree/anyOf/0" }), "string", "str"),
        (json!({ "$ref": "#/$defs/N", "type": "number" }), "number & number", "float"),
        (json!({ "$ref": "#/$defs/N", "title": "Count" }), "number", "int"),
    ]);
}

// FOREIGN-22
#[test]
fn references_that_lead_nowhere_are_open_for_their_place_only() {
    for reference in [
        "#/$defs/Gone",
        "#/$defs/Tree/anyOf/00",
        "#/$defs/Tree/anyOf/2",
        "#/$defs/a~2b",
        "#/$defs/N%2",
        "#/%ff",
        "#nowhere",
        "other.json#/$defs/N",
        "https://example.test/s.json",
        "#/$defs/Loop",
        "#/$defs/Ping",
    ] {
        let list = json!({ "type": "array", "items": { "$ref": reference } });
        check(&[
            (json!({ "$ref": reference }), "JsonValue", "Any"),
            (list, "JsonValue[]", "list[Any]"),
        ]);
    }
    let beside = json!({ "$ref": "#/$defs/Gone", "type": "string" });
    check(&[(beside, "string", "str"), (json!({ "$dynamicRef": "#N" }), "JsonValue", "Any")]);
}

// FOREIGN-22
#[test]
fn recursive_definitions_are_finite_whatever_their_type() {
    check(&[
        (json!({ "$ref": "#/$defs/Nodes" }), "JsonValue[]", "list[Any]"),
        (json!({ "$ref": "#/$defs/Tree" }), "string | JsonValue[]", "str | list[Any]"),
        (
            json!({ "type": "array", "items": { "$ref": "#/$defs/Tree" } }),
            "(string | JsonValue[])[]",
            "list[str | list[Any]]",
        ),
    ]);
}

// FOREIGN-22
#[test]
fn references_that_lead_nowhere_are_told_once_each() {
    let schema = json!({
        "type": "object",
        "properties": {
            "tree": { "$ref": "#/$defs/Tree" },
            "gone": { "$ref": "#/$defs/Gone" },
            "again": { "type": "array", "items": { "$ref": "#/$defs/Gone" } },
            "outside": { "$ref": "https://example.test/s.json" },
            "loop": { "$ref": "#/$defs/Loop" },
            "ping": { "$ref": "#/$defs/Ping" },
        },
        "$defs": {
            "Tree": { "type": "array", "items": { "$ref": "#/$defs/Tree" } },
            "Loop": { "$ref": "#/$defs/Loop" },
            "Ping": { "allOf": [{ "$ref": "#/$defs/Pong" }] },
            "Pong": { "$ref": "#/$defs/Ping" },
        },
    });
    let open = foreign::open_references(&schema);
    assert_eq!(
        open,
        ["#/$defs/Gone", "https://example.test/s.json", "#/$defs/Loop", "#/$defs/Ping"]
    );
}

// FOREIGN-22: case 2 of the field.
#[test]
fn every_kind_of_reference_gives_a_finite_type_and_a_broken_one_harms_only_its_place() {
    let tool = |properties: Json, rest: Json| {
        let Json::Object(rest) = rest else { panic!("definitions") };
        Json::Object(rest.with("type", "object").with("properties", properties))
    };
    let leaf = json!({ "type": "object", "properties": { "leaf": { "type": "integer" } }, "required": ["leaf"] });
    let parameters = [
        tool(
            json!({ "a": { "$ref": "#/$defs/Leaf" } }),
            json!({ "$defs": { "Leaf": leaf.clone() } }),
        ),
        tool(
            json!({ "a": { "$ref": "#/definitions/Leaf" } }),
            json!({ "definitions": { "Leaf": leaf.clone() } }),
        ),
        tool(
            json!({ "a": { "$ref": "#/$defs/x~1y~0z" } }),
            json!({ "$defs": { "x/y~z": leaf.clone() } }),
        ),
        tool(
            json!({ "filter": { "anyOf": [leaf, { "type": "null" }] }, "same": { "$ref": "#/properties/filter/anyOf/0" } }),
            json!({}),
        ),
        tool(
            json!({ "lists": { "$ref": "#/$defs/Lists" }, "node": { "$ref": "#/$defs/Node" } }),
            json!({
                "$defs": {
                    "Lists": { "type": "array", "items": { "$ref": "#/$defs/Lists" } },
                    "Node": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "$ref": "#/$defs/Node" } }] },
                },
            }),
        ),
        tool(json!({ "gone": { "$ref": "#/$defs/Gone" }, "ok": { "type": "string" } }), json!({})),
        tool(
            json!({ "self": { "$ref": "#/$defs/Me" }, "ok": { "type": "string" } }),
            json!({ "$defs": { "Me": { "$ref": "#/$defs/Me" } } }),
        ),
    ];
    let output = json!({ "type": "null" });
    let names = ["t1", "t2", "t3", "t4", "t5", "t6", "t7"];
    let tools: Vec<_> = names
        .iter()
        .zip(&parameters)
        .map(|(name, parameters)| SdkTool::new(name, "", parameters, &output))
        .collect();
    insta::assert_snapshot!(typescript::declarations(&tools));
    insta::assert_snapshot!(python::declarations(&tools));
    let open: Vec<_> = parameters.iter().map(foreign::open_references).collect();
    let none: [&str; 0] = [];
    assert_eq!(open[..5], [none; 5]);
    assert_eq!(open[5..], [["#/$defs/Gone"], ["#/$defs/Me"]]);
}

// FOREIGN-23
#[test]
fn literals_are_told_whatever_the_type_says() {
    check(&[
        (json!({ "enum": ["a", null, 2.5] }), "\"a\" | null | 2.5", "Literal[\"a\", None] | float"),
        (json!({ "type": "string", "const": 1 }), "1", "Literal[1]"),
        (json!({ "const": null }), "null", "None"),
        (json!({ "enum": [1, 1.0, true] }), "1 | true", "Literal[1, True]"),
        (json!({ "enum": [1.5, 2] }), "1.5 | 2", "float"),
        (json!({ "type": "integer", "enum": [1, 1e300, null] }), "1 | 1e+300 | null", "None | int"),
        (
            json!({ "enum": [9_223_372_036_854_775_807_u64] }),
            "9223372036854775807",
            "Literal[9223372036854775807]",
        ),
        (json!({ "enum": [9_223_372_036_854_775_808_u64] }), "9223372036854775808", "float"),
        (json!({ "const": { "a": 1 } }), "JsonValue", "Any"),
        (json!({ "enum": [1, []] }), "JsonValue", "Any"),
        (json!({ "const": "a", "anyOf": [{ "type": "null" }] }), "\"a\"", "Literal[\"a\"]"),
    ]);
}

// FOREIGN-24
#[test]
fn a_list_of_types_is_a_union_in_its_order() {
    check(&[
        (json!({ "type": ["integer", "null"] }), "number | null", "int | None"),
        (json!({ "type": ["integer", "number"] }), "number", "int | float"),
        (json!({ "type": ["string"] }), "string", "str"),
        (json!({ "type": [] }), "JsonValue", "Any"),
        (json!({ "type": ["string", "file", 7] }), "string | JsonValue", "str | Any"),
        (
            json!({ "type": ["array", "object"], "items": { "type": "string" }, "additionalProperties": { "type": "null" } }),
            "string[] | Record<string, null>",
            "list[str] | dict[str, None]",
        ),
    ]);
}

// FOREIGN-25
#[test]
fn without_a_type_the_keywords_tell_it() {
    check(&[
        (json!({ "items": { "type": "string" } }), "string[]", "list[str]"),
        (
            json!({ "prefixItems": [{ "type": "string" }], "items": false, "minItems": 1 }),
            "[string]",
            "list[str]",
        ),
        (
            json!({ "additionalProperties": { "type": "string" } }),
            "Record<string, string>",
            "dict[str, str]",
        ),
        (
            json!({ "patternProperties": { "^x": {} } }),
            "Record<string, JsonValue>",
            "dict[str, Any]",
        ),
        (json!({ "minLength": 3 }), "JsonValue", "Any"),
    ]);
}

// FOREIGN-26
#[test]
fn branches_are_spliced_equal_ones_dropped_and_the_type_inherited() {
    let uri = json!({ "type": "string", "format": "uri" });
    check(&[
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }, uri.clone()] }),
            "string | null",
            "str | None",
        ),
        (
            json!({ "anyOf": [{ "anyOf": [uri.clone(), { "type": "null" }] }, { "type": "null" }] }),
            "string | null",
            "str | None",
        ),
        (
            json!({ "oneOf": [{ "enum": ["a", "b"] }, { "const": "b" }] }),
            "\"a\" | \"b\"",
            "Literal[\"a\", \"b\"] | Literal[\"b\"]",
        ),
        (json!({ "anyOf": [uri.clone()], "oneOf": [{ "type": "null" }] }), "string", "str"),
        (
            json!({ "anyOf": [], "oneOf": [{ "type": "null" }, uri.clone()] }),
            "null | string",
            "None | str",
        ),
        (
            json!({ "type": ["string", "null"], "anyOf": [{ "minLength": 1 }, { "format": "uri" }] }),
            "string | null",
            "str | None",
        ),
        (
            json!({ "type": "string", "oneOf": [{ "allOf": [{ "minLength": 1 }] }, { "$ref": "#/$defs/N" }] }),
            "string | number",
            "str | int",
        ),
        (
            json!({ "type": "array", "items": { "anyOf": [uri.clone(), uri] } }),
            "string[]",
            "list[str]",
        ),
        (json!({ "anyOf": [{}, { "type": "null" }] }), "JsonValue | null", "Any | None"),
    ]);
    let object = "{\n    a: string;\n  } & Record<string, JsonValue>";
    let branch = json!({ "$ref": "#/$defs/A" });
    let two = json!({ "type": "object", "oneOf": [branch.clone(), { "$ref": "#/$defs/B" }] });
    let beside = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"], "anyOf": [{ "type": "null" }] });
    check(&[
        (json!({ "anyOf": [branch.clone(), branch] }), object, "TArgsM1 | TArgsM2"),
        (two, &format!("{object} | {{\n    b?: string;\n  }}"), "TArgsM1 | TArgsM2"),
        (beside, object, "TArgsM"),
    ]);
}

// FOREIGN-27
#[test]
fn parts_are_merged_if_all_are_objects_and_joined_otherwise() {
    let a = json!({ "$ref": "#/$defs/A" });
    let merged = "{\n    a: string;\n    b?: string;\n  }";
    let open = "{\n    a: string;\n  } & Record<string, JsonValue>";
    check(&[
        (json!({ "allOf": [a.clone(), { "$ref": "#/$defs/B" }] }), merged, "TArgsM"),
        (
            json!({ "allOf": [{ "allOf": [a.clone()] }, true, { "title": "x" }, { "$ref": "#/$defs/Gone" }] }),
            open,
            "TArgsM",
        ),
        (
            json!({ "allOf": [a.clone()], "required": ["z"] }),
            "{\n    a: string;\n    z: JsonValue;\n  } & Record<string, JsonValue>",
            "TArgsM",
        ),
        (json!({ "allOf": [true, { "description": "x" }] }), "JsonValue", "Any"),
        (json!({ "allOf": [] }), "JsonValue", "Any"),
        (json!({ "allOf": [{ "type": "string" }, { "minLength": 1 }] }), "string", "str"),
        (json!({ "allOf": [{ "type": "string" }, false] }), "string & never", "str"),
        (
            json!({ "allOf": [{ "type": "weird" }, { "type": "string" }, { "type": "integer" }] }),
            "string & number",
            "str",
        ),
        (
            json!({ "allOf": [{ "enum": ["a", "b"] }, { "type": "string" }], "nullable": true }),
            "(\"a\" | \"b\") & string | null",
            "Literal[\"a\", \"b\"] | None",
        ),
        (
            json!({ "allOf": [{ "anyOf": [{ "type": "string" }, { "type": "string" }] }, { "type": "string" }] }),
            "string & string",
            "str",
        ),
        (
            json!({ "type": "array", "items": { "allOf": [{ "type": "string" }, { "type": "integer" }] } }),
            "(string & number)[]",
            "list[str]",
        ),
        (
            json!({ "allOf": [a, { "anyOf": [{ "type": "string" }, { "type": "null" }] }] }),
            &format!("{open} & (string | null)"),
            "TArgsM",
        ),
    ]);
}

// FOREIGN-28
#[test]
fn objects_tell_their_members_or_the_type_of_all_values() {
    check(&[
        (
            json!({ "type": "object", "required": ["x", "x"] }),
            "{\n    x: JsonValue;\n  } & Record<string, JsonValue>",
            "TArgsM",
        ),
        (
            json!({ "type": "object", "additionalProperties": { "type": ["string", "null"] } }),
            "Record<string, string | null>",
            "dict[str, str | None]",
        ),
        (
            json!({ "type": "object", "additionalProperties": { "type": "string" }, "patternProperties": { "x": {} } }),
            "Record<string, JsonValue>",
            "dict[str, Any]",
        ),
        (
            json!({ "type": "object", "additionalProperties": false, "patternProperties": { "x": {} } }),
            "Record<string, JsonValue>",
            "dict[str, Any]",
        ),
        (
            json!({ "type": "object", "additionalProperties": false, "minProperties": 0 }),
            "Record<string, never>",
            "TArgsM",
        ),
        (
            json!({ "type": "array", "items": { "type": "object", "additionalProperties": { "type": ["string", "null"] } } }),
            "(Record<string, string | null>)[]",
            "list[dict[str, str | None]]",
        ),
    ]);
}

// FOREIGN-29
#[test]
fn positions_of_a_list_are_a_tuple() {
    let positions = json!([{ "type": "string" }, { "type": "integer" }]);
    let tuple = |rest: Json| {
        let Json::Object(rest) = rest else { panic!("keywords") };
        Json::Object(rest.with("type", "array").with("prefixItems", positions.clone()))
    };
    check(&[
        (tuple(json!({ "minItems": 1, "maxItems": 2 })), "[string, number?]", "list[str | int]"),
        (tuple(json!({ "minItems": 9, "items": false })), "[string, number]", "list[str | int]"),
        (tuple(json!({ "maxItems": 3 })), "[string?, number?, ...JsonValue[]]", "list[Any]"),
        (
            tuple(json!({ "items": { "type": ["string", "null"] }, "minItems": 2 })),
            "[string, number, ...(string | null)[]]",
            "list[Any]",
        ),
        (
            json!({ "items": [{ "type": ["string", "null"] }], "additionalItems": { "type": "string" } }),
            "[(string | null)?, ...string[]]",
            "list[Any]",
        ),
        (
            json!({ "type": "array", "items": [], "additionalItems": { "type": "string" } }),
            "string[]",
            "list[str]",
        ),
        (json!({ "type": "array", "items": true }), "JsonValue[]", "list[Any]"),
    ]);
}

// FOREIGN-30
#[test]
fn nullable_adds_null_wherever_it_stands() {
    check(&[
        (json!({ "$ref": "#/$defs/Maybe" }), "string | null", "str | None"),
        (json!({ "$ref": "#/$defs/Wrapped" }), "number | null", "int | None"),
        (json!({ "$ref": "#/$defs/N", "nullable": true }), "number | null", "int | None"),
        (
            json!({ "allOf": [{ "$ref": "#/$defs/N" }], "nullable": true }),
            "number | null",
            "int | None",
        ),
        (json!({ "type": ["string", "null"], "nullable": true }), "string | null", "str | None"),
        (
            json!({ "enum": ["a", null], "nullable": true }),
            "\"a\" | null",
            "Literal[\"a\", None] | None",
        ),
        (
            json!({ "type": "array", "items": { "type": "string", "nullable": true }, "nullable": false }),
            "(string | null)[]",
            "list[str | None]",
        ),
        (
            json!({ "type": "object", "additionalProperties": false, "nullable": true }),
            "Record<string, never> | null",
            "TArgsM | None",
        ),
    ]);
}

// FOREIGN-31
#[test]
fn conditions_have_no_effect() {
    check(&[
        (json!({ "not": { "type": "null" } }), "JsonValue", "Any"),
        (
            json!({ "type": "array", "contains": { "type": "string" }, "if": {}, "then": false }),
            "JsonValue[]",
            "list[Any]",
        ),
    ]);
}

// FOREIGN-32
#[test]
fn what_types_cannot_say_stands_in_the_documentation() {
    let schema = json!({
        "type": "object",
        "properties": {
            "all": {
                "default": { "a": ["|"] }, "maxProperties": 2, "minProperties": 1, "uniqueItems": true, "maxItems": 2,
                "minItems": 1, "multipleOf": 0.5, "exclusiveMaximum": 9, "maximum": 8, "exclusiveMinimum": 1,
                "minimum": 2, "maxLength": 5, "minLength": 1, "pattern": "^\"\n", "format": "uri",
            },
            "text": { "type": "string", "format": 5, "description": "  Ends here. " },
            "blank": { "type": "string", "minLength": 1, "description": " " },
            "ref": { "$ref": "#/$defs/T" },
            "own": { "$ref": "#/$defs/T", "description": "Own.", "maxLength": 3 },
            "far": { "$ref": "#/$defs/Far" },
            "loop": { "$ref": "#/$defs/Loop" },
            "items": { "type": "array", "items": { "type": "string", "minLength": 1, "description": "Not told." } },
        },
        "$defs": {
            "T": { "type": "string", "description": "A name", "minLength": 2 },
            "Far": { "$ref": "#/$defs/T", "default": "x" },
            "Loop": { "$ref": "#/$defs/Loop", "description": "Round." },
        },
    });
    insta::assert_snapshot!(typescript::foreign_type_text(&schema, 0), @r#"
    {
      /** [format: uri, pattern: "^\"\n", minLength: 1, maxLength: 5, minimum: 2, exclusiveMinimum: 1, maximum: 8, exclusiveMaximum: 9, multipleOf: 0.5, minItems: 1, maxItems: 2, uniqueItems: true, minProperties: 1, maxProperties: 2, default: {"a":["|"]}] */
      all?: JsonValue;
      /** Ends here. [format: 5] */
      text?: string;
      /** [minLength: 1] */
      blank?: string;
      /** A name [minLength: 2] */
      ref?: string;
      /** Own. [maxLength: 3] */
      own?: string;
      /** A name [default: "x"] */
      far?: string;
      /** Round. */
      loop?: JsonValue;
      items?: string[];
    } & Record<string, JsonValue>
    "#);
}

// FOREIGN-32
#[test]
fn a_schema_of_the_subset_has_no_notes() {
    let schema =
        json!({ "type": "object", "properties": { "a": { "type": "string", "default": "x" } } });
    assert_eq!(
        typescript::foreign_type_text(&schema, 0),
        "{\n  a?: string;\n} & Record<string, JsonValue>"
    );
}

// FOREIGN-4
#[test]
fn the_envelope_without_a_schema_has_open_structured_content() {
    let parameters = json!({ "type": "object" });
    let tool = SdkTool::new("t", "", &parameters, SdkOutput::Envelope(None));
    insta::assert_snapshot!(typescript::declaration_of(&tool), @r#"
    declare const tools: {
      t(args: Record<string, JsonValue>): Promise<{
        content: JsonValue[];
        structuredContent?: JsonValue;
      }>;
    }
    "#);
    insta::assert_snapshot!(python::declaration_of(&tool), @r#"
    class TOutput(TypedDict):
        content: list[Any]
        structuredContent: NotRequired[Any]

    class Tools(Protocol):
        async def t(self, args: dict[str, Any]) -> TOutput: ...
    "#);
}

// FOREIGN-34
#[test]
fn the_envelope_carries_the_type_of_the_advertised_schema() {
    let parameters = json!({ "type": "object" });
    let advertised = json!({
        "type": "object",
        "properties": { "n": { "type": "integer", "minimum": 0 }, "next": { "$ref": "#" } },
        "required": ["n"],
    });
    let tool = SdkTool::new("get-it", "", &parameters, SdkOutput::Envelope(Some(&advertised)));
    insta::assert_snapshot!(typescript::declaration_of(&tool), @r#"
    declare const tools: {
      "get-it"(args: Record<string, JsonValue>): Promise<{
        content: JsonValue[];
        structuredContent: {
          /** [minimum: 0] */
          n: number;
          next?: {
            /** [minimum: 0] */
            n: number;
            next?: JsonValue;
          } & Record<string, JsonValue>;
        } & Record<string, JsonValue>;
      }>;
    }
    "#);
    insta::assert_snapshot!(python::declaration_of(&tool), @r#"
    class GetItOutputStructuredContentNext(TypedDict):
        # [minimum: 0]
        n: int
        next: NotRequired[Any]
        # Extra keys are accepted.

    class GetItOutputStructuredContent(TypedDict):
        # [minimum: 0]
        n: int
        next: NotRequired[GetItOutputStructuredContentNext]
        # Extra keys are accepted.

    class GetItOutput(TypedDict):
        content: list[Any]
        structuredContent: GetItOutputStructuredContent

    class Tools(Protocol):
        pass
        # tools["get-it"](args: dict[str, Any]) -> GetItOutput
    "#);
}

// FOREIGN-19
#[test]
fn beyond_the_limits_nothing_is_told() {
    let uri = json!({ "type": "string", "format": "uri" });
    let nested =
        |depth| (0..depth).fold(uri.clone(), |inner, _| json!({ "type": "array", "items": inner }));
    let described =
        |length| json!({ "type": "string", "format": "uri", "description": "x".repeat(length) });
    let listed = |count| json!({ "enum": vec![Json::from(1); count] });
    let empty = described(0).to_string().len();
    for (schema, limit) in [
        (nested(127), None),
        (nested(128), Some(SchemaLimit::Depth)),
        (described(1024 * 1024 - empty), None),
        (described(1024 * 1024 - empty + 1), Some(SchemaLimit::Bytes)),
        (listed(19_998), None),
        (listed(19_999), Some(SchemaLimit::Nodes)),
    ] {
        assert_eq!(foreign::check_limits(&schema).err(), limit);
        assert_eq!(typescript::foreign_type_text(&schema, 0) == "unknown", limit.is_some());
        let output = json!({ "type": "null" });
        let text = python::declarations(&[SdkTool::new("t", "", &schema, &output)]);
        assert_eq!(text.contains("args: Any)"), limit.is_some());
    }
    assert_eq!(SchemaLimit::Depth.to_string(), "the schema nests deeper than 128 levels");
}
