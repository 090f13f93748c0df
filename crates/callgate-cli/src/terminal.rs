//! What is said on standard error, and how standard output is written.

use std::io::{self, BufWriter, StdoutLock, Write};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::look::{Colors, Look, Paint};

/// The two streams of the process, as the person at the other end wants them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    /// How standard output is dressed.
    pub(crate) look: Look,
    /// How standard error is dressed.
    pub(crate) error_look: Look,
    /// Whether a line of standard error can be written over.
    pub(crate) can_redraw: bool,
    is_quiet: bool,
}

impl Terminal {
    pub(crate) fn new(colors: Colors, is_quiet: bool, environment: &Environment) -> Self {
        let (look, error_look) = (Look::of_stdout(colors), Look::of_stderr(colors));
        let can_redraw = error_look.is_terminal && !environment.has_dumb_terminal;
        Self { look, error_look, can_redraw, is_quiet }
    }

    /// Whether only what is wrong is said on standard error.
    pub(crate) fn is_quiet(self) -> bool {
        self.is_quiet
    }

    /// Something is wrong, and the command ends.
    pub(crate) fn error(self, message: &str) {
        self.say(Paint::Bad, "error", message);
    }

    /// Something is probably not meant as it is.
    pub(crate) fn warning(self, message: &str) {
        self.say(Paint::Warning, "warning", message);
    }

    /// Good to know.
    pub(crate) fn note(self, message: &str) {
        if !self.is_quiet {
            self.say(Paint::Heading, "note", message);
        }
    }

    fn say(self, paint: Paint, label: &str, message: &str) {
        let label = self.error_look.paint(paint, label);
        let message =
            if self.error_look.is_terminal { visible(message) } else { message.to_owned() };
        // A line of progress may stand there.
        let erase = if self.can_redraw { ERASE_LINE } else { "" };
        // Where standard error is gone there is nobody left to tell.
        let _written = writeln!(io::stderr().lock(), "{erase}{label}: {message}");
    }
}

/// Empties the line the cursor is in.
pub(crate) const ERASE_LINE: &str = "\r\x1b[K";

/// Standard output, written in large pieces. A reader that stopped reading is a failure of its own.
#[derive(Debug)]
pub(crate) struct Out(BufWriter<StdoutLock<'static>>);

impl Out {
    pub(crate) fn new() -> Self {
        Self(BufWriter::new(io::stdout().lock()))
    }

    /// Writes text as it is.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.0.write_all(text.as_bytes())?)
    }

    /// Writes text as it is, and ends its line.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.text(text)?;
        if text.ends_with('\n') { Ok(()) } else { self.text("\n") }
    }

    /// Writes what is there by now, for a reader that waits for it.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.0.flush()?)
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        Ok(self.0.flush()?)
    }
}

/// Text that cannot steer a terminal: control characters but line breaks and tabs become visible.
pub(crate) fn visible(text: &str) -> String {
    let is_harmless = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if text.chars().all(|c| is_harmless(c) && !is_direction(c)) {
        return text.to_owned();
    }
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        match c {
            '\r' => {}
            c if is_harmless(c) && !is_direction(c) => shown.push(c),
            c => shown.extend(c.escape_unicode()),
        }
        shown
    })
}

/// Characters that reorder what is around them, and so can make text read as something else.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
