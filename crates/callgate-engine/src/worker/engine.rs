//! The engine that runs programs in worker processes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use callgate_core::Signal;
use callgate_core::preflight::{Finding, ToolSignature};
use callgate_core::program::{
    EngineError, Isolation, Language, Program, ProgramEnd, ProgramEngine, ProgramHost,
};
use callgate_schema::Str;
use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::confinement::Confinement;
use super::frame::{Inbox, Outbox, Received};
use super::limit::START;
use super::message::{self, Boot, ToHost};
use super::pool::{Launch, Pool, RUNS, Worker};
use super::process::{Process, this_program};
use super::run::{self, Task};
use super::{ARGUMENT, IS_PREPARED};
use crate::limits::{Limits, limit_setters};
use crate::names;
use crate::preflight;
use crate::typescript::TypeScript;

/// Workers that wait for a program, unless [`WorkerBuilder::pool`] says otherwise.
const POOL: usize = 2;
/// Address space a worker needs besides twice its memory: its own code and libraries, and stacks.
const ADDRESS_SPACE: u64 = 256 << 20;

impl TypeScript {
    /// An engine that runs programs in processes of their own, confined as far as the system can:
    /// see [`worker`](crate::worker).
    ///
    /// ```no_run
    /// # fn main() -> Result<(), callgate_core::program::EngineError> {
    /// use callgate_engine::TypeScript;
    /// use std::time::Duration;
    ///
    /// callgate_engine::worker::run_if_worker();
    /// let engine = TypeScript::worker()
    ///     .compute(Duration::from_secs(10))
    ///     .require_confinement(true)
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn worker() -> WorkerBuilder {
        WorkerBuilder {
            limits: Limits::default(),
            pool: POOL,
            require_confinement: false,
            executable: None,
        }
    }
}

/// Sets up a [`WorkerEngine`]. Limits hold for each run.
#[derive(Clone, Debug)]
#[must_use]
pub struct WorkerBuilder {
    limits: Limits,
    pool: usize,
    require_confinement: bool,
    executable: Option<PathBuf>,
}

impl WorkerBuilder {
    limit_setters!(with stack);

    /// How many workers wait for the next program: so many that no session had, and so many that
    /// sessions left. 2 by default; one more is started whenever one is missing. With 0 a program
    /// finds the worker that [`build`](Self::build) started, or waits until one has started, and
    /// one worker is kept for the next program of its session.
    pub fn pool(mut self, workers: usize) -> Self {
        self.pool = workers;
        self
    }

    /// Whether [`build`](Self::build) fails where workers cannot be
    /// [confined](Isolation::WorkerConfined). By default it does not, and
    /// [`isolation`](ProgramEngine::isolation) tells.
    pub fn require_confinement(mut self, required: bool) -> Self {
        self.require_confinement = required;
        self
    }

    /// The program that is started as a worker: one that calls
    /// [`run_if_worker`](crate::worker::run_if_worker), built with the same version of this crate.
    /// By default it is the program that runs now.
    pub fn executable(mut self, path: impl Into<PathBuf>) -> Self {
        self.executable = Some(path.into());
        self
    }

    /// The engine, with its first worker. That takes some milliseconds: the calling thread waits
    /// until the worker has said how it is confined.
    ///
    /// # Errors
    ///
    /// If a limit is out of its range, if this program did not call
    /// [`run_if_worker`](crate::worker::run_if_worker), if no worker can be started, or if it is
    /// less confined than required.
    pub fn build(self) -> Result<WorkerEngine, EngineError> {
        self.limits.check()?;
        let executable = self.find_executable()?;
        let pool = Pool::new(Box::new(Launcher::new(executable, &self.limits)), self.pool);
        let confinement = open(&pool, self.require_confinement.then_some("workers"))?;
        let level = confinement.isolation();
        Ok(WorkerEngine { pool, limits: self.limits, level, confinement, session: None })
    }

    fn find_executable(&self) -> Result<PathBuf, EngineError> {
        if let Some(executable) = &self.executable {
            return Ok(executable.clone());
        }
        if !IS_PREPARED.load(Ordering::Relaxed) {
            return Err(EngineError::new(
                "this program does not become a worker when it is started as one: call \
                 `run_if_worker()` first thing in `main`, or name another `executable`",
            ));
        }
        let unknown =
            |error| EngineError::new(format!("this program does not find itself: {error}"));
        this_program().map_err(unknown)
    }
}

/// Runs programs in worker processes.
///
/// Cloning is cheap; clones share their workers. Dropping the last clone ends those that wait.
#[derive(Clone, Debug)]
pub struct WorkerEngine {
    pool: Arc<Pool>,
    limits: Limits,
    level: Isolation,
    confinement: Confinement,
    session: Option<Str>,
}

impl WorkerEngine {
    /// The same engine for the programs of one session: they may follow each other in the same
    /// workers, each with a fresh interpreter, which no program of another session ever enters.
    ///
    /// A program that says which [session](Program::session) it belongs to, as those of `run_code`
    /// do where the scope has a log, needs no such engine. Without a session every program has a
    /// worker that nobody had before it and nobody has after it.
    pub fn for_session(&self, session: impl Into<Str>) -> Self {
        Self { session: Some(session.into()), ..self.clone() }
    }

    /// What keeps the workers from this process, as the first of them found out. A program is
    /// never given to one that comes out at a lower level.
    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }
}

impl ProgramEngine for WorkerEngine {
    fn language(&self) -> Language {
        Language::TypeScript
    }

    fn isolation(&self) -> Isolation {
        self.level
    }

    fn check<'a>(
        &'a self,
        program: &'a Program,
        tools: &'a [ToolSignature],
    ) -> BoxFuture<'a, Vec<Finding>> {
        preflight::check(program, tools)
    }

    fn run(
        &self,
        program: Program,
        host: Arc<dyn ProgramHost>,
        signal: Signal,
    ) -> BoxFuture<'static, Result<ProgramEnd, EngineError>> {
        if let Err(error) = names::check(&program.namespaces) {
            return future::ready(Err(error)).boxed();
        }
        let session = program.session.clone();
        let task = Task {
            program,
            host,
            signal,
            limits: self.limits.clone(),
            level: self.level,
            session: self.session.clone().or(session),
            pool: self.pool.clone(),
            started: Instant::now(),
        };
        run::run(task).boxed()
    }
}

/// Starts TypeScript workers.
#[derive(Debug)]
struct Launcher {
    executable: PathBuf,
    boot: Boot,
}

impl Launcher {
    fn new(executable: PathBuf, limits: &Limits) -> Self {
        let boot = Boot {
            limits: limits.clone(),
            address_space: (limits.memory as u64).saturating_mul(2).saturating_add(ADDRESS_SPACE),
            cpu_seconds: (limits.compute.as_secs().saturating_add(2)).saturating_mul(RUNS.into()),
            frame_cap: limits.frame_cap(),
        };
        Self { executable, boot }
    }
}

impl Launch for Launcher {
    fn launch(&self) -> Result<Worker, EngineError> {
        let failed = |error| {
            let path = self.executable.display();
            EngineError::new(format!("no worker process could be started from {path}: {error}"))
        };
        let started = Process::start(&self.executable, ARGUMENT, self.boot.cpu_seconds);
        let (process, socket) = started.map_err(failed)?;
        let mut outbox = Outbox::default();
        // A handful of numbers always fits, in the frame and in the socket. Whether somebody is
        // there to read them shows when it should answer.
        let _ = message::boot(&mut outbox, &self.boot);
        let _ = outbox.flush(&socket);
        Ok(Worker {
            socket,
            inbox: Inbox::new(self.boot.frame_cap),
            leash: Arc::new(process),
            is_ready: false,
            serves_one: false,
            runs: 0,
        })
    }
}

/// Starts the first worker of a pool and has the others started; how it is confined. `required` names those who must be
/// confined, if they must.
pub(crate) fn open(pool: &Arc<Pool>, required: Option<&str>) -> Result<Confinement, EngineError> {
    let (worker, confinement) = greet(pool.start_and_wait()?)?;
    match required {
        Some(who) if confinement.isolation() < Isolation::WorkerConfined => {
            return Err(EngineError::new(format!(
                "{who} must be confined, and here they are only: {confinement}"
            )));
        }
        _ => {}
    }
    pool.add(worker);
    pool.refill();
    Ok(confinement)
}

/// Waits until a new worker has said how it is confined.
pub(crate) fn greet(mut worker: Worker) -> Result<(Worker, Confinement), EngineError> {
    let by = Instant::now() + START;
    let failed = |why: &str| EngineError::new(format!("a worker process did not get ready: {why}"));
    loop {
        match worker.inbox.next(ToHost::read) {
            Ok(Some(Some(ToHost::Ready(confinement)))) => {
                worker.is_ready = true;
                return Ok((worker, confinement));
            }
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => return Err(failed("it is not of this version")),
        }
        let left = by.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(failed("it took too long"));
        }
        let left = Timespec::try_from(left).ok();
        // Whatever it waited for: what is there tells.
        let _ = poll(&mut [PollFd::new(&worker.socket, PollFlags::IN)], left.as_ref());
        if worker.inbox.receive(&worker.socket, false) == Received::Closed {
            return Err(failed("it ended"));
        }
    }
}
