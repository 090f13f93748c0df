//! Who makes a call: what an MCP client sent along with it, for the bodies of tools.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate::{Call, Json, Object, ScopeId, Str};

use crate::connection::ProgressFn;

/// The calls of clients that are running, by scope and id.
#[derive(Clone, Default)]
pub(crate) struct Callers(Arc<Mutex<Running>>);

type Running = HashMap<(ScopeId, Str), Arc<Caller>>;

/// What a client sent along with a call, and wants to hear of it.
#[derive(Default)]
pub(crate) struct Caller {
    /// Its `_meta`, without the progress token.
    pub(crate) meta: Option<Object>,
    /// Whoever passes progress on, if the client wants to hear of it.
    pub(crate) progress: Option<ProgressFn>,
    /// How often progress of sub-calls was passed on.
    steps: AtomicU64,
}

impl Caller {
    pub(crate) fn new(meta: Option<Object>, progress: Option<ProgressFn>) -> Self {
        Self { meta, progress, steps: AtomicU64::new(0) }
    }

    /// Where progress of a call goes: as it is for the client's own call, as one more step for a
    /// sub-call of it.
    pub(crate) fn listener(self: Arc<Self>, call: &Call) -> Option<ProgressFn> {
        let progress = self.progress.clone()?;
        if call.is_model_direct() {
            return Some(progress);
        }
        let name = call.name().clone();
        Some(Arc::new(move |params: &Object| {
            let step = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
            let message = match params.get("message").and_then(Json::as_str) {
                Some(message) => format!("{name}: {message}"),
                None => name.to_string(),
            };
            progress(&Object::builder().with("progress", step).with("message", message).build());
        }))
    }
}

impl Callers {
    /// Makes a call known until the guard is dropped.
    pub(crate) fn enter(&self, scope: ScopeId, call_id: Str, caller: Caller) -> Entered {
        let key = (scope, call_id);
        self.lock().insert(key.clone(), Arc::new(caller));
        Entered { callers: self.clone(), key }
    }

    /// The client's call that this one is, or is made for.
    pub(crate) fn of(&self, call: &Call) -> Option<Arc<Caller>> {
        self.lock().get(&(call.scope()?, call.root_id().clone())).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a call known.
pub(crate) struct Entered {
    callers: Callers,
    key: (ScopeId, Str),
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.callers.lock().remove(&self.key);
    }
}
