//! Pre-flight: what is certainly wrong with a program, told before it does anything.
//!
//! An engine parses a program and says, as [`CallSketch`]es, which calls it makes and what is known of their
//! arguments from the text alone. [`judge`] compares them with the schemas the program was shown, whatever its language.
//! `run_code` asks [`ProgramEngine::check`](crate::program::ProgramEngine::check) before it starts a program; with
//! findings the program is not started, and the failure lists [all of them](report).
//!
//! A finding says that its statement would certainly fail, and that nothing would catch it. What cannot be known is
//! passed over, and so is everything inside `try`, before a handler, or behind a test of the member. The one exception
//! is a call that stands alone as a statement and is not awaited: nobody would learn how it ended.

mod judge;
mod sketch;

use std::fmt;
use std::fmt::Write as _;

use callgate_schema::{Json, Object, Str};

use crate::program::{FailureKind, Lines, Position, ProgramFailure};
use crate::tool::ToolDefinition;

pub use judge::judge;
pub use sketch::{CallSketch, Extent, Sketch};

/// More findings than this are only counted.
const SHOWN: usize = 10;

/// What a program was shown of one tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolSignature {
    /// The member of `tools` that calls it.
    pub name: Str,
    /// The JSON Schema of its arguments.
    pub parameters: Json,
    /// Whether arguments that do not fit are certainly refused. If not, they are not judged.
    pub is_enforced: bool,
}

impl ToolSignature {
    /// A tool whose parameters are enforced.
    pub fn new(name: impl Into<Str>, parameters: Json) -> Self {
        Self { name: name.into(), parameters, is_enforced: true }
    }

    /// The same tool, with parameters that only inform.
    #[must_use]
    pub fn unenforced(mut self) -> Self {
        self.is_enforced = false;
        self
    }

    /// What a program is shown of a tool.
    pub fn of(definition: &ToolDefinition) -> Self {
        let tool = definition.tool();
        Self {
            name: tool.name.clone(),
            parameters: tool.parameters.clone(),
            is_enforced: tool.checked.is_some() || tool.enforces_parameters,
        }
    }
}

/// One thing that is certainly wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What kind of thing.
    pub kind: FindingKind,
    /// Where, in the author's text.
    pub position: Position,
    /// What is wrong, and what to write instead where that is known.
    pub message: String,
}

impl Finding {
    /// A finding.
    ///
    /// ```
    /// use callgate_core::preflight::{Finding, FindingKind};
    /// use callgate_core::program::Position;
    ///
    /// let at = Position { line: 3, column: 7 };
    /// let finding = Finding::new(FindingKind::Import, at, "a program has no modules to import");
    /// assert_eq!(finding.to_string(), "line 3, column 7: a program has no modules to import");
    /// ```
    pub fn new(kind: FindingKind, position: Position, message: impl Into<String>) -> Self {
        Self { kind, position, message: message.into() }
    }

    /// The record `{ kind, line, column, message }`.
    pub fn to_json(&self) -> Json {
        let record = Object::builder()
            .with("kind", self.kind.name())
            .with("line", self.position.line)
            .with("column", self.position.column)
            .with("message", self.message.as_str());
        record.build().into()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        write!(f, "line {line}, column {column}: {}", self.message)
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The kinds of findings, stable in name and meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum FindingKind {
            $($(#[$doc])* $variant,)*
        }

        impl FindingKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// The text is no program of its language, or needs what the engine does not have.
    Syntax = "syntax",
    /// An import that cannot work.
    Import = "import",
    /// A call of a tool that is not there.
    UnknownTool = "unknown-tool",
    /// An argument that must be given and is not.
    MissingArgument = "missing-argument",
    /// An argument that the tool does not take: mostly a misspelt name.
    UnknownArgument = "unknown-argument",
    /// A literal of the wrong type, outside its allowed values, or that cannot be passed at all.
    WrongArgument = "wrong-argument",
    /// An integer literal that the language would silently round.
    RoundedInteger = "rounded-integer",
    /// A call that stands alone as a statement and is not awaited.
    NotAwaited = "not-awaited",
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the author of a program reads: every finding with its place and the lines around it. Ends without a newline.
///
/// ```
/// use callgate_core::preflight::{Finding, FindingKind, report};
/// use callgate_core::program::Position;
///
/// let at = Position { line: 1, column: 13 };
/// let finding = Finding::new(FindingKind::UnknownTool, at, "`tools` has no `raed`; did you mean `read`?");
/// assert_eq!(
///     report("await tools.raed({})", &[finding]),
///     "1 problem was found before anything ran\n\
///      line 1, column 13: `tools` has no `raed`; did you mean `read`?\n\
///      > 1 | await tools.raed({})\n    |             ^"
/// );
/// ```
pub fn report(source: &str, findings: &[Finding]) -> String {
    let lines = Lines::new(source);
    let mut text = match findings.len() {
        1 => "1 problem was found before anything ran\n".to_owned(),
        count => format!("{count} problems were found before anything ran\n"),
    };
    for finding in findings.iter().take(SHOWN) {
        // Writing to a string cannot fail.
        let _written = writeln!(text, "{finding}");
        text.push_str(&lines.frame(finding.position));
    }
    if let more @ 1.. = findings.len().saturating_sub(SHOWN) {
        let _written = writeln!(text, "… and {more} more");
    }
    text.truncate(text.trim_end().len());
    text
}

/// The failure of a program that was not started because of what was found: at the first finding, with all of them in
/// its message.
pub fn failure(source: &str, findings: &[Finding]) -> ProgramFailure {
    let failure = ProgramFailure::new(FailureKind::Exception, report(source, findings));
    match findings.first() {
        Some(first) => failure.at(first.position),
        None => failure,
    }
}
