//! Tools: what an author declares, and what a body gets to work with.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use callgate_schema::spec;
use callgate_schema::{Json, ParamSpec, SchemaError, Str, SubsetSchema, ValueSpec, Violations};
use callgate_session::{Content, UserMessage};
use futures_util::future::BoxFuture;

use crate::call::{Call, CallInput};
use crate::error::{Error, ErrorKind, ToolError};
use crate::registry::Layer;
use crate::result::CallResult;
use crate::scope::ExecutionMode;
use crate::signal::Signal;

pub(crate) type BodyFuture = BoxFuture<'static, Result<Returned, ToolError>>;
type BodyFn = dyn Fn(Json, ToolContext) -> BodyFuture + Send + Sync;
type RenderFn = dyn Fn(&Json, &Json) -> Result<Vec<Content>, ToolError> + Send + Sync;
type MetaFn = dyn Fn(&Json, &Json) -> Result<Json, ToolError> + Send + Sync;
pub(crate) type FinalizerFn = dyn Fn(&Call, &CallResult) -> Option<Vec<Content>> + Send + Sync;
type ClassifierFn = dyn Fn(&Json) -> bool + Send + Sync;
type CheckFn = dyn Fn(&Json) -> Violations + Send + Sync;

/// A tool: name, description and schemas for the model, a body for the runtime.
///
/// Faults of a definition (a schema outside the subset, a zero timeout) are reported when it is
/// registered.
///
/// ```
/// use callgate_core::{Output, ToolDefinition, render};
/// use callgate_schema::{Json, ParamSpec, ValueSpec, json};
///
/// let length = ToolDefinition::new(
///     "length",
///     "Counts the characters of a text.",
///     ParamSpec::new().required("text", ValueSpec::string()),
///     Output::new(ValueSpec::integer(), render::json),
///     |arguments: Json, _| async move {
///         let text = arguments.get("text").and_then(Json::as_str).unwrap_or_default();
///         Ok(json!(text.chars().count()))
///     },
/// )
/// .concurrency_safe();
/// assert_eq!(length.name(), "length");
/// ```
#[derive(Clone)]
pub struct ToolDefinition(Arc<Tool>);

#[derive(Clone)]
pub(crate) struct Tool {
    pub(crate) name: Str,
    pub(crate) description: Str,
    pub(crate) parameters: Json,
    /// Checked before the body runs, for tools that are not raw.
    pub(crate) checked: Option<SubsetSchema>,
    /// Whether the body refuses what does not fit a raw schema.
    pub(crate) enforces_parameters: bool,
    pub(crate) output: Output,
    body: Arc<BodyFn>,
    pub(crate) finalizer: Option<Arc<FinalizerFn>>,
    pub(crate) timeout: Option<Duration>,
    is_repeatable: bool,
    pub(crate) classifier: Option<Arc<ClassifierFn>>,
    /// The first fault, reported at registration.
    fault: Option<Error>,
}

impl ToolDefinition {
    /// A tool with everything that is mandatory.
    ///
    /// `parameters` given as a [`ParamSpec`] are checked before the body runs; given as [`Json`]
    /// (a schema of somebody else's) they are shown to the model as they are, and the body checks
    /// its own input. `body` must watch or hand on [`ToolContext::signal`] and must not return
    /// while work it started still goes on.
    pub fn new<F, R>(
        name: impl Into<Str>,
        description: impl Into<Str>,
        parameters: impl Into<Parameters>,
        output: Output,
        body: impl Fn(Json, ToolContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<R, ToolError>> + Send + 'static,
        R: Into<Returned>,
    {
        Self::erased(
            name.into(),
            description.into(),
            parameters.into(),
            output,
            Arc::new(move |arguments, context| {
                let body = body(arguments, context);
                Box::pin(async move { body.await.map(Into::into) })
            }),
        )
    }

    fn erased(
        name: Str,
        description: Str,
        parameters: Parameters,
        output: Output,
        body: Arc<BodyFn>,
    ) -> Self {
        let (parameters, checked, parameter_fault) = match parameters.0 {
            ParametersRepr::Raw(schema) => (schema, None, None),
            ParametersRepr::Checked(Ok(schema)) => (schema.as_json().clone(), Some(schema), None),
            ParametersRepr::Checked(Err(faults)) => (Json::Null, None, Some(faults)),
        };
        let fault = parameter_fault
            .map(|faults| unsupported(&name, "parameters", faults))
            .or_else(|| Some(unsupported(&name, "output", output.faults()?.clone())));
        Self(Arc::new(Tool {
            name,
            description,
            parameters,
            checked,
            enforces_parameters: false,
            output,
            body,
            finalizer: None,
            timeout: None,
            is_repeatable: false,
            classifier: None,
            fault,
        }))
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Tool)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Declares that calls may overlap with any other call that says so, whatever the arguments.
    ///
    /// Only for tools that do not change state their caller could see.
    #[must_use]
    pub fn concurrency_safe(self) -> Self {
        self.concurrency_safe_if(|_| true)
    }

    /// Declares for which arguments calls may overlap. A classifier that panics means: alone.
    #[must_use]
    pub fn concurrency_safe_if(
        self,
        classifier: impl Fn(&Json) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with(|tool| tool.classifier = Some(Arc::new(classifier)))
    }

    /// Declares a time budget. It promises that the body obeys its signal; it does nothing by
    /// itself, the timeout policy enforces it, and a model never sees it.
    #[must_use]
    pub fn timeout(self, budget: Duration) -> Self {
        self.with(|tool| {
            tool.timeout = Some(budget);
            if budget.is_zero() && tool.fault.is_none() {
                tool.fault = Some(Error::new(
                    ErrorKind::InvalidDefinition,
                    format!(
                        "tool `{}` declares a timeout of zero; give it at least 1 ms, or none",
                        tool.name
                    ),
                ));
            }
        })
    }

    /// Declares that a call may be made again with the same arguments after it failed, without
    /// doing harm. The retry policy repeats only tools that say so.
    #[must_use]
    pub fn repeatable(self) -> Self {
        self.with(|tool| tool.is_repeatable = true)
    }

    /// Declares that the body refuses all arguments that do not fit its raw schema, so that a program which would
    /// certainly be refused need not be started. Parameters given as a specification are enforced anyway.
    #[must_use]
    pub fn enforces_parameters(self) -> Self {
        self.with(|tool| tool.enforces_parameters = true)
    }

    /// The last word on what the model reads: runs exactly once for every result of the tool,
    /// also for denied and cancelled calls, and may replace the content only.
    ///
    /// It must not fail; if it panics, the call fails.
    #[must_use]
    pub fn finalize_content(
        self,
        finalizer: impl Fn(&Call, &CallResult) -> Option<Vec<Content>> + Send + Sync + 'static,
    ) -> Self {
        self.with(|tool| tool.finalizer = Some(Arc::new(finalizer)))
    }

    /// The name, unique within its layer.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What the model reads about it.
    pub fn description(&self) -> &str {
        &self.0.description
    }

    /// The JSON Schema of the arguments, as the model sees it.
    pub fn parameters(&self) -> &Json {
        &self.0.parameters
    }

    /// The JSON Schema of the canonical value.
    pub fn output_schema(&self) -> &Json {
        self.0.output.schema()
    }

    /// The declared time budget.
    pub fn declared_timeout(&self) -> Option<Duration> {
        self.0.timeout
    }

    /// Whether a failed call may be made again.
    pub fn is_repeatable(&self) -> bool {
        self.0.is_repeatable
    }

    /// Whether both are the same definition.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn tool(&self) -> &Tool {
        &self.0
    }

    pub(crate) fn fault(&self) -> Option<&Error> {
        self.0.fault.as_ref()
    }
}

impl ToolDefinition {
    /// Concurrent only if the classifier answers exactly true; a panic is no such answer.
    pub(crate) fn execution_mode(&self, arguments: &Json) -> ExecutionMode {
        let tool = &self.0;
        let is_safe = tool.classifier.as_ref().is_some_and(|classifier| {
            let fits = tool.checked.as_ref().is_none_or(|schema| schema.is_valid(arguments));
            fits && catch_unwind(AssertUnwindSafe(|| classifier(arguments))).unwrap_or(false)
        });
        if is_safe { ExecutionMode::Parallel } else { ExecutionMode::Exclusive }
    }
}

#[cold]
fn unsupported(tool: &str, part: &str, faults: Violations) -> Error {
    let message =
        format!("the {part} schema of tool `{tool}` is outside the supported subset: {faults}");
    Error::new(ErrorKind::UnsupportedSchema, message).with_violations(faults)
}

impl Tool {
    /// Calls the body, which may already panic here, before its first suspension.
    pub(crate) fn start(&self, arguments: Json, context: ToolContext) -> BodyFuture {
        (self.body)(arguments, context)
    }
}

impl fmt::Debug for ToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDefinition").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The parameters of a tool: a specification that is enforced, or a raw schema.
#[derive(Clone, Debug)]
pub struct Parameters(ParametersRepr);

#[derive(Clone, Debug)]
enum ParametersRepr {
    Raw(Json),
    Checked(Result<SubsetSchema, Violations>),
}

impl Parameters {
    /// A schema that is enforced, or what is wrong with it.
    pub(crate) fn checked(schema: Result<SubsetSchema, Violations>) -> Self {
        Self(ParametersRepr::Checked(schema))
    }
}

pub(crate) fn faults(error: &SchemaError) -> Violations {
    error.violations().clone()
}

impl From<ParamSpec> for Parameters {
    fn from(spec: ParamSpec) -> Self {
        Self::checked(spec.compile().map_err(|error| faults(&error)))
    }
}

impl From<SubsetSchema> for Parameters {
    fn from(schema: SubsetSchema) -> Self {
        Self::checked(Ok(schema))
    }
}

impl From<Json> for Parameters {
    fn from(schema: Json) -> Self {
        Self(ParametersRepr::Raw(schema))
    }
}

/// What a tool promises to return, and how a value is shown to the model.
#[derive(Clone)]
pub struct Output {
    schema: OutputSchema,
    render: Arc<RenderFn>,
    meta: Option<Arc<MetaFn>>,
}

/// The schema of a tool's canonical value.
#[derive(Clone)]
pub struct OutputSchema(OutputSchemaRepr);

#[derive(Clone)]
enum OutputSchemaRepr {
    Subset(Result<SubsetSchema, Violations>),
    Foreign(Json, Arc<CheckFn>),
}

impl OutputSchema {
    /// A schema of somebody else's, outside the subset, with its own check. The check returns
    /// what is wrong with a value; it must be total.
    pub fn foreign(
        schema: Json,
        check: impl Fn(&Json) -> Violations + Send + Sync + 'static,
    ) -> Self {
        Self(OutputSchemaRepr::Foreign(schema, Arc::new(check)))
    }

    /// A schema in the subset, or what is wrong with it.
    pub(crate) fn subset(schema: Result<SubsetSchema, Violations>) -> Self {
        Self(OutputSchemaRepr::Subset(schema))
    }
}

macro_rules! output_schema_from_specs {
    ($($spec:ty),*) => {$(
        impl From<$spec> for OutputSchema {
            fn from(spec: $spec) -> Self {
                Self::subset(ValueSpec::from(spec).compile().map_err(|error| faults(&error)))
            }
        }
    )*};
}

output_schema_from_specs!(
    ValueSpec,
    spec::ScalarSpec,
    spec::ArraySpec,
    spec::ObjectSpec,
    spec::JsonSpec,
    spec::OneOfSpec
);

impl From<SubsetSchema> for OutputSchema {
    fn from(schema: SubsetSchema) -> Self {
        Self::subset(Ok(schema))
    }
}

impl From<Json> for OutputSchema {
    fn from(schema: Json) -> Self {
        Self::subset(SubsetSchema::assert(&schema).map_err(|error| faults(&error)))
    }
}

impl Output {
    /// A declaration: the schema every value is checked against, and the projection of arguments
    /// and value to what the model reads. `render` must be a pure function; [`render`](crate::render)
    /// has the usual ones.
    pub fn new(
        schema: impl Into<OutputSchema>,
        render: impl Fn(&Json, &Json) -> Vec<Content> + Send + Sync + 'static,
    ) -> Self {
        Self::fallible(schema, move |arguments, value| Ok(render(arguments, value)))
    }

    /// The same with a projection that can fail, which makes the call `INVALID_TOOL_OUTPUT`.
    pub fn fallible(
        schema: impl Into<OutputSchema>,
        render: impl Fn(&Json, &Json) -> Result<Vec<Content>, ToolError> + Send + Sync + 'static,
    ) -> Self {
        Self { schema: schema.into(), render: Arc::new(render), meta: None }
    }

    pub(crate) fn set_render(
        &mut self,
        render: impl Fn(&Json, &Json) -> Result<Vec<Content>, ToolError> + Send + Sync + 'static,
    ) {
        self.render = Arc::new(render);
    }

    pub(crate) fn set_meta(
        &mut self,
        meta: impl Fn(&Json, &Json) -> Result<Json, ToolError> + Send + Sync + 'static,
    ) {
        self.meta = Some(Arc::new(meta));
    }

    /// A projection of arguments and value for user interfaces. It is stored with the result;
    /// the value is not.
    #[must_use]
    pub fn with_meta(
        mut self,
        meta: impl Fn(&Json, &Json) -> Result<Json, ToolError> + Send + Sync + 'static,
    ) -> Self {
        self.set_meta(meta);
        self
    }

    pub(crate) fn schema(&self) -> &Json {
        static ANY: Json = Json::Null;
        match &self.schema.0 {
            OutputSchemaRepr::Subset(Ok(schema)) => schema.as_json(),
            OutputSchemaRepr::Subset(Err(_)) => &ANY,
            OutputSchemaRepr::Foreign(schema, _) => schema,
        }
    }

    fn faults(&self) -> Option<&Violations> {
        match &self.schema.0 {
            OutputSchemaRepr::Subset(result) => result.as_ref().err(),
            OutputSchemaRepr::Foreign(..) => None,
        }
    }

    pub(crate) fn violations(&self, value: &Json) -> Violations {
        match &self.schema.0 {
            OutputSchemaRepr::Subset(Ok(schema)) => schema.validate(value, "value"),
            OutputSchemaRepr::Subset(Err(_)) => Violations::default(),
            OutputSchemaRepr::Foreign(_, check) => check(value),
        }
    }

    pub(crate) fn render(&self, arguments: &Json, value: &Json) -> Result<Vec<Content>, ToolError> {
        (self.render)(arguments, value)
    }

    pub(crate) fn meta(&self, arguments: &Json, value: &Json) -> Option<Result<Json, ToolError>> {
        self.meta.as_ref().map(|meta| meta(arguments, value))
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("schema", self.schema()).finish_non_exhaustive()
    }
}

impl fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputSchema").finish_non_exhaustive()
    }
}

/// What a body returns: its canonical value, and rarely the content that goes with it.
#[derive(Clone, Debug)]
pub struct Returned {
    pub(crate) value: Json,
    pub(crate) content: Option<Vec<Content>>,
    pub(crate) raw: Option<Json>,
}

impl Returned {
    /// A value whose content is not a projection of it, because it came from elsewhere (an MCP
    /// server's blocks). If a hook replaces the value, the tool's `render` makes new content.
    pub fn with_content(value: Json, content: Vec<Content>) -> Self {
        Self { value, content: Some(content), raw: None }
    }

    /// The result as it came from elsewhere, for those who pass results on; see
    /// [`CallResult::raw`].
    #[must_use]
    pub fn with_raw(self, raw: Json) -> Self {
        Self { raw: Some(raw), ..self }
    }
}

impl From<Json> for Returned {
    fn from(value: Json) -> Self {
        Self { value, content: None, raw: None }
    }
}

/// What a body gets besides its arguments: the call, its signal, and ways to say more.
#[derive(Clone, Debug)]
pub struct ToolContext {
    call: Call,
    signal: Signal,
    layer: Layer,
}

impl ToolContext {
    pub(crate) fn new(call: Call, signal: Signal, layer: Layer) -> Self {
        Self { call, signal, layer }
    }

    /// The call this body serves.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// The signal to watch or to hand on. It may be a narrower one than the call's own, set by a
    /// timeout.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// Fails if the body should stop; to be asked between the steps of long work.
    ///
    /// # Errors
    ///
    /// A failure that tells the cause, once the signal is cancelled.
    pub fn check_cancelled(&self) -> Result<(), ToolError> {
        match self.signal.cause() {
            None => Ok(()),
            Some(cause) => Err(ToolError::of(
                crate::error::FailureClass::Aborted,
                format!("the call was cancelled: {cause}"),
            )),
        }
    }

    /// Attaches a message to the result of this call, whatever becomes of it.
    pub fn defer_context(&self, context: UserMessage) {
        self.call.defer(context);
    }

    /// Asks to end the turn after this call, if it succeeds.
    pub fn conclude_turn(&self) {
        self.call.state().concluded.store(true, std::sync::atomic::Ordering::Release);
    }

    /// Calls another tool of the same scope, through the whole pipeline, as a nested call under
    /// this body's signal. Forwarding its contexts and conclusion is up to this body.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the nested call; its body is still driven to its end.
    pub async fn execute(
        &self,
        id: impl Into<Str>,
        name: impl Into<Str>,
        arguments: impl Into<Json>,
    ) -> CallResult {
        self.layer.execute(self.nested(id, name, arguments)).await
    }

    pub(crate) fn nested(
        &self,
        id: impl Into<Str>,
        name: impl Into<Str>,
        arguments: impl Into<Json>,
    ) -> CallInput {
        CallInput::new(id, name, arguments)
            .nested_in(self.call.token(), self.call.root_id().clone())
            .with_signal(self.signal.clone())
            .on_clock(self.call.clock().cloned())
    }

    /// The layer the call was made through.
    pub(crate) fn layer(&self) -> &Layer {
        &self.layer
    }
}

/// The usual projections of a value to what the model reads.
pub mod render {
    use callgate_schema::Json;
    use callgate_session::Content;

    /// Strings as they are, everything else as JSON with two spaces of indentation.
    pub fn json(_: &Json, value: &Json) -> Vec<Content> {
        vec![Content::text(match value {
            Json::String(text) => text.to_string(),
            other => other.render_result(),
        })]
    }

    /// Nothing to read.
    pub fn nothing(_: &Json, _: &Json) -> Vec<Content> {
        Vec::new()
    }
}
