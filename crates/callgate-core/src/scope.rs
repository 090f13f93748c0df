//! The runtime and its scopes.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use callgate_schema::Str;

use crate::call::CallInput;
use crate::change::ScopeChange;
use crate::code::SdkOptions;
use crate::error::{Error, ErrorKind};
use crate::invariants::Invariants;
use crate::pipeline::Execution;
use crate::plugin::Plugin;
use crate::program::{Language, ProgramEngine};
use crate::prompt::check_tool_order;
use crate::registry::{Config, Layer, Mode, Registration, ScopeId, Shared};
use crate::restriction::Restriction;
use crate::tool::ToolDefinition;
use crate::view::ToolSchema;

/// The tool runtime: the global layer, and the root of all scopes.
///
/// Cheap to clone; everything that [`Layer`] has can be called on it.
///
/// ```
/// use callgate_core::{CallInput, Output, ToolDefinition, ToolRuntime, render};
/// use callgate_schema::{Json, ParamSpec, ValueSpec, json};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), callgate_core::Error> {
/// let runtime = ToolRuntime::builder()
///     .tool(ToolDefinition::new(
///         "double",
///         "Doubles a whole number.",
///         ParamSpec::new().required("n", ValueSpec::integer()),
///         Output::new(ValueSpec::integer(), render::json),
///         |arguments: Json, _| async move {
///             Ok(json!(arguments.get("n").and_then(Json::as_i64).unwrap_or(0) * 2))
///         },
///     ))
///     .build()?;
/// let result = runtime.execute(CallInput::new("call-1", "double", json!({ "n": 21 }))).await;
/// assert_eq!(result.text(), "42");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ToolRuntime(Layer);

/// Builds a [`ToolRuntime`].
#[derive(Debug)]
#[must_use = "call `build`"]
pub struct RuntimeBuilder {
    config: Config,
    invariants: bool,
    tools: Vec<ToolDefinition>,
}

/// One agent's, or one session's, part of a runtime: its own tools, rules and hooks on top of
/// what it inherits.
///
/// Cheap to clone. When the last handle, child scope and running call is gone, so is what was
/// registered in it; [`dispose`](Self::dispose) ends it earlier and waits for clean-ups.
#[derive(Clone)]
pub struct Scope(Layer);

impl ToolRuntime {
    /// Starts building a runtime.
    pub fn builder() -> RuntimeBuilder {
        let config = Config {
            mode: Mode::Native,
            sdk: SdkOptions::default(),
            max_parallel_sub_calls: 10,
            max_sub_calls: u64::MAX,
            tool_order: None,
            engine: None,
        };
        RuntimeBuilder { config, invariants: cfg!(debug_assertions), tools: Vec::new() }
    }

    /// Removes everything that was registered, in all scopes, youngest first, and waits for
    /// clean-ups.
    ///
    /// # Cancellation
    ///
    /// Calls are denied from the first poll on. If the future is dropped, a second call goes on
    /// where it stopped.
    pub async fn dispose(&self) {
        self.0.dispose_all().await;
    }
}

impl RuntimeBuilder {
    /// The form in which models see tools, where a scope does not declare another.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.config.mode = mode;
        self
    }

    /// How much of the SDK a model is shown at once, where a scope does not declare something else. All of it unless
    /// set.
    pub fn sdk(mut self, options: impl Into<SdkOptions>) -> Self {
        self.config.sdk = options.into();
        self
    }

    /// How many sub-calls of one program may run at once; 1 makes them strictly serial.
    /// 10 unless set.
    pub fn max_parallel_sub_calls(mut self, limit: usize) -> Self {
        self.config.max_parallel_sub_calls = limit;
        self
    }

    /// How many calls one program may make in all; further ones are denied before they take any
    /// path. Without limit unless set.
    pub fn max_sub_calls(mut self, limit: u64) -> Self {
        self.config.max_sub_calls = limit;
        self
    }

    /// The order of tools in prompts: names, and once the marker
    /// [`UNLISTED_TOOLS`](crate::UNLISTED_TOOLS) for all others. By name unless set.
    pub fn tool_order(mut self, order: impl IntoIterator<Item = impl Into<Str>>) -> Self {
        self.config.tool_order = Some(order.into_iter().map(Into::into).collect());
        self
    }

    /// What runs the programs of Code Mode.
    pub fn engine(mut self, engine: impl ProgramEngine) -> Self {
        self.config.engine = Some(Arc::new(engine));
        self
    }

    /// Whether the [`Invariants`] are checked. On in debug builds unless set.
    pub fn invariants(mut self, are_checked: bool) -> Self {
        self.invariants = are_checked;
        self
    }

    /// Registers a tool globally.
    pub fn tool(mut self, tool: ToolDefinition) -> Self {
        self.tools.push(tool);
        self
    }

    /// The runtime.
    ///
    /// # Errors
    ///
    /// A setting outside its range, or a tool that cannot be registered.
    pub fn build(self) -> Result<ToolRuntime, Error> {
        if self.config.max_parallel_sub_calls == 0 {
            let message = "max_parallel_sub_calls must be at least 1; 1 makes sub-calls serial";
            return Err(Error::new(ErrorKind::InvalidConfig, message));
        }
        if let Some(order) = &self.config.tool_order {
            check_tool_order(order)?;
        }
        let layer = Shared::root(self.config);
        layer.change(|change| {
            if self.invariants {
                Invariants.install(change);
            }
            for tool in self.tools {
                change.register(tool);
            }
        })?;
        Ok(ToolRuntime(layer))
    }
}

impl Layer {
    /// A new scope below this one.
    pub fn scope(&self) -> Scope {
        Scope(self.child())
    }

    /// The tool that a call from here would reach under that name.
    pub fn get(&self, name: &str) -> Option<ToolDefinition> {
        self.view().get(name).cloned()
    }

    /// What a model is told about every tool that is visible here, in order of registration,
    /// `run_code` last. The same shared list as long as nothing changes.
    pub fn schemas(&self) -> Arc<[ToolSchema]> {
        self.view().schemas().clone()
    }

    /// The form in which a model sees the tools here.
    pub fn mode(&self) -> Mode {
        self.view().mode
    }

    /// The language of programs, if there is an engine.
    pub fn language(&self) -> Option<Language> {
        self.shared.engine.as_ref().map(|engine| engine.language())
    }

    /// Whether a call may overlap with others; anything doubtful may not.
    pub fn execution_mode(&self, input: &CallInput) -> ExecutionMode {
        let view = self.view();
        let is_model_direct = input.parent.is_none();
        let Ok(arguments) = &input.arguments else { return ExecutionMode::Exclusive };
        if view.collapses(&input.name, is_model_direct) {
            return ExecutionMode::Exclusive;
        }
        view.get(&input.name)
            .map_or(ExecutionMode::Exclusive, |tool| tool.execution_mode(arguments))
    }

    /// Runs one call through the pipeline and returns its result. A failed call is a result too.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the call's signal with cause `dropped`; a body that started is
    /// still driven to its end on the tokio runtime that polled the call first, and one result
    /// reaches the observers. A future that was never polled has no effect.
    pub fn execute(&self, input: CallInput) -> Execution {
        Execution::start(self.clone(), input)
    }
}

/// Whether a call may overlap with other calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a scheduler must answer both")]
pub enum ExecutionMode {
    /// It may overlap with other parallel calls.
    Parallel,
    /// It runs alone.
    Exclusive,
}

impl Scope {
    /// The scope's identity, as [`Call::scope`](crate::Call::scope) gives it.
    pub fn id(&self) -> ScopeId {
        self.0.node.id
    }

    /// Applies any set of registrations and undos at once, as [`Layer::change`] does.
    ///
    /// # Errors
    ///
    /// The first step that cannot be taken; then nothing has changed.
    pub fn change<T>(&self, describe: impl FnOnce(&mut ScopeChange<'_>) -> T) -> Result<T, Error> {
        self.0.scope_change(describe)
    }

    /// Hides inherited tools from this scope and all below it.
    ///
    /// # Errors
    ///
    /// If it names `run_code` or a tool that is not inherited, or the scope was disposed.
    pub fn restrict(&self, restriction: Restriction) -> Result<Registration, Error> {
        self.change(|change| change.restrict(restriction))
    }

    /// Declares in what form a model sees the tools of this scope, and of those below it that do
    /// not declare another.
    ///
    /// # Errors
    ///
    /// If this scope has a declaration already, or was disposed.
    pub fn present_as(&self, mode: Mode) -> Result<Registration, Error> {
        self.change(|change| change.present_as(mode))
    }

    /// Declares how much of the SDK a model is shown at once in this scope, and in those below it that do not declare
    /// something else.
    ///
    /// Where it is only a catalogue, programs find `search` and `describe` among their tools; a tool that has such a
    /// name keeps it, and the text says what they are called then. They see what the scope sees, are answered at once,
    /// and do not count as calls.
    ///
    /// # Errors
    ///
    /// If this scope has a declaration already, or was disposed.
    pub fn show_sdk(&self, options: impl Into<SdkOptions>) -> Result<Registration, Error> {
        self.change(|change| change.show_sdk(options))
    }

    /// Ends the scope and those below it: no more registrations, every call is denied; what was
    /// registered goes youngest first, each clean-up waited for. Concurrent calls wait for the
    /// same end.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, a second call goes on where it stopped.
    pub async fn dispose(&self) {
        self.0.dispose_all().await;
    }
}

impl Deref for ToolRuntime {
    type Target = Layer;

    fn deref(&self) -> &Layer {
        &self.0
    }
}

impl Deref for Scope {
    type Target = Layer;

    fn deref(&self) -> &Layer {
        &self.0
    }
}

impl fmt::Debug for ToolRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolRuntime").field(&self.0).finish()
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scope").field(&self.0).finish()
    }
}
