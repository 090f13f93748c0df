//! Reads schemas of the subset.

use std::collections::HashSet;

use super::{Doc, Literals, Member, Shape, ShapeId, Shapes};
use crate::json::{Array, Json, Object};

/// Up to here looking names up one by one is quicker than hashing.
const FEW_NAMES: usize = 8;

/// Reads a schema into `place`; `None` if it is not of the subset, anywhere.
pub(super) fn read<'a>(shapes: &mut Shapes<'a>, place: ShapeId, schema: &'a Json) -> Option<()> {
    let mut reader = Reader { shapes, work: vec![(place, schema)] };
    while let Some((place, schema)) = reader.work.pop() {
        let shape = reader.shape_of(schema)?;
        reader.shapes.set(place, shape);
    }
    Some(())
}

struct Reader<'a, 's> {
    shapes: &'s mut Shapes<'a>,
    /// Places reserved, and the schemas that belong there.
    work: Vec<(ShapeId, &'a Json)>,
}

/// The constraints of a node, in one pass over its keywords.
#[derive(Default)]
struct Node<'a> {
    declared: Option<&'a Json>,
    one_of: Option<&'a Json>,
    properties: Option<&'a Json>,
    required: Option<&'a Json>,
    additional: Option<&'a Json>,
    items: Option<&'a Json>,
    members: Option<&'a Json>,
    constant: Option<&'a Json>,
}

impl<'a> Reader<'a, '_> {
    fn shape_of(&mut self, schema: &'a Json) -> Option<Shape<'a>> {
        let node = Node::of(schema.as_object()?)?;
        match (node.declared, node.one_of) {
            (None, None) => node.is_bare().then_some(Shape::Any),
            (None, Some(branches)) if node.is_bare() => self.union(branches.as_array()?),
            (Some(declared), None) => self.typed(declared.as_str()?, &node),
            _ => None,
        }
    }

    fn union(&mut self, branches: &'a Array) -> Option<Shape<'a>> {
        if branches.len() < 2 {
            return None;
        }
        let run = self.shapes.reserve(branches.len());
        self.work.extend(run.iter().zip(branches.iter()));
        Some(Shape::Union(run))
    }

    fn typed(&mut self, declared: &str, node: &Node<'a>) -> Option<Shape<'a>> {
        let broad = match declared {
            "object" if node.items.is_none() && node.has_no_literals() => return self.object(node),
            "array" if node.has_no_members() && node.has_no_literals() => return self.list(node),
            "string" => Shape::String,
            "number" => Shape::Number,
            "integer" => Shape::Integer,
            "boolean" => Shape::Boolean,
            "null" => Shape::Null,
            _ => return None,
        };
        if node.items.is_some() || !node.has_no_members() {
            return None;
        }
        Some(literals(broad, node)?.map_or(broad, Shape::Literals))
    }

    fn object(&mut self, node: &Node<'a>) -> Option<Shape<'a>> {
        let properties = match node.properties {
            Some(properties) => Some(properties.as_object()?),
            None => None,
        };
        let required = Required::of(node.required)?;
        let mut members = self.shapes.start_members();
        members.open = node.additional.is_none_or(|additional| *additional == Json::Bool(true));
        if node.additional.is_some_and(|additional| additional.as_bool().is_none()) {
            return None;
        }
        let Some(properties) = properties else {
            return required.is_empty().then_some(Shape::Object(members));
        };
        if !required.all_in(properties) {
            return None;
        }
        let places = self.shapes.reserve(properties.len());
        for (place, (name, schema)) in places.iter().zip(properties.iter()) {
            let description = schema.get("description").and_then(Json::as_str).unwrap_or_default();
            let doc = Doc { description, notes: None };
            let required = required.contains(name);
            self.shapes.push_member(&mut members, Member { name, required, shape: place, doc });
            self.work.push((place, schema));
        }
        Some(Shape::Object(members))
    }

    fn list(&mut self, node: &Node<'a>) -> Option<Shape<'a>> {
        let Some(items) = node.items else { return Some(Shape::List(None)) };
        let place = self.shapes.reserve(1).only();
        self.work.push((place, items));
        Some(Shape::List(Some(place)))
    }
}

impl<'a> Node<'a> {
    /// The node's constraints; `None` if it has a keyword or an annotation the subset refuses.
    fn of(object: &'a Object) -> Option<Self> {
        let mut node = Self::default();
        for (keyword, value) in object.iter() {
            let slot = match &**keyword {
                "type" => &mut node.declared,
                "oneOf" => &mut node.one_of,
                "properties" => &mut node.properties,
                "required" => &mut node.required,
                "additionalProperties" => &mut node.additional,
                "items" => &mut node.items,
                "enum" => &mut node.members,
                "const" => &mut node.constant,
                "description" | "title" => {
                    value.as_str()?;
                    continue;
                }
                "default" | "examples" => continue,
                _ => return None,
            };
            *slot = Some(value);
        }
        Some(node)
    }

    /// Whether nothing stands beside `type` or `oneOf`.
    fn is_bare(&self) -> bool {
        self.has_no_members() && self.items.is_none() && self.has_no_literals()
    }

    fn has_no_members(&self) -> bool {
        self.properties.is_none() && self.required.is_none() && self.additional.is_none()
    }

    fn has_no_literals(&self) -> bool {
        self.members.is_none() && self.constant.is_none()
    }
}

/// The literals of a scalar node, if it has any; `None` if they do not fit its type.
fn literals<'a>(broad: Shape<'a>, node: &Node<'a>) -> Option<Option<Literals<'a>>> {
    let integer = matches!(broad, Shape::Integer);
    let members = match node.members {
        Some(members) => Some(members.as_array()?),
        None => None,
    };
    if members.is_some_and(|members| members.is_empty() || !members.iter().all(|member| fits(broad, member))) {
        return None;
    }
    let Some(constant) = node.constant else {
        return Some(members.map(|members| Literals { values: members, integer }));
    };
    let listed = members.is_none_or(|members| members.contains(constant));
    (listed && fits(broad, constant))
        .then_some(Some(Literals { values: std::slice::from_ref(constant), integer }))
}

fn fits(broad: Shape<'_>, value: &Json) -> bool {
    match (broad, value) {
        (Shape::String, Json::String(_))
        | (Shape::Number, Json::Number(_))
        | (Shape::Boolean, Json::Bool(_))
        | (Shape::Null, Json::Null) => true,
        (Shape::Integer, Json::Number(number)) => number.is_integer(),
        _ => false,
    }
}

/// The names of `required`.
enum Required<'a> {
    Few(&'a [Json]),
    Many(HashSet<&'a str>),
}

impl<'a> Required<'a> {
    /// `None` if it is not a list of strings.
    fn of(required: Option<&'a Json>) -> Option<Self> {
        let names = match required {
            Some(required) => &**required.as_array()?,
            None => &[],
        };
        if !names.iter().all(|name| name.as_str().is_some()) {
            return None;
        }
        if names.len() <= FEW_NAMES {
            return Some(Self::Few(names));
        }
        Some(Self::Many(names.iter().filter_map(Json::as_str).collect()))
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Few([]))
    }

    fn contains(&self, name: &str) -> bool {
        match self {
            Self::Few(names) => names.iter().any(|required| required.as_str() == Some(name)),
            Self::Many(names) => names.contains(name),
        }
    }

    /// Whether every name is declared.
    fn all_in(&self, properties: &Object) -> bool {
        match self {
            Self::Few(names) => names
                .iter()
                .filter_map(Json::as_str)
                .all(|required| properties.iter().any(|(name, _)| &**name == required)),
            Self::Many(names) => {
                let declared = properties.iter().filter(|(name, _)| names.contains(&***name));
                declared.count() == names.len()
            }
        }
    }
}
