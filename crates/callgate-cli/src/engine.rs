//! The program engine: which one, within which limits; and watched, for how a program ended is not all in what its model
//! would read.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[cfg(target_os = "linux")]
use callgate::engine::Python;
use callgate::engine::TypeScript;
use callgate::preflight::{self, Finding, ToolSignature};
use callgate::program::{EngineError, Isolation, Program, ProgramEnd, ProgramEngine, ProgramHost};
use callgate::{Language, Signal};
use futures_util::future::BoxFuture;

use crate::args::WantedIsolation;
use crate::failure::Failure;

/// How far another limit is kept away from the one that is to be reached first.
const SPARE: Duration = Duration::from_secs(1);

/// Where programs run and what they may use. What is not said is left to the engine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EngineSettings {
    /// The language of programs; TypeScript unless said.
    pub(crate) language: Option<Language>,
    /// Whether Python programs run with the rights of whoever starts them.
    pub(crate) unconfined: bool,
    /// Where programs run; at the best level there is unless said.
    pub(crate) isolation: Option<WantedIsolation>,
    /// Whether less than a confined worker is refused.
    pub(crate) require_confinement: bool,
    /// Bytes that a program may allocate.
    pub(crate) memory: Option<usize>,
    /// How many calls a program may make in all.
    pub(crate) max_calls: Option<u64>,
    /// From the start of a program to its end.
    pub(crate) wall: Option<Duration>,
    /// What a program computes itself.
    pub(crate) compute: Option<Duration>,
    /// Workers that wait for programs.
    pub(crate) pool: Option<usize>,
}

/// A builder of an engine with the limits of these settings. Builders of all engines have the same names for them.
macro_rules! limited {
    ($settings:expr, $builder:expr) => {{
        let mut builder = $builder;
        if let Some(wall) = $settings.wall {
            builder = builder.wall(wall);
        }
        if let Some(compute) = $settings.compute {
            builder = builder.compute(compute);
        }
        if let Some(bytes) = $settings.memory {
            builder = builder.memory(bytes);
        }
        builder
    }};
}

impl EngineSettings {
    /// A limit on the command line bounds everything that takes time: the program may compute all the time, and the
    /// ceiling is what it hears of.
    pub(crate) fn within(self, timeout: Option<Duration>) -> Self {
        let Some(timeout) = timeout else { return self };
        Self { wall: Some(timeout), compute: Some(timeout.saturating_add(SPARE)), ..self }
    }

    /// For commands that run no program.
    pub(crate) fn idle(self) -> Self {
        let isolation = Some(WantedIsolation::InProcess);
        Self { language: None, unconfined: false, isolation, require_confinement: false, ..self }
    }

    /// For commands that run one program: it has the worker that starts first, and needs no other.
    pub(crate) fn for_one_program(self) -> Self {
        Self { pool: Some(0), ..self }
    }

    /// The engine, and what is to be said about it if it is not at the level it might be.
    pub(crate) fn build(&self) -> Result<(Watched, Option<String>), Failure> {
        match self.language {
            Some(Language::Python) => self.build_python(),
            Some(Language::TypeScript) | None if self.unconfined => {
                Err(Failure::usage("`--unconfined` is for Python programs: TypeScript needs no more than `--isolation in-process`".to_owned()))
            }
            Some(Language::TypeScript) | None => self.build_typescript(),
        }
    }

    fn build_python(&self) -> Result<(Watched, Option<String>), Failure> {
        if self.isolation == Some(WantedIsolation::InProcess) {
            let message = "Python programs run only in workers, which are confined; do not ask for `in-process`";
            return Err(Failure::failed("isolation", message.to_owned()));
        }
        if self.unconfined && self.require_confinement {
            let message = "the configuration requires that programs are confined; leave `--unconfined` out, or drop `engine.requireConfinement`";
            return Err(Failure::failed("isolation", message.to_owned()));
        }
        let engine = self.python().map_err(|error| no_python(&error, self.unconfined))?;
        let warning = "Python programs run unconfined: with your files, your network and all that you may do here";
        Ok((engine, self.unconfined.then(|| warning.to_owned())))
    }

    #[cfg(target_os = "linux")]
    fn python(&self) -> Result<Watched, EngineError> {
        let mut engine = limited!(self, Python::worker().unconfined(self.unconfined));
        if let Some(children) = self.pool {
            engine = engine.pool(children);
        }
        Ok(Watched::new(engine.build()?))
    }

    #[cfg(not(target_os = "linux"))]
    fn python(&self) -> Result<Watched, EngineError> {
        Err(EngineError::new("Python programs run on Linux only; write them in TypeScript"))
    }

    fn build_typescript(&self) -> Result<(Watched, Option<String>), Failure> {
        match self.isolation {
            Some(WantedIsolation::InProcess) if self.require_confinement => {
                let message = "the configuration requires that programs are confined, and `in-process` is not; leave the isolation out, or drop `engine.requireConfinement`";
                Err(Failure::failed("isolation", message.to_owned()))
            }
            Some(WantedIsolation::InProcess) => Ok((self.in_process()?, None)),
            wanted => match self.worker() {
                Ok(engine) => Ok((engine, None)),
                Err(error) if wanted.is_some() || self.require_confinement => {
                    Err(no_worker(&error))
                }
                Err(error) => {
                    let warning = format!("programs run in this process, not in a worker: {error}");
                    Ok((self.in_process()?, Some(warning)))
                }
            },
        }
    }

    fn worker(&self) -> Result<Watched, EngineError> {
        let builder = TypeScript::worker().require_confinement(self.require_confinement);
        let mut engine = limited!(self, builder);
        if let Some(workers) = self.pool {
            engine = engine.pool(workers);
        }
        Ok(Watched::new(engine.build()?))
    }

    fn in_process(&self) -> Result<Watched, Failure> {
        let built = limited!(self, TypeScript::in_process()).build();
        built.map(Watched::new).map_err(|error| {
            Failure::failed("isolation", format!("no program can be run: {error}"))
        })
    }
}

#[cold]
fn no_python(error: &EngineError, unconfined: bool) -> Failure {
    let hint = if !unconfined && error.to_string().contains("confined") {
        "; `--unconfined` runs programs that you trust with your own rights"
    } else {
        ""
    };
    Failure::failed("isolation", format!("{error}{hint}"))
}

#[cold]
fn no_worker(error: &EngineError) -> Failure {
    let message = format!(
        "programs cannot run in workers as they must: {error}; `--isolation in-process` runs them without, unless the \
         configuration requires confinement"
    );
    Failure::failed("isolation", message)
}

/// An engine that remembers how its last program ended.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    engine: Arc<dyn ProgramEngine>,
    last: LastEnd,
}

/// How the last program ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastEnd(Arc<Mutex<Option<ProgramEnd>>>);

impl Watched {
    fn new(engine: impl ProgramEngine) -> Self {
        Self { engine: Arc::new(engine), last: LastEnd::default() }
    }

    pub(crate) fn last_end(&self) -> LastEnd {
        self.last.clone()
    }
}

impl LastEnd {
    pub(crate) fn take(&self) -> Option<ProgramEnd> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, end: ProgramEnd) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }
}

impl ProgramEngine for Watched {
    fn language(&self) -> Language {
        self.engine.language()
    }

    fn isolation(&self) -> Isolation {
        self.engine.isolation()
    }

    fn check<'a>(
        &'a self,
        program: &'a Program,
        tools: &'a [ToolSignature],
    ) -> BoxFuture<'a, Vec<Finding>> {
        Box::pin(async move {
            let findings = self.engine.check(program, tools).await;
            if !findings.is_empty() {
                let mut end = ProgramEnd::default();
                end.failure = Some(preflight::failure(&program.source, &findings));
                self.last.set(end);
            }
            findings
        })
    }

    fn run(
        &self,
        program: Program,
        host: Arc<dyn ProgramHost>,
        signal: Signal,
    ) -> BoxFuture<'static, Result<ProgramEnd, EngineError>> {
        let run = self.engine.run(program, host, signal);
        let last = self.last.clone();
        Box::pin(async move {
            let end = run.await?;
            last.set(end.clone());
            Ok(end)
        })
    }
}
