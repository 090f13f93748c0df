//! The schema DSL for authors: specs that always say whether an object is open and which members must be there.
//!
//! A [`ValueSpec`] describes an output, a [`ParamSpec`] the parameters of a tool. Both can be built or
//! [read](ValueSpec::from_json) from JSON, and both compile to a [`SubsetSchema`].
//!
//! ```
//! use callgate_schema::{ParamSpec, ValueSpec, json};
//!
//! let parameters = ParamSpec::new()
//!     .required("path", ValueSpec::string().description("where to look"))
//!     .optional("mode", ValueSpec::string().values(["exact", "prefix"]))
//!     .optional("filter", ValueSpec::object().closed().required("min", ValueSpec::integer()))
//!     .compile()?;
//! assert!(parameters.is_valid(&json!({ "path": "src", "filter": { "min": 1 } })));
//!
//! let output = ValueSpec::one_of(ValueSpec::array_of(ValueSpec::string()), ValueSpec::null()).compile()?;
//! assert!(output.is_valid(&json!(["a"])));
//! # Ok::<(), callgate_schema::SchemaError>(())
//! ```
//!
//! What cannot be said cannot be written: an object without a word on its openness, a union of one.
//!
//! ```compile_fail
//! use callgate_schema::ValueSpec;
//!
//! let spec = ValueSpec::object().required("id", ValueSpec::integer()).compile();
//! ```

mod read;

use crate::json::{Json, Object, ObjectBuilder, Str};
use crate::schema::{SchemaError, SubsetSchema};

/// What a value must be, as its author says it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueSpec {
    /// A string, number, integer, boolean or null.
    Scalar(ScalarSpec),
    /// A list.
    Array(ArraySpec),
    /// An object.
    Object(ObjectSpec),
    /// Any JSON.
    Json(JsonSpec),
    /// Exactly one of several.
    OneOf(OneOfSpec),
}

/// A string, number, integer, boolean or null, possibly one of a few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalarSpec {
    kind: &'static str,
    notes: Notes,
    members: Option<Json>,
    constant: Option<Json>,
}

/// A list, of anything or of one kind of item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArraySpec {
    notes: Notes,
    items: Option<Json>,
}

/// An object that says whether it is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSpec {
    notes: Notes,
    open: bool,
    properties: Option<Object>,
    required: Vec<Str>,
}

/// Any JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonSpec {
    notes: Notes,
}

/// Exactly one of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneOfSpec {
    notes: Notes,
    branches: Vec<Json>,
}

/// An object that has yet to say whether it takes members it does not declare.
#[derive(Clone, Copy, Debug)]
#[must_use = "say whether it is open() or closed()"]
pub struct Openness(());

/// What is said to the reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Notes {
    description: Option<Json>,
    title: Option<Json>,
    default: Option<Json>,
    examples: Option<Json>,
}

impl Notes {
    fn write(&self, node: ObjectBuilder) -> ObjectBuilder {
        node.with_some("description", self.description.as_ref())
            .with_some("title", self.title.as_ref())
            .with_some("default", self.default.as_ref())
            .with_some("examples", self.examples.as_ref())
    }
}

impl ValueSpec {
    /// A string.
    pub fn string() -> ScalarSpec {
        ScalarSpec::of("string")
    }

    /// A number.
    pub fn number() -> ScalarSpec {
        ScalarSpec::of("number")
    }

    /// A number without fraction.
    pub fn integer() -> ScalarSpec {
        ScalarSpec::of("integer")
    }

    /// True or false.
    pub fn boolean() -> ScalarSpec {
        ScalarSpec::of("boolean")
    }

    /// Null.
    pub fn null() -> ScalarSpec {
        ScalarSpec::of("null")
    }

    /// A list of anything.
    pub fn array() -> ArraySpec {
        ArraySpec::default()
    }

    /// A list of such items.
    pub fn array_of(item: impl Into<ValueSpec>) -> ArraySpec {
        ArraySpec { items: Some(item.into().to_schema()), ..ArraySpec::default() }
    }

    /// An object; say next whether it is open.
    pub fn object() -> Openness {
        Openness(())
    }

    /// Any JSON.
    pub fn json() -> JsonSpec {
        JsonSpec::default()
    }

    /// Exactly one of two; [`OneOfSpec::or`] adds more.
    pub fn one_of(first: impl Into<ValueSpec>, second: impl Into<ValueSpec>) -> OneOfSpec {
        let branches = vec![first.into().to_schema(), second.into().to_schema()];
        OneOfSpec { notes: Notes::default(), branches }
    }

    /// Reads a spec written as JSON, `{"type": "object", "additionalProperties": false, "properties": …}`.
    ///
    /// # Errors
    ///
    /// The first fault of shape or vocabulary, with its path under `schema`.
    pub fn from_json(spec: &Json) -> Result<Self, SchemaError> {
        read::value(spec)
    }

    /// Compiles to a schema that validates.
    ///
    /// # Errors
    ///
    /// All literals, annotations and unions that the subset does not take, with paths under `schema`.
    pub fn compile(&self) -> Result<SubsetSchema, SchemaError> {
        SubsetSchema::assert(&self.to_schema())
    }

    /// The compiled form, not yet asserted.
    fn to_schema(&self) -> Json {
        match self {
            Self::Scalar(spec) => spec.to_schema(),
            Self::Array(spec) => spec.to_schema(),
            Self::Object(spec) => spec.to_schema(),
            Self::Json(spec) => spec.notes.write(Object::builder()).build().into(),
            Self::OneOf(spec) => spec.to_schema(),
        }
    }
}

impl ScalarSpec {
    fn of(kind: &'static str) -> Self {
        Self { kind, notes: Notes::default(), members: None, constant: None }
    }

    /// The only values there are.
    pub fn values<V: Into<Json>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        self.members = Some(Json::Array(values.into_iter().collect()));
        self
    }

    /// The only value there is.
    pub fn constant(mut self, value: impl Into<Json>) -> Self {
        self.constant = Some(value.into());
        self
    }

    fn to_schema(&self) -> Json {
        let node = self.notes.write(Object::builder().with("type", self.kind));
        node.with_some("enum", self.members.as_ref())
            .with_some("const", self.constant.as_ref())
            .build()
            .into()
    }
}

impl ArraySpec {
    fn to_schema(&self) -> Json {
        let node = self.notes.write(Object::builder().with("type", "array"));
        node.with_some("items", self.items.as_ref()).build().into()
    }
}

impl Openness {
    /// Members that are not declared are accepted.
    pub fn open(self) -> ObjectSpec {
        ObjectSpec { notes: Notes::default(), open: true, properties: None, required: Vec::new() }
    }

    /// Only declared members are accepted.
    pub fn closed(self) -> ObjectSpec {
        ObjectSpec { open: false, ..self.open() }
    }
}

impl ObjectSpec {
    /// A member that must be there.
    pub fn required(mut self, name: impl Into<Str>, spec: impl Into<ValueSpec>) -> Self {
        declare(
            self.properties.get_or_insert_default(),
            &mut self.required,
            name.into(),
            &spec.into(),
            true,
        );
        self
    }

    /// A member that may be missing.
    pub fn optional(mut self, name: impl Into<Str>, spec: impl Into<ValueSpec>) -> Self {
        declare(
            self.properties.get_or_insert_default(),
            &mut self.required,
            name.into(),
            &spec.into(),
            false,
        );
        self
    }

    fn to_schema(&self) -> Json {
        let node = self.notes.write(Object::builder().with("type", "object"));
        let node = node
            .with("additionalProperties", self.open)
            .with_some("properties", self.properties.clone());
        require(node, &self.required).build().into()
    }
}

/// Declares a member; declaring it again replaces it, in the place of the first.
fn declare(
    properties: &mut Object,
    required: &mut Vec<Str>,
    name: Str,
    spec: &ValueSpec,
    needed: bool,
) {
    let mut builder = ObjectBuilder::from(std::mem::take(properties));
    let before = builder.insert(name.clone(), spec.to_schema());
    *properties = builder.build();
    if before.is_some() {
        required.retain(|known| *known != name);
    }
    if needed {
        required.push(name);
    }
}

fn require(node: ObjectBuilder, names: &[Str]) -> ObjectBuilder {
    let names = (!names.is_empty()).then(|| Json::Array(names.iter().collect()));
    node.with_some("required", names)
}

impl OneOfSpec {
    /// One more branch.
    pub fn or(mut self, branch: impl Into<ValueSpec>) -> Self {
        self.branches.push(branch.into().to_schema());
        self
    }

    fn to_schema(&self) -> Json {
        self.notes.write(Object::builder().with("oneOf", self.branches.clone())).build().into()
    }
}

macro_rules! specs {
    ($($variant:ident($spec:ty)),*) => {$(
        impl $spec {
            /// What the reader should know about it.
            pub fn description(mut self, text: impl Into<Str>) -> Self {
                self.notes.description = Some(Json::String(text.into()));
                self
            }

            /// A short name for the reader.
            pub fn title(mut self, text: impl Into<Str>) -> Self {
                self.notes.title = Some(Json::String(text.into()));
                self
            }

            /// What the tool assumes if nothing comes; for the reader, never filled in.
            pub fn default_value(mut self, value: impl Into<Json>) -> Self {
                self.notes.default = Some(value.into());
                self
            }

            /// Examples for the reader.
            pub fn examples(mut self, values: impl Into<Json>) -> Self {
                self.notes.examples = Some(values.into());
                self
            }

            /// Compiles to a schema that validates.
            ///
            /// # Errors
            ///
            /// As [`ValueSpec::compile`].
            pub fn compile(&self) -> Result<SubsetSchema, SchemaError> {
                ValueSpec::from(self.clone()).compile()
            }
        }

        impl From<$spec> for ValueSpec {
            fn from(spec: $spec) -> Self {
                Self::$variant(spec)
            }
        }
    )*};
}
specs!(Scalar(ScalarSpec), Array(ArraySpec), Object(ObjectSpec), Json(JsonSpec), OneOf(OneOfSpec));

impl TryFrom<&Json> for ValueSpec {
    type Error = SchemaError;
    fn try_from(spec: &Json) -> Result<Self, SchemaError> {
        Self::from_json(spec)
    }
}

/// The parameters of a tool, by name. They stand for an object that is open: members nobody declared reach the body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParamSpec {
    properties: Object,
    required: Vec<Str>,
}

impl ParamSpec {
    /// No parameters yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A parameter that must be there.
    pub fn required(mut self, name: impl Into<Str>, spec: impl Into<ValueSpec>) -> Self {
        declare(&mut self.properties, &mut self.required, name.into(), &spec.into(), true);
        self
    }

    /// A parameter that may be missing.
    pub fn optional(mut self, name: impl Into<Str>, spec: impl Into<ValueSpec>) -> Self {
        declare(&mut self.properties, &mut self.required, name.into(), &spec.into(), false);
        self
    }

    /// Reads parameters written as JSON: a map from name to spec, where `"required": true` stands in the spec.
    ///
    /// # Errors
    ///
    /// The first fault of shape or vocabulary, with its path under `parameters`.
    pub fn from_json(spec: &Json) -> Result<Self, SchemaError> {
        read::parameters(spec)
    }

    /// Compiles to a schema that validates.
    ///
    /// # Errors
    ///
    /// As [`ValueSpec::compile`].
    pub fn compile(&self) -> Result<SubsetSchema, SchemaError> {
        let node =
            Object::builder().with("type", "object").with("properties", self.properties.clone());
        SubsetSchema::assert(&require(node, &self.required).build().into())
    }
}

impl TryFrom<&Json> for ParamSpec {
    type Error = SchemaError;
    fn try_from(spec: &Json) -> Result<Self, SchemaError> {
        Self::from_json(spec)
    }
}
