//! Sessions without an agent loop: every call through a scope, with its place in the log.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_schema::Str;
use callgate_session::{
    Draft as Entry, ErrorInfo, Event, ResultMessage, Session, StepEnd, StepStart, ToolCall,
    ToolResult, TurnEnd, TurnEndReason, TurnStart,
};

use crate::call::CallInput;
use crate::error::{Error, ErrorKind, ToolError};
use crate::phase::Admitted;
use crate::pipeline::{Driven, log_failed};
use crate::result::{CallResult, Draft};
use crate::scope::Scope;
use crate::signal::Signal;

/// Runs the calls of one scope and records each in the scope's session log: one turn with one
/// step, opened by the first call and closed by [`close`](Self::close). Calls may overlap; they
/// are recorded as they complete. For whoever has no agent loop: a gateway, a command line.
///
/// A call whose record cannot be written fails: nothing happens off the record.
///
/// ```
/// use callgate_core::{CallInput, Recorder, ToolRuntime};
/// use callgate_schema::json;
/// use callgate_session::{Session, SessionHeader};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), callgate_core::Error> {
/// let runtime = ToolRuntime::builder().build()?;
/// let session = Session::in_memory(SessionHeader::new("s-1", 0));
/// let recorder = Recorder::new(runtime.scope(), session.clone())?;
/// recorder.call(CallInput::new("call-1", "nobody", json!({}))).await;
/// recorder.close()?;
/// let kinds: Vec<_> = session.events().iter().map(|event| event.kind().to_owned()).collect();
/// assert_eq!(kinds, ["turn/start", "step/start", "tool/call", "tool/result", "step/end", "turn/end"]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Recorder {
    scope: Scope,
    session: Session,
    open: Arc<Mutex<Option<SessionStep>>>,
}

/// An open step of a session log, and how calls are recorded in it.
#[derive(Clone, Debug)]
pub struct SessionStep {
    session: Session,
    turn: u64,
    step: u64,
}

impl SessionStep {
    /// The step with this number of the turn with this number, both open in `session`.
    pub fn new(session: Session, turn: u64, step: u64) -> Self {
        Self { session, turn, step }
    }

    /// Records that a call is taken up, before anything about it is decided.
    pub(crate) fn call(&self, input: &CallInput) -> Result<Event, ToolError> {
        let call = ToolCall {
            turn: self.turn,
            step: self.step,
            call_id: input.id.clone(),
            name: input.name.clone(),
            arguments: input.arguments_text().into(),
        };
        self.session.append(call).map_err(log_failed)
    }

    /// Records what came of it, citing its `tool/call`.
    pub(crate) fn result(
        &self,
        call: &Event,
        id: Str,
        result: &CallResult,
    ) -> Result<(), ToolError> {
        let info = result.error().and_then(ToolError::info);
        let entry = ToolResult {
            turn: self.turn,
            step: self.step,
            message: ResultMessage {
                id: None,
                call_id: id,
                content: result.content().clone(),
                is_error: result.is_error(),
            },
            error: info.map(|info| ErrorInfo { name: info.name.clone(), code: info.code.clone() }),
            meta: result.meta().cloned(),
        };
        self.session.append(Entry::new(entry).citing([call.seq])).map_err(log_failed)?;
        Ok(())
    }

    fn open(session: &Session) -> Result<Self, ToolError> {
        let open = Self::new(session.clone(), session.position().turns + 1, 1);
        let (turn, step) = (open.turn, open.step);
        session.append(TurnStart { turn }).map_err(log_failed)?;
        session.append(StepStart { turn, step }).map_err(log_failed)?;
        Ok(open)
    }

    fn close(&self, reason: TurnEndReason) -> Result<(), Error> {
        let (turn, step) = (self.turn, self.step);
        let end = TurnEnd { turn, reason };
        let closing =
            self.session.append(StepEnd { turn, step }).and_then(|_| self.session.append(end));
        closing.map_err(|error| Error::new(ErrorKind::Log, error.to_string()))?;
        Ok(())
    }
}

impl Recorder {
    /// Records the calls of `scope` in `session`, which becomes the scope's own.
    ///
    /// # Errors
    ///
    /// If the scope has a session already, or was disposed.
    pub fn new(scope: Scope, session: Session) -> Result<Self, Error> {
        scope.set_session(session.clone())?;
        Ok(Self { scope, session, open: Arc::default() })
    }

    /// The scope whose calls are recorded.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The log.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Runs one call and records it. The result is durable when this returns.
    ///
    /// # Cancellation
    ///
    /// As for [`Layer::execute`](crate::Layer::execute): dropping the future cancels the call,
    /// whose body is driven to its end and whose result is still recorded.
    pub async fn call(&self, input: CallInput) -> CallResult {
        let signal = input.signal.as_ref().map_or_else(Signal::new, Signal::child);
        let recorder = self.clone();
        let input = input.with_signal(signal.clone());
        Driven::new(signal, async move { recorder.run(input).await }).await
    }

    async fn run(&self, input: CallInput) -> CallResult {
        let id = input.id.clone();
        let begun = self.step().and_then(|step| Ok((step.call(&input)?, step)));
        let (call, step) = match begun {
            Ok(begun) => begun,
            Err(error) => return Draft::failure(error).freeze(),
        };
        let layer = (*self.scope).clone();
        let prepared = Admitted::new(layer, input).prepare().await;
        let result = prepared.dispatch().await.finalize().await.publish();
        match step.result(&call, id, &result) {
            Ok(()) => result,
            Err(error) => Draft::failure(error).freeze(),
        }
    }

    fn step(&self) -> Result<SessionStep, ToolError> {
        let mut open = self.lock();
        if let Some(step) = &*open {
            return Ok(step.clone());
        }
        Ok(open.insert(SessionStep::open(&self.session)?).clone())
    }

    /// Closes the step and the turn as completed. Calls must have returned; a later call opens the
    /// next turn.
    ///
    /// # Errors
    ///
    /// If the log cannot be written, or a call is still running.
    pub fn close(&self) -> Result<(), Error> {
        self.close_with(TurnEndReason::Completed)
    }

    /// [`close`](Self::close) with the reason that the log keeps: that somebody stopped the
    /// session, or that what it was for failed. Without an open turn nothing is written.
    ///
    /// ```
    /// # use callgate_core::{CallInput, Recorder, ToolRuntime};
    /// # use callgate_schema::json;
    /// # use callgate_session::{Session, SessionHeader};
    /// use callgate_session::{AbortCause, TurnEndReason};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), callgate_core::Error> {
    /// # let runtime = ToolRuntime::builder().build()?;
    /// # let session = Session::in_memory(SessionHeader::new("s-1", 0));
    /// # let recorder = Recorder::new(runtime.scope(), session.clone())?;
    /// recorder.call(CallInput::new("call-1", "nobody", json!({}))).await;
    /// recorder.close_with(TurnEndReason::Aborted(AbortCause::User))?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`close`](Self::close).
    pub fn close_with(&self, reason: TurnEndReason) -> Result<(), Error> {
        let mut open = self.lock();
        if let Some(step) = &*open {
            step.close(reason)?;
        }
        *open = None;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<SessionStep>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
