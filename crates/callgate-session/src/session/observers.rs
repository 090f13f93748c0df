//! Observers: told of every event once it is in the log.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, Weak};

use super::lock;
use crate::event::Event;

type Observer = Arc<dyn Fn(&Event) + Send + Sync>;

/// The observers of one log, in the order they came.
#[derive(Default)]
pub(super) struct Observers(Mutex<List>);

#[derive(Default)]
struct List {
    next_id: u64,
    entries: Arc<[(u64, Observer)]>,
}

impl Observers {
    pub(super) fn add(self: &Arc<Self>, observer: Observer) -> Observation {
        let mut list = lock(&self.0);
        let id = list.next_id;
        list.next_id += 1;
        let entries = list.entries.iter().cloned().chain([(id, observer)]).collect();
        replace(list, entries);
        Observation { observers: Arc::downgrade(self), id }
    }

    /// Tells all observers of an event. A panic of one is its own: the event is committed and the others hear of it.
    pub(super) fn notify(&self, event: &Event) {
        let entries = lock(&self.0).entries.clone();
        for (_, observer) in entries.iter() {
            let _ = catch_unwind(AssertUnwindSafe(|| observer(event)));
        }
    }
}

/// Puts a new list in place and drops the old one, with what it held, after the lock.
fn replace(mut list: std::sync::MutexGuard<'_, List>, entries: Arc<[(u64, Observer)]>) {
    let old = std::mem::replace(&mut list.entries, entries);
    drop(list);
    drop(old);
}

/// The exact undo of one [`Session::observe`](super::Session::observe). Dropping it does nothing.
#[derive(Clone)]
pub struct Observation {
    observers: Weak<Observers>,
    id: u64,
}

impl Observation {
    /// Removes the observer. Twice is harmless.
    pub fn dispose(&self) {
        if let Some(observers) = self.observers.upgrade() {
            let list = lock(&observers.0);
            let entries = list.entries.iter().filter(|(id, _)| *id != self.id).cloned().collect();
            replace(list, entries);
        }
    }
}

impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observation").field("id", &self.id).finish_non_exhaustive()
    }
}
