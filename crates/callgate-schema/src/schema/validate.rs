//! The slow answer: everything that is wrong with a value, in order.

use super::node::{Node, NodeId, ObjectNode, Scalar};
use super::{SubsetSchema, check};
use crate::json::{Json, Object, Str};
use crate::trail::{Crumb, Place, Trail};
use crate::violation::{Finding, Violation, ViolationKind, Violations};

pub(super) fn violations(schema: &SubsetSchema, value: &Json, root: &str) -> Violations {
    let walk = Walk {
        schema,
        root: root.into(),
        trail: Trail::new(),
        pending: vec![Task::Value { node: Node::ROOT, value, place: Trail::ROOT }],
        found: Vec::new(),
    };
    walk.run().into()
}

struct Walk<'a> {
    schema: &'a SubsetSchema,
    root: Str,
    trail: Trail,
    /// The next task is on top.
    pending: Vec<Task<'a>>,
    found: Vec<Violation>,
}

enum Task<'a> {
    Value {
        node: NodeId,
        value: &'a Json,
        place: Place,
    },
    /// After the declared members of a closed object.
    Undeclared {
        node: NodeId,
        object: &'a Object,
        place: Place,
    },
}

impl<'a> Walk<'a> {
    fn run(mut self) -> Vec<Violation> {
        while let Some(task) = self.pending.pop() {
            match task {
                Task::Value { node, value, place } => self.value(node, value, place),
                Task::Undeclared { node, object, place } => self.undeclared(node, object, place),
            }
        }
        self.found
    }

    fn value(&mut self, id: NodeId, value: &'a Json, place: Place) {
        let schema = self.schema;
        match (&schema.nodes()[id], value) {
            (Node::Any, _) | (Node::Array(None), Json::Array(_)) => {}
            (Node::Scalar(scalar), _) => {
                if let Some(kind) = fault(scalar, value) {
                    self.report(place, kind, id, value, 0);
                }
            }
            (Node::Array(Some(item)), Json::Array(array)) => {
                for (index, value) in array.iter().enumerate().rev() {
                    let place = self.trail.below(place, Crumb::Index(index));
                    self.pending.push(Task::Value { node: *item, value, place });
                }
            }
            (Node::Object(node), Json::Object(object)) => {
                self.object(id, node, value, object, place);
            }
            (Node::Array(_) | Node::Object(_), _) => {
                self.report(place, ViolationKind::Type, id, value, 0);
            }
            (Node::Union(branches), _) => {
                let matched = check::matches(schema.nodes(), branches, value);
                if matched != 1 {
                    self.report(place, ViolationKind::OneOf, id, value, matched);
                }
            }
        }
    }

    fn object(
        &mut self,
        id: NodeId,
        node: &'a ObjectNode,
        value: &'a Json,
        object: &'a Object,
        place: Place,
    ) {
        for name in &node.required {
            if !object.contains_key(name) {
                let place = self.trail.below(place, Crumb::Name(name.clone()));
                self.report(place, ViolationKind::Required, id, value, 0);
            }
        }
        let present = node.present(object);
        if node.closed && present.len() < object.len() {
            self.pending.push(Task::Undeclared { node: id, object, place });
        }
        for (part, value) in present.into_iter().rev() {
            let name = node.declared.entries()[part].0.clone();
            let place = self.trail.below(place, Crumb::Name(name));
            self.pending.push(Task::Value { node: node.parts[part].node, value, place });
        }
    }

    fn undeclared(&mut self, id: NodeId, object: &'a Object, place: Place) {
        let Node::Object(node) = &self.schema.nodes()[id] else { return };
        for (name, value) in object {
            if !node.declared.contains_key(name) {
                let place = self.trail.below(place, Crumb::Name(name.clone()));
                self.report(place, ViolationKind::Additional, id, value, 0);
            }
        }
    }

    fn report(
        &mut self,
        place: Place,
        kind: ViolationKind,
        node: NodeId,
        value: &Json,
        matched: usize,
    ) {
        let finding = Finding { schema: self.schema.clone(), node, found: value.clone(), matched };
        self.found.push(Violation::found(self.root.clone(), self.trail.path(place), kind, finding));
    }
}

/// The one fault of a scalar: its type before its `enum` before its `const`.
fn fault(scalar: &Scalar, value: &Json) -> Option<ViolationKind> {
    if !scalar.kind.admits(value) {
        Some(ViolationKind::Type)
    } else if scalar.members.as_ref().is_some_and(|members| !members.contains(value)) {
        Some(ViolationKind::Enum)
    } else if scalar.constant.as_ref().is_some_and(|constant| constant != value) {
        Some(ViolationKind::Const)
    } else {
        None
    }
}
