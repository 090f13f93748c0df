//! [`json!`](crate::json!): values in source code.

use super::{Json, Number};

/// A [`Json`](crate::Json) written as JSON; any expression that is `Into<Json>` may stand for a value, any that is
/// `Into<Str>` in parentheses for a key.
///
/// ```
/// use callgate_schema::json;
///
/// let limit = 20_u32;
/// let key = "dynamic";
/// let value = json!({
///     "query": "needle",
///     "limit": limit,
///     "score": 0.5,
///     "tags": ["a", null, { "deep": true }],
///     (key): Some("x"),
/// });
/// assert_eq!(
///     value.to_string(),
///     r#"{"query":"needle","limit":20,"score":0.5,"tags":["a",null,{"deep":true}],"dynamic":"x"}"#
/// );
/// ```
///
/// A `f64` that is not a literal may be NaN; it goes through `Json::try_from`.
///
/// # Panics
///
/// If a literal in it is negative zero, `-0.0`.
#[macro_export]
macro_rules! json {
    (null) => { $crate::Json::Null };
    ([ $($items:tt)* ]) => { $crate::Json::Array($crate::Array::from($crate::json_items!([] $($items)*))) };
    ({ $($members:tt)* }) => {{
        #[allow(unused_mut, clippy::allow_attributes, reason = "an empty object changes nothing")]
        let mut object = $crate::Object::builder();
        $crate::json_members!(object $($members)*);
        $crate::Json::Object(object.build())
    }};
    ($value:literal) => { $crate::json::Literal::into_json($value) };
    ($value:expr) => { $crate::Json::from($value) };
}

/// The items of a list, one after the other.
#[doc(hidden)]
#[macro_export]
macro_rules! json_items {
    ([ $($done:expr,)* ]) => { ::std::vec::Vec::<$crate::Json>::from([$($done,)*]) };
    ([ $($done:expr,)* ] null $(, $($rest:tt)*)?) => {
        $crate::json_items!([ $($done,)* $crate::Json::Null, ] $($($rest)*)?)
    };
    ([ $($done:expr,)* ] [ $($inner:tt)* ] $(, $($rest:tt)*)?) => {
        $crate::json_items!([ $($done,)* $crate::json!([ $($inner)* ]), ] $($($rest)*)?)
    };
    ([ $($done:expr,)* ] { $($inner:tt)* } $(, $($rest:tt)*)?) => {
        $crate::json_items!([ $($done,)* $crate::json!({ $($inner)* }), ] $($($rest)*)?)
    };
    ([ $($done:expr,)* ] $value:literal $(, $($rest:tt)*)?) => {
        $crate::json_items!([ $($done,)* $crate::json!($value), ] $($($rest)*)?)
    };
    ([ $($done:expr,)* ] $value:expr $(, $($rest:tt)*)?) => {
        $crate::json_items!([ $($done,)* $crate::json!($value), ] $($($rest)*)?)
    };
}

/// The members of an object, one after the other.
#[doc(hidden)]
#[macro_export]
macro_rules! json_members {
    ($object:ident) => {};
    ($object:ident $key:tt : null $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::Json::Null);
        $crate::json_members!($object $($($rest)*)?);
    };
    ($object:ident $key:tt : [ $($inner:tt)* ] $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::json!([ $($inner)* ]));
        $crate::json_members!($object $($($rest)*)?);
    };
    ($object:ident $key:tt : { $($inner:tt)* } $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::json!({ $($inner)* }));
        $crate::json_members!($object $($($rest)*)?);
    };
    ($object:ident $key:tt : $value:literal $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::json!($value));
        $crate::json_members!($object $($($rest)*)?);
    };
    ($object:ident $key:tt : $value:expr $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::json!($value));
        $crate::json_members!($object $($($rest)*)?);
    };
}

/// What a literal in [`json!`](crate::json!) can be: everything that is `Into<Json>`, and `f64`.
#[doc(hidden)]
pub trait Literal {
    fn into_json(self) -> Json;
}

impl Literal for f64 {
    #[track_caller]
    #[expect(clippy::panic, reason = "the fault stands in the source, next to the macro")]
    fn into_json(self) -> Json {
        match Number::try_from(self) {
            Ok(number) => number.into(),
            Err(error) => panic!("{}", error.message()),
        }
    }
}

macro_rules! literals {
    ($($literal:ty)*) => {$(
        impl Literal for $literal {
            fn into_json(self) -> Json {
                self.into()
            }
        }
    )*};
}
literals!(bool &str i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
