//! Asking a person.

use std::fmt;

use callgate_schema::Str;
use futures_util::future::BoxFuture;

use crate::call::Call;
use crate::error::HookError;
use crate::hook::{Approve, Next};
use crate::registry::Layer;
use crate::signal::Signal;

/// What an approver is asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The call that waits.
    pub call: Call,
    /// Why it is asked.
    pub reason: Option<Str>,
    /// The rule that asks.
    pub rule: Option<Str>,
    /// Cancelled when nobody waits for the answer any more.
    pub signal: Signal,
}

/// How a request was answered. Only [`AllowedOnce`](Self::AllowedOnce) is a grant, and only for
/// the call that was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "an approver must choose among exactly these")]
pub enum Approval {
    /// Go on, this once.
    AllowedOnce,
    /// No.
    Rejected,
    /// The question was withdrawn.
    Cancelled,
    /// Nobody could be asked.
    Unavailable,
}

impl Approval {
    /// Its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllowedOnce => "allowed-once",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
        }
    }
}

impl ApprovalRequest {
    /// Asks the [approval hooks](crate::Layer::on_approve) of a layer, outermost first. The first
    /// that does not delegate decides; nobody there, or a failing one, is
    /// [`Unavailable`](Approval::Unavailable).
    pub async fn ask(self, layer: &Layer) -> Approval {
        let chain = layer.view().approve.clone();
        let tool = self.call.name().clone();
        Next::<Approve>::new(chain, self, ()).go().await.unwrap_or_else(|error| {
            tracing::warn!(%tool, %error, "approval hook failed");
            Approval::Unavailable
        })
    }
}

/// The approval service of a scope: what a call that must be approved waits for. The nearest one
/// on the chain of scopes is asked.
pub trait Approver: Send + Sync + 'static {
    /// Answers one request.
    ///
    /// # Cancellation
    ///
    /// When the request's signal is cancelled, the call stops waiting and a late answer is
    /// discarded.
    ///
    /// # Errors
    ///
    /// If the question cannot be dealt with at all; then the call fails.
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'static, Result<Approval, HookError>>;
}

impl fmt::Debug for dyn Approver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Approver")
    }
}
