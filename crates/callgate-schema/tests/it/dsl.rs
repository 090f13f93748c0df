//! DSL: how authors say what values are, and what it compiles to.

use callgate_schema::{
    Json, JsonPath, Object, ParamSpec, SchemaError, SubsetSchema, ValueSpec, ViolationKind, json,
};
use proptest::prelude::*;

use crate::json::any_json;
use crate::vectors;

fn compile(mode: &str, spec: &Json) -> Result<SubsetSchema, SchemaError> {
    match mode {
        "parameters" => ParamSpec::from_json(spec)?.compile(),
        _ => ValueSpec::from_json(spec)?.compile(),
    }
}

fn records(error: &SchemaError) -> Json {
    let record = |violation: &callgate_schema::Violation| json!({ "path": violation.path(), "kind": violation.kind().as_str() });
    Json::Array(error.violations().iter().map(record).collect())
}

#[test]
fn specs_compile_as_the_vectors_say() {
    for vector in &vectors::load("value-spec.json") {
        let id = vectors::text(vector, "id");
        match compile(vectors::text(vector, "mode"), &vector["spec"]) {
            Ok(schema) => {
                // DSL-16
                assert_eq!(Some(schema.as_json()), vector.get("schema"), "{id}");
                assert_eq!(
                    schema.as_json().to_string(),
                    vector["schema"].to_string(),
                    "{id}: order of members"
                );
            }
            Err(error) => assert_eq!(records(&error), vector["violations"], "{id}"),
        }
    }
}

#[test]
fn deep_specs_compile() {
    // DSL-18
    let mut compiled = 0;
    for vector in &vectors::load("deep.json") {
        if vectors::text(vector, "op") == "compile" {
            let spec = vectors::nested(&vector["spec_nest"]);
            let schema = ValueSpec::from_json(&spec).unwrap().compile().unwrap();
            assert_eq!(*schema.as_json(), vectors::nested(&vector["same_as_schema_nest"]));
            compiled += 1;
        }
    }
    assert_eq!(compiled, 2);

    let mut spec = json!({ "type": "json" });
    for _ in 0..5_000 {
        spec = json!({
            "type": "object", "additionalProperties": false, "properties": { "k": spec.as_object().unwrap().with("required", true) },
        });
    }
    let schema = ValueSpec::from_json(&spec).unwrap().compile().unwrap();
    assert!(!schema.is_valid(&json!({ "k": { "k": {} } })));
}

#[test]
fn the_first_phase_stops_at_the_first_fault_and_the_second_reports_all() {
    // DSL-15
    let spec = json!({ "a": { "type": "integer", "enum": ["x"] }, "b": { "type": "odd" }, "c": 3 });
    assert_eq!(
        records(&compile("parameters", &spec).unwrap_err()),
        json!([{ "path": "parameters.b.type", "kind": "bad_type" }])
    );
    let spec = json!({ "a": { "type": "integer", "enum": ["x"] }, "b": { "oneOf": [{ "type": "json" }], "title": 1 } });
    assert_eq!(
        records(&compile("parameters", &spec).unwrap_err()),
        json!([
            { "path": "schema.properties.a.enum", "kind": "bad_enum" },
            { "path": "schema.properties.b.title", "kind": "bad_annotation" },
            { "path": "schema.properties.b.oneOf", "kind": "one_of_arity" },
        ])
    );
    let spec = json!({ "type": "string", "oneOf": 1, "enum": 2, "minLength": 3 });
    assert_eq!(
        records(&compile("value", &spec).unwrap_err()),
        json!([{ "path": "schema.minLength", "kind": "unknown_key" }])
    );
}

#[test]
fn the_builder_and_the_json_form_compile_to_the_same() {
    // DSL-33
    let built = ParamSpec::new()
        .required(
            "path",
            ValueSpec::string().description("where").title("Path").examples(["a", "b"]),
        )
        .optional("limit", ValueSpec::integer().default_value(20))
        .optional("mode", ValueSpec::string().values(["exact", "prefix"]).constant("exact"))
        .required(
            "filter",
            ValueSpec::object()
                .closed()
                .required("min", ValueSpec::number())
                .optional("max", ValueSpec::number()),
        )
        .optional("free", ValueSpec::object().open())
        .optional("tags", ValueSpec::array_of(ValueSpec::boolean()).description("flags"))
        .optional("list", ValueSpec::array())
        .optional("raw", ValueSpec::json().title("raw"))
        .optional(
            "target",
            ValueSpec::one_of(ValueSpec::string(), ValueSpec::integer())
                .or(ValueSpec::null())
                .description("who"),
        );
    let read = ParamSpec::from_json(&json!({
        "path": { "type": "string", "required": true, "description": "where", "title": "Path", "examples": ["a", "b"] },
        "limit": { "type": "integer", "default": 20 },
        "mode": { "type": "string", "enum": ["exact", "prefix"], "const": "exact" },
        "filter": {
            "type": "object", "required": true, "additionalProperties": false,
            "properties": { "min": { "type": "number", "required": true }, "max": { "type": "number" } },
        },
        "free": { "type": "object", "additionalProperties": true },
        "tags": { "type": "array", "items": { "type": "boolean" }, "description": "flags" },
        "list": { "type": "array" },
        "raw": { "type": "json", "title": "raw" },
        "target": { "oneOf": [{ "type": "string" }, { "type": "integer" }, { "type": "null" }], "description": "who" },
    }))
    .unwrap();
    assert_eq!(built, read);
    insta::assert_snapshot!(built.compile().unwrap().as_json().pretty());
}

#[test]
fn declaring_a_member_again_replaces_it() {
    let spec = ValueSpec::object()
        .closed()
        .required("a", ValueSpec::string())
        .required("b", ValueSpec::string())
        .optional("a", ValueSpec::integer());
    insta::assert_snapshot!(
        spec.compile().unwrap().as_json(),
        @r#"{"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["b"]}"#
    );
}

#[test]
fn literals_of_the_wrong_type_are_refused_however_they_are_written() {
    // DSL-4
    let error = ValueSpec::integer().values(["x"]).compile().unwrap_err();
    assert_eq!(records(&error), json!([{ "path": "schema.enum", "kind": "bad_enum" }]));
    let error = ValueSpec::string().values(Vec::<Json>::new()).constant(1).compile().unwrap_err();
    assert_eq!(
        records(&error),
        json!([{ "path": "schema.enum", "kind": "bad_enum" }, { "path": "schema.const", "kind": "bad_const" }])
    );
}

#[test]
fn authors_read_what_is_wrong_with_a_spec_and_what_to_do() {
    let specs = [
        json!({ "a": 3 }),
        json!({ "a": { "type": "text" } }),
        json!({ "a": { "type": "string", "required": false } }),
        json!({ "a": { "type": "string", "minLength": 1 } }),
        json!({ "a": { "type": "object", "propertys": {} } }),
        json!({ "a": { "type": "object" } }),
        json!({ "a": { "type": "object", "additionalProperties": true, "properties": [] } }),
        json!({ "a": { "type": "string", "enum": "x" } }),
        json!({ "a": { "oneOf": {} } }),
        json!({ "a": { "oneOf": [], "type": "string" } }),
        json!([]),
    ];
    let report: Vec<String> =
        specs.iter().map(|spec| compile("parameters", spec).unwrap_err().to_string()).collect();
    insta::assert_snapshot!(report.join("\n"));
}

/// A spec as JSON and a value it accepts.
fn spec_and_value(depth: u32) -> BoxedStrategy<(Json, Json)> {
    let scalar = prop_oneof![
        "[a-z]{0,3}".prop_map(|text| (json!({ "type": "string" }), text.into())),
        any::<i32>().prop_map(|number| (json!({ "type": "integer" }), number.into())),
        (1..9_i32, any::<bool>()).prop_map(|(number, half)| {
            (
                json!({ "type": "number" }),
                if half { Json::try_from(f64::from(number) / 2.0).unwrap() } else { number.into() },
            )
        }),
        any::<bool>().prop_map(|value| (json!({ "type": "boolean", "default": 1 }), value.into())),
        Just((json!({ "type": "null" }), Json::Null)),
        Just((json!({ "type": "string", "enum": ["a", "b"], "const": "b" }), json!("b"))),
        any_json().prop_map(|value| (json!({ "type": "json" }), value)),
    ];
    scalar
        .prop_recursive(depth, 30, 4, |inner| {
            let member = ("[a-d]{0,2}", inner.clone(), any::<bool>(), any::<bool>());
            prop_oneof![
                (inner.clone(), 0..3_usize).prop_map(|((spec, value), times)| {
                    (json!({ "type": "array", "items": spec }), vec![value; times].into())
                }),
                (prop::collection::vec(member, 0..4), any::<bool>()).prop_map(object_and_value),
                // Only one branch can hold: the other is a closed object with a member no value has.
                inner.prop_map(|(spec, value)| {
                    let never = json!({
                        "type": "object", "additionalProperties": false,
                        "properties": { "never": { "type": "null", "required": true } },
                    });
                    (json!({ "oneOf": [never, spec], "title": "union" }), value)
                }),
            ]
        })
        .boxed()
}

type Member = (String, (Json, Json), bool, bool);

fn object_and_value((members, open): (Vec<Member>, bool)) -> (Json, Json) {
    let (mut specs, mut values) = (Object::builder(), Object::builder());
    for (name, (spec, value), required, present) in members {
        if specs.get(&name).is_some() {
            continue;
        }
        let spec = spec.as_object().unwrap();
        specs.insert(
            name.as_str(),
            if required { spec.with("required", true) } else { spec.clone() },
        );
        if required || present {
            values.insert(name, value);
        }
    }
    let mut value = values.build();
    if open {
        value = value.with("undeclared member", 1);
    }
    (
        json!({ "type": "object", "additionalProperties": open, "properties": specs.build() }),
        value.into(),
    )
}

/// Every object node of a spec beside the compiled one.
fn each_object(spec: &Json, schema: &Json, check: &mut dyn FnMut(&Json, &Json)) {
    if let Some(items) = spec.get("items") {
        each_object(items, &schema["items"], check);
    }
    for (place, branch) in
        spec.get("oneOf").and_then(Json::as_array).into_iter().flatten().enumerate()
    {
        each_object(branch, &schema["oneOf"][place], check);
    }
    if let Some(properties) = spec.get("properties").and_then(Json::as_object) {
        check(spec, schema);
        for (name, member) in properties {
            each_object(member, &schema["properties"][&**name], check);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn well_formed_specs_compile_and_required_is_what_is_flagged((spec, _) in spec_and_value(3)) {
        // DSL-37
        // TEST-5
        let schema = ValueSpec::from_json(&spec).unwrap().compile().unwrap();
        each_object(&spec, schema.as_json(), &mut |spec, schema| {
            let flagged = spec["properties"].as_object().unwrap().iter().filter(|(_, member)| member["required"] == json!(true));
            let flagged: Vec<Json> = flagged.map(|(name, _)| name.into()).collect();
            assert_eq!(schema.get("required").cloned().unwrap_or(json!([])), Json::from(flagged));
        });
    }

    #[test]
    fn compiling_leaves_the_spec_alone_and_asserts_again((spec, _) in spec_and_value(3)) {
        // DSL-17
        let before = spec.to_string();
        let schema = ValueSpec::from_json(&spec).unwrap().compile().unwrap();
        prop_assert_eq!(spec.to_string(), before);
        prop_assert_eq!(SubsetSchema::assert(schema.as_json()), Ok(schema));
    }

    #[test]
    fn values_made_from_a_spec_validate((spec, value) in spec_and_value(3)) {
        // DSL-37
        let schema = ValueSpec::from_json(&spec).unwrap().compile().unwrap();
        let violations = schema.validate(&value, "value");
        prop_assert!(violations.is_empty(), "{}", violations);
    }

    #[test]
    fn removing_a_required_member_is_reported_at_its_path(
        members in prop::collection::vec(("[a-f]{1,2}", spec_and_value(2), any::<bool>(), any::<bool>()), 1..6),
        pick in any::<prop::sample::Index>(),
    ) {
        // DSL-37
        let (object, value) = object_and_value((members, true));
        let schema = ParamSpec::from_json(&object["properties"]).unwrap().compile().unwrap();
        prop_assert!(schema.is_valid(&value));
        let required = schema.as_json().get("required").and_then(Json::as_array).cloned().unwrap_or_default();
        if !required.is_empty() {
            let name = required[pick.index(required.len())].to_str().unwrap();
            let violations = schema.validate(&value.as_object().unwrap().without(&name).into(), "");
            prop_assert_eq!(violations.len(), 1);
            prop_assert_eq!(violations[0].kind(), ViolationKind::Required);
            prop_assert_eq!(violations[0].steps(), &JsonPath::root().name(name));
        }
    }

    #[test]
    fn arguments_that_are_no_object_never_validate((spec, _) in spec_and_value(2), value in any_json()) {
        // DSL-37
        prop_assume!(value.as_object().is_none());
        let schema = ParamSpec::from_json(&json!({ "p": spec })).unwrap().compile().unwrap();
        prop_assert!(!schema.validate(&value, "").is_empty());
    }

    #[test]
    fn validation_of_anything_ends_with_a_list((spec, _) in spec_and_value(3), value in any_json()) {
        // DSL-37
        // JSCHEMA-40
        let schema = ValueSpec::from_json(&spec).unwrap().compile().unwrap();
        let violations = schema.validate(&value, "value");
        prop_assert_eq!(violations.is_empty(), schema.is_valid(&value));
        for violation in &violations {
            prop_assert!(!violation.to_string().is_empty());
        }
    }
}
