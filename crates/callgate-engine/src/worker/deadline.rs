//! One thread that watches every deadline of the process, so that none depends on the executor of
//! a host that may be busy.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Something that is looked at when its time has come.
pub(crate) trait Deadline: Send + Sync {
    /// Does what is due, and says when to look again, if ever.
    fn check(&self, now: Instant) -> Option<Instant>;
}

/// Keeps a deadline watched; dropping it ends that.
pub(crate) struct Watched(u64);

/// Watches a deadline from `first` on.
pub(crate) fn watch(first: Instant, deadline: Arc<dyn Deadline>) -> Watched {
    let watcher = Watcher::get();
    let mut agenda = watcher.agenda();
    agenda.last += 1;
    let id = agenda.last;
    agenda.entries.insert(id, (first, deadline));
    watcher.wake_by(&mut agenda, first);
    Watched(id)
}

/// Can still be added to any moment.
pub(crate) const CENTURY: Duration = Duration::from_hours(24 * 365 * 100);

/// A moment that never comes.
pub(crate) fn never(now: Instant) -> Instant {
    now + CENTURY
}

/// The moment that long after `now`.
pub(crate) fn after(now: Instant, duration: Duration) -> Instant {
    now.checked_add(duration).unwrap_or_else(|| never(now))
}

impl Watched {
    /// Has the deadline looked at no later than `at`.
    pub(crate) fn look_by(&self, at: Instant) {
        let watcher = Watcher::get();
        let mut agenda = watcher.agenda();
        if let Some((planned, _)) = agenda.entries.get_mut(&self.0) {
            *planned = at.min(*planned);
            watcher.wake_by(&mut agenda, at);
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let removed = Watcher::get().agenda().entries.remove(&self.0);
        // Its own drop may do much, and needs the lock no longer.
        drop(removed);
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watched").field(&self.0).finish()
    }
}

#[derive(Default)]
struct Watcher {
    agenda: Mutex<Agenda>,
    earlier: Condvar,
}

#[derive(Default)]
struct Agenda {
    entries: BTreeMap<u64, (Instant, Arc<dyn Deadline>)>,
    last: u64,
    /// When the thread wakes up by itself.
    wakes_at: Option<Instant>,
}

impl Watcher {
    fn get() -> &'static Self {
        static WATCHER: OnceLock<Watcher> = OnceLock::new();
        static THREAD: OnceLock<()> = OnceLock::new();
        let watcher = WATCHER.get_or_init(Self::default);
        THREAD.get_or_init(|| {
            let thread = thread::Builder::new().name("callgate-deadlines".to_owned());
            // Without it the limits that the workers keep themselves are all there is.
            let _ = thread.stack_size(256 << 10).spawn(|| watcher.watch());
        });
        watcher
    }

    fn agenda(&self) -> MutexGuard<'_, Agenda> {
        self.agenda.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread, unless it wakes up early enough by itself.
    fn wake_by(&self, agenda: &mut Agenda, at: Instant) {
        if agenda.wakes_at.is_none_or(|planned| at < planned) {
            agenda.wakes_at = Some(at);
            self.earlier.notify_one();
        }
    }

    fn watch(&self) {
        let mut agenda = self.agenda();
        loop {
            let now = Instant::now();
            let mut due = Vec::new();
            for (id, (at, deadline)) in &mut agenda.entries {
                if *at <= now {
                    // Whoever wants it looked at again meanwhile writes an earlier moment here.
                    *at = never(now);
                    due.push((*id, deadline.clone()));
                }
            }
            if due.is_empty() {
                agenda = self.sleep(agenda, now);
                continue;
            }
            drop(agenda);
            let next: Vec<_> = due
                .into_iter()
                .map(|(id, deadline)| (id, deadline.check(Instant::now())))
                .collect();
            agenda = self.agenda();
            for (id, next) in next {
                if let (Some(next), Some((at, _))) = (next, agenda.entries.get_mut(&id)) {
                    *at = next.min(*at);
                }
            }
        }
    }

    /// Sleeps until the next deadline. Entries that are gone wake the thread for nothing, which is
    /// cheaper than waking it whenever one goes.
    fn sleep<'a>(
        &self,
        mut agenda: MutexGuard<'a, Agenda>,
        now: Instant,
    ) -> MutexGuard<'a, Agenda> {
        let next = agenda.entries.values().map(|(at, _)| *at).min();
        agenda.wakes_at = next;
        match next {
            Some(next) => {
                let timeout = next.saturating_duration_since(now);
                let waited = self.earlier.wait_timeout(agenda, timeout);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.earlier.wait(agenda).unwrap_or_else(PoisonError::into_inner),
        }
    }
}
