//! From any `Serialize` to [`Json`], with checks, and from [`Json`] to any serializer.

mod key;
mod reader;

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::{Array, Json, Number, Object, Step, ValueError, ValueErrorKind};
pub(super) use reader::SERDE_JSON_NUMBER;
use reader::{Context, Reader};

/// How deep serde may recurse: its converters call themselves once a level, and a stack overflow cannot be caught.
///
/// Deeper values travel as [`Json`], whose own conversions have no such limit.
pub(super) const SERDE_DEPTH_LIMIT: usize = 512;

/// The name under which a [`Json`] hands itself over whole to our own serializer.
pub(super) const HANDOVER: &str = "$callgate::Json";

impl Json {
    /// Reads a value once, completely, without rounding or dropping anything.
    ///
    /// Enums, options and structs become what `serde_json` makes of them. A [`Json`] inside is taken over as it is.
    ///
    /// ```
    /// use callgate_schema::{Json, ValueErrorKind, json};
    ///
    /// assert_eq!(Json::from_serialize(&vec![Some(1), None]), Ok(json!([1, null])));
    ///
    /// let error = Json::from_serialize(&[0.5, f64::NAN]).unwrap_err();
    /// assert_eq!((error.kind(), error.path().to_string()), (ValueErrorKind::Number, "value[1]".to_owned()));
    /// ```
    ///
    /// # Errors
    ///
    /// For NaN, infinities, negative zero, integers that neither 64 bits nor a double hold exactly, map keys that
    /// are not strings, values nested too deep for serde, and when the value itself fails or panics while it is read.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, ValueError> {
        let mut context = Context::default();
        let outcome =
            catch_unwind(AssertUnwindSafe(|| value.serialize(Reader { context: &mut context })));
        let fault = match outcome {
            Ok(Ok(json)) => return Ok(json),
            Ok(Err(fault)) => fault,
            Err(panic) => Fault::new(ValueErrorKind::Producer, panic_message(panic.as_ref())),
        };
        Err(ValueError::new(fault.kind, fault.message).at(context.into_path(fault.inner)))
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the value panicked while it was read: {}", text.unwrap_or("no message"))
}

/// What went wrong while a value was read; the path is kept by the context.
#[derive(Debug)]
pub(super) struct Fault {
    kind: ValueErrorKind,
    message: String,
    /// Steps below the place the context knows.
    inner: Vec<Step>,
}

impl Fault {
    fn new(kind: ValueErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), inner: Vec::new() }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl serde::ser::Error for Fault {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::new(ValueErrorKind::Producer, message.to_string())
    }
}

/// Where a [`Json`] puts itself when our own serializer asks for it.
enum Handover {
    Idle,
    Asked,
    Given(Json),
}

thread_local! {
    static HANDOVER_SLOT: Cell<Handover> = const { Cell::new(Handover::Idle) };
}

/// Runs `read` with the request for a whole [`Json`] standing, and returns the one that was given, if any.
fn ask_for_json<R>(read: impl FnOnce() -> R) -> (R, Option<Json>) {
    let asked = HANDOVER_SLOT.try_with(|slot| slot.set(Handover::Asked)).is_ok();
    let result = read();
    let given =
        if asked { HANDOVER_SLOT.try_with(|slot| slot.replace(Handover::Idle)).ok() } else { None };
    match given {
        Some(Handover::Given(json)) => (result, Some(json)),
        _ => (result, None),
    }
}

/// Answers a standing request; says whether there was one.
fn hand_over(value: &Json) -> bool {
    let answer = |slot: &Cell<Handover>| match slot.replace(Handover::Idle) {
        Handover::Asked => {
            slot.set(Handover::Given(value.clone()));
            true
        }
        _ => false,
    };
    HANDOVER_SLOT.try_with(answer).unwrap_or(false)
}

/// To any serializer; refuses values nested too deep for its recursion.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(HANDOVER, &Whole(self))
    }
}

impl Serialize for Array {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Json::Array(self.clone()).serialize(serializer)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Json::Object(self.clone()).serialize(serializer)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.as_i64(), self.as_u64()) {
            (Some(value), _) => serializer.serialize_i64(value),
            (None, Some(value)) => serializer.serialize_u64(value),
            (None, None) => serializer.serialize_f64(self.as_f64()),
        }
    }
}

struct Whole<'a>(&'a Json);

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if hand_over(self.0) {
            return serializer.serialize_unit();
        }
        Node { value: self.0, depth: 0 }.serialize(serializer)
    }
}

struct Node<'a> {
    value: &'a Json,
    depth: usize,
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let depth = self.depth + 1;
        match self.value {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(number) => number.serialize(serializer),
            Json::String(text) => serializer.serialize_str(text),
            Json::Array(_) | Json::Object(_) if depth > SERDE_DEPTH_LIMIT => {
                Err(S::Error::custom(too_deep()))
            }
            Json::Array(array) => {
                let mut items = serializer.serialize_seq(Some(array.len()))?;
                for value in array {
                    items.serialize_element(&Node { value, depth })?;
                }
                items.end()
            }
            Json::Object(object) => {
                let mut members = serializer.serialize_map(Some(object.len()))?;
                for (name, value) in object {
                    members.serialize_entry(&**name, &Node { value, depth })?;
                }
                members.end()
            }
        }
    }
}

pub(super) fn too_deep() -> String {
    format!(
        "nested deeper than the {SERDE_DEPTH_LIMIT} levels serde may recurse; pass the deep part as `Json`"
    )
}
