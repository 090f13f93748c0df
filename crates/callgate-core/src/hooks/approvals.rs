//! [`Approvals`]: the approval service, with its record and its policy per session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use callgate_schema::Str;
use callgate_session::{
    AppendError, ApprovalAsked, ApprovalDecided, ApprovalMode, ApprovalOutcome, ApprovalPolicy,
    Content, Session, Source, UserMessage,
};
use futures_util::future::{BoxFuture, Either, select};

use crate::approval::{Approval, ApprovalRequest, Approver};
use crate::change::Change;
use crate::error::{Error, ErrorKind, HookError, ToolError};
use crate::pipeline::log_failed;
use crate::plugin::Plugin;
use crate::prompt::{Assembly, ContextEntry};

/// The name under which notices come.
const PLUGIN: &str = "user-approval";

/// The approval service: asks the [approval hooks](crate::Layer::on_approve) of the calling
/// scope, keeps a record in the session log, and knows the policy of each session.
///
/// Every question is recorded as `approval/asked` and `approval/decided`. If the call is
/// cancelled, the question is settled as cancelled at once and a late answer is discarded.
/// Otherwise a session whose policy is `never` gets a rejection and nobody is asked; the first
/// hook that answers without delegating decides; where there is none, or it fails, the answer is
/// that nobody could be asked. A session outside an open turn cannot ask, so the call fails.
/// Scopes without a session are asked about all the same, under the default policy and without a
/// record.
///
/// Installed as a plugin it also tells the model of each scope the policy, as the run-time
/// context `approval:policy`. Clones are the same service.
///
/// ```
/// use callgate_core::{Approval, Decision, ToolRuntime, hooks::Approvals};
/// let runtime = ToolRuntime::builder().build()?;
/// runtime.install(&Approvals::new())?;
/// runtime.on_pre_execute(|call, next| async move {
///     if &**call.name() == "deploy" { return Ok(Decision::ask("deploys are for people")) }
///     next.run().await
/// });
/// runtime.on_approve(|request, next| async move {
///     if request.call.arguments()["to"].as_str() == Some("staging") {
///         return Ok(Approval::AllowedOnce);
///     }
///     next.run().await
/// });
/// # Ok::<(), callgate_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Approvals(Arc<Service>);

#[derive(Debug)]
struct Service {
    default: ApprovalMode,
    /// Held while a policy is compared and recorded.
    switching: Mutex<()>,
}

impl Default for Approvals {
    fn default() -> Self {
        Self::with_default(ApprovalMode::Ask)
    }
}

impl Approvals {
    /// A service that asks, unless a session says otherwise.
    pub fn new() -> Self {
        Self::default()
    }

    /// A service with another policy for sessions that have not chosen one.
    pub fn with_default(policy: ApprovalMode) -> Self {
        Self(Arc::new(Service { default: policy, switching: Mutex::default() }))
    }

    /// The policy in force: the last one the session recorded, else the default.
    pub fn policy(&self, session: Option<&Session>) -> ApprovalMode {
        session.and_then(Session::approval_policy).unwrap_or(self.0.default)
    }

    /// Switches the policy of a session. Answers the notice that its model must get with the next
    /// step; none if the policy was in force already.
    ///
    /// # Errors
    ///
    /// If the log cannot be written; then the old policy stays.
    ///
    /// ```
    /// use callgate_core::hooks::Approvals;
    /// use callgate_session::{ApprovalMode, Session, SessionHeader};
    /// let session = Session::in_memory(SessionHeader::new("s-1", 0));
    /// let approvals = Approvals::new();
    /// assert!(approvals.switch(&session, ApprovalMode::Never)?.is_some());
    /// assert!(approvals.switch(&session, ApprovalMode::Never)?.is_none());
    /// # Ok::<(), callgate_core::Error>(())
    /// ```
    pub fn switch(
        &self,
        session: &Session,
        policy: ApprovalMode,
    ) -> Result<Option<UserMessage>, Error> {
        let _switching = self.0.switching.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.policy(Some(session));
        if old == policy {
            return Ok(None);
        }
        record_policy(session, policy, None)?;
        let text =
            format!("The approval policy changed from `{old}` to `{policy}`. {}", meaning(policy));
        Ok(Some(UserMessage::new(Source::plugin(PLUGIN), [Content::text(text)])))
    }

    /// Seeds the policy in force in a parent's session into the session of a child it delegates
    /// to.
    ///
    /// # Errors
    ///
    /// If the child's log cannot be written.
    pub fn delegate(&self, parent: &Session, child: &Session) -> Result<(), Error> {
        record_policy(child, self.policy(Some(parent)), Some("delegation".into()))
    }

    /// What the model of a scope is told about the policy.
    fn context(&self, assembly: &Assembly) -> String {
        if assembly.scope.is_none() {
            return String::new();
        }
        let policy = self.policy(assembly.session.as_ref());
        format!("Approval policy: `{policy}`. {}", meaning(policy))
    }

    async fn settle(self, request: ApprovalRequest) -> Result<Approval, HookError> {
        let session = request.call.session();
        let policy = self.policy(session.as_ref());
        let question = Question::open(session, &request)?;
        let approval = decide(request, policy).await;
        question.close(approval)?;
        Ok(approval)
    }
}

impl Approver for Approvals {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'static, Result<Approval, HookError>> {
        Box::pin(self.clone().settle(request))
    }
}

impl Plugin for Approvals {
    fn name(&self) -> &'static str {
        PLUGIN
    }

    fn install(&self, change: &mut Change<'_>) {
        change.approver(self.clone());
        let approvals = self.clone();
        change.context(ContextEntry::new("approval:policy", 115, move |assembly| {
            approvals.context(assembly)
        }));
    }
}

async fn decide(request: ApprovalRequest, policy: ApprovalMode) -> Approval {
    if request.signal.is_cancelled() {
        return Approval::Cancelled;
    }
    if policy == ApprovalMode::Never {
        return Approval::Rejected;
    }
    let Some(layer) = request.call.layer() else { return Approval::Unavailable };
    let withdrawn = request.signal.cancelled();
    // The one place where waiting is given up: whoever answers is an outside party.
    match select(Box::pin(withdrawn), Box::pin(request.ask(&layer))).await {
        Either::Left(((), _)) => Approval::Cancelled,
        Either::Right((approval, _)) => approval,
    }
}

/// A question that is recorded as asked. It is recorded as decided exactly once, as cancelled if
/// nobody waits for the answer any more.
struct Question(Option<(Session, Str)>);

impl Question {
    fn open(session: Option<Session>, request: &ApprovalRequest) -> Result<Self, HookError> {
        let Some(session) = session else { return Ok(Self(None)) };
        let call = &request.call;
        if session.position().turn.is_none() {
            let message = format!(
                "`{}` needs approval, which can only be asked for within a turn; open one first",
                call.name()
            );
            return Err(ToolError::failed(message));
        }
        let id = fresh_id(&session);
        let asked = ApprovalAsked {
            id: id.clone(),
            tool_name: call.name().clone(),
            call_id: Some(call.id().clone()),
            reason: request.reason.clone(),
        };
        session.append(asked).map_err(log_failed)?;
        Ok(Self(Some((session, id))))
    }

    fn close(mut self, approval: Approval) -> Result<(), HookError> {
        self.record(approval).map_err(log_failed)
    }

    fn record(&mut self, approval: Approval) -> Result<(), AppendError> {
        let Some((session, id)) = self.0.take() else { return Ok(()) };
        session.append(ApprovalDecided { id, outcome: outcome(approval), by: None })?;
        Ok(())
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if let Err(error) = self.record(Approval::Cancelled) {
            tracing::warn!(%error, "withdrawn approval question was not recorded");
        }
    }
}

/// An id that no other question of the log has: the log is longer than when any older process
/// asked, and the number tells the questions of this one apart.
fn fresh_id(session: &Session) -> Str {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("approval-{}-{}", session.len(), NEXT.fetch_add(1, Ordering::Relaxed)).into()
}

fn outcome(approval: Approval) -> ApprovalOutcome {
    match approval {
        Approval::AllowedOnce => ApprovalOutcome::AllowedOnce,
        Approval::Rejected => ApprovalOutcome::Rejected,
        Approval::Cancelled => ApprovalOutcome::Cancelled,
        Approval::Unavailable => ApprovalOutcome::Unavailable,
    }
}

fn record_policy(
    session: &Session,
    policy: ApprovalMode,
    source: Option<Str>,
) -> Result<(), Error> {
    let recorded = session.append(ApprovalPolicy { policy, source });
    recorded.map(drop).map_err(|error| Error::new(ErrorKind::Log, error.to_string()))
}

/// What a policy means for a model.
fn meaning(policy: ApprovalMode) -> &'static str {
    match policy {
        ApprovalMode::Never => {
            "Calls that need approval are rejected without asking anybody; find a way that needs none."
        }
        _ => "Calls that need approval wait until somebody answers, and may be rejected.",
    }
}
