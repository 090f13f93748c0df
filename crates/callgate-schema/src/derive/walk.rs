//! The walk over a derived schema: depth-first in its order, up to the first part that cannot be lowered.

use super::Role;
use super::close::{one_of_the_types, scalar};
use super::keywords::{
    ANNOTATIONS, NOTED, OF_ARRAYS, OF_OBJECTS, OF_SCALARS, Type, decode, is_dropped,
};
use crate::json::{Json, Object, Str};
use crate::schema::SchemaError;
use crate::trail::{Crumb, Place, Trail};
use crate::violation::{Violation, ViolationKind};

/// The lowered form, not yet asserted.
pub(super) fn lower(derived: &Json, role: Role) -> Result<Json, SchemaError> {
    let mut walk = Walk {
        root: derived,
        role,
        trail: Trail::new(),
        references: vec![Reference { target: "#".into(), outer: None }],
        pending: Vec::new(),
        done: Vec::new(),
        nodes: 0,
    };
    walk.pending.push(Task::Node {
        schema: derived,
        at: At { place: Trail::ROOT, inside: 0, is_root: true },
    });
    walk.run()
}

pub(super) struct Walk<'a> {
    root: &'a Json,
    pub(super) role: Role,
    trail: Trail,
    references: Vec<Reference>,
    /// The next task is on top.
    pending: Vec<Task<'a>>,
    /// Lowered schemas whose parent is not lowered yet, in order.
    done: Vec<Json>,
    nodes: usize,
}

/// A type that is being written out, and the one it is written out in.
struct Reference {
    target: Str,
    outer: Option<usize>,
}

#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) place: Place,
    /// The innermost of the references that are being written out.
    inside: usize,
    pub(super) is_root: bool,
}

enum Task<'a> {
    Node {
        schema: &'a Json,
        at: At,
    },
    /// One of the types of a node; its annotations go onto the union if there are several.
    Typed {
        node: &'a Object,
        kind: Type,
        at: At,
        alone: bool,
    },
    /// After the parts of a node.
    Close(Close<'a>),
}

/// What becomes of the lowered parts of a node.
#[derive(Clone, Copy)]
pub(super) struct Close<'a> {
    pub(super) how: How,
    pub(super) node: &'a Object,
    pub(super) at: At,
    /// Whether the node has one type only, so that its annotations are about that.
    pub(super) alone: bool,
    pub(super) parts: usize,
}

#[derive(Clone, Copy)]
pub(super) enum How {
    /// Annotations beside a reference or a lone `allOf` go over those of the target.
    Annotate,
    Object,
    Items,
    Tuple,
    Types,
    AnyOf,
    OneOf,
}

/// More nodes are no schema anybody could read: types that use each other in many places multiply when written out.
const MOST_NODES: usize = 20_000;

impl<'a> Walk<'a> {
    fn run(mut self) -> Result<Json, SchemaError> {
        while let Some(task) = self.pending.pop() {
            match task {
                Task::Node { schema, at } => self.node(schema, at)?,
                Task::Typed { node, kind, at, alone } => self.typed(node, kind, at, alone)?,
                Task::Close(close) => {
                    let lowered = self.close(close)?;
                    self.done.push(lowered);
                }
            }
        }
        Ok(self.done.pop().unwrap_or_default())
    }

    fn node(&mut self, schema: &'a Json, at: At) -> Result<(), SchemaError> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            let message = format!(
                "written out, the types have more than {MOST_NODES} nodes; use `Json` for a part of them"
            );
            return Err(self.fault(at.place, message));
        }
        let node = match schema {
            Json::Bool(true) => {
                self.done.push(Object::default().into());
                return Ok(());
            }
            Json::Bool(false) => {
                return Err(self.fault(at.place, "no value can be `false`; leave the member out"));
            }
            Json::Object(node) => node,
            other => {
                return Err(self.fault(
                    at.place,
                    format!("a schema is an object, not {}", other.kind().described()),
                ));
            }
        };
        self.vocabulary(node, at)?;
        if node.contains_key("$ref") {
            return self.reference(node, at);
        }
        match self.combinator(node, at)? {
            Some(keyword) => self.combined(node, keyword, at),
            None => self.plain(node, at),
        }
    }

    /// Refuses the first keyword that no rule covers.
    fn vocabulary(&mut self, node: &Object, at: At) -> Result<(), SchemaError> {
        let known = |keyword: &str| {
            matches!(keyword, "type" | "$ref" | "anyOf" | "oneOf" | "allOf")
                || is_dropped(keyword)
                || [&ANNOTATIONS[..], &NOTED, &OF_OBJECTS, &OF_ARRAYS, &OF_SCALARS]
                    .iter()
                    .any(|group| group.contains(&keyword))
        };
        match node.keys().find(|keyword| !known(keyword)) {
            None => Ok(()),
            Some(keyword) => {
                let message =
                    "has no form in the enforced subset; use a type without it, or `Json`";
                Err(self.fault_at(at.place, Crumb::Name(keyword.clone()), message))
            }
        }
    }

    fn reference(&mut self, node: &'a Object, at: At) -> Result<(), SchemaError> {
        let beside = node
            .keys()
            .find(|key| ***key != *"$ref" && !is_dropped(key) && !ANNOTATIONS.contains(&&***key));
        if let Some(keyword) = beside {
            let message = "stands beside a reference, as a tag beside a variant with a named struct does; write the fields into the variant, or give the content a member of its own";
            return Err(self.fault_at(at.place, Crumb::Name(keyword.clone()), message));
        }
        let pointer = node.get("$ref").and_then(Json::to_str).unwrap_or_default();
        let Some(target) = self.target(&pointer) else {
            let message = format!("`{pointer}` is not a type of this schema");
            return Err(self.fault_at(at.place, Crumb::Keyword("$ref"), message));
        };
        self.put_off(Close { how: How::Annotate, node, at, alone: true, parts: 1 });
        if self.is_open(&pointer, at) {
            self.done.push(shallow(target));
            return Ok(());
        }
        self.references.push(Reference { target: pointer, outer: Some(at.inside) });
        let at = At { inside: self.references.len() - 1, ..at };
        self.pending.push(Task::Node { schema: target, at });
        Ok(())
    }

    fn target(&self, pointer: &str) -> Option<&'a Json> {
        if pointer == "#" {
            return Some(self.root);
        }
        let name = pointer.strip_prefix("#/$defs/")?;
        self.root.get("$defs")?.get(&decode(name)?)
    }

    /// Whether a type is already being written out around a place.
    fn is_open(&self, target: &str, at: At) -> bool {
        let mut inside = Some(at.inside);
        while let Some(place) = inside {
            if *self.references[place].target == *target {
                return true;
            }
            inside = self.references[place].outer;
        }
        false
    }

    /// The one keyword that puts other schemas together, if there is one; it must stand alone.
    fn combinator(&mut self, node: &Object, at: At) -> Result<Option<&'static str>, SchemaError> {
        let Some(keyword) =
            ["anyOf", "oneOf", "allOf"].into_iter().find(|keyword| node.contains_key(keyword))
        else {
            return Ok(None);
        };
        let alone = node
            .keys()
            .all(|key| **key == *keyword || is_dropped(key) || ANNOTATIONS.contains(&&**key));
        if alone {
            return Ok(Some(keyword));
        }
        let message = "stands beside other constraints, as a flattened enum does; give the enum a field of its own";
        Err(self.fault_at(at.place, Crumb::Keyword(keyword), message))
    }

    fn combined(
        &mut self,
        node: &'a Object,
        keyword: &'static str,
        at: At,
    ) -> Result<(), SchemaError> {
        let place = self.trail.below(at.place, Crumb::Keyword(keyword));
        let branches =
            node.get(keyword).and_then(Json::as_array).map_or(&[][..], |branches| branches);
        let parts = branches.len();
        if parts == 0 {
            return Err(self.fault(place, "must be a list of schemas"));
        }
        if keyword == "allOf" && parts > 1 {
            return Err(self.fault(
                place,
                "several schemas at once have no form in the enforced subset; merge the types",
            ));
        }
        let (how, at_close) = match keyword {
            "anyOf" => (How::AnyOf, At { place, ..at }),
            "oneOf" => (How::OneOf, at),
            _ => (How::Annotate, at),
        };
        self.put_off(Close { how, node, at: at_close, alone: true, parts });
        for (index, schema) in branches.iter().enumerate().rev() {
            let place = self.trail.below(place, Crumb::Index(index));
            let is_root = at.is_root && parts == 1;
            self.pending.push(Task::Node { schema, at: At { place, is_root, ..at } });
        }
        Ok(())
    }

    /// A node that says itself what it takes.
    fn plain(&mut self, node: &'a Object, at: At) -> Result<(), SchemaError> {
        let kinds = match node.get("type") {
            Some(declared) => self.declared_types(declared, at)?,
            None => self.inferred_types(node, at)?,
        };
        if !kinds.is_empty() {
            self.misplaced(node, &kinds, at)?;
        }
        match kinds[..] {
            [] => {
                let annotated = self.annotated(Object::builder(), node, at);
                self.done.push(annotated);
            }
            [kind] => self.pending.push(Task::Typed { node, kind, at, alone: true }),
            _ => {
                self.put_off(Close { how: How::Types, node, at, alone: true, parts: kinds.len() });
                let tasks = kinds.into_iter().rev().map(|kind| Task::Typed {
                    node,
                    kind,
                    at,
                    alone: false,
                });
                self.pending.extend(tasks);
            }
        }
        Ok(())
    }

    fn declared_types(&mut self, declared: &Json, at: At) -> Result<Vec<Type>, SchemaError> {
        let names = declared.as_array().map_or(std::slice::from_ref(declared), |names| names);
        let mut kinds = Vec::new();
        for name in names {
            match name.as_str().and_then(Type::of) {
                Some(kind) if !kinds.contains(&kind) => kinds.push(kind),
                Some(_) => {}
                None => {
                    return Err(self.fault_at(
                        at.place,
                        Crumb::Keyword("type"),
                        "is no type of JSON Schema",
                    ));
                }
            }
        }
        let has = |name: &str| Type::of(name).is_some_and(|kind| kinds.contains(&kind));
        if kinds.is_empty() || (has("integer") && has("number")) {
            let message = "must name types of which no value has two; every integer is a number";
            return Err(self.fault_at(at.place, Crumb::Keyword("type"), message));
        }
        Ok(kinds)
    }

    /// The type of literals without a declared one; none if the node takes anything.
    fn inferred_types(&mut self, node: &Object, at: At) -> Result<Vec<Type>, SchemaError> {
        let structural =
            OF_OBJECTS.iter().chain(&OF_ARRAYS).find(|keyword| node.contains_key(keyword));
        if let Some(keyword) = structural {
            return Err(self.fault_at(at.place, Crumb::Keyword(keyword), "needs a type beside it"));
        }
        let Some(keyword) = OF_SCALARS.into_iter().find(|keyword| node.contains_key(keyword))
        else {
            return Ok(Vec::new());
        };
        let literals: Vec<&Json> = node
            .get("enum")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .chain(node.get("const"))
            .collect();
        let fits = |name: &&str| match Type::of(name) {
            Some(Type::Scalar(kind, _)) => {
                !literals.is_empty() && literals.iter().all(|literal| kind.admits(literal))
            }
            _ => false,
        };
        match ["string", "integer", "number", "boolean", "null"]
            .into_iter()
            .find(fits)
            .and_then(Type::of)
        {
            Some(kind) => Ok(vec![kind]),
            None => Err(self.fault_at(
                at.place,
                Crumb::Keyword(keyword),
                "must hold values of one scalar type",
            )),
        }
    }

    fn typed(
        &mut self,
        node: &'a Object,
        kind: Type,
        at: At,
        alone: bool,
    ) -> Result<(), SchemaError> {
        match kind {
            Type::Object => self.object(node, at, alone),
            Type::Array => {
                self.array(node, at, alone);
                Ok(())
            }
            Type::Scalar(kind, name) => {
                let lowered = if alone {
                    self.annotated(scalar(node, name), node, at)
                } else {
                    one_of_the_types(node, kind, name)
                };
                self.done.push(lowered);
                Ok(())
            }
        }
    }

    /// Refuses what would mean nothing for these types, and so was meant as something else.
    fn misplaced(&mut self, node: &Object, kinds: &[Type], at: At) -> Result<(), SchemaError> {
        let no_scalar = kinds.iter().any(|kind| !matches!(kind, Type::Scalar(..)));
        let groups = [
            (!kinds.contains(&Type::Object)).then_some(&OF_OBJECTS[..]),
            (!kinds.contains(&Type::Array)).then_some(&OF_ARRAYS[..]),
            no_scalar.then_some(&OF_SCALARS[..]),
        ];
        match groups.into_iter().flatten().flatten().find(|keyword| node.contains_key(keyword)) {
            None => Ok(()),
            Some(keyword) => {
                Err(self.fault_at(at.place, Crumb::Keyword(keyword), "belongs to another type"))
            }
        }
    }

    fn object(&mut self, node: &'a Object, at: At, alone: bool) -> Result<(), SchemaError> {
        let place = self.trail.below(at.place, Crumb::Keyword("properties"));
        let properties = match node.get("properties") {
            None => None,
            Some(Json::Object(properties)) => Some(properties),
            Some(_) => return Err(self.fault(place, "must be an object of schemas by name")),
        };
        let parts = properties.map_or(0, Object::len);
        self.put_off(Close { how: How::Object, node, at, alone, parts });
        for (name, schema) in properties.into_iter().flatten().rev() {
            let place = self.trail.below(place, Crumb::Name(name.clone()));
            self.pending
                .push(Task::Node { schema, at: At { place, inside: at.inside, is_root: false } });
        }
        Ok(())
    }

    fn array(&mut self, node: &'a Object, at: At, alone: bool) {
        let prefix = node.get("prefixItems").and_then(Json::as_array);
        let items =
            node.get("items").filter(|items| prefix.is_none() || **items != Json::Bool(false));
        let how = if prefix.is_some() { How::Tuple } else { How::Items };
        let parts = prefix.map_or(0, |prefix| prefix.len()) + usize::from(items.is_some());
        self.put_off(Close { how, node, at, alone, parts });
        if let Some(schema) = items {
            let place = self.trail.below(at.place, Crumb::Keyword("items"));
            self.pending
                .push(Task::Node { schema, at: At { place, inside: at.inside, is_root: false } });
        }
        let place = self.trail.below(at.place, Crumb::Keyword("prefixItems"));
        for (index, schema) in prefix.map_or(&[][..], |prefix| prefix).iter().enumerate().rev() {
            let place = self.trail.below(place, Crumb::Index(index));
            self.pending
                .push(Task::Node { schema, at: At { place, inside: at.inside, is_root: false } });
        }
    }

    fn put_off(&mut self, close: Close<'a>) {
        self.pending.push(Task::Close(close));
    }

    pub(super) fn take_done(&mut self, count: usize) -> std::vec::IntoIter<Json> {
        self.done.split_off(self.done.len() - count).into_iter()
    }

    fn fault_at(&mut self, place: Place, crumb: Crumb, message: impl Into<Str>) -> SchemaError {
        let place = self.trail.below(place, crumb);
        self.fault(place, message)
    }

    pub(super) fn fault(&self, place: Place, message: impl Into<Str>) -> SchemaError {
        let path = self.trail.path(place);
        SchemaError::new(vec![Violation::new("schema", path, ViolationKind::NotLowerable, message)])
    }
}

/// What stands for a type inside itself.
fn shallow(target: &Json) -> Json {
    let lowered = match target.get("type").and_then(Json::as_str) {
        Some("object") => {
            Object::builder().with("type", "object").with("additionalProperties", true)
        }
        Some("array") => Object::builder().with("type", "array"),
        _ => Object::builder(),
    };
    lowered.build().into()
}
