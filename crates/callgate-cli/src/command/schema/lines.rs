//! Lines of a file or of standard input, none longer than it should be.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::request::Refusal;
use crate::failure::Failure;
use crate::input::LONGEST;
use crate::source::open_file;

pub(super) struct Lines {
    input: Box<dyn BufRead>,
    number: u64,
}

impl Lines {
    /// The lines of a file; without one, and for `-`, those of standard input.
    pub(super) fn open(file: Option<&Path>) -> Result<Self, Failure> {
        let input: Box<dyn BufRead> = match file {
            Some(path) if path.as_os_str() != "-" => {
                Box::new(BufReader::new(open_file(path, "a file of JSON objects, one a line")?))
            }
            _ => Box::new(io::stdin().lock()),
        };
        Ok(Self { input, number: 0 })
    }

    /// The number of the last line, counted from one.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line that is not empty. A line that cannot be used is refused, and the next one can be read all the
    /// same.
    pub(super) fn next_line(&mut self) -> Result<Option<Result<String, Refusal>>, Failure> {
        loop {
            let mut bytes = Vec::new();
            let unreadable = |error: io::Error| {
                Failure::failed("input", format!("the lines cannot be read further: {error}"))
            };
            let mut start = self.input.by_ref().take(LONGEST + 1);
            start.read_until(b'\n', &mut bytes).map_err(unreadable)?;
            if bytes.is_empty() {
                return Ok(None);
            }
            self.number += 1;
            if bytes.len() as u64 > LONGEST && !bytes.ends_with(b"\n") {
                self.skip_line().map_err(unreadable)?;
                let message =
                    format!("the line is longer than {LONGEST} bytes; send a shorter one");
                return Ok(Some(Err(Refusal::new("too_long", message))));
            }
            if !bytes.trim_ascii().is_empty() {
                bytes.truncate(bytes.trim_ascii_end().len());
                return Ok(Some(String::from_utf8(bytes).map_err(|error| {
                    let at = error.utf8_error().valid_up_to() + 1;
                    Refusal::new("not_utf8", format!("the line is not UTF-8 at byte {at}"))
                })));
            }
        }
    }

    /// Reads up to the end of the line and keeps nothing.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let read = self.input.fill_buf()?;
            let (used, is_over) = match read.iter().position(|byte| *byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (read.len(), read.is_empty()),
            };
            self.input.consume(used);
            if is_over {
                return Ok(());
            }
        }
    }
}
