//! Reads schemas outside the subset, each node as well as types can say it.

use super::reference::References;
use crate::json::{Array, Json, Object};
use crate::shape::{Doc, Literals, Member, NameSet, Shape, ShapeId, Shapes, Tuple, has_notes};

/// Nodes visited per schema. References can multiply a small schema without end; what is left
/// over says nothing.
const MOST_VISITED: usize = 5_000;
/// References followed for a member's documentation.
const MOST_DOC_STEPS: usize = 32;

const OBJECT_KEYWORDS: [&str; 4] =
    ["properties", "required", "additionalProperties", "patternProperties"];
const ARRAY_KEYWORDS: [&str; 2] = ["items", "prefixItems"];

/// Reads a schema into `place` and returns the references in it that lead nowhere.
pub(crate) fn read<'a>(shapes: &mut Shapes<'a>, place: ShapeId, schema: &'a Json) -> Vec<&'a str> {
    let mut reader = Reader {
        shapes,
        references: References::new(schema),
        followed: Vec::new(),
        combinations: 0,
        visited: 0,
        work: vec![(place, Node { schema, inherited: None, path: None }, View::Whole)],
        open: Vec::new(),
    };
    while let Some((place, node, view)) = reader.work.pop() {
        if reader.may_visit() {
            let shape = reader.shape_of(node, view);
            reader.shapes.set(place, shape);
        }
    }
    reader.open
}

struct Reader<'a, 's> {
    shapes: &'s mut Shapes<'a>,
    references: References<'a>,
    followed: Vec<Followed<'a>>,
    /// How many nodes were put together from parts so far.
    combinations: usize,
    visited: usize,
    /// Places reserved, the nodes that belong there, and what counts of them.
    work: Vec<(ShapeId, Node<'a>, View<'a>)>,
    open: Vec<&'a str>,
}

/// A node and how it was reached.
#[derive(Clone, Copy)]
struct Node<'a> {
    schema: &'a Json,
    /// The type of the union it is a branch of, if it has none itself.
    inherited: Option<&'a Json>,
    /// The last reference followed on the way here.
    path: Option<usize>,
}

/// What of a node counts.
#[derive(Clone, Copy)]
enum View<'a> {
    /// Everything.
    Whole,
    /// All but its references and `allOf`.
    Part,
    /// The same without `nullable`, which counts for what it is combined to.
    Own,
    /// What it says about values of one type.
    Typed(&'a str),
}

/// A reference that was followed, linked to the one before it.
struct Followed<'a> {
    target: &'a Json,
    before: Option<usize>,
    /// The node it was put together for.
    combination: usize,
}

/// What a node with references or `allOf` is put together from.
struct Parts<'a> {
    nodes: Vec<(Node<'a>, View<'a>)>,
    /// Whether a node that led to a part allows null.
    nullable: bool,
}

impl<'a> Reader<'a, '_> {
    fn may_visit(&mut self) -> bool {
        self.visited += 1;
        self.visited <= MOST_VISITED
    }

    fn shape_of(&mut self, node: Node<'a>, view: View<'a>) -> Shape<'a> {
        let Json::Object(object) = node.schema else {
            return if *node.schema == Json::Bool(false) { Shape::Never } else { Shape::Any };
        };
        match view {
            View::Typed(name) => self.typed(name, node, object),
            View::Own => self.own(node, object),
            View::Whole if is_combined(object) => {
                let shape = self.combined(node);
                self.with_null(shape, is_nullable(object))
            }
            View::Whole | View::Part => {
                let shape = self.own(node, object);
                self.with_null(shape, is_nullable(object))
            }
        }
    }

    fn with_null(&mut self, shape: Shape<'a>, nullable: bool) -> Shape<'a> {
        if !nullable {
            return shape;
        }
        let inner = self.shapes.reserve(1).only();
        self.shapes.set(inner, shape);
        Shape::Nullable(inner)
    }

    /// What a node says without its references, `allOf` and `nullable`.
    fn own(&mut self, node: Node<'a>, object: &'a Object) -> Shape<'a> {
        let declared = object.get("type").or(node.inherited);
        if let Some(values) = literal_values(object) {
            return literals(values, declared);
        }
        if let Some(branches) = union_branches(object) {
            return self.union(branches, Node { inherited: declared, ..node });
        }
        match declared {
            Some(declared) => self.declared(declared, node, object),
            None if has_any(object, &OBJECT_KEYWORDS) => self.object(&[node]),
            None if has_any(object, &ARRAY_KEYWORDS) => self.list(node, object),
            None => Shape::Any,
        }
    }

    fn declared(&mut self, declared: &'a Json, node: Node<'a>, object: &'a Object) -> Shape<'a> {
        match declared {
            Json::String(name) => self.typed(name, node, object),
            Json::Array(names) if !names.is_empty() => {
                let run = self.shapes.reserve(names.len());
                let views = names.iter().map(|name| View::Typed(name.as_str().unwrap_or_default()));
                self.work
                    .extend(run.iter().zip(views).map(|(place, view)| (place, node, view)).rev());
                Shape::Union(run)
            }
            _ => Shape::Any,
        }
    }

    fn typed(&mut self, name: &str, node: Node<'a>, object: &'a Object) -> Shape<'a> {
        match name {
            "string" => Shape::String,
            "number" => Shape::Number,
            "integer" => Shape::Integer,
            "boolean" => Shape::Boolean,
            "null" => Shape::Null,
            "object" => self.object(&[node]),
            "array" => self.list(node, object),
            _ => Shape::Any,
        }
    }

    fn union(&mut self, branches: &'a Array, node: Node<'a>) -> Shape<'a> {
        let run = self.shapes.reserve(branches.len());
        let nodes = branches.iter().map(|schema| Node { schema, ..node });
        self.work
            .extend(run.iter().zip(nodes).map(|(place, node)| (place, node, View::Whole)).rev());
        Shape::Union(run)
    }

    fn list(&mut self, node: Node<'a>, object: &'a Object) -> Shape<'a> {
        let items = object.get("items");
        let prefix = object.get("prefixItems").and_then(non_empty);
        let (positions, rest) = match (prefix, items) {
            (Some(positions), rest) => (positions, rest),
            // Draft 7 and before.
            (None, Some(Json::Array(positions))) if !positions.is_empty() => {
                (positions, object.get("additionalItems"))
            }
            (None, Some(Json::Array(_))) => return Shape::List(None),
            (None, items) => {
                return Shape::List(items.map(|items| self.place(items, node)));
            }
        };
        let count = positions.len();
        let required = bound(object, "minItems").unwrap_or(0).min(count);
        let full = bound(object, "maxItems").is_some_and(|most| most <= count);
        let rest = match rest {
            _ if full => None,
            Some(Json::Bool(false)) => None,
            Some(rest) => Some(self.place(rest, node)),
            None => Some(self.place(&Json::Bool(true), node)),
        };
        let run = self.shapes.reserve(count);
        let nodes = positions.iter().map(|schema| node.below(schema));
        self.work
            .extend(run.iter().zip(nodes).map(|(place, node)| (place, node, View::Whole)).rev());
        Shape::Tuple(Tuple { positions: run, required, rest })
    }

    /// Reserves a place for the shape of a schema below `node`.
    fn place(&mut self, schema: &'a Json, node: Node<'a>) -> ShapeId {
        let place = self.shapes.reserve(1).only();
        self.work.push((place, node.below(schema), View::Whole));
        place
    }

    /// The object that several nodes describe together; mostly there is one.
    fn object(&mut self, nodes: &[Node<'a>]) -> Shape<'a> {
        let mut declared = NameSet::default();
        let mut required = NameSet::default();
        let mut properties = Vec::new();
        for node in nodes {
            let own = node.schema.get("properties").and_then(Json::as_object);
            for (name, schema) in own.into_iter().flatten() {
                if declared.insert(name) {
                    properties.push((&**name, node.below(schema)));
                }
            }
            let names = node.schema.get("required").and_then(Json::as_array);
            for name in names.into_iter().flat_map(|names| names.iter()).filter_map(Json::as_str) {
                required.insert(name);
            }
        }
        let undeclared = |name: &&str| !declared.contains(name);
        let undeclared = required.names().filter(undeclared).map(|name| (name, Node::SILENT));
        properties.extend(undeclared);
        if properties.is_empty()
            && let Some((values, node)) = record_values(nodes)
        {
            return Shape::Record(self.place(values, node));
        }
        let run = self.shapes.reserve(properties.len());
        let mut members = self.shapes.start_members();
        members.open = !nodes.iter().any(|node| is_closed(node.schema));
        for (shape, &(name, node)) in run.iter().zip(&properties) {
            let member = Member {
                name,
                required: required.contains(name),
                shape,
                doc: self.doc(node.schema),
            };
            self.shapes.push_member(&mut members, member);
        }
        let nodes = properties.into_iter().map(|(_, node)| (node, View::Whole));
        self.work
            .extend(run.iter().zip(nodes).map(|(place, (node, view))| (place, node, view)).rev());
        Shape::Object(members)
    }

    /// A node with references or `allOf`: its own part first, then what they lead to.
    fn combined(&mut self, node: Node<'a>) -> Shape<'a> {
        let Parts { nodes, nullable } = self.parts(node);
        match (&*nodes, node.schema) {
            ([], Json::Object(object)) => match node.inherited {
                Some(inherited) => self.declared(inherited, node, object),
                None => Shape::Any,
            },
            (&[(only, view)], _) => {
                let shape = self.shape_of(only, view);
                self.with_null(shape, nullable)
            }
            (several, _) if several.iter().all(|(node, _)| node.is_object_like()) => {
                let nodes: Vec<_> = several.iter().map(|(node, _)| *node).collect();
                self.object(&nodes)
            }
            (several, _) => {
                let run = self.shapes.reserve(several.len());
                self.work.extend(
                    run.iter().zip(several).map(|(place, &(node, view))| (place, node, view)).rev(),
                );
                Shape::Intersection(run)
            }
        }
    }

    /// The parts that say something, with references followed and nested `allOf` opened.
    fn parts(&mut self, node: Node<'a>) -> Parts<'a> {
        self.combinations += 1;
        let mut parts = Parts { nodes: Vec::new(), nullable: false };
        let mut open = vec![(node, View::Own)];
        while let Some((node, view)) = open.pop() {
            let Json::Object(object) = node.schema else {
                if *node.schema == Json::Bool(false) {
                    parts.nodes.push((node, view));
                }
                continue;
            };
            if says_something(object) {
                parts.nodes.push((node, view));
            } else if matches!(view, View::Part) {
                parts.nullable |= is_nullable(object);
            }
            if !self.may_visit() {
                break;
            }
            let inherited = if object.contains_key("type") { None } else { node.inherited };
            let branches =
                object.get("allOf").and_then(non_empty).into_iter().flat_map(|all| all.iter());
            open.extend(
                branches.rev().map(|schema| (Node { schema, inherited, ..node }, View::Part)),
            );
            if let Some(reference) = object.get("$ref") {
                let target = self.follow(reference, node.path);
                let node =
                    target.map(|(schema, path)| Node { schema, inherited, path: Some(path) });
                open.extend(node.map(|node| (node, View::Part)));
            }
        }
        parts
    }

    /// What a reference leads to, unless that is where we are or nowhere.
    fn follow(&mut self, reference: &'a Json, path: Option<usize>) -> Option<(&'a Json, usize)> {
        let reference = reference.as_str()?;
        let Some(target) = self.references.resolve(reference) else {
            self.open.push(reference);
            return None;
        };
        let mut earlier = path;
        while let Some(step) = earlier.map(|index| &self.followed[index]) {
            if std::ptr::eq(step.target, target) {
                if step.combination == self.combinations {
                    self.open.push(reference);
                }
                return None;
            }
            earlier = step.before;
        }
        self.followed.push(Followed { target, before: path, combination: self.combinations });
        Some((target, self.followed.len() - 1))
    }

    /// A member's documentation: its own, else that of what it refers to.
    fn doc(&mut self, schema: &'a Json) -> Doc<'a> {
        let mut doc = Doc::default();
        let mut next = Some(schema);
        for _ in 0..MOST_DOC_STEPS {
            let Some(Json::Object(object)) = next else { break };
            if doc.description.is_empty() {
                doc.description =
                    object.get("description").and_then(Json::as_str).unwrap_or_default();
            }
            if doc.notes.is_none() && has_notes(object) {
                doc.notes = Some(object);
            }
            let reference = object.get("$ref").and_then(Json::as_str);
            next = reference.and_then(|reference| self.references.resolve(reference));
        }
        doc
    }
}

impl<'a> Node<'a> {
    /// A node that says nothing.
    const SILENT: Node<'static> = Node { schema: &Json::Null, inherited: None, path: None };

    /// A node below this one.
    fn below(&self, schema: &'a Json) -> Self {
        Self { schema, inherited: None, path: self.path }
    }

    /// Whether it describes an object and nothing else.
    fn is_object_like(&self) -> bool {
        let Json::Object(object) = self.schema else { return false };
        if literal_values(object).is_some() || union_branches(object).is_some() {
            return false;
        }
        match object.get("type").or(self.inherited) {
            Some(declared) => declared.as_str() == Some("object"),
            None => has_any(object, &OBJECT_KEYWORDS),
        }
    }
}

/// Whether a node has to be put together from parts.
fn is_combined(object: &Object) -> bool {
    object.contains_key("$ref") || object.get("allOf").and_then(non_empty).is_some()
}

/// Whether a node has a keyword of its own that bears on its type.
fn says_something(object: &Object) -> bool {
    object.contains_key("type")
        || literal_values(object).is_some()
        || union_branches(object).is_some()
        || has_any(object, &OBJECT_KEYWORDS)
        || has_any(object, &ARRAY_KEYWORDS)
}

fn is_nullable(object: &Object) -> bool {
    object.get("nullable") == Some(&Json::Bool(true))
}

fn is_closed(schema: &Json) -> bool {
    schema.get("additionalProperties") == Some(&Json::Bool(false)) && !has_patterns(schema)
}

fn has_patterns(schema: &Json) -> bool {
    schema
        .get("patternProperties")
        .and_then(Json::as_object)
        .is_some_and(|patterns| !patterns.is_empty())
}

fn has_any(object: &Object, keywords: &[&str]) -> bool {
    keywords.iter().any(|keyword| object.contains_key(keyword))
}

fn literal_values(object: &Object) -> Option<&[Json]> {
    match object.get("const") {
        Some(constant) => Some(std::slice::from_ref(constant)),
        None => object.get("enum").and_then(non_empty).map(|values| &**values),
    }
}

fn literals<'a>(values: &'a [Json], declared: Option<&Json>) -> Shape<'a> {
    if values.iter().any(|value| matches!(value, Json::Array(_) | Json::Object(_))) {
        return Shape::Any;
    }
    let integer = declared.and_then(Json::as_str) == Some("integer");
    Shape::Literals(Literals { values, integer })
}

/// The branches of `anyOf`, else of `oneOf`. Beside properties they do not count: they mostly say
/// which of those must be there.
fn union_branches(object: &Object) -> Option<&Array> {
    let branches =
        ["anyOf", "oneOf"].iter().find_map(|keyword| object.get(keyword).and_then(non_empty))?;
    let properties = object.get("properties").and_then(Json::as_object);
    properties.is_none_or(Object::is_empty).then_some(branches)
}

/// The schema of all values of an object without declared members, if one node gives it.
fn record_values<'a>(nodes: &[Node<'a>]) -> Option<(&'a Json, Node<'a>)> {
    if nodes.iter().any(|node| has_patterns(node.schema) || is_closed(node.schema)) {
        return None;
    }
    nodes.iter().find_map(|node| {
        let values = node.schema.get("additionalProperties")?;
        values.as_object().map(|_| (values, *node))
    })
}

fn non_empty(value: &Json) -> Option<&Array> {
    value.as_array().filter(|items| !items.is_empty())
}

/// A bound on the length of a list, if it is a whole number.
fn bound(object: &Object, keyword: &str) -> Option<usize> {
    object.get(keyword)?.as_u64()?.try_into().ok()
}
