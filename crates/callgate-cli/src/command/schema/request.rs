//! One line of `callgate schema`, and why it cannot be answered.

use callgate::schema::{JsonPath, ParseError, ParseErrorKind, ParseOptions, nearest_name};
use callgate::{Json, Object};

/// Brackets that may be open in a line: schemas of 100,000 levels, which nobody but a test writes, still pass.
const MOST_DEPTH: usize = 250_000;

/// A line that is an object.
#[derive(Debug)]
pub(super) struct Request(Object);

/// Why a line is not answered: a stable word, and what to do.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) kind: &'static str,
    pub(super) message: String,
}

/// What a line gives as JSON or as JSON text.
#[derive(Debug)]
pub(super) enum Given {
    Json(Json),
    /// Text with a number that no [`Json`] can hold: where, and why.
    Lossy(JsonPath, String),
}

impl Refusal {
    pub(super) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// An object that asks for nothing there is.
    pub(super) fn unclear(message: impl Into<String>) -> Self {
        Self::new("bad_request", message)
    }

    fn of(error: &ParseError, what: &str) -> Self {
        let kind = match error.kind() {
            ParseErrorKind::NotLossless => "not_lossless",
            ParseErrorKind::TooDeep => "too_deep",
            _ => "syntax",
        };
        let (column, message) = (error.column(), error.message());
        let place = match error.line() {
            1 => format!("column {column}"),
            line => format!("line {line}, column {column}"),
        };
        Self::new(kind, format!("{what} is no JSON that can be kept, at {place}: {message}"))
    }
}

impl Request {
    pub(super) fn parse(line: &str) -> Result<Self, Refusal> {
        match options().parse(line).map_err(|error| Refusal::of(&error, "the line"))? {
            Json::Object(members) => Ok(Self(members)),
            other => {
                Err(Refusal::unclear(format!("a line is a JSON object, not {}", kind_of(&other))))
            }
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        self.0.get(name)
    }

    /// Refuses a member whose name is one letter off one of those that are not there.
    pub(super) fn refuse_misspelt(&self, known: &[&str]) -> Result<(), Refusal> {
        let absent = || known.iter().copied().filter(|name| self.get(name).is_none());
        for name in self.0.keys().filter(|name| !known.contains(&&***name)) {
            if let Some(near) = nearest_name(name, absent())
                && near.len().abs_diff(name.len()) <= 1
            {
                return Err(Refusal::unclear(format!(
                    "unknown member `{name}`; did you mean `{near}`?"
                )));
            }
        }
        Ok(())
    }

    /// A member that is JSON, or under that name and `_text` JSON as text.
    pub(super) fn given(&self, name: &str) -> Result<Option<Given>, Refusal> {
        let text_name = format!("{name}_text");
        let text = match (self.get(name), self.get(&text_name)) {
            (None, None) => return Ok(None),
            (Some(json), None) => return Ok(Some(Given::Json(json.clone()))),
            (None, Some(Json::String(text))) => text,
            (None, Some(other)) => {
                let other = kind_of(other);
                return Err(Refusal::unclear(format!(
                    "`{text_name}` must be a string, not {other}"
                )));
            }
            (Some(_), Some(_)) => {
                return Err(Refusal::unclear(format!("give `{name}` or `{text_name}`, not both")));
            }
        };
        match options().parse(text) {
            Ok(json) => Ok(Some(Given::Json(json))),
            Err(error) if error.kind() == ParseErrorKind::NotLossless => {
                Ok(Some(Given::Lossy(error.path().clone(), error.message().to_owned())))
            }
            Err(error) => Err(Refusal::of(&error, &format!("`{text_name}`"))),
        }
    }

    /// A member that is true or false; without it, false.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.get(name) {
            None => Ok(false),
            Some(Json::Bool(flag)) => Ok(*flag),
            Some(other) => {
                let other = kind_of(other);
                Err(Refusal::unclear(format!("`{name}` must be true or false, not {other}")))
            }
        }
    }

    /// A member that is text.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(other) => {
                Err(Refusal::unclear(format!("`{name}` must be a string, not {}", kind_of(other))))
            }
        }
    }
}

fn options() -> ParseOptions {
    ParseOptions::new().max_depth(MOST_DEPTH)
}

/// What a value is, in words.
pub(super) fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
