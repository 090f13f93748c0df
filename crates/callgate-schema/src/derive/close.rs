//! The way back up: lowered parts become a lowered whole.

use super::Role;
use super::disjoint::{all_disjoint, takes_anything};
use super::keywords::{ANNOTATIONS, NOTED, note, ordered};
use super::walk::{At, Close, How, Walk};
use crate::json;
use crate::json::{Json, Object, ObjectBuilder};
use crate::schema::{ScalarKind, SchemaError};

impl<'a> Walk<'a> {
    /// Puts a node together; its parts are the last ones lowered.
    pub(super) fn close(&mut self, close: Close<'a>) -> Result<Json, SchemaError> {
        let Close { how, node, at, alone, parts } = close;
        let mut parts = self.take_done(parts);
        Ok(match how {
            How::Annotate => self.annotated_over(&parts.next().unwrap_or_default(), node, at),
            How::Object => self.members(parts, node, at, alone),
            How::Items => self.list(parts.next(), node, at, alone),
            How::Tuple => self.list(common(parts), node, at, alone),
            How::Types => {
                self.union(parts.filter(|branch| !is_impossible(branch)).collect(), node, at)
            }
            How::OneOf => self.union(spliced(parts), node, at),
            How::AnyOf => return self.any_of(distinct(spliced(parts)), node, at),
        })
    }

    fn any_of(&self, branches: Vec<Json>, node: &Object, at: At) -> Result<Json, SchemaError> {
        if branches.iter().any(takes_anything) {
            return Ok(self.annotated(Object::builder(), node, at));
        }
        if !all_disjoint(&branches) {
            let message = "a value can fit two of the branches; tag the variants, or use `Json`";
            return Err(self.fault(at.place, message));
        }
        Ok(self.union(branches, node, at))
    }

    fn members(&self, parts: std::vec::IntoIter<Json>, node: &Object, at: At, alone: bool) -> Json {
        let declared = node.get("properties").and_then(Json::as_object);
        let properties =
            declared.map(|declared| declared.keys().cloned().zip(parts).collect::<Object>());
        let closed = node.get("additionalProperties") == Some(&Json::Bool(false))
            && !node.contains_key("patternProperties");
        let says_so = closed || !(at.is_root && self.role == Role::Parameters);
        let required = node.get("required").filter(|names| !is_empty(names));
        let lowered = Object::builder()
            .with("type", "object")
            .with_some("additionalProperties", says_so.then_some(!closed))
            .with_some("properties", properties)
            .with_some("required", required);
        if alone { self.annotated(lowered, node, at) } else { ordered(lowered) }
    }

    fn list(&self, items: Option<Json>, node: &Object, at: At, alone: bool) -> Json {
        let lowered = Object::builder().with("type", "array").with_some("items", items);
        if alone { self.annotated(lowered, node, at) } else { ordered(lowered) }
    }

    /// Exactly one of the branches; a lone one stands for itself.
    fn union(&self, mut branches: Vec<Json>, node: &Object, at: At) -> Json {
        match branches.pop() {
            Some(only) if branches.is_empty() => self.annotated_over(&only, node, at),
            last => {
                branches.extend(last);
                self.annotated(Object::builder().with("oneOf", branches), node, at)
            }
        }
    }

    pub(super) fn annotated(&self, lowered: ObjectBuilder, node: &Object, at: At) -> Json {
        self.annotated_over(&lowered.build().into(), node, at)
    }

    /// The lowered schema with what a node says to the reader, over what it said before.
    fn annotated_over(&self, lowered: &Json, node: &Object, at: At) -> Json {
        let mut lowered =
            lowered.as_object().map_or_else(ObjectBuilder::default, ObjectBuilder::from);
        for keyword in ANNOTATIONS {
            let value = match keyword {
                "title" if at.is_root => None,
                "description" => self.description(node, at),
                _ => node.get(keyword).cloned(),
            };
            if let Some(value) = value {
                lowered.insert(keyword, value);
            }
        }
        ordered(lowered)
    }

    /// The description, for a parameter with notes on what the subset does not enforce.
    fn description(&self, node: &Object, at: At) -> Option<Json> {
        let written = node.get("description");
        if at.is_root || self.role == Role::Output {
            return written.cloned();
        }
        let notes: Vec<String> =
            NOTED.iter().filter_map(|keyword| note(keyword, node.get(keyword)?)).collect();
        if notes.is_empty() {
            return written.cloned();
        }
        let notes = format!("[{}]", notes.join(", "));
        match written {
            None => Some(notes.into()),
            Some(Json::String(text)) if text.is_empty() => Some(notes.into()),
            Some(Json::String(text)) => Some(format!("{text} {notes}").into()),
            Some(other) => Some(other.clone()),
        }
    }
}

/// The branches, with those of unions that say nothing else in their place.
fn spliced(branches: impl Iterator<Item = Json>) -> Vec<Json> {
    let mut flat = Vec::new();
    for branch in branches {
        match branch.as_object() {
            Some(object) if object.len() == 1 && object.contains_key("oneOf") => {
                flat.extend(
                    object.get("oneOf").and_then(Json::as_array).into_iter().flatten().cloned(),
                );
            }
            _ => flat.push(branch),
        }
    }
    flat
}

/// Each once, in the order of their first.
fn distinct(schemas: Vec<Json>) -> Vec<Json> {
    let mut kinds = Vec::new();
    for schema in schemas {
        if !kinds.contains(&schema) {
            kinds.push(schema);
        }
    }
    kinds
}

/// What every item of a tuple is: their one type, one of several that exclude each other, or anything.
fn common(items: impl Iterator<Item = Json>) -> Option<Json> {
    let mut kinds = distinct(spliced(items));
    match kinds.len() {
        0 => None,
        1 => kinds.pop(),
        _ if kinds.iter().any(takes_anything) || !all_disjoint(&kinds) => {
            Some(Object::default().into())
        }
        _ => Some(Object::builder().with("oneOf", kinds).build().into()),
    }
}

pub(super) fn scalar(node: &Object, name: &str) -> ObjectBuilder {
    let lowered = Object::builder().with("type", name);
    lowered.with_some("enum", node.get("enum")).with_some("const", node.get("const"))
}

/// One of several scalar types of a node: it takes those literals that are its own.
pub(super) fn one_of_the_types(node: &Object, kind: ScalarKind, name: &str) -> Json {
    let members = node.get("enum").map(|members| match members {
        Json::Array(members) => {
            Json::Array(members.iter().filter(|member| kind.admits(member)).collect())
        }
        other => other.clone(),
    });
    match node.get("const") {
        Some(constant) if !kind.admits(constant) => json!({ "enum": [] }),
        _ if members.as_ref().is_some_and(is_empty) => json!({ "enum": [] }),
        _ if kind == ScalarKind::Null => json!({ "type": name }),
        constant => ordered(
            Object::builder()
                .with("type", name)
                .with_some("enum", members)
                .with_some("const", constant),
        ),
    }
}

fn is_empty(list: &Json) -> bool {
    list.as_array().is_some_and(|list| list.is_empty())
}

/// Whether the literals of a node left nothing for this one of its types.
fn is_impossible(branch: &Json) -> bool {
    branch.get("enum").is_some_and(is_empty)
}
