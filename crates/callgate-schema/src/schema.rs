//! The enforced subset of JSON Schema: asserted once, compiled once, then checked without recursion.
//!
//! ```
//! use callgate_schema::{SubsetSchema, ViolationKind, json};
//!
//! let schema = SubsetSchema::assert(&json!({
//!     "type": "object",
//!     "properties": { "path": { "type": "string" }, "limit": { "type": "integer" } },
//!     "required": ["path"],
//! }))?;
//! assert!(schema.is_valid(&json!({ "path": "src" })));
//!
//! let violations = schema.validate(&json!({ "path": "src", "limit": "20" }), "");
//! assert_eq!(violations.to_string(), "limit: expected an integer, got the string \"20\"; send it without quotes");
//! assert_eq!(violations[0].kind(), ViolationKind::Type);
//! # Ok::<(), callgate_schema::SchemaError>(())
//! ```
//!
//! | keyword | where | meaning |
//! |---|---|---|
//! | `type` | everywhere but beside `oneOf` | one of `object`, `array`, `string`, `number`, `integer`, `boolean`, `null`; without it any value |
//! | `oneOf` | without `type` | exactly one of two or more branches accepts the value |
//! | `properties`, `required`, `additionalProperties` | objects | members, the ones that must be there, `false` for no others |
//! | `items` | arrays | what each item is |
//! | `enum`, `const` | scalars | the only values |
//! | `description`, `title`, `default`, `examples` | everywhere | for the reader; they never decide anything |

mod assert;
mod check;
mod node;
mod validate;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::json::Json;
use crate::violation::{Violation, ViolationKind, Violations};
pub(crate) use node::{Node, NodeId, ObjectNode, Scalar, ScalarKind};

/// A schema of the enforced subset, compiled. Cloning it copies a pointer.
///
/// There is no other way to get one than [asserting](SubsetSchema::assert) a schema or compiling a
/// [spec](crate::ValueSpec), so whatever validates has been checked.
#[derive(Clone)]
pub struct SubsetSchema(Arc<Compiled>);

struct Compiled {
    json: Json,
    nodes: Vec<Node>,
}

impl SubsetSchema {
    /// Checks that a schema is within the subset and compiles it.
    ///
    /// # Errors
    ///
    /// All violations in a fixed order, with paths under `schema`. What the subset does not know is refused, never
    /// ignored.
    ///
    /// ```
    /// use callgate_schema::{SubsetSchema, json};
    ///
    /// let error = SubsetSchema::assert(&json!({ "type": "string", "minLength": 1 })).unwrap_err();
    /// assert_eq!(error.violations()[0].path(), "schema.minLength");
    /// ```
    pub fn assert(schema: &Json) -> Result<Self, SchemaError> {
        let nodes = assert::compile(schema)?;
        Ok(Self(Arc::new(Compiled { json: schema.clone(), nodes })))
    }

    /// As [`SubsetSchema::assert`], and the root must be `type: "object"`.
    ///
    /// # Errors
    ///
    /// Those of [`SubsetSchema::assert`]; if there are none, one for a root of another kind.
    pub fn assert_object_root(schema: &Json) -> Result<Self, SchemaError> {
        let asserted = Self::assert(schema)?;
        if asserted.is_object_root() {
            return Ok(asserted);
        }
        let message =
            "the root must have type \"object\"; put the value into a member of an object";
        Err(SchemaError::single(&["type"], ViolationKind::NotObjectRoot, message))
    }

    /// Whether the root is `type: "object"`.
    pub fn is_object_root(&self) -> bool {
        matches!(self.0.nodes.first(), Some(Node::Object(_)))
    }

    /// The schema as it was written.
    pub fn as_json(&self) -> &Json {
        &self.0.json
    }

    /// Whether the value has no violation; says so faster than [`SubsetSchema::validate`] says which.
    pub fn is_valid(&self, value: &Json) -> bool {
        check::holds(&self.0.nodes, Node::ROOT, value)
    }

    /// All violations of a value, in order: missing members, then declared ones depth-first in the order of the
    /// schema, then undeclared ones.
    ///
    /// Paths stand under the root label; with an empty one, as for arguments, members have no leading dot.
    pub fn validate(&self, value: &Json, root: &str) -> Violations {
        if self.is_valid(value) {
            return Violations::default();
        }
        validate::violations(self, value, root)
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.0.nodes
    }
}

impl fmt::Debug for SubsetSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.json, f)
    }
}

impl PartialEq for SubsetSchema {
    fn eq(&self, other: &Self) -> bool {
        self.0.json == other.0.json
    }
}

impl Eq for SubsetSchema {}

/// Why a schema cannot be used: everything that is outside the subset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError(Violations);

impl SchemaError {
    /// The code of this failure, as results and logs carry it.
    pub const CODE: &'static str = "UNSUPPORTED_SCHEMA";

    pub(crate) fn new(violations: Vec<Violation>) -> Self {
        Self(violations.into())
    }

    pub(crate) fn single(steps: &[&str], kind: ViolationKind, message: &str) -> Self {
        let path = steps.iter().fold(crate::JsonPath::root(), |path, step| path.name(*step));
        Self::new(vec![Violation::new("schema", path, kind, message)])
    }

    /// The violations in order.
    pub fn violations(&self) -> &Violations {
        &self.0
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unsupported schema: {}", self.0)
    }
}

impl Error for SchemaError {}
