//! The fast answer: does a value hold?
//!
//! Everything that must hold waits on one stack. A union opens an attempt for each of its branches in turn; what the
//! branch demands lies above the attempt's floor, and is thrown away when the branch fails.

use super::node::{Node, NodeId, ObjectNode};
use crate::json::{Json, Object};

/// Whether the value is what the node demands.
pub(super) fn holds(nodes: &[Node], node: NodeId, value: &Json) -> bool {
    let mut check = Check { nodes, pending: Vec::new(), attempts: Vec::new() };
    if let Some(holds) = check.glance(node, value) {
        return holds;
    }
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

/// Room for the parts of ordinary arguments.
const FIRST_ROOM: usize = 16;

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

    /// Looks at one node and one value; their parts are put on the stack unless they can be judged at a glance.
    fn judge(&mut self, node: NodeId, value: &'a Json) -> Verdict {
        match (&self.nodes[node], value) {
            (Node::Object(node), Json::Object(object)) => self.object(node, object),
            (Node::Union(branches), _) => self.union(branches, value),
            (Node::Array(Some(item)), Json::Array(array)) => {
                self.pending.extend(array.iter().rev().map(|value| (*item, value)));
                Verdict::Pending
            }
            _ => self.glance(node, value).unwrap_or(false).into(),
        }
    }

    /// The verdict where no stack is needed.
    #[inline]
    fn glance(&self, node: NodeId, value: &Json) -> Option<bool> {
        match (&self.nodes[node], value) {
            (Node::Scalar(scalar), _) => Some(scalar.admits(value)),
            (Node::Any, _) | (Node::Array(None), Json::Array(_)) => Some(true),
            (Node::Array(Some(item)), Json::Array(array)) => match &self.nodes[*item] {
                Node::Scalar(scalar) => Some(array.iter().all(|value| scalar.admits(value))),
                Node::Any => Some(true),
                _ => array.is_empty().then_some(true),
            },
            (Node::Object(_), Json::Object(_)) => None,
            (Node::Union(branches), _) => {
                let mut matched = 0;
                for branch in branches {
                    let is_union = matches!(self.nodes[*branch], Node::Union(_));
                    matched +=
                        usize::from(if is_union { None } else { self.glance(*branch, value) }?);
                }
                Some(matched == 1)
            }
            (Node::Array(_) | Node::Object(_), _) => Some(false),
        }
    }

    /// Judges a part at a glance or puts it off; `false` if it fails already.
    #[inline]
    fn part(&mut self, node: NodeId, value: &'a Json) -> bool {
        self.glance(node, value).unwrap_or_else(|| {
            if self.pending.capacity() == 0 {
                self.pending.reserve_exact(FIRST_ROOM);
            }
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
        let mut entries = object.entries().iter();
        for part in &node.parts {
            // Members mostly come in the order in which they are declared.
            let value = match entries.as_slice().first() {
                Some((key, value)) if *key == part.name => {
                    entries.next();
                    Some(value)
                }
                _ => object.get(&part.name),
            };
            match value {
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

    /// Counts the branches that can be judged at a glance; opens an attempt only if that leaves more than one answer.
    fn union(&mut self, branches: &'a [NodeId], value: &'a Json) -> Verdict {
        let (mut matched, mut open, mut last_open) = (0, 0, None);
        for branch in branches {
            if let Some(holds) = self.glance(*branch, value) {
                matched += usize::from(holds);
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
