//! What a text alone tells about the calls of a program.

use callgate_schema::{Json, Str};

use crate::program::Position;

/// How deep a sketch goes; what is below is not known.
const DEPTH: u16 = 64;

/// One call of a program, as its text shows it.
///
/// The two `certain` flags are what keeps valid programs running: an engine sets one only if nothing in the program
/// could catch or avoid that failure.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallSketch {
    /// The global object: `tools`.
    pub global: Str,
    /// The member that is called.
    pub member: Str,
    /// Where the member is named.
    pub position: Position,
    /// What is passed, if anything is. `None` if it cannot be told whether something is passed.
    pub argument: Option<Sketch>,
    /// Whether the program certainly fails here if there is no such member.
    pub is_lookup_certain: bool,
    /// Whether the program certainly fails here if the arguments are refused.
    pub is_refusal_certain: bool,
    /// Whether the call stands alone as a statement, and nothing waits for its end.
    pub is_forgotten: bool,
}

impl CallSketch {
    /// A call of `global.member(…)` of which nothing else is certain.
    pub fn new(global: impl Into<Str>, member: impl Into<Str>, position: Position) -> Self {
        Self {
            global: global.into(),
            member: member.into(),
            position,
            argument: None,
            is_lookup_certain: false,
            is_refusal_certain: false,
            is_forgotten: false,
        }
    }
}

/// What is known of a value from the text that makes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketch {
    pub(super) at: Position,
    pub(super) known: Known,
    depth: u16,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Known {
    Nothing,
    Absent,
    Scalar(Json),
    Text,
    Number,
    Boolean,
    List { items: Vec<Sketch>, is_open: bool },
    Object { members: Vec<SketchMember>, is_open: bool },
    Unfit(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct SketchMember {
    pub(super) name: Str,
    pub(super) at: Position,
    pub(super) value: Sketch,
}

/// Whether a list or an object may have more than what is known of it: a spread, a computed name, an `if`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "all is known, or not")]
pub enum Extent {
    /// Nothing else is in it.
    Complete,
    /// Anything else may be in it. What is listed is certain all the same.
    Open,
}

impl Sketch {
    fn of(at: Position, known: Known) -> Self {
        Self { at, known, depth: 0 }
    }

    /// Some value.
    pub fn unknown(at: Position) -> Self {
        Self::of(at, Known::Nothing)
    }

    /// No value at all: nothing was passed, or what counts as nothing.
    pub fn absent(at: Position) -> Self {
        Self::of(at, Known::Absent)
    }

    /// Null, a boolean, a number or a string. Of a list or an object nothing is known this way.
    pub fn scalar(at: Position, value: impl Into<Json>) -> Self {
        match value.into() {
            Json::Array(_) | Json::Object(_) => Self::unknown(at),
            scalar => Self::of(at, Known::Scalar(scalar)),
        }
    }

    /// A string whose content is not known.
    pub fn text(at: Position) -> Self {
        Self::of(at, Known::Text)
    }

    /// A number that is not known.
    pub fn number(at: Position) -> Self {
        Self::of(at, Known::Number)
    }

    /// A boolean that is not known.
    pub fn boolean(at: Position) -> Self {
        Self::of(at, Known::Boolean)
    }

    /// A list that begins with these items.
    pub fn list(at: Position, items: Vec<Self>, extent: Extent) -> Self {
        let depth = items.iter().map(|item| item.depth).max().unwrap_or(0) + 1;
        if depth > DEPTH {
            return Self::unknown(at);
        }
        let is_open = extent == Extent::Open;
        Self { at, known: Known::List { items, is_open }, depth }
    }

    /// An object with these members: name, place of the name, value. Of a name that comes twice the last one counts.
    pub fn object(at: Position, members: Vec<(Str, Position, Self)>, extent: Extent) -> Self {
        let depth = members.iter().map(|(_, _, value)| value.depth).max().unwrap_or(0) + 1;
        if depth > DEPTH {
            return Self::unknown(at);
        }
        let members = members.into_iter().map(|(name, at, value)| SketchMember { name, at, value });
        let is_open = extent == Extent::Open;
        Self { at, known: Known::Object { members: members.collect(), is_open }, depth }
    }

    /// Whether it is no value at all.
    pub fn is_absent(&self) -> bool {
        self.known == Known::Absent
    }

    /// Whether it is certainly a string.
    pub fn is_text(&self) -> bool {
        matches!(self.known, Known::Text | Known::Scalar(Json::String(_)))
    }

    /// A value that can never be passed, and why: a function, `NaN`, an integer beyond 64 bits.
    pub fn unfit(at: Position, why: impl Into<String>) -> Self {
        Self::of(at, Known::Unfit(why.into()))
    }
}
