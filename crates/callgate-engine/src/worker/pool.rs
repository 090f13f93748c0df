//! Workers that wait for a program, and who may have them.

use std::collections::VecDeque;
use std::fmt;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use callgate_core::program::EngineError;
use callgate_schema::Str;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::oneshot;

use super::deadline::{Deadline, Watched, watch};
use super::frame::Inbox;
use super::process::{Leash, starting};

/// How long a worker that served a session waits for its next program.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a worker takes, about, to get ready for its next program.
const REST: Duration = Duration::from_millis(1);
/// How many programs one worker runs.
pub(crate) const RUNS: u32 = 256;
/// A worker that holds more memory than this after a run is not kept.
const RESIDENT: u64 = 32 << 20;
/// In less time no program fills that much memory, and asking takes time too.
const SHORT: Duration = Duration::from_millis(2);

/// A process that runs one program at a time.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) socket: UnixStream,
    pub(crate) inbox: Inbox,
    pub(crate) leash: Arc<dyn Leash>,
    /// Whether it said how it is confined, and that was enough.
    pub(crate) is_ready: bool,
    /// Whether it is the child of one program: it hears no word to stop, and nothing is left of it
    /// but to bury it.
    pub(crate) serves_one: bool,
    /// How many programs it was given.
    pub(crate) runs: u32,
}

impl Worker {
    /// Whether it lives and keeps quiet. One that says something without being asked to is not to
    /// be used.
    fn is_waiting(&self) -> bool {
        const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut sockets = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut sockets, Some(&AT_ONCE)) {
            Ok(0) => true,
            // Before its first program it says how it is confined, and may be gone after that.
            Ok(_) => !self.is_ready && sockets[0].revents() == PollFlags::IN,
            Err(_) => false,
        }
    }

    /// Whether it may run another program of the same session, after one that took `time`.
    fn is_worth_keeping(&self, time: Duration) -> bool {
        let resident = || if time < SHORT { None } else { self.leash.resident() };
        self.runs < RUNS
            && self.inbox.is_empty()
            && self.is_waiting()
            && resident().is_none_or(|bytes| bytes <= RESIDENT)
    }
}

/// Starts workers.
pub(crate) trait Launch: Send + Sync + fmt::Debug {
    /// Starts one. It is called on the thread that [`starting`] is about.
    fn launch(&self) -> Result<Worker, EngineError>;
}

/// The workers of an engine.
#[derive(Debug)]
pub(crate) struct Pool {
    launcher: Box<dyn Launch>,
    /// How many unused workers are kept, and how many used ones.
    size: usize,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    /// Workers that never ran a program, oldest first.
    fresh: VecDeque<Worker>,
    /// How many of those are about to be started.
    starting: usize,
    /// Workers that ran programs of a session, longest unused first.
    used: VecDeque<Used>,
    sweep: Option<Watched>,
}

#[derive(Debug)]
struct Used {
    session: Str,
    since: Instant,
    worker: Worker,
}

/// What [`Pool::take`] has.
pub(crate) enum Taken {
    Now(Worker),
    Later(oneshot::Receiver<Result<Worker, EngineError>>),
}

impl Pool {
    pub(crate) fn new(launcher: Box<dyn Launch>, size: usize) -> Arc<Self> {
        Arc::new(Self { launcher, size, idle: Mutex::default() })
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker for a program of that session; without a session, one that nobody had and nobody
    /// will have.
    pub(crate) fn take(self: &Arc<Self>, session: Option<&Str>) -> Taken {
        if let Some(worker) = session.and_then(|session| self.take_used(session, self.size)) {
            return Taken::Now(worker);
        }
        let fresh = self.take_fresh();
        let any = || session.and_then(|session| self.take_used(session, 0));
        let taken = fresh.or_else(any).map(Taken::Now);
        self.refill();
        taken.unwrap_or_else(|| Taken::Later(self.start()))
    }

    /// The worker of that session that waits longest. One that came back this very moment is still
    /// busy with its new interpreter, and is left alone unless the session has `enough` of them.
    fn take_used(&self, session: &Str, enough: usize) -> Option<Worker> {
        loop {
            let used = {
                let mut idle = self.idle();
                let own = |(_, used): &(usize, &Used)| used.session == *session;
                let mut own = idle.used.iter().enumerate().filter(own);
                let (at, longest) = own.next()?;
                if longest.since.elapsed() < REST && 1 + own.count() < enough {
                    return None;
                }
                idle.used.remove(at)?
            };
            if used.worker.is_waiting() {
                return Some(used.worker);
            }
        }
    }

    fn take_fresh(&self) -> Option<Worker> {
        loop {
            let worker = self.idle().fresh.pop_front()?;
            if worker.is_waiting() {
                return Some(worker);
            }
        }
    }

    /// Starts a worker for somebody who waits for it.
    fn start(self: &Arc<Self>) -> oneshot::Receiver<Result<Worker, EngineError>> {
        let (give, worker) = oneshot::channel();
        let pool = self.clone();
        starting(move || {
            // Who waited may be gone, and then the worker goes too.
            let _ = give.send(pool.launcher.launch());
        });
        worker
    }

    /// Starts a worker and waits for it.
    pub(crate) fn start_and_wait(self: &Arc<Self>) -> Result<Worker, EngineError> {
        let (give, worker) = std::sync::mpsc::channel();
        let pool = self.clone();
        starting(move || {
            let _ = give.send(pool.launcher.launch());
        });
        worker.recv().unwrap_or_else(|_| Err(no_thread()))
    }

    /// Has workers started until enough of them wait.
    pub(crate) fn refill(self: &Arc<Self>) {
        let missing = {
            let mut idle = self.idle();
            let missing = self.size.saturating_sub(idle.fresh.len() + idle.starting);
            idle.starting += missing;
            missing
        };
        for _ in 0..missing {
            let pool = Arc::downgrade(self);
            starting(move || add_fresh(&pool));
        }
    }

    /// Takes a worker in that nobody had.
    pub(crate) fn add(&self, worker: Worker) {
        self.idle().fresh.push_back(worker);
    }

    /// Takes a worker back from a session, after a program that took `time`, or hands it back if
    /// it is not to be used again.
    pub(crate) fn give_back(
        self: &Arc<Self>,
        session: Option<&Str>,
        worker: Worker,
        time: Duration,
    ) -> Result<(), Worker> {
        let Some(session) = session.filter(|_| worker.is_worth_keeping(time)) else {
            return Err(worker);
        };
        let since = Instant::now();
        let mut idle = self.idle();
        idle.used.push_back(Used { session: session.clone(), since, worker });
        let surplus = (idle.used.len() > self.size.max(1)).then(|| idle.used.pop_front());
        if idle.sweep.is_none() {
            let sweep = Sweep(Arc::downgrade(self));
            idle.sweep = Some(watch(since + PATIENCE, Arc::new(sweep)));
        }
        drop(idle);
        drop(surplus);
        Ok(())
    }
}

fn add_fresh(pool: &Weak<Pool>) {
    let Some(pool) = pool.upgrade() else { return };
    // Whoever needs a worker when there is none learns why it cannot be started.
    let started = pool.launcher.launch().ok();
    let mut idle = pool.idle();
    idle.starting = idle.starting.saturating_sub(1);
    idle.fresh.extend(started);
}

pub(crate) fn no_thread() -> EngineError {
    EngineError::new("no worker process: the thread that starts them could not be started")
}

/// Ends workers that were not used for a while.
struct Sweep(Weak<Pool>);

impl Deadline for Sweep {
    fn check(&self, now: Instant) -> Option<Instant> {
        let pool = self.0.upgrade()?;
        let mut idle = pool.idle();
        let expired = |used: &Used| now.saturating_duration_since(used.since) >= PATIENCE;
        let count = idle.used.iter().take_while(|used| expired(used)).count();
        let gone: Vec<Used> = idle.used.drain(..count).collect();
        let next = idle.used.front().map(|used| used.since + PATIENCE);
        let done = if next.is_none() { idle.sweep.take() } else { None };
        drop(idle);
        drop((gone, done));
        next
    }
}
