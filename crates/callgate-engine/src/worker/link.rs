//! The host's end of one run, as everybody who takes part in it sees it.

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Context;

use callgate_core::program::Reply;
use callgate_schema::Json;
use futures_util::task::AtomicWaker;

use super::frame::{Outbox, TooLong};
use super::message;
use crate::transport::{Answer, TOO_MANY};

/// What an unanswered call counts besides its arguments.
const CALL: usize = 256;

/// Answers find their way through it, and whoever ends the run says so here.
#[derive(Debug)]
pub(crate) struct Link {
    /// How many bytes may wait to be sent before answers are withheld.
    room: usize,
    out: Mutex<Out>,
    verdict: OnceLock<Verdict>,
    waker: AtomicWaker,
}

#[derive(Debug, Default)]
struct Out {
    outbox: Outbox,
    is_closed: bool,
    /// Bytes of calls that were not answered.
    unanswered: usize,
}

/// What ended a run. The first one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The worker said how the program ended.
    Ended,
    /// It was cancelled, with this cause.
    Aborted(String),
    /// It printed more than it may hand back.
    Output,
    /// It used up its processor time.
    Compute,
    /// It reached the ceiling on the wall clock.
    Wall,
    /// The worker closed its end.
    Gone,
    /// The worker sent a frame longer than allowed.
    TooLong,
    /// The worker did not get ready in time.
    NotReady,
    /// The worker is less confined than it must be.
    Unconfined,
    /// The runtime that the run waits on shuts down.
    NoRuntime,
}

impl Link {
    /// One for a program that has that much memory.
    pub(crate) fn new(memory: usize) -> Self {
        // As text a value takes at most about twice what it takes in an interpreter.
        let room = memory.saturating_mul(2);
        Self { room, out: Mutex::default(), verdict: OnceLock::new(), waker: AtomicWaker::new() }
    }

    fn out(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run, unless it ended already; whether this is what ended it.
    pub(crate) fn decide(&self, verdict: Verdict) -> bool {
        let is_first = self.verdict.set(verdict).is_ok();
        self.waker.wake();
        is_first
    }

    /// What ended the run, once it ended.
    pub(crate) fn verdict(&self) -> Option<&Verdict> {
        self.verdict.get()
    }

    /// Wakes this task from now on.
    pub(crate) fn wake(&self, cx: &Context<'_>) {
        self.waker.register(cx.waker());
    }

    /// Adds a frame to what is sent next.
    pub(crate) fn push(
        &self,
        write: impl FnOnce(&mut Outbox) -> Result<(), TooLong>,
    ) -> Result<(), TooLong> {
        write(&mut self.out().outbox)
    }

    /// Sends as much as the socket takes; whether that was everything.
    pub(crate) fn flush(&self, socket: impl AsFd) -> bool {
        let mut out = self.out();
        out.outbox.flush(socket).unwrap_or_else(|_| {
            // The other side is gone. Reading tells the same, after its last words.
            out.outbox = Outbox::default();
            true
        })
    }

    /// How many bytes the run holds here for the sake of its calls.
    pub(crate) fn held(&self) -> usize {
        let out = self.out();
        out.unanswered.saturating_add(out.outbox.len())
    }

    /// The reply to a call of that size.
    pub(crate) fn reply(self: &Arc<Self>, id: u64, size: usize) -> Reply {
        let size = size.saturating_add(CALL);
        self.out().unanswered += size;
        let link = self.clone();
        Reply::new(move |result| link.answer(id, size, result))
    }

    fn answer(&self, id: u64, size: usize, result: Result<Json, String>) {
        if self.out().is_closed {
            return;
        }
        let mut frame = Outbox::default();
        if message::answer(&mut frame, &Answer { id, result }).is_err() {
            let result = Err("failed: the result is too large for the program".to_owned());
            // A short answer always fits.
            let _ = message::answer(&mut frame, &Answer { id, result });
        }
        let mut out = self.out();
        out.unanswered = out.unanswered.saturating_sub(size);
        if !out.is_closed {
            let is_full = out.outbox.len().saturating_add(frame.len()) > self.room;
            // A program that takes no answers could not hold them either.
            if is_full && !out.outbox.is_empty() {
                frame = Outbox::default();
                let _ =
                    message::answer(&mut frame, &Answer { id, result: Err(TOO_MANY.to_owned()) });
            }
            out.outbox.append(frame);
            drop(out);
            self.waker.wake();
        }
    }

    /// Lets no answer through any more.
    pub(crate) fn close(&self) {
        self.out().is_closed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::Inbox;
    use super::super::message::ToWorker;
    use super::*;

    #[test]
    fn answers_that_a_program_does_not_take_are_withheld_once_it_could_not_hold_them() {
        // RUNTIME-24
        let link = Arc::new(Link::new(1_000));
        for id in 1..=5 {
            link.reply(id, 1).send(Ok("x".repeat(900).into()));
        }
        let mut inbox = Inbox::new(usize::MAX);
        inbox.feed(&std::mem::take(&mut link.out().outbox).into_bytes());
        let mut results = Vec::new();
        while let Ok(Some(Some(ToWorker::Answer(answer)))) = inbox.next(ToWorker::read) {
            results.push(answer.result);
        }
        let whole = || Ok("x".repeat(900).into());
        let withheld = || Err(TOO_MANY.to_owned());
        assert_eq!(results, [whole(), whole(), withheld(), withheld(), withheld()]);
        // One that finds nothing waiting goes, whatever its size: its interpreter judges.
        link.reply(6, 1).send(Ok("x".repeat(9_000).into()));
        assert!(link.held() > 9_000);
    }
}
