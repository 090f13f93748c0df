//! Sessions without an agent loop: every call through a scope, with its place in the log.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    place: Arc<Mutex<Option<Place>>>,
}

/// The open turn and step.
#[derive(Clone, Copy, Debug)]
struct Place {
    turn: u64,
    step: u64,
}

impl Recorder {
    /// Records the calls of `scope` in `session`, which becomes the scope's own.
    ///
    /// # Errors
    ///
    /// If the scope has a session already, or was disposed.
    pub fn new(scope: Scope, session: Session) -> Result<Self, Error> {
        scope.set_session(session.clone())?;
        Ok(Self { scope, session, place: Arc::default() })
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
        let call_id = input.id.clone();
        let (place, call) = match self.begin(&input) {
            Ok(begun) => begun,
            Err(error) => return Draft::failure(error).freeze(),
        };
        let result = Admitted::new((*self.scope).clone(), input)
            .prepare()
            .await
            .dispatch()
            .await
            .finalize()
            .await
            .publish();
        let entry = ToolResult {
            turn: place.turn,
            step: place.step,
            message: ResultMessage {
                id: None,
                call_id,
                content: result.content().clone(),
                is_error: result.is_error(),
            },
            error: result.error().and_then(ToolError::info).map(|info| ErrorInfo {
                name: info.name.clone(),
                code: info.code.clone(),
            }),
            meta: result.meta().cloned(),
        };
        match self.session.append(Entry::new(entry).citing([call.seq])) {
            Ok(_) => result,
            Err(error) => Draft::failure(log_failed(error)).freeze(),
        }
    }

    fn begin(&self, input: &CallInput) -> Result<(Place, Event), ToolError> {
        let mut open = self.lock();
        let place = match *open {
            Some(place) => place,
            None => {
                let place = Place { turn: self.session.position().turns + 1, step: 1 };
                let Place { turn, step } = place;
                self.session.append(TurnStart { turn }).map_err(log_failed)?;
                self.session.append(StepStart { turn, step }).map_err(log_failed)?;
                *open = Some(place);
                place
            }
        };
        let call = ToolCall {
            turn: place.turn,
            step: place.step,
            call_id: input.id.clone(),
            name: input.name.clone(),
            arguments: input.arguments_text().into(),
        };
        let call = self.session.append(call).map_err(log_failed)?;
        Ok((place, call))
    }

    /// Closes the step and the turn. Calls must have returned; a later call opens the next turn.
    ///
    /// # Errors
    ///
    /// If the log cannot be written, or a call is still running.
    pub fn close(&self) -> Result<(), Error> {
        let mut open = self.lock();
        let Some(Place { turn, step }) = *open else { return Ok(()) };
        let closing = self
            .session
            .append(StepEnd { turn, step })
            .and_then(|_| self.session.append(TurnEnd { turn, reason: TurnEndReason::Completed }));
        closing.map_err(|error| Error::new(ErrorKind::Log, error.to_string()))?;
        *open = None;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Place>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
