//! Lines of a program text: positions, and the frames that show them.

use super::Position;

/// The widest part of a line that a frame shows.
const WIDTH: usize = 120;

/// The lines of a program text.
///
/// ```
/// use callgate_core::program::{Lines, Position};
///
/// let lines = Lines::new("const a = 1;\nconst b = ;\n");
/// let at = lines.position(23);
/// assert_eq!(at, Position { line: 2, column: 11 });
/// assert_eq!(lines.frame(at), "  1 | const a = 1;\n> 2 | const b = ;\n    |           ^\n");
/// ```
#[derive(Debug)]
pub struct Lines<'a> {
    source: &'a str,
}

impl<'a> Lines<'a> {
    /// The lines of that text.
    pub fn new(source: &'a str) -> Self {
        Self { source }
    }

    /// The place of a byte offset; an offset past the end is the end.
    pub fn position(&self, offset: usize) -> Position {
        let mut end = offset.min(self.source.len());
        while !self.source.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.source[..end];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Position {
            line: count(before.matches('\n').count()),
            column: count(before[start..].chars().count()),
        }
    }

    /// The place of a line and a column of bytes, both from 1, as an interpreter reports them. What comes after the last
    /// line is its end.
    pub fn position_of_bytes(&self, line: u32, column: u32) -> Position {
        let (line, column) =
            if line > self.len() { (self.len(), u32::MAX) } else { (line, column) };
        let text = self.line(line).unwrap_or_default();
        let mut end = (column.saturating_sub(1) as usize).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Position { line, column: count(text[..end].chars().count()) }
    }

    /// What stands before and after a place in its line.
    pub fn around(&self, at: Position) -> (&'a str, &'a str) {
        let line = self.line(at.line).unwrap_or_default();
        let column = at.column.saturating_sub(1) as usize;
        line.split_at(line.char_indices().nth(column).map_or(line.len(), |(byte, _)| byte))
    }

    /// How many lines there are.
    fn len(&self) -> u32 {
        count(self.source.matches('\n').count())
    }

    /// The line of that number, and the ones next to it, with a mark under the column. Ends with a newline.
    pub fn frame(&self, at: Position) -> String {
        let mut frame = String::new();
        let digits = (at.line + 1).to_string().len();
        let first = at.line.saturating_sub(1).max(1);
        for number in first..=at.line.saturating_add(1) {
            let Some(text) = self.line(number) else { break };
            if number != at.line && text.trim().is_empty() {
                continue;
            }
            let (shown, column) = window(text, at.column);
            let mark = if number == at.line { '>' } else { ' ' };
            let row = format!("{mark} {number:digits$} | {}\n", shown.trim_end());
            frame.push_str(&row);
            if number == at.line {
                let indent: String = shown
                    .chars()
                    .take(column)
                    .map(|c| if c == '\t' { '\t' } else { ' ' })
                    .collect();
                let pointer = format!("  {:digits$} | {indent}^\n", "");
                frame.push_str(&pointer);
            }
        }
        frame
    }

    fn line(&self, number: u32) -> Option<&'a str> {
        let line = self.source.split('\n').nth(number.checked_sub(1)? as usize)?;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }
}

/// The part of a line around a column, and where that column, from 0, is in the part.
fn window(line: &str, column: u32) -> (&str, usize) {
    let column = column.saturating_sub(1) as usize;
    let skipped = if column < WIDTH { 0 } else { column - WIDTH / 2 };
    let at = |chars: usize| line.char_indices().nth(chars).map_or(line.len(), |(byte, _)| byte);
    (&line[at(skipped)..at(skipped + WIDTH)], column - skipped)
}

/// A count that starts at one, in the width positions have.
fn count(before: usize) -> u32 {
    u32::try_from(before).unwrap_or(u32::MAX - 1).saturating_add(1)
}
