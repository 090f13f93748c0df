//! The calls of a program on their way to the lane, from whatever thread it runs on.
//!
//! Waiting without missing a call takes an order that is easy to get wrong, so `tests/inbox.rs`
//! compiles this file once more, over the primitives of loom, and tries every interleaving.

use std::collections::VecDeque;
use std::task::Waker;

use super::sync::{Mutex, MutexGuard, PoisonError};

/// Takes calls in until it is closed or has had so many.
pub(super) struct Inbox<T> {
    limit: u64,
    queue: Mutex<Queue<T>>,
}

struct Queue<T> {
    is_closed: bool,
    waiting: VecDeque<(u64, T)>,
    /// How many calls were taken in so far: the number of the youngest.
    count: u64,
    /// Who waits for the next one.
    waker: Option<Waker>,
}

/// Why a call was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Closed,
    /// There were as many as there may be.
    Limit(u64),
}

impl<T> Inbox<T> {
    /// Open, for so many calls in all.
    pub(super) fn new(limit: u64) -> Self {
        let queue = Queue { is_closed: false, waiting: VecDeque::new(), count: 0, waker: None };
        Self { limit, queue: Mutex::new(queue) }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a call in and wakes whoever waits, or says why not.
    pub(super) fn push(&self, call: T) -> Result<(), (T, Refusal)> {
        let mut queue = self.lock();
        if queue.is_closed {
            return Err((call, Refusal::Closed));
        }
        if queue.count == self.limit {
            return Err((call, Refusal::Limit(self.limit)));
        }
        queue.count += 1;
        let number = queue.count;
        queue.waiting.push_back((number, call));
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    /// Whether it takes nothing in any more.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// How many calls were taken in so far.
    ///
    /// Whoever is to wait for the next one asks first, then looks at what is there, then
    /// [asks for a wake-up](Self::has_new) with this count: a call that comes in between is not missed.
    pub(super) fn count(&self) -> u64 {
        self.lock().count
    }

    /// Whether a call came in after the first `seen`. If not, the next one wakes this task.
    pub(super) fn has_new(&self, seen: u64, waker: &Waker) -> bool {
        let mut queue = self.lock();
        if queue.count != seen {
            return true;
        }
        queue.waker = Some(waker.clone());
        false
    }

    /// Takes the oldest waiting call if `judge` answers something for it.
    pub(super) fn pop_if<U>(
        &self,
        judge: impl FnOnce(u64, &T) -> Option<U>,
    ) -> Option<(u64, T, U)> {
        // Judging calls user code (a classifier), so it happens without the lock; only the lane
        // takes calls out, so the oldest is still the oldest afterwards.
        let (number, oldest) = self.lock().waiting.pop_front()?;
        let Some(answer) = judge(number, &oldest) else {
            self.lock().waiting.push_front((number, oldest));
            return None;
        };
        Some((number, oldest, answer))
    }

    /// Takes no more calls in. The first time, answers those that wait.
    pub(super) fn close(&self) -> Option<impl Iterator<Item = T> + use<T>> {
        let mut queue = self.lock();
        let was_open = !std::mem::replace(&mut queue.is_closed, true);
        let waiting = std::mem::take(&mut queue.waiting);
        drop(queue);
        was_open.then(|| waiting.into_iter().map(|(_, call)| call))
    }
}
