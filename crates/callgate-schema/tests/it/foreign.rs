//! Types of schemas that others wrote, and the names of their tools.

use callgate_schema::{SdkTool, json, public_name, python, typescript};

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

// FOREIGN-3
#[test]
fn tools_of_servers_are_named_as_the_vectors_say() {
    for vector in &vectors::load("mcp-names.json") {
        let (server, raw) = (vectors::text(vector, "server"), vectors::text(vector, "raw"));
        assert_eq!(public_name(server, raw), vectors::text(vector, "name"));
    }
}
