//! Hooks: code that runs around every call of a scope.
//!
//! | I want to …                    | use                            | may not                    |
//! |--------------------------------|--------------------------------|----------------------------|
//! | allow, deny or ask             | [`Layer::on_pre_execute`]      | change the arguments       |
//! | deny, for good                 | [`Layer::guard`]               | permit, wait               |
//! | time out, retry, measure       | [`Layer::on_execute`]          | change who calls what      |
//! | change what the model reads    | [`Layer::on_post_execute`]     | set content *and* value    |
//! | shorten the log of programs    | [`Layer::on_code_dispatch_log`]| change what programs get   |
//! | answer when a hook asks         | [`Layer::on_approve`]          | grant more than one call   |
//! | only watch                     | [`Layer::observe`]             | fail the call              |
//!
//! A hook is an async function of the [`Call`] and a [`Next`]; [`Next::run`] goes inward. Hooks
//! nest in the order they were registered, the first outermost; a prepended one is outermost.
//! A hook that returns without running `next` decides alone.
//!
//! [`Layer::on_pre_execute`]: crate::Layer::on_pre_execute
//! [`Layer::guard`]: crate::Layer::guard
//! [`Layer::on_execute`]: crate::Layer::on_execute
//! [`Layer::on_post_execute`]: crate::Layer::on_post_execute
//! [`Layer::on_code_dispatch_log`]: crate::Layer::on_code_dispatch_log
//! [`Layer::on_approve`]: crate::Layer::on_approve
//! [`Layer::observe`]: crate::Layer::observe

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use callgate_schema::{Json, Str};
use callgate_session::{Content, UserMessage};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::approval::{Approval, ApprovalRequest};
use crate::call::{Call, Token};
use crate::error::{HookError, ToolError, from_panic};
use crate::pipeline::{Dispatch, SubCall};
use crate::prompt::{Assembly, Prompt};
use crate::registry::{Entry, Ordered};
use crate::result::{CallResult, Draft};
use crate::signal::Signal;

/// A stage of the pipeline that hooks can run around: one of the types of this module.
pub trait Stage: sealed::Sealed + Send + Sync + Sized + 'static {
    /// What a hook of this stage is about: for most, the [`Call`].
    type Subject: Clone + Send + Sync + fmt::Debug + 'static;

    /// What a hook of this stage answers.
    type Output: Send + 'static;
}

mod sealed {
    use super::{BoxFuture, Entry, Hook, HookError, Ordered, Stage};

    /// What the hooks of a stage share, and what happens innermost.
    pub trait Sealed {
        #[doc(hidden)]
        type Context: Clone + Send + Sync + 'static;

        #[doc(hidden)]
        const NAME: &'static str;

        #[doc(hidden)]
        fn entry(hook: Ordered<dyn Hook<Self>>) -> Entry
        where
            Self: Stage;

        #[doc(hidden)]
        fn innermost(
            subject: Self::Subject,
            context: Self::Context,
        ) -> BoxFuture<'static, Result<Self::Output, HookError>>
        where
            Self: Stage;
    }
}

/// The stage that allows, denies or asks. Innermost: allow.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a name for a stage, never a value")]
pub enum PreExecute {}

/// The stage around the body. Innermost: the body itself.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a name for a stage, never a value")]
pub enum Execute {}

/// The stage that judges a result. Innermost: accept.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a name for a stage, never a value")]
pub enum PostExecute {}

/// The stage that may shorten the durable copy of a sub-call's content. Innermost: as it is.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a name for a stage, never a value")]
pub enum CodeDispatchLog {}

/// The stage that answers a request for approval. Innermost: nobody is there.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a name for a stage, never a value")]
pub enum Approve {}

impl Stage for Approve {
    type Subject = ApprovalRequest;
    type Output = Approval;
}

impl sealed::Sealed for Approve {
    type Context = ();
    const NAME: &'static str = "an approval hook";

    fn entry(hook: Ordered<dyn Hook<Self>>) -> Entry {
        Entry::Approve(hook)
    }

    fn innermost(_: ApprovalRequest, (): ()) -> BoxFuture<'static, Result<Approval, HookError>> {
        Box::pin(std::future::ready(Ok(Approval::Unavailable)))
    }
}

impl Next<Approve> {
    /// Asks the answerers further in. Nobody further in: [`Approval::Unavailable`].
    ///
    /// # Errors
    ///
    /// The failure of a hook further in, which this hook may replace by an answer.
    pub async fn run(self) -> Result<Approval, HookError> {
        self.go().await
    }
}

/// The stage around prompt assembly. Innermost: the prompt as the layers make it.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a name for a stage, never a value")]
pub enum Assemble {}

impl Stage for Assemble {
    type Subject = Assembly;
    type Output = Prompt;
}

impl sealed::Sealed for Assemble {
    type Context = Arc<Prompt>;
    const NAME: &'static str = "an assembly hook";

    fn entry(hook: Ordered<dyn Hook<Self>>) -> Entry {
        Entry::Assemble(hook)
    }

    fn innermost(
        _: Assembly,
        prompt: Arc<Prompt>,
    ) -> BoxFuture<'static, Result<Prompt, HookError>> {
        Box::pin(std::future::ready(Ok(Arc::unwrap_or_clone(prompt))))
    }
}

impl Next<Assemble> {
    /// Asks the hooks further in. Nobody further in: the prompt as the layers make it.
    ///
    /// # Errors
    ///
    /// The failure of a hook further in, which this hook may replace by an answer.
    pub async fn run(self) -> Result<Prompt, HookError> {
        self.go().await
    }
}

impl Stage for PreExecute {
    type Subject = Call;
    type Output = Decision;
}

impl Stage for Execute {
    type Subject = Call;
    type Output = Executed;
}

impl Stage for PostExecute {
    type Subject = Call;
    type Output = PostDecision;
}

impl Stage for CodeDispatchLog {
    type Subject = Call;
    type Output = Arc<[Content]>;
}

impl sealed::Sealed for PreExecute {
    type Context = ();
    const NAME: &'static str = "a pre-execute hook";

    fn entry(hook: Ordered<dyn Hook<Self>>) -> Entry {
        Entry::PreExecute(hook)
    }

    fn innermost(_: Call, (): ()) -> BoxFuture<'static, Result<Decision, HookError>> {
        Box::pin(std::future::ready(Ok(Decision::Allow)))
    }
}

impl sealed::Sealed for Execute {
    type Context = (Dispatch, Option<Signal>);
    const NAME: &'static str = "an execute hook";

    fn entry(hook: Ordered<dyn Hook<Self>>) -> Entry {
        Entry::Execute(hook)
    }

    fn innermost(
        call: Call,
        (dispatch, signal): Self::Context,
    ) -> BoxFuture<'static, Result<Executed, HookError>> {
        Box::pin(async move { Ok(dispatch.run(call, signal).await) })
    }
}

impl sealed::Sealed for PostExecute {
    type Context = CallResult;
    const NAME: &'static str = "a post-execute hook";

    fn entry(hook: Ordered<dyn Hook<Self>>) -> Entry {
        Entry::PostExecute(hook)
    }

    fn innermost(_: Call, _: CallResult) -> BoxFuture<'static, Result<PostDecision, HookError>> {
        Box::pin(std::future::ready(Ok(PostDecision::accept())))
    }
}

impl sealed::Sealed for CodeDispatchLog {
    type Context = SubCall;
    const NAME: &'static str = "a code-dispatch-log hook";

    fn entry(hook: Ordered<dyn Hook<Self>>) -> Entry {
        Entry::CodeDispatchLog(hook)
    }

    fn innermost(
        _: Call,
        sub_call: SubCall,
    ) -> BoxFuture<'static, Result<Arc<[Content]>, HookError>> {
        Box::pin(std::future::ready(Ok(sub_call.result.content().clone())))
    }
}

/// Code that runs around one stage of every call of a scope.
///
/// An async function or closure of `(Call, Next<S>)` can be registered directly with the `on_…`
/// methods; implement this for hooks with state of their own.
///
/// # Cancellation
///
/// A hook is waited for however long it takes. One that waits should watch
/// [`Call::signal`].
pub trait Hook<S: Stage>: Send + Sync + 'static {
    /// Runs the hook once.
    fn call(
        &self,
        subject: S::Subject,
        next: Next<S>,
    ) -> BoxFuture<'_, Result<S::Output, HookError>>;
}

/// An async function as a hook, for places that take a [`Hook`].
///
/// ```
/// use callgate_core::{Decision, Place, ToolRuntime, hook};
/// # fn main() -> Result<(), callgate_core::Error> {
/// let runtime = ToolRuntime::builder().build()?;
/// let outermost = hook::from_fn::<hook::PreExecute, _, _>(|_, next| async move { next.run().await });
/// runtime.change(|change| change.hook(outermost, Place::First))?;
/// # Ok(()) }
/// ```
pub fn from_fn<S, F, Fut>(hook: F) -> impl Hook<S>
where
    S: Stage,
    F: Fn(S::Subject, Next<S>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<S::Output, HookError>> + Send + 'static,
{
    FnHook(hook)
}

pub(crate) struct FnHook<F>(pub(crate) F);

impl<S, F, Fut> Hook<S> for FnHook<F>
where
    S: Stage,
    F: Fn(S::Subject, Next<S>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<S::Output, HookError>> + Send + 'static,
{
    fn call(
        &self,
        subject: S::Subject,
        next: Next<S>,
    ) -> BoxFuture<'_, Result<S::Output, HookError>> {
        Box::pin((self.0)(subject, next))
    }
}

pub(crate) type Chain<S> = Arc<[Arc<dyn Hook<S>>]>;

/// The rest of a stage: the hooks further in, and what happens innermost.
pub struct Next<S: Stage> {
    chain: Chain<S>,
    position: usize,
    subject: S::Subject,
    context: S::Context,
    stage: PhantomData<S>,
}

impl<S: Stage> Next<S> {
    pub(crate) fn new(chain: Chain<S>, subject: S::Subject, context: S::Context) -> Self {
        Self { chain, position: 0, subject, context, stage: PhantomData }
    }

    /// Runs what is left, with the panics of hooks turned into errors.
    pub(crate) fn go(&self) -> BoxFuture<'static, Result<S::Output, HookError>> {
        let Some(hook) = self.chain.get(self.position).cloned() else {
            return S::innermost(self.subject.clone(), self.context.clone());
        };
        let inner = Self {
            chain: self.chain.clone(),
            position: self.position + 1,
            subject: self.subject.clone(),
            context: self.context.clone(),
            stage: PhantomData,
        };
        let subject = self.subject.clone();
        let guarded =
            AssertUnwindSafe(async move { hook.call(subject, inner).await }).catch_unwind();
        Box::pin(
            async move { guarded.await.unwrap_or_else(|panic| Err(from_panic(S::NAME, &*panic))) },
        )
    }
}

impl Next<PreExecute> {
    /// Asks the hooks further in. Nobody further in: [`Decision::Allow`].
    ///
    /// # Errors
    ///
    /// The failure of a hook further in, which this hook may replace by an answer.
    pub async fn run(self) -> Result<Decision, HookError> {
        self.go().await
    }
}

impl Next<Execute> {
    /// Runs the hooks further in and the body. May be called again after it has returned: then
    /// all of them run again.
    ///
    /// A failing body, an unknown tool and an invalid value are an `Ok` with a failure inside.
    ///
    /// # Errors
    ///
    /// The failure of a hook further in, which this hook may replace by an answer.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the body's signal; the call still waits for the body's end.
    pub async fn run(&mut self) -> Result<Executed, HookError> {
        self.go().await
    }

    /// The same under another signal, fused with the caller's: for timeouts.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub async fn run_with(&mut self, signal: Signal) -> Result<Executed, HookError> {
        let outer = self.context.1.replace(signal);
        let running = self.go();
        self.context.1 = outer;
        running.await
    }

    /// The signal the body would run under: the call's, or what a hook further out replaced it by.
    pub fn signal(&self) -> &Signal {
        self.context.1.as_ref().unwrap_or_else(|| self.subject.signal())
    }
}

impl Next<PostExecute> {
    /// Asks the hooks further in. Nobody further in: accept unchanged.
    ///
    /// # Errors
    ///
    /// The failure of a hook further in, which this hook may replace by an answer.
    pub async fn run(self) -> Result<PostDecision, HookError> {
        self.go().await
    }

    /// The result that is judged.
    pub fn result(&self) -> &CallResult {
        &self.context
    }
}

impl Next<CodeDispatchLog> {
    /// Asks the hooks further in. Nobody further in: the content as it is.
    ///
    /// # Errors
    ///
    /// The failure of a hook further in, which this hook may replace by an answer.
    pub async fn run(self) -> Result<Arc<[Content]>, HookError> {
        self.go().await
    }

    /// The id of the sub-call; the hook's subject is the call of the program.
    pub fn sub_call_id(&self) -> &Str {
        &self.context.id
    }

    /// The name of the tool that the program called.
    pub fn tool_name(&self) -> &Str {
        &self.context.name
    }

    /// The result of the sub-call.
    pub fn result(&self) -> &CallResult {
        &self.context.result
    }
}

impl<S: Stage> fmt::Debug for Next<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("subject", &self.subject).finish_non_exhaustive()
    }
}

/// What a pre-execute hook answers. There is no way to change the arguments: they have been
/// logged and shown already.
///
/// ```
/// use callgate_core::Decision;
/// let decision = Decision::deny("private keys are off limits").by_rule("no-keys");
/// assert_ne!(decision, Decision::Allow);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "allow, deny and ask are all there is")]
pub enum Decision {
    /// The call may go on to the guards.
    Allow,
    /// The call is denied.
    Deny(Denial),
    /// A person decides.
    Ask(Question),
}

impl Decision {
    /// Denies the call, for a reason that the model reads.
    pub fn deny(reason: impl Into<Str>) -> Self {
        Self::Deny(Denial::new(reason))
    }

    /// Asks for approval.
    pub fn ask(reason: impl Into<Str>) -> Self {
        Self::Ask(Question { reason: Some(reason.into()), rule: None })
    }

    /// Names the rule behind the decision, for the log. Allowing has no rule to name.
    #[must_use]
    pub fn by_rule(mut self, rule: impl Into<Str>) -> Self {
        match &mut self {
            Self::Allow => {}
            Self::Deny(denial) => denial.rule = Some(rule.into()),
            Self::Ask(question) => question.rule = Some(rule.into()),
        }
        self
    }
}

/// Why a call is denied, and by which rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denial {
    /// What the model reads.
    pub reason: Str,
    /// The name of the rule, for the log.
    pub rule: Option<Str>,
}

impl Denial {
    /// A denial without a named rule.
    pub fn new(reason: impl Into<Str>) -> Self {
        Self { reason: reason.into(), rule: None }
    }

    /// Names the rule behind it, for the log.
    #[must_use]
    pub fn by_rule(mut self, rule: impl Into<Str>) -> Self {
        self.rule = Some(rule.into());
        self
    }
}

/// What a person is asked, and by which rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Question {
    /// Why it is asked.
    pub reason: Option<Str>,
    /// The name of the rule, for the log.
    pub rule: Option<Str>,
}

/// What the execute stage produced: a success with a value or a failure.
///
/// The one that [`Next::run`] returns is checked and rendered already. One that a hook makes is
/// checked and rendered after all hooks are done.
#[derive(Clone, Debug)]
pub struct Executed {
    pub(crate) draft: Draft,
    /// The execution whose body made it, if no hook did.
    pub(crate) made_by: Option<Token>,
}

impl Executed {
    /// A success with this value. It is checked against the tool's output schema.
    pub fn success(value: impl Into<Json>) -> Self {
        Self { draft: Draft::success(value.into(), Arc::new([]), None), made_by: None }
    }

    /// A failure.
    pub fn failure(error: ToolError) -> Self {
        Self { draft: Draft::failure(error), made_by: None }
    }

    /// Adds a message to those that come with the result.
    #[must_use]
    pub fn with_context(mut self, context: UserMessage) -> Self {
        self.draft.contexts.push(context);
        self.made_by = None;
        self
    }

    /// Whether it is a failure.
    pub fn is_error(&self) -> bool {
        !self.draft.is_success()
    }

    /// The value, on success.
    pub fn value(&self) -> Option<&Json> {
        match &self.draft.outcome {
            crate::Outcome::Success(value) => Some(value),
            crate::Outcome::Failure(_) => None,
        }
    }

    /// The error, on failure.
    pub fn error(&self) -> Option<&ToolError> {
        match &self.draft.outcome {
            crate::Outcome::Success(_) => None,
            crate::Outcome::Failure(error) => Some(error),
        }
    }

    /// What the model would read; empty for a success that a hook made.
    pub fn content(&self) -> &[Content] {
        &self.draft.content
    }
}

/// What a post-execute hook answers.
///
/// ```
/// use callgate_core::PostDecision;
/// use callgate_session::Content;
/// let shorter = PostDecision::replace_content([Content::text("(shortened)")]);
/// let hidden = PostDecision::block([Content::text("the result holds a password")]);
/// # let _ = (shorter, hidden);
/// ```
#[derive(Clone, Debug)]
pub struct PostDecision {
    pub(crate) verdict: Verdict,
    pub(crate) contexts: Vec<UserMessage>,
}

#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    Accept,
    ReplaceContent(Arc<[Content]>),
    ReplaceValue(Json),
    Block(Arc<[Content]>),
}

impl PostDecision {
    fn of(verdict: Verdict) -> Self {
        Self { verdict, contexts: Vec::new() }
    }

    /// Leaves the result as it is.
    pub fn accept() -> Self {
        Self::of(Verdict::Accept)
    }

    /// Replaces what the model reads, and nothing else: programs still get the value, so this is
    /// no way to keep a secret.
    pub fn replace_content(content: impl Into<Arc<[Content]>>) -> Self {
        Self::of(Verdict::ReplaceContent(content.into()))
    }

    /// Replaces the value of a success, and with it content and meta. On a failure it fails the
    /// call.
    pub fn replace_value(value: impl Into<Json>) -> Self {
        Self::of(Verdict::ReplaceValue(value.into()))
    }

    /// Makes the call a failure without a value; the model reads the feedback.
    pub fn block(feedback: impl Into<Arc<[Content]>>) -> Self {
        Self::of(Verdict::Block(feedback.into()))
    }

    /// Adds a message to those that come with the result, after those of hooks further in.
    #[must_use]
    pub fn with_context(mut self, context: UserMessage) -> Self {
        self.contexts.push(context);
        self
    }

    /// Puts a message in front of those of hooks further in.
    #[must_use]
    pub fn with_context_first(mut self, context: UserMessage) -> Self {
        self.contexts.insert(0, context);
        self
    }

    /// Whether the decision leaves value and content as they are.
    pub fn is_plain_accept(&self) -> bool {
        matches!(self.verdict, Verdict::Accept)
    }

    /// Whether it blocks the result.
    pub fn is_block(&self) -> bool {
        matches!(self.verdict, Verdict::Block(_))
    }

    /// The content it puts in the place of the result's, if it does.
    pub fn replaced_content(&self) -> Option<&[Content]> {
        match &self.verdict {
            Verdict::ReplaceContent(content) => Some(content),
            _ => None,
        }
    }
}
