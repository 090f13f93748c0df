//! Policies that are ready to install: each is one hook, or a few that belong together.
//!
//! | I want to …                                         | use                | [`example`]            |
//! |-----------------------------------------------------|--------------------|------------------------|
//! | stop tools that exceed the time they declare        | [`Timeout`]        | `timeout_and_retry.rs` |
//! | repeat failed calls of tools that may be repeated   | [`Retry`]          | `timeout_and_retry.rs` |
//! | ask people, record it, let a session ask `never`    | [`Approvals`]      | `approval.rs`          |
//! | keep oversized results out of model and log         | [`Spill`]          | `spill.rs`             |
//! | tell a model that it repeats itself                 | [`RepeatReminder`] | `repeat_reminder.rs`   |
//! | allow so many calls and no more                     | [`CallBudget`]     | `call_budget.rs`       |
//! | see calls in traces and metrics                     | [`Metrics`]        | `metrics.rs`           |
//!
//! All of them are [plugins](crate::Plugin): `layer.install(&policy)` installs one as a unit, in
//! the whole runtime or in one scope. Those that are a single hook can also be registered with
//! [`Layer::hook`](crate::Layer::hook). The order matters where one wraps another: a [`Timeout`]
//! registered before a [`Retry`] covers all attempts together, one registered after it covers
//! each attempt.
//!
//! ```
//! use callgate_core::ToolRuntime;
//! use callgate_core::hooks::{Backoff, CallBudget, Retry, Timeout};
//! use std::time::Duration;
//!
//! let runtime = ToolRuntime::builder().build()?;
//! runtime.hook(Retry::new(3, Backoff::exponential(Duration::from_millis(200))));
//! runtime.hook(Timeout::declared());
//! runtime.install(&CallBudget::new(100))?;
//! # Ok::<(), callgate_core::Error>(())
//! ```
//!
//! [`example`]: https://github.com/callgate/callgate/tree/main/crates/callgate/examples

mod approvals;
mod call_budget;
mod metrics;
mod per_scope;
mod repeat_reminder;
mod retry;
mod spill;
mod timeout;

use crate::error::HookError;

pub use approvals::Approvals;
pub use call_budget::CallBudget;
pub use metrics::Metrics;
pub use repeat_reminder::RepeatReminder;
pub use retry::{Backoff, Retry};
pub use spill::{Spill, SpillDirectory, SpillStore, SpillText, Spilled, path_segment};
pub use timeout::Timeout;

/// Fails where a timer would panic.
fn check_timer() -> Result<(), HookError> {
    let runtime = tokio::runtime::Handle::try_current();
    runtime.map(drop).map_err(|_| {
        HookError::failed("time limits and pauses need a tokio runtime; make the call inside one")
    })
}
