//! [`Json`]: the immutable value that crosses every border of callgate.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A shared, immutable string. Cloning it copies a pointer.
pub type Str = Arc<str>;

/// An immutable JSON value: cheap to clone, safe at any depth.
#[derive(Clone, Default)]
#[expect(clippy::exhaustive_enums, reason = "JSON has exactly these kinds")]
pub enum Json {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number that is kept exactly.
    Number(Number),
    /// A string of Unicode text.
    String(Str),
    /// A list of values.
    Array(Array),
    /// A map from strings to values, in the order its keys first appeared.
    Object(Object),
}

/// A JSON number: a whole number within `i64` or `u64`, or another finite double.
///
/// Equal values have one representation: `1`, `1.0` and `1e0` are the same.
#[derive(Clone, Copy, PartialEq)]
pub struct Number(Repr);

#[derive(Clone, Copy, PartialEq)]
enum Repr {
    /// Everything that fits `i64`.
    Int(i64),
    /// Above `i64::MAX` only.
    UInt(u64),
    /// Not integral, or beyond `u64` and `i64`; finite and never −0.
    Float(f64),
}

/// An immutable list of [`Json`] values.
#[derive(Clone, Default)]
pub struct Array(Arc<Vec<Json>>);

/// An immutable map from strings to [`Json`] values that keeps its order.
#[derive(Clone, Default)]
pub struct Object(Arc<Members>);

#[derive(Clone, Default)]
struct Members {
    entries: Vec<(Str, Json)>,
}

impl Json {
    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_array(&self) -> Option<&Array> {
        match self {
            Self::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The map, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The member of that name, if this is an object that has it.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.as_object()?.get(name)
    }
}

impl Deref for Array {
    type Target = [Json];
    fn deref(&self) -> &[Json] {
        &self.0
    }
}

impl Object {
    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.entries.iter().find(|(key, _)| &**key == name).map(|(_, value)| value)
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    /// The members in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Str, &Json)> + ExactSizeIterator {
        self.0.entries.iter().map(|(key, value)| (key, value))
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Json")
    }
}
