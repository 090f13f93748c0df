//! The calls of a session as a tree, read from its events: from a live session as well as from a stored log.

use std::collections::HashMap;
use std::time::Duration;

use callgate::session::{Content, Event, EventBody, PolicyVerdict};
use callgate::{Json, RUN_CODE, Str};

/// The calls of a session in the order they were started, each below the call whose program made it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    nodes: Vec<CallNode>,
    roots: Vec<usize>,
    /// The newest call of each id.
    by_id: HashMap<Str, usize>,
    /// How many calls of programs are still running.
    running: usize,
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct CallNode {
    pub(crate) id: Str,
    pub(crate) tool: Str,
    pub(crate) arguments: Json,
    pub(crate) state: CallState,
    /// What rules and approvers said about it.
    pub(crate) decisions: Vec<Decided>,
    /// From its start to its end, once it has ended.
    pub(crate) took: Option<Duration>,
    /// The calls its program made.
    pub(crate) children: Vec<usize>,
    started_ms: u64,
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallState {
    Running,
    Succeeded,
    /// With what the caller was told.
    Failed(String),
}

/// A decision about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) verdict: PolicyVerdict,
    pub(crate) rule: Option<Str>,
    pub(crate) reason: Option<Str>,
}

impl Calls {
    /// Takes over what an event says about calls.
    pub(crate) fn feed(&mut self, event: &Event) {
        match &event.body {
            EventBody::ToolCall(call) => {
                let text = &call.arguments;
                let arguments = if text.is_empty() { "{}" } else { text };
                let arguments = Json::parse(arguments).unwrap_or_else(|_| Json::from(text));
                self.start(event.time, &call.call_id, &call.name, arguments, None);
            }
            EventBody::CodeDispatchStart(call) => {
                let parent = Some(&call.parent_call_id);
                self.start(
                    event.time,
                    &call.sub_call_id,
                    &call.name,
                    call.arguments.clone(),
                    parent,
                );
            }
            EventBody::PolicyDecision(decision) => {
                if let Some(node) = self.get_mut(&decision.call_id) {
                    node.decisions.push(Decided {
                        verdict: decision.decision,
                        rule: decision.rule.clone(),
                        reason: decision.reason.clone(),
                    });
                }
            }
            EventBody::CodeDispatch(end) => {
                self.settle(event.time, &end.sub_call_id, end.is_error, &end.content);
            }
            EventBody::ToolResult(end) => {
                let message = &end.message;
                self.settle(event.time, &message.call_id, message.is_error, &message.content);
            }
            _ => {}
        }
    }

    fn start(&mut self, time: u64, id: &Str, tool: &Str, arguments: Json, parent: Option<&Str>) {
        let index = self.nodes.len();
        match parent.and_then(|parent| self.by_id.get(parent)) {
            Some(parent) => {
                self.nodes[*parent].children.push(index);
                self.running += 1;
            }
            None => self.roots.push(index),
        }
        self.by_id.insert(id.clone(), index);
        self.nodes.push(CallNode {
            id: id.clone(),
            tool: tool.clone(),
            arguments,
            state: CallState::Running,
            decisions: Vec::new(),
            took: None,
            children: Vec::new(),
            started_ms: time,
        });
    }

    fn settle(&mut self, time: u64, id: &str, is_error: bool, content: &[Content]) {
        let Some(index) = self.by_id.get(id).copied() else { return };
        let node = &mut self.nodes[index];
        if node.state != CallState::Running {
            return;
        }
        node.took = Some(Duration::from_millis(time.saturating_sub(node.started_ms)));
        node.state = if is_error { CallState::Failed(told(content)) } else { CallState::Succeeded };
        self.running -= usize::from(!self.is_root(index));
    }

    fn is_root(&self, index: usize) -> bool {
        self.roots.binary_search(&index).is_ok()
    }

    /// Replaces what the log knows in whole milliseconds, and without the kind of a failure, by what was measured.
    pub(crate) fn refine(&mut self, id: &str, took: Option<Duration>, error: Option<String>) {
        let Some(node) = self.get_mut(id) else { return };
        node.took = took.or(node.took);
        if let (CallState::Failed(told), Some(error)) = (&mut node.state, error) {
            *told = error;
        }
    }

    fn get_mut(&mut self, id: &str) -> Option<&mut CallNode> {
        self.by_id.get(id).map(|index| &mut self.nodes[*index])
    }

    /// The calls that no program made.
    pub(crate) fn roots(&self) -> &[usize] {
        &self.roots
    }

    pub(crate) fn node(&self, index: usize) -> &CallNode {
        &self.nodes[index]
    }

    /// The calls that programs made, in the order they were started.
    pub(crate) fn of_programs(&self) -> impl Iterator<Item = &CallNode> {
        let indices = (0..self.nodes.len()).filter(|index| !self.is_root(*index));
        indices.map(|index| &self.nodes[index])
    }

    /// How many calls programs made, and how many of them are still running.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.nodes.len() - self.roots.len(), self.running)
    }
}

impl CallNode {
    /// Its arguments as one line: of a program only what it says it does.
    pub(crate) fn summary(&self) -> String {
        if &*self.tool == RUN_CODE
            && let Some(description) = self.arguments.get("description").and_then(Json::as_str)
        {
            return description.to_owned();
        }
        self.arguments.to_string()
    }
}

/// The message of a failure, from what the model reads.
fn told(content: &[Content]) -> String {
    let texts: Vec<&str> = content.iter().filter_map(Content::as_text).collect();
    let text = texts.join("\n");
    text.strip_prefix("Error: ").map_or_else(|| text.clone(), str::to_owned)
}
