//! The parents of Python programs: one for each session, and how they are started.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use callgate_core::program::EngineError;
use callgate_schema::Str;

use super::boot;
use super::cage::{self, Cage};
use super::child::Child;
use super::interpreter::Interpreter;
use super::system_calls;
use super::zygote::{Shared, Zygote};
use crate::limits::Limits;
use crate::worker::confinement::{Confinement, Effect, Measure};
use crate::worker::deadline::{Deadline, Watched, watch};
use crate::worker::frame::Inbox;
use crate::worker::pool::{Launch, Pool, Worker};

/// Address space of the interpreter itself, with everything a program may import.
const ADDRESS_SPACE: u64 = 96 << 20;
/// How long the parent of a session waits for its next program.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pools of all sessions of an engine, each with a parent of its own.
pub(super) struct Nursery {
    setup: Arc<Setup>,
    pools: Mutex<Pools>,
}

#[derive(Default)]
struct Pools {
    /// The first one, until a session needs it.
    spare: Option<Arc<Pool>>,
    /// Those of sessions, and of programs without one, and when they were last asked for.
    of: HashMap<Option<Str>, (Arc<Pool>, Instant)>,
    sweep: Option<Watched>,
}

impl Nursery {
    pub(super) fn new(setup: Arc<Setup>, spare: Arc<Pool>) -> Arc<Self> {
        let pools = Pools { spare: Some(spare), ..Pools::default() };
        Arc::new(Self { setup, pools: Mutex::new(pools) })
    }

    pub(super) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The pool for the programs of a session.
    pub(super) fn pool(self: &Arc<Self>, session: Option<Str>) -> Arc<Pool> {
        let now = Instant::now();
        let mut pools = self.pools();
        if let Some((pool, asked)) = pools.of.get_mut(&session) {
            *asked = now;
            return pool.clone();
        }
        let pool = pools.spare.take().unwrap_or_else(|| self.setup.pool());
        pools.of.insert(session, (pool.clone(), now));
        if pools.sweep.is_none() {
            let sweep = Arc::new(Sweep(Arc::downgrade(self)));
            pools.sweep = Some(watch(now + PATIENCE, sweep));
        }
        pool
    }

    fn pools(&self) -> MutexGuard<'_, Pools> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Nursery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nursery").field("setup", &self.setup).finish_non_exhaustive()
    }
}

/// Ends parents that were not used for a while.
struct Sweep(Weak<Nursery>);

impl Deadline for Sweep {
    fn check(&self, now: Instant) -> Option<Instant> {
        let nursery = self.0.upgrade()?;
        let mut pools = nursery.pools();
        let is_idle = |asked: &Instant| now.saturating_duration_since(*asked) >= PATIENCE;
        let idle: Vec<_> = (pools.of)
            .extract_if(|_, (pool, asked)| is_idle(asked) && Arc::strong_count(pool) == 1)
            .collect();
        drop(pools);
        drop(idle);
        Some(now + PATIENCE)
    }
}

/// How parents and children are started.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) interpreter: Arc<Interpreter>,
    pub(super) limits: Limits,
    pub(super) is_confined: bool,
    pub(super) pool: usize,
}

impl Setup {
    /// A pool with a parent of its own.
    pub(super) fn pool(self: &Arc<Self>) -> Arc<Pool> {
        let launcher = Launcher { setup: self.clone(), zygote: Mutex::default() };
        Pool::new(Box::new(launcher), self.pool)
    }

    fn start(&self) -> Result<Zygote, EngineError> {
        let address_space = (self.limits.memory as u64).saturating_add(ADDRESS_SPACE);
        let failed = |why| EngineError::new(format!("Python programs cannot be confined: {why}"));
        let mut effects = Confinement::none();
        for measure in [Measure::Privileges, Measure::Limits, Measure::Descriptors] {
            effects.set(measure, Effect::Full);
        }
        let mut cage = Cage { address_space, files: None, filter: None };
        let mut of_child = None;
        if self.is_confined {
            let (files, effect) = cage::files(&self.interpreter);
            effects.set(Measure::Files, effect);
            cage.files = files;
            cage.filter = Some(system_calls::parent().map_err(failed)?);
            of_child = Some(system_calls::child().map_err(failed)?);
        } else {
            for measure in Measure::ALL {
                if *effects.effect(measure) != Effect::Full {
                    effects.set(measure, Effect::None("not wanted".into()));
                }
            }
        }
        let interpreter = &self.interpreter;
        let boot = boot::message(interpreter, &self.limits, of_child.as_ref(), effects.write());
        Zygote::start(interpreter, cage, &boot)
    }
}

/// Has children forked by one parent, which it starts when there is none.
#[derive(Debug)]
struct Launcher {
    setup: Arc<Setup>,
    zygote: Mutex<Option<Shared>>,
}

impl Launcher {
    fn zygote(&self) -> Result<Shared, EngineError> {
        let mut zygote = self.zygote.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(zygote) = &*zygote {
            return Ok(zygote.clone());
        }
        let started = Shared::new(self.setup.start()?);
        *zygote = Some(started.clone());
        Ok(started)
    }

    fn forget(&self) {
        *self.zygote.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Launch for Launcher {
    fn launch(&self) -> Result<Worker, EngineError> {
        let limits = &self.setup.limits;
        // What it may compute, and its own start.
        let cpu_seconds = limits.compute.as_secs().saturating_add(3);
        let fork = || {
            Child::fork(&self.zygote()?, cpu_seconds).map_err(|error| {
                EngineError::new(format!(
                    "no process for a Python program could be forked: {error}"
                ))
            })
        };
        let (child, socket) = fork().or_else(|_| {
            // A parent that does not answer is replaced once.
            self.forget();
            fork()
        })?;
        Ok(Worker {
            socket,
            inbox: Inbox::new(limits.frame_cap()),
            leash: Arc::new(child),
            is_ready: false,
            serves_one: true,
            runs: 0,
        })
    }
}
