//! [`Clock`]: where the time stamps of events come from.

use std::time::{SystemTime, UNIX_EPOCH};

/// A source of time stamps, in milliseconds since 1970 (UTC).
///
/// Any `Fn() -> u64` is one, which is how tests get fixed stamps.
pub trait Clock: Send + Sync + 'static {
    /// The time now, in milliseconds since 1970 (UTC).
    fn now_ms(&self) -> u64;
}

impl<F: Fn() -> u64 + Send + Sync + 'static> Clock for F {
    fn now_ms(&self) -> u64 {
        self()
    }
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    /// The machine's time; 0 if it is set to a date before 1970.
    fn now_ms(&self) -> u64 {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    }
}
