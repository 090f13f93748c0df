//! One call: what comes in, and what every stage sees of it.

use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Waker};

use callgate_schema::{Json, Str};
use callgate_session::{Session, UserMessage};
use futures_util::future::{BoxFuture, join_all};
use serde::Serialize;

use crate::program::RunClock;
use crate::registry::{EntryId, Layer, ScopeId, WeakLayer};
use crate::signal::Signal;
use crate::tool::ToolDefinition;

/// The identity of one execution inside this process: good for equality and as a map key.
///
/// It has no text form and no constructor: it never reaches a model, a log or another process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token {
    id: u64,
    /// How many `run_code` calls enclose this execution.
    depth: u16,
    /// How many calls enclose it.
    nesting: u16,
}

impl Token {
    pub(crate) fn fresh(parent: Option<Self>, is_program: bool) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (depth, nesting) =
            parent.map_or((0, 0), |parent| (parent.depth, parent.nesting.saturating_add(1)));
        Self { id, depth: depth.saturating_add(u16::from(is_program)), nesting }
    }

    pub(crate) fn nesting(self) -> u16 {
        self.nesting
    }

    pub(crate) fn depth(self) -> u16 {
        self.depth
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// What a caller hands in: who calls which tool with what.
///
/// Making one never fails. Arguments that cannot be used end the call at admission, with a
/// published result that says what is wrong with them.
///
/// ```
/// use callgate_core::{CallInput, Signal};
/// use callgate_schema::json;
/// let stop = Signal::new();
/// let input = CallInput::new("call-1", "read", json!({ "path": "a.txt" })).with_signal(stop);
/// let from_model = CallInput::from_text("call-2", "read", r#"{"path": "b.txt"}"#);
/// # let _ = (input, from_model);
/// ```
#[derive(Clone)]
pub struct CallInput {
    pub(crate) id: Str,
    pub(crate) root_id: Option<Str>,
    pub(crate) name: Str,
    pub(crate) arguments: Result<Json, Str>,
    pub(crate) text: Option<Str>,
    pub(crate) parent: Option<Token>,
    pub(crate) signal: Option<Signal>,
    pub(crate) clock: Option<RunClock>,
}

impl CallInput {
    /// A call with arguments that are values already.
    pub fn new(id: impl Into<Str>, name: impl Into<Str>, arguments: impl Into<Json>) -> Self {
        Self::with_arguments(id.into(), name.into(), Ok(arguments.into()), None)
    }

    /// A call with arguments as a model wrote them. Empty text means no arguments: `{}`.
    pub fn from_text(id: impl Into<Str>, name: impl Into<Str>, text: impl Into<Str>) -> Self {
        let text = text.into();
        let source = if text.trim().is_empty() { "{}" } else { &*text };
        let arguments = Json::parse(source)
            .map_err(|error| Str::from(format!("arguments are not usable JSON: {error}")));
        Self::with_arguments(id.into(), name.into(), arguments, Some(text))
    }

    /// A call with arguments from any serialisable value, read once.
    pub fn from_serialize(
        id: impl Into<Str>,
        name: impl Into<Str>,
        arguments: &(impl Serialize + ?Sized),
    ) -> Self {
        let read = catch_unwind(AssertUnwindSafe(|| Json::from_serialize(arguments)));
        let arguments = match read {
            Ok(result) => {
                result.map_err(|error| format!("arguments are not lossless JSON: {error}"))
            }
            Err(panic) => {
                Err(crate::error::from_panic("serializing the arguments", &*panic).to_string())
            }
        };
        Self::with_arguments(id.into(), name.into(), arguments.map_err(Str::from), None)
    }

    fn with_arguments(id: Str, name: Str, arguments: Result<Json, Str>, text: Option<Str>) -> Self {
        Self { id, root_id: None, name, arguments, text, parent: None, signal: None, clock: None }
    }

    /// The handle by which the caller cancels. Without one, only dropping the call cancels it.
    #[must_use]
    pub fn with_signal(mut self, signal: Signal) -> Self {
        self.signal = Some(signal);
        self
    }

    /// Marks a nested call: made by the execution with this token, on behalf of the call
    /// `root_id` that the model made.
    #[must_use]
    pub fn nested_in(mut self, parent: Token, root_id: impl Into<Str>) -> Self {
        self.parent = Some(parent);
        self.root_id = Some(root_id.into());
        self
    }

    /// The clock of the program this call belongs to: it stands still while a person is asked.
    pub(crate) fn on_clock(mut self, clock: Option<RunClock>) -> Self {
        self.clock = clock;
        self
    }

    /// The id of the call.
    pub fn id(&self) -> &Str {
        &self.id
    }

    /// The name of the tool.
    pub fn name(&self) -> &Str {
        &self.name
    }

    /// The arguments, or why they cannot be used.
    ///
    /// # Errors
    ///
    /// The text that the call's result will give as its message.
    pub fn arguments(&self) -> Result<&Json, &str> {
        self.arguments.as_ref().map_err(|message| &**message)
    }

    /// The arguments as text, as the caller wrote them where it was text.
    pub fn arguments_text(&self) -> String {
        match (&self.text, &self.arguments) {
            (Some(text), _) => text.to_string(),
            (None, Ok(arguments)) => arguments.to_string(),
            (None, Err(_)) => String::new(),
        }
    }
}

impl fmt::Debug for CallInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallInput")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

/// One execution as hooks, guards, bodies and observers see it: immutable, cheap to clone.
#[derive(Clone)]
pub struct Call(Arc<CallState>);

pub(crate) struct CallState {
    id: Str,
    root_id: Str,
    name: Str,
    arguments: Result<Json, Str>,
    scope: Option<ScopeId>,
    /// Weak, so that a call which somebody keeps does not keep its scope.
    layer: WeakLayer,
    token: Token,
    parent: Option<Token>,
    signal: Signal,
    /// The clock of whatever made the call.
    clock: Option<RunClock>,
    /// The clock of this call, made when somebody times it.
    own_clock: OnceLock<RunClock>,
    pub(crate) body_invoked: AtomicBool,
    pub(crate) concluded: AtomicBool,
    pub(crate) deferred: Mutex<Vec<UserMessage>>,
    /// Which guards were asked.
    pub(crate) judged: Mutex<Judged>,
    bodies: Mutex<Bodies>,
}

/// The guards a call was held to so far.
#[derive(Default)]
pub(crate) struct Judged {
    /// The view they were in force in.
    pub(crate) serial: u64,
    pub(crate) asked: Vec<EntryId>,
}

/// The bodies that hooks around them run.
#[derive(Default)]
struct Bodies {
    running: usize,
    /// Whether no further one may start.
    is_over: bool,
    /// Whether nobody drives them any more.
    is_given_up: bool,
    /// Those whose hook stopped polling them: the pipeline drives them to their end.
    unfinished: Vec<BoxFuture<'static, ()>>,
    waker: Option<Waker>,
}

/// One body that runs; it is counted until this is dropped.
pub(crate) struct RunningBody(Call);

impl RunningBody {
    /// Hands the rest of the body to the pipeline. If that is gone, the rest is dropped: nobody is left to drive it, and
    /// it must not keep the call that keeps it.
    pub(crate) fn leave(self, rest: impl Future<Output = ()> + Send + 'static) {
        let call = self.0.clone();
        let mut rest: Option<BoxFuture<'static, ()>> = Some(Box::pin(async move {
            let _running = self;
            rest.await;
        }));
        call.0.change_bodies(|bodies| {
            if !bodies.is_given_up {
                bodies.unfinished.extend(rest.take());
            }
        });
    }
}

impl Drop for RunningBody {
    fn drop(&mut self) {
        self.0.0.change_bodies(|bodies| bodies.running -= 1);
    }
}

impl CallState {
    fn bodies(&self) -> MutexGuard<'_, Bodies> {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change_bodies(&self, change: impl FnOnce(&mut Bodies)) {
        let waker = {
            let mut bodies = self.bodies();
            change(&mut bodies);
            bodies.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Call {
    /// Counts a body that is about to run; none once the call is past its body.
    pub(crate) fn begin_body(&self) -> Option<RunningBody> {
        let mut bodies = self.0.bodies();
        if bodies.is_over {
            return None;
        }
        bodies.running += 1;
        drop(bodies);
        Some(RunningBody(self.clone()))
    }

    /// Lets no further body start, and drops what is left of those that nobody else drives.
    pub(crate) fn give_up_bodies(&self) {
        let unfinished = {
            let mut bodies = self.0.bodies();
            bodies.is_over = true;
            bodies.is_given_up = true;
            std::mem::take(&mut bodies.unfinished)
        };
        drop(unfinished);
    }

    /// Lets no further body start, and waits for those that run.
    pub(crate) async fn end_bodies(&self) {
        self.0.bodies().is_over = true;
        loop {
            let unfinished = std::mem::take(&mut self.0.bodies().unfinished);
            if !unfinished.is_empty() {
                join_all(unfinished).await;
                continue;
            }
            let is_idle = poll_fn(|task| {
                let mut bodies = self.0.bodies();
                if bodies.running == 0 || !bodies.unfinished.is_empty() {
                    return Poll::Ready(bodies.running == 0);
                }
                bodies.waker = Some(task.waker().clone());
                Poll::Pending
            });
            if is_idle.await {
                return;
            }
        }
    }
}

impl Call {
    pub(crate) fn admit(input: CallInput, layer: &Layer) -> Self {
        let is_program = &*input.name == crate::code::RUN_CODE;
        let root_id = input.root_id.unwrap_or_else(|| input.id.clone());
        Self(Arc::new(CallState {
            root_id,
            id: input.id,
            name: input.name,
            arguments: input.arguments,
            scope: layer.scope_id(),
            layer: layer.downgrade(),
            token: Token::fresh(input.parent, is_program),
            parent: input.parent,
            // A child of the caller's: a call that is dropped must not cancel its neighbours.
            signal: input.signal.map_or_else(Signal::new, |signal| signal.child()),
            clock: input.clock,
            own_clock: OnceLock::new(),
            body_invoked: AtomicBool::new(false),
            concluded: AtomicBool::new(false),
            deferred: Mutex::default(),
            judged: Mutex::default(),
            bodies: Mutex::default(),
        }))
    }

    /// The id of the call.
    pub fn id(&self) -> &Str {
        &self.0.id
    }

    /// The id of the call of the model that this call belongs to: its own, unless it is nested.
    pub fn root_id(&self) -> &Str {
        &self.0.root_id
    }

    /// The name of the tool.
    pub fn name(&self) -> &Str {
        &self.0.name
    }

    /// The arguments; null if they could not be used, in which case only observers see the call.
    pub fn arguments(&self) -> &Json {
        static NULL: Json = Json::Null;
        self.0.arguments.as_ref().unwrap_or(&NULL)
    }

    /// Why the arguments could not be used.
    pub fn arguments_error(&self) -> Option<&str> {
        self.0.arguments.as_ref().err().map(|message| &**message)
    }

    /// The scope it was made through; none for calls of the runtime itself.
    pub fn scope(&self) -> Option<ScopeId> {
        self.0.scope
    }

    /// Its identity in this process.
    pub fn token(&self) -> Token {
        self.0.token
    }

    /// The identity of the execution it is nested in.
    pub fn parent(&self) -> Option<Token> {
        self.0.parent
    }

    /// Whether no other execution made it.
    pub fn is_model_direct(&self) -> bool {
        self.0.parent.is_none()
    }

    /// The signal of the call: cancelled with its caller's, or when the caller drops the call.
    pub fn signal(&self) -> &Signal {
        &self.0.signal
    }

    /// The tool that would run for it now, as its scope sees it: none if the name is unknown or
    /// hidden there, or if the scope is gone.
    pub fn tool(&self) -> Option<ToolDefinition> {
        self.layer()?.view().resolve(self).cloned()
    }

    /// The session log of its scope, if it has one and is not gone.
    pub fn session(&self) -> Option<Session> {
        self.layer()?.view().session.clone()
    }

    /// Where it was made, if that is not gone.
    pub(crate) fn layer(&self) -> Option<Layer> {
        self.0.layer.upgrade()
    }

    pub(crate) fn weak_layer(&self) -> &WeakLayer {
        &self.0.layer
    }

    /// The clock that stands still while somebody is asked on behalf of this call.
    pub(crate) fn clock(&self) -> Option<&RunClock> {
        self.0.own_clock.get().or(self.0.clock.as_ref())
    }

    /// The clock of this call and what it makes, to time it by.
    pub(crate) fn own_clock(&self) -> &RunClock {
        let child = || self.0.clock.as_ref().map_or_else(RunClock::default, RunClock::child);
        self.0.own_clock.get_or_init(child)
    }

    pub(crate) fn state(&self) -> &CallState {
        &self.0
    }

    pub(crate) fn defer(&self, context: UserMessage) {
        self.0.deferred.lock().unwrap_or_else(PoisonError::into_inner).push(context);
    }
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.token() == other.token()
    }
}

impl Eq for Call {}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("id", self.id())
            .field("name", self.name())
            .field("arguments", self.arguments())
            .finish_non_exhaustive()
    }
}
