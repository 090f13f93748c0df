//! [`CallBudget`]: so many calls, and no more.

use std::collections::BTreeSet;
use std::sync::Arc;

use callgate_schema::Str;

use super::per_scope::PerScope;
use crate::call::Call;
use crate::change::Change;
use crate::hook::Denial;
use crate::plugin::Plugin;
use crate::registry::ScopeId;

/// Allows every scope a number of calls and denies those beyond it.
///
/// It is a guard: it judges what all hooks have allowed, and nobody can undo its denial. Nested
/// calls and calls of programs count like any other; `run_code` itself counts as one call. A call
/// that another rule denies before costs nothing. Scopes are counted each for itself, a child
/// apart from its parent; calls of the runtime itself count as one more scope. Clones share their
/// counts.
///
/// ```
/// use callgate_core::{ToolRuntime, hooks::CallBudget};
/// let runtime = ToolRuntime::builder().build()?;
/// let scope = runtime.scope();
/// let searches = CallBudget::new(5).only(["search", "fetch"]);
/// runtime.install(&searches)?;
/// assert_eq!(searches.allowed(Some(scope.id())), 0);
/// # Ok::<(), callgate_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CallBudget {
    limit: u64,
    tools: Option<Arc<BTreeSet<Str>>>,
    allowed: Arc<PerScope<u64>>,
}

impl CallBudget {
    /// At most so many calls in every scope. 0 allows none.
    pub fn new(limit: u64) -> Self {
        Self { limit, tools: None, allowed: Arc::default() }
    }

    /// Counts and denies calls of these tools only, all of them together. Names are exact.
    #[must_use]
    pub fn only(self, tools: impl IntoIterator<Item = impl Into<Str>>) -> Self {
        Self { tools: Some(Arc::new(tools.into_iter().map(Into::into).collect())), ..self }
    }

    /// How many calls a scope was allowed so far; `None` is the runtime itself.
    pub fn allowed(&self, scope: Option<ScopeId>) -> u64 {
        self.allowed.get(scope).unwrap_or_default()
    }

    /// The budget as a guard: takes one call out of it, or says why not.
    fn judge(&self, call: &Call) -> Option<Denial> {
        if self.tools.as_ref().is_some_and(|tools| !tools.contains(call.name())) {
            return None;
        }
        let is_allowed = self.allowed.with(call, |allowed| {
            let has_room = *allowed < self.limit;
            *allowed += u64::from(has_room);
            has_room
        });
        (!is_allowed).then(|| self.denial())
    }

    #[cold]
    fn denial(&self) -> Denial {
        let what = match &self.tools {
            None => "tools".to_owned(),
            Some(tools) => crate::registry::sorted_list(tools.iter().map(|tool| &**tool)),
        };
        let limit = self.limit;
        let calls = if limit == 1 { "call" } else { "calls" };
        let reason = format!(
            "the budget for {what} is used up: {limit} {calls} allowed, {limit} made; go on without"
        );
        Denial::new(reason).by_rule("call-budget")
    }
}

impl Plugin for CallBudget {
    fn name(&self) -> &'static str {
        "call-budget"
    }

    fn install(&self, change: &mut Change<'_>) {
        let budget = self.clone();
        change.guard(move |call| budget.judge(call));
    }
}
