//! [`Event`]: one entry of a session log, and [`Draft`]: one that is not in the log yet.

mod body;

use std::ops::RangeInclusive;
use std::sync::Arc;

use callgate_schema::{Json, Str};

pub use body::*;

use crate::form::{Field, Fields, FormError, Members};

/// One entry of a session log.
///
/// Its JSON form is one line:
///
/// ```
/// use callgate_session::{Event, TurnStart};
///
/// let event = Event::new(0, 1_700_000_000_000, TurnStart { turn: 1 });
/// let line = r#"{"type":"turn/start","seq":0,"time":1700000000000,"data":{"turn":1}}"#;
/// assert_eq!(event.to_string(), line);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The position in the log: 0, 1, 2 …
    pub seq: u64,
    /// When it was appended, in milliseconds since 1970.
    pub time: u64,
    /// What happened.
    pub body: EventBody,
    /// What it does to the surface, for the three kinds of event that are on it.
    pub surface_op: Option<SurfaceOp>,
    /// The earlier events it is made from.
    pub source_event_seqs: Option<Arc<[u64]>>,
    /// Whether a reader that does not know its type may skip it.
    pub ignorable: bool,
}

impl Event {
    /// An event as [`Session::append`](crate::Session::append) would make it.
    pub fn new(seq: u64, time: u64, draft: impl Into<Draft>) -> Self {
        let Draft { body, surface_op, source_event_seqs, ignorable } = draft.into();
        Self { seq, time, body, surface_op, source_event_seqs, ignorable }
    }

    /// The type as it stands in the log, such as `tool/call`.
    pub fn kind(&self) -> &str {
        self.body.kind()
    }

    /// Prints the JSON form and a line break.
    pub(crate) fn print_line(&self, out: &mut String) {
        self.print(out);
        out.push('\n');
    }

    /// Reads the form that [`Display`](std::fmt::Display) prints.
    ///
    /// # Errors
    ///
    /// If it is no event, or one of an unknown type that is not marked as ignorable.
    pub fn from_json(json: &Json) -> Result<Self, FormError> {
        Self::read(json)
    }
}

/// Prints the JSON form: one line.
impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        self.print(&mut out);
        f.write_str(&out)
    }
}

const MEMBERS: &[&str] =
    &["type", "seq", "time", "data", "surfaceOp", "sourceEventSeqs", "ignorable"];

impl Field for Event {
    fn read(json: &Json) -> Result<Self, FormError> {
        let fields = Fields::of(json, MEMBERS)?;
        let ignorable = fields.flag("ignorable")?;
        let kind: Str = fields.take("type")?;
        let body = EventBody::read(kind, &fields.take::<Json>("data")?, ignorable)?;
        Ok(Self {
            seq: fields.take("seq")?,
            time: fields.take("time")?,
            body,
            surface_op: fields.take("surfaceOp")?,
            source_event_seqs: fields.take("sourceEventSeqs")?,
            ignorable,
        })
    }

    fn print(&self, out: &mut String) {
        let mut members = Members::open(out);
        members.name("type").push_str(&Json::String(self.kind().into()).to_string());
        members.put("seq", &self.seq);
        members.put("time", &self.time);
        self.body.print(members.name("data"));
        members.put("surfaceOp", &self.surface_op);
        members.put("sourceEventSeqs", &self.source_event_seqs);
        members.flag("ignorable", self.ignorable);
        members.close();
    }
}

/// What an event does to the surface, the part of a log that derives to messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SurfaceOp {
    /// Adds it at the end: `"append"`.
    Append,
    /// Puts it in the place of a range of the surface: `{"replace": [first, last]}`.
    Replace {
        /// The event the range starts with.
        first: u64,
        /// The event the range ends with, itself included.
        last: u64,
    },
}

impl Field for SurfaceOp {
    fn read(json: &Json) -> Result<Self, FormError> {
        if json.as_str() == Some("append") {
            return Ok(Self::Append);
        }
        if json.as_object().is_none() {
            return Err(FormError::new("must be `append` or `{\"replace\": [first, last]}`"));
        }
        let range: Arc<[u64]> = Fields::of(json, &["replace"])?.take("replace")?;
        match *range {
            [first, last] => Ok(Self::Replace { first, last }),
            _ => Err(FormError::new("must be two sequence numbers").within("replace")),
        }
    }

    fn print(&self, out: &mut String) {
        match self {
            Self::Append => out.push_str("\"append\""),
            Self::Replace { first, last } => {
                let mut members = Members::open(out);
                members.put("replace", &Arc::<[u64]>::from([*first, *last]));
                members.close();
            }
        }
    }
}

/// An event before the log has given it a number and a time.
///
/// Every [`EventBody`], and every struct of one, turns into a draft by itself; a draft is written out only to cite
/// earlier events or to replace a part of the surface.
///
/// ```
/// use callgate_session::{Draft, TurnStart};
///
/// let draft = Draft::new(TurnStart { turn: 1 }).citing([4]);
/// assert_eq!(draft.source_event_seqs.as_deref(), Some(&[4][..]));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Draft {
    /// What happened.
    pub body: EventBody,
    /// What it does to the surface: an append for the kinds that are on it.
    pub surface_op: Option<SurfaceOp>,
    /// The earlier events it is made from.
    pub source_event_seqs: Option<Arc<[u64]>>,
    /// Whether a reader that does not know its type may skip it.
    pub ignorable: bool,
}

impl Draft {
    /// A draft that is appended to the surface if its kind belongs there, cites nothing, and is ignorable if its kind is.
    pub fn new(body: impl Into<EventBody>) -> Self {
        let body = body.into();
        let surface_op = body.is_on_surface().then_some(SurfaceOp::Append);
        let ignorable = body.is_ignorable();
        Self { body, surface_op, source_event_seqs: None, ignorable }
    }

    /// The same draft, naming the events it is made from.
    #[must_use]
    pub fn citing(self, seqs: impl IntoIterator<Item = u64>) -> Self {
        Self { source_event_seqs: Some(seqs.into_iter().collect()), ..self }
    }

    /// The same draft, taking the place of a range of the surface, both ends included.
    #[must_use]
    pub fn replacing(self, range: RangeInclusive<u64>) -> Self {
        let (first, last) = range.into_inner();
        Self { surface_op: Some(SurfaceOp::Replace { first, last }), ..self }
    }
}

impl<T: Into<EventBody>> From<T> for Draft {
    fn from(body: T) -> Self {
        Self::new(body)
    }
}
