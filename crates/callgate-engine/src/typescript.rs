//! The TypeScript engine.

use std::sync::Arc;
use std::time::Duration;

use callgate_core::Signal;
use callgate_core::preflight::{Finding, ToolSignature};
use callgate_core::program::{
    EngineError, Isolation, Language, Program, ProgramEnd, ProgramEngine, ProgramHost,
};
use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};

use crate::in_process::Threads;
use crate::limits::{Limits, limit_setters};
use crate::names;
use crate::preflight;

/// Runs TypeScript programs: types are erased in place, and the JavaScript runs in `QuickJS`.
///
/// Each run has a fresh interpreter on a thread of its own. A program is the inside of a strict async function; it
/// finds its namespaces, their error classes, `console`, timers, `URL`, `TextEncoder` and the like, and the language
/// itself: no files, no network, no modules, no environment, no code from strings.
///
/// ```
/// use std::sync::Arc;
///
/// use callgate_core::Signal;
/// use callgate_core::program::{Namespace, Program, ProgramCall, ProgramEngine, ProgramHost, Reply};
/// use callgate_engine::TypeScript;
/// use callgate_schema::json;
///
/// struct Echo;
///
/// impl ProgramHost for Echo {
///     fn call(&self, call: ProgramCall, reply: Reply) {
///         reply.send(Ok(call.arguments));
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let engine = TypeScript::in_process().build()?;
/// let tools = Namespace::new("tools", vec!["echo".into()], None);
/// let program = Program::new("const x: number[] = await tools.echo([1]); return x.length", vec![tools]);
/// let end = engine.run(program, Arc::new(Echo), Signal::new()).await?;
/// assert_eq!(end.value, Some(json!(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What a limit can do in process
///
/// A program is stopped between any two of its own steps. A built-in function that takes long by itself, such as
/// `new Array(2 ** 28).join()`, runs to its end first: budget, ceiling and cancellation take effect when it returns.
/// Where that matters, use a worker process, which is killed.
///
/// # Cancellation
///
/// Dropping the future of a run interrupts the interpreter and waits for nothing; its thread ends soon after.
#[derive(Clone, Debug)]
pub struct TypeScript {
    threads: Threads,
}

impl TypeScript {
    /// An engine that runs programs on threads of this process.
    pub fn in_process() -> TypeScriptBuilder {
        TypeScriptBuilder { limits: Limits::default() }
    }

    /// Ends the engine: its runs fail with kind `abort`, and later ones are refused.
    ///
    /// Returns when the interpreters of all runs are gone.
    ///
    /// # Cancellation
    ///
    /// Dropping the future stops the waiting, not the ending.
    pub async fn shut_down(&self) {
        self.threads.shut_down().await;
    }
}

impl ProgramEngine for TypeScript {
    fn language(&self) -> Language {
        Language::TypeScript
    }

    fn isolation(&self) -> Isolation {
        Isolation::InProcess
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
        match names::check(&program.namespaces) {
            Ok(()) => self.threads.clone().run(program, host, signal).boxed(),
            Err(error) => future::ready(Err(error)).boxed(),
        }
    }
}

/// Sets the limits of a [`TypeScript`] engine. They hold for each run.
#[derive(Clone, Debug)]
#[must_use]
pub struct TypeScriptBuilder {
    limits: Limits,
}

impl TypeScriptBuilder {
    limit_setters!(with stack);

    /// The engine.
    ///
    /// # Errors
    ///
    /// The first limit that is out of its range.
    pub fn build(self) -> Result<TypeScript, EngineError> {
        self.limits.check()?;
        Ok(TypeScript { threads: Threads::new(self.limits) })
    }
}
