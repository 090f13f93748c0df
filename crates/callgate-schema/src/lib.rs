//! JSON values, schemas and generated type text for callgate.

pub mod json;

pub use json::{
    Array, Json, JsonPath, Number, Object, ObjectBuilder, ParseError, ParseErrorKind, ParseOptions,
    Step, Str, ValueError, ValueErrorKind,
};
