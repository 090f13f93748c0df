//! Clean-ups: work that a disposal waits for.

use std::cell::RefCell;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;

use futures_util::FutureExt;

use crate::error::from_panic;
use crate::registry::Cleanup;

thread_local! {
    /// Whose clean-ups are being polled on this thread, outermost first.
    static INSIDE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Whether this code is part of a clean-up of that scope or plugin. Whoever then waited for the end of that disposal
/// would wait for itself.
pub(crate) fn is_inside(owner: u64) -> bool {
    INSIDE.with_borrow(|inside| inside.contains(&owner))
}

/// Runs one clean-up of a scope or a plugin to its end. One that panics is logged; the others still run.
pub(crate) async fn run(cleanup: Cleanup, owner: u64) {
    let mut body = pin!(AssertUnwindSafe(async move { cleanup().await }).catch_unwind());
    let ended = poll_fn(|task| {
        let _inside = Inside::enter(owner);
        body.as_mut().poll(task)
    });
    if let Err(panic) = ended.await {
        let error = from_panic("a clean-up", &*panic);
        tracing::warn!(%error, "clean-up failed");
    }
}

struct Inside;

impl Inside {
    fn enter(owner: u64) -> Self {
        INSIDE.with_borrow_mut(|inside| inside.push(owner));
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(Vec::pop);
    }
}
