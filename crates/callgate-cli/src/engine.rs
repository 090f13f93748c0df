//! The program engine, watched: how a program ended is not all in what its model would read.

use std::sync::{Arc, Mutex, PoisonError};

use callgate::program::{EngineError, Isolation, Program, ProgramEnd, ProgramEngine, ProgramHost};
use callgate::{Language, Signal};
use futures_util::future::BoxFuture;

/// An engine that remembers how its last program ended.
#[derive(Clone, Debug)]
pub(crate) struct Watched<E> {
    engine: Arc<E>,
    last: LastEnd,
}

/// How the last program ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastEnd(Arc<Mutex<Option<ProgramEnd>>>);

impl<E: ProgramEngine> Watched<E> {
    pub(crate) fn new(engine: E) -> Self {
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

impl<E: ProgramEngine> ProgramEngine for Watched<E> {
    fn language(&self) -> Language {
        self.engine.language()
    }

    fn isolation(&self) -> Isolation {
        self.engine.isolation()
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
