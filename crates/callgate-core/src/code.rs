//! Code Mode: the model writes one program, and every call it makes takes the one path.

mod dialect;
mod inbox;
mod lane;
mod lookup;
mod python;
mod sdk;
mod typescript;

use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::pin::pin;

use callgate_schema::{Array, Json, Object, ParamSpec, Str, ValueSpec};
use callgate_session::Content;
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};

pub(crate) use dialect::Dialect;
pub use sdk::{SdkDetail, SdkOptions};

use crate::error::{Error, ErrorKind, FailureClass, ToolError, codes};
use crate::preflight::{self, Finding};
use crate::program::{Language, ProgramEnd, ProgramEngine, ProgramFailure};
use crate::registry::Layer;
use crate::tool::{Output, Returned, ToolContext, ToolDefinition};
use lane::{Bound, Lane, Tally};

/// What the inbox is made of.
mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};
}

/// The name of the tool that runs programs. Reserved always, in every scope.
pub const RUN_CODE: &str = "run_code";

/// How deep `run_code` may be nested through tools that call it.
const MAX_DEPTH: u16 = 4;

/// How many sub-calls of a failed run are listed, at either end.
const LISTED: usize = 20;

/// The definition of `run_code`, in the language of the engine.
pub(crate) fn definition(engine: Option<&dyn ProgramEngine>) -> ToolDefinition {
    let dialect = Dialect::of(engine.map_or(Language::TypeScript, ProgramEngine::language));
    let parameters = ParamSpec::new()
        .required("code", ValueSpec::string().description(dialect.code_help))
        .required("description", ValueSpec::string().description(DESCRIPTION_HELP));
    let value = ValueSpec::object()
        .closed()
        .required("logs", ValueSpec::array_of(ValueSpec::string()))
        .optional("result", ValueSpec::json());
    ToolDefinition::new(
        RUN_CODE,
        dialect.description,
        parameters,
        Output::new(value, |_, value| vec![Content::text(render(value))]),
        run,
    )
}

const DESCRIPTION_HELP: &str =
    "What the program does, in five to ten words and active voice. Shown to the user.";

async fn run(arguments: Json, context: ToolContext) -> Result<Returned, ToolError> {
    let text = |name| arguments.get(name).and_then(Json::as_str).unwrap_or_default();
    if text("description").trim().is_empty() {
        return Err(ToolError::failed(
            "`description` is empty; say in five to ten words what the program does",
        ));
    }
    if context.call().token().depth() > MAX_DEPTH {
        return Err(ToolError::failed(format!(
            "`{RUN_CODE}` is nested more than {MAX_DEPTH} deep; call the tools directly"
        )));
    }
    let layer = context.layer();
    let Some(engine) = layer.shared.engine.clone() else {
        let mode = layer.mode().name();
        return Err(ToolError::unavailable(format!(
            "mode `{mode}` needs a program engine and none is installed; build the runtime with one, or use mode `native`"
        )));
    };
    let bound = Bound::new(text("code").into(), layer, engine.language());
    let findings = checked(&*engine, &bound, &context).await;
    let source = bound.program.source.clone();
    if !findings.is_empty() {
        return Err(failed(
            &preflight::failure(&source, &findings),
            &source,
            &[],
            &Tally::default(),
        ));
    }
    let run = Lane::run(engine, bound, context).await?;
    match run.end {
        ProgramEnd { failure: Some(failure), logs, .. } => {
            Err(failed(&failure, &source, &logs, &run.tally))
        }
        ProgramEnd { value, logs, .. } => Ok(envelope(value, logs).into()),
    }
}

/// What is certainly wrong with a program. Of a run that is cancelled meanwhile, nothing: it says so itself.
async fn checked(engine: &dyn ProgramEngine, bound: &Bound, context: &ToolContext) -> Vec<Finding> {
    let findings = pin!(check(engine, bound, context.layer()));
    match select(findings, pin!(context.signal().cancelled())).await {
        Either::Left((findings, _)) => findings,
        Either::Right(_) => Vec::new(),
    }
}

/// Asks the engine. A check that panics finds nothing: the run goes through the same text and says what is wrong.
async fn check(engine: &dyn ProgramEngine, bound: &Bound, layer: &Layer) -> Vec<Finding> {
    let mut signatures = layer.view().signatures().clone();
    if let Some(lookup) = &bound.lookup {
        signatures = signatures.iter().cloned().chain(lookup.signatures()).collect();
    }
    let findings = AssertUnwindSafe(async { engine.check(&bound.program, &signatures).await });
    findings.catch_unwind().await.unwrap_or_default()
}

impl Layer {
    /// Says what is certainly wrong with a program, against the tools that are visible here, without running any of
    /// it. `run_code` does the same before each run.
    ///
    /// ```
    /// use callgate_core::ToolRuntime;
    /// use callgate_core::preflight::{Finding, FindingKind};
    /// use callgate_core::program::Position;
    /// use callgate_core::testing::ScriptedEngine;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), callgate_core::Error> {
    /// let at = Position { line: 1, column: 1 };
    /// let finding = Finding::new(FindingKind::Import, at, "a program has no modules to import");
    /// let engine = ScriptedEngine::new().finding("import fs from 'fs'", finding.clone());
    /// let runtime = ToolRuntime::builder().engine(engine).build()?;
    /// assert_eq!(runtime.check_program("import fs from 'fs'").await?, [finding]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// If the runtime has no program engine.
    ///
    /// # Cancellation
    ///
    /// Dropping the future stops the check; nothing of it stays.
    pub async fn check_program(&self, source: impl Into<Str>) -> Result<Vec<Finding>, Error> {
        let Some(engine) = self.shared.engine.clone() else {
            let message =
                "a program cannot be checked without a program engine; build the runtime with one";
            return Err(Error::new(ErrorKind::InvalidConfig, message));
        };
        let bound = Bound::new(source.into(), self, engine.language());
        Ok(check(&*engine, &bound, self).await)
    }
}

fn envelope(value: Option<Json>, logs: Vec<Str>) -> Json {
    let mut envelope = Object::builder();
    envelope.insert("logs", logs.into_iter().map(Json::from).collect::<Array>());
    if let Some(value) = value {
        envelope.insert("result", value);
    }
    envelope.build().into()
}

/// The logs, then the result, with an empty part left out.
fn render(value: &Json) -> String {
    let logs = value.get("logs").and_then(Json::as_array).map(|logs| &**logs).unwrap_or_default();
    let mut parts: Vec<&str> = logs.iter().filter_map(Json::as_str).collect();
    let logs = parts.join("\n");
    let result = match value.get("result") {
        None => String::new(),
        Some(Json::String(text)) => text.to_string(),
        Some(other) => other.render_result(),
    };
    parts = [&*logs, &*result].into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return "(the program finished without output)".to_owned();
    }
    parts.join("\n")
}

/// What the model needs to repair its program: kind, message, what already ran, what was printed.
#[cold]
fn failed(failure: &ProgramFailure, source: &str, logs: &[Str], tally: &Tally) -> ToolError {
    let mut message =
        format!("the program failed ({}): {}", failure.kind, failure.in_source(source));
    tally.describe(&mut message, LISTED);
    if !logs.is_empty() {
        message.push_str("\nprinted before the failure:");
        for line in logs {
            // Writing to a string cannot fail.
            let _written = write!(message, "\n{line}");
        }
    }
    ToolError::known(FailureClass::Failed, "CodeRunFailedError", codes::CODE_RUN_FAILED, message)
}
