//! How long to wait before a server is started again.

use std::time::Duration;

/// Doubles from half a second to half a minute. A server that lived that long starts over.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(500);
    pub(super) const LONGEST: Duration = Duration::from_secs(30);

    /// The wait after a server that lived this long.
    pub(super) fn after(&mut self, lived: Duration) -> Duration {
        if lived >= Self::LONGEST {
            self.failures = 0;
        }
        let factor = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_add(1);
        Self::FIRST.saturating_mul(factor).min(Self::LONGEST)
    }
}
