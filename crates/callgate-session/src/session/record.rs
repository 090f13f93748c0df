//! What a session remembers of its log.

use std::collections::VecDeque;

use crate::event::{ApprovalMode, Event, EventBody};
use crate::repair::Tail;

/// What is open in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// How many turns were opened so far; the next one has this number plus one.
    pub turns: u64,
    /// The open turn.
    pub turn: Option<u64>,
    /// The open step.
    pub step: Option<u64>,
}

/// The newest events, and what the older ones amount to.
pub(super) struct Record {
    kept: VecDeque<Kept>,
    kept_bytes: usize,
    keep_bytes: usize,
    length: u64,
    tail: Tail,
    approvals: Option<ApprovalMode>,
}

struct Kept {
    event: Event,
    bytes: usize,
}

impl Record {
    pub(super) fn new(keep_bytes: usize) -> Self {
        Self {
            kept: VecDeque::new(),
            kept_bytes: 0,
            keep_bytes,
            length: 0,
            tail: Tail::default(),
            approvals: None,
        }
    }

    /// Takes over an event whose line has that many bytes, and forgets the oldest ones beyond the limit.
    pub(super) fn push(&mut self, event: Event, bytes: usize) {
        self.tail.feed(&event);
        if let EventBody::ApprovalPolicy(entry) = &event.body {
            self.approvals = Some(entry.policy);
        }
        self.length += 1;
        self.kept_bytes = self.kept_bytes.saturating_add(bytes);
        self.kept.push_back(Kept { event, bytes });
        while self.kept_bytes > self.keep_bytes && self.kept.len() > 1 {
            self.kept_bytes -= self.kept.pop_front().map_or(0, |oldest| oldest.bytes);
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.length
    }

    /// The number of the oldest event that is kept.
    pub(super) fn first_kept(&self) -> u64 {
        self.length - self.kept.len() as u64
    }

    /// The kept events from a number on.
    pub(super) fn events_from(&self, seq: u64) -> Vec<Event> {
        let skipped = usize::try_from(seq.saturating_sub(self.first_kept())).unwrap_or(usize::MAX);
        self.kept.iter().skip(skipped).map(|kept| kept.event.clone()).collect()
    }

    pub(super) fn position(&self) -> Position {
        Position { turns: self.tail.turns(), turn: self.tail.turn(), step: self.tail.step() }
    }

    /// The events that close the open turn.
    pub(super) fn closing(&self) -> Vec<Event> {
        let time = self.kept.back().map_or(0, |last| last.event.time);
        self.tail.closing(self.length, time)
    }

    pub(super) fn approvals(&self) -> Option<ApprovalMode> {
        self.approvals
    }
}
