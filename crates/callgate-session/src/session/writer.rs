//! The one way into a log.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::error::AppendError;
use super::file::LogFile;
use crate::checker::{Check, Violation};
use crate::event::Event;
use crate::reader::LINE_DEPTH;
use crate::surface::Envelope;

/// Buffers beyond this are given back after the event that needed them.
const LINE_CAPACITY: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct Writer {
    pub(super) envelope: Envelope,
    pub(super) checks: Vec<Box<dyn Check>>,
    pub(super) file: Option<LogFile>,
    pub(super) is_closed: bool,
    line: String,
}

impl Writer {
    pub(super) fn new(envelope: Envelope, file: Option<LogFile>) -> Self {
        Self { envelope, file, ..Self::default() }
    }

    /// Checks an event, writes it, and takes it over: all or nothing. Returns the length of its line in bytes.
    pub(super) fn commit(&mut self, event: &Event) -> Result<usize, AppendError> {
        if self.is_closed {
            return Err(AppendError::NotLive);
        }
        self.check_envelope(event).map_err(AppendError::Invalid)?;
        for check in &mut self.checks {
            judge(&mut **check, event)?;
        }
        let length = self.write(event)?;
        self.envelope.advance(event);
        for check in &mut self.checks {
            settle(&mut **check, event);
        }
        Ok(length)
    }

    fn check_envelope(&self, event: &Event) -> Result<(), Violation> {
        self.envelope
            .check(event)
            .map_err(|problem| Violation::new(env!("CARGO_PKG_NAME"), event.seq, problem))
    }

    fn write(&mut self, event: &Event) -> Result<usize, AppendError> {
        self.line.clear();
        self.line.shrink_to(LINE_CAPACITY);
        event.print_line(&mut self.line);
        if depth(&self.line) > LINE_DEPTH {
            return Err(AppendError::TooDeep);
        }
        if let Some(file) = &mut self.file {
            file.append(self.line.as_bytes()).map_err(|error| AppendError::Io(Arc::new(error)))?;
        }
        Ok(self.line.len())
    }
}

/// Asks a check. One that panics refuses.
pub(super) fn judge(check: &mut dyn Check, event: &Event) -> Result<(), AppendError> {
    match catch_unwind(AssertUnwindSafe(|| check.check(event))) {
        Ok(verdict) => verdict.map_err(AppendError::Rejected),
        Err(_) => Err(AppendError::CheckPanicked),
    }
}

/// Tells a check of a committed event. One that panics now cannot take the event back.
pub(super) fn settle(check: &mut dyn Check, event: &Event) {
    let _ = catch_unwind(AssertUnwindSafe(|| check.committed(event)));
}

/// How many brackets are open at once in JSON text.
fn depth(text: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

thread_local! {
    /// The logs this thread is appending to right now: an observer may append to another session.
    static INSIDE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Marks, for as long as it lives, that this thread is inside an append to a log.
pub(super) struct Turnstile;

impl Turnstile {
    pub(super) fn is_inside(log: usize) -> bool {
        INSIDE.with_borrow(|inside| inside.contains(&log))
    }

    pub(super) fn enter(log: usize) -> Self {
        INSIDE.with_borrow_mut(|inside| inside.push(log));
        Self
    }
}

impl Drop for Turnstile {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(Vec::pop);
    }
}
