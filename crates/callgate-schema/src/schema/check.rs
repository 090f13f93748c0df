//! The fast answer: does a value hold?
//!
//! Everything that must hold waits on one stack. A union opens an attempt for each of its branches in turn; what the
//! branch demands lies above the attempt's floor, and is thrown away when the branch fails.

use super::node::{Node, NodeId, ObjectNode};
use crate::json::{Json, Object};

/// Whether the value is what the node demands.
pub(super) fn holds(nodes: &[Node], node: NodeId, value: &Json) -> bool {
    let mut check = Check { nodes, pending: Vec::new(), attempts: Vec::new() };
    match check.judge(node, value) {
        Verdict::Fails => false,
        Verdict::Holds => true,
        Verdict::Pending => check.run(),
    }
}

/// How many branches of a union accept the value.
pub(super) fn matches(nodes: &[Node], branches: &[NodeId], value: &Json) -> usize {
    branches.iter().filter(|branch| holds(nodes, **branch, value)).count()
}

struct Check<'a> {
    nodes: &'a [Node],
    /// What must still hold.
    pending: Vec<(NodeId, &'a Json)>,
    attempts: Vec<Attempt<'a>>,
}

/// A union that is being tried, branch by branch.
struct Attempt<'a> {
    rest: std::slice::Iter<'a, NodeId>,
    value: &'a Json,
    matched: usize,
    /// What lies above belongs to the branch being tried.
    floor: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Holds,
    Fails,
    /// It holds if what was put on the stack does.
    Pending,
}

impl From<bool> for Verdict {
    fn from(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }
}

impl<'a> Check<'a> {
    fn run(mut self) -> bool {
        loop {
            let floor = self.attempts.last().map_or(0, |attempt| attempt.floor);
            let next = if self.pending.len() > floor { self.pending.pop() } else { None };
            let held = match next {
                None => true,
                Some((node, value)) if self.judge(node, value) == Verdict::Fails => false,
                Some(_) => continue,
            };
            if let Some(verdict) = self.settle(held) {
                return verdict;
            }
        }
    }

    /// The branch being tried, or the whole check, is decided. Answers if that decides the whole.
    fn settle(&mut self, mut held: bool) -> Option<bool> {
        loop {
            let Some(attempt) = self.attempts.last_mut() else { return Some(held) };
            self.pending.truncate(attempt.floor);
            attempt.matched += usize::from(held);
            if attempt.matched < 2
                && let Some(branch) = attempt.rest.next()
            {
                self.pending.push((*branch, attempt.value));
                return None;
            }
            held = attempt.matched == 1;
            self.attempts.pop();
            if held {
                return None;
            }
        }
    }

    /// Looks at one node and one value; their parts are put on the stack unless they can be judged at once.
    fn judge(&mut self, node: NodeId, value: &'a Json) -> Verdict {
        let nodes = self.nodes;
        match (&nodes[node], value) {
            (Node::Any, _) | (Node::Array(None), Json::Array(_)) => Verdict::Holds,
            (Node::Scalar(scalar), _) => scalar.admits(value).into(),
            (Node::Array(Some(item)), Json::Array(array)) => {
                self.all(array.iter().map(|value| (*item, value)))
            }
            (Node::Object(node), Json::Object(object)) => self.object(node, object),
            (Node::Array(_) | Node::Object(_), _) => Verdict::Fails,
            (Node::Union(branches), _) => self.union(branches, value),
        }
    }

    fn all(&mut self, parts: impl Iterator<Item = (NodeId, &'a Json)>) -> Verdict {
        let before = self.pending.len();
        for (node, value) in parts {
            if !self.part(node, value) {
                return Verdict::Fails;
            }
        }
        if self.pending.len() > before { Verdict::Pending } else { Verdict::Holds }
    }

    /// Judges leaves at once and puts everything else off; `false` if it fails already.
    fn part(&mut self, node: NodeId, value: &'a Json) -> bool {
        leaf(&self.nodes[node], value).unwrap_or_else(|| {
            self.pending.push((node, value));
            true
        })
    }

    fn object(&mut self, node: &'a ObjectNode, object: &'a Object) -> Verdict {
        let before = self.pending.len();
        let present = if node.is_sparse(object) {
            self.few_members(node, object)
        } else {
            self.members(node, object)
        };
        match present {
            None => Verdict::Fails,
            Some(present) if node.closed && present < object.len() => Verdict::Fails,
            Some(_) if self.pending.len() > before => Verdict::Pending,
            Some(_) => Verdict::Holds,
        }
    }

    /// Goes through what could be there, and counts what is.
    fn members(&mut self, node: &'a ObjectNode, object: &'a Object) -> Option<usize> {
        let mut present = 0;
        for (place, (name, part)) in node.declared.keys().zip(&node.parts).enumerate() {
            match object.get_near(name, place) {
                Some(value) if self.part(part.node, value) => present += 1,
                None if !part.required => {}
                _ => return None,
            }
        }
        Some(present)
    }

    /// Goes through what is there, and counts what is declared.
    fn few_members(&mut self, node: &'a ObjectNode, object: &'a Object) -> Option<usize> {
        let (mut present, mut required) = (0, 0);
        for (name, value) in object {
            let Some(place) = node.declared.position(name) else { continue };
            let part = &node.parts[place];
            present += 1;
            required += usize::from(part.required);
            if !self.part(part.node, value) {
                return None;
            }
        }
        (required == node.required_parts).then_some(present)
    }

    /// Counts the branches that can be judged at once; opens an attempt only if that leaves more than one answer.
    fn union(&mut self, branches: &'a [NodeId], value: &'a Json) -> Verdict {
        let (mut matched, mut open, mut last_open) = (0, 0, None);
        for branch in branches {
            if let Some(verdict) = leaf(&self.nodes[*branch], value) {
                matched += usize::from(verdict);
            } else {
                open += 1;
                last_open = Some(*branch);
            }
        }
        match (matched, open, last_open) {
            (2.., _, _) => Verdict::Fails,
            (_, 0, _) => (matched == 1).into(),
            (0, 1, Some(branch)) => {
                self.pending.push((branch, value));
                Verdict::Pending
            }
            _ => {
                let mut rest = branches.iter();
                let first = rest.next().map(|branch| (*branch, value));
                self.attempts.push(Attempt { rest, value, matched: 0, floor: self.pending.len() });
                self.pending.extend(first);
                Verdict::Pending
            }
        }
    }
}

/// The verdict where no stack is needed.
fn leaf(node: &Node, value: &Json) -> Option<bool> {
    match (node, value) {
        (Node::Any, _) | (Node::Array(None), Json::Array(_)) => Some(true),
        (Node::Scalar(scalar), _) => Some(scalar.admits(value)),
        (Node::Array(Some(_)), Json::Array(_))
        | (Node::Object(_), Json::Object(_))
        | (Node::Union(_), _) => None,
        (Node::Array(_) | Node::Object(_), _) => Some(false),
    }
}
