//! What `#[tool]` writes its code in terms of.
//!
//! The macro sees spellings, not types. What depends on types is decided here: whether a parameter
//! is the context or an argument, by the implementations of [`Parameter`]; whether a function
//! returns a value or a `Result`, by the methods of [`Return`], of which the inherent ones win.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

use callgate_schema::{Json, Str};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor, value};
use serde::{Serialize, forward_to_deserialize_any};

use super::{
    adapt, derived_output, derived_parameters, deserializing, encode_output, refuse_argument,
};
use crate::error::ToolError;
use crate::tool::{OutputSchema, ToolContext, ToolDefinition};

/// A function on its way to a tool.
pub struct Function {
    name: &'static str,
    description: Str,
    generator: SchemaGenerator,
    arguments: Vec<Argument>,
}

struct Argument {
    name: &'static str,
    schema: Schema,
    is_required: bool,
}

impl Function {
    /// A function without parameters, and the lines of its doc comment.
    pub fn new(name: &'static str, documentation: &[&str]) -> Self {
        let description = prose(documentation).into();
        Self { name, description, generator: deserializing(), arguments: Vec::new() }
    }

    /// Declares the next parameter, and how it is read from a call.
    pub fn parameter<T: Parameter>(
        &mut self,
        name: &'static str,
        documentation: &[&str],
    ) -> Slot<T> {
        T::declare(self, name, prose(documentation));
        Slot { name, read: T::read }
    }

    /// The tool.
    pub fn build<T, F>(
        self,
        ending: Ending<T>,
        body: impl Fn(Input) -> F + Send + Sync + 'static,
    ) -> ToolDefinition
    where
        F: Future<Output = Result<Json, ToolError>> + Send + 'static,
    {
        let Self { name, description, generator, arguments } = self;
        let parameters = derived_parameters(object(generator, arguments));
        adapt(name.into(), description, parameters, (ending.schema)(), move |arguments, context| {
            body(Input { arguments, context })
        })
    }

    fn argument<T: DeserializeOwned + JsonSchema>(
        &mut self,
        name: &'static str,
        description: String,
    ) {
        let mut schema = self.generator.subschema_for::<T>();
        if !description.is_empty() {
            schema.insert("description".to_owned(), description.into());
        }
        let is_required = T::deserialize(Missing).is_err();
        self.arguments.push(Argument { name, schema, is_required });
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The lines of a doc comment without the space that follows its slashes.
fn prose(documentation: &[&str]) -> String {
    let lines = documentation.iter().flat_map(|text| text.split('\n'));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The schema of a struct with the arguments as fields.
fn object(mut generator: SchemaGenerator, arguments: Vec<Argument>) -> Schema {
    let required: Vec<&str> =
        arguments.iter().filter(|argument| argument.is_required).map(|it| it.name).collect();
    let mut root = Schema::default();
    root.insert("type".to_owned(), "object".into());
    let properties = arguments.into_iter().map(|it| (it.name, it.schema.to_value()));
    root.insert("properties".to_owned(), properties.collect());
    if !required.is_empty() {
        root.insert("required".to_owned(), required.into());
    }
    root.insert("$defs".to_owned(), generator.take_definitions(true).into());
    root
}

/// What the generated body works with.
#[derive(Debug)]
pub struct Input {
    arguments: Json,
    context: ToolContext,
}

/// How one parameter is read from a call.
#[derive(Debug)]
pub struct Slot<T> {
    name: &'static str,
    read: fn(&Input, &str) -> Result<T, ToolError>,
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slot<T> {}

impl<T> Slot<T> {
    /// The value for this call.
    ///
    /// # Errors
    ///
    /// If the type does not take the argument.
    pub fn read(self, input: &Input) -> Result<T, ToolError> {
        (self.read)(input, self.name)
    }
}

/// What a parameter of a function can be: the context of the call, or an argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool",
    label = "not an argument that a model can send, nor the `ToolContext`",
    note = "an argument implements `serde::Deserialize` and `schemars::JsonSchema`; derive both"
)]
pub trait Parameter: Sized {
    /// Adds what the model sees of it.
    fn declare(function: &mut Function, name: &'static str, description: String);
    /// Reads it from a call.
    ///
    /// # Errors
    ///
    /// If the type does not take the argument.
    fn read(input: &Input, name: &str) -> Result<Self, ToolError>;
}

impl Parameter for ToolContext {
    fn declare(_: &mut Function, _: &'static str, _: String) {}

    fn read(input: &Input, _: &str) -> Result<Self, ToolError> {
        Ok(input.context.clone())
    }
}

// The compiler knows that `ToolContext`, a type of this crate, is none of these.
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Parameter for T {
    fn declare(function: &mut Function, name: &'static str, description: String) {
        function.argument::<T>(name, description);
    }

    fn read(input: &Input, name: &str) -> Result<Self, ToolError> {
        let tool = input.context.call().name();
        match input.arguments.get(name) {
            Some(argument) => argument.decode().map_err(|error| {
                refuse_argument(tool, name, error.path().steps(), error.message())
            }),
            None => T::deserialize(Missing)
                .map_err(|error| refuse_argument(tool, name, &[], &error.to_string())),
        }
    }
}

/// The deserializer of an argument that was not sent: `None` for an option, otherwise a refusal.
struct Missing;

impl<'de> Deserializer<'de> for Missing {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, value::Error> {
        Err(value::Error::custom("missing"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, value::Error> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Asks what a function returns.
#[derive(Debug)]
pub struct Return<T>(PhantomData<fn() -> T>);

/// The schema of what a function returns, and how it becomes the value of the call.
#[derive(Debug)]
pub struct Ending<T> {
    schema: fn() -> OutputSchema,
    settle: fn(&str, T) -> Result<Json, ToolError>,
}

impl<T> Clone for Ending<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ending<T> {}

impl<T> Ending<T> {
    /// The value of the call.
    ///
    /// # Errors
    ///
    /// What the function returned as such, or that its value is no JSON.
    pub fn settle(self, input: &Input, returned: T) -> Result<Json, ToolError> {
        (self.settle)(input.context.call().name(), returned)
    }
}

impl<T> Return<T> {
    /// The question.
    pub fn of() -> Self {
        Self(PhantomData)
    }
}

impl<T, E> Return<Result<T, E>> {
    /// A function that can fail.
    pub fn declare(self) -> Ending<Result<T, E>>
    where
        T: Serialize + JsonSchema,
        E: Into<ToolError>,
    {
        Ending {
            schema: derived_output::<T>,
            settle: |tool, returned| encode_output(tool, &returned.map_err(Into::into)?),
        }
    }
}

/// The other functions: methods of a trait are only looked at when no inherent one fits.
pub trait PlainReturn<T> {
    /// A function that cannot fail.
    fn declare(self) -> Ending<T>
    where
        T: Serialize + JsonSchema;
}

impl<T> PlainReturn<T> for Return<T> {
    fn declare(self) -> Ending<T>
    where
        T: Serialize + JsonSchema,
    {
        Ending {
            schema: derived_output::<T>,
            settle: |tool, returned| encode_output(tool, &returned),
        }
    }
}
