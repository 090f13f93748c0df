//! Pieces of text with a known width on the screen.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::terminal::visible;

/// How many columns a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// The text, cut with an ellipsis if it takes more columns than there are.
pub(super) fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let fitting = text.chars().take_while(|c| {
        let width = c.width().unwrap_or(0);
        let fits = width <= room;
        room = room.saturating_sub(width);
        fits
    });
    let mut cut: String = fitting.collect();
    if columns > 0 {
        cut.push('…');
    }
    cut
}

/// The text on one line, with every control character in sight.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    visible(&line)
}

/// Spaces that fill a text up to a number of columns.
pub(super) fn padding(text: &str, columns: usize) -> String {
    " ".repeat(columns.saturating_sub(width(text)))
}
