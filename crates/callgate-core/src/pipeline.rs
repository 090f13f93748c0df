//! The one path that every call takes.
//!
//! ```text
//! admit → prepare (gate · approval · guards) → dispatch (around · body · check · render)
//!       → judge (post) → publish (finalizer · observers)
//! ```
//!
//! [`Run`] holds one call on its way; each step is a method that does nothing once the call is
//! past it. [`Execution`] drives all steps; the types of [`phase`](crate::phase) drive one each.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};

use callgate_schema::Str;
use callgate_session::{Content, PolicyDecision, PolicyStage, PolicyVerdict};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};

use crate::approval::{Approval, ApprovalRequest};
use crate::call::{Call, CallInput, Judged, RunningBody};
use crate::code::RUN_CODE;
use crate::error::{FailureClass, ToolError, codes, from_panic};
use crate::hook::{Decision, Denial, Executed, Next, PostDecision, Question, Verdict};
use crate::invariants::StageName;
use crate::registry::Layer;
use crate::result::{CallResult, Draft, Outcome};
use crate::signal::{Cause, Signal};
use crate::tool::{BodyFuture, FinalizerFn, Returned, Tool, ToolContext, ToolDefinition};
use crate::view::View;

/// One call on its way through the pipeline.
pub(crate) struct Run {
    layer: Layer,
    call: Call,
    /// Kept from entry: whatever happens to the tool, this one has the last word.
    finalizer: Option<Arc<FinalizerFn>>,
    progress: Progress,
    /// Whether anything happened that somebody must hear the end of.
    is_started: bool,
}

enum Progress {
    /// Nothing was decided yet.
    Admitted,
    /// Nothing speaks against the body.
    Ready,
    /// A result that the post stage judges.
    Judge(Draft),
    /// The post stage has the result.
    Judging,
    /// A result that only has to be published.
    Publish(Draft),
    Published,
}

impl Run {
    /// Entry: the arguments, the collapse, the cancellation that came first.
    pub(crate) fn admit(layer: Layer, call: Call) -> Self {
        let view = layer.view();
        let is_collapsed = view.is_collapsed(&call);
        let is_cancelled = call.signal().is_cancelled();
        let progress = if let Some(message) = call.arguments_error() {
            Progress::Publish(Draft::failure(ToolError::failed(message)))
        } else if let Some(error) = misplaced(&call) {
            Progress::Publish(Draft::failure(error))
        } else if is_cancelled {
            Progress::Publish(Draft::failure(aborted_before_dispatch(call.signal())))
        } else if is_collapsed {
            Progress::Publish(Draft::failure(collapsed(call.name())))
        } else {
            Progress::Admitted
        };
        // A collapsed call answers as if the tool did not exist.
        let finalizer = if is_collapsed && !is_cancelled {
            None
        } else {
            view.get(call.name()).and_then(|tool| tool.tool().finalizer.clone())
        };
        Self { layer, call, finalizer, progress, is_started: false }
    }

    pub(crate) fn call(&self) -> &Call {
        &self.call
    }

    /// Whether the body is the next thing to run.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.progress, Progress::Ready)
    }

    /// Gate, approval and guards.
    pub(crate) async fn prepare(&mut self) {
        self.is_started = true;
        if matches!(self.progress, Progress::Admitted) {
            self.progress = match self.permit().await {
                Ok(None) => Progress::Ready,
                Ok(Some(error)) => Progress::Judge(Draft::failure(error)),
                Err(error) => Progress::Publish(Draft::failure(error)),
            };
        }
    }

    /// Answers why the call may not go on, or fails closed.
    async fn permit(&self) -> Result<Option<ToolError>, ToolError> {
        let denial = match self.gate().await? {
            Decision::Allow => None,
            Decision::Deny(denial) => Some((PolicyStage::Gate, denial)),
            Decision::Ask(question) => match self.ask(question).await? {
                Answer::Granted { rule } => {
                    let stage = PolicyStage::Approval;
                    log_decision(
                        &self.layer,
                        &self.call,
                        stage,
                        PolicyVerdict::Allow,
                        rule.as_ref(),
                        None,
                    )?;
                    None
                }
                Answer::Denied(denial) => Some((PolicyStage::Approval, denial)),
                Answer::Withdrawn => return Ok(Some(aborted_before_dispatch(self.call.signal()))),
            },
        };
        let denial = match denial {
            None => guards(&self.layer, &self.call)?.map(|denial| (PolicyStage::Guard, denial)),
            denied => denied,
        };
        if let Some((stage, denial)) = denial {
            return Ok(Some(denied(&self.layer, &self.call, stage, denial)?));
        }
        let is_cancelled = self.call.signal().is_cancelled();
        Ok(is_cancelled.then(|| aborted_before_dispatch(self.call.signal())))
    }

    async fn gate(&self) -> Result<Decision, ToolError> {
        let view = self.layer.view();
        self.announce_stage(&view, StageName::PreExecute, None)?;
        if view.pre_execute.is_empty() {
            return Ok(Decision::Allow);
        }
        Next::new(view.pre_execute.clone(), self.call.clone(), ()).go().await
    }

    async fn ask(&self, question: Question) -> Result<Answer, ToolError> {
        let name = self.call.name();
        log_decision(
            &self.layer,
            &self.call,
            PolicyStage::Gate,
            PolicyVerdict::Ask,
            question.rule.as_ref(),
            question.reason.as_ref(),
        )?;
        let approver = self.layer.view().approver.clone();
        let Some(approver) = approver.filter(|_| self.call.scope().is_some()) else {
            let reason = question.reason.unwrap_or_else(|| {
                format!("`{name}` needs approval, and nobody can be asked here").into()
            });
            return Ok(Answer::Denied(Denial { reason, rule: question.rule }));
        };
        let request = ApprovalRequest {
            call: self.call.clone(),
            reason: question.reason,
            rule: question.rule.clone(),
            signal: self.call.signal().clone(),
        };
        let _pause = self.call.clock().map(crate::program::RunClock::pause);
        let asking =
            AssertUnwindSafe(async move { approver.approve(request).await }).catch_unwind();
        let withdrawn = self.call.signal().cancelled();
        // The approver first: it may have something to record when the question is withdrawn.
        let approval = match select(Box::pin(asking), Box::pin(withdrawn)).await {
            Either::Left((answer, _)) => {
                answer.unwrap_or_else(|panic| Err(from_panic("the approver", &*panic)))?
            }
            Either::Right(((), _)) => Approval::Cancelled,
        };
        let reason = match approval {
            Approval::AllowedOnce => return Ok(Answer::Granted { rule: question.rule }),
            Approval::Cancelled if self.call.signal().is_cancelled() => {
                return Ok(Answer::Withdrawn);
            }
            Approval::Rejected => format!("the request to run `{name}` was rejected"),
            Approval::Cancelled => format!("the question whether to run `{name}` was withdrawn"),
            Approval::Unavailable => format!("nobody could be asked whether to run `{name}`"),
        };
        Ok(Answer::Denied(Denial { reason: reason.into(), rule: question.rule }))
    }

    /// The hooks around the body, and the body.
    pub(crate) async fn dispatch(&mut self) {
        if !matches!(self.progress, Progress::Ready) {
            return;
        }
        let dispatch = Dispatch(self.layer.clone());
        let view = self.layer.view();
        let announced = self.announce_stage(&view, StageName::Execute, None);
        let chain = view.execute.clone();
        drop(view);
        let executed = if let Err(error) = announced {
            Err(error)
        } else if chain.is_empty() {
            Ok(dispatch.run(self.call.clone(), None).await)
        } else {
            let executed = Next::new(chain, self.call.clone(), (dispatch, None)).go().await;
            self.call.end_bodies().await;
            executed
        };
        self.progress = match executed.and_then(|executed| self.settle(executed)) {
            Ok(draft) => Progress::Judge(draft),
            Err(error) => Progress::Publish(Draft::failure(error)),
        };
    }

    /// Checks what hooks made themselves, and puts the body's messages in front.
    fn settle(&self, executed: Executed) -> Result<Draft, ToolError> {
        let Executed { mut draft, made_by } = executed;
        if made_by != Some(self.call.token())
            && let Outcome::Success(value) = draft.outcome
        {
            let contexts = draft.contexts;
            draft = normalize(self.resolve()?.tool(), &self.call, value.into())?;
            draft.contexts = contexts;
        }
        let mut deferred = {
            let state = self.call.state();
            std::mem::take(&mut *state.deferred.lock().unwrap_or_else(PoisonError::into_inner))
        };
        deferred.append(&mut draft.contexts);
        draft.contexts = deferred;
        draft.concludes_turn =
            draft.is_success() && self.call.state().concluded.load(Ordering::Acquire);
        Ok(self.unless_cancelled(draft))
    }

    fn resolve(&self) -> Result<ToolDefinition, ToolError> {
        let view = self.layer.view();
        view.resolve(&self.call).cloned().ok_or_else(|| unknown_tool(&view, &self.call))
    }

    /// Cancellation replaces successes only.
    fn unless_cancelled(&self, draft: Draft) -> Draft {
        if !draft.is_success() || !self.call.signal().is_cancelled() {
            return draft;
        }
        let error = if self.call.state().body_invoked.load(Ordering::Acquire) {
            aborted(self.call.signal())
        } else {
            aborted_before_dispatch(self.call.signal())
        };
        Draft { contexts: draft.contexts, ..Draft::failure(error) }
    }

    /// The post stage.
    pub(crate) async fn judge(&mut self) {
        let draft = match std::mem::replace(&mut self.progress, Progress::Judging) {
            Progress::Judge(draft) => draft,
            other => {
                self.progress = other;
                return;
            }
        };
        let view = self.layer.view();
        let announced = self.announce_stage(&view, StageName::PostExecute, None);
        let chain = view.post_execute.clone();
        drop(view);
        let judged = if let Err(error) = announced {
            Err(error)
        } else if chain.is_empty() {
            Ok(draft)
        } else {
            let result = draft.freeze();
            let decision = Next::new(chain, self.call.clone(), result.clone()).go().await;
            decision.and_then(|decision| self.obey(result.into_draft(), decision))
        };
        self.progress = Progress::Publish(match judged {
            Ok(draft) => self.unless_cancelled(draft),
            Err(error) => Draft::failure(error),
        });
    }

    fn obey(&self, mut draft: Draft, mut decision: PostDecision) -> Result<Draft, ToolError> {
        match decision.verdict {
            Verdict::Accept => {}
            Verdict::ReplaceContent(content) => draft.replace_content(content),
            Verdict::ReplaceValue(_) if !draft.is_success() => {
                let message =
                    "a post-execute hook replaced the value of a failed call; failures have none";
                return Err(ToolError::failed(message));
            }
            Verdict::ReplaceValue(value) => {
                let fresh = normalize(self.resolve()?.tool(), &self.call, value.into())?;
                draft = Draft {
                    contexts: draft.contexts,
                    concludes_turn: draft.concludes_turn,
                    ..fresh
                };
            }
            Verdict::Block(feedback) => {
                let error = ToolError::of(FailureClass::Blocked, blocked_message(&feedback));
                draft = Draft::failure_with(error, feedback);
            }
        }
        draft.contexts.append(&mut decision.contexts);
        Ok(draft)
    }

    /// The finalizer, then every observer; exactly once.
    pub(crate) fn publish(mut self) -> CallResult {
        let draft = match std::mem::replace(&mut self.progress, Progress::Published) {
            Progress::Judge(draft) | Progress::Publish(draft) => draft,
            // Only reached when the runtime that should have driven the call is gone.
            Progress::Admitted | Progress::Ready | Progress::Judging | Progress::Published => {
                Draft::failure(aborted(self.call.signal()))
            }
        };
        self.announce(draft)
    }

    fn announce(&self, draft: Draft) -> CallResult {
        let mut result = draft.freeze();
        if let Some(finalizer) = &self.finalizer {
            let content = catch_unwind(AssertUnwindSafe(|| finalizer(&self.call, &result)));
            match content {
                Ok(None) => {}
                Ok(Some(content)) => {
                    let mut draft = result.into_draft();
                    draft.replace_content(content.into());
                    result = draft.freeze();
                }
                Err(panic) => {
                    result = Draft::failure(from_panic("the finalizer", &*panic)).freeze();
                }
            }
        }
        let view = self.layer.view();
        if let Err(error) = self.announce_stage(&view, StageName::Result, Some(&result)) {
            result = Draft::failure(error).freeze();
        }
        for observer in &view.observers {
            let seen = catch_unwind(AssertUnwindSafe(|| observer(&self.call, &result)));
            if let Err(panic) = seen {
                let error = from_panic("an observer", &*panic);
                tracing::warn!(tool = %self.call.name(), call = %self.call.id(), %error, "observer failed");
            }
        }
        result
    }

    /// Tells those who check and diagnose that a stage is about to run.
    fn announce_stage(
        &self,
        view: &View,
        stage: StageName,
        result: Option<&CallResult>,
    ) -> Result<(), ToolError> {
        for observer in &view.stage_observers {
            catch_unwind(AssertUnwindSafe(|| observer(stage, &self.call, result)))
                .unwrap_or_else(|panic| Err(from_panic("a stage observer", &*panic)))?;
        }
        Ok(())
    }

    /// All steps that are left.
    pub(crate) async fn complete(mut self) -> CallResult {
        self.prepare().await;
        self.dispatch().await;
        self.judge().await;
        self.publish()
    }
}

impl Drop for Run {
    /// No runtime was left to drive the call: one result is published all the same.
    fn drop(&mut self) {
        if self.is_started && !matches!(self.progress, Progress::Published) {
            self.call.give_up_bodies();
            self.progress = Progress::Published;
            let cause = Cause::new(
                Cause::DROPPED,
                "nothing was left to drive the call; its outcome is unknown",
            );
            self.call.signal().cancel(cause);
            self.announce(Draft::failure(aborted(self.call.signal())));
        }
    }
}

/// How often guards may change while one call is judged.
const MOST_CHANGES: usize = 100;

/// Asks every guard that is in force and was not asked yet, then those that came meanwhile, until none is new.
fn guards(layer: &Layer, call: &Call) -> Result<Option<Denial>, ToolError> {
    let judged = &call.state().judged;
    let Judged { mut serial, mut asked } =
        std::mem::take(&mut *judged.lock().unwrap_or_else(PoisonError::into_inner));
    for _ in 0..MOST_CHANGES {
        let view = layer.view();
        if view.serial == serial {
            *judged.lock().unwrap_or_else(PoisonError::into_inner) = Judged { serial, asked };
            return Ok(None);
        }
        if view.disposed {
            let reason = "the scope of this call was disposed; make the call in a live scope";
            return Ok(Some(Denial::new(reason)));
        }
        let before = asked.len();
        for (id, guard) in &view.guards {
            if asked[..before].contains(id) {
                continue;
            }
            let verdict = catch_unwind(AssertUnwindSafe(|| guard(call)))
                .map_err(|panic| from_panic("a guard", &*panic))?;
            if verdict.is_some() {
                return Ok(verdict);
            }
            asked.push(*id);
        }
        serial = view.serial;
    }
    Err(ToolError::failed("the guards change each time they are asked, so the call was stopped"))
}

/// The error of a denied call, once the decision is durable.
fn denied(
    layer: &Layer,
    call: &Call,
    stage: PolicyStage,
    denial: Denial,
) -> Result<ToolError, ToolError> {
    let Denial { reason, rule, .. } = denial;
    log_decision(layer, call, stage, PolicyVerdict::Deny, rule.as_ref(), Some(&reason))?;
    Ok(ToolError::of(FailureClass::Denied, reason))
}

/// Makes a decision durable before it takes effect.
fn log_decision(
    layer: &Layer,
    call: &Call,
    stage: PolicyStage,
    decision: PolicyVerdict,
    rule: Option<&Str>,
    reason: Option<&Str>,
) -> Result<(), ToolError> {
    let Some(session) = layer.view().session.clone() else { return Ok(()) };
    let event = PolicyDecision {
        call_id: call.id().clone(),
        root_call_id: call.root_id().clone(),
        name: call.name().clone(),
        decision,
        stage,
        rule: rule.cloned(),
        reason: reason.cloned(),
    };
    session.append(event).map_err(log_failed)?;
    Ok(())
}

enum Answer {
    Granted {
        rule: Option<Str>,
    },
    Denied(Denial),
    /// The caller cancelled while a person was asked.
    Withdrawn,
}

/// A settled sub-call of a program, for the hooks that shape its log copy.
#[derive(Clone, Debug)]
pub struct SubCall {
    pub(crate) id: Str,
    pub(crate) name: Str,
    pub(crate) result: CallResult,
}

/// What happens inside all execute hooks: the body of whatever tool is visible then.
#[derive(Clone, Debug)]
pub struct Dispatch(Layer);

impl Dispatch {
    pub(crate) async fn run(&self, call: Call, replaced: Option<Signal>) -> Executed {
        let made_by = Some(call.token());
        let draft = match call.begin_body() {
            Some(running) => self.body(call, replaced, running).await,
            None => Err(ToolError::failed("the call is over, its body cannot run any more")),
        };
        Executed { draft: draft.unwrap_or_else(Draft::failure), made_by }
    }

    async fn body(
        &self,
        call: Call,
        replaced: Option<Signal>,
        running: RunningBody,
    ) -> Result<Draft, ToolError> {
        let view = self.0.view();
        let definition = view.resolve(&call).cloned().ok_or_else(|| unknown_tool(&view, &call))?;
        drop(view);
        let tool = definition.tool();
        let signal = match &replaced {
            None => call.signal().clone(),
            Some(replaced) => Signal::either(call.signal(), replaced),
        };
        if signal.is_cancelled() {
            return Err(aborted_before_dispatch(call.signal()));
        }
        // The call may have waited since its guards were asked: for its turn, for a hook, for a retry.
        if let Some(denial) = guards(&self.0, &call)? {
            return Err(denied(&self.0, &call, PolicyStage::Guard, denial)?);
        }
        check_arguments(tool, &call)?;
        call.state().body_invoked.store(true, Ordering::Release);
        let context = ToolContext::new(call.clone(), signal.clone(), self.0.clone());
        let arguments = call.arguments().clone();
        let body = catch_unwind(AssertUnwindSafe(|| tool.start(arguments, context)))
            .map_err(|panic| from_panic("the tool", &*panic))?;
        let body = Started { body: Some((body, running)), signal: signal.clone() };
        let draft = normalize(tool, &call, body.await?)?;
        if signal.is_cancelled() { Err(aborted(&signal)) } else { Ok(draft) }
    }
}

fn check_arguments(tool: &Tool, call: &Call) -> Result<(), ToolError> {
    let Some(schema) = &tool.checked else { return Ok(()) };
    let violations = schema.validate(call.arguments(), "");
    if violations.is_empty() {
        return Ok(());
    }
    Err(ToolError::refused_arguments(&tool.name, violations))
}

/// A body that was started. It is driven to its end even if a hook stops polling it.
struct Started {
    body: Option<(BodyFuture, RunningBody)>,
    signal: Signal,
}

impl Future for Started {
    type Output = Result<Returned, ToolError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some((body, _)) = &mut self.body else { return Poll::Pending };
        let polled = catch_unwind(AssertUnwindSafe(|| body.as_mut().poll(context)))
            .unwrap_or_else(|panic| Poll::Ready(Err(from_panic("the tool", &*panic))));
        if polled.is_ready() {
            self.body = None;
        }
        polled
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some((body, running)) = self.body.take() {
            let cause = Cause::new(Cause::DROPPED, "whoever waited for the tool stopped waiting");
            self.signal.cancel(cause);
            running.leave(AssertUnwindSafe(body).catch_unwind().map(drop));
        }
    }
}

/// Checks a value against the tool's declaration and makes what the model reads.
fn normalize(tool: &Tool, call: &Call, returned: Returned) -> Result<Draft, ToolError> {
    let invalid = |what: &str| ToolError::invalid_output(&tool.name, what);
    let Returned { value, content, raw } = returned;
    let violations = tool.output.violations(&value);
    if !violations.is_empty() {
        return Err(invalid(&violations.to_string()));
    }
    let arguments = call.arguments();
    let content = match content {
        Some(content) => content,
        None => catch_unwind(AssertUnwindSafe(|| tool.output.render(arguments, &value)))
            .unwrap_or_else(|panic| Err(from_panic("its render function", &*panic)))
            .map_err(|error| invalid(error.message()))?,
    };
    let meta = if call.is_model_direct() {
        catch_unwind(AssertUnwindSafe(|| tool.output.meta(arguments, &value)))
            .unwrap_or_else(|panic| Some(Err(from_panic("its meta function", &*panic))))
            .transpose()
            .map_err(|error| invalid(error.message()))?
    } else {
        None
    };
    Ok(Draft { raw, ..Draft::success(value, content.into(), meta) })
}

/// How deep calls may be nested in each other. A thread of tokio has room for about 100 without optimizations.
const MOST_NESTED: u16 = 64;

/// Why a call cannot even begin.
fn misplaced(call: &Call) -> Option<ToolError> {
    if call.id().is_empty() {
        return Some(ToolError::failed("a call needs an id, by which its result is found"));
    }
    (call.token().nesting() > MOST_NESTED).then(|| {
        ToolError::failed(format!(
            "calls are nested more than {MOST_NESTED} deep; a tool that calls tools must come to an end"
        ))
    })
}

/// The texts of the feedback, or what kind of block stands there.
fn blocked_message(feedback: &[Content]) -> String {
    let parts: Vec<String> = feedback
        .iter()
        .map(|block| block.as_text().map_or_else(|| format!("[{}]", block.kind()), str::to_owned))
        .collect();
    let message = parts.join("\n");
    if message.trim().is_empty() { "the result was blocked".to_owned() } else { message }
}

#[cold]
fn unknown_tool(view: &View, call: &Call) -> ToolError {
    if view.is_collapsed(call) {
        return collapsed(call.name());
    }
    let name = call.name();
    let names = view.definitions().map(ToolDefinition::name);
    let message = match callgate_schema::nearest_name(name, names) {
        Some(known) => format!("unknown tool `{name}`; did you mean `{known}`?"),
        None => format!("unknown tool `{name}`; see the list of tools for the names that exist"),
    };
    ToolError::known(FailureClass::UnknownTool, "ToolNotFoundError", codes::UNKNOWN_TOOL, message)
}

#[cold]
fn collapsed(name: &str) -> ToolError {
    let message = format!(
        "`{name}` cannot be called directly; call `{RUN_CODE}` with a program that awaits `tools[\"{name}\"](…)`"
    );
    ToolError::known(FailureClass::UnknownTool, "ToolNotFoundError", codes::UNKNOWN_TOOL, message)
}

#[cold]
fn aborted(signal: &Signal) -> ToolError {
    let message = match signal.cause() {
        Some(cause) => format!("the call was cancelled while it ran: {cause}"),
        None => "the call was cancelled while it ran".to_owned(),
    };
    ToolError::known(FailureClass::Aborted, "AbortError", codes::ABORTED, message)
}

#[cold]
pub(crate) fn aborted_before_dispatch(signal: &Signal) -> ToolError {
    let message = match signal.cause() {
        Some(cause) => format!("the call was cancelled before it started: {cause}"),
        None => "the call was cancelled before it started".to_owned(),
    };
    ToolError::known(FailureClass::Aborted, "AbortError", codes::ABORTED_BEFORE_DISPATCH, message)
}

#[cold]
pub(crate) fn log_failed(error: impl fmt::Display) -> ToolError {
    let message = format!("the session log could not be written, so the call was stopped: {error}");
    ToolError::known(FailureClass::Failed, "LogError", codes::LOG_FAILED, message)
}

/// A future that is driven to its end even if whoever awaits it stops: its signal is cancelled,
/// and the rest moves to the tokio runtime it was first polled on.
pub(crate) struct Driven<T: Send + 'static> {
    rest: Option<BoxFuture<'static, T>>,
    signal: Signal,
    home: Home,
}

/// Where a future was first polled.
enum Home {
    /// Nowhere yet: dropping it has no effect.
    Unpolled,
    /// On this tokio runtime; none if it was polled by something else.
    Polled(Option<tokio::runtime::Handle>),
}

impl<T: Send + 'static> Driven<T> {
    pub(crate) fn new(signal: Signal, future: impl Future<Output = T> + Send + 'static) -> Self {
        Self { rest: Some(Box::pin(future)), signal, home: Home::Unpolled }
    }
}

impl<T: Send + 'static> Future for Driven<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if matches!(self.home, Home::Unpolled) {
            self.home = Home::Polled(tokio::runtime::Handle::try_current().ok());
        }
        // Polled again after its end, it stays pending, as a fused future would.
        let Some(rest) = &mut self.rest else { return Poll::Pending };
        let polled = rest.as_mut().poll(context);
        if polled.is_ready() {
            self.rest = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Driven<T> {
    fn drop(&mut self) {
        let home = std::mem::replace(&mut self.home, Home::Unpolled);
        let (Some(rest), Home::Polled(home)) = (self.rest.take(), home) else { return };
        self.signal.cancel(Cause::new(Cause::DROPPED, "the caller stopped waiting for the call"));
        if let Some(home) = home {
            home.spawn(rest);
        }
    }
}

/// A call that runs: the future of [`Layer::execute`].
///
/// # Cancellation
///
/// See [`Layer::execute`].
#[must_use = "a call does nothing before it is polled"]
pub struct Execution(Driven<CallResult>);

impl Execution {
    pub(crate) fn start(layer: Layer, input: CallInput) -> Self {
        let call = Call::admit(input, &layer);
        let signal = call.signal().clone();
        Self(Driven::new(signal, async move { Run::admit(layer, call).complete().await }))
    }
}

impl Future for Execution {
    type Output = CallResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<CallResult> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl fmt::Debug for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution").finish_non_exhaustive()
    }
}
