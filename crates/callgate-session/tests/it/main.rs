//! Tests of the session log through its public interface.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod invariants;
mod logs;
mod messages;
mod session;
mod stored;
