//! The lane: the one ordered task of a run that serves the calls of its program.
//!
//! Prepare and commit happen here, in the order of submission, and never overlap; only bodies do.
//! An exclusive call is a barrier until its post stage is done. When the run is over, whatever
//! ended it, calls that wait are refused, calls that started are cancelled and waited for.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use callgate_schema::{Json, Str};
use callgate_session::{CodeDispatch, CodeDispatchStart, Content, Session, Source, UserMessage};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::inbox::{Inbox, Refusal};
use super::lookup::Lookup;
use crate::call::CallInput;
use crate::error::{ToolError, from_panic};
use crate::hook::Next;
use crate::ordered::Background;
use crate::phase::{Admitted, Dispatched};
use crate::pipeline::{SubCall, log_failed};
use crate::program::{
    EngineError, ErrorClass, Language, Namespace, Program, ProgramCall, ProgramEnd, ProgramEngine,
    ProgramHost, Reply, RunClock,
};
use crate::registry::Layer;
use crate::result::CallResult;
use crate::scope::ExecutionMode;
use crate::signal::{Cause, Signal};
use crate::tool::ToolContext;

/// A run that is over, with nothing left behind.
pub(super) struct Finished {
    pub(super) end: ProgramEnd,
    pub(super) tally: Tally,
}

pub(super) struct Lane {
    context: ToolContext,
    host: Arc<Host>,
    signal: Signal,
    clock: RunClock,
    session: Option<Session>,
    /// Started and not yet committed, oldest first.
    started: VecDeque<Started>,
    background: Background,
    tally: Tally,
    /// The first failure of the lane itself; then nothing is started any more.
    broken: Option<ToolError>,
}

struct Started {
    number: u64,
    name: Str,
    arguments: Json,
    reply: Reply,
    is_exclusive: bool,
    /// The call, once its body has run.
    settled: Option<Dispatched>,
}

/// A program, and what it finds under `tools`.
pub(super) struct Bound {
    pub(super) program: Program,
    pub(super) lookup: Option<Lookup>,
}

impl Bound {
    /// A program that finds the tools that this layer can see now.
    pub(super) fn new(source: Str, layer: &Layer, language: Language) -> Self {
        let mut members: Vec<Str> = layer.view().tools.keys().cloned().collect();
        let lookup = Lookup::of(layer, language);
        members.extend(lookup.iter().flat_map(|lookup| lookup.names().all()));
        let error_class = ErrorClass::new("ToolCallError", "toolName");
        let namespace = Namespace::new("tools", members, Some(error_class));
        Self { program: Program::new(source, vec![namespace]), lookup }
    }
}

impl Lane {
    /// Runs one program and serves its calls until both are at their end.
    pub(super) async fn run(
        engine: Arc<dyn ProgramEngine>,
        Bound { mut program, lookup }: Bound,
        context: ToolContext,
    ) -> Result<Finished, ToolError> {
        // A program inside a program waits on its outer one's clock too.
        if let Some(clock) = context.call().clock() {
            program.clock = clock.clone();
        }
        let session = context.layer().view().session.clone();
        let clock = program.clock.clone();
        program.session =
            session.as_ref().map(|session| format!("session {}", session.instance()).into());
        let inbox = Inbox::new(context.layer().shared.max_sub_calls);
        let host = Arc::new(Host { lookup, inbox });
        let signal = context.signal().child();
        let run = start_engine(engine, program, host.clone(), signal.clone());
        let lane = Self {
            context,
            host,
            signal,
            clock,
            session,
            started: VecDeque::new(),
            background: Background::around(run),
            tally: Tally::default(),
            broken: None,
        };
        lane.drive().await
    }

    async fn drive(mut self) -> Result<Finished, ToolError> {
        loop {
            // A call that comes in from here on ends the wait below.
            let seen = self.host.inbox.count();
            self.take_settled();
            if self.background.log_tasks.len() > self.capacity() {
                // Before anything else: a burst of commits makes copies as well.
                self.wait(seen).await;
            } else if self.started.front().is_some_and(|oldest| oldest.settled.is_some()) {
                self.commit().await;
            } else if self.is_over() {
                self.host.close(&self.signal);
                if self.started.is_empty() && self.background.is_idle() {
                    return self.finish();
                }
                self.wait(seen).await;
            } else if let Some((number, submitted, mode)) = self.next_to_start() {
                self.start(number, submitted, mode).await;
            } else {
                self.wait(seen).await;
            }
        }
    }

    fn finish(mut self) -> Result<Finished, ToolError> {
        if let Some(error) = self.broken.take().or(self.background.log_failure.take()) {
            return Err(error);
        }
        let end = self.background.end.take().unwrap_or_else(|| Ok(ProgramEnd::default()))?;
        Ok(Finished { end, tally: self.tally })
    }

    fn capacity(&self) -> usize {
        self.context.layer().shared.max_parallel_sub_calls
    }

    fn is_over(&self) -> bool {
        self.background.end.is_some() || self.broken.is_some()
    }

    fn take_settled(&mut self) {
        for (number, dispatched) in self.background.settled.drain(..) {
            if let Some(call) = self.started.iter_mut().find(|call| call.number == number) {
                call.settled = Some(dispatched);
            }
        }
        if let Some(error) = self.background.log_failure.take() {
            self.broken.get_or_insert(error);
        }
    }

    /// The oldest waiting call, if it may start now. Its class is read anew each time: what was
    /// registered meanwhile counts.
    fn next_to_start(&mut self) -> Option<(u64, Submitted, ExecutionMode)> {
        if self.started.iter().any(|call| call.is_exclusive) {
            return None;
        }
        let has_room = self.background.bodies.len() < self.capacity();
        let is_alone = self.started.is_empty();
        self.host.inbox.pop_if(|number, submitted| {
            let mode = self.context.layer().execution_mode(&self.input(number, &submitted.call));
            let may_start = match mode {
                ExecutionMode::Parallel => has_room,
                ExecutionMode::Exclusive => is_alone,
            };
            may_start.then_some(mode)
        })
    }

    fn input(&self, number: u64, program_call: &ProgramCall) -> CallInput {
        let call = self.context.call();
        let arguments = program_call.arguments.clone();
        CallInput::new(self.sub_call_id(number), program_call.member.clone(), arguments)
            .nested_in(call.token(), call.root_id().clone())
            .with_signal(self.signal.clone())
            .on_clock(Some(self.clock.clone()))
    }

    fn sub_call_id(&self, number: u64) -> Str {
        format!("{}:code:{number}", self.context.call().id()).into()
    }

    async fn start(&mut self, number: u64, submitted: Submitted, mode: ExecutionMode) {
        let Submitted { call, reply } = submitted;
        let input = self.input(number, &call);
        if let Err(error) = self.log_start(number, &call) {
            reply.send(Err(error.message().to_owned()));
            self.broken = Some(error);
            return;
        }
        let admitted = Admitted::new(self.context.layer().clone(), input);
        let Self { background, host, signal, .. } = self;
        let prepared = background.attend(admitted.prepare(), || host.close(signal)).await;
        let settled = if prepared.is_ready() {
            let body = async move { (number, prepared.dispatch().await) };
            self.background.bodies.push(Box::pin(body));
            None
        } else {
            Some(prepared.dispatch().await)
        };
        self.started.push_back(Started {
            number,
            name: call.member,
            arguments: call.arguments,
            reply,
            is_exclusive: mode == ExecutionMode::Exclusive,
            settled,
        });
    }

    /// The post stage of the oldest call; then its value goes to the program.
    async fn commit(&mut self) {
        let Some(oldest) = self.started.front_mut() else { return };
        let Some(dispatched) = oldest.settled.take() else { return };
        let Self { background, host, signal, .. } = self;
        let finalized = background.attend(dispatched.finalize(), || host.close(signal)).await;
        let result = finalized.publish();
        let Some(committed) = self.started.pop_front() else { return };
        self.inherit(&result);
        self.tally.count(committed.number, committed.name.clone(), result.is_error());
        committed.reply.send(match result.error() {
            Some(error) => Err(error.for_program()),
            None => Ok(result.value().cloned().unwrap_or_default()),
        });
        self.log_settled(committed.number, committed.name, committed.arguments, result);
    }

    /// What the outer result gets from a sub-call: images, contexts, the end of the turn.
    fn inherit(&self, result: &CallResult) {
        if !result.is_error() && result.content().iter().any(Content::is_image) {
            let source = Source::plugin("tools-code-mode");
            let content = result.content().iter().cloned();
            self.context.defer_context(UserMessage::new(source, content));
        }
        for context in result.additional_contexts() {
            self.context.defer_context(context.clone());
        }
        if result.concludes_turn() {
            self.context.conclude_turn();
        }
    }

    fn log_start(&self, number: u64, call: &ProgramCall) -> Result<(), ToolError> {
        let Some(session) = &self.session else { return Ok(()) };
        let event = CodeDispatchStart {
            root_call_id: self.context.call().root_id().clone(),
            parent_call_id: self.context.call().id().clone(),
            sub_call_id: self.sub_call_id(number),
            name: call.member.clone(),
            arguments: call.arguments.clone(),
        };
        session.append(event).map_err(log_failed)?;
        Ok(())
    }

    /// Makes the durable copy of a settled call; hooks may shorten it and keep nobody waiting.
    fn log_settled(&mut self, number: u64, name: Str, arguments: Json, result: CallResult) {
        let Some(session) = self.session.clone() else { return };
        let event = CodeDispatch {
            root_call_id: self.context.call().root_id().clone(),
            parent_call_id: self.context.call().id().clone(),
            sub_call_id: self.sub_call_id(number),
            name,
            arguments,
            is_error: result.is_error(),
            content: result.content().clone(),
        };
        let chain = self.context.layer().view().code_dispatch_log.clone();
        if chain.is_empty() {
            if let Err(error) = session.append(event) {
                self.broken.get_or_insert(log_failed(error));
            }
            return;
        }
        let (id, name) = (event.sub_call_id.clone(), event.name.clone());
        let sub_call = SubCall { id, name, result };
        let hooks = Next::new(chain, self.context.call().clone(), sub_call).go();
        self.background.log_tasks.push(Box::pin(async move {
            let content = match hooks.await {
                Ok(content) => content,
                Err(error) => {
                    tracing::warn!(%error, call = %event.sub_call_id, "code-dispatch-log hook failed");
                    event.content
                }
            };
            let event = CodeDispatch { content, ..event };
            session.append(event).map_err(log_failed)?;
            Ok(())
        }));
    }

    /// Waits until a body, the program, a log task or a call after the first `seen` changes what
    /// can be done.
    async fn wait(&mut self, seen: u64) {
        let host = self.host.clone();
        self.background.wait_until(|task| host.inbox.has_new(seen, task.waker())).await;
    }
}

fn start_engine(
    engine: Arc<dyn ProgramEngine>,
    program: Program,
    host: Arc<Host>,
    signal: Signal,
) -> BoxFuture<'static, Result<ProgramEnd, ToolError>> {
    let run = AssertUnwindSafe(async move { engine.run(program, host, signal).await });
    Box::pin(run.catch_unwind().map(|ended| match ended {
        Ok(Ok(end)) => Ok(end),
        Ok(Err(error)) => Err(engine_failed(&error)),
        Err(panic) => Err(from_panic("the program engine", &*panic)),
    }))
}

#[cold]
fn engine_failed(error: &EngineError) -> ToolError {
    ToolError::failed(format!("the program could not be run: {error}"))
}

/// A call of the program, and where its outcome goes.
struct Submitted {
    call: ProgramCall,
    reply: Reply,
}

/// The lane as the program sees it.
struct Host {
    /// Answers programs that look tools up.
    lookup: Option<Lookup>,
    inbox: Inbox<Submitted>,
}

impl Host {
    /// Ends the run for the calls that wait and for those that run. Twice is harmless.
    fn close(&self, signal: &Signal) {
        let Some(waiting) = self.inbox.close() else { return };
        waiting.for_each(|submitted| submitted.refuse(Refusal::Closed));
        signal.cancel(Cause::new(Cause::RUN_ENDED, "the program is over"));
    }
}

impl ProgramHost for Host {
    fn call(&self, call: ProgramCall, reply: Reply) {
        let lookup = self.lookup.as_ref().filter(|_| !self.inbox.is_closed());
        if let Some(answer) = lookup.and_then(|lookup| lookup.answer(&call)) {
            reply.send(answer.map_err(|error| error.for_program()));
            return;
        }
        if let Err((submitted, refusal)) = self.inbox.push(Submitted { call, reply }) {
            submitted.refuse(refusal);
        }
    }
}

impl Submitted {
    fn refuse(self, refusal: Refusal) {
        let name = &self.call.member;
        let message = match refusal {
            Refusal::Closed => format!("aborted: `{name}` was not called, the program is over"),
            Refusal::Limit(limit) => {
                format!("denied: `{name}` was not called, a program may make at most {limit} calls")
            }
        };
        self.reply.send(Err(message));
    }
}

/// Which sub-calls of a run were made and how they ended.
#[derive(Debug, Default)]
pub(super) struct Tally {
    calls: Vec<(u64, Str, bool)>,
}

impl Tally {
    fn count(&mut self, number: u64, name: Str, is_error: bool) {
        self.calls.push((number, name, is_error));
    }

    /// Lists the first and the last `listed` calls and counts the rest.
    pub(super) fn describe(&self, text: &mut String, listed: usize) {
        if self.calls.is_empty() {
            return;
        }
        let failed = self.calls.iter().filter(|(_, _, is_error)| *is_error).count();
        let total = self.calls.len();
        // Writing to a string cannot fail.
        let _written = write!(text, "\nsub-calls that ran: {total}, {failed} of them failed");
        let hidden = total.saturating_sub(2 * listed);
        for (index, (number, name, is_error)) in self.calls.iter().enumerate() {
            if hidden > 0 && (listed..listed + hidden).contains(&index) {
                if index == listed {
                    let _written = write!(text, "\n  … {hidden} more");
                }
                continue;
            }
            let outcome = if *is_error { "failed" } else { "ok" };
            let _written = write!(text, "\n  {number}. {name}: {outcome}");
        }
    }
}
