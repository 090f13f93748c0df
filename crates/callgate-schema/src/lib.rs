//! JSON values, schemas and generated type text for callgate.

pub mod derive;
pub mod foreign;
pub mod json;
mod names;
pub mod python;
pub mod schema;
mod sdk;
mod shape;
pub mod spec;
mod suggest;
mod text;
mod trail;
pub mod typescript;
pub mod violation;

pub use derive::{lower_output, lower_parameters};
pub use json::{
    Array, DecodeError, Json, JsonPath, Kind, Number, Object, ObjectBuilder, ParseError,
    ParseErrorKind, ParseOptions, Step, Str, ValueError, ValueErrorKind,
};
pub use names::public_name;
pub use schema::{SchemaError, SubsetSchema};
pub use sdk::{SdkOutput, SdkTool};
pub use spec::{ParamSpec, ValueSpec};
pub use suggest::nearest_name;
pub use violation::{Violation, ViolationKind, Violations};
