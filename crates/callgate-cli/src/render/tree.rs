//! The tree of calls.

use callgate::session::PolicyVerdict;

use super::cell::{fit, one_line, padding, width};
use crate::calls::{CallNode, CallState, Calls, Decided};
use crate::look::{Look, Paint};
use crate::time;

/// More calls of one program than this are cut in the middle.
const MOST_SHOWN: usize = 40;
/// How many are shown at either end then.
const SHOWN_AT_END: usize = 20;
/// The longest arguments and messages where nobody says how wide a line may be, in columns.
const WIDEST: usize = 100;
/// Deeper calls are not indented any further.
const DEEPEST: usize = 12;

/// The signs a tree is drawn with.
struct Signs {
    branch: &'static str,
    last: &'static str,
    through: &'static str,
    nothing: &'static str,
    running: &'static str,
    good: &'static str,
    bad: &'static str,
    more: &'static str,
}

const PRETTY: Signs = Signs {
    branch: "├─ ",
    last: "└─ ",
    through: "│  ",
    nothing: "   ",
    running: "…",
    good: "✓",
    bad: "✗",
    more: "…",
};

const ASCII: Signs = Signs {
    branch: "|- ",
    last: "`- ",
    through: "|  ",
    nothing: "   ",
    running: "open",
    good: "ok",
    bad: "failed",
    more: "...",
};

/// Whose failures are explained in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explained {
    All,
    /// Those of sub-calls, because the outermost failure is told elsewhere.
    SubCalls,
}

/// The lines of all calls, each below the one that made it.
pub(crate) fn tree(calls: &Calls, look: Look, explained: Explained) -> String {
    Drawing {
        calls,
        look,
        explained,
        signs: if look.is_terminal { &PRETTY } else { &ASCII },
        text: String::new(),
    }
    .draw()
}

struct Drawing<'a> {
    calls: &'a Calls,
    look: Look,
    explained: Explained,
    signs: &'static Signs,
    text: String,
}

/// What is still to be drawn, and what stands in front of it.
enum Task {
    Call {
        index: usize,
        prefix: Prefix,
        widths: Widths,
    },
    /// Calls that are only counted.
    Count {
        indices: Vec<usize>,
        prefix: Prefix,
    },
}

/// What stands in front of a line, and in front of those below it.
#[derive(Clone, Default)]
struct Prefix {
    first: String,
    rest: String,
    depth: usize,
}

/// How wide the columns of sibling calls are.
#[derive(Clone, Copy, Default)]
struct Widths {
    mark: usize,
    id: usize,
    took: usize,
}

impl Drawing<'_> {
    fn draw(mut self) -> String {
        let mut tasks = self.siblings(self.calls.roots(), None);
        while let Some(task) = tasks.pop() {
            match task {
                Task::Count { indices, prefix } => self.count(&indices, &prefix),
                Task::Call { index, prefix, widths } => {
                    let node = self.calls.node(index);
                    self.call(node, &prefix, widths);
                    tasks.append(&mut self.siblings(&node.children, Some(&prefix)));
                }
            }
        }
        self.text
    }

    /// The tasks for calls below the same one, the first last.
    fn siblings(&self, indices: &[usize], parent: Option<&Prefix>) -> Vec<Task> {
        let is_cut = parent.is_some() && indices.len() > MOST_SHOWN;
        let (head, hidden, tail) = if is_cut {
            let (head, rest) = indices.split_at(SHOWN_AT_END);
            let (hidden, tail) = rest.split_at(rest.len() - SHOWN_AT_END);
            (head, hidden, tail)
        } else {
            (indices, &[][..], &[][..])
        };
        let widths = self.widths(head.iter().chain(tail));
        let last = indices.last().copied();
        let call = |index: &usize| {
            let prefix = self.below(parent, Some(*index) == last);
            Task::Call { index: *index, prefix, widths }
        };
        let mut tasks: Vec<Task> = tail.iter().rev().map(call).collect();
        if is_cut {
            tasks.push(Task::Count { indices: hidden.to_vec(), prefix: self.below(parent, false) });
        }
        tasks.extend(head.iter().rev().map(call));
        tasks
    }

    fn below(&self, parent: Option<&Prefix>, is_last: bool) -> Prefix {
        let Some(parent) = parent else { return Prefix::default() };
        if parent.depth >= DEEPEST {
            return Prefix {
                first: parent.first.clone(),
                rest: parent.rest.clone(),
                depth: parent.depth,
            };
        }
        let (branch, through) = if is_last {
            (self.signs.last, self.signs.nothing)
        } else {
            (self.signs.branch, self.signs.through)
        };
        Prefix {
            first: format!("{}{branch}", parent.rest),
            rest: format!("{}{through}", parent.rest),
            depth: parent.depth + 1,
        }
    }

    fn widths<'i>(&self, indices: impl Iterator<Item = &'i usize>) -> Widths {
        indices.fold(Widths::default(), |widest, index| {
            let node = self.calls.node(*index);
            Widths {
                mark: widest.mark.max(width(self.mark(node).0)),
                id: widest.id.max(width(&one_line(&node.id))),
                took: widest.took.max(width(&took(node))),
            }
        })
    }

    fn mark(&self, node: &CallNode) -> (&'static str, Paint) {
        match node.state {
            CallState::Running => (self.signs.running, Paint::Warning),
            CallState::Succeeded => (self.signs.good, Paint::Good),
            CallState::Failed(_) => (self.signs.bad, Paint::Bad),
        }
    }

    /// One line for the call, and one for each thing there is to say about it.
    fn call(&mut self, node: &CallNode, prefix: &Prefix, widths: Widths) {
        let (mark, paint) = self.mark(node);
        let (id, time, tool) = (one_line(&node.id), took(node), one_line(&node.tool));
        let start = [
            self.look.paint(Paint::Quiet, &prefix.first),
            self.look.paint(paint, mark),
            padding(mark, widths.mark),
            format!(" {id}{}  ", padding(&id, widths.id)),
            self.look.paint(Paint::Quiet, &format!("{}{time}", padding(&time, widths.took))),
            format!("  {tool}"),
        ];
        let used = width(&prefix.first)
            + widths.mark
            + 1
            + widths.id
            + 2
            + widths.took
            + 2
            + width(&tool)
            + 1;
        let arguments = self.fit(&node.summary(), used);
        self.line(&format!("{} {arguments}", start.concat()));
        self.details(node, prefix);
    }

    fn details(&mut self, node: &CallNode, prefix: &Prefix) {
        let children =
            if node.children.is_empty() { self.signs.nothing } else { self.signs.through };
        let indent = format!("{}{children}", prefix.rest);
        for decided in &node.decisions {
            self.detail(&indent, &explanation(decided), Paint::Warning);
        }
        let is_told = (prefix.depth == 0 && self.explained == Explained::SubCalls)
            || node.decisions.iter().any(|decided| decided.verdict == PolicyVerdict::Deny);
        if let CallState::Failed(message) = &node.state
            && !is_told
        {
            let first = message.lines().next().unwrap_or_default();
            self.detail(&indent, first, Paint::Bad);
        }
    }

    fn detail(&mut self, indent: &str, text: &str, paint: Paint) {
        let text = self.look.paint(paint, &self.fit(text, width(indent)));
        self.line(&format!("{}{text}", self.look.paint(Paint::Quiet, indent)));
    }

    fn count(&mut self, indices: &[usize], prefix: &Prefix) {
        let is_failed =
            |index: &&usize| matches!(self.calls.node(**index).state, CallState::Failed(_));
        let failed = indices.iter().filter(is_failed).count();
        let calls = if indices.len() == 1 { "call" } else { "calls" };
        let text = format!("{} {} more {calls}, {failed} failed", self.signs.more, indices.len());
        let text = self.look.paint(Paint::Quiet, &text);
        self.line(&format!("{}{text}", self.look.paint(Paint::Quiet, &prefix.first)));
    }

    /// The text on one line behind what is used of it.
    fn fit(&self, text: &str, used: usize) -> String {
        let room = match self.look.width() {
            Some(width) => width.saturating_sub(used),
            None => WIDEST,
        };
        fit(&one_line(text), room)
    }

    fn line(&mut self, line: &str) {
        self.text += line.trim_end();
        self.text.push('\n');
    }
}

/// What was decided, by which rule and why. A reason that names the rule says it all.
fn explanation(decided: &Decided) -> String {
    let Decided { verdict, rule, reason } = decided;
    if let (Some(rule), Some(reason)) = (rule, reason)
        && reason.contains(&**rule)
    {
        return reason.to_string();
    }
    let verdict = match verdict {
        PolicyVerdict::Deny => "denied",
        PolicyVerdict::Ask => "asked for approval",
        PolicyVerdict::Allow => "allowed",
        _ => "decided",
    };
    let rule = rule.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default();
    let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{verdict}{rule}{reason}")
}

fn took(node: &CallNode) -> String {
    node.took.map(time::duration).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use callgate::session::{
        CodeDispatch, CodeDispatchStart, Content, Event, EventBody, PolicyDecision, PolicyStage,
        ToolCall,
    };
    use callgate::{Json, RUN_CODE, Str, json};

    use super::*;

    /// The calls of a session with these events, each a millisecond after the one before it.
    fn calls(events: impl IntoIterator<Item = EventBody>) -> Calls {
        let mut calls = Calls::default();
        for (n, event) in (0..).zip(events) {
            calls.feed(&Event::new(n, 1_000 + n, event));
        }
        calls
    }

    fn program(description: &str) -> EventBody {
        let arguments = json!({ "code": "", "description": description }).to_string();
        ToolCall {
            turn: 1,
            step: 1,
            call_id: "run".into(),
            name: RUN_CODE.into(),
            arguments: arguments.into(),
        }
        .into()
    }

    fn start(id: &str, parent: &str, tool: &str, arguments: Json) -> EventBody {
        let [root_call_id, parent_call_id, sub_call_id, name] =
            ["run", parent, id, tool].map(Str::from);
        CodeDispatchStart { root_call_id, parent_call_id, sub_call_id, name, arguments }.into()
    }

    fn end(id: &str, error: Option<&str>) -> EventBody {
        let content: Arc<[Content]> =
            error.map(|error| Content::text(format!("Error: {error}"))).into_iter().collect();
        let [root_call_id, parent_call_id, sub_call_id, name] =
            ["run", "run", id, "read"].map(Str::from);
        let is_error = error.is_some();
        CodeDispatch {
            root_call_id,
            parent_call_id,
            sub_call_id,
            name,
            arguments: Json::Null,
            is_error,
            content,
        }
        .into()
    }

    fn denied(id: &str) -> EventBody {
        PolicyDecision {
            call_id: id.into(),
            root_call_id: "run".into(),
            name: "read".into(),
            decision: PolicyVerdict::Deny,
            stage: PolicyStage::Gate,
            rule: Some("policy.deny[0] \"re*\"".into()),
            reason: Some("nothing here is to be read, as far as this rule goes".into()),
        }
        .into()
    }

    fn nested() -> Calls {
        calls([
            program("Runs a program"),
            start(
                "run:code:1",
                "run",
                "read",
                json!({ "path": "crates/callgate-core/src/pipeline.rs", "limit": 20 }),
            ),
            start(
                "run:code:2",
                "run",
                "run_code",
                json!({ "code": "", "description": "Runs another" }),
            ),
            start("run:code:2:code:1", "run:code:2", "read", json!({ "path": "b" })),
            denied("run:code:2:code:1"),
            end("run:code:2:code:1", Some("denied")),
            end("run:code:1", Some("`b` does not exist\nsecond line")),
            end("run:code:2", None),
            start("run:code:3", "run", "glob", json!({})),
        ])
    }

    #[test]
    fn a_tree_on_a_terminal_is_drawn_with_lines_and_fits_its_width() {
        let shown = tree(&nested(), Look::terminal(60), Explained::All);
        insta::assert_snapshot!(shown, @r#"
        … run    run_code Runs a program
        ├─ ✗ run:code:1  5.0 ms  read {"path":"crates/callgate-core…
        │     `b` does not exist
        ├─ ✓ run:code:2  5.0 ms  run_code Runs another
        │  └─ ✗ run:code:2:code:1  2.0 ms  read {"path":"b"}
        │        denied by policy.deny[0] "re*": nothing here is to…
        └─ … run:code:3          glob {}
        "#);
        assert!(shown.lines().all(|line| width(line) <= 60));
    }

    #[test]
    fn a_tree_in_a_file_is_ascii() {
        insta::assert_snapshot!(tree(&nested(), Look::default(), Explained::All), @r#"
        open run    run_code Runs a program
        |- failed run:code:1  5.0 ms  read {"path":"crates/callgate-core/src/pipeline.rs","limit":20}
        |     `b` does not exist
        |- ok     run:code:2  5.0 ms  run_code Runs another
        |  `- failed run:code:2:code:1  2.0 ms  read {"path":"b"}
        |        denied by policy.deny[0] "re*": nothing here is to be read, as far as this rule goes
        `- open   run:code:3          glob {}
        "#);
    }

    #[test]
    fn depth_does_not_matter() {
        let id = |n: usize| format!("run{}", ":code:1".repeat(n));
        let chain = (0..300).map(|n| start(&id(n + 1), &id(n), "run_code", json!({})));
        let shown = tree(
            &calls([program("Runs a program")].into_iter().chain(chain)),
            Look::terminal(80),
            Explained::All,
        );
        assert_eq!(shown.lines().count(), 301);
        assert!(shown.lines().all(|line| line.len() < 4_000), "{shown}");
    }

    #[test]
    fn forty_calls_are_shown_and_of_more_both_ends() {
        let many = |count: usize| {
            let starts =
                (1..=count).map(|n| start(&format!("run:code:{n}"), "run", "glob", json!({})));
            let ends =
                (1..=count).map(|n| end(&format!("run:code:{n}"), (n % 30 == 0).then_some("no")));
            let shown = tree(
                &calls([program("Runs a program")].into_iter().chain(starts).chain(ends)),
                Look::default(),
                Explained::All,
            );
            let hidden = shown.lines().find(|line| line.contains("more call")).map(str::to_owned);
            (shown.lines().filter(|line| line.contains(" glob ")).count(), hidden)
        };
        assert_eq!(many(40), (40, None));
        assert_eq!(many(41), (40, Some("|- ... 1 more call, 0 failed".to_owned())));
        assert_eq!(many(100), (40, Some("|- ... 60 more calls, 2 failed".to_owned())));
    }
}
