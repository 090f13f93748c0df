//! [`Retry`]: makes failed calls again, where the tool says that does no harm.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select};

use crate::call::Call;
use crate::change::{Change, Place};
use crate::error::{FailureClass, HookError};
use crate::hook::{Execute, Executed, Hook, Next};
use crate::plugin::Plugin;
use crate::signal::Signal;

/// Repeats failed calls of tools that are [repeatable](crate::ToolDefinition::repeatable).
///
/// Only failures that may pass are repeated: the tool failed, was unavailable or ran out of time.
/// Denials, invalid arguments, unknown tools, invalid output and cancelled calls are not, and
/// neither is the failure of another hook. Every attempt runs all hooks further in again. Messages
/// that an attempt deferred stay, whatever becomes of the next one. When the call is cancelled
/// during a pause, its last failure stands.
///
/// Pauses need a tokio runtime with its timer; without one, a call that should pause fails.
///
/// ```
/// use callgate_core::{ToolRuntime, hooks::{Backoff, Retry}};
/// use std::time::Duration;
/// let runtime = ToolRuntime::builder().build()?;
/// runtime.hook(Retry::new(3, Backoff::exponential(Duration::from_millis(200))));
/// # Ok::<(), callgate_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    attempts: u32,
    backoff: Backoff,
}

/// How long to pause between two attempts.
///
/// ```
/// use callgate_core::hooks::Backoff;
/// use std::time::Duration;
/// let backoff = Backoff::exponential(Duration::from_secs(1)).at_most(Duration::from_secs(3));
/// let pauses = [1, 2, 3, 4].map(|attempt| backoff.after(attempt).as_secs());
/// assert_eq!(pauses, [1, 2, 3, 3]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    factor: u32,
    longest: Duration,
}

impl Retry {
    /// At most so many attempts, the first one included. Both 0 and 1 mean that nothing is
    /// repeated.
    pub fn new(attempts: u32, backoff: Backoff) -> Self {
        Self { attempts, backoff }
    }
}

impl Backoff {
    /// No pause at all.
    pub fn none() -> Self {
        Self::constant(Duration::ZERO)
    }

    /// The same pause every time.
    pub fn constant(pause: Duration) -> Self {
        Self { first: pause, factor: 1, longest: Duration::MAX }
    }

    /// Pauses that double each time, up to 30 seconds unless [`at_most`](Self::at_most) says
    /// otherwise.
    pub fn exponential(first: Duration) -> Self {
        Self { first, factor: 2, longest: Duration::from_secs(30) }
    }

    /// No pause is longer than this.
    #[must_use]
    pub fn at_most(self, longest: Duration) -> Self {
        Self { longest, ..self }
    }

    /// The pause after an attempt that failed; the first attempt is number 1.
    pub fn after(&self, attempt: u32) -> Duration {
        let growth = self.factor.saturating_pow(attempt.saturating_sub(1));
        self.first.saturating_mul(growth).min(self.longest)
    }
}

impl Hook<Execute> for Retry {
    fn call(
        &self,
        call: Call,
        mut next: Next<Execute>,
    ) -> BoxFuture<'_, Result<Executed, HookError>> {
        Box::pin(async move {
            for attempt in 1..self.attempts {
                let executed = next.run().await?;
                if !may_pass(&executed) || !call.tool().is_some_and(|tool| tool.is_repeatable()) {
                    return Ok(executed);
                }
                let signal = Signal::either(call.signal(), next.signal());
                if !pause(self.backoff.after(attempt), &signal).await? {
                    return Ok(executed);
                }
                tracing::debug!(tool = %call.name(), call = %call.id(), attempt, "call is repeated");
            }
            next.run().await
        })
    }
}

impl Plugin for Retry {
    fn name(&self) -> &'static str {
        "retry"
    }

    fn install(&self, change: &mut Change<'_>) {
        change.hook(*self, Place::Last);
    }
}

/// Whether it is a failure that another attempt may not meet.
fn may_pass(executed: &Executed) -> bool {
    let class = executed.error().map(crate::error::ToolError::class);
    matches!(class, Some(FailureClass::Failed | FailureClass::Unavailable | FailureClass::TimedOut))
}

/// Pauses; answers whether the call should go on afterwards.
async fn pause(duration: Duration, signal: &Signal) -> Result<bool, HookError> {
    if duration.is_zero() || signal.is_cancelled() {
        return Ok(!signal.is_cancelled());
    }
    super::check_timer()?;
    let elapsed = pin!(tokio::time::sleep(duration));
    Ok(matches!(select(pin!(signal.cancelled()), elapsed).await, Either::Right(_)))
}
