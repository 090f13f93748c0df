//! What each keyword of a derived schema is to the lowering.

use crate::json::{Json, Object, ObjectBuilder};
use crate::schema::ScalarKind;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Type {
    Object,
    Array,
    Scalar(ScalarKind, &'static str),
}

impl Type {
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::Scalar(ScalarKind::String, "string"),
            "number" => Self::Scalar(ScalarKind::Number, "number"),
            "integer" => Self::Scalar(ScalarKind::Integer, "integer"),
            "boolean" => Self::Scalar(ScalarKind::Boolean, "boolean"),
            "null" => Self::Scalar(ScalarKind::Null, "null"),
            _ => return None,
        })
    }
}

pub(super) const ANNOTATIONS: [&str; 4] = ["description", "title", "default", "examples"];
/// What nobody enforces and nobody has to read.
pub(super) const DROPPED: [&str; 7] =
    ["$schema", "$id", "$comment", "$defs", "deprecated", "readOnly", "writeOnly"];
/// What the subset does not enforce, in the order in which a description notes it.
pub(super) const NOTED: [&str; 14] = [
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
];
pub(super) const OF_OBJECTS: [&str; 4] =
    ["properties", "required", "additionalProperties", "patternProperties"];
pub(super) const OF_ARRAYS: [&str; 2] = ["items", "prefixItems"];
pub(super) const OF_SCALARS: [&str; 2] = ["enum", "const"];
/// The order of members in a lowered node.
pub(super) const ORDER: [&str; 12] = [
    "type",
    "oneOf",
    "description",
    "title",
    "default",
    "examples",
    "additionalProperties",
    "properties",
    "required",
    "items",
    "enum",
    "const",
];

pub(super) fn is_dropped(keyword: &str) -> bool {
    DROPPED.contains(&keyword) || keyword.starts_with("x-")
}

pub(super) fn ordered(lowered: ObjectBuilder) -> Json {
    let lowered = lowered.build();
    let members =
        ORDER.iter().filter_map(|keyword| Some((*keyword, lowered.get(keyword)?.clone())));
    members.collect::<Object>().into()
}

/// One constraint for the reader; the width of a number is none.
pub(super) fn note(keyword: &str, value: &Json) -> Option<String> {
    match (keyword, value) {
        ("format", Json::String(format)) => {
            (!is_numeric(format)).then(|| format!("format: {format}"))
        }
        _ => Some(format!("{keyword}: {value}")),
    }
}

fn is_numeric(format: &str) -> bool {
    let digits = format.strip_prefix("uint").or_else(|| format.strip_prefix("int"));
    matches!(format, "float" | "double")
        || digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A name as it stands in a reference: percent-encoded, then escaped as in a JSON pointer.
pub(super) fn decode(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .filter(|_| *byte == b'%')
            .and_then(|code| std::str::from_utf8(code).ok());
        let decoded = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(decoded.unwrap_or(*byte));
        rest = if decoded.is_some() { &after[2..] } else { after };
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains('/')).then(|| text.replace("~1", "/").replace("~0", "~"))
}
