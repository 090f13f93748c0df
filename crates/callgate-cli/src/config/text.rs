//! The text of a configuration file: its lines, and places in them.

use std::fs::File;
use std::ops::Range;

use super::locate::Location;
use crate::failure::Failure;
use crate::input::read_text;

/// The widest part of a line that a message shows, in characters.
const WIDEST: usize = 100;

/// The text of a configuration file.
#[derive(Debug)]
pub(super) struct Text {
    name: String,
    source: String,
    /// Where each line starts.
    lines: Vec<usize>,
}

impl Text {
    /// Reads the file, which must be UTF-8.
    pub(super) fn read(location: &Location) -> Result<Self, Failure> {
        let name = location.path.display().to_string();
        if let Some(text) = &location.text {
            return Ok(Self::new(name, text.clone()));
        }
        let text =
            File::open(&location.path).map_err(|error| error.to_string()).and_then(read_text);
        match text {
            Ok(source) => Ok(Self::new(name, source)),
            Err(reason) => {
                let origin = location.origin();
                let message =
                    format!("the configuration `{name}`{origin} cannot be read: {reason}");
                Err(Failure::config(message))
            }
        }
    }

    fn new(name: String, mut source: String) -> Self {
        if source.starts_with('\u{feff}') {
            source.remove(0);
        }
        let starts = source.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        Self { name, source, lines }
    }

    /// The file as messages call it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// The line of a byte, counted from one.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset)
    }

    /// Line and column of a byte, counted from one, columns in characters.
    pub(super) fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.line(offset);
        let before = &self.source[self.lines[line - 1]..self.source.floor_char_boundary(offset)];
        (line, before.chars().count() + 1)
    }

    /// The line in which a span starts, with a mark under the span.
    pub(super) fn frame(&self, span: &Range<usize>) -> String {
        let start = self.source.floor_char_boundary(span.start);
        let (number, column) = self.position(start);
        let line = self.source[self.lines[number - 1]..].lines().next().unwrap_or_default();
        let skipped = if column <= WIDEST { 0 } else { column - WIDEST / 2 };
        let shown: String = line
            .chars()
            .skip(skipped)
            .take(WIDEST)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let indent = column - 1 - skipped;
        let rest = line.chars().count().saturating_sub(column - 1).max(1);
        let spanned = self.source[start..]
            .get(..span.end.saturating_sub(start))
            .map_or(1, |spanned| spanned.chars().count());
        let marks = spanned.clamp(1, rest).min(WIDEST.saturating_sub(indent).max(1));
        let margin = " ".repeat(number.to_string().len());
        let shown = shown.trim_end();
        format!(" {number} | {shown}\n {margin} | {}{}", " ".repeat(indent), "^".repeat(marks))
    }
}
