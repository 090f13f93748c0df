//! Cancellation handles that remember why.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use tokio_util::sync::CancellationToken;

/// Why a [`Signal`] was cancelled: a stable code and a text for people.
///
/// ```
/// use callgate_core::Cause;
/// let cause = Cause::new("user", "the user pressed stop");
/// assert_eq!(cause.code(), "user");
/// assert_eq!(cause.to_string(), "the user pressed stop");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    code: Arc<str>,
    message: Arc<str>,
}

impl Cause {
    /// The code of what a person stopped, by Ctrl-C or otherwise, rather than a program.
    pub const INTERRUPT: &str = "interrupt";
    /// The code of a call whose caller stopped waiting for it.
    pub const DROPPED: &str = "dropped";
    /// The code of sub-calls that were running when their program ended.
    pub const RUN_ENDED: &str = "run-ended";
    /// The code of a deadline set by the timeout policy.
    pub const TIMEOUT: &str = "timeout";

    /// A cause with a stable code, for code to branch on, and a message, for people.
    pub fn new(code: impl Into<Arc<str>>, message: impl Into<Arc<str>>) -> Self {
        Self { code: code.into(), message: message.into() }
    }

    /// The stable code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A cancellation handle: cheap to clone and to ask, awaitable, and it keeps the first cause.
///
/// Equality is identity: a clone equals its original, a [child](Signal::child) does not.
///
/// ```
/// use callgate_core::{Cause, Signal};
/// let signal = Signal::new();
/// let child = signal.child();
/// signal.cancel(Cause::new("user", "stop"));
/// child.cancel(Cause::new("late", "too late to be the first"));
/// assert_eq!(child.cause().unwrap().code(), "user");
/// ```
#[derive(Clone)]
pub struct Signal(Arc<Inner>);

struct Inner {
    id: u64,
    token: CancellationToken,
    cause: OnceLock<Cause>,
    parents: [Option<Signal>; 2],
    children: Mutex<Option<HashMap<u64, Weak<Inner>>>>,
}

impl Default for Signal {
    fn default() -> Self {
        Self::new()
    }
}

impl Signal {
    /// A handle that nothing but its own [`cancel`](Self::cancel) cancels.
    pub fn new() -> Self {
        Self::below([None, None])
    }

    /// A handle that is cancelled with this one, and can be cancelled alone.
    pub fn child(&self) -> Self {
        Self::below([Some(self.clone()), None])
    }

    /// A handle that is cancelled as soon as either source is, with that source's cause.
    ///
    /// If both are cancelled already, `second` gives the cause.
    pub fn either(first: &Self, second: &Self) -> Self {
        Self::below([Some(second.clone()), Some(first.clone())])
    }

    fn below(parents: [Option<Self>; 2]) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let inner = Arc::new(Inner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            token: CancellationToken::new(),
            cause: OnceLock::new(),
            parents,
            children: Mutex::new(None),
        });
        let signal = Self(inner);
        for parent in signal.0.parents.iter().flatten() {
            parent.adopt(&signal);
        }
        signal
    }

    /// Subscribes the child first and looks afterwards, so that no cancellation slips between.
    fn adopt(&self, child: &Self) {
        self.0.children().get_or_insert_default().insert(child.0.id, Arc::downgrade(&child.0));
        if let Some(cause) = self.0.cause.get() {
            child.cancel(cause.clone());
        }
    }

    /// Cancels this handle and everything below it. Only the first cause counts; answers whether
    /// this one was the first.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a cause is made for the call that uses it up"
    )]
    pub fn cancel(&self, cause: Cause) -> bool {
        let mut is_first = false;
        let mut pending = vec![self.0.clone()];
        while let Some(inner) = pending.pop() {
            if inner.cause.set(cause.clone()).is_ok() {
                is_first |= Arc::ptr_eq(&inner, &self.0);
                inner.token.cancel();
                let children = inner.children().take();
                pending
                    .extend(children.into_iter().flatten().filter_map(|(_, weak)| weak.upgrade()));
            }
        }
        is_first
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cause.get().is_some()
    }

    /// The first cause, once it was cancelled.
    pub fn cause(&self) -> Option<&Cause> {
        self.0.cause.get()
    }

    /// Waits until it is cancelled.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses nothing.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.token.clone().cancelled_owned()
    }
}

impl Inner {
    fn children(&self) -> std::sync::MutexGuard<'_, Option<HashMap<u64, Weak<Inner>>>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Takes its parents out, which do not know it any more.
    fn unsubscribe(&mut self) -> Vec<Signal> {
        let parents: Vec<Signal> = self.parents.iter_mut().filter_map(Option::take).collect();
        for parent in &parents {
            if let Some(children) = parent.0.children().as_mut() {
                children.remove(&self.id);
            }
        }
        parents
    }
}

impl Drop for Inner {
    /// Leaves no subscription behind.
    fn drop(&mut self) {
        // One after the other: a chain of signals may be longer than the stack is deep.
        let mut above = self.unsubscribe();
        while let Some(signal) = above.pop() {
            if let Some(mut inner) = Arc::into_inner(signal.0) {
                above.append(&mut inner.unsubscribe());
            }
        }
    }
}

impl PartialEq for Signal {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Signal {}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal").field("cause", &self.cause()).finish_non_exhaustive()
    }
}
