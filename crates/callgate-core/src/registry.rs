//! The registry: layers that are written under one lock and read through cached views.
//!
//! **Invariant:** no user code runs while the lock is held: not a hook, not an observer, not the
//! `Drop` of a tool. What a write removes is collected and dropped after the lock is released.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use arc_swap::ArcSwapOption;
use callgate_schema::Str;
use callgate_session::Session;
use futures_util::future::BoxFuture;

use crate::approval::Approver;
use crate::call::Call;
use crate::cleanup;
use crate::code::{self, RUN_CODE, SdkOptions};
use crate::error::{Error, ErrorKind, ToolError, from_panic};
use crate::hook::{
    Approve, Assemble, CodeDispatchLog, Denial, Execute, Hook, PostExecute, PreExecute,
};
use crate::invariants::StageName;
use crate::program::ProgramEngine;
use crate::prompt::{self, ContextEntry, Section, Variable};
use crate::restriction::Restriction;
use crate::result::CallResult;
use crate::tool::ToolDefinition;
use crate::view::View;

pub(crate) type GuardFn = dyn Fn(&Call) -> Option<Denial> + Send + Sync;
pub(crate) type ObserverFn = dyn Fn(&Call, &CallResult) + Send + Sync;
pub(crate) type StageFn =
    dyn Fn(StageName, &Call, Option<&CallResult>) -> Result<(), ToolError> + Send + Sync;
pub(crate) type ChangeFn = dyn Fn() + Send + Sync;
pub(crate) type Cleanup = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send + Sync>;

/// The identity of a scope in this process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(u64);

/// A number for a scope, an entry or a view, of all runtimes of this process: what is said about one of them can never mean
/// another one somewhere else.
pub(crate) fn fresh() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl EntryId {
    pub(crate) fn fresh() -> Self {
        Self(fresh())
    }
}

impl ScopeId {
    const GLOBAL: Self = Self(0);
}

impl fmt::Debug for ScopeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScopeId")
    }
}

/// The form in which a model sees the tools of a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a caller must know what each mode means")]
pub enum Mode {
    /// Every tool as a function to call.
    #[default]
    Native,
    /// One tool, `run_code`, and a generated SDK: the model writes programs.
    Code,
    /// Both.
    Both,
}

impl Mode {
    /// Its name in configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Code => "code",
            Self::Both => "both",
        }
    }
}

/// The identity of one registration, and its place in the order of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntryId(u64);

impl EntryId {
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

/// A hook and its place in the one order that all hooks of a stage share.
pub struct Ordered<H: ?Sized> {
    /// Negative for prepended ones, the later the smaller.
    pub(crate) order: i128,
    pub(crate) hook: Arc<H>,
}

impl<H: ?Sized> fmt::Debug for Ordered<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ordered").field("order", &self.order).finish_non_exhaustive()
    }
}

/// One thing that a layer contributes.
pub enum Entry {
    Tool(ToolDefinition),
    Restriction(Restriction),
    Guard(Arc<GuardFn>),
    Mode(Mode),
    Sdk(SdkOptions),
    PreExecute(Ordered<dyn Hook<PreExecute>>),
    Execute(Ordered<dyn Hook<Execute>>),
    PostExecute(Ordered<dyn Hook<PostExecute>>),
    CodeDispatchLog(Ordered<dyn Hook<CodeDispatchLog>>),
    Approve(Ordered<dyn Hook<Approve>>),
    Assemble(Ordered<dyn Hook<Assemble>>),
    Section(Section),
    Variable(Variable),
    Context(ContextEntry),
    NoContext,
    Observer(Ordered<ObserverFn>),
    ChangeObserver(Arc<ChangeFn>),
    StageObserver(Arc<StageFn>),
    Approver(Arc<dyn Approver>),
    Session(Session),
    Cleanup(Cleanup),
}

impl Entry {
    /// Whether change observers hear of it.
    fn is_announced(&self) -> bool {
        matches!(self, Self::Tool(_) | Self::Restriction(_) | Self::Mode(_) | Self::Sdk(_))
    }
}

/// What one scope contributed, in order of registration.
pub(crate) struct LayerData {
    pub(crate) entries: BTreeMap<EntryId, Entry>,
    parent: Option<ScopeId>,
    node: Weak<Node>,
    disposed: bool,
}

impl LayerData {
    pub(crate) fn tools(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.entries.values().filter_map(|entry| match entry {
            Entry::Tool(tool) => Some(tool),
            _ => None,
        })
    }

    pub(crate) fn is_disposed(&self) -> bool {
        self.disposed
    }
}

pub(crate) struct State {
    layers: BTreeMap<ScopeId, LayerData>,
}

impl State {
    /// The layers of a chain, from the root to the scope itself.
    pub(crate) fn chain(&self, node: &Node) -> Vec<&LayerData> {
        let mut chain = Vec::new();
        let mut next = Some(node);
        while let Some(node) = next {
            chain.extend(self.layers.get(&node.id));
            next = node.parent.as_deref();
        }
        chain.reverse();
        chain
    }

    /// The layer of a scope and those above it, nearest first.
    fn upwards(&self, scope: ScopeId) -> impl Iterator<Item = &LayerData> {
        let mut next = Some(scope);
        std::iter::from_fn(move || {
            let layer = self.layers.get(&next?)?;
            next = layer.parent;
            Some(layer)
        })
    }
}

/// What all scopes of one runtime share.
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) mode: Mode,
    pub(crate) sdk: SdkOptions,
    pub(crate) max_parallel_sub_calls: usize,
    pub(crate) max_sub_calls: u64,
    pub(crate) tool_order: Option<Vec<Str>>,
    pub(crate) engine: Option<Arc<dyn ProgramEngine>>,
    run_code: OnceLock<ToolDefinition>,
}

/// What a runtime is built with.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) mode: Mode,
    pub(crate) sdk: SdkOptions,
    pub(crate) max_parallel_sub_calls: usize,
    pub(crate) max_sub_calls: u64,
    pub(crate) tool_order: Option<Vec<Str>>,
    pub(crate) engine: Option<Arc<dyn ProgramEngine>>,
}

/// A place in the tree of scopes, with the view that is current there.
pub(crate) struct Node {
    pub(crate) id: ScopeId,
    pub(crate) parent: Option<Arc<Node>>,
    shared: Weak<Shared>,
    view: ArcSwapOption<View>,
    disposal: tokio::sync::OnceCell<()>,
}

impl Drop for Node {
    /// A scope nobody holds any more contributes nothing to anybody.
    fn drop(&mut self) {
        self.forget();
        // One after the other: a chain of scopes may be longer than the stack is deep.
        let mut above = self.parent.take();
        while let Some(mut node) = above.and_then(Arc::into_inner) {
            node.forget();
            above = node.parent.take();
        }
    }
}

impl Node {
    fn forget(&self) {
        if let Some(shared) = self.shared.upgrade() {
            let layer = shared.lock().layers.remove(&self.id);
            drop(layer);
        }
    }
}

/// One step of a change.
pub(crate) enum Op {
    Add(ScopeId, EntryId, Entry),
    Remove(ScopeId, EntryId),
}

/// A place where tools, rules and hooks can be registered: what [`ToolRuntime`] and [`Scope`]
/// have in common.
///
/// [`ToolRuntime`]: crate::ToolRuntime
/// [`Scope`]: crate::Scope
#[derive(Clone)]
pub struct Layer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) node: Arc<Node>,
}

/// A [`Layer`] that is not kept alive.
#[derive(Clone)]
pub(crate) struct WeakLayer {
    shared: Weak<Shared>,
    node: Weak<Node>,
}

impl WeakLayer {
    pub(crate) fn upgrade(&self) -> Option<Layer> {
        Some(Layer { shared: self.shared.upgrade()?, node: self.node.upgrade()? })
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.node.strong_count() == 0
    }
}

impl Shared {
    pub(crate) fn root(config: Config) -> Layer {
        let shared = Arc::new(Self {
            state: Mutex::new(State { layers: BTreeMap::new() }),
            mode: config.mode,
            sdk: config.sdk,
            max_parallel_sub_calls: config.max_parallel_sub_calls,
            max_sub_calls: config.max_sub_calls,
            tool_order: config.tool_order,
            engine: config.engine,
            run_code: OnceLock::new(),
        });
        let node = shared.add_node(ScopeId::GLOBAL, None);
        Layer { shared, node }
    }

    fn add_node(self: &Arc<Self>, id: ScopeId, parent: Option<Arc<Node>>) -> Arc<Node> {
        let layer = LayerData {
            entries: BTreeMap::new(),
            parent: parent.as_ref().map(|parent| parent.id),
            node: Weak::new(),
            disposed: false,
        };
        let node = Arc::new(Node {
            id,
            parent,
            shared: Arc::downgrade(self),
            view: ArcSwapOption::empty(),
            disposal: tokio::sync::OnceCell::new(),
        });
        self.lock().layers.insert(id, LayerData { node: Arc::downgrade(&node), ..layer });
        node
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one definition of `run_code`, outside all layers: nothing can hide or replace it.
    pub(crate) fn run_code(&self) -> &ToolDefinition {
        self.run_code.get_or_init(|| code::definition(self.engine.as_deref()))
    }

    /// Applies all steps or none, then announces the change once.
    pub(crate) fn apply(&self, ops: Vec<Op>) -> Result<(), Error> {
        let mut graveyard = Graveyard::default();
        let outcome = {
            let mut state = self.lock();
            let outcome = state.apply(ops, &mut graveyard);
            state.invalidate(&mut graveyard);
            outcome
        };
        let announced = graveyard.announced && outcome.is_ok();
        graveyard.bury();
        if announced {
            self.announce();
        }
        outcome
    }

    /// Those of the given entries that are not clean-ups.
    pub(crate) fn without_cleanups(&self, scope: ScopeId, entries: &[EntryId]) -> Vec<EntryId> {
        let state = self.lock();
        let layer = state.layers.get(&scope);
        let is_cleanup = |id: &EntryId| {
            let entry = layer.and_then(|layer| layer.entries.get(id));
            matches!(entry, Some(Entry::Cleanup(_)))
        };
        entries.iter().filter(|id| !is_cleanup(id)).copied().collect()
    }

    /// Tells every change observer, whatever scope it was registered in. A panic of one is
    /// contained: it rolls nothing back and starves nobody.
    fn announce(&self) {
        let observers: Vec<Arc<ChangeFn>> = {
            let state = self.lock();
            let entries = state.layers.values().flat_map(|layer| layer.entries.values());
            let observers = entries.filter_map(|entry| match entry {
                Entry::ChangeObserver(observer) => Some(observer.clone()),
                _ => None,
            });
            observers.collect()
        };
        for observer in observers {
            let told = catch_unwind(AssertUnwindSafe(|| observer()));
            if let Err(panic) = told {
                let error = from_panic("a change observer", &*panic);
                tracing::warn!(%error, "change observer failed");
            }
        }
    }
}

/// What a write took out of the tables, to be dropped without the lock.
#[derive(Default)]
struct Graveyard {
    entries: Vec<Entry>,
    views: Vec<Arc<View>>,
    nodes: Vec<Arc<Node>>,
    touched: BTreeSet<ScopeId>,
    announced: bool,
}

impl Graveyard {
    /// What code of others does when it goes is contained.
    fn bury(self) {
        let Self { entries, views, nodes, .. } = self;
        entries.into_iter().for_each(bury_one);
        views.into_iter().for_each(bury_one);
        nodes.into_iter().for_each(bury_one);
    }
}

fn bury_one<T>(remains: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(remains))) {
        let error = from_panic("what a removed registration held", &*panic);
        tracing::warn!(%error, "clean-up failed");
    }
}

impl State {
    fn apply(&mut self, ops: Vec<Op>, graveyard: &mut Graveyard) -> Result<(), Error> {
        let mut undo = Vec::with_capacity(ops.len());
        let mut pending = ops.into_iter();
        let failure = loop {
            let Some(op) = pending.next() else { break None };
            match self.step(op, graveyard) {
                Ok(inverse) => undo.extend(inverse),
                Err((entry, error)) => {
                    graveyard.entries.extend(entry);
                    break Some(error);
                }
            }
        };
        let Some(error) = failure else {
            for inverse in undo {
                if let Op::Add(_, _, removed) = inverse {
                    graveyard.entries.push(removed);
                }
            }
            return Ok(());
        };
        for inverse in undo.into_iter().rev() {
            match inverse {
                Op::Add(scope, id, entry) => {
                    if let Some(layer) = self.layers.get_mut(&scope) {
                        layer.entries.insert(id, entry);
                    }
                }
                Op::Remove(scope, id) => {
                    let layer = self.layers.get_mut(&scope);
                    graveyard.entries.extend(layer.and_then(|layer| layer.entries.remove(&id)));
                }
            }
        }
        graveyard.entries.extend(pending.filter_map(|op| match op {
            Op::Add(_, _, entry) => Some(entry),
            Op::Remove(..) => None,
        }));
        Err(error)
    }

    /// Takes one step and answers its inverse; none if there was nothing to do. What could not be
    /// added goes back, so that it is dropped without the lock.
    fn step(
        &mut self,
        op: Op,
        graveyard: &mut Graveyard,
    ) -> Result<Option<Op>, (Option<Entry>, Error)> {
        match op {
            Op::Add(scope, id, entry) => {
                if let Err(error) = self.check(scope, &entry) {
                    return Err((Some(entry), error));
                }
                let Some(layer) = self.layers.get_mut(&scope) else {
                    return Err((Some(entry), disposed()));
                };
                graveyard.touched.insert(scope);
                graveyard.announced |= entry.is_announced();
                layer.entries.insert(id, entry);
                Ok(Some(Op::Remove(scope, id)))
            }
            Op::Remove(scope, id) => {
                let layer = self.layers.get_mut(&scope);
                let Some(entry) = layer.and_then(|layer| layer.entries.remove(&id)) else {
                    return Ok(None);
                };
                graveyard.touched.insert(scope);
                graveyard.announced |= entry.is_announced();
                Ok(Some(Op::Add(scope, id, entry)))
            }
        }
    }

    fn check(&self, scope: ScopeId, entry: &Entry) -> Result<(), Error> {
        let Some(layer) = self.layers.get(&scope).filter(|layer| !layer.disposed) else {
            return Err(disposed());
        };
        match entry {
            Entry::Tool(tool) => check_tool(scope, layer, tool),
            Entry::Mode(mode) => check_mode(layer, *mode),
            Entry::Sdk(_) => {
                check_single(layer, "form of the SDK", |entry| matches!(entry, Entry::Sdk(_)))
            }
            Entry::Section(section) => check_section(layer, section),
            Entry::Variable(variable) => check_variable(layer, variable),
            Entry::Context(entry) => check_name(
                layer,
                "piece of context",
                &entry.name,
                |other| matches!(other, Entry::Context(other) if other.name == entry.name),
            ),
            Entry::Session(_) => {
                check_single(layer, "session", |entry| matches!(entry, Entry::Session(_)))
            }
            Entry::Approver(_) => {
                check_single(layer, "approver", |entry| matches!(entry, Entry::Approver(_)))
            }
            Entry::Restriction(restriction) => {
                let inherited: BTreeSet<&str> = self
                    .upwards(scope)
                    .skip(1)
                    .flat_map(LayerData::tools)
                    .map(ToolDefinition::name)
                    .collect();
                restriction.check(&inherited)
            }
            _ => Ok(()),
        }
    }

    /// Empties the caches of every touched scope and of all below them.
    fn invalidate(&mut self, graveyard: &mut Graveyard) {
        if graveyard.touched.is_empty() {
            return;
        }
        // A scope is younger than its parent, so one pass in order of age reaches everybody.
        for (id, layer) in &self.layers {
            if layer.parent.is_some_and(|parent| graveyard.touched.contains(&parent)) {
                graveyard.touched.insert(*id);
            }
            if graveyard.touched.contains(id)
                && let Some(node) = layer.node.upgrade()
            {
                graveyard.views.extend(node.view.swap(None));
                graveyard.nodes.push(node);
            }
        }
    }
}

fn check_tool(scope: ScopeId, layer: &LayerData, tool: &ToolDefinition) -> Result<(), Error> {
    if let Some(fault) = tool.fault() {
        return Err(fault.clone());
    }
    let name = tool.name();
    if name.is_empty() {
        let message = "a tool needs a name; call it after what it does";
        return Err(Error::new(ErrorKind::InvalidDefinition, message));
    }
    if name == RUN_CODE {
        let message =
            format!("the name `{RUN_CODE}` is reserved for Code Mode; choose another one");
        return Err(Error::new(ErrorKind::ReservedName, message));
    }
    if layer.tools().any(|other| other.name() == name) {
        let message = if scope == ScopeId::GLOBAL {
            format!(
                "a global tool `{name}` exists already; register a variant for one agent in that agent's scope"
            )
        } else {
            format!("this scope has a tool `{name}` already; dispose that registration first")
        };
        return Err(Error::new(ErrorKind::Duplicate, message));
    }
    Ok(())
}

fn check_mode(layer: &LayerData, mode: Mode) -> Result<(), Error> {
    check_single(layer, "presentation mode", |entry| matches!(entry, Entry::Mode(_)))?;
    // A mode with programs brings the registry's own sections.
    let own = layer.entries.values().find_map(|entry| match entry {
        Entry::Section(section) if is_own_section(&section.name) => Some(&section.name),
        _ => None,
    });
    match own {
        Some(name) if mode != Mode::Native => Err(taken("section", name)),
        _ => Ok(()),
    }
}

fn check_section(layer: &LayerData, section: &Section) -> Result<(), Error> {
    check_name(layer, "section", &section.name, |other| match other {
        Entry::Section(other) => other.name == section.name,
        Entry::Mode(mode) => *mode != Mode::Native && is_own_section(&section.name),
        _ => false,
    })
}

fn check_variable(layer: &LayerData, variable: &Variable) -> Result<(), Error> {
    let name = &variable.name;
    if !prompt::is_variable_name(name) {
        let message = format!(
            "`{name}` cannot be the name of a variable; use a-z, 0-9 and _, a letter first"
        );
        return Err(Error::new(ErrorKind::Prompt, message));
    }
    check_name(
        layer,
        "variable",
        name,
        |other| matches!(other, Entry::Variable(other) if other.name == *name),
    )
}

fn is_own_section(name: &str) -> bool {
    name == prompt::CODE_ONLY || name == prompt::SDK
}

fn check_name(
    layer: &LayerData,
    what: &str,
    name: &str,
    is: impl Fn(&Entry) -> bool,
) -> Result<(), Error> {
    if layer.entries.values().any(is) { Err(taken(what, name)) } else { Ok(()) }
}

#[cold]
fn taken(what: &str, name: &str) -> Error {
    let message =
        format!("this layer has a {what} `{name}` already; dispose that registration first");
    Error::new(ErrorKind::Duplicate, message)
}

fn check_single(layer: &LayerData, what: &str, is: impl Fn(&Entry) -> bool) -> Result<(), Error> {
    if layer.entries.values().any(is) {
        let message =
            format!("this scope declares a {what} already; dispose that registration first");
        return Err(Error::new(ErrorKind::Duplicate, message));
    }
    Ok(())
}

fn disposed() -> Error {
    Error::new(ErrorKind::Disposed, "the scope was disposed; register in a live scope")
}

impl Layer {
    /// The view that is current here: one atomic load, unless something changed.
    pub(crate) fn view(&self) -> Arc<View> {
        if let Some(view) = self.node.view.load_full() {
            return view;
        }
        let state = self.shared.lock();
        if let Some(view) = self.node.view.load_full() {
            return view;
        }
        let view = Arc::new(View::build(&self.shared, &state, &self.node));
        self.node.view.store(Some(view.clone()));
        view
    }

    /// The scope's identity; none for the runtime itself.
    pub(crate) fn scope_id(&self) -> Option<ScopeId> {
        (self.node.id != ScopeId::GLOBAL).then_some(self.node.id)
    }

    pub(crate) fn downgrade(&self) -> WeakLayer {
        WeakLayer { shared: Arc::downgrade(&self.shared), node: Arc::downgrade(&self.node) }
    }

    pub(crate) fn child(&self) -> Self {
        let id = ScopeId(fresh());
        let node = self.shared.add_node(id, Some(self.node.clone()));
        Self { shared: self.shared.clone(), node }
    }

    /// Undoes everything below and in this layer, youngest first, waiting for clean-ups.
    ///
    /// From inside one of its own clean-ups it waits for nothing: they would wait for each other.
    pub(crate) async fn dispose_all(&self) {
        if cleanup::is_inside(self.node.id.0) {
            return;
        }
        self.node.disposal.get_or_init(|| self.dispose_in_order()).await;
    }

    async fn dispose_in_order(&self) {
        let mut layers = self.close();
        while let Some((id, node)) = layers.pop() {
            while let Some(cleanup) = self.take_youngest(id, |_| true) {
                cleanup::run(cleanup, self.node.id.0).await;
            }
            drop(node);
        }
    }

    /// Undoes the given entries of this layer, youngest first, waiting for clean-ups.
    /// `owner` is whatever those clean-ups must not wait for.
    pub(crate) async fn undo_in_order(&self, entries: Vec<EntryId>, owner: EntryId) {
        while let Some(cleanup) = self.take_youngest(self.node.id, |id| entries.contains(&id)) {
            cleanup::run(cleanup, owner.number()).await;
        }
    }

    /// Closes this scope and those below to new registrations; answers them oldest first.
    fn close(&self) -> Vec<(ScopeId, Option<Arc<Node>>)> {
        let mut graveyard = Graveyard::default();
        let mut state = self.shared.lock();
        let mut doomed = BTreeSet::from([self.node.id]);
        let mut layers = Vec::new();
        for (id, layer) in &mut state.layers {
            if layer.parent.is_some_and(|parent| doomed.contains(&parent)) {
                doomed.insert(*id);
            }
            if doomed.contains(id) {
                layer.disposed = true;
                layers.push((*id, layer.node.upgrade()));
            }
        }
        graveyard.touched = doomed;
        state.invalidate(&mut graveyard);
        drop(state);
        graveyard.bury();
        layers
    }

    /// Removes entries, youngest first, up to and including the next clean-up.
    fn take_youngest(
        &self,
        scope: ScopeId,
        is_doomed: impl Fn(EntryId) -> bool,
    ) -> Option<Cleanup> {
        let mut graveyard = Graveyard::default();
        let mut state = self.shared.lock();
        let mut cleanup = None;
        if let Some(layer) = state.layers.get_mut(&scope) {
            let doomed: Vec<EntryId> =
                layer.entries.keys().rev().copied().filter(|id| is_doomed(*id)).collect();
            for entry in doomed.into_iter().map_while(|id| layer.entries.remove(&id)) {
                graveyard.announced |= entry.is_announced();
                if let Entry::Cleanup(found) = entry {
                    cleanup = Some(found);
                    break;
                }
                graveyard.entries.push(entry);
            }
        }
        graveyard.touched.insert(scope);
        state.invalidate(&mut graveyard);
        drop(state);
        let announced = graveyard.announced;
        graveyard.bury();
        if announced {
            self.shared.announce();
        }
        cleanup
    }
}

impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let view = self.view();
        f.debug_struct("Layer").field("tools", &view.tools.len()).finish_non_exhaustive()
    }
}

/// The exact undo of one registration.
///
/// Dropping it does nothing: what was registered lives as long as its scope. A guard lost by
/// `let _ = scope.guard(…)` would fail open.
#[derive(Clone)]
pub struct Registration {
    pub(crate) shared: Weak<Shared>,
    pub(crate) scope: ScopeId,
    pub(crate) entry: EntryId,
}

impl Registration {
    /// Removes this one entry. Twice is harmless; a later entry of the same name stays.
    pub fn dispose(&self) {
        if let Some(shared) = self.shared.upgrade() {
            // Removing needs no check and cannot fail.
            let _removed = shared.apply(vec![Op::Remove(self.scope, self.entry)]);
        }
    }

    /// Undoes the registration at the end of a block.
    #[must_use = "the registration ends when this is dropped"]
    pub fn until_dropped(self) -> RegistrationGuard {
        RegistrationGuard(self)
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").finish_non_exhaustive()
    }
}

/// A [`Registration`] that ends when this is dropped.
#[derive(Debug)]
pub struct RegistrationGuard(Registration);

impl Drop for RegistrationGuard {
    fn drop(&mut self) {
        self.0.dispose();
    }
}

/// Names in the order they are listed to people.
pub(crate) fn sorted_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let sorted: BTreeSet<&str> = names.into_iter().collect();
    let quoted: Vec<String> = sorted.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
