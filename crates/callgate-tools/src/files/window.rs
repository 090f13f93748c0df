//! A window of lines out of a text of any size, in bounded memory.

use std::io::{self, Read};

use callgate::ToolError;

use super::blocking::Watch;

/// The longest line that is shown whole, in characters.
pub(super) const LONGEST_LINE: usize = 2_000;
/// The largest window, in bytes of its lines with one more for each line break.
pub(super) const MOST_BYTES: usize = 51_200;
/// How much is read at once; between two reads the work can be stopped.
const CHUNK: usize = 64 * 1_024;

/// A line of the window, with its number counted from 1.
#[derive(Debug, PartialEq)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) text: String,
}

/// Lines of a text, and how many it has.
#[derive(Debug)]
pub(super) struct Window {
    offset: u64,
    limit: usize,
    pub(super) lines: Vec<Line>,
    pub(super) total_lines: u64,
    bytes: usize,
    is_full: bool,
    line: Partial,
}

/// Why there is no window.
#[derive(Debug)]
pub(super) enum Unusable {
    /// Binary, or not in UTF-8.
    NotText,
    Unreadable(io::Error),
    Stopped(ToolError),
}

/// The line being read.
#[derive(Debug, Default)]
struct Partial {
    /// As much of it as may be needed: one character more than is shown.
    text: String,
    characters: usize,
    /// Whether there was more of it.
    is_longer: bool,
    ends_with_return: bool,
    is_started: bool,
}

impl Window {
    /// Reads a text to its end and keeps at most `limit` lines from line `offset` on.
    pub(super) fn read(
        mut text: impl Read,
        offset: u64,
        limit: usize,
        watch: &Watch,
    ) -> Result<Self, Unusable> {
        let mut window = Self {
            offset,
            limit,
            lines: Vec::new(),
            total_lines: 0,
            bytes: 0,
            is_full: false,
            line: Partial::default(),
        };
        let mut buffer = vec![0; CHUNK];
        let mut held = 0; // bytes of a character that is not complete yet
        let mut is_start = true;
        loop {
            watch.check().map_err(Unusable::Stopped)?;
            let read = match text.read(&mut buffer[held..]) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Unusable::Unreadable(error)),
            };
            let filled = held + read;
            let valid = valid_text(&buffer[..filled])?;
            let skip =
                if is_start && valid.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
            is_start &= valid.is_empty();
            window.feed(&valid[skip..]);
            let valid = valid.len();
            buffer.copy_within(valid..filled, 0);
            held = filled - valid;
            if read == 0 {
                return if held == 0 { Ok(window.finish()) } else { Err(Unusable::NotText) };
            }
        }
    }

    fn feed(&mut self, mut text: &str) {
        while let Some((line, rest)) = text.split_once('\n') {
            self.extend(line);
            self.end_line();
            text = rest;
        }
        self.extend(text);
    }

    fn finish(mut self) -> Self {
        if self.line.is_started {
            self.end_line();
        }
        self
    }

    fn extend(&mut self, text: &str) {
        if self.is_wanted() {
            self.line.extend(text);
        } else {
            self.line.is_started |= !text.is_empty();
        }
    }

    fn is_wanted(&self) -> bool {
        !self.is_full && self.total_lines + 1 >= self.offset
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let is_wanted = self.is_wanted();
        self.total_lines += 1;
        if !is_wanted {
            return;
        }
        let text = line.finish();
        self.bytes += text.len() + 1;
        if self.bytes > MOST_BYTES {
            self.is_full = true;
            return;
        }
        self.lines.push(Line { number: self.total_lines, text });
        self.is_full = self.lines.len() == self.limit;
    }
}

impl Partial {
    fn extend(&mut self, text: &str) {
        self.is_started |= !text.is_empty();
        if let Some(last) = text.chars().next_back() {
            self.ends_with_return = last == '\r';
        }
        for character in text.chars() {
            if self.characters > LONGEST_LINE {
                self.is_longer = true;
                return;
            }
            self.text.push(character);
            self.characters += 1;
        }
    }

    /// The line as it is shown: without one carriage return at its end, and not too long.
    fn finish(mut self) -> String {
        if self.ends_with_return && !self.is_longer {
            self.text.pop();
            self.characters -= 1;
        }
        if self.characters > LONGEST_LINE {
            self.text.pop();
            return format!("{}… [line cut at {LONGEST_LINE} characters]", self.text);
        }
        self.text
    }
}

/// The whole characters at the start of the bytes, if they are the start of a text.
fn valid_text(bytes: &[u8]) -> Result<&str, Unusable> {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_some() => return Err(Unusable::NotText),
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    if valid.contains('\0') { Err(Unusable::NotText) } else { Ok(valid) }
}
