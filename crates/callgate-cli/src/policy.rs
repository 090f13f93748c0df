//! The rules of the configuration as hooks and guards.
//!
//! The hook answers first, so that a denied call is denied before anything else is asked; the same rules stand as guards,
//! whose denial nobody can undo.

use std::sync::Arc;

use callgate::hook::PreExecute;
use callgate::{Call, Change, Decision, Denial, Hook, HookError, Next, Place, Plugin};
use futures_util::future::BoxFuture;

use crate::config::{DenyRule, Policy};

/// The rules of a configuration, to be put in force in a layer and all scopes below it.
#[derive(Clone, Debug)]
pub(crate) struct DenyRules(Arc<[DenyRule]>);

impl DenyRules {
    pub(crate) fn of(policy: &Policy) -> Self {
        Self(policy.deny.as_slice().into())
    }

    /// What the first rule that applies says.
    fn judge(&self, call: &Call) -> Option<Denial> {
        let tool = call.name();
        let rule = self.0.iter().find(|rule| rule.applies_to(tool))?;
        let DenyRule { name, place, reason, .. } = rule;
        let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let message = format!(
            "`{tool}` is denied by {name}{reason} (to allow it, change the rule in {place})"
        );
        Some(Denial::new(message).by_rule(name.clone()))
    }
}

impl Plugin for DenyRules {
    fn name(&self) -> &'static str {
        "policy"
    }

    fn install(&self, change: &mut Change<'_>) {
        if self.0.is_empty() {
            return;
        }
        change.hook::<PreExecute>(self.clone(), Place::First);
        let rules = self.clone();
        change.guard(move |call| rules.judge(call));
    }
}

impl Hook<PreExecute> for DenyRules {
    fn call(
        &self,
        call: Call,
        next: Next<PreExecute>,
    ) -> BoxFuture<'_, Result<Decision, HookError>> {
        match self.judge(&call) {
            Some(denial) => Box::pin(std::future::ready(Ok(Decision::Deny(denial)))),
            None => Box::pin(next.run()),
        }
    }
}
