//! JSCHEMA: which schemas are accepted, and which values they accept.

use callgate_schema::{
    Json, JsonPath, Object, ParseErrorKind, SchemaError, SubsetSchema, ValueSpec, Violation,
    ViolationKind, Violations, json, lower_output,
};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::json::any_json;
use crate::vectors;

fn schema(schema: &Json) -> SubsetSchema {
    SubsetSchema::assert(schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

/// Paths, kinds and match counts, as the vectors list them.
fn records(violations: &[Violation]) -> Json {
    let record = |violation: &Violation| {
        Object::builder()
            .with("path", violation.path())
            .with("kind", violation.kind().as_str())
            .with_some("matched", violation.matched())
            .build()
    };
    Json::Array(violations.iter().map(record).collect())
}

/// The violations of a value as text, one line each.
fn check(schema_text: &Json, value: &Json) -> String {
    schema(schema_text).validate(value, "").to_string()
}

#[test]
fn values_are_judged_as_the_vectors_say() {
    let mut never_reach_the_validator = 0;
    for vector in &vectors::load("json-schema.json") {
        let id = vectors::text(vector, "id");
        let value = match vector.get("value_text").and_then(Json::as_str) {
            Some(text) => match Json::parse(text) {
                Ok(value) => value,
                // What is not lossless is refused as a whole where it is read, so no node sees it.
                Err(error) => {
                    assert_eq!(
                        (error.kind(), vector["valid"].as_bool()),
                        (ParseErrorKind::NotLossless, Some(false)),
                        "{id}"
                    );
                    never_reach_the_validator += 1;
                    continue;
                }
            },
            None => vector["value"].clone(),
        };
        let schema = schema(&vectors::schema(vector).unwrap());
        let violations = schema.validate(&value, vector["root"].as_str().unwrap_or("value"));
        assert_eq!(records(&violations), vector["violations"], "{id}");
        assert_eq!(Some(schema.is_valid(&value)), vector["valid"].as_bool(), "{id}");
    }
    assert_eq!(never_reach_the_validator, 15);
}

#[test]
fn schemas_are_accepted_or_refused_as_the_vectors_say() {
    let mut never_reach_the_assertion = 0;
    for vector in &vectors::load("unsupported-schemas.json") {
        let id = vectors::text(vector, "id");
        if let Some(text) = vector.get("schema_text").and_then(Json::as_str)
            && let Err(error) = Json::parse(text)
        {
            assert_eq!(
                (error.kind(), vector["accepted"].as_bool()),
                (ParseErrorKind::NotLossless, Some(false)),
                "{id}"
            );
            never_reach_the_assertion += 1;
            continue;
        }
        let schema = vectors::schema(vector).unwrap();
        let object_root = vector["object_root"].as_bool() == Some(true);
        let outcome = if object_root {
            SubsetSchema::assert_object_root(&schema)
        } else {
            SubsetSchema::assert(&schema)
        };
        let violations =
            outcome.as_ref().map_or_else(|error| records(error.violations()), |_| json!([]));
        assert_eq!(violations, vector["violations"], "{id}");
        assert_eq!(Some(outcome.is_ok()), vector["accepted"].as_bool(), "{id}");
        if let Ok(asserted) = outcome {
            assert_eq!(*asserted.as_json(), schema, "{id}");
        }
    }
    assert_eq!(never_reach_the_assertion, 4);
}

fn assert_digest(expected: &Json, path: &str, id: &str) {
    if expected.is_null() {
        return;
    }
    let digest = Sha256::digest(path.as_bytes());
    let digest = digest.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    assert_eq!(*expected, json!({ "bytes": path.len(), "sha256": digest }), "{id}");
}

fn nested_value(nest: &Json) -> Json {
    let depth = nest["depth"].as_u64().unwrap();
    (0..depth).fold(nest["leaf"].clone(), |inner, _| match vectors::text(nest, "wrap") {
        "array" => json!([inner]),
        "object" => json!({ "k": inner }),
        _ => json!([{ "k": inner }]),
    })
}

#[test]
fn depth_and_width_are_no_limit() {
    let mut checked = 0;
    for vector in &vectors::load("deep.json") {
        let id = vectors::text(vector, "id");
        let count = vector["violation_count"].as_u64();
        let deep =
            || vector.get("schema_nest").map_or_else(|| vector["schema"].clone(), vectors::nested);
        match vectors::text(vector, "op") {
            "assert" | "assert_bad" => {
                let outcome = SubsetSchema::assert(&deep());
                assert_eq!(Some(outcome.is_ok()), vector["accepted"].as_bool(), "{id}");
                if let Err(error) = outcome {
                    assert_eq!(Some(error.violations().len() as u64), count, "{id}");
                    assert_digest(&vector["first_path"], &error.violations()[0].path(), id);
                }
            }
            "validate" => {
                let value =
                    vector.get("value_nest").map_or_else(|| vector["value"].clone(), nested_value);
                let violations = schema(&deep()).validate(&value, "value");
                assert_eq!(Some(violations.len() as u64), count, "{id}");
                if let Some(first) = violations.first() {
                    assert_eq!(Some(first.kind().as_str()), vector["first_kind"].as_str(), "{id}");
                    assert_digest(&vector["first_path"], &first.path(), id);
                }
            }
            "wide_required" => wide_required(vector, count, id),
            "wide_array" => {
                let length = usize::try_from(vector["count"].as_u64().unwrap()).unwrap();
                let value = Json::from(vec!["x"; length]);
                let violations =
                    schema(&json!({ "type": "array", "items": { "type": "integer" } }))
                        .validate(&value, "value");
                assert_eq!(Some(violations.len() as u64), count, "{id}");
                assert_eq!(
                    violations.last().map(Violation::path).as_deref(),
                    vector["last_path"].as_str(),
                    "{id}"
                );
            }
            _ => continue,
        }
        checked += 1;
    }
    assert_eq!(checked, 10);
}

fn wide_required(vector: &Json, count: Option<u64>, id: &str) {
    let names: Vec<String> =
        (0..vector["count"].as_u64().unwrap()).map(|number| format!("p{number}")).collect();
    let properties: Object =
        names.iter().map(|name| (name.as_str(), json!({ "type": "string" }))).collect();
    let wide = json!({
        "type": "object", "additionalProperties": false, "properties": properties, "required": names.clone(),
    });
    let missing = schema(&wide).validate(&json!({}), "value");
    assert_eq!(Some(missing.len() as u64), count, "{id}");
    assert_eq!(
        missing.last().map(Violation::path).as_deref(),
        vector["last_path"].as_str(),
        "{id}"
    );

    let full = Json::Object(names.iter().map(|name| (name.as_str(), 1)).collect());
    let closed = schema(&json!({ "type": "object", "additionalProperties": false }));
    assert_eq!(
        Some(closed.validate(&full, "value").len() as u64),
        vector["undeclared_count"].as_u64(),
        "{id}"
    );
}

#[test]
fn paths_are_plain_text_and_steps_are_kept_beside_them() {
    // JSCHEMA-20
    // JSCHEMA-21
    // JSCHEMA-22
    let rows = json!({
        "type": "object",
        "properties": { "a.b": { "type": "array", "items": { "type": "object", "properties": { "": { "type": "null" } } } } },
    });
    let value = json!({ "a.b": [{}, { "": 1 }] });
    let violations = schema(&rows).validate(&value, "input");
    assert_eq!(violations[0].path(), "input.a.b[1].");
    assert_eq!(*violations[0].steps(), JsonPath::root().name("a.b").index(1).name(""));
    assert_eq!(value.at(violations[0].steps()), Some(&json!(1)));
}

#[test]
fn an_empty_root_label_speaks_of_arguments() {
    // JSCHEMA-25
    let parameters = schema(
        &json!({ "type": "object", "properties": { "n": { "type": "array", "items": { "type": "null" } } } }),
    );
    assert_eq!(parameters.validate(&json!(7), "")[0].path(), "arguments");
    assert_eq!(parameters.validate(&json!({ "n": [1] }), "")[0].path(), "n[0]");
    assert_eq!(
        schema(&json!({ "type": "array", "items": { "type": "null" } })).validate(&json!([1]), "")
            [0]
        .path(),
        "[0]"
    );
}

#[test]
fn a_violation_is_a_record_with_stable_names() {
    // JSCHEMA-39
    let union = schema(
        &json!({ "oneOf": [{ "type": "integer" }, { "type": "number" }, { "type": "string" }] }),
    );
    let violations = union.validate(&json!(1), "value");
    assert_eq!(
        violations.to_json(),
        json!([{
            "path": "value", "kind": "one_of", "matched": 2,
            "message": "expected exactly one of: an integer, or a number, or a string; but 1 fits 2 of them, so make it fit one only",
        }])
    );
}

#[test]
fn every_branch_counts_even_after_a_match() {
    // JSCHEMA-53
    let object = |kind: &str| json!({ "type": "object", "properties": { "k": { "type": kind } }, "required": ["k"] });
    let union = schema(
        &json!({ "oneOf": [object("integer"), object("number"), object("string"), object("integer"), {}] }),
    );
    let matched =
        |value: &Json| union.validate(value, "value").first().and_then(Violation::matched);
    assert_eq!(matched(&json!({ "k": 1 })), Some(4));
    assert_eq!(matched(&json!({ "k": 1.5 })), Some(2));
    assert_eq!(matched(&json!({ "k": null })), None);
    assert_eq!(matched(&json!("x")), None);
}

#[test]
fn unions_inside_unions_are_judged_without_recursion() {
    // JSCHEMA-54
    let mut union = json!({ "type": "integer" });
    let mut value = json!(1);
    for _ in 0..3_000 {
        union = json!({ "oneOf": [
            { "type": "array", "items": { "type": "object" } },
            { "type": "array", "items": union },
            { "type": "object", "additionalProperties": false },
        ] });
        value = json!([value]);
    }
    let union = schema(&union);
    assert!(union.is_valid(&value));
    assert!(!union.is_valid(&json!([value])));
}

#[test]
fn the_work_stays_in_proportion_to_what_is_there() {
    // JSCHEMA-55
    let names: Vec<String> = (0..20_000).map(|number| format!("optional{number}")).collect();
    let properties: Object =
        names.iter().map(|name| (name.as_str(), json!({ "type": "string" }))).collect();
    let rows = schema(
        &json!({ "type": "array", "items": { "type": "object", "properties": properties } }),
    );
    let mut value = vec![json!({ "optional7": "x" }); 100_000];
    assert!(rows.is_valid(&value.clone().into()));
    value[99_999] = json!({ "optional19999": 1, "optional3": 2 });
    let paths: Vec<String> =
        rows.validate(&value.into(), "value").iter().map(Violation::path).collect();
    assert_eq!(paths, ["value[99999].optional3", "value[99999].optional19999"]);
}

#[test]
fn a_schema_error_has_a_code_and_all_violations() {
    // JSCHEMA-56
    let error = SubsetSchema::assert(
        &json!({ "type": "object", "properties": { "a": { "type": "odd" }, "b": true } }),
    )
    .unwrap_err();
    assert_eq!(SchemaError::CODE, "UNSUPPORTED_SCHEMA");
    assert_eq!(
        error.violations().iter().map(Violation::kind).collect::<Vec<_>>(),
        [ViolationKind::BadType, ViolationKind::NotSchema]
    );
    insta::assert_snapshot!(error);
}

#[test]
fn authors_read_what_is_wrong_with_a_schema_and_what_to_do() {
    insta::assert_snapshot!(
        SubsetSchema::assert(&json!({
            "type": "object",
            "propertys": {},
            "minProperties": 1,
            "x-order": 1,
            "title": 1,
            "properties": {
                "any_of": { "anyOf": [] },
                "reference": { "$ref": "#/$defs/A" },
                "nullable": { "type": ["string", "null"] },
                "both": { "type": "string", "oneOf": [] },
                "one": { "oneOf": [{}], "const": 1 },
                "bare": { "enum": ["a"] },
                "misplaced": { "type": "string", "items": {} },
                "literals": { "type": "integer", "enum": [1, 2.5], "const": "x" },
                "constant": { "type": "string", "enum": ["a"], "const": "b" },
                "members": { "type": "object", "properties": [], "required": [1], "additionalProperties": {} },
                "typo": { "type": "object", "properties": { "file_path": {} }, "required": ["filePath"] },
            },
            "required": "all",
        }))
        .unwrap_err()
    );
    insta::assert_snapshot!(SubsetSchema::assert_object_root(&json!({})).unwrap_err());
}

#[test]
fn models_read_what_was_expected_what_came_and_the_way_out() {
    let parameters = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "file_path": { "type": "string" },
            "limit": { "type": "integer" },
            "recursive": { "type": "boolean" },
            "mode": { "type": "string", "enum": ["exact", "prefix", "regex"] },
            "version": { "type": "integer", "const": 2 },
            "tags": { "type": "array", "items": { "type": "string" } },
            "rows": { "type": "array", "items": { "type": "object" } },
            "filter": { "type": "object", "properties": { "size": { "type": "number" } }, "required": ["size"] },
            "target": { "oneOf": [
                { "type": "object", "properties": { "kind": { "type": "string", "const": "file" } }, "required": ["kind"] },
                { "type": "object", "properties": { "url": { "type": "string" } }, "required": ["url"] },
                { "type": "array", "items": { "type": "integer" } },
                { "type": "null" },
            ] },
        },
        "required": ["file_path", "mode"],
    });
    let report = |value: Json| check(&parameters, &value);
    insta::assert_snapshot!(report(json!({
        "path": "a", "limt": 3, "limit": "20", "recursive": "true", "mode": "regexp", "version": 1,
        "tags": "bug", "rows": "[{\"a\":1}]", "filter": "{\"size\":1}", "target": { "kind": "dir" }, "colour": "red",
    })));
    insta::assert_snapshot!(report(json!({
        "file_path": 7, "limit": 2.5, "recursive": 1, "mode": ["exact"], "version": "2", "tags": ["a", 1, null],
        "rows": { "a": 1 }, "filter": { "siz": 1 }, "target": { "kind": "file", "url": "u" },
    })));
    insta::assert_snapshot!(report(json!([])), @"arguments: expected an object with `file_path`, `mode`, got an empty list");
}

#[test]
fn a_long_report_ends_with_a_count() {
    let list = schema(&json!({ "type": "array", "items": { "type": "null" } }));
    let text = list.validate(&json!(vec![1; 100]), "value").to_string();
    assert_eq!(text.lines().count(), 33);
    assert_eq!(text.lines().last(), Some("… and 68 more"));
    assert_eq!(Violations::default().to_string(), "");
}

#[test]
fn long_values_and_names_are_cut_in_messages() {
    let long = "x".repeat(1_000);
    let text = check(
        &json!({ "type": "object", "additionalProperties": false }),
        &json!({ (long.clone()): 1 }),
    );
    assert_eq!(text, format!("{long}: unknown member; this object has no members"));
    let text = check(&json!({ "type": "integer" }), &json!(long));
    assert_eq!(
        text,
        format!("arguments: expected an integer, got the string \"{}…\"", "x".repeat(60))
    );
}

/// A schema of the subset over few names and literals, so that values fit about as often as not.
fn any_schema() -> impl Strategy<Value = Json> {
    let literals = |members: &'static [&'static str]| {
        prop::sample::subsequence(members, 1..=members.len()).prop_map(|members| {
            members.iter().map(|text| Json::parse(text).unwrap()).collect::<Vec<_>>()
        })
    };
    let leaf = prop_oneof![
        3 => Just(json!({})),
        6 => prop::sample::select(&["string", "number", "integer", "boolean", "null", "array", "object"][..])
            .prop_map(|kind| json!({ "type": kind })),
        1 => literals(&["\"a\"", "\"b\"", "\"\""]).prop_map(|members| json!({ "type": "string", "enum": members })),
        1 => literals(&["0", "1", "2.0"]).prop_map(|members| json!({ "type": "integer", "enum": members.clone(), "const": members[0].clone() })),
        1 => literals(&["0.5", "1", "1e2"]).prop_map(|members| json!({ "type": "number", "const": members[0].clone() })),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let properties =
            prop::collection::btree_map("[ab]|__proto__", (inner.clone(), any::<bool>()), 0..3);
        prop_oneof![
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            prop::collection::vec(inner, 2..4).prop_map(|branches| json!({ "oneOf": branches })),
            (properties, prop::option::of(any::<bool>())).prop_map(|(properties, open)| {
                let required = properties.iter().filter(|(_, (_, required))| *required);
                let required: Vec<&str> = required.map(|(name, _)| name.as_str()).collect();
                Object::builder()
                    .with("type", "object")
                    .with_some("additionalProperties", open)
                    .with("required", required)
                    .with(
                        "properties",
                        properties
                            .iter()
                            .map(|(name, (schema, _))| (name.as_str(), schema))
                            .collect::<Object>(),
                    )
                    .build()
                    .into()
            }),
        ]
    })
}

fn any_value() -> impl Strategy<Value = Json> {
    let leaf = prop::sample::select(
        &[
            "null", "true", "false", "0", "1", "2", "0.5", "100", "\"a\"", "\"b\"", "\"\"", "[]",
            "{}",
        ][..],
    );
    leaf.prop_map(|text| Json::parse(text).unwrap()).prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
            prop::collection::btree_map("[abc]|__proto__", inner, 0..3).prop_map(|members| members
                .iter()
                .map(|(name, value)| (name.as_str(), value))
                .collect::<Object>()
                .into()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn verdicts_agree_with_a_validator_of_the_full_draft(schema in any_schema(), values in prop::collection::vec(any_value(), 8)) {
        // JSCHEMA-40
        let ours = SubsetSchema::assert(&schema).unwrap();
        let theirs = jsonschema::draft202012::new(&schema.to_serde().unwrap()).unwrap();
        for value in values {
            let violations = ours.validate(&value, "value");
            prop_assert_eq!(ours.is_valid(&value), violations.is_empty());
            prop_assert_eq!(ours.is_valid(&value), theirs.is_valid(&value.to_serde().unwrap()), "{} {}", schema, value);
        }
    }

    #[test]
    fn asserting_anything_ends_with_a_schema_or_a_list(schema in any_json()) {
        if let Err(error) = SubsetSchema::assert(&schema) {
            prop_assert!(!error.violations().is_empty());
        }
    }
}

#[test]
fn only_asserted_and_compiled_schemas_validate() {
    // JSCHEMA-59
    // The type has no public constructor but these, and each refuses what the subset does not have.
    let outside = json!({ "type": "object", "properties": {}, "patternProperties": {} });
    assert!(SubsetSchema::assert(&outside).is_err());
    assert!(SubsetSchema::assert_object_root(&outside).is_err());
    assert!(ValueSpec::from_json(&outside).is_err());
    assert!(lower_output(&json!({ "type": "string", "contentEncoding": "base64" })).is_err());
}

#[test]
fn keywords_are_told_apart_by_case() {
    // JSCHEMA-2
    let error = SubsetSchema::assert(&json!({ "Type": "string", "ONEOF": [] })).unwrap_err();
    assert_eq!(
        records(error.violations()),
        json!([{ "path": "schema.Type", "kind": "unknown_keyword" }, { "path": "schema.ONEOF", "kind": "unknown_keyword" }])
    );
    let all = json!({
        "type": "object", "properties": { "a": { "type": "array", "items": { "type": "string", "enum": ["x"], "const": "x" } } },
        "required": ["a"], "additionalProperties": true,
    });
    assert!(SubsetSchema::assert(&json!({ "oneOf": [all, { "type": "null" }] })).is_ok());
}
