//! A tool as clients see it: the server's own entry under its public name.

use callgate::{Json, Object, json};

use super::McpTool;
use crate::config::Validation;
use crate::meta;

/// What must not stand at the root of a listed schema that does not say that it is an object.
const COMBINATORS: &[&str] =
    &["$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const"];

impl McpTool {
    /// The entry for a client's list.
    ///
    /// Clients refuse a result that does not fit a listed output schema. So the schema is listed
    /// where results are held to it, and otherwise only mentioned.
    pub(crate) fn listed(&self) -> Json {
        let Some(entry) = self.entry.as_object() else { return self.entry.clone() };
        let origin = json!({ "server": self.server.clone(), "tool": self.raw_name.clone() });
        let mut listed = meta::with(entry, meta::ORIGIN, origin);
        listed = listed.with("name", self.name.clone());
        listed = listed.with("inputSchema", listed_schema(entry.get("inputSchema")));
        match entry.get("outputSchema") {
            Some(schema) if !self.lists_output() => {
                meta::with(&listed.without("outputSchema"), meta::OUTPUT_SCHEMA, schema.clone())
            }
            _ => listed,
        }
        .into()
    }

    /// Whether every result fits the declared output schema, so that clients may check it.
    pub(crate) fn lists_output(&self) -> bool {
        self.validate_results == Validation::Enforce && self.output.is_some()
    }
}

/// Verbatim, if it says that it is an object, which clients insist on. What else stands at the
/// root is then enforced, but not listed.
fn listed_schema(schema: Option<&Json>) -> Json {
    let Some(Json::Object(schema)) = schema else { return json!({ "type": "object" }) };
    if schema.get("type").and_then(Json::as_str) == Some("object") {
        return Json::Object(schema.clone());
    }
    let rest =
        schema.iter().filter(|(name, _)| &***name != "type" && !COMBINATORS.contains(&&***name));
    let mut listed = Object::builder().with("type", "object");
    for (name, value) in rest {
        listed.insert(name.clone(), value.clone());
    }
    listed.build().into()
}
