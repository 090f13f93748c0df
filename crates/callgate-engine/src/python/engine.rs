//! The engine that runs Python programs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callgate_core::Signal;
use callgate_core::preflight::{Finding, ToolSignature};
use callgate_core::program::{
    EngineError, Isolation, Language, Program, ProgramEnd, ProgramEngine, ProgramHost,
};
use callgate_schema::Str;
use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};

use super::Python;
use super::check;
use super::interpreter::Interpreter;
use super::nursery::{Nursery, Setup};
use crate::limits::{Limits, limit_setters};
use crate::names;
use crate::worker::confinement::Confinement;
use crate::worker::engine::open;
use crate::worker::run::{self, Task};

/// Children that wait for a program, unless [`PythonBuilder::pool`] says otherwise.
const POOL: usize = 2;

impl Python {
    /// An engine that runs programs in confined processes of the machine's `CPython`.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), callgate_core::program::EngineError> {
    /// use callgate_engine::Python;
    /// use std::time::Duration;
    ///
    /// let engine = Python::worker().compute(Duration::from_secs(10)).build()?;
    /// println!("Python {}: {}", engine.version(), engine.confinement());
    /// # Ok(())
    /// # }
    /// ```
    pub fn worker() -> PythonBuilder {
        PythonBuilder {
            limits: Limits::default(),
            pool: POOL,
            interpreter: None,
            is_confined: true,
        }
    }
}

/// Sets up a [`PythonEngine`]. Limits hold for each run.
#[derive(Clone, Debug)]
#[must_use]
pub struct PythonBuilder {
    limits: Limits,
    pool: usize,
    interpreter: Option<PathBuf>,
    is_confined: bool,
}

impl PythonBuilder {
    limit_setters!();

    /// How many children wait for the next program of a session: 2 by default. With 0 a program
    /// waits until one is forked, which takes some milliseconds.
    pub fn pool(mut self, children: usize) -> Self {
        self.pool = children;
        self
    }

    /// The interpreter: `CPython` 3.10 or newer. By default it is `python3` in PATH; if that is too
    /// old, the first of `python3.14` to `python3.10`.
    pub fn interpreter(mut self, path: impl Into<PathBuf>) -> Self {
        self.interpreter = Some(path.into());
        self
    }

    /// Runs programs without any confinement: with your files, your network, and everything else
    /// that you may do on this machine.
    ///
    /// That is for programs that you wrote. Limits still hold, and the deadline. By default
    /// [`build`](Self::build) fails where programs cannot be confined.
    pub fn unconfined(mut self, unconfined: bool) -> Self {
        self.is_confined = !unconfined;
        self
    }

    /// The engine, with its first parent and child. That takes some hundred milliseconds, for the
    /// calling thread waits until both are ready.
    ///
    /// # Errors
    ///
    /// If a limit is out of its range; if there is no Python, or it is too old, or lacks a part of
    /// its standard library; if programs cannot be confined. The message says what to do.
    pub fn build(self) -> Result<PythonEngine, EngineError> {
        self.limits.check()?;
        let interpreter = Interpreter::find(self.interpreter.as_deref(), self.is_confined)?;
        let setup = Arc::new(Setup {
            interpreter,
            limits: self.limits,
            is_confined: self.is_confined,
            pool: self.pool,
        });
        let pool = setup.pool();
        let confinement = open(&pool, setup.is_confined.then_some("Python programs"))?;
        let level = confinement.isolation();
        let nursery = Nursery::new(setup, pool);
        Ok(PythonEngine { nursery, level, confinement, session: None })
    }
}

/// Runs Python programs, each in a process of its own.
///
/// Cloning is cheap; clones share their processes. Dropping the last clone ends them.
///
/// # Cancellation
///
/// Dropping the future of a run kills its process.
#[derive(Clone, Debug)]
pub struct PythonEngine {
    nursery: Arc<Nursery>,
    level: Isolation,
    confinement: Confinement,
    session: Option<Str>,
}

impl PythonEngine {
    /// The same engine for the programs of one session: they have a parent of their own, which
    /// forks for no other session. It ends when none of them came for a minute.
    ///
    /// A program that says which [session](Program::session) it belongs to, as those of `run_code`
    /// do where the scope has a log, needs no such engine.
    pub fn for_session(&self, session: impl Into<Str>) -> Self {
        Self { session: Some(session.into()), ..self.clone() }
    }

    fn session_of(&self, program: &Program) -> Option<Str> {
        self.session.clone().or_else(|| program.session.clone())
    }

    /// What keeps programs from this process, as the first child found out. A program is never
    /// given to one that comes out at a lower level.
    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// The version of the interpreter, such as `3.11.2`.
    pub fn version(&self) -> &str {
        &self.nursery.setup().interpreter.version
    }
}

impl ProgramEngine for PythonEngine {
    fn language(&self) -> Language {
        Language::Python
    }

    fn isolation(&self) -> Isolation {
        self.level
    }

    fn check<'a>(
        &'a self,
        program: &'a Program,
        tools: &'a [ToolSignature],
    ) -> BoxFuture<'a, Vec<Finding>> {
        check::check(&self.nursery, self.session_of(program), self.level, program, tools)
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
        let session = self.session_of(&program);
        let task = Task {
            program,
            host,
            signal,
            limits: self.nursery.setup().limits.clone(),
            level: self.level,
            // No child runs a second program, whoever's it is.
            session: None,
            pool: self.nursery.pool(session),
            started: Instant::now(),
        };
        run::run(task).boxed()
    }
}
