//! JSON values as parts of types whose schema is derived.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Array, Json, Number, Object};

/// Any JSON.
///
/// ```
/// use callgate_schema::Json;
/// use schemars::{JsonSchema, schema_for};
///
/// #[derive(JsonSchema)]
/// struct Event {
///     kind: String,
///     payload: Json,
/// }
/// let schema = schema_for!(Event);
/// assert_eq!(schema.get("properties").unwrap()["payload"], true);
/// ```
impl JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

macro_rules! schemas {
    ($($type:ident is $schema:tt),*) => {$(
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

schemas! {
    Array is { "type": "array" },
    Object is { "type": "object", "additionalProperties": true },
    Number is { "type": "number" }
}
