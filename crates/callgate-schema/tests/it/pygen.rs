//! Python type text.

use callgate_schema::{SdkTool, json, python};

use crate::tsgen::assert_text;
use crate::vectors;

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
