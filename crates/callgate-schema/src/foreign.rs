//! Schemas that others wrote, such as those of MCP servers: what their types keep of them.
//!
//! They may use the whole of JSON Schema, and they may be hostile: references are followed inside
//! the document only, and the work on one schema is bounded.

mod read;
mod reference;

use std::error::Error;
use std::fmt;

use crate::json::Json;
use crate::shape::Shapes;

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
    let mut bytes = 0;
    let mut nodes = 0;
    let mut open = vec![(schema, 0)];
    while let Some((value, depth)) = open.pop() {
        nodes += 1;
        bytes += own_bytes(value);
        let children: &mut dyn Iterator<Item = &Json> = match value {
            Json::Array(items) => &mut items.iter(),
            Json::Object(members) => &mut members.iter().map(|(_, member)| member),
            _ => continue,
        };
        if depth == MOST_DEPTH {
            return Err(SchemaLimit::Depth);
        }
        open.extend(children.map(|child| (child, depth + 1)));
        if nodes + open.len() > MOST_NODES {
            return Err(SchemaLimit::Nodes);
        }
        if bytes > MOST_BYTES {
            return Err(SchemaLimit::Bytes);
        }
    }
    if bytes > MOST_BYTES { Err(SchemaLimit::Bytes) } else { Ok(()) }
}

/// The bytes a value adds to the compact text, without the values in it.
fn own_bytes(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(true) => 4,
        Json::Bool(false) => 5,
        Json::Number(number) => number.to_string().len(),
        Json::String(text) => string_bytes(text),
        Json::Array(items) => 1 + items.len().max(1),
        Json::Object(members) => {
            let names: usize = members.iter().map(|(name, _)| string_bytes(name) + 1).sum();
            1 + members.len().max(1) + names
        }
    }
}

fn string_bytes(text: &str) -> usize {
    let escapes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 1,
        0..0x20 => 5,
        _ => 0,
    });
    2 + text.len() + escapes.sum::<usize>()
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
    let mut references: Vec<String> = Vec::new();
    for reference in read(&mut shapes, place, schema) {
        if !references.iter().any(|known| known == reference) {
            references.push(reference.to_owned());
        }
    }
    references
}
