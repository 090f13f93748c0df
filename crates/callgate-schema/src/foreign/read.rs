//! Reads schemas outside the subset, each node as well as types can say it.

use super::keywords::{Keywords, literal_shape};
use super::reference::References;
use crate::json::{Array, Json};
use crate::shape::{Doc, Member, NameSet, Run, Shape, ShapeId, Shapes, Tuple, is_noted};

/// Nodes visited per schema. References can multiply a small schema without end; what is left
/// over says nothing.
const MOST_VISITED: usize = 5_000;
/// References followed for a member's documentation.
const MOST_DOC_STEPS: usize = 32;

/// Reads a schema into `place` and returns the references in it that lead nowhere.
pub(crate) fn read<'a>(shapes: &mut Shapes<'a>, place: ShapeId, schema: &'a Json) -> Vec<&'a str> {
    let root = Node { schema, inherited: None, path: None };
    let mut reader = Reader {
        shapes,
        references: References::new(schema),
        followed: Vec::new(),
        combinations: 0,
        visited: 0,
        work: vec![(place, root, View::Whole)],
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
    /// The type of the union it is a branch of, for want of its own.
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
    /// The same without `nullable`, which counts for what it is put together to.
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
    parts: Vec<Part<'a>>,
    /// Whether a node that led to a part, and said nothing else, allows null.
    nullable: bool,
}

#[derive(Clone, Copy)]
struct Part<'a> {
    node: Node<'a>,
    keywords: Keywords<'a>,
    view: View<'a>,
}

impl<'a> Reader<'a, '_> {
    fn may_visit(&mut self) -> bool {
        self.visited += 1;
        self.visited <= MOST_VISITED
    }

    fn shape_of(&mut self, node: Node<'a>, view: View<'a>) -> Shape<'a> {
        let keywords = match node.schema {
            Json::Object(object) => Keywords::of(object),
            Json::Bool(false) => return Shape::Never,
            _ => return Shape::Any,
        };
        let part = Part { node, keywords, view };
        match view {
            View::Typed(name) => self.typed(name, part),
            View::Own => self.own(part),
            View::Whole if keywords.is_combined() => {
                let shape = self.combined(part);
                self.with_null(shape, keywords.nullable)
            }
            View::Whole | View::Part => {
                let shape = self.own(part);
                self.with_null(shape, keywords.nullable)
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
    fn own(&mut self, part: Part<'a>) -> Shape<'a> {
        let Part { node, keywords, .. } = part;
        let declared = keywords.declared.or(node.inherited);
        if let Some(values) = keywords.literals() {
            return literal_shape(values, declared);
        }
        if let Some(branches) = keywords.branches() {
            return self.union(branches, Node { inherited: declared, ..node });
        }
        match declared {
            Some(declared) => self.declared(declared, part),
            None if keywords.suggest_object() => self.object(&[part]),
            None if keywords.suggest_list() => self.list(part),
            None => Shape::Any,
        }
    }

    fn declared(&mut self, declared: &'a Json, part: Part<'a>) -> Shape<'a> {
        match declared {
            Json::String(name) => self.typed(name, part),
            Json::Array(names) if !names.is_empty() => {
                let views = names.iter().map(|name| View::Typed(name.as_str().unwrap_or_default()));
                Shape::Union(self.place_all(views.map(|view| (part.node, view))))
            }
            _ => Shape::Any,
        }
    }

    fn typed(&mut self, name: &str, part: Part<'a>) -> Shape<'a> {
        match name {
            "string" => Shape::String,
            "number" => Shape::Number,
            "integer" => Shape::Integer,
            "boolean" => Shape::Boolean,
            "null" => Shape::Null,
            "object" => self.object(&[part]),
            "array" => self.list(part),
            _ => Shape::Any,
        }
    }

    fn union(&mut self, branches: &'a Array, node: Node<'a>) -> Shape<'a> {
        let nodes = branches.iter().map(|schema| (Node { schema, ..node }, View::Whole));
        Shape::Union(self.place_all(nodes))
    }

    fn list(&mut self, part: Part<'a>) -> Shape<'a> {
        let Part { node, keywords, .. } = part;
        let (positions, rest) = match (keywords.prefix_items, keywords.items) {
            (Some(positions), rest) => (positions, rest),
            // Draft 7 and before.
            (None, Some(Json::Array(positions))) => (positions, keywords.additional_items),
            (None, items) => return Shape::List(items.map(|items| self.place(items, node))),
        };
        let count = positions.len();
        if count == 0 {
            return Shape::List(rest.map(|rest| self.place(rest, node)));
        }
        let is_full = keywords.max_items.is_some_and(|most| most <= count);
        let rest = match rest.unwrap_or(&Json::Bool(true)) {
            Json::Bool(false) => None,
            _ if is_full => None,
            rest => Some(self.place(rest, node)),
        };
        let positions =
            self.place_all(positions.iter().map(|schema| (node.below(schema), View::Whole)));
        let required = keywords.min_items.unwrap_or(0).min(count);
        Shape::Tuple(Tuple { positions, required, rest })
    }

    /// The object that several nodes describe together; mostly there is one.
    fn object(&mut self, parts: &[Part<'a>]) -> Shape<'a> {
        let mut declared = NameSet::default();
        let mut required = NameSet::default();
        let mut properties = Vec::new();
        for Part { node, keywords, .. } in parts {
            for (name, schema) in keywords.properties.into_iter().flatten() {
                if declared.insert(name) {
                    properties.push((&**name, node.below(schema)));
                }
            }
            let names = keywords.required.into_iter().flatten().filter_map(Json::as_str);
            names.for_each(|name| {
                required.insert(name);
            });
        }
        let undeclared = required.names().filter(|name| !declared.contains(name));
        properties.extend(undeclared.map(|name| (name, Node::SILENT)));
        if properties.is_empty()
            && let Some((values, node)) = record_values(parts)
        {
            return Shape::Record(self.place(values, node));
        }
        let run = self.place_all(properties.iter().map(|&(_, node)| (node, View::Whole)));
        let mut members = self.shapes.start_members();
        members.open = !parts.iter().any(|part| part.keywords.are_closed());
        for (shape, (name, node)) in run.iter().zip(properties) {
            let (required, doc) = (required.contains(name), self.doc(node.schema));
            self.shapes.push_member(&mut members, Member { name, required, shape, doc });
        }
        Shape::Object(members)
    }

    /// Reserves a place for the shape of a schema below `node`.
    fn place(&mut self, schema: &'a Json, node: Node<'a>) -> ShapeId {
        self.place_all([(node.below(schema), View::Whole)].into_iter()).only()
    }

    /// Reserves places for the shapes of nodes, which are read next, in this order.
    fn place_all<I>(&mut self, nodes: I) -> Run
    where
        I: DoubleEndedIterator<Item = (Node<'a>, View<'a>)> + ExactSizeIterator,
    {
        let run = self.shapes.reserve(nodes.len());
        let work = run.iter().zip(nodes).map(|(place, (node, view))| (place, node, view));
        self.work.extend(work.rev());
        run
    }

    /// A node with references or `allOf`: its own part first, then what they lead to.
    fn combined(&mut self, whole: Part<'a>) -> Shape<'a> {
        let Parts { parts, nullable } = self.parts(whole.node);
        match *parts {
            [] => match whole.node.inherited {
                Some(inherited) => self.declared(inherited, whole),
                None => Shape::Any,
            },
            [Part { node, view, .. }] => {
                let shape = self.shape_of(node, view);
                self.with_null(shape, nullable)
            }
            _ if parts.iter().all(Part::is_object_like) => self.object(&parts),
            _ => {
                Shape::Intersection(self.place_all(parts.iter().map(|part| (part.node, part.view))))
            }
        }
    }

    /// The parts that say something, with references followed and nested `allOf` opened.
    fn parts(&mut self, whole: Node<'a>) -> Parts<'a> {
        self.combinations += 1;
        let mut found = Parts { parts: Vec::new(), nullable: false };
        let mut open = vec![(whole, View::Own)];
        while let Some((node, view)) = open.pop() {
            let keywords = match node.schema {
                Json::Object(object) => Keywords::of(object),
                Json::Bool(false) => Keywords::default(),
                _ => continue,
            };
            if keywords.say_something() || !matches!(node.schema, Json::Object(_)) {
                found.parts.push(Part { node, keywords, view });
            } else if matches!(view, View::Part) {
                found.nullable |= keywords.nullable;
            }
            if !self.may_visit() {
                break;
            }
            let inherited = node.inherited.filter(|_| keywords.declared.is_none());
            let below = |schema, path| (Node { schema, inherited, path }, View::Part);
            let branches = keywords.all_of.into_iter().flatten();
            open.extend(branches.rev().map(|schema| below(schema, node.path)));
            let target = keywords.reference.and_then(|reference| self.follow(reference, node.path));
            open.extend(target.map(|(schema, path)| below(schema, Some(path))));
        }
        found
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
            let (mut description, mut reference, mut noted) = ("", None, false);
            for (keyword, value) in object {
                match (&**keyword, value) {
                    ("description", Json::String(text)) => description = text,
                    ("$ref", Json::String(text)) => reference = Some(&**text),
                    (keyword, _) => noted |= is_noted(keyword),
                }
            }
            if doc.description.is_empty() {
                doc.description = description;
            }
            if doc.notes.is_none() && noted {
                doc.notes = Some(object);
            }
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
}

impl Part<'_> {
    /// Whether it describes an object and nothing else.
    fn is_object_like(&self) -> bool {
        self.keywords.are_object_like(self.node.inherited)
    }
}

/// The schema of all values of an object without declared members, if one part gives it.
fn record_values<'a>(parts: &[Part<'a>]) -> Option<(&'a Json, Node<'a>)> {
    if parts.iter().any(|part| part.keywords.have_patterns() || part.keywords.are_closed()) {
        return None;
    }
    parts.iter().find_map(|part| {
        let values = part.keywords.additional.filter(|values| values.as_object().is_some());
        values.map(|values| (values, part.node))
    })
}
