//! From [`Json`] to any `Deserialize`, and from any deserializer to [`Json`].

mod source;

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::sync::LazyLock;

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_path_to_error::{Segment, Track};

use super::ser::{HANDOVER, SERDE_DEPTH_LIMIT, SERDE_JSON_NUMBER, too_deep};
use super::{Array, Json, JsonPath, Number, Object, Step, Str};
use source::Source;

impl Json {
    /// Reads a Rust value out of this one.
    ///
    /// ```
    /// use callgate_schema::json;
    ///
    /// let point: (i32, f64) = json!([3, 0.5]).decode()?;
    /// assert_eq!(point, (3, 0.5));
    ///
    /// let error = json!([1, -1]).decode::<Vec<u8>>().unwrap_err();
    /// assert_eq!(error.path().to_string(), "value[1]");
    /// # Ok::<(), callgate_schema::json::DecodeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the type does not take the value, with the path to the part it refuses; also if an integer would be rounded
    /// to a double, or the value nests too deep for a recursive type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        let mut track = Track::new();
        T::deserialize(serde_path_to_error::Deserializer::new(Source::new(self), &mut track))
            .map_err(|fault| {
                let steps = track.path().iter().filter_map(step).collect::<Vec<_>>();
                DecodeError(Box::new(Refusal { path: steps.into(), message: fault.0 }))
            })
    }
}

fn step(segment: &Segment) -> Option<Step> {
    match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Name(key.as_str().into())),
        Segment::Enum { variant } => Some(Step::Name(variant.as_str().into())),
        Segment::Unknown => None,
    }
}

/// Why a [`Json`] is not a value of the wanted type, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError(Box<Refusal>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Refusal {
    path: JsonPath,
    message: String,
}

impl DecodeError {
    /// The part that is refused.
    pub fn path(&self) -> &JsonPath {
        &self.0.path
    }

    /// What is wrong with it, without the path.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

/// The path under the root label `value`, then the message.
impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.path, self.0.message)
    }
}

impl Error for DecodeError {}

thread_local! {
    /// A whole [`Json`] on its way from our own deserializer to the visitor below.
    static HANDED_OVER: Cell<Option<Json>> = const { Cell::new(None) };
}

fn take_handed_over() -> Option<Json> {
    HANDED_OVER.try_with(Cell::take).ok().flatten()
}

/// From any deserializer that knows what it holds; refuses values nested too deep for its recursion.
impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(HANDOVER, JsonVisitor { depth: 0 })
    }
}

impl<'de> Deserialize<'de> for Array {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Array(array) => Ok(array),
            other => {
                Err(D::Error::custom(format!("expected a list, got {}", other.kind().described())))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Object(object) => Ok(object),
            other => Err(D::Error::custom(format!(
                "expected an object, got {}",
                other.kind().described()
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Number(number) => Ok(number),
            other => Err(D::Error::custom(format!(
                "expected a number, got {}",
                other.kind().described()
            ))),
        }
    }
}

#[derive(Clone, Copy)]
struct JsonVisitor {
    depth: usize,
}

impl JsonVisitor {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        let depth = self.depth + 1;
        if depth > SERDE_DEPTH_LIMIT { Err(E::custom(too_deep())) } else { Ok(Self { depth }) }
    }
}

impl<'de> DeserializeSeed<'de> for JsonVisitor {
    type Value = Json;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

fn number<E: serde::de::Error>(token: &str) -> Result<Json, E> {
    Number::from_token(token).map(Json::Number).map_err(|fault| E::custom(fault.message(token)))
}

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<Json, E> {
        number(&value.to_string())
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Json, E> {
        number(&value.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json, E> {
        Number::checked(value)
            .map(Json::Number)
            .map_err(|fault| E::custom(fault.message(&value.to_string())))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_none<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self.deeper()?)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        match take_handed_over() {
            Some(json) => Ok(json),
            None => deserializer.deserialize_any(self.deeper()?),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let inner = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Json::Array(items.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let inner = self.deeper()?;
        let mut members = Object::builder();
        while let Some(name) = access.next_key::<Str>()? {
            if *name == *SERDE_JSON_NUMBER && *SERDE_JSON_KEEPS_DIGITS {
                return number(&access.next_value::<String>()?);
            }
            members.insert(name, access.next_value_seed(inner)?);
        }
        Ok(members.build().into())
    }
}

/// Whether `arbitrary_precision` of `serde_json` is on, which any crate of the build can decide for all.
///
/// Then its numbers arrive as maps with one private key, which otherwise is a name like any other.
static SERDE_JSON_KEEPS_DIGITS: LazyLock<bool> =
    LazyLock::new(|| serde_json::from_str::<serde_json::Value>("1e999").is_ok());
