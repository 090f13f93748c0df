//! Reads the test vectors, and what they describe.

use callgate_schema::{Array, Json, SdkTool, json};

/// The vectors of a file, in order.
pub(crate) fn load(file: &str) -> Array {
    let path = format!("{}/tests/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    Json::parse(&text).unwrap().as_array().unwrap().clone()
}

/// A string member that has to be there.
pub(crate) fn text<'a>(vector: &'a Json, member: &str) -> &'a str {
    vector.get(member).and_then(Json::as_str).unwrap_or_else(|| panic!("no {member} in {vector}"))
}

/// The schema of a vector, which may be given as text.
pub(crate) fn schema(vector: &Json) -> Option<Json> {
    match vector.get("schema_text") {
        Some(text) => Some(Json::parse(text.as_str().unwrap()).unwrap()),
        None => vector.get("schema").cloned(),
    }
}

/// The tools of a vector.
pub(crate) fn tools(vector: &Json) -> Option<Vec<SdkTool<'_>>> {
    let tools = vector.get("tools")?.as_array().unwrap();
    let tool = |tool| {
        SdkTool::new(
            text(tool, "name"),
            text(tool, "description"),
            &tool["parameters"],
            &tool["output"],
        )
    };
    Some(tools.iter().map(tool).collect())
}

/// The schema that a description of nested wrappers stands for.
pub(crate) fn nested(nest: &Json) -> Json {
    let wrap = text(nest, "wrap");
    let depth = nest["depth"].as_u64().unwrap();
    (0..depth).fold(nest["leaf"].clone(), |inner, _| match wrap {
        "one_of_null" => json!({ "oneOf": [inner, { "type": "null" }] }),
        "null_one_of" => json!({ "oneOf": [{ "type": "null" }, inner] }),
        "array" => json!({ "type": "array", "items": inner }),
        "closed_object" => json!({
            "type": "object",
            "additionalProperties": false,
            "properties": { "k": inner },
            "required": ["k"],
        }),
        "open_object" => json!({ "type": "object", "properties": { "k": inner } }),
        other => panic!("unknown wrapper {other}"),
    })
}
