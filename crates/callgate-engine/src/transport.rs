//! The border between a run and the side that serves it, wherever that side is.

use std::time::Instant;

use callgate_schema::{Json, Str};

/// One call of a program on its way out.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// Counts the calls of the run.
    pub(crate) id: u64,
    pub(crate) global: Str,
    pub(crate) member: Str,
    pub(crate) arguments: Json,
}

/// The answer to a call.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) id: u64,
    pub(crate) result: Result<Json, String>,
}

/// What a call is answered whose result finds more waiting than the program could hold.
pub(crate) const TOO_MANY: &str =
    "failed: more results than the run's memory wait for the program: await some first";

/// What a waiting run wakes up for.
#[derive(Debug)]
pub(crate) enum Event {
    /// A call was answered.
    Answer(Answer),
    /// The time is over, or somebody wants the run to look at its stop conditions.
    Wake,
}

/// Carries the calls of one run.
pub(crate) trait Transport {
    /// Sends a call. Calls leave in the order of their ids.
    fn call(&mut self, call: Outgoing);

    /// An entry was logged.
    fn log(&mut self, entry: &str);

    /// What arrived already, without waiting.
    fn poll(&mut self) -> Option<Answer>;

    /// Waits until something arrives, at most until `deadline`.
    fn wait(&mut self, deadline: Instant) -> Event;
}
