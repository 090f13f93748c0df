//! What is wrong with a configuration, and where.

use std::fmt::Write as _;
use std::ops::Range;

use super::text::Text;

/// Something wrong at a place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    message: String,
    span: Range<usize>,
}

impl Problem {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { message: message.into(), span }
    }

    /// Where it starts, in bytes.
    pub(super) fn start(&self) -> usize {
        self.span.start
    }

    /// For the end of everything: the message, the place, and the line itself with a mark under it.
    pub(super) fn in_text(&self, text: &Text) -> String {
        let (line, column) = text.position(self.span.start);
        let mut shown = format!("{}, line {line}, column {column}: {}", text.name(), self.message);
        // Writing to a string cannot fail.
        let _written = write!(shown, "\n{}", text.frame(&self.span));
        shown
    }

    /// For a warning: the message and the place, on one line.
    pub(super) fn on_one_line(&self, text: &Text) -> String {
        let line = text.line(self.span.start);
        format!("{}, line {line}: {}", text.name(), self.message)
    }
}
