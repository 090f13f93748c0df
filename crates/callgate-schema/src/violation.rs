//! What is wrong with a value or a schema: where, of which kind, and in words a model can act on.

mod message;

use std::error::Error;
use std::fmt;
use std::ops::Deref;

use crate::json::{Json, JsonPath, Str};
use crate::schema::{NodeId, SubsetSchema};
use crate::{DecodeError, ValueError, json};

/// One thing that is wrong with a value or a schema.
///
/// Path and kind are stable; the words of [`Violation::message`] are not, so branch on the kind.
#[derive(Clone)]
pub struct Violation {
    root: Str,
    path: JsonPath,
    kind: ViolationKind,
    detail: Detail,
}

#[derive(Clone)]
enum Detail {
    Words(Str),
    Value(Finding),
}

/// What a value had where the schema demanded something else; put into words only when somebody reads it.
#[derive(Clone)]
pub(crate) struct Finding {
    pub(crate) schema: SubsetSchema,
    pub(crate) node: NodeId,
    /// The value at the path; for a missing member the object it is missing from.
    pub(crate) found: Json,
    /// How many branches of a union accepted the value.
    pub(crate) matched: usize,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The kinds of violations, stable in name and meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ViolationKind {
            $($(#[$doc])* $variant,)*
        }

        impl ViolationKind {
            /// The stable name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// A value of another type.
    Type = "type",
    /// A value outside an `enum`.
    Enum = "enum",
    /// A value other than the `const`.
    Const = "const",
    /// A member that must be there is missing.
    Required = "required",
    /// A member that a closed object does not declare.
    Additional = "additional",
    /// A value that no branch of a union accepts, or more than one.
    OneOf = "one_of",
    /// A value that JSON cannot hold losslessly.
    Lossless = "lossless",
    /// A value that fits the schema but not the Rust type.
    Decode = "decode",
    /// A schema node that is no object.
    NotSchema = "not_schema",
    /// A keyword outside the subset.
    UnknownKeyword = "unknown_keyword",
    /// A description or title that is no string.
    BadAnnotation = "bad_annotation",
    /// A list of types.
    TypeArray = "type_array",
    /// No type of the subset.
    BadType = "bad_type",
    /// A keyword that means nothing without a type.
    NeedsType = "needs_type",
    /// `type` and `oneOf` side by side.
    TypeAndOneOf = "type_and_one_of",
    /// A union with fewer than two branches.
    OneOfArity = "one_of_arity",
    /// A constraint beside `oneOf`.
    BesideOneOf = "beside_one_of",
    /// A keyword of another type.
    Misplaced = "misplaced",
    /// `properties` that are no map of schemas.
    BadProperties = "bad_properties",
    /// `required` that is no list of names.
    BadRequired = "bad_required",
    /// A required name that is not declared.
    UndeclaredRequired = "undeclared_required",
    /// `additionalProperties` that is not true or false.
    BadAdditional = "bad_additional",
    /// An `enum` that is empty or has members of another type.
    BadEnum = "bad_enum",
    /// A `const` of another type.
    BadConst = "bad_const",
    /// A `const` that the `enum` beside it excludes.
    ConstNotInEnum = "const_not_in_enum",
    /// A root that is not `type: "object"` where one is due.
    NotObjectRoot = "not_object_root",
    /// A spec that is no object.
    NotSpec = "not_spec",
    /// A key that a kind of spec does not have.
    UnknownKey = "unknown_key",
    /// An object spec that does not say whether it is open.
    OpennessMissing = "openness_missing",
    /// Properties or parameters that are no map.
    NotPropertyMap = "not_property_map",
    /// A `required` flag other than true.
    BadRequiredFlag = "bad_required_flag",
    /// A derived schema that has no lossless form in the subset.
    NotLowerable = "not_lowerable",
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Violation {
    /// A violation in words: lower case, no full stop, naming the value and the way out.
    pub fn new(
        root: impl Into<Str>,
        path: JsonPath,
        kind: ViolationKind,
        message: impl Into<Str>,
    ) -> Self {
        Self { root: root.into(), path, kind, detail: Detail::Words(message.into()) }
    }

    /// A value that fits the schema, but not the Rust type behind it.
    pub fn decode(root: impl Into<Str>, error: &DecodeError) -> Self {
        Self::new(root, error.path().clone(), ViolationKind::Decode, error.message())
    }

    /// A value that cannot become [`Json`].
    pub fn lossless(root: impl Into<Str>, error: &ValueError) -> Self {
        Self::new(root, error.path().clone(), ViolationKind::Lossless, error.message())
    }

    pub(crate) fn found(root: Str, path: JsonPath, kind: ViolationKind, finding: Finding) -> Self {
        Self { root, path, kind, detail: Detail::Value(finding) }
    }

    /// Where, as text under the root label.
    pub fn path(&self) -> String {
        self.path.display(&self.root).to_string()
    }

    /// Where, as steps, for those who would otherwise have to take the text apart.
    pub fn steps(&self) -> &JsonPath {
        &self.path
    }

    /// What kind of fault it is.
    pub fn kind(&self) -> ViolationKind {
        self.kind
    }

    /// For a union, how many branches accepted the value.
    pub fn matched(&self) -> Option<usize> {
        match &self.detail {
            Detail::Value(finding) if self.kind == ViolationKind::OneOf => Some(finding.matched),
            _ => None,
        }
    }

    /// What was expected, what came, and what to do, without the path.
    pub fn message(&self) -> String {
        match &self.detail {
            Detail::Words(words) => words.as_ref().to_owned(),
            Detail::Value(finding) => message::of(self.kind, &self.path, finding),
        }
    }

    /// The record `{ path, kind, message }`, with `matched` for a union.
    pub fn to_json(&self) -> Json {
        let record = json::Object::builder()
            .with("path", self.path())
            .with("kind", self.kind.as_str())
            .with("message", self.message())
            .with_some("matched", self.matched());
        record.build().into()
    }
}

/// The path, then the message.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(&self.root), self.message())
    }
}

impl fmt::Debug for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {self}", self.kind)
    }
}

impl PartialEq for Violation {
    fn eq(&self, other: &Self) -> bool {
        (&self.root, &self.path, self.kind, self.matched())
            == (&other.root, &other.path, other.kind, other.matched())
            && self.message() == other.message()
    }
}

impl Eq for Violation {}

/// All violations of a value or schema, in order. Empty means valid.
///
/// As text: one line each, and after the 32nd only how many more there are.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

/// More lines help nobody, and a model pays for each.
const MOST_SHOWN: usize = 32;

impl Violations {
    /// The records of all violations.
    pub fn to_json(&self) -> Json {
        self.0.iter().map(Violation::to_json).collect::<json::Array>().into()
    }
}

impl From<Vec<Violation>> for Violations {
    fn from(violations: Vec<Violation>) -> Self {
        Self(violations)
    }
}

impl From<Violation> for Violations {
    fn from(violation: Violation) -> Self {
        Self(vec![violation])
    }
}

impl Deref for Violations {
    type Target = [Violation];
    fn deref(&self) -> &[Violation] {
        &self.0
    }
}

impl IntoIterator for Violations {
    type Item = Violation;
    type IntoIter = std::vec::IntoIter<Violation>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Violations {
    type Item = &'a Violation;
    type IntoIter = std::slice::Iter<'a, Violation>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, violation) in self.0.iter().take(MOST_SHOWN).enumerate() {
            let line_break = if place > 0 { "\n" } else { "" };
            write!(f, "{line_break}{violation}")?;
        }
        match self.0.len().saturating_sub(MOST_SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

impl fmt::Debug for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().take(MOST_SHOWN)).finish_non_exhaustive()
    }
}

impl Error for Violations {}
