//! What a derive would do by recursion: dropping, comparing and hashing, with an explicit stack.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::object::Members;
use super::{Array, Json, Object, Str};

/// The rest of a container that nobody holds any more.
enum Released {
    Items(Vec<Json>),
    Members(Vec<(Str, Json)>),
}

impl Released {
    fn pop(&mut self) -> Option<Json> {
        match self {
            Self::Items(items) => items.pop(),
            Self::Members(entries) => entries.pop().map(|(_, value)| value),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Items(items) => items.is_empty(),
            Self::Members(entries) => entries.is_empty(),
        }
    }
}

impl Array {
    /// The items, if this was the last handle to them.
    fn release(&mut self) -> Option<Released> {
        Arc::into_inner(self.0.take()?).map(Released::Items)
    }
}

impl Object {
    /// The members, if this was the last handle to them.
    fn release(&mut self) -> Option<Released> {
        Arc::into_inner(self.0.take()?).map(|Members { entries, .. }| Released::Members(entries))
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if let Some(released) = self.release() {
            dismantle(released);
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if let Some(released) = self.release() {
            dismantle(released);
        }
    }
}

/// Drops the parts of a container; those that are containers themselves wait on a stack instead of recursing.
fn dismantle(mut current: Released) {
    let mut waiting = Vec::new();
    loop {
        let inner = match current.pop() {
            Some(Json::Array(mut array)) => array.release(),
            Some(Json::Object(mut object)) => object.release(),
            Some(_) => None,
            None => match waiting.pop() {
                Some(next) => {
                    current = next;
                    continue;
                }
                None => return,
            },
        };
        if let Some(inner) = inner {
            let outer = std::mem::replace(&mut current, inner);
            if !outer.is_empty() {
                waiting.push(outer);
            }
        }
    }
}

type Pairs<'a> = Vec<(&'a Json, &'a Json)>;

impl PartialEq for Json {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(a), Self::Array(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a == b,
            _ => same_scalar(self, other),
        }
    }
}

impl PartialEq for Array {
    fn eq(&self, other: &Self) -> bool {
        let mut pending = Pairs::new();
        same_items(self, other, &mut pending) && same_rest(pending)
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        let mut pending = Pairs::new();
        same_members(self, other, &mut pending) && same_rest(pending)
    }
}

impl Eq for Json {}
impl Eq for Array {}
impl Eq for Object {}

fn same_rest(mut pending: Pairs<'_>) -> bool {
    while let Some((a, b)) = pending.pop() {
        if !same_node(a, b, &mut pending) {
            return false;
        }
    }
    true
}

/// Compares two nodes; the parts of containers that need a look of their own are put off.
fn same_node<'a>(a: &'a Json, b: &'a Json, pending: &mut Pairs<'a>) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => same_items(a, b, pending),
        (Json::Object(a), Json::Object(b)) => same_members(a, b, pending),
        _ => same_scalar(a, b),
    }
}

#[inline]
fn same_scalar(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Null, Json::Null) => true,
        (Json::Bool(a), Json::Bool(b)) => a == b,
        (Json::Number(a), Json::Number(b)) => a == b,
        (Json::String(a), Json::String(b)) => a == b,
        _ => false,
    }
}

fn same_items<'a>(a: &'a Array, b: &'a Array, pending: &mut Pairs<'a>) -> bool {
    std::ptr::eq(a.items(), b.items())
        || (a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_or_put_off(a, b, pending)))
}

fn same_members<'a>(a: &'a Object, b: &'a Object, pending: &mut Pairs<'a>) -> bool {
    if std::ptr::eq(a.entries(), b.entries()) {
        return true;
    }
    a.len() == b.len()
        && a.entries().iter().zip(b.entries()).all(|((name, value), (beside, candidate))| {
            let other = if name == beside { Some(candidate) } else { b.get(name) };
            other.is_some_and(|other| same_or_put_off(value, other, pending))
        })
}

fn same_or_put_off<'a>(a: &'a Json, b: &'a Json, pending: &mut Pairs<'a>) -> bool {
    match (a, b) {
        (Json::Array(_), Json::Array(_)) | (Json::Object(_), Json::Object(_)) => {
            pending.push((a, b));
            true
        }
        _ => same_scalar(a, b),
    }
}

/// What is still to be hashed.
enum Unhashed<'a> {
    Value(&'a Json),
    Name(&'a str),
}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut pending = vec![Unhashed::Value(self)];
        while let Some(next) = pending.pop() {
            match next {
                Unhashed::Value(value) => hash_node(value, state, &mut pending),
                Unhashed::Name(name) => name.hash(state),
            }
        }
    }
}

/// Members are hashed in the order of their names, since equality does not look at their order.
fn hash_node<'a, H: Hasher>(value: &'a Json, state: &mut H, pending: &mut Vec<Unhashed<'a>>) {
    value.kind().hash(state);
    match value {
        Json::Null => {}
        Json::Bool(value) => value.hash(state),
        Json::Number(number) => number.hash(state),
        Json::String(text) => text.hash(state),
        Json::Array(array) => {
            array.len().hash(state);
            pending.extend(array.iter().rev().map(Unhashed::Value));
        }
        Json::Object(object) => {
            object.len().hash(state);
            for (name, value) in by_name(object).into_iter().rev() {
                pending.push(Unhashed::Value(value));
                pending.push(Unhashed::Name(name));
            }
        }
    }
}

/// The members in the order of their names, code point by code point.
pub(super) fn by_name(object: &Object) -> Vec<&(Str, Json)> {
    let mut members: Vec<_> = object.entries().iter().collect();
    members.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    members
}
