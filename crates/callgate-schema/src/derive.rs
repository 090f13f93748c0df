//! From the schemas `schemars` derives to the enforced subset: what has no lossless form there is refused.
//!
//! | derived | lowered |
//! |---|---|
//! | `$ref` | written out where it is used; a type inside itself becomes an open object, a list or anything |
//! | `type: [T, "null"]` | `oneOf` |
//! | `anyOf` | `oneOf`, if no value can fit two branches |
//! | `prefixItems` | a list of the common type, or of anything |
//! | ranges, lengths, `pattern`, `format` | words in the description of a parameter |
//! | `additionalProperties: {…}`, `patternProperties` | an open object |

mod close;
mod disjoint;
mod keywords;
mod walk;

use crate::json::Json;
use crate::schema::{SchemaError, SubsetSchema};
use crate::violation::ViolationKind;

/// Lowers the derived schema of a parameter struct.
///
/// Derive it under the deserialize contract. The root stays open unless the type denies unknown fields; what the
/// subset cannot enforce is noted in the descriptions.
///
/// ```
/// use callgate_schema::{json, lower_parameters};
///
/// let derived = json!({
///     "$schema": "https://json-schema.org/draft/2020-12/schema",
///     "title": "Args",
///     "type": "object",
///     "properties": { "limit": { "type": ["integer", "null"], "format": "uint32", "minimum": 0 } },
/// });
/// assert_eq!(
///     *lower_parameters(&derived)?.as_json(),
///     json!({
///         "type": "object",
///         "properties": {
///             "limit": { "oneOf": [{ "type": "integer" }, { "type": "null" }], "description": "[minimum: 0]" },
///         },
///     })
/// );
/// # Ok::<(), callgate_schema::SchemaError>(())
/// ```
///
/// # Errors
///
/// The first part that has no form in the subset, with its path in the derived schema; or that the root is not an
/// object.
pub fn lower_parameters(derived: &Json) -> Result<SubsetSchema, SchemaError> {
    let lowered = SubsetSchema::assert(&walk::lower(derived, Role::Parameters)?)?;
    if lowered.is_object_root() {
        return Ok(lowered);
    }
    let message = "parameters are the members of an object; use a struct with named fields";
    Err(SchemaError::single(&["type"], ViolationKind::NotObjectRoot, message))
}

/// Lowers the derived schema of an output type.
///
/// Derive it under the serialize contract. Objects become explicitly open unless the type denies unknown fields.
///
/// # Errors
///
/// The first part that has no form in the subset, with its path in the derived schema.
pub fn lower_output(derived: &Json) -> Result<SubsetSchema, SchemaError> {
    SubsetSchema::assert(&walk::lower(derived, Role::Output)?)
}

/// What the schema is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Parameters,
    Output,
}
