//! [`LogChecker`]: the rules a log obeys from event to event.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;

use callgate_schema::Str;

use crate::event::{
    ApprovalAsked, ApprovalDecided, CodeDispatch, CodeDispatchStart, Event, EventBody, ToolCall,
    ToolResult, TurnEnd, TurnEndReason,
};
use crate::repair::NOT_STARTED;
use crate::surface::Envelope;

/// The code of every violated invariant.
pub const INVARIANT: &str = "INVARIANT";

/// A rule that an event would break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    package: Str,
    seq: u64,
    problem: Str,
}

impl Violation {
    /// A violation of a rule of `package`, by the event of that number.
    #[cold]
    pub fn new(package: impl Into<Str>, seq: u64, problem: impl Into<Str>) -> Self {
        Self { package: package.into(), seq, problem: problem.into() }
    }

    /// The stable code: [`INVARIANT`].
    pub fn code(&self) -> &'static str {
        INVARIANT
    }

    /// The package whose rule it is.
    pub fn package(&self) -> &str {
        &self.package
    }

    /// The number of the event.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// What is wrong.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} breaks an invariant of {}: {}", self.seq, self.package, self.problem)
    }
}

impl std::error::Error for Violation {}

/// Something that may refuse an event before it is in the log.
///
/// All checks of a session see an event before any of them learns that it was committed, so that an event one of them
/// refuses leaves no trace in the others.
pub trait Check: Send + 'static {
    /// Refuses an event that breaks a rule.
    ///
    /// # Errors
    ///
    /// The rule that would be broken.
    fn check(&mut self, event: &Event) -> Result<(), Violation>;

    /// Takes over an event that is now in the log.
    fn committed(&mut self, event: &Event) {
        let _ = event;
    }
}

/// Checks a log event by event, from its first one.
///
/// It holds the rules of numbers, surface, turns, steps, calls and results, sub-calls of programs, and approvals. Calls
/// of one step may overlap. An event it refuses leaves its state as it was.
///
/// ```
/// use callgate_session::{Event, LogChecker, StepStart, TurnStart};
///
/// let mut checker = LogChecker::new();
/// checker.feed(&Event::new(0, 0, TurnStart { turn: 1 })).unwrap();
/// let nested = checker.feed(&Event::new(1, 0, TurnStart { turn: 2 })).unwrap_err();
/// assert_eq!(nested.problem(), "turn 1 is still open");
/// checker.feed(&Event::new(1, 0, StepStart { turn: 1, step: 1 })).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct LogChecker {
    envelope: Envelope,
    turns: u64,
    turn: Option<Turn>,
    /// The root of every sub-call there ever was.
    roots: HashMap<Str, Str>,
    /// Sub-calls of the open turn that are started and not settled.
    dispatches: HashMap<Str, CodeDispatchStart>,
    /// Approval questions without an answer.
    questions: HashSet<Str>,
}

#[derive(Clone, Debug)]
struct Turn {
    number: u64,
    steps: u64,
    step: Option<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    number: u64,
    /// Requests of the model without a recorded call, by call id.
    requested: HashMap<Str, u64>,
    /// Recorded calls without a result: the numbers of their events, by call id.
    calls: HashMap<Str, Vec<u64>>,
}

type Checked = Result<(), String>;

impl LogChecker {
    /// A checker of a log that has no events yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks a whole log.
    ///
    /// # Errors
    ///
    /// The first rule that is broken.
    pub fn check_all(events: &[Event]) -> Result<(), Violation> {
        let mut checker = Self::new();
        events.iter().try_for_each(|event| checker.feed(event))
    }

    /// Checks the next event and, if it is in order, takes it over.
    ///
    /// # Errors
    ///
    /// The rule it breaks. The checker's state is then unchanged.
    pub fn feed(&mut self, event: &Event) -> Result<(), Violation> {
        self.check_next(event)?;
        self.advance(event);
        Ok(())
    }

    /// Checks the next event without taking it over.
    ///
    /// # Errors
    ///
    /// The rule it breaks.
    pub fn check_next(&self, event: &Event) -> Result<(), Violation> {
        self.envelope
            .check(event)
            .and_then(|()| self.check_body(event))
            .map_err(|problem| Violation::new(env!("CARGO_PKG_NAME"), event.seq, problem))
    }

    fn check_body(&self, event: &Event) -> Checked {
        match &event.body {
            EventBody::TurnStart(start) => self.check_turn_start(start.turn),
            EventBody::TurnEnd(end) => self.check_turn_end(end),
            EventBody::StepStart(start) => self.check_step_start(start.turn, start.step),
            EventBody::StepEnd(end) => self.open_step(end.turn, end.step).map(drop),
            EventBody::AssistantChunk(chunk) => self.open_step(chunk.turn, chunk.step).map(drop),
            EventBody::AssistantMessage(answer) => {
                self.open_step(answer.turn, answer.step).map(drop)
            }
            EventBody::ToolCall(call) => self.check_call(call),
            EventBody::ToolResult(result) => self.check_result(event, result),
            EventBody::CodeDispatchStart(start) => self.check_dispatch_start(start),
            EventBody::CodeDispatch(settled) => self.check_dispatch(settled),
            EventBody::ApprovalAsked(asked) => self.check_asked(asked),
            EventBody::ApprovalDecided(decided) => self.check_decided(decided),
            _ => Ok(()),
        }
    }

    fn check_turn_start(&self, turn: u64) -> Checked {
        if let Some(open) = &self.turn {
            return Err(format!("turn {} is still open", open.number));
        }
        match self.turns + 1 {
            next if next == turn => Ok(()),
            next => Err(format!("the next turn is {next}, not {turn}")),
        }
    }

    fn check_turn_end(&self, end: &TurnEnd) -> Checked {
        let turn = self.open_turn(end.turn)?;
        if let Some(step) = &turn.step {
            return Err(format!("step {} is still open", step.number));
        }
        let broken_off = matches!(end.reason, TurnEndReason::Error(_) | TurnEndReason::Interrupted);
        match self.dispatches.keys().min() {
            Some(id) if !broken_off => Err(format!("sub-call `{id}` is not settled")),
            _ => Ok(()),
        }
    }

    fn check_step_start(&self, turn: u64, step: u64) -> Checked {
        let turn = self.open_turn(turn)?;
        if let Some(open) = &turn.step {
            return Err(format!("step {} is still open", open.number));
        }
        match turn.steps + 1 {
            next if next == step => Ok(()),
            next => Err(format!("the next step is {next}, not {step}")),
        }
    }

    fn check_call(&self, call: &ToolCall) -> Checked {
        self.open_step(call.turn, call.step)?;
        not_empty("callId", &call.call_id)
    }

    /// A result answers a recorded call of its step, or says that a requested call was never started.
    fn check_result(&self, event: &Event, result: &ToolResult) -> Checked {
        let step = self.open_step(result.turn, result.step)?;
        let id = &result.message.call_id;
        let Some(calls) = step.calls.get(id) else {
            let is_excepted = says_not_started(result) && step.requested.contains_key(id);
            return ensure(is_excepted, || {
                format!("no call `{id}` of this step waits for a result")
            });
        };
        let cited = event.source_event_seqs.as_deref().unwrap_or_default();
        ensure(cited.iter().any(|seq| calls.contains(seq)), || {
            format!("the result of `{id}` must cite its `tool/call` (event {})", calls[0])
        })
    }

    fn check_dispatch_start(&self, start: &CodeDispatchStart) -> Checked {
        self.check_sub_call(&start.root_call_id, &start.parent_call_id, &start.sub_call_id)?;
        ensure(!self.dispatches.contains_key(&start.sub_call_id), || {
            format!("sub-call `{}` is already started", start.sub_call_id)
        })
    }

    fn check_dispatch(&self, settled: &CodeDispatch) -> Checked {
        let id = &settled.sub_call_id;
        self.check_sub_call(&settled.root_call_id, &settled.parent_call_id, id)?;
        let Some(start) = self.dispatches.get(id) else {
            return Err(format!("sub-call `{id}` is not started, or settled already"));
        };
        let same = start.parent_call_id == settled.parent_call_id
            && start.name == settled.name
            && start.arguments == settled.arguments;
        ensure(same, || {
            format!("sub-call `{id}` was started with another parent, name or arguments")
        })
    }

    fn check_sub_call(&self, root: &Str, parent: &Str, id: &Str) -> Checked {
        self.in_turn("a sub-call")?;
        not_empty("rootCallId", root)?;
        not_empty("parentCallId", parent)?;
        not_empty("subCallId", id)?;
        match self.roots.get(id) {
            Some(first) if first != root => {
                return Err(format!("sub-call `{id}` belongs to `{first}`, not to `{root}`"));
            }
            _ => {}
        }
        ensure(parent == root || self.roots.get(parent) == Some(root), || {
            format!("parent `{parent}` of sub-call `{id}` is not known under `{root}`")
        })
    }

    fn check_asked(&self, asked: &ApprovalAsked) -> Checked {
        self.in_turn("an approval question")?;
        not_empty("toolName", &asked.tool_name)?;
        ensure(!self.questions.contains(&asked.id), || {
            format!("question `{}` is already open", asked.id)
        })
    }

    fn check_decided(&self, decided: &ApprovalDecided) -> Checked {
        self.in_turn("an approval decision")?;
        ensure(self.questions.contains(&decided.id), || {
            format!("no question `{}` is open", decided.id)
        })
    }

    fn in_turn(&self, what: &str) -> Checked {
        ensure(self.turn.is_some(), || format!("{what} lies outside of a turn"))
    }

    fn open_turn(&self, number: u64) -> Result<&Turn, String> {
        match &self.turn {
            Some(turn) if turn.number == number => Ok(turn),
            Some(turn) => Err(format!("the open turn is {}, not {number}", turn.number)),
            None => Err(format!("turn {number} is not open")),
        }
    }

    fn open_step(&self, turn: u64, number: u64) -> Result<&Step, String> {
        match &self.open_turn(turn)?.step {
            Some(step) if step.number == number => Ok(step),
            Some(step) => Err(format!("the open step is {}, not {number}", step.number)),
            None => Err(format!("step {number} is not open")),
        }
    }

    /// Takes over an event that was checked.
    fn advance(&mut self, event: &Event) {
        self.envelope.advance(event);
        match &event.body {
            EventBody::TurnStart(start) => {
                self.turns = start.turn;
                self.turn = Some(Turn { number: start.turn, steps: 0, step: None });
            }
            EventBody::TurnEnd(_) => {
                self.turn = None;
                self.dispatches.clear();
            }
            EventBody::CodeDispatchStart(start) => {
                self.roots.insert(start.sub_call_id.clone(), start.root_call_id.clone());
                self.dispatches.insert(start.sub_call_id.clone(), start.clone());
            }
            EventBody::CodeDispatch(settled) => {
                self.dispatches.remove(&settled.sub_call_id);
            }
            EventBody::ApprovalAsked(asked) => {
                self.questions.insert(asked.id.clone());
            }
            EventBody::ApprovalDecided(decided) => {
                self.questions.remove(&decided.id);
            }
            _ => self.advance_turn(event),
        }
    }

    fn advance_turn(&mut self, event: &Event) {
        let Some(turn) = &mut self.turn else { return };
        match &event.body {
            EventBody::StepStart(start) => {
                turn.steps = start.step;
                let step =
                    Step { number: start.step, requested: HashMap::new(), calls: HashMap::new() };
                turn.step = Some(step);
            }
            EventBody::StepEnd(_) => turn.step = None,
            _ => {
                if let Some(step) = &mut turn.step {
                    step.advance(event);
                }
            }
        }
    }
}

impl Step {
    fn advance(&mut self, event: &Event) {
        match &event.body {
            EventBody::AssistantMessage(answer) => {
                for request in answer.message.requests() {
                    *self.requested.entry(request.call_id.clone()).or_default() += 1;
                }
            }
            EventBody::ToolCall(call) => {
                self.take_request(&call.call_id);
                self.calls.entry(call.call_id.clone()).or_default().push(event.seq);
            }
            EventBody::ToolResult(result) => self.answer(event, &result.message.call_id),
            _ => {}
        }
    }

    fn take_request(&mut self, id: &Str) {
        if let Entry::Occupied(mut requests) = self.requested.entry(id.clone()) {
            *requests.get_mut() -= 1;
            if *requests.get() == 0 {
                requests.remove();
            }
        }
    }

    fn answer(&mut self, event: &Event, id: &Str) {
        let cited = event.source_event_seqs.as_deref().unwrap_or_default();
        match self.calls.entry(id.clone()) {
            Entry::Vacant(_) => self.take_request(id),
            Entry::Occupied(mut calls) => {
                if let Some(n) = calls.get().iter().position(|seq| cited.contains(seq)) {
                    calls.get_mut().remove(n);
                }
                if calls.get().is_empty() {
                    calls.remove();
                }
            }
        }
    }
}

impl Check for LogChecker {
    fn check(&mut self, event: &Event) -> Result<(), Violation> {
        self.check_next(event)
    }

    fn committed(&mut self, event: &Event) {
        self.advance(event);
    }
}

fn says_not_started(result: &ToolResult) -> bool {
    result.message.is_error
        && result.error.as_ref().is_some_and(|error| &*error.code == NOT_STARTED)
}

fn not_empty(member: &str, id: &str) -> Checked {
    ensure(!id.is_empty(), || format!("`{member}` must not be empty"))
}

fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(problem()) }
}
