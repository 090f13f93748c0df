//! The refusal of a value that cannot become [`Json`](super::Json).

use std::error::Error;
use std::fmt;

use super::JsonPath;

/// Why a value of another kind cannot become [`Json`](super::Json), and where in it the fault is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError(Box<Refusal>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Refusal {
    kind: ValueErrorKind,
    message: String,
    path: JsonPath,
}

/// What is wrong with a value that cannot become [`Json`](super::Json).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueErrorKind {
    /// A number that has no lossless form: NaN, an infinity, negative zero, an integer that nothing holds.
    Number,
    /// A map key that is not a string.
    Key,
    /// Deeper than a recursive converter may go.
    Depth,
    /// The value failed while it was being read.
    Producer,
}

impl ValueError {
    pub(crate) fn new(kind: ValueErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Refusal { kind, message: message.into(), path: JsonPath::root() }))
    }

    pub(crate) fn at(mut self, path: JsonPath) -> Self {
        self.0.path = path;
        self
    }

    /// What is wrong.
    pub fn kind(&self) -> ValueErrorKind {
        self.0.kind
    }

    /// Where in the value.
    pub fn path(&self) -> &JsonPath {
        &self.0.path
    }

    /// What is wrong and what to do, without the path.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

/// The path under the root label `value`, then the message.
impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.path, self.0.message)
    }
}

impl Error for ValueError {}

/// The longest piece of a value that a message repeats, in characters.
const LONGEST_QUOTE: usize = 40;

/// The text, cut after forty characters.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
