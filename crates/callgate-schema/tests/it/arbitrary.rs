//! Schemas made up by proptest.

use callgate_schema::{Json, Object, json};
use proptest::collection::vec;
use proptest::prelude::*;

/// Schemas, mostly of the subset; about one in three has something in it that is not.
pub(crate) fn schema() -> impl Strategy<Value = Json> {
    node().prop_recursive(6, 40, 4, |inner| {
        prop_oneof![
            2 => (vec((name(), described(inner.clone())), 0..4), any::<(bool, bool, bool)>()).prop_map(object),
            1 => inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            1 => vec(inner.clone(), 1..4).prop_map(|branches| json!({ "oneOf": branches })),
            1 => outside(inner),
        ]
    })
}

/// Anything made of the words of schemas.
pub(crate) fn rubble() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        text().prop_map(Json::from),
        any::<i8>().prop_map(Json::from),
        any::<bool>().prop_map(Json::from),
        Just(Json::Null)
    ];
    leaf.prop_recursive(6, 60, 5, |inner| {
        let members = vec((prop_oneof![keyword(), name()], inner.clone()), 0..5);
        prop_oneof![
            vec(inner, 0..4).prop_map(Json::from),
            members.prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

fn node() -> impl Strategy<Value = Json> {
    let scalar = prop::sample::select(vec![
        "string", "number", "integer", "boolean", "null", "object", "array",
    ]);
    let literal = prop_oneof![
        Just(json!("a|b")),
        Just(json!("x")),
        Just(json!(1)),
        Just(json!(1.5)),
        Just(json!(1e21)),
        Just(json!(true)),
        Just(json!(null))
    ];
    prop_oneof![
        3 => scalar.clone().prop_map(|kind| json!({ "type": kind })),
        1 => Just(json!({})),
        1 => (scalar.clone(), vec(literal.clone(), 0..3)).prop_map(|(kind, values)| json!({ "type": kind, "enum": values })),
        1 => (scalar, literal).prop_map(|(kind, value)| json!({ "type": kind, "const": value })),
        1 => text().prop_map(|reference| json!({ "$ref": reference })),
    ]
}

fn described(schema: impl Strategy<Value = Json>) -> impl Strategy<Value = Json> {
    (schema, prop::option::of(text())).prop_map(|(schema, description)| {
        match (schema, description) {
            (Json::Object(schema), Some(description)) => {
                Json::Object(schema.with("description", description))
            }
            (schema, _) => schema,
        }
    })
}

fn object(
    (properties, (closed, required, spoilt)): (Vec<(String, Json)>, (bool, bool, bool)),
) -> Json {
    let properties: Object = properties.into_iter().collect();
    let names: Vec<Json> = properties.keys().take(2).map(|name| Json::from(&**name)).collect();
    let object = Object::builder().with("type", "object").with("properties", properties);
    let object = object.with_some("additionalProperties", closed.then_some(false));
    let object = object.with_some("required", required.then_some(names));
    Json::Object(
        object.with_some("minProperties", (spoilt && closed && required).then_some(1)).build(),
    )
}

fn outside(inner: impl Strategy<Value = Json> + Clone) -> impl Strategy<Value = Json> {
    prop_oneof![
        vec(inner.clone(), 0..4).prop_map(|branches| json!({ "anyOf": branches })),
        vec(inner.clone(), 0..4).prop_map(|parts| json!({ "allOf": parts })),
        vec(inner.clone(), 0..4)
            .prop_map(|positions| json!({ "prefixItems": positions, "minItems": 1 })),
        inner
            .clone()
            .prop_map(|values| json!({ "additionalProperties": values, "nullable": true })),
        inner.prop_map(|items| json!({ "type": ["array", "object", "null"], "items": items })),
    ]
}

fn keyword() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "type",
        "oneOf",
        "anyOf",
        "allOf",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "additionalProperties",
        "description",
        "$ref",
        "default",
        "prefixItems",
        "minItems",
        "nullable",
        "patternProperties",
        "format",
    ])
    .prop_map(str::to_owned)
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "a", "b", "class", "a-b", "__x", "größe", "ﬁ", "type", "```", ""
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "string",
            "object",
            "#",
            "#/properties/a",
            "#/oneOf/0",
            "gone",
            "```ts",
            "a */ b",
            "\"\"\" \\",
            "x\n```\ny",
        ])
        .prop_map(str::to_owned),
        ".{0,12}",
    ]
}
