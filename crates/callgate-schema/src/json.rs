//! [`Json`]: the immutable value that crosses every border of callgate.
//!
//! A `Json` is always lossless: it holds no NaN, no infinity, no negative zero and no rounded integer, so nobody
//! behind the border has to ask. What cannot be held is refused at the border, by name and path.
//!
//! ```
//! use callgate_schema::{Json, json};
//!
//! let value = Json::parse(r#"{"id": 12345678901234567890, "tags": ["a", "b"]}"#)?;
//! assert_eq!(value["id"], json!(12_345_678_901_234_567_890_u64));
//! assert_eq!(value.to_string(), r#"{"id":12345678901234567890,"tags":["a","b"]}"#);
//! assert!(Json::parse("[0.5, 1e999]").is_err_and(|error| error.to_string().starts_with("value[1]: ")));
//! # Ok::<(), callgate_schema::ParseError>(())
//! ```
//!
//! | I want to …                                | use                                             |
//! |--------------------------------------------|-------------------------------------------------|
//! | read text from outside                     | [`Json::parse`], [`ParseOptions`]               |
//! | read a Rust value                          | [`Json::from_serialize`]                        |
//! | get a Rust value                           | [`Json::decode`]                                |
//! | talk to serde_json                         | `Json::try_from(value)`, [`Json::to_serde`]     |
//! | write a value in source code               | [`json!`](crate::json!), [`Object::builder`]    |
//! | print it                                   | `Display`, [`Json::pretty`], [`Json::canonical`] |
//! | compare it, use it as a key                | `==`, `Hash` (member order does not count)      |

mod de;
#[cfg(feature = "schemars")]
mod derived;
mod error;
mod macros;
mod number;
mod object;
mod parse;
mod path;
mod print;
mod ser;
mod serde_value;
mod tree;

use std::ops::{Deref, Index};
use std::sync::Arc;

pub use de::DecodeError;
pub use error::{ValueError, ValueErrorKind};
#[doc(hidden)]
pub use macros::Literal;
pub use number::Number;
pub use object::{Object, ObjectBuilder};
pub use parse::{DEPTH_LIMIT, ParseError, ParseErrorKind, ParseOptions};
pub use path::{JsonPath, Step};

/// A shared, immutable string. Cloning it copies a pointer.
pub type Str = Arc<str>;

/// An immutable JSON value: cheap to clone, safe at any depth.
///
/// Two values are equal if they mean the same: the order of members does not count, and neither does the spelling
/// of a number.
///
/// ```
/// use callgate_schema::{Json, json};
///
/// let value = json!({ "path": "src/lib.rs", "lines": [1, 20] });
/// assert_eq!(value.get("path").and_then(Json::as_str), Some("src/lib.rs"));
/// assert_eq!(value["lines"][1].as_i64(), Some(20));
/// ```
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

/// An immutable list of [`Json`] values; it can be read like a slice.
///
/// ```
/// use callgate_schema::{Array, json};
///
/// let array: Array = (1..=3).collect();
/// assert_eq!(array.len(), 3);
/// assert_eq!(array[0], json!(1));
/// ```
#[derive(Clone, Default)]
pub struct Array(Option<Arc<Vec<Json>>>);

/// Which of the six kinds of JSON a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "JSON has exactly these kinds")]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// A list.
    Array,
    /// A map.
    Object,
}

impl Kind {
    /// The name JSON Schema has for it, `boolean` for example.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// The name with its article, for sentences.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "a list",
            Self::Object => "an object",
        }
    }
}

static NULL: Json = Json::Null;

impl Json {
    /// Parses JSON text with the default limits; see [`ParseOptions`].
    ///
    /// # Errors
    ///
    /// If the text is not JSON, holds a number that cannot be kept exactly, or nests deeper than [`DEPTH_LIMIT`].
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        ParseOptions::new().parse(text)
    }

    /// Parses bytes that should be JSON text in UTF-8.
    ///
    /// # Errors
    ///
    /// As [`Json::parse`], and if the bytes are not UTF-8.
    pub fn parse_slice(bytes: &[u8]) -> Result<Self, ParseError> {
        ParseOptions::new().parse_slice(bytes)
    }

    /// Which kind of value this is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Bool,
            Self::Number(_) => Kind::Number,
            Self::String(_) => Kind::String,
            Self::Array(_) => Kind::Array,
            Self::Object(_) => Kind::Object,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The number as `i64`, if it is one that fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The number as `u64`, if it is one that fits.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The number as the nearest double, if it is a number; see [`Number::as_f64`].
    pub fn as_f64(&self) -> Option<f64> {
        Some(self.as_number()?.as_f64())
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The string itself, shared, if it is one.
    pub fn to_str(&self) -> Option<Str> {
        match self {
            Self::String(text) => Some(text.clone()),
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

    /// The item at that place, if this is a list that is long enough.
    pub fn item(&self, index: usize) -> Option<&Json> {
        self.as_array()?.get(index)
    }

    /// The value a path leads to, if there is one.
    ///
    /// ```
    /// use callgate_schema::{JsonPath, json};
    ///
    /// let value = json!({ "rows": [{ "id": 7 }] });
    /// let path = JsonPath::root().name("rows").index(0).name("id");
    /// assert_eq!(value.at(&path), Some(&json!(7)));
    /// ```
    pub fn at(&self, path: &JsonPath) -> Option<&Json> {
        path.steps().iter().try_fold(self, |value, step| match step {
            Step::Name(name) => value.get(name),
            Step::Index(index) => value.item(*index),
        })
    }
}

/// The member of that name; `null` where there is none.
impl Index<&str> for Json {
    type Output = Json;
    fn index(&self, name: &str) -> &Json {
        self.get(name).unwrap_or(&NULL)
    }
}

/// The item at that place; `null` where there is none.
impl Index<usize> for Json {
    type Output = Json;
    fn index(&self, index: usize) -> &Json {
        self.item(index).unwrap_or(&NULL)
    }
}

impl Deref for Array {
    type Target = [Json];
    fn deref(&self) -> &[Json] {
        self.items()
    }
}

impl Array {
    fn items(&self) -> &[Json] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }
}

impl<'a> IntoIterator for &'a Array {
    type Item = &'a Json;
    type IntoIter = std::slice::Iter<'a, Json>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<V: Into<Json>> FromIterator<V> for Array {
    fn from_iter<I: IntoIterator<Item = V>>(items: I) -> Self {
        items.into_iter().map(Into::into).collect::<Vec<Json>>().into()
    }
}

impl From<Vec<Json>> for Array {
    fn from(items: Vec<Json>) -> Self {
        Self(if items.is_empty() { None } else { Some(Arc::new(items)) })
    }
}

impl From<()> for Json {
    fn from((): ()) -> Self {
        Self::Null
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl<N: Into<Number>> From<N> for Json {
    fn from(number: N) -> Self {
        Self::Number(number.into())
    }
}

impl TryFrom<f64> for Json {
    type Error = ValueError;
    fn try_from(value: f64) -> Result<Self, ValueError> {
        Number::try_from(value).map(Self::Number)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<&String> for Json {
    fn from(text: &String) -> Self {
        Self::String(text.as_str().into())
    }
}

impl From<Str> for Json {
    fn from(text: Str) -> Self {
        Self::String(text)
    }
}

impl From<&Str> for Json {
    fn from(text: &Str) -> Self {
        Self::String(Str::clone(text))
    }
}

impl From<Array> for Json {
    fn from(array: Array) -> Self {
        Self::Array(array)
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl<V: Into<Json>> From<Vec<V>> for Json {
    fn from(items: Vec<V>) -> Self {
        Self::Array(items.into_iter().collect())
    }
}

impl<V: Into<Json>, const N: usize> From<[V; N]> for Json {
    fn from(items: [V; N]) -> Self {
        Self::Array(items.into_iter().collect())
    }
}

impl<V: Into<Json>> From<Option<V>> for Json {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<&Json> for Json {
    fn from(value: &Json) -> Self {
        value.clone()
    }
}
