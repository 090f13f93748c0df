//! The limits of a run that hold whatever the worker, and the executor of the host, are up to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use callgate_core::program::RunClock;

use super::deadline::{Deadline, after};
use super::link::{Link, Verdict};
use super::process::Leash;
use crate::limits::Limits;

/// How long a new worker may take to get ready.
pub(crate) const START: Duration = Duration::from_secs(10);
/// How far a program may overrun its compute budget before it is killed: it is stopped by its own
/// interpreter before that, unless it sits in a function that cannot be interrupted.
const OVERRUN: Duration = Duration::from_millis(25);

/// How soon it is looked again at a program that waits with next to nothing left.
const STEP: Duration = Duration::from_millis(5);

/// The wall ceiling, the compute budget and every deadline of one run.
pub(crate) struct Limit {
    link: Arc<Link>,
    leash: Arc<dyn Leash>,
    clock: RunClock,
    started: Instant,
    wall: Duration,
    /// Processor time after which the worker is killed.
    compute: Duration,
    phase: Mutex<Phase>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The worker has to be ready at that moment.
    Starting(Instant),
    /// The program runs; the worker had used that much processor time before.
    Running(Option<Duration>),
    /// The worker is killed at that moment.
    Stopping(Instant),
    /// The run is over, and the worker may have another one.
    Over,
}

impl Limit {
    /// The limits of a run that began at `started`, and whose worker has to get ready first.
    pub(crate) fn new(
        link: Arc<Link>,
        leash: Arc<dyn Leash>,
        clock: RunClock,
        started: Instant,
        limits: &Limits,
    ) -> Self {
        let phase = Mutex::new(Phase::Starting(after(Instant::now(), START)));
        let (wall, compute) = (limits.wall, limits.compute.saturating_add(OVERRUN));
        Self { link, leash, clock, started, wall, compute, phase }
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program begins now.
    pub(crate) fn begin(&self) {
        let used = self.leash.processor_time();
        *self.phase() = Phase::Running(used);
        if let Some(used) = used {
            self.leash.limit_processor_time(used.saturating_add(self.compute));
        }
    }

    /// From now on only this deadline counts.
    pub(crate) fn kill_at(&self, at: Instant) {
        *self.phase() = Phase::Stopping(at);
    }

    /// The run is over, and the worker is not touched any more.
    pub(crate) fn end(&self) {
        *self.phase() = Phase::Over;
    }

    /// When to look for the first time.
    pub(crate) fn first(&self) -> Instant {
        let now = Instant::now();
        match *self.phase() {
            Phase::Starting(at) | Phase::Stopping(at) => at,
            Phase::Running(_) | Phase::Over => after(now, self.compute.min(self.wall_left())),
        }
    }

    fn wall_left(&self) -> Duration {
        let waited = self.clock.waited();
        self.wall.saturating_sub(self.started.elapsed().saturating_sub(waited))
    }

    fn compute_left(&self, before: Option<Duration>) -> Duration {
        let used = before.and_then(|before| self.leash.processor_time()?.checked_sub(before));
        self.compute.saturating_sub(used.unwrap_or_default())
    }

    /// Ends the run, unless it ended by itself in this very moment.
    fn kill(&self, verdict: Verdict) {
        if self.link.decide(verdict) {
            self.leash.kill();
        }
    }
}

impl Deadline for Limit {
    fn check(&self, now: Instant) -> Option<Instant> {
        let phase = self.phase();
        match *phase {
            Phase::Over => None,
            Phase::Starting(at) | Phase::Stopping(at) if now < at => Some(at),
            Phase::Stopping(_) => {
                self.leash.kill();
                None
            }
            Phase::Starting(_) => {
                self.kill(Verdict::NotReady);
                None
            }
            Phase::Running(before) => {
                let (wall, compute) = (self.wall_left(), self.compute_left(before));
                if wall.is_zero() {
                    self.kill(Verdict::Wall);
                } else if compute.is_zero() {
                    self.kill(Verdict::Compute);
                } else {
                    return Some(after(now, wall.min(compute).max(STEP)));
                }
                None
            }
        }
    }
}
