//! [`Keywords`]: what of a schema node bears on the type of its values.

use crate::json::{Array, Json, Object};
use crate::shape::{Literals, Shape};

/// The keywords of one node that bear on types, found in one pass over it.
///
/// A keyword whose value is of the wrong kind counts as absent, and so does an empty list of
/// alternatives or parts.
#[derive(Clone, Copy, Default)]
pub(super) struct Keywords<'a> {
    pub(super) reference: Option<&'a Json>,
    pub(super) all_of: Option<&'a Array>,
    pub(super) declared: Option<&'a Json>,
    pub(super) properties: Option<&'a Object>,
    pub(super) required: Option<&'a Array>,
    pub(super) additional: Option<&'a Json>,
    pub(super) items: Option<&'a Json>,
    pub(super) prefix_items: Option<&'a Array>,
    pub(super) additional_items: Option<&'a Json>,
    pub(super) min_items: Option<usize>,
    pub(super) max_items: Option<usize>,
    pub(super) nullable: bool,
    patterns: Option<&'a Object>,
    constant: Option<&'a Json>,
    members: Option<&'a Array>,
    any_of: Option<&'a Array>,
    one_of: Option<&'a Array>,
}

impl<'a> Keywords<'a> {
    pub(super) fn of(node: &'a Object) -> Self {
        let mut keywords = Self::default();
        for (keyword, value) in node {
            match &**keyword {
                "$ref" => keywords.reference = Some(value),
                "additionalItems" => keywords.additional_items = Some(value),
                "additionalProperties" => keywords.additional = schema(value),
                "allOf" => keywords.all_of = non_empty(value),
                "anyOf" => keywords.any_of = non_empty(value),
                "const" => keywords.constant = Some(value),
                "enum" => keywords.members = non_empty(value),
                "items" => keywords.items = Some(value),
                "maxItems" => keywords.max_items = length(value),
                "minItems" => keywords.min_items = length(value),
                "nullable" => keywords.nullable = *value == Json::Bool(true),
                "oneOf" => keywords.one_of = non_empty(value),
                "patternProperties" => keywords.patterns = value.as_object(),
                "prefixItems" => keywords.prefix_items = non_empty(value),
                "properties" => keywords.properties = value.as_object(),
                "required" => keywords.required = value.as_array(),
                "type" => keywords.declared = Some(value),
                _ => {}
            }
        }
        keywords
    }

    /// Whether the node has to be put together from parts.
    pub(super) fn is_combined(&self) -> bool {
        self.reference.is_some() || self.all_of.is_some()
    }

    /// Whether the node says something itself, apart from what it is put together from.
    pub(super) fn say_something(&self) -> bool {
        self.declared.is_some()
            || self.literals().is_some()
            || self.branches().is_some()
            || self.suggest_object()
            || self.suggest_list()
    }

    /// Whether the node describes an object and nothing else.
    pub(super) fn are_object_like(&self, inherited: Option<&Json>) -> bool {
        let other = self.literals().is_some() || self.branches().is_some();
        !other
            && match self.declared.or(inherited) {
                Some(declared) => declared.as_str() == Some("object"),
                None => self.suggest_object(),
            }
    }

    /// Whether a node without a type describes objects.
    pub(super) fn suggest_object(&self) -> bool {
        self.properties.is_some()
            || self.required.is_some()
            || self.additional.is_some()
            || self.patterns.is_some()
    }

    /// Whether a node without a type describes lists.
    pub(super) fn suggest_list(&self) -> bool {
        self.items.is_some() || self.prefix_items.is_some()
    }

    /// The values of `const`, else of `enum`.
    pub(super) fn literals(&self) -> Option<&'a [Json]> {
        match self.constant {
            Some(constant) => Some(std::slice::from_ref(constant)),
            None => self.members.map(|members| &**members),
        }
    }

    /// The branches of `anyOf`, else of `oneOf`. Beside properties they do not count: there they
    /// mostly say which of those must be given.
    pub(super) fn branches(&self) -> Option<&'a Array> {
        let branches = self.any_of.or(self.one_of)?;
        self.properties.is_none_or(Object::is_empty).then_some(branches)
    }

    pub(super) fn are_closed(&self) -> bool {
        self.additional == Some(&Json::Bool(false)) && !self.have_patterns()
    }

    pub(super) fn have_patterns(&self) -> bool {
        self.patterns.is_some_and(|patterns| !patterns.is_empty())
    }
}

/// The shape of literals, if they are all scalars.
pub(super) fn literal_shape<'a>(values: &'a [Json], declared: Option<&Json>) -> Shape<'a> {
    if values.iter().any(|value| matches!(value, Json::Array(_) | Json::Object(_))) {
        return Shape::Any;
    }
    let integer = declared.and_then(Json::as_str) == Some("integer");
    Shape::Literals(Literals { values, integer })
}

fn schema(value: &Json) -> Option<&Json> {
    matches!(value, Json::Bool(_) | Json::Object(_)).then_some(value)
}

fn non_empty(value: &Json) -> Option<&Array> {
    value.as_array().filter(|items| !items.is_empty())
}

fn length(value: &Json) -> Option<usize> {
    value.as_u64()?.try_into().ok()
}
