//! TypeScript type text.

use std::fmt::Write as _;

use callgate_schema::{Json, SdkTool, json, typescript};
use sha2::{Digest, Sha256};

use crate::vectors;

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
