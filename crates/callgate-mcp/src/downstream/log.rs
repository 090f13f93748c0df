//! The log of a session: what the recorder writes, and which tools stand behind changed names.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use callgate::session::{AbortCause, GatewayNotice, Session, TurnEndReason};
use callgate::{Cause, Error, Recorder, Scope, Signal, json};

use super::Ended;
use crate::gateway::Gateway;
use crate::tool::McpTool;

/// The topic of the note that names the tool behind a changed name.
const RENAMED: &str = "renamed-tool";

/// Has the calls of a session recorded.
///
/// Events name tools as clients and programs do. Where that is not what the server calls a tool,
/// the log says once which tool it is.
pub(super) fn start(gateway: &Gateway, scope: &Scope, log: Session) -> Result<Recorder, Error> {
    let shared = gateway.servers.shared().clone();
    let noted: Mutex<BTreeSet<callgate::Str>> = Mutex::default();
    let journal = log.clone();
    scope.observe(move |call, _| {
        let Some(tool) = shared.tool(call.name()).filter(|tool| tool.is_renamed()) else { return };
        let is_new = noted.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.name.clone());
        if is_new && let Err(error) = journal.append(notice(&tool)) {
            tracing::warn!(%error, tool = %tool.name, "the log does not say which tool this is");
        }
    });
    Recorder::new(scope.clone(), log)
}

/// How the log says that a session ended: `stop` is what may have stopped it, `calls` the signal of
/// its calls, which is cancelled only where some were still running.
pub(super) fn reason(ended: Ended, stop: &Signal, calls: &Signal) -> TurnEndReason {
    let by_a_person = stop.cause().is_some_and(|cause| cause.code() == Cause::INTERRUPT);
    match ended {
        Ended::Stopped if by_a_person => TurnEndReason::Aborted(AbortCause::User),
        Ended::Stopped => TurnEndReason::Aborted(AbortCause::Disposed),
        Ended::EndOfInput if calls.is_cancelled() => TurnEndReason::Aborted(AbortCause::Parent),
        Ended::EndOfInput => TurnEndReason::Completed,
    }
}

fn notice(tool: &Arc<McpTool>) -> GatewayNotice {
    let (name, server, raw_name) = (&tool.name, &tool.server, &tool.raw_name);
    GatewayNotice {
        topic: RENAMED.into(),
        message: format!("`{name}` is the tool `{raw_name}` of server `{server}`").into(),
        details: Some(
            json!({ "name": name.clone(), "server": server.clone(), "tool": raw_name.clone() }),
        ),
    }
}
