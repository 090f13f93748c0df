//! DERIVE: from what `schemars` derives to the enforced subset.

use std::collections::{BTreeMap, BTreeSet};

use callgate_schema::{
    Json, SchemaError, SubsetSchema, ViolationKind, json, lower_output, lower_parameters,
};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};

use crate::vectors;

fn parameters<T: JsonSchema>() -> Result<SubsetSchema, SchemaError> {
    let derived = SchemaSettings::draft2020_12()
        .for_deserialize()
        .into_generator()
        .into_root_schema_for::<T>();
    lower_parameters(&Json::try_from(derived.to_value()).unwrap())
}

fn output<T: JsonSchema>() -> Result<SubsetSchema, SchemaError> {
    let derived =
        SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    lower_output(&Json::try_from(derived.to_value()).unwrap())
}

/// Path and words of the one fault.
fn fault(derived: &Json) -> String {
    let error = lower_output(derived).unwrap_err();
    assert_eq!(error.violations().len(), 1);
    assert_eq!(error.violations()[0].kind(), ViolationKind::NotLowerable);
    error.violations()[0].to_string()
}

fn lowered(derived: &Json) -> Json {
    lower_output(derived).unwrap().as_json().clone()
}

#[test]
fn derived_schemas_are_lowered_as_the_vectors_say() {
    for vector in &vectors::load("derive-lowering.json") {
        let id = vectors::text(vector, "id");
        let outcome = match vectors::text(vector, "role") {
            "parameters" => lower_parameters(&vector["derived"]),
            _ => lower_output(&vector["derived"]),
        };
        match outcome {
            Ok(schema) => assert_eq!(Some(schema.as_json()), vector.get("schema"), "{id}"),
            Err(error) => assert_eq!(
                Some(error.violations()[0].path().as_str()),
                vector["path"].as_str(),
                "{id}"
            ),
        }
    }
}

/// How a thing is found.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Args {
    /// Where to look.
    path: String,
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
    #[serde(default)]
    options: Options,
    /// Other options.
    more: Option<Options>,
    mode: Mode,
    unit: Option<Unit>,
    #[schemars(length(min = 1), regex(pattern = "^a"))]
    prefix: String,
    pair: (u8, String),
    same: [f64; 2],
    letters: BTreeSet<char>,
    counts: BTreeMap<String, u8>,
    by_number: BTreeMap<u32, String>,
    raw: serde_json::Value,
    children: Vec<Args>,
    target: Target,
    loose: Loose,
}

#[derive(Serialize, Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Follow links.
    follow: bool,
    depth: Option<u8>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Mode {
    /// Letter by letter.
    Exact,
    Prefix,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Unit {
    Byte,
    Line,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Target {
    File { path: String },
    Web { url: String, retries: Option<u8> },
    Nothing,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Loose {
    Number(i32),
    Text(String),
    List(Vec<bool>),
}

#[test]
fn parameters_of_a_rich_struct_are_lowered_with_notes() {
    // DERIVE-9
    // DERIVE-15
    let schema = parameters::<Args>().unwrap();
    insta::assert_snapshot!(schema.as_json().pretty());
}

#[test]
fn the_output_of_a_rich_struct_is_lowered_without_notes() {
    // DERIVE-12
    let schema = output::<Args>().unwrap();
    insta::assert_snapshot!(schema.as_json().pretty());
}

#[test]
fn what_serde_writes_fits_the_lowered_schema() {
    // DERIVE-16
    #[derive(Serialize, JsonSchema)]
    struct Out {
        targets: Vec<Target>,
        results: Vec<Result<u8, String>>,
        loose: Vec<Loose>,
        modes: Vec<Mode>,
        options: Option<Options>,
        tree: Tree,
    }
    #[derive(Serialize, JsonSchema)]
    struct Tree {
        value: u8,
        children: Vec<Tree>,
    }
    let leaf = |value| Tree { value, children: Vec::new() };
    let out = Out {
        targets: vec![
            Target::File { path: "a".to_owned() },
            Target::Web { url: "b".to_owned(), retries: None },
            Target::Nothing,
        ],
        results: vec![Ok(1), Err("no".to_owned())],
        loose: vec![Loose::Number(1), Loose::Text("x".to_owned()), Loose::List(vec![true])],
        modes: vec![Mode::Exact, Mode::Prefix],
        options: Some(Options { follow: true, depth: None }),
        tree: Tree {
            value: 1,
            children: vec![leaf(2), Tree { value: 3, children: vec![leaf(4)] }],
        },
    };
    let schema = output::<Out>().unwrap();
    let violations = schema.validate(&Json::from_serialize(&out).unwrap(), "value");
    assert!(violations.is_empty(), "{violations}");
    assert!(
        !schema
            .validate(&json!({ "targets": [{ "kind": "file", "url": "b" }] }), "value")
            .is_empty()
    );
}

#[test]
fn annotations_are_kept_also_beside_a_reference() {
    // DERIVE-15
    let derived = json!({
        "type": "object",
        "description": "root", "title": "Root", "default": {}, "examples": [{}],
        "properties": {
            "a": { "$ref": "#/$defs/K", "default": "fast", "examples": ["slow"], "deprecated": true },
            "b": { "type": "string", "title": "B", "default": 1, "examples": 2, "x-order": 1 },
        },
        "$defs": { "K": { "description": "kind", "title": "K", "type": "string", "default": "slow" } },
    });
    assert_eq!(
        lowered(&derived),
        json!({
            "type": "object", "additionalProperties": true,
            "description": "root", "default": {}, "examples": [{}],
            "properties": {
                "a": { "type": "string", "description": "kind", "title": "K", "default": "fast", "examples": ["slow"] },
                "b": { "type": "string", "title": "B", "default": 1, "examples": 2 },
            },
        })
    );
}

#[test]
fn types_inside_themselves_become_shallow() {
    // DERIVE-3
    let derived = json!({
        "type": "object",
        "properties": { "list": { "$ref": "#/$defs/List" }, "expr": { "$ref": "#/$defs/Expr" }, "again": { "$ref": "#/$defs/List" } },
        "$defs": {
            "List": { "type": "array", "items": { "description": "more", "$ref": "#/$defs/List" } },
            "Expr": { "anyOf": [{ "type": "integer" }, { "$ref": "#/$defs/Expr" }] },
            "a/b~%": { "type": "string" },
        },
    });
    assert_eq!(
        lowered(&derived)["properties"],
        json!({
            "list": { "type": "array", "items": { "type": "array", "description": "more" } },
            "expr": {},
            "again": { "type": "array", "items": { "type": "array", "description": "more" } },
        })
    );
    let named = json!({ "$ref": "#/$defs/a~1b~0%25", "$defs": { "a/b~%": { "type": "string" } } });
    assert_eq!(lowered(&named), json!({ "type": "string" }));
}

#[test]
fn a_list_of_types_shares_out_its_literals() {
    // DERIVE-5
    let cases = [
        (
            json!({ "type": ["string", "null"], "enum": ["a", null] }),
            json!({ "oneOf": [{ "type": "string", "enum": ["a"] }, { "type": "null" }] }),
        ),
        (
            json!({ "type": ["string", "null"], "enum": ["a"] }),
            json!({ "type": "string", "enum": ["a"] }),
        ),
        (json!({ "type": ["string", "null"], "const": null }), json!({ "type": "null" })),
        (json!({ "type": ["string"] }), json!({ "type": "string" })),
        (
            json!({ "type": ["object", "array", "null"], "properties": { "a": true }, "items": { "type": "string" }, "title": "T" }),
            json!({
                "oneOf": [
                    { "type": "object", "additionalProperties": true, "properties": { "a": {} } },
                    { "type": "array", "items": { "type": "string" } },
                    { "type": "null" },
                ],
                "title": "T",
            }),
        ),
    ];
    for (derived, expected) in cases {
        let wrapped = lowered(&json!({ "type": "array", "items": derived }));
        assert_eq!(wrapped["items"], expected);
    }
}

#[test]
fn unions_are_flattened_merged_and_checked_for_overlap() {
    // DERIVE-6
    let cases = [
        // One accepts anything.
        (
            json!({ "anyOf": [{ "type": "string" }, true], "description": "d" }),
            json!({ "description": "d" }),
        ),
        // Equal ones are one.
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "string", "maxLength": 3 }] }),
            json!({ "type": "string" }),
        ),
        // Disjoint by the literals of a common tag.
        (
            json!({ "anyOf": [
                { "type": "object", "properties": { "t": { "enum": ["a", "b"] } }, "required": ["t"] },
                { "oneOf": [{ "type": "object", "properties": { "t": { "const": "c" } }, "required": ["t"] }, { "type": "null" }] },
            ] }),
            json!({ "oneOf": [
                { "type": "object", "additionalProperties": true, "properties": { "t": { "type": "string", "enum": ["a", "b"] } }, "required": ["t"] },
                { "type": "object", "additionalProperties": true, "properties": { "t": { "type": "string", "const": "c" } }, "required": ["t"] },
                { "type": "null" },
            ] }),
        ),
        // Disjoint literals.
        (
            json!({ "anyOf": [{ "enum": ["a", "b"] }, { "const": "c" }] }),
            json!({ "oneOf": [{ "type": "string", "enum": ["a", "b"] }, { "type": "string", "const": "c" }] }),
        ),
        // A documented union is kept as it is.
        (
            json!({ "anyOf": [{ "type": ["string", "null"], "description": "d" }, { "type": "integer" }] }),
            json!({ "oneOf": [{ "oneOf": [{ "type": "string" }, { "type": "null" }], "description": "d" }, { "type": "integer" }] }),
        ),
    ];
    for (derived, expected) in cases {
        assert_eq!(lowered(&derived), expected);
    }
    let overlapping = [
        json!({ "anyOf": [{ "type": "string" }, { "type": "string", "const": "a" }] }),
        json!({ "anyOf": [{ "enum": ["a", "b"] }, { "enum": ["b"] }] }),
        json!({ "anyOf": [{ "type": "array", "items": { "type": "string" } }, { "type": "array" }] }),
        json!({ "anyOf": [{ "type": ["string", "null"], "description": "d" }, { "type": "null" }] }),
        json!({ "anyOf": [
            { "type": "object", "properties": { "t": { "const": "a" } } },
            { "type": "object", "properties": { "t": { "const": "b" } }, "required": ["t"] },
        ] }),
    ];
    for derived in overlapping {
        assert_eq!(
            fault(&derived),
            "schema.anyOf: a value can fit two of the branches; tag the variants, or use `Json`"
        );
    }
}

#[test]
fn an_enum_of_one_documented_variant_is_that_variant() {
    // DERIVE-7
    assert_eq!(
        lowered(
            &json!({ "oneOf": [{ "description": "only", "type": "string", "const": "A" }], "description": "all" })
        ),
        json!({ "type": "string", "const": "A", "description": "all" })
    );
}

#[test]
fn tuples_take_the_common_type_or_anything() {
    // DERIVE-10
    let items = |derived: Json| lowered(&derived).get("items").cloned();
    let same = json!({ "type": "array", "prefixItems": [{ "type": "string" }, { "type": "string", "minLength": 1 }] });
    assert_eq!(items(same), Some(json!({ "type": "string" })));
    let mixed = json!({ "type": "array", "prefixItems": [{ "type": "integer" }, { "type": "number" }], "items": false });
    assert_eq!(items(mixed), Some(json!({})));
    let spread = json!({ "type": "array", "prefixItems": [{ "type": ["string", "null"] }, { "type": "integer" }], "items": { "type": "null" } });
    assert_eq!(
        items(spread),
        Some(json!({ "oneOf": [{ "type": "string" }, { "type": "null" }, { "type": "integer" }] }))
    );
    assert_eq!(items(json!({ "type": "array", "prefixItems": [] })), None);
}

#[test]
fn parameters_are_an_object() {
    // DERIVE-13
    let error = lower_parameters(&json!({ "type": "null", "title": "null" })).unwrap_err();
    insta::assert_snapshot!(error, @"unsupported schema: schema.type: parameters are the members of an object; use a struct with named fields");
    let map = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    assert_eq!(*lower_parameters(&map).unwrap().as_json(), json!({ "type": "object" }));
}

#[test]
fn what_cannot_be_lowered_is_named_with_the_way_out() {
    // DERIVE-1
    let cases = [
        json!({ "type": "object", "unevaluatedProperties": false }),
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/A" } }, "$defs": { "A": { "type": "array", "items": { "not": {} } } } }),
        json!({ "oneOf": [{ "type": "object", "properties": { "t": { "const": "a" } }, "$ref": "#/$defs/A" }], "$defs": { "A": { "type": "object" } } }),
        json!({ "type": "object", "properties": { "q": { "type": "string" } }, "oneOf": [{ "type": "object" }] }),
        json!({ "allOf": [] }),
        json!({ "type": "uint" }),
        json!({ "type": ["integer", "number"] }),
        json!({ "type": "string", "items": {} }),
        json!({ "type": ["object", "null"], "enum": [null] }),
        json!({ "properties": {} }),
        json!({ "enum": [] }),
        json!({ "$ref": "#/$defs/A/properties/x" }),
        json!({ "$ref": 1 }),
        json!({ "type": "object", "properties": [] }),
        json!([]),
    ];
    insta::assert_snapshot!(cases.iter().map(fault).collect::<Vec<_>>().join("\n"));
}

#[test]
fn types_that_multiply_when_written_out_are_refused() {
    let mut definitions = callgate_schema::Object::builder();
    for level in 0..40 {
        let next = json!({ "$ref": format!("#/$defs/T{}", level + 1) });
        definitions.insert(
            format!("T{level}"),
            json!({ "type": "object", "properties": { "a": next.clone(), "b": next } }),
        );
    }
    definitions.insert("T40", json!({ "type": "string" }));
    let derived = json!({ "$ref": "#/$defs/T0", "$defs": definitions.build() });
    assert!(fault(&derived).ends_with(
        "written out, the types have more than 20000 nodes; use `Json` for a part of them"
    ));
}

#[test]
fn deep_derived_schemas_are_lowered_without_recursion() {
    let mut derived = json!({ "type": "string" });
    for level in 0..5_000 {
        derived = match level % 3 {
            0 => json!({ "type": "array", "items": derived }),
            1 => json!({ "anyOf": [derived, { "type": "null" }], "description": "d" }),
            _ => json!({ "type": "object", "properties": { "k": derived } }),
        };
    }
    assert!(lower_output(&derived).is_ok());
}
