//! The way back up: lowered parts become a lowered whole.

use super::Role;
use super::disjoint::{all_disjoint, takes_anything};
use super::keywords::{ANNOTATIONS, NOTED, note, ordered};
use super::walk::{At, Close, Walk};
use crate::json;
use crate::json::{Json, Object, ObjectBuilder};
use crate::schema::{ScalarKind, SchemaError};

impl<'a> Walk<'a> {
    pub(super) fn close(&mut self, close: Close<'a>) -> Result<Json, SchemaError> {
        Ok(match close {
            Close::Annotate { node, at } => {
                let target = self.take_done(1).next().unwrap_or_default();
                self.annotated_over(&target, node, at)
            }
            Close::Object { node, at, alone } => self.close_object(node, at, alone),
            Close::Items { node, at, alone } => {
                let parts = usize::from(node.contains_key("items"));
                let items = self.take_done(parts).next();
                self.list(items, node, at, alone)
            }
            Close::Tuple { node, at, alone, parts } => {
                let items = self.take_done(parts).collect();
                self.list(common(items), node, at, alone)
            }
            Close::Types { node, at, parts } => {
                let branches =
                    self.take_done(parts).filter(|branch| !is_impossible(branch)).collect();
                self.union(branches, node, at)
            }
            Close::OneOf { node, at, parts } => {
                let branches = spliced(self.take_done(parts));
                self.union(branches, node, at)
            }
            Close::AnyOf { node, at, parts } => {
                let mut branches = Vec::new();
                for branch in spliced(self.take_done(parts)) {
                    if !branches.contains(&branch) {
                        branches.push(branch);
                    }
                }
                if branches.iter().any(takes_anything) {
                    return Ok(self.annotated(Object::builder(), node, at));
                }
                if !all_disjoint(&branches) {
                    let message =
                        "a value can fit two of the branches; tag the variants, or use `Json`";
                    return Err(self.fault(at.place, message));
                }
                self.union(branches, node, at)
            }
        })
    }

    fn close_object(&mut self, node: &Object, at: At, alone: bool) -> Json {
        let declared = node.get("properties").and_then(Json::as_object);
        let properties = declared.map(|declared| {
            let schemas = self.take_done(declared.len());
            declared.keys().cloned().zip(schemas).collect::<Object>()
        });
        let closed = node.get("additionalProperties") == Some(&Json::Bool(false))
            && !node.contains_key("patternProperties");
        let says_so = closed || !(at.is_root && self.role == Role::Parameters);
        let required = node
            .get("required")
            .filter(|names| names.as_array().is_none_or(|names| !names.is_empty()));
        let lowered = Object::builder()
            .with("type", "object")
            .with_some("additionalProperties", says_so.then_some(!closed))
            .with_some("properties", properties)
            .with_some("required", required);
        if alone { self.annotated(lowered, node, at) } else { ordered(lowered) }
    }

    pub(super) fn list(&self, items: Option<Json>, node: &Object, at: At, alone: bool) -> Json {
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

/// What every item of a tuple is: their one type, one of several that exclude each other, or anything.
fn common(items: Vec<Json>) -> Option<Json> {
    let mut kinds = Vec::new();
    for item in spliced(items.into_iter()) {
        if !kinds.contains(&item) {
            kinds.push(item);
        }
    }
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
