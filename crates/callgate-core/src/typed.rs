//! Typed tools: schemas from Rust types, arguments decoded before the body, output encoded after.
//!
//! Three front ends, one adapter: closures ([`ToolDefinition::typed`]), structs with state
//! ([`Tool`]), and functions under `#[tool]` (module [`function`]).

pub(crate) mod function;

use std::future::Future;
use std::sync::Arc;

use callgate_schema::{
    Json, JsonPath, SchemaError, Step, Str, SubsetSchema, Violation, ViolationKind, Violations,
    lower_output, lower_parameters,
};
use callgate_session::Content;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ToolError;
use crate::tool::{Output, OutputSchema, Parameters, ToolContext, ToolDefinition, faults, render};

/// A tool with state: a struct that knows its own name, description, arguments and output.
///
/// ```
/// use callgate_core::{Tool, ToolContext, ToolDefinition, ToolError};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// struct Greeter { greeting: String }
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Person {
///     /// Whom to greet.
///     name: String,
/// }
///
/// impl Tool for Greeter {
///     type Args = Person;
///     type Output = String;
///     const NAME: &'static str = "greet";
///
///     fn description(&self) -> std::sync::Arc<str> {
///         "Greets somebody.".into()
///     }
///
///     async fn call(&self, person: Person, _: ToolContext) -> Result<String, ToolError> {
///         Ok(format!("{}, {}", self.greeting, person.name))
///     }
/// }
///
/// let greet = ToolDefinition::from_tool(Greeter { greeting: "hello".to_owned() });
/// assert_eq!(greet.name(), "greet");
/// ```
pub trait Tool: Send + Sync + 'static {
    /// What the tool is called with. A struct with named fields: its members are the parameters,
    /// its doc comments their descriptions.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// The canonical value.
    type Output: Serialize + JsonSchema;
    /// The name, unique within its layer.
    const NAME: &'static str;

    /// What the model reads about it.
    fn description(&self) -> Str;

    /// The body. It must watch or hand on [`ToolContext::signal`], and must not return while work
    /// it started still goes on.
    ///
    /// # Errors
    ///
    /// Whatever the model should read as a failure of the call.
    ///
    /// # Cancellation
    ///
    /// The runtime never drops a started body: it cancels the signal, and waits.
    fn call(
        &self,
        args: Self::Args,
        context: ToolContext,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

impl ToolDefinition {
    /// A tool whose schemas come from the types of its closure.
    ///
    /// Arguments are checked against the schema of `A`, then decoded; a value that fits the schema
    /// but not the type (300 for a `u8`) is `INVALID_ARGS` too. The output is serialised, checked
    /// against the schema of `T` and shown as [`render::json`] unless
    /// [`with_render`](Self::with_render) says otherwise. A type that the enforced subset cannot
    /// express is reported when the tool is registered.
    ///
    /// ```
    /// use callgate_core::{ToolContext, ToolDefinition};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Range { from: i64, to: i64 }
    ///
    /// let sum = ToolDefinition::typed("sum", "Adds a range up.", |range: Range, _: ToolContext| {
    ///     async move { Ok((range.from..range.to).sum::<i64>()) }
    /// })
    /// .concurrency_safe();
    /// assert_eq!(sum.output_schema().to_string(), r#"{"type":"integer"}"#);
    /// ```
    pub fn typed<A, T, F>(
        name: impl Into<Str>,
        description: impl Into<Str>,
        body: impl Fn(A, ToolContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        T: Serialize + JsonSchema,
        F: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        let parameters = derived_parameters(deserializing().into_root_schema_for::<A>());
        let output = derived_output::<T>();
        adapt(name.into(), description.into(), parameters, output, move |arguments, context| {
            let name = context.call().name().clone();
            let running = decode_arguments(&name, &arguments).map(|args| body(args, context));
            async move { encode_output(&name, &running?.await?) }
        })
    }

    /// The definition of a [`Tool`], to be registered or refined.
    pub fn from_tool<T: Tool>(tool: T) -> Self {
        let description = tool.description();
        let tool = Arc::new(tool);
        Self::typed(T::NAME, description, move |args: T::Args, context| {
            let tool = Arc::clone(&tool);
            async move { tool.call(args, context).await }
        })
    }

    /// What the model reads, made from typed arguments and value. It must be a pure function.
    ///
    /// It can meet arguments that the body never saw, since a hook may answer in its place: what
    /// does not decode makes the call `INVALID_TOOL_OUTPUT`. Take [`Json`] for a side that needs
    /// no type.
    ///
    /// ```
    /// # use callgate_core::{ToolContext, ToolDefinition};
    /// use callgate_schema::Json;
    /// use callgate_session::Content;
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Range { from: i64, to: i64 }
    /// let sum = ToolDefinition::typed("sum", "Adds a range up.", |range: Range, _: ToolContext| {
    ///     async move { Ok((range.from..range.to).sum::<i64>()) }
    /// })
    /// .with_render(|range: &Range, sum: &i64| {
    ///     vec![Content::text(format!("{} to {}: {sum}", range.from, range.to))]
    /// })
    /// .with_meta(|_: &Json, sum: &i64| *sum);
    /// ```
    #[must_use]
    pub fn with_render<A: DeserializeOwned, T: DeserializeOwned>(
        self,
        render: impl Fn(&A, &T) -> Vec<Content> + Send + Sync + 'static,
    ) -> Self {
        let project = move |arguments: &Json, value: &Json| {
            let (arguments, value) = decode_both("render", arguments, value)?;
            Ok(render(&arguments, &value))
        };
        self.with(|tool| tool.output.set_render(project))
    }

    /// What user interfaces get, made from typed arguments and value; otherwise as
    /// [`with_render`](Self::with_render). It is stored with the result; the value is not.
    #[must_use]
    pub fn with_meta<A: DeserializeOwned, T: DeserializeOwned, M: Serialize>(
        self,
        meta: impl Fn(&A, &T) -> M + Send + Sync + 'static,
    ) -> Self {
        let project = move |arguments: &Json, value: &Json| {
            let (arguments, value) = decode_both("meta", arguments, value)?;
            Json::from_serialize(&meta(&arguments, &value)).map_err(|error| {
                ToolError::failed(format!(
                    "its meta function: {}",
                    Violation::lossless("meta", &error)
                ))
            })
        };
        self.with(|tool| tool.output.set_meta(project))
    }
}

/// The one border between types and JSON.
fn adapt<F>(
    name: Str,
    description: Str,
    parameters: Parameters,
    output: OutputSchema,
    body: impl Fn(Json, ToolContext) -> F + Send + Sync + 'static,
) -> ToolDefinition
where
    F: Future<Output = Result<Json, ToolError>> + Send + 'static,
{
    ToolDefinition::new(name, description, parameters, Output::new(output, render::json), body)
}

fn deserializing() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_deserialize().into_generator()
}

fn derived_parameters(schema: Schema) -> Parameters {
    Parameters::checked(lower(schema, lower_parameters))
}

fn derived_output<T: JsonSchema>() -> OutputSchema {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    OutputSchema::subset(lower(generator.into_root_schema_for::<T>(), lower_output))
}

fn lower(
    schema: Schema,
    lower: fn(&Json) -> Result<SubsetSchema, SchemaError>,
) -> Result<SubsetSchema, Violations> {
    let derived = Json::try_from(schema.to_value())
        .map_err(|error| Violations::from(Violation::lossless("schema", &error)))?;
    lower(&derived).map_err(|error| faults(&error))
}

fn decode_arguments<A: DeserializeOwned>(tool: &str, arguments: &Json) -> Result<A, ToolError> {
    arguments
        .decode()
        .map_err(|error| ToolError::refused_arguments(tool, Violation::decode("", &error).into()))
}

/// The refusal of one argument, at a place inside of it.
#[cold]
fn refuse_argument(tool: &str, name: &str, inner: &[Step], message: &str) -> ToolError {
    let steps = [&[Step::Name(name.into())], inner].concat();
    let violation = Violation::new("", JsonPath::from(steps), ViolationKind::Decode, message);
    ToolError::refused_arguments(tool, violation.into())
}

fn encode_output<T: Serialize>(tool: &str, output: &T) -> Result<Json, ToolError> {
    Json::from_serialize(output)
        .map_err(|error| ToolError::invalid_output(tool, Violation::lossless("value", &error)))
}

fn decode_both<A: DeserializeOwned, T: DeserializeOwned>(
    function: &str,
    arguments: &Json,
    value: &Json,
) -> Result<(A, T), ToolError> {
    let fail = |violation: Violation| {
        ToolError::failed(format!("its {function} function cannot read {violation}"))
    };
    let arguments =
        arguments.decode().map_err(|error| fail(Violation::decode("arguments", &error)))?;
    let value = value.decode().map_err(|error| fail(Violation::decode("value", &error)))?;
    Ok((arguments, value))
}
