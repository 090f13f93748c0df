//! The matching lines found so far.

use std::io::{self, Read};

use callgate::{Json, ToolError, json};
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use crate::files::blocking::Watch;

/// The longest line that is shown whole, in characters.
const LONGEST_LINE: usize = 500;
/// How much of a longer line is shown before its match, in characters.
const BEFORE_MATCH: usize = 100;
/// The most bytes of lines and paths in one answer.
const MOST_BYTES: usize = 102_400;
/// The longest line that is searched, in bytes: searching needs it in memory.
const MOST_HEAP: usize = 16 << 20;

/// Searches files one after the other and keeps the first matching lines.
pub(in crate::files) struct Matches<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    watch: &'a Watch,
    limit: usize,
    files: Vec<Json>,
    kept: usize,
    bytes: usize,
    total: u64,
    is_full: bool,
}

/// What became of a file.
pub(in crate::files) enum Searched {
    Whole,
    Binary,
    Unreadable(io::Error),
}

impl<'a> Matches<'a> {
    pub(in crate::files) fn new(matcher: RegexMatcher, limit: usize, watch: &'a Watch) -> Self {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MOST_HEAP))
            .build();
        Self {
            matcher,
            searcher,
            watch,
            limit,
            files: Vec::new(),
            kept: 0,
            bytes: 0,
            total: 0,
            is_full: false,
        }
    }

    pub(super) fn watch(&self) -> &'a Watch {
        self.watch
    }

    /// Searches one file to its end. Of a file that turns out not to be text nothing is kept.
    pub(in crate::files) fn search(
        &mut self,
        path: &str,
        text: impl Read,
    ) -> Result<Searched, ToolError> {
        let mut found = InFile {
            matcher: &self.matcher,
            room: self.limit - self.kept,
            room_bytes: MOST_BYTES.saturating_sub(self.bytes + path.len()),
            is_full: self.is_full,
            lines: Vec::new(),
            bytes: 0,
            total: 0,
            is_binary: false,
        };
        let text = Watched { text, watch: self.watch };
        let outcome = self.searcher.search_reader(&self.matcher, text, &mut found);
        self.watch.check()?;
        if let Err(error) = outcome {
            return Ok(Searched::Unreadable(error));
        }
        if found.is_binary {
            return Ok(Searched::Binary);
        }
        self.total += found.total;
        self.is_full = found.is_full;
        if !found.lines.is_empty() {
            self.kept += found.lines.len();
            self.bytes += found.bytes + path.len();
            self.files.push(json!({ "path": path, "matches": found.lines }));
        }
        Ok(Searched::Whole)
    }

    pub(super) fn into_value(self, skipped: u64) -> Json {
        json!({ "files": self.files, "truncated": self.is_full, "total": self.total, "skipped": skipped })
    }
}

/// A text whose reading fails once the call is cancelled.
struct Watched<'a, R> {
    text: R,
    watch: &'a Watch,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.watch.check().map_err(|error| io::Error::other(error.to_string()))?;
        self.text.read(buffer)
    }
}

/// The matching lines of one file.
struct InFile<'a> {
    matcher: &'a RegexMatcher,
    room: usize,
    room_bytes: usize,
    is_full: bool,
    lines: Vec<Json>,
    bytes: usize,
    total: u64,
    is_binary: bool,
}

impl Sink for InFile<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.total += 1;
        self.is_full |= self.lines.len() == self.room;
        if self.is_full {
            return Ok(true);
        }
        let line = shown(found.bytes(), self.matcher);
        self.is_full = self.bytes + line.len() > self.room_bytes;
        if !self.is_full {
            self.bytes += line.len();
            let number = found.line_number().unwrap_or_default();
            self.lines.push(json!({ "lineNumber": number, "line": line }));
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }
}

/// A line without its break; a long one is cut so that the start of its first match is seen.
fn shown(bytes: &[u8], matcher: &RegexMatcher) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let line = String::from_utf8_lossy(bytes);
    let Some((longest, _)) = line.char_indices().nth(LONGEST_LINE) else {
        return line.into_owned();
    };
    let start = match match_start(&line, matcher) {
        Some(start) if start >= longest => back(&line, start, BEFORE_MATCH),
        _ => 0,
    };
    let rest = &line[start..];
    let end = rest.char_indices().nth(LONGEST_LINE).map_or(rest.len(), |(end, _)| end);
    let (before, after) =
        (if start > 0 { "…" } else { "" }, if end < rest.len() { "…" } else { "" });
    let length = line.chars().count();
    format!("{before}{}{after} [cut: the line has {length} characters]", &rest[..end])
}

fn match_start(line: &str, matcher: &RegexMatcher) -> Option<usize> {
    let found = matcher.find(line.as_bytes()).ok().flatten()?;
    Some(line.floor_char_boundary(found.start()))
}

/// The place so many characters before another, or the start.
fn back(line: &str, from: usize, characters: usize) -> usize {
    line[..from].char_indices().rev().nth(characters - 1).map_or(0, |(place, _)| place)
}
