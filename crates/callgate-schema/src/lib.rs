//! JSON values, schemas and generated type text for callgate.

pub mod foreign;
pub mod json;
mod names;
pub mod python;
mod sdk;
mod shape;
mod text;
pub mod typescript;

pub use json::{
    Array, DecodeError, Json, JsonPath, Kind, Number, Object, ObjectBuilder, ParseError,
    ParseErrorKind, ParseOptions, Step, Str, ValueError, ValueErrorKind,
};
pub use names::public_name;
pub use sdk::{SdkOutput, SdkTool};
