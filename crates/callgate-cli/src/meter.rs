//! Measures calls more exactly than the log does, and learns the kind of each failure.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use callgate::hook::Execute;
use callgate::{Call, Change, Executed, Hook, HookError, Next, Place, Plugin, Str};
use futures_util::future::BoxFuture;

use crate::calls::Calls;

/// What was measured so far, by call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(Arc<Mutex<HashMap<Str, Measured>>>);

#[derive(Clone, Debug, Default)]
struct Measured {
    /// How long the tool worked.
    took: Option<Duration>,
    /// What the program was told.
    error: Option<String>,
}

impl Meter {
    fn note(&self, call: &Call, change: impl FnOnce(&mut Measured)) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(calls.entry(call.id().clone()).or_default());
    }

    /// Adds what was measured to what the log says.
    pub(crate) fn refine(&self, calls: &mut Calls) {
        let measured = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        #[expect(clippy::iter_over_hash_type, reason = "each entry changes a call of its own")]
        for (id, Measured { took, error }) in measured {
            calls.refine(&id, took, error);
        }
    }
}

impl Plugin for Meter {
    fn name(&self) -> &'static str {
        "meter"
    }

    fn install(&self, change: &mut Change<'_>) {
        change.hook::<Execute>(self.clone(), Place::First);
        let meter = self.clone();
        change.observe(move |call, result| {
            if let Some(error) = result.error() {
                meter.note(call, |measured| measured.error = Some(error.for_program()));
            }
        });
    }
}

impl Hook<Execute> for Meter {
    fn call(
        &self,
        call: Call,
        mut next: Next<Execute>,
    ) -> BoxFuture<'_, Result<Executed, HookError>> {
        Box::pin(async move {
            let start = Instant::now();
            let executed = next.run().await;
            self.note(&call, |measured| measured.took = Some(start.elapsed()));
            executed
        })
    }
}
