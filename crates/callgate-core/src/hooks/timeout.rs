//! [`Timeout`]: stops calls that take longer than their tool declares.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select};

use crate::call::Call;
use crate::change::{Change, Place};
use crate::error::{HookError, ToolError};
use crate::hook::{Execute, Executed, Hook, Next};
use crate::plugin::Plugin;
use crate::signal::{Cause, Signal};

/// Enforces the time budgets that tools [declare](crate::ToolDefinition::timeout).
///
/// When the budget of a call is used up, the body's signal is cancelled with the cause
/// [`Cause::TIMEOUT`], and the call ends as `TOOL_TIMEOUT` once the body has settled, whatever it
/// still answers. Time in which a person is asked on behalf of the call does not count. Tools
/// without a budget are left alone.
///
/// It needs a tokio runtime with its timer; without one, calls of tools that declare a budget
/// fail and their bodies do not run.
///
/// ```
/// use callgate_core::{ToolRuntime, hooks::Timeout};
/// let runtime = ToolRuntime::builder().build()?;
/// runtime.hook(Timeout::declared());
/// # Ok::<(), callgate_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Timeout(());

impl Timeout {
    /// The budget is what the tool declares, as the calling scope sees it.
    pub fn declared() -> Self {
        Self(())
    }
}

impl Hook<Execute> for Timeout {
    fn call(
        &self,
        call: Call,
        mut next: Next<Execute>,
    ) -> BoxFuture<'_, Result<Executed, HookError>> {
        Box::pin(async move {
            match call.tool().and_then(|tool| tool.declared_timeout()) {
                None => next.run().await,
                Some(budget) => run_within(budget, &call, next).await,
            }
        })
    }
}

impl Plugin for Timeout {
    fn name(&self) -> &'static str {
        "timeout"
    }

    fn install(&self, change: &mut Change<'_>) {
        change.hook(*self, Place::Last);
    }
}

async fn run_within(
    budget: Duration,
    call: &Call,
    mut next: Next<Execute>,
) -> Result<Executed, HookError> {
    super::check_timer()?;
    let signal = Signal::either(call.signal(), next.signal());
    let mut running = pin!(next.run_with(signal.clone()));
    let timer = pin!(call.own_clock().sleep(budget));
    if let Either::Left((executed, _)) = select(running.as_mut(), timer).await {
        return executed;
    }
    let message = format!(
        "`{}` used up its time budget of {} ms and was stopped",
        call.name(),
        millis(budget)
    );
    let is_ours = signal.cancel(Cause::new(Cause::TIMEOUT, &*message));
    // A body that was started is never abandoned, however late it is.
    let executed = running.await?;
    Ok(if is_ours { Executed::failure(ToolError::timed_out(message)) } else { executed })
}

/// The exact number of milliseconds.
fn millis(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let exact = format!("{}.{:06}", nanos / 1_000_000, nanos % 1_000_000);
    exact.trim_end_matches('0').trim_end_matches('.').to_owned()
}
