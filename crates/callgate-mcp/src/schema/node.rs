//! [`Json`] as the validator reads it: no copy of the value, and a step counted for every look at
//! it, since the schema may have been written to make checks endless.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use callgate::{Json, Number, Object};
use jsonschema::JsonType;
use jsonschema::json::{
    Array as ArrayOf, Json as Representation, JsonNumber, Node, NodeIdentity, Object as ObjectOf,
};
use serde_json::Value;

thread_local! {
    /// How many steps the check that runs on this thread may still take.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// The check took too many steps.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

/// Runs a check that may take so many steps; answers nothing if they are used up before its end.
pub(super) fn within<T>(steps: u64, check: impl FnOnce() -> T) -> Result<T, Exhausted> {
    let outer = LEFT.replace(steps);
    let outcome = catch_unwind(AssertUnwindSafe(check));
    LEFT.set(outer);
    match outcome {
        Ok(answer) => Ok(answer),
        Err(payload) if payload.is::<Exhausted>() => Err(Exhausted),
        Err(payload) => resume_unwind(payload),
    }
}

fn step() {
    match LEFT.get() {
        // Nobody hears of it but `within`: no hook is called.
        0 => resume_unwind(Box::new(Exhausted)),
        left => LEFT.set(left - 1),
    }
}

/// The representation, for the validator.
pub(super) enum Counted {}

/// A value under the validator's eyes.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a>(pub(super) &'a Json);

#[derive(Clone, Copy)]
pub(super) struct SeenObject<'a>(&'a Object);

#[derive(Clone, Copy)]
pub(super) struct SeenArray<'a>(&'a [Json]);

pub(super) struct Members<'a>(<&'a Object as IntoIterator>::IntoIter);

pub(super) struct Elements<'a>(std::slice::Iter<'a, Json>);

pub(super) struct SeenNumber(Number);

impl Representation for Counted {
    type Node<'a> = Seen<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>((): &mut (), string: &str, read: impl FnOnce(Seen<'_>) -> T) -> T {
        let name = Json::from(string);
        read(Seen(&name))
    }
}

impl<'a> Node<'a, Counted> for Seen<'a> {
    type Object = SeenObject<'a>;
    type Array = SeenArray<'a>;
    type Number = SeenNumber;

    fn as_object(&self) -> Option<SeenObject<'a>> {
        step();
        self.0.as_object().map(SeenObject)
    }

    fn as_array(&self) -> Option<SeenArray<'a>> {
        step();
        self.0.as_array().map(|items| SeenArray(items))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        step();
        self.0.as_str().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<SeenNumber> {
        step();
        self.0.as_number().map(SeenNumber)
    }

    fn as_boolean(&self) -> Option<bool> {
        step();
        self.0.as_bool()
    }

    fn is_null(&self) -> bool {
        step();
        self.0.is_null()
    }

    fn json_type(&self) -> JsonType {
        step();
        match self.0 {
            Json::Null => JsonType::Null,
            Json::Bool(_) => JsonType::Boolean,
            Json::Number(_) => JsonType::Number,
            Json::String(_) => JsonType::String,
            Json::Array(_) => JsonType::Array,
            Json::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        step();
        match (self.0, expected) {
            (Json::String(text), Value::String(expected)) => **text == **expected,
            (Json::Null, Value::Null) => true,
            (Json::Bool(value), Value::Bool(expected)) => value == expected,
            (Json::Number(_), Value::Number(_))
            | (Json::Array(_), Value::Array(_))
            | (Json::Object(_), Value::Object(_)) => {
                Json::try_from(expected.clone()).is_ok_and(|expected| expected == *self.0)
            }
            _ => false,
        }
    }

    /// Only for the texts of the engine's errors: ours are made from the value itself, which is
    /// found again by its path.
    fn to_value(&self) -> Cow<'a, Value> {
        step();
        Cow::Owned(Value::Null)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        step();
        Some(NodeIdentity::new(std::ptr::from_ref(self.0).addr()))
    }
}

impl<'a> ObjectOf<'a, Counted> for SeenObject<'a> {
    type Node = Seen<'a>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<Seen<'a>> {
        step();
        self.0.get(key).map(Seen)
    }

    fn members(&self) -> Members<'a> {
        Members(self.0.into_iter())
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Seen<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        step();
        self.0.next().map(|(name, value)| (&**name, Seen(value)))
    }
}

impl<'a> ArrayOf<'a, Counted> for SeenArray<'a> {
    type Node = Seen<'a>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> Elements<'a> {
        Elements(self.0.iter())
    }

    fn is_unique(&self) -> bool {
        let mut seen = HashSet::with_capacity(self.0.len());
        self.0.iter().all(|item| {
            step();
            seen.insert(item)
        })
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Seen<'a>;

    fn next(&mut self) -> Option<Seen<'a>> {
        step();
        self.0.next().map(Seen)
    }
}

impl JsonNumber for SeenNumber {
    fn as_u64(&self) -> Option<u64> {
        self.0.as_u64()
    }

    fn as_i64(&self) -> Option<i64> {
        self.0.as_i64()
    }

    fn as_f64(&self) -> Option<f64> {
        Some(self.0.as_f64())
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Owned(self.0.to_string())
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        let number = match (self.0.as_i64(), self.0.as_u64()) {
            (Some(number), _) => Some(number.into()),
            (None, Some(number)) => Some(number.into()),
            (None, None) => serde_json::Number::from_f64(self.0.as_f64()),
        };
        Cow::Owned(number.unwrap_or_else(|| 0.into()))
    }

    fn is_integer(&self) -> bool {
        self.0.is_integer()
    }

    fn is_written_as_integer(&self) -> bool {
        self.0.is_integer()
    }
}
