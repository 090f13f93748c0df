//! Decides when a run has to stop, and remembers why.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use callgate_core::program::{FailureKind, ProgramFailure, RunClock};

use super::raw::Memory;
use crate::limits::Limits;

/// Why a run was stopped from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Memory,
    Cancelled(String),
    Compute,
    Wall,
    Output,
}

/// The stop conditions of one run. The first that holds is kept.
pub(super) struct Watch {
    limits: Limits,
    memory: Rc<Memory>,
    clock: RefCell<RunClock>,
    cancelled: RefCell<Box<dyn Fn() -> Option<String>>>,
    started: Cell<Instant>,
    /// Since when the program computes; none while it waits.
    computing: Cell<Option<Instant>>,
    computed: Cell<Duration>,
    stop: RefCell<Option<Stop>>,
}

impl Watch {
    pub(super) fn new(limits: Limits, memory: Rc<Memory>) -> Self {
        Self {
            limits,
            memory,
            clock: RefCell::default(),
            cancelled: RefCell::new(Box::new(|| None)),
            started: Cell::new(Instant::now()),
            computing: Cell::new(None),
            computed: Cell::new(Duration::ZERO),
            stop: RefCell::new(None),
        }
    }

    /// The run begins now.
    pub(super) fn arm(&self, clock: RunClock, cancelled: Box<dyn Fn() -> Option<String>>) {
        self.clock.replace(clock);
        *self.cancelled.borrow_mut() = cancelled;
        self.started.set(Instant::now());
        self.computed.set(Duration::ZERO);
        self.stop.replace(None);
    }

    /// From here on the memory limit holds.
    pub(super) fn limit_memory(&self) {
        self.memory.limit(self.limits.memory);
    }

    /// The program goes on.
    pub(super) fn resume(&self) {
        self.computing.set(Some(Instant::now()));
    }

    /// The program waits: from here on only the wall ceiling counts.
    pub(super) fn pause(&self) {
        if let Some(since) = self.computing.take() {
            self.computed.set(self.computed.get() + since.elapsed());
        }
    }

    /// Whether the run has to stop. Cheap: the interpreter asks all the time.
    pub(super) fn poll(&self) -> bool {
        if self.stop.borrow().is_none() {
            let found = self.look();
            *self.stop.borrow_mut() = found;
        }
        self.stop.borrow().is_some()
    }

    fn look(&self) -> Option<Stop> {
        if self.memory.hit() {
            return Some(Stop::Memory);
        }
        if let Some(cause) = (self.cancelled.borrow())() {
            return Some(Stop::Cancelled(cause));
        }
        let computing = self.computing.get().map_or(Duration::ZERO, |since| since.elapsed());
        if self.computed.get() + computing >= self.limits.compute {
            return Some(Stop::Compute);
        }
        self.wall_left().is_zero().then_some(Stop::Wall)
    }

    /// Whether a stop condition was found already, without looking for one.
    pub(super) fn tripped(&self) -> bool {
        self.memory.hit() || self.stop.borrow().is_some()
    }

    /// Stops the run for a reason found elsewhere.
    pub(super) fn stop(&self, why: Stop) {
        self.stop.borrow_mut().get_or_insert(why);
    }

    /// Why the run has to stop, if it has to.
    pub(super) fn stopped(&self) -> Option<Stop> {
        self.poll();
        self.stop.borrow().clone()
    }

    /// What is left until the wall ceiling; time spent waiting for people does not count.
    pub(super) fn wall_left(&self) -> Duration {
        let elapsed = self.started.get().elapsed().saturating_sub(self.clock.borrow().waited());
        self.limits.wall.saturating_sub(elapsed)
    }

    /// The failure of a run that was stopped.
    pub(super) fn failure(&self, stop: Stop) -> ProgramFailure {
        let Limits { compute, wall, memory, .. } = &self.limits;
        match stop {
            Stop::Memory => ProgramFailure::new(
                FailureKind::WorkerExit,
                format!(
                    "the program needed more than {} MiB of memory: keep less at a time",
                    memory.div_ceil(1 << 20)
                ),
            ),
            Stop::Cancelled(cause) => ProgramFailure::new(FailureKind::Abort, cause),
            Stop::Compute => ProgramFailure::new(
                FailureKind::Timeout,
                format!(
                    "the compute budget of {compute:?} is used up: compute less, or let a tool do it"
                ),
            ),
            Stop::Wall => ProgramFailure::new(
                FailureKind::Timeout,
                format!(
                    "the wall-clock ceiling of {wall:?} was reached: wait for less, or split the work"
                ),
            ),
            Stop::Output => ProgramFailure::new(FailureKind::OutputLimit, String::new()),
        }
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("stop", &self.stop).finish_non_exhaustive()
    }
}
