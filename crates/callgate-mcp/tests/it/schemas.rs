//! Schemas of servers, enforced as they are written.

use std::time::{Duration, Instant};

use callgate::schema::JsonPath;
use callgate::{Json, json};
use callgate_mcp::ForeignSchema;

/// Path and keyword of each violation, in order.
fn faults(schema: &Json, value: &Json) -> Vec<(String, String)> {
    let schema = ForeignSchema::compile(schema).unwrap();
    let found = schema.validate(value);
    found
        .iter()
        .map(|fault| (fault.path().display("").to_string(), fault.keyword().to_owned()))
        .collect()
}

fn messages(schema: &Json, value: &Json) -> Vec<String> {
    let schema = ForeignSchema::compile(schema).unwrap();
    schema.validate(value).iter().map(|fault| fault.message().to_owned()).collect()
}

// FOREIGN-10
#[test]
fn the_vectors_are_accepted_and_refused_as_they_say() {
    let vectors = Json::parse(include_str!("../vectors/foreign-args.json")).unwrap();
    let vectors = vectors.as_array().unwrap();
    assert!(vectors.len() > 50);
    for vector in vectors {
        let schema = ForeignSchema::compile(&vector["schema"]).unwrap();
        let is_valid = schema.validate(&vector["args"]).is_empty();
        assert_eq!(json!(is_valid), vector["valid"], "{}", vector["id"]);
    }
}

// FOREIGN-17
#[test]
fn violations_are_ordered_by_path_and_one_each() {
    let schema = json!({
        "type": "object",
        "properties": {
            "b": { "type": "string", "minLength": 3, "pattern": "^x" },
            "a": { "type": "array", "items": { "type": "integer", "maximum": 9 } },
        },
        "required": ["missing", "gone"],
        "additionalProperties": false,
    });
    let value = json!({ "b": "no", "a": [1, 10, "x"], "extra": 1, "more": { "n": 2 } });
    let fault = |path: &str, keyword: &str| (path.to_owned(), keyword.to_owned());
    assert_eq!(
        faults(&schema, &value),
        [
            fault("a[1]", "maximum"),
            fault("a[2]", "type"),
            fault("b", "minLength"),
            fault("b", "pattern"),
            fault("extra", "additionalProperties"),
            fault("gone", "required"),
            fault("missing", "required"),
            fault("more", "additionalProperties"),
        ]
    );
}

#[test]
fn messages_say_what_was_expected_and_what_came() {
    let cases = [
        (json!({ "type": "string" }), json!(5), "expected a string, got the number 5"),
        (
            json!({ "type": ["integer", "null"] }),
            json!("5"),
            "expected null or an integer, got the string \"5\"",
        ),
        (json!({ "enum": ["a", 1] }), json!("b"), "expected one of \"a\", 1, got the string \"b\""),
        (json!({ "const": { "k": 1 } }), json!([]), "expected {\"k\":1}, got a list"),
        (json!({ "minimum": 2.5 }), json!(2), "must be at least 2.5, got the number 2"),
        (json!({ "exclusiveMaximum": 3 }), json!(3), "must be below 3, got the number 3"),
        (json!({ "multipleOf": 2 }), json!(3), "must be a multiple of 2, got the number 3"),
        (
            json!({ "minLength": 3 }),
            json!("ab"),
            "must have at least 3 characters, got the string \"ab\"",
        ),
        (json!({ "maxItems": 1 }), json!([1, 2]), "must have at most 1 items, got a list"),
        (
            json!({ "uniqueItems": true }),
            json!([1, 1.0]),
            "must not have the same item twice, got a list",
        ),
        (json!({ "minProperties": 1 }), json!({}), "must have at least 1 members, got an object"),
        (
            json!({ "pattern": "^a" }),
            json!("b"),
            "must match the pattern `^a`, got the string \"b\"",
        ),
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "object", "required": ["k"] }] }),
            json!({}),
            "fits none of the 2 alternatives, got an object; nearest alternative: k: missing",
        ),
        (
            json!({ "oneOf": [{}, {}] }),
            json!(1),
            "fits more than one of the alternatives, must fit exactly one, got the number 1",
        ),
        (json!({ "not": {} }), json!(true), "is explicitly excluded, got true"),
        (
            json!({ "required": ["name"] }),
            json!({ "Name": 1 }),
            "missing; `Name` was sent, rename it if it was meant",
        ),
        (
            json!({ "properties": {}, "additionalProperties": false }),
            json!({ "x": "y" }),
            "there is no such member, got the string \"y\"; leave it out",
        ),
        (json!(false), json!(null), "nothing is accepted here, got null"),
    ];
    for (schema, value, message) in cases {
        assert_eq!(messages(&schema, &value), [message], "{schema}");
    }
}

#[test]
fn a_message_repeats_little_of_a_large_value() {
    let large = json!("x".repeat(5_000_000));
    let start = Instant::now();
    let found = messages(&json!({ "type": "integer" }), &large);
    assert_eq!(found, [format!("expected an integer, got the string \"{}…", "x".repeat(59))]);
    assert!(start.elapsed() < Duration::from_secs(2));
}

// FOREIGN-12
#[test]
fn the_draft_is_the_one_that_is_named_else_the_newest() {
    let tuple = |draft: &str| json!({ "$schema": draft, "items": [{ "type": "string" }], "additionalItems": false });
    for draft in [
        "http://json-schema.org/draft-04/schema#",
        "https://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema#",
    ] {
        assert_eq!(faults(&tuple(draft), &json!(["a", "b"])).len(), 1, "{draft}");
    }
    let newest = json!({ "$schema": "https://example.com/mine", "prefixItems": [{ "type": "string" }], "items": false });
    assert_eq!(faults(&newest, &json!(["a", "b"])).len(), 1);
    assert_eq!(faults(&newest, &json!([1])).len(), 1);
}

// FOREIGN-13
#[test]
fn nothing_is_fetched_and_references_that_lead_nowhere_are_open() {
    let schema = json!({
        "$defs": { "Count": { "type": "integer" } },
        "properties": {
            "remote": { "$ref": "https://example.com/schema.json" },
            "local": { "$ref": "#/$defs/Gone" },
            "itself": { "$ref": "#/properties/itself" },
            "count": { "$ref": "#/$defs/Count" },
        },
    });
    let compiled = ForeignSchema::compile(&schema).unwrap();
    assert_eq!(
        compiled.open_references(),
        ["https://example.com/schema.json", "#/$defs/Gone", "#/properties/itself"]
    );
    let value = json!({ "remote": 1, "local": [], "itself": "x", "count": "one" });
    assert_eq!(faults(&schema, &value), [("count".to_owned(), "type".to_owned())]);
}

#[test]
fn references_are_followed_escaped_nested_and_in_circles() {
    let schema = json!({
        "$defs": {
            "a/b~c": { "type": "integer" },
            "Tree": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "$ref": "#/$defs/Tree" } }] },
        },
        "properties": {
            "escaped": { "$ref": "#/$defs/a~1b~0c" },
            "filter": { "anyOf": [{ "type": "boolean" }, { "type": "null" }] },
            "same": { "$ref": "#/properties/filter/anyOf/0" },
            "tree": { "$ref": "#/$defs/Tree" },
        },
    });
    let fine = json!({ "escaped": 1, "same": true, "tree": ["a", ["b", ["c"]]] });
    assert_eq!(faults(&schema, &fine), []);
    let wrong = json!({ "escaped": "1", "same": null, "tree": ["a", ["b", [3]]] });
    let paths: Vec<String> = faults(&schema, &wrong).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["escaped", "same", "tree"]);
}

// FOREIGN-15
#[test]
fn annotations_decide_nothing() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "string",
        "format": "email",
        "contentEncoding": "base64",
        "contentMediaType": "application/json",
        "default": "x",
        "x-unknown": { "anything": [] },
    });
    assert_eq!(faults(&schema, &json!("no mail, no base64")), []);
}

// FOREIGN-16
#[test]
fn a_pattern_that_would_take_for_ever_counts_as_broken() {
    let schema = json!({ "pattern": "^(?=(a+)+$)(a|aa)+\\1$" });
    let start = Instant::now();
    let found = faults(&schema, &json!("a".repeat(5_000) + "!"));
    assert_eq!(found, [("arguments".to_owned(), "pattern".to_owned())]);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

// FOREIGN-19
#[test]
fn schemas_beyond_the_limits_are_refused_and_not_looked_into() {
    let wide: Json = (0..25_000)
        .map(|number| (format!("p{number}"), json!({})))
        .collect::<callgate::Object>()
        .into();
    let mut deep = json!({});
    for _ in 0..200 {
        deep = json!({ "items": deep });
    }
    let cases = [
        (json!({ "properties": wide }), "the schema has more than 20000 values"),
        (deep, "the schema nests deeper than 128 levels"),
        (
            json!({ "description": "x".repeat(2_000_000) }),
            "the schema is longer than 1048576 bytes",
        ),
    ];
    for (schema, reason) in cases {
        assert_eq!(ForeignSchema::compile(&schema).unwrap_err().to_string(), reason);
    }
}

#[test]
fn a_value_as_deep_as_can_come_is_checked_to_its_end() {
    let schema = json!({ "type": ["array", "integer"], "items": { "$ref": "#" } });
    let nested = |leaf: Json| (0..4_990).fold(leaf, |inner, _| Json::from(vec![inner]));
    assert_eq!(faults(&schema, &nested(json!(1))), []);
    let compiled = ForeignSchema::compile(&schema).unwrap();
    let found = compiled.validate(&nested(json!("x")));
    assert_eq!(found.len(), 1);
    let path = (0..4_990).fold(JsonPath::root(), |path, _| path.index(0));
    assert_eq!(found[0].path(), &path);
}

#[test]
fn references_that_branch_again_and_again_cost_no_explosion() {
    let mut definitions = callgate::Object::builder();
    for level in 0..60 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        definitions.insert(format!("d{level}"), json!({ "anyOf": [next.clone(), next] }));
    }
    definitions.insert("d60", json!({ "type": "integer" }));
    let schema = json!({ "$defs": definitions.build(), "$ref": "#/$defs/d0" });
    let start = Instant::now();
    let compiled = ForeignSchema::compile(&schema).unwrap();
    assert!(compiled.validate(&json!(1)).is_empty());
    assert!(!compiled.validate(&json!("x")).is_empty());
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}
