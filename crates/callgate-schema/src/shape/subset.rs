//! Reads schemas of the subset.

use super::{Doc, Literals, Member, NameSet, Shape, ShapeId, Shapes};
use crate::json::{Array, Json, Object};

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
            "array" if node.has_no_members() && node.has_no_literals() => {
                return Some(self.list(node));
            }
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
        scalar(broad, node)
    }

    fn object(&mut self, node: &Node<'a>) -> Option<Shape<'a>> {
        let properties = match node.properties {
            Some(properties) => Some(properties.as_object()?),
            None => None,
        };
        let required = required_names(node.required, properties)?;
        let mut members = self.shapes.start_members();
        members.open = match node.additional {
            Some(additional) => additional.as_bool()?,
            None => true,
        };
        let Some(properties) = properties else { return Some(Shape::Object(members)) };
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

    fn list(&mut self, node: &Node<'a>) -> Shape<'a> {
        let Some(items) = node.items else { return Shape::List(None) };
        let place = self.shapes.reserve(1).only();
        self.work.push((place, items));
        Shape::List(Some(place))
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

/// The shape of a scalar node: its literals, if it has any. `None` if they do not fit its type.
fn scalar<'a>(broad: Shape<'a>, node: &Node<'a>) -> Option<Shape<'a>> {
    let integer = matches!(broad, Shape::Integer);
    let members = match node.members {
        Some(members) => &**members.as_array().filter(|members| !members.is_empty())?,
        None => &[],
    };
    if !members.iter().chain(node.constant).all(|value| fits(broad, value)) {
        return None;
    }
    Some(match node.constant {
        Some(constant) if members.is_empty() || members.contains(constant) => {
            Shape::Literals(Literals { values: std::slice::from_ref(constant), integer })
        }
        Some(_) => return None,
        None if members.is_empty() => broad,
        None => Shape::Literals(Literals { values: members, integer }),
    })
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

/// The names of `required`; `None` if it is not a list of strings that are all declared.
fn required_names<'a>(
    required: Option<&'a Json>,
    properties: Option<&Object>,
) -> Option<NameSet<'a>> {
    let mut names = NameSet::default();
    let Some(required) = required else { return Some(names) };
    for name in &**required.as_array()? {
        let name = name.as_str()?;
        properties?.get(name)?;
        names.insert(name);
    }
    Some(names)
}
