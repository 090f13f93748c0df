//! Compiled schema nodes: a flat list, referred to by index, so that nothing about them recurses.

use std::collections::HashSet;

use crate::json::{Json, Object, Str};

/// Where a node is in the list of its schema.
pub(crate) type NodeId = usize;

/// What a value must be.
#[derive(Debug)]
pub(crate) enum Node {
    /// Any JSON.
    Any,
    Scalar(Scalar),
    /// A list, of anything or of values of one node.
    Array(Option<NodeId>),
    Object(ObjectNode),
    /// Exactly one of them.
    Union(Vec<NodeId>),
}

impl Node {
    pub(crate) const ROOT: NodeId = 0;
}

#[derive(Debug)]
pub(crate) struct Scalar {
    pub(crate) kind: ScalarKind,
    pub(crate) members: Option<Literals>,
    pub(crate) constant: Option<Json>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarKind {
    String,
    Number,
    Integer,
    Boolean,
    Null,
}

impl ScalarKind {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "number" => Self::Number,
            "integer" => Self::Integer,
            "boolean" => Self::Boolean,
            "null" => Self::Null,
            _ => return None,
        })
    }

    #[inline]
    pub(crate) fn admits(self, value: &Json) -> bool {
        match (self, value) {
            (Self::String, Json::String(_))
            | (Self::Number, Json::Number(_))
            | (Self::Boolean, Json::Bool(_))
            | (Self::Null, Json::Null) => true,
            (Self::Integer, Json::Number(number)) => number.is_integer(),
            _ => false,
        }
    }

    /// The name with its article, for sentences.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Number => "a number",
            Self::Integer => "an integer",
            Self::Boolean => "true or false",
            Self::Null => "null",
        }
    }
}

impl Scalar {
    #[inline]
    pub(crate) fn admits(&self, value: &Json) -> bool {
        self.kind.admits(value)
            && self.members.as_ref().is_none_or(|members| members.contains(value))
            && self.constant.as_ref().is_none_or(|constant| constant == value)
    }
}

/// The members of an `enum`.
#[derive(Debug)]
pub(crate) struct Literals {
    pub(crate) list: Vec<Json>,
    /// The same, if all are strings.
    texts: Option<Vec<Str>>,
    index: Option<HashSet<Json>>,
}

/// Up to here comparing is faster than hashing.
const MOST_COMPARED: usize = 16;

impl Literals {
    pub(crate) fn new(list: Vec<Json>) -> Self {
        let index = (list.len() > MOST_COMPARED).then(|| list.iter().cloned().collect());
        let texts = list.iter().map(Json::to_str).collect();
        Self { list, texts, index }
    }

    pub(crate) fn contains(&self, value: &Json) -> bool {
        match (&self.index, &self.texts, value) {
            (Some(index), _, _) => index.contains(value),
            (None, Some(texts), Json::String(value)) => texts.iter().any(|text| **text == **value),
            (None, _, _) => self.list.contains(value),
        }
    }
}

#[derive(Debug)]
pub(crate) struct ObjectNode {
    /// The declared members; its own lookup serves the check.
    pub(crate) declared: Object,
    /// What each declared member must be, in the same order.
    pub(crate) parts: Vec<Part>,
    /// The names that must be there, as often as they are listed.
    pub(crate) required: Vec<Str>,
    /// How many declared members must be there.
    pub(crate) required_parts: usize,
    pub(crate) closed: bool,
}

#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: Str,
    pub(crate) node: NodeId,
    pub(crate) required: bool,
}

/// From this ratio on it is cheaper to walk the members that are there than those that could be.
const MANY_ABSENT: usize = 4;

impl ObjectNode {
    /// Whether a value has so few members that they should lead.
    pub(crate) fn is_sparse(&self, object: &Object) -> bool {
        object.len() * MANY_ABSENT < self.parts.len()
    }

    /// The declared members a value has, in the order of the schema.
    pub(crate) fn present<'a>(&self, object: &'a Object) -> Vec<(usize, &'a Json)> {
        if !self.is_sparse(object) {
            let names = self.declared.keys().enumerate();
            return names
                .filter_map(|(place, name)| Some((place, object.get_near(name, place)?)))
                .collect();
        }
        let mut present: Vec<_> = object
            .iter()
            .filter_map(|(name, value)| Some((self.declared.position(name)?, value)))
            .collect();
        present.sort_unstable_by_key(|(place, _)| *place);
        present
    }
}
