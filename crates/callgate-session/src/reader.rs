//! [`LogReader`]: reads a stored log line by line.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use callgate_schema::{Json, ParseError, ParseErrorKind, ParseOptions};

use crate::event::Event;
use crate::form::{Field, FormError};
use crate::header::SessionHeader;
use crate::surface::Envelope;

/// How many brackets may be open in a line: what a value may have, and what an event puts around it.
pub(crate) const LINE_DEPTH: usize = callgate_schema::json::DEPTH_LIMIT + 16;

/// Streams the events of a stored log.
///
/// Iteration ends where there is no further complete event. If the log has grown since, iterating on goes on, which is how
/// a live log is followed; what is there of an incomplete last line is its [`torn_tail`](Self::torn_tail).
///
/// ```
/// use callgate_session::LogReader;
///
/// let log = "{\"type\":\"session\",\"version\":0,\"id\":\"s-1\",\"createdAt\":5}\n\
///            {\"type\":\"turn/start\",\"seq\":0,\"time\":6,\"data\":{\"turn\":1}}\n\
///            {\"type\":\"turn/en";
/// let mut reader = LogReader::new(log.as_bytes()).unwrap();
/// let kinds: Vec<String> = reader.by_ref().map(|event| event.unwrap().kind().to_owned()).collect();
/// assert_eq!(kinds, ["turn/start"]);
/// assert_eq!(reader.torn_tail().unwrap(), b"{\"type\":\"turn/en");
/// ```
#[derive(Debug)]
pub struct LogReader<R> {
    input: R,
    header: SessionHeader,
    lines: Lines,
}

impl LogReader<BufReader<File>> {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read or its first line is no header of a version this crate knows.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(ReadError::of_input)?;
        Self::new(BufReader::new(file))
    }
}

impl<R: BufRead> LogReader<R> {
    /// Reads the header and gets ready for the events.
    ///
    /// # Errors
    ///
    /// If the input cannot be read or its first line is no header of a version this crate knows.
    pub fn new(mut input: R) -> Result<Self, ReadError> {
        let mut lines = Lines::default();
        let header = lines.next::<SessionHeader>(&mut input).unwrap_or_else(|| {
            Err(lines.error(ReadProblem::Form(FormError::new(
                "the log ends inside its header, so it holds no event",
            ))))
        })?;
        Ok(Self { input, header, lines })
    }

    /// What the log says about itself.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// The bytes after the last complete line, if there are any.
    pub fn torn_tail(&self) -> Option<&[u8]> {
        let tail = &self.lines.pending;
        (!tail.is_empty()).then_some(tail)
    }

    /// How many bytes the lines read so far have.
    pub fn offset(&self) -> u64 {
        self.lines.offset
    }

    /// Whether the last line read lacks its line break.
    pub(crate) fn lacks_line_break(&self) -> bool {
        self.lines.owes_break
    }

    /// Whether nothing comes after the lines read so far.
    pub(crate) fn is_at_end(&mut self) -> Result<bool, ReadError> {
        match self.input.fill_buf() {
            Ok(rest) => Ok(self.lines.pending.is_empty() && rest.is_empty()),
            Err(error) => Err(self.lines.error(ReadProblem::Io(Arc::new(error)))),
        }
    }

    /// Checks the event of the line that was read last and that starts at `offset`.
    pub(crate) fn check(
        &self,
        envelope: &mut Envelope,
        event: &Event,
        offset: u64,
    ) -> Result<(), ReadError> {
        let checked = envelope.check(event).map(|()| envelope.advance(event));
        checked.map_err(|problem| ReadError {
            line: self.lines.count,
            offset,
            problem: ReadProblem::Form(FormError::new(problem)),
        })
    }
}

impl<R: BufRead> Iterator for LogReader<R> {
    type Item = Result<Event, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.lines.next(&mut self.input)
    }
}

/// Where reading stands.
#[derive(Debug, Default)]
struct Lines {
    /// How many lines were read.
    count: u64,
    /// Where the next line starts.
    offset: u64,
    /// The bytes of a line whose end has not been seen.
    pending: Vec<u8>,
    /// Whether the last line was complete but for its line break.
    owes_break: bool,
}

impl Lines {
    /// The next complete line, read as a `T`.
    fn next<T: Field>(&mut self, input: &mut impl BufRead) -> Option<Result<T, ReadError>> {
        if let Err(error) = input.read_until(b'\n', &mut self.pending) {
            return Some(Err(self.error(ReadProblem::Io(Arc::new(error)))));
        }
        if self.owes_break && self.pending == b"\n" {
            self.owes_break = false;
            self.take();
            return self.next_line(input);
        }
        self.finish()
    }

    fn next_line<T: Field>(&mut self, input: &mut impl BufRead) -> Option<Result<T, ReadError>> {
        if let Err(error) = input.read_until(b'\n', &mut self.pending) {
            return Some(Err(self.error(ReadProblem::Io(Arc::new(error)))));
        }
        self.finish()
    }

    /// Reads the pending bytes as a `T`, if they are a whole line.
    fn finish<T: Field>(&mut self) -> Option<Result<T, ReadError>> {
        if self.pending.is_empty() {
            return None;
        }
        let is_terminated = self.pending.ends_with(b"\n");
        let json = match parse_line(&self.pending) {
            Err(_) if !is_terminated => return None,
            parsed => parsed.map_err(ReadProblem::Json),
        };
        let read = json.and_then(|json| T::read(&json).map_err(ReadProblem::Form));
        let read = read.map_err(|problem| self.error(problem));
        self.take();
        self.count += 1;
        self.owes_break = !is_terminated;
        Some(read)
    }

    fn take(&mut self) {
        self.offset += self.pending.len() as u64;
        self.pending.clear();
    }

    #[cold]
    fn error(&self, problem: ReadProblem) -> ReadError {
        ReadError { line: self.count + 1, offset: self.offset, problem }
    }
}

pub(crate) fn parse_line(line: &[u8]) -> Result<Json, ParseError> {
    ParseOptions::new().max_depth(LINE_DEPTH).parse_slice(line)
}

/// Why a stored log cannot be read, and where.
#[derive(Clone, Debug)]
pub struct ReadError {
    line: u64,
    offset: u64,
    problem: ReadProblem,
}

#[derive(Clone, Debug)]
enum ReadProblem {
    Io(Arc<io::Error>),
    Json(ParseError),
    Form(FormError),
}

impl ReadError {
    /// The input cannot be read from its first line on.
    pub(crate) fn of_input(error: io::Error) -> Self {
        Self { line: 1, offset: 0, problem: ReadProblem::Io(Arc::new(error)) }
    }

    /// The line, counted from one; the first is the header.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Where the line starts, in bytes from the start of the log.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The failure of the input, if that is the reason.
    pub fn io_error(&self) -> Option<&io::Error> {
        match &self.problem {
            ReadProblem::Io(error) => Some(error),
            _ => None,
        }
    }

    /// Whether the line is not JSON at all, as a line is that was not written to its end.
    pub(crate) fn is_broken_json(&self) -> bool {
        matches!(&self.problem, ReadProblem::Json(error) if error.kind() == ParseErrorKind::Syntax)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line;
        match &self.problem {
            ReadProblem::Io(error) => write!(f, "line {line} cannot be read: {error}"),
            ReadProblem::Json(error) => {
                write!(f, "line {line}, column {}: {}", error.column(), error.message())
            }
            ReadProblem::Form(error) => write!(f, "line {line}: {error}"),
        }
    }
}

impl std::error::Error for ReadError {}
