//! Registering: one thing, or several at once.

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use callgate_session::{Content, Session};

use crate::approval::{Approval, ApprovalRequest, Approver};
use crate::call::Call;
use crate::code::SdkOptions;
use crate::error::{Error, HookError, ToolError};
use crate::hook::{
    Approve, Assemble, CodeDispatchLog, Decision, Denial, Execute, Executed, FnHook, Hook, Next,
    PostDecision, PostExecute, PreExecute, Stage,
};
use crate::invariants::StageName;
use crate::plugin::Plugin;
use crate::prompt::{Assembly, ContextEntry, Prompt, Section, Variable};
use crate::registry::{Entry, EntryId, Layer, Mode, Op, Ordered, Registration};
use crate::restriction::Restriction;
use crate::result::CallResult;
use crate::tool::ToolDefinition;

/// A set of registrations and undos that takes effect at once or not at all.
///
/// Made by [`Layer::change`]; nothing is visible before that returns.
pub struct Change<'a> {
    layer: &'a Layer,
    ops: Vec<Op>,
}

/// A [`Change`] of a scope, which can also restrict and choose a presentation.
#[derive(Debug)]
pub struct ScopeChange<'a>(Change<'a>);

/// Where a hook goes in the order of its stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two ends")]
pub enum Place {
    /// Innermost so far: after all that are registered already.
    #[default]
    Last,
    /// Outermost: before all that are registered already.
    First,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Entry")
    }
}

impl std::fmt::Debug for Change<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Change").field("steps", &self.ops.len()).finish_non_exhaustive()
    }
}

impl Change<'_> {
    fn add(&mut self, entry: impl FnOnce(EntryId) -> Entry) -> Registration {
        let id = EntryId::fresh();
        let scope = self.layer.node.id;
        self.ops.push(Op::Add(scope, id, entry(id)));
        Registration { shared: Arc::downgrade(&self.layer.shared), scope, entry: id }
    }

    /// Registers a tool.
    pub fn register(&mut self, tool: ToolDefinition) -> Registration {
        self.add(|_| Entry::Tool(tool))
    }

    /// Adds a guard: a final, synchronous check that can deny and nothing else.
    pub fn guard(
        &mut self,
        guard: impl Fn(&Call) -> Option<Denial> + Send + Sync + 'static,
    ) -> Registration {
        self.add(|_| Entry::Guard(Arc::new(guard)))
    }

    /// Adds a hook with state of its own.
    pub fn hook<S: Stage>(&mut self, hook: impl Hook<S>, place: Place) -> Registration {
        self.add(|id| S::entry(Ordered { order: place.order(id), hook: Arc::new(hook) }))
    }

    /// Adds an observer of final results. It cannot fail a call; a panic is logged.
    pub fn observe(
        &mut self,
        observer: impl Fn(&Call, &CallResult) + Send + Sync + 'static,
    ) -> Registration {
        self.add(|id| {
            Entry::Observer(Ordered { order: Place::Last.order(id), hook: Arc::new(observer) })
        })
    }

    /// Adds an observer of changes to tools, restrictions and presentation, in any scope.
    pub fn on_change(&mut self, observer: impl Fn() + Send + Sync + 'static) -> Registration {
        self.add(|_| Entry::ChangeObserver(Arc::new(observer)))
    }

    /// Adds an observer that is told of every stage before its hooks run, for checks and
    /// diagnostics. Its error fails the call; at publication the failure takes the place of the
    /// result.
    pub fn on_stage(
        &mut self,
        observer: impl Fn(StageName, &Call, Option<&CallResult>) -> Result<(), ToolError>
        + Send
        + Sync
        + 'static,
    ) -> Registration {
        self.add(|_| Entry::StageObserver(Arc::new(observer)))
    }

    /// Adds work to be waited for when the scope is disposed, before older registrations go.
    pub fn on_dispose<F>(
        &mut self,
        cleanup: impl FnOnce() -> F + Send + Sync + 'static,
    ) -> Registration
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.add(|_| Entry::Cleanup(Box::new(move || Box::pin(cleanup()))))
    }

    /// Adds a section of the system text.
    pub fn section(&mut self, section: Section) -> Registration {
        self.add(|_| Entry::Section(section))
    }

    /// Adds a variable for sections.
    pub fn variable(&mut self, variable: Variable) -> Registration {
        self.add(|_| Entry::Variable(variable))
    }

    /// Adds a piece of run-time context.
    pub fn context(&mut self, entry: ContextEntry) -> Registration {
        self.add(|_| Entry::Context(entry))
    }

    /// Keeps run-time context from this layer and all below it; nothing of it is computed.
    pub fn suppress_context(&mut self) -> Registration {
        self.add(|_| Entry::NoContext)
    }

    /// Gives the layer somebody who answers when a hook asks.
    pub fn approver(&mut self, approver: impl Approver) -> Registration {
        self.add(|_| Entry::Approver(Arc::new(approver)))
    }

    /// Gives the layer a session log for decisions and for the sub-calls of programs.
    pub fn session(&mut self, session: Session) -> Registration {
        self.add(|_| Entry::Session(session))
    }

    /// Takes one registration back, of any layer of this runtime. One of another runtime is left alone.
    pub fn undo(&mut self, registration: &Registration) {
        self.ops.push(Op::Remove(registration.scope, registration.entry));
    }
}

impl ScopeChange<'_> {
    /// Hides inherited tools.
    pub fn restrict(&mut self, restriction: Restriction) -> Registration {
        self.add(|_| Entry::Restriction(restriction))
    }

    /// Declares in what form a model sees the tools of this scope.
    pub fn present_as(&mut self, mode: Mode) -> Registration {
        self.add(|_| Entry::Mode(mode))
    }

    /// Declares how much of the SDK a model is shown at once, as [`Scope::show_sdk`](crate::Scope::show_sdk) does.
    pub fn show_sdk(&mut self, options: impl Into<SdkOptions>) -> Registration {
        let options = options.into();
        self.add(|_| Entry::Sdk(options))
    }
}

impl<'a> Deref for ScopeChange<'a> {
    type Target = Change<'a>;

    fn deref(&self) -> &Change<'a> {
        &self.0
    }
}

impl DerefMut for ScopeChange<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Place {
    fn order(self, id: EntryId) -> i128 {
        let place = i128::from(id.number());
        match self {
            Self::Last => place,
            Self::First => -place,
        }
    }
}

impl Layer {
    /// Applies any set of registrations and undos at once: one version, one change event, all or
    /// nothing. There is no moment in which neither the old nor the new rules are in force.
    ///
    /// # Errors
    ///
    /// The first step that cannot be taken; then nothing has changed.
    pub fn change<T>(&self, describe: impl FnOnce(&mut Change<'_>) -> T) -> Result<T, Error> {
        let mut change = Change { layer: self, ops: Vec::new() };
        let answer = describe(&mut change);
        self.shared.apply(change.ops)?;
        Ok(answer)
    }

    /// Registers what a plugin describes in the place of the given entries, whose clean-ups stay
    /// for [`undo_in_order`](Self::undo_in_order). Answers what was added, oldest first.
    pub(crate) fn exchange(
        &self,
        old: &[EntryId],
        plugin: &(impl Plugin + ?Sized),
    ) -> Result<Vec<EntryId>, Error> {
        let scope = self.node.id;
        let old = self.shared.without_cleanups(scope, old);
        let ops = old.into_iter().map(|id| Op::Remove(scope, id)).collect();
        let mut change = Change { layer: self, ops };
        plugin.install(&mut change);
        let added = change
            .ops
            .iter()
            .filter_map(|op| match op {
                Op::Add(_, id, _) => Some(*id),
                Op::Remove(..) => None,
            })
            .collect();
        self.shared.apply(change.ops)?;
        Ok(added)
    }

    pub(crate) fn scope_change<T>(
        &self,
        describe: impl FnOnce(&mut ScopeChange<'_>) -> T,
    ) -> Result<T, Error> {
        let mut change = ScopeChange(Change { layer: self, ops: Vec::new() });
        let answer = describe(&mut change);
        self.shared.apply(change.0.ops)?;
        Ok(answer)
    }

    /// For what can only fail because the scope was disposed: then there is no call left that it
    /// could have an effect on, since a disposed scope denies every call.
    fn add(&self, describe: impl FnOnce(&mut Change<'_>) -> Registration) -> Registration {
        let mut change = Change { layer: self, ops: Vec::new() };
        let registration = describe(&mut change);
        if let Err(error) = self.shared.apply(change.ops) {
            tracing::debug!(%error, "not registered");
        }
        registration
    }

    /// Registers a tool here.
    ///
    /// # Errors
    ///
    /// A schema outside the subset, a zero timeout, the reserved name `run_code`, a name this
    /// layer has already, a disposed scope.
    pub fn register(&self, tool: ToolDefinition) -> Result<Registration, Error> {
        self.change(|change| change.register(tool))
    }

    /// Adds a guard: a final, synchronous check that can deny and nothing else. Nobody can undo
    /// its denial. A guard that panics fails the call.
    pub fn guard(
        &self,
        guard: impl Fn(&Call) -> Option<Denial> + Send + Sync + 'static,
    ) -> Registration {
        self.add(|change| change.guard(guard))
    }

    /// Adds a hook with state of its own, innermost so far.
    pub fn hook<S: Stage>(&self, hook: impl Hook<S>) -> Registration {
        self.add(|change| change.hook(hook, Place::Last))
    }

    /// Adds a hook with state of its own, outermost.
    pub fn prepend<S: Stage>(&self, hook: impl Hook<S>) -> Registration {
        self.add(|change| change.hook(hook, Place::First))
    }

    /// Adds a hook that allows, denies or asks.
    pub fn on_pre_execute<F, Fut>(&self, hook: F) -> Registration
    where
        F: Fn(Call, Next<PreExecute>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Decision, HookError>> + Send + 'static,
    {
        self.hook::<PreExecute>(FnHook(hook))
    }

    /// Adds a hook around the body: timeouts, retries, metrics.
    pub fn on_execute<F, Fut>(&self, hook: F) -> Registration
    where
        F: Fn(Call, Next<Execute>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Executed, HookError>> + Send + 'static,
    {
        self.hook::<Execute>(FnHook(hook))
    }

    /// Adds a hook that accepts, replaces or blocks a result.
    pub fn on_post_execute<F, Fut>(&self, hook: F) -> Registration
    where
        F: Fn(Call, Next<PostExecute>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<PostDecision, HookError>> + Send + 'static,
    {
        self.hook::<PostExecute>(FnHook(hook))
    }

    /// Adds a hook that may shorten the log's copy of what a program's sub-call returned.
    pub fn on_code_dispatch_log<F, Fut>(&self, hook: F) -> Registration
    where
        F: Fn(Call, Next<CodeDispatchLog>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Arc<[Content]>, HookError>> + Send + 'static,
    {
        self.hook::<CodeDispatchLog>(FnHook(hook))
    }

    /// Adds somebody who may answer when a hook asks for approval; the approval service asks
    /// them.
    pub fn on_approve<F, Fut>(&self, hook: F) -> Registration
    where
        F: Fn(ApprovalRequest, Next<Approve>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Approval, HookError>> + Send + 'static,
    {
        self.hook::<Approve>(FnHook(hook))
    }

    /// Adds an observer of final results. It cannot fail a call; a panic is logged.
    pub fn observe(
        &self,
        observer: impl Fn(&Call, &CallResult) + Send + Sync + 'static,
    ) -> Registration {
        self.add(|change| change.observe(observer))
    }

    /// Adds an observer of changes to tools, restrictions and presentation, in any scope.
    pub fn on_change(&self, observer: impl Fn() + Send + Sync + 'static) -> Registration {
        self.add(|change| change.on_change(observer))
    }

    /// Adds work to be waited for when the scope is disposed, before older registrations go.
    pub fn on_dispose<F>(&self, cleanup: impl FnOnce() -> F + Send + Sync + 'static) -> Registration
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.add(|change| change.on_dispose(cleanup))
    }

    /// Adds a hook around prompt assembly; what it answers is final.
    pub fn on_assemble<F, Fut>(&self, hook: F) -> Registration
    where
        F: Fn(Assembly, Next<Assemble>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Prompt, HookError>> + Send + 'static,
    {
        self.hook::<Assemble>(FnHook(hook))
    }

    /// Adds a section of the system text.
    ///
    /// # Errors
    ///
    /// If this layer has a section of that name, or was disposed.
    pub fn add_section(&self, section: Section) -> Result<Registration, Error> {
        self.change(|change| change.section(section))
    }

    /// Adds a variable for sections.
    ///
    /// # Errors
    ///
    /// If this layer has a variable of that name, the name is not of the form `[a-z][a-z0-9_]*`,
    /// or the layer was disposed.
    pub fn add_variable(&self, variable: Variable) -> Result<Registration, Error> {
        self.change(|change| change.variable(variable))
    }

    /// Adds a piece of run-time context.
    ///
    /// # Errors
    ///
    /// If this layer has an entry of that name, or was disposed.
    pub fn add_context(&self, entry: ContextEntry) -> Result<Registration, Error> {
        self.change(|change| change.context(entry))
    }

    /// Gives this layer somebody who answers when a hook asks.
    ///
    /// # Errors
    ///
    /// If the layer has an approver already, or was disposed.
    pub fn set_approver(&self, approver: impl Approver) -> Result<Registration, Error> {
        self.change(|change| change.approver(approver))
    }

    /// Gives this layer a session log for decisions and for the sub-calls of programs.
    ///
    /// # Errors
    ///
    /// If the layer has a session already, or was disposed.
    pub fn set_session(&self, session: Session) -> Result<Registration, Error> {
        self.change(|change| change.session(session))
    }
}
