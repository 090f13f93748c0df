//! Parsing text from outside: nothing is rounded, nothing recurses, every refusal says where and what to do.

mod explain;

use std::error::Error;
use std::fmt;

use json_event_parser::{JsonEvent, LowLevelJsonParser};

use super::{Json, JsonPath, Number, Object, Step, Str};

/// How many brackets may be open in text from outside, unless [`ParseOptions::max_depth`] says otherwise.
///
/// Deeper than any sensible value; shallow enough for everybody else's recursion.
pub const DEPTH_LIMIT: usize = 5_000;

/// Limits for parsing.
///
/// ```
/// use callgate_schema::{ParseErrorKind, ParseOptions};
///
/// let options = ParseOptions::new().max_depth(2);
/// assert!(options.parse("[[1]]").is_ok());
/// assert!(options.parse("[[[1]]]").is_err_and(|error| error.kind() == ParseErrorKind::TooDeep));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ParseOptions {
    max_depth: usize,
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self { max_depth: DEPTH_LIMIT }
    }
}

impl ParseOptions {
    /// The default limits: [`DEPTH_LIMIT`] open brackets.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many brackets may be open at once.
    pub fn max_depth(mut self, brackets: usize) -> Self {
        self.max_depth = brackets;
        self
    }

    /// Parses JSON text.
    ///
    /// A number without fraction and exponent must fit `i64` or `u64` or be a double exactly; with one it is the
    /// nearest double; negative zero in any spelling and `1e999` are refused, and so are unpaired surrogates. Of
    /// duplicate keys the last wins, in the place of the first. A byte order mark at the start is skipped.
    ///
    /// # Errors
    ///
    /// If the text is not JSON, holds a number that cannot be kept, or nests too deep.
    pub fn parse(self, text: &str) -> Result<Json, ParseError> {
        self.parse_slice(text.as_bytes())
    }

    /// Parses bytes that should be JSON text in UTF-8.
    ///
    /// # Errors
    ///
    /// As [`ParseOptions::parse`], and if the bytes are not UTF-8.
    pub fn parse_slice(self, bytes: &[u8]) -> Result<Json, ParseError> {
        Parser {
            bytes,
            end: 0,
            max_depth: self.max_depth,
            open: Vec::new(),
            items: Vec::new(),
            members: Vec::new(),
            names: Names::default(),
        }
        .run()
    }
}

/// Why text is refused, where, and what to do about it.
///
/// ```
/// use callgate_schema::{Json, ParseErrorKind};
///
/// let error = Json::parse("{\n  \"ids\": [1, -0]\n}").unwrap_err();
/// assert_eq!(error.kind(), ParseErrorKind::NotLossless);
/// assert_eq!((error.line(), error.column(), error.offset()), (2, 14, 15));
/// assert_eq!(error.path().to_string(), "value.ids[1]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(Box<Refusal>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Refusal {
    kind: ParseErrorKind,
    message: String,
    path: JsonPath,
    offset: usize,
    line: usize,
    column: usize,
}

/// What is wrong with text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// It is not JSON, or not Unicode.
    Syntax,
    /// It is JSON, but a number in it cannot be kept exactly.
    NotLossless,
    /// More brackets are open than allowed.
    TooDeep,
}

impl ParseError {
    /// What is wrong.
    pub fn kind(&self) -> ParseErrorKind {
        self.0.kind
    }

    /// What is wrong and what to do, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The value that was being read.
    pub fn path(&self) -> &JsonPath {
        &self.0.path
    }

    /// Where in the text, in bytes from its start.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// The line, counted from one.
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// The column in characters, counted from one.
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// The whole message with paths under a root of that name, see [`JsonPath::display`].
    pub fn display<'a>(&'a self, root: &'a str) -> impl fmt::Display + 'a {
        DisplayError { error: &self.0, root }
    }
}

struct DisplayError<'a> {
    error: &'a Refusal,
    root: &'a str,
}

impl fmt::Display for DisplayError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { message, path, line, column, .. } = self.error;
        write!(f, "{}: {message} (line {line}, column {column})", path.display(self.root))
    }
}

/// The path under the root label `value`, the message, line and column.
impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display("value").fmt(f)
    }
}

impl Error for ParseError {}

/// Finished parts wait on two shared stacks until their container closes, which then takes exactly what it needs.
struct Parser<'a> {
    bytes: &'a [u8],
    /// Where the last event ended.
    end: usize,
    max_depth: usize,
    open: Vec<Open>,
    items: Vec<Json>,
    members: Vec<(Str, Json)>,
    names: Names,
}

/// A container whose closing bracket is still to come, and where its parts start on their stack.
enum Open {
    Array { start: usize },
    Object { start: usize, name: Option<Str> },
}

impl Parser<'_> {
    fn run(mut self) -> Result<Json, ParseError> {
        let mut tokens = LowLevelJsonParser::new().with_max_stack_size(usize::MAX);
        let mut root = Json::Null;
        loop {
            let step = tokens.parse_next(&self.bytes[self.end..], true);
            let from = self.end;
            self.end += step.consumed_bytes;
            let value = match step.event {
                // Does not happen at the end of input; asking again is harmless.
                None => continue,
                Some(Err(error)) => {
                    return Err(self.syntax_error(from, error.location().start.offset));
                }
                Some(Ok(JsonEvent::Eof)) => return Ok(root),
                Some(Ok(event)) => self.apply(event)?,
            };
            if let Some(value) = value
                && let Some(finished) = self.place(value)
            {
                root = finished;
            }
        }
    }

    /// What the event completes, if anything.
    fn apply(&mut self, event: JsonEvent<'_>) -> Result<Option<Json>, ParseError> {
        Ok(match event {
            JsonEvent::String(text) => Some(Json::String(text.into())),
            JsonEvent::Number(token) => Some(self.number(&token)?.into()),
            JsonEvent::Boolean(value) => Some(value.into()),
            JsonEvent::Null => Some(Json::Null),
            JsonEvent::StartArray => self.begin(Open::Array { start: self.items.len() })?,
            JsonEvent::StartObject => {
                self.begin(Open::Object { start: self.members.len(), name: None })?
            }
            JsonEvent::ObjectKey(text) => {
                let known = self.names.get(&text);
                if let Some(Open::Object { name, .. }) = self.open.last_mut() {
                    *name = Some(known);
                }
                None
            }
            JsonEvent::EndArray | JsonEvent::EndObject => self.close(),
            JsonEvent::Eof => None,
        })
    }

    fn number(&self, token: &str) -> Result<Number, ParseError> {
        Number::from_token(token).map_err(|fault| {
            self.refuse(ParseErrorKind::NotLossless, self.end - token.len(), fault.message(token))
        })
    }

    fn begin(&mut self, container: Open) -> Result<Option<Json>, ParseError> {
        if self.open.len() >= self.max_depth {
            let message =
                format!("more than {} brackets are open; send a flatter value", self.max_depth);
            return Err(self.refuse(ParseErrorKind::TooDeep, self.end - 1, message));
        }
        self.open.push(container);
        Ok(None)
    }

    fn close(&mut self) -> Option<Json> {
        Some(match self.open.pop()? {
            Open::Array { start } => {
                Json::Array(self.items.drain(start..).collect::<Vec<_>>().into())
            }
            Open::Object { start, .. } => {
                Json::Object(Object::from_members(self.members.drain(start..).collect()))
            }
        })
    }

    /// Puts a value into the container it belongs to; gives it back if it is the whole text.
    fn place(&mut self, value: Json) -> Option<Json> {
        match self.open.last_mut() {
            None => return Some(value),
            Some(Open::Array { .. }) => self.items.push(value),
            Some(Open::Object { name, .. }) => {
                self.members.push((name.take().unwrap_or_default(), value));
            }
        }
        None
    }

    fn syntax_error(&self, from: usize, offset: u64) -> ParseError {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(self.bytes.len());
        let (offset, message) = explain::fault(self.bytes, from, offset, self.open.last());
        self.refuse(ParseErrorKind::Syntax, offset, message)
    }

    #[cold]
    fn refuse(&self, kind: ParseErrorKind, offset: usize, message: String) -> ParseError {
        let before = String::from_utf8_lossy(&self.bytes[..offset]);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |text| text.chars().count()) + 1;
        ParseError(Box::new(Refusal { kind, message, path: self.path(), offset, line, column }))
    }

    /// The way to the value that is being read.
    fn path(&self) -> JsonPath {
        let mut items_end = self.items.len();
        let mut steps = Vec::with_capacity(self.open.len());
        for container in self.open.iter().rev() {
            match container {
                Open::Array { start } => {
                    steps.push(Step::Index(items_end - start));
                    items_end = *start;
                }
                Open::Object { name: Some(name), .. } => steps.push(Step::Name(name.clone())),
                Open::Object { name: None, .. } => {}
            }
        }
        steps.reverse();
        steps.into()
    }
}

/// Member names seen lately: rows of a table share their names instead of holding a copy each.
#[derive(Default)]
struct Names([Option<Str>; Names::SLOTS]);

impl Names {
    const SLOTS: usize = 32;

    fn get(&mut self, name: &str) -> Str {
        let bytes = name.as_bytes();
        let (first, last) =
            (bytes.first().copied().unwrap_or(0), bytes.last().copied().unwrap_or(0));
        let slot = &mut self.0
            [(bytes.len() * 5 + usize::from(first) * 3 + usize::from(last)) % Self::SLOTS];
        match slot {
            Some(known) if **known == *name => known.clone(),
            _ => slot.insert(name.into()).clone(),
        }
    }
}
