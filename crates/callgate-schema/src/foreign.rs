//! Schemas that others wrote, such as those of MCP servers: what their types keep of them.
//!
//! They may use the whole of JSON Schema, and they may be hostile: references are followed inside
//! the document only, and the work on one schema is bounded.

mod keywords;
mod read;
mod reference;

use std::error::Error;
use std::fmt;

use crate::json::Json;
use crate::shape::{NameSet, Shapes};
use crate::text;

pub(crate) use read::read;

/// Bytes of the compact text of a schema that is still looked into.
const MOST_BYTES: usize = 1024 * 1024;
/// Brackets that may be open at once in it.
const MOST_DEPTH: usize = 128;
/// Values that may be in it.
const MOST_NODES: usize = 20_000;

/// Why a foreign schema is not looked into: its types say nothing, and its values stay unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaLimit {
    /// Its compact text is longer than 1 MiB.
    Bytes,
    /// It nests deeper than 128 brackets.
    Depth,
    /// It consists of more than 20,000 values.
    Nodes,
}

impl fmt::Display for SchemaLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes => write!(f, "the schema is longer than {MOST_BYTES} bytes"),
            Self::Depth => write!(f, "the schema nests deeper than {MOST_DEPTH} levels"),
            Self::Nodes => write!(f, "the schema has more than {MOST_NODES} values"),
        }
    }
}

impl Error for SchemaLimit {}

/// Checks that a foreign schema is small enough to be looked into.
///
/// # Errors
///
/// The first limit that is passed: 1 MiB of compact text, 128 open brackets, 20,000 values.
///
/// ```
/// use callgate_schema::{foreign, json};
///
/// assert_eq!(foreign::check_limits(&json!({ "type": "string", "format": "uri" })), Ok(()));
/// ```
pub fn check_limits(schema: &Json) -> Result<(), SchemaLimit> {
    let mut nodes = 0;
    let mut bytes_at_most = 0;
    let mut open = vec![(schema, 0)];
    while let Some((value, depth)) = open.pop() {
        nodes += 1;
        bytes_at_most += own_bytes_at_most(value);
        if depth == MOST_DEPTH && matches!(value, Json::Array(_) | Json::Object(_)) {
            return Err(SchemaLimit::Depth);
        }
        match value {
            Json::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Json::Object(members) => {
                open.extend(members.values().map(|member| (member, depth + 1)));
            }
            _ => {}
        }
        if nodes + open.len() > MOST_NODES {
            return Err(SchemaLimit::Nodes);
        }
    }
    if bytes_at_most > MOST_BYTES && text::displayed_bytes(schema) > MOST_BYTES {
        return Err(SchemaLimit::Bytes);
    }
    Ok(())
}

/// No less than what a value adds to the compact text, the values in it left out.
fn own_bytes_at_most(value: &Json) -> usize {
    match value {
        Json::String(text) => string_bytes_at_most(text),
        Json::Object(members) => {
            2 + members.keys().map(|name| string_bytes_at_most(name) + 2).sum::<usize>()
        }
        Json::Array(items) => 2 + items.len(),
        Json::Null | Json::Bool(_) | Json::Number(_) => MOST_SCALAR_BYTES,
    }
}

/// The longest number is a double without exponent, with sign and fraction.
const MOST_SCALAR_BYTES: usize = 32;

/// A control character takes six bytes.
fn string_bytes_at_most(text: &str) -> usize {
    2 + 6 * text.len()
}

/// The references of a schema that lead nowhere: outside the document, to nothing, or only back to
/// themselves. Where they stand, types and checks are open.
///
/// Each is given once, as it is written, in the order of the schema. A recursive definition is not
/// among them.
///
/// ```
/// use callgate_schema::{foreign, json};
///
/// let schema = json!({ "properties": { "a": { "$ref": "#/$defs/Gone" }, "b": { "$ref": "#" } } });
/// assert_eq!(foreign::open_references(&schema), ["#/$defs/Gone"]);
/// ```
pub fn open_references(schema: &Json) -> Vec<String> {
    if check_limits(schema).is_err() {
        return Vec::new();
    }
    let mut shapes = Shapes::default();
    let place = shapes.reserve(1).only();
    let mut references = NameSet::default();
    for reference in read(&mut shapes, place, schema) {
        references.insert(reference);
    }
    references.names().map(str::to_owned).collect()
}
