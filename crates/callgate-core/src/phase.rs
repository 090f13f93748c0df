//! The five steps of a call as types, for schedulers: agent loops and the lane of Code Mode.
//!
//! ```text
//! Admitted → Prepared → Dispatched → Finalized → CallResult
//! ```
//!
//! Each step consumes the last, so none can be skipped, repeated or reordered. A scheduler runs
//! `prepare` in the order of submission without overlap, `finalize` likewise; only `dispatch` may
//! overlap. Dropping a value, or the future of a step, cancels the call and moves the rest to the
//! tokio runtime that polled it first; an [`Admitted`] that is dropped had no effect.

use std::fmt;

use crate::call::{Call, CallInput};
use crate::pipeline::{Driven, Run};
use crate::registry::Layer;
use crate::result::CallResult;
use crate::scope::{Scope, ToolRuntime};
use crate::signal::Cause;

/// A call whose input was taken over.
#[must_use = "a call does nothing before it is prepared"]
pub struct Admitted(Run);

/// A call that gate, approval and guards have judged.
#[must_use = "a call that is not taken to its end is cancelled"]
pub struct Prepared(Parked);

/// A call whose body, if it was to run, has run.
#[must_use = "a call that is not taken to its end is cancelled"]
pub struct Dispatched(Parked);

/// A call whose result only has to be published.
#[must_use = "a call that is not taken to its end is cancelled"]
pub struct Finalized(Parked);

/// A call between two steps.
struct Parked {
    run: Option<Run>,
    home: Option<tokio::runtime::Handle>,
}

impl Parked {
    fn new(run: Run) -> Self {
        Self { run: Some(run), home: tokio::runtime::Handle::try_current().ok() }
    }

    #[expect(
        clippy::expect_used,
        reason = "a parked call holds its run until it is taken, by value"
    )]
    fn take(mut self) -> Run {
        self.run.take().expect("the run is there until it is taken")
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        if let Some(run) = self.run.take() {
            let cause = Cause::new(Cause::DROPPED, "the scheduler dropped the call");
            run.call().signal().cancel(cause);
            if let Some(home) = self.home.take() {
                home.spawn(run.complete());
            }
        }
    }
}

impl ToolRuntime {
    /// Takes over the input of a call made through `scope`, or through the runtime itself.
    pub fn admit(&self, scope: Option<&Scope>, input: CallInput) -> Admitted {
        let layer: &Layer = match scope {
            Some(scope) => scope,
            None => self,
        };
        Admitted::new(layer.clone(), input)
    }
}

impl Admitted {
    pub(crate) fn new(layer: Layer, input: CallInput) -> Self {
        let call = Call::admit(input, &layer);
        Self(Run::admit(layer, call))
    }

    /// The call.
    pub fn call(&self) -> &Call {
        self.0.call()
    }

    /// Runs gate, approval and guards.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the call; the rest is still driven to its end.
    pub async fn prepare(self) -> Prepared {
        let mut run = self.0;
        let signal = run.call().signal().clone();
        Driven::new(signal, async move {
            run.prepare().await;
            Prepared(Parked::new(run))
        })
        .await
    }
}

impl Prepared {
    /// Whether a body is to run. If not, [`dispatch`](Self::dispatch) returns at once and the
    /// call takes no place among the running ones.
    pub fn is_ready(&self) -> bool {
        self.0.run.as_ref().is_some_and(Run::is_ready)
    }

    /// Runs the execute hooks and the body.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the call; the rest is still driven to its end.
    pub async fn dispatch(self) -> Dispatched {
        let mut run = self.0.take();
        let signal = run.call().signal().clone();
        Driven::new(signal, async move {
            run.dispatch().await;
            Dispatched(Parked::new(run))
        })
        .await
    }
}

impl Dispatched {
    /// Runs the post-execute hooks.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the call; the rest is still driven to its end.
    pub async fn finalize(self) -> Finalized {
        let mut run = self.0.take();
        let signal = run.call().signal().clone();
        Driven::new(signal, async move {
            run.judge().await;
            Finalized(Parked::new(run))
        })
        .await
    }
}

impl Finalized {
    /// Runs the finalizer and tells the observers; exactly once.
    pub fn publish(self) -> CallResult {
        self.0.take().publish()
    }
}

macro_rules! debug_by_name {
    ($($phase:ident),*) => {$(
        impl fmt::Debug for $phase {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($phase)).finish_non_exhaustive()
            }
        }
    )*};
}

debug_by_name!(Admitted, Prepared, Dispatched, Finalized);
