//! The invariant checker: watches every stage that is announced and every event that is logged.
//!
//! Most invariants of a call are types: a phase cannot run twice, a result cannot be changed.
//! What is left is checked here, and in the session log by
//! [`LogChecker`](callgate_session::LogChecker).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use callgate_session::{LogChecker, Session};

use crate::call::Token;
use crate::change::Change;
use crate::error::{Error, ErrorKind, FailureClass, ToolError, codes};
use crate::hook::{Next, from_fn};
use crate::plugin::Plugin;
use crate::prompt::Prompt;
use crate::{Place, hook::Assemble};

/// A stage that is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StageName {
    /// The pre-execute hooks.
    PreExecute,
    /// The execute hooks.
    Execute,
    /// The post-execute hooks.
    PostExecute,
    /// The observers of the final result.
    Result,
}

/// A plugin that checks the invariants of the pipeline, of prompts and of session logs. A
/// violation fails the call, the assembly or the append it is found in, with code `INVARIANT`.
///
/// A [`RuntimeBuilder`](crate::RuntimeBuilder) installs it by itself in debug builds.
///
/// ```
/// use callgate_core::{Invariants, ToolRuntime};
/// # fn main() -> Result<(), callgate_core::Error> {
/// let runtime = ToolRuntime::builder().invariants(false).build()?;
/// runtime.install(&Invariants)?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Invariants;

impl Invariants {
    /// Checks a session log: all of it now, and every event that is appended from here on.
    ///
    /// # Errors
    ///
    /// The first violation in what the log holds already.
    pub fn watch(session: &Session) -> Result<(), Error> {
        session
            .add_check(LogChecker::new())
            .map_err(|error| Error::new(ErrorKind::Invariant, error.to_string()))
    }
}

impl Plugin for Invariants {
    fn name(&self) -> &'static str {
        "invariants"
    }

    fn install(&self, change: &mut Change<'_>) {
        let traces = Arc::new(Mutex::new(BTreeMap::<Token, StageName>::new()));
        // Calls that were under way before this have stages nobody saw.
        let installed = Token::fresh(None, false);
        change.on_stage(move |stage, call, _| {
            if call.token() < installed {
                return Ok(());
            }
            let mut traces = traces.lock().unwrap_or_else(PoisonError::into_inner);
            let last = match stage {
                StageName::Result => traces.remove(&call.token()),
                _ => traces.insert(call.token(), stage),
            };
            check_order(last, stage)?;
            if stage == StageName::Result && (call.id().is_empty() || call.name().is_empty()) {
                return Err(violation("a call was published without an id or a name"));
            }
            Ok(())
        });
        let check = from_fn::<Assemble, _, _>(|_, next: Next<Assemble>| async move {
            let prompt = next.run().await?;
            check_prompt(&prompt)?;
            Ok(prompt)
        });
        change.hook(check, Place::First);
    }
}

fn check_order(last: Option<StageName>, next: StageName) -> Result<(), ToolError> {
    let is_in_order = match next {
        StageName::PreExecute => last.is_none(),
        StageName::Execute => last == Some(StageName::PreExecute),
        StageName::PostExecute => {
            matches!(last, Some(StageName::PreExecute | StageName::Execute))
        }
        StageName::Result => true,
    };
    if is_in_order {
        return Ok(());
    }
    Err(violation(&format!("stage {next:?} came after {last:?}")))
}

fn check_prompt(prompt: &Prompt) -> Result<(), ToolError> {
    let mut names = BTreeSet::new();
    for section in &prompt.sections {
        if section.name.is_empty() || !names.insert(&section.name) {
            let name = &section.name;
            return Err(violation(&format!("the section name `{name}` is empty or not unique")));
        }
    }
    if prompt.tools.iter().any(|tool| tool.name.is_empty()) {
        return Err(violation("a tool of the prompt has no name"));
    }
    Ok(())
}

#[cold]
fn violation(what: &str) -> ToolError {
    ToolError::known(
        FailureClass::Failed,
        "InvariantError",
        codes::INVARIANT,
        format!("an invariant is broken: {what}"),
    )
}
