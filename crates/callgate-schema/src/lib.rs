//! JSON values, schemas and generated type text for callgate.

pub mod json;

pub use json::{Array, Json, Number, Object, Str};
