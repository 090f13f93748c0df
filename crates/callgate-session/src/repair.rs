//! [`repair`]: how a log that breaks off inside a turn is balanced.

use callgate_schema::Str;

use crate::content::Content;
use crate::event::{
    Draft, ErrorInfo, Event, EventBody, StepEnd, ToolResult, TurnEnd, TurnEndReason,
};
use crate::message::ResultMessage;

/// The code of a call that the model asked for and that was never taken up.
pub const NOT_STARTED: &str = "TOOL_NOT_STARTED";

/// The code of a call that was taken up and whose result is not in the log.
pub const OUTCOME_UNKNOWN: &str = "TOOL_OUTCOME_UNKNOWN";

/// The events that close the open turn of a log, numbered and stamped to follow it.
///
/// First comes a failed result for every call of the open step that has none: [`NOT_STARTED`] if no `tool/call` was
/// logged, else [`OUTCOME_UNKNOWN`]. Calls the model requested come in its order, calls nobody requested (those of a
/// gateway session) in theirs. Then the step and the turn are closed. A log without an open turn needs nothing. The same
/// log always gives the same events; sub-calls of programs get none.
///
/// ```
/// use callgate_session::{Event, TurnStart, repair};
///
/// let log = [Event::new(0, 7, TurnStart { turn: 1 })];
/// let added: Vec<String> = repair(&log).iter().map(Event::to_string).collect();
/// assert_eq!(
///     added,
///     [r#"{"type":"turn/end","seq":1,"time":7,"data":{"turn":1,"reason":{"kind":"interrupted"}}}"#]
/// );
/// ```
pub fn repair(events: &[Event]) -> Vec<Event> {
    let (seq, time) =
        events.last().map_or((0, 0), |event| (event.seq.saturating_add(1), event.time));
    Tail::of(events).closing(seq, time)
}

/// What is open at the end of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    turns: u64,
    turn: Option<u64>,
    step: Option<u64>,
    calls: Vec<OpenCall>,
}

/// A call of the open step without a result.
#[derive(Clone, Debug)]
struct OpenCall {
    id: Str,
    /// The number of its `tool/call`, if there is one.
    seq: Option<u64>,
}

impl Tail {
    pub(crate) fn of(events: &[Event]) -> Self {
        let mut tail = Self::default();
        for event in events {
            tail.feed(event);
        }
        tail
    }

    /// How many turns were opened so far.
    pub(crate) fn turns(&self) -> u64 {
        self.turns
    }

    pub(crate) fn turn(&self) -> Option<u64> {
        self.turn
    }

    pub(crate) fn step(&self) -> Option<u64> {
        self.step
    }

    pub(crate) fn feed(&mut self, event: &Event) {
        match &event.body {
            EventBody::TurnStart(start) => {
                self.turns += 1;
                (self.turn, self.step) = (Some(start.turn), None);
                self.calls.clear();
            }
            EventBody::TurnEnd(_) => {
                (self.turn, self.step) = (None, None);
                self.calls.clear();
            }
            EventBody::StepStart(start) => {
                self.step = Some(start.step);
                self.calls.clear();
            }
            EventBody::StepEnd(_) => {
                self.step = None;
                self.calls.clear();
            }
            EventBody::AssistantMessage(answer) => {
                let requested = answer.message.requests();
                self.calls
                    .extend(requested.map(|it| OpenCall { id: it.call_id.clone(), seq: None }));
            }
            EventBody::ToolCall(call) => self.take_up(&call.call_id, event.seq),
            EventBody::ToolResult(result) => self.answer(event, &result.message.call_id),
            _ => {}
        }
    }

    fn take_up(&mut self, id: &Str, seq: u64) {
        match self.calls.iter_mut().find(|call| call.id == *id && call.seq.is_none()) {
            Some(call) => call.seq = Some(seq),
            None => self.calls.push(OpenCall { id: id.clone(), seq: Some(seq) }),
        }
    }

    fn answer(&mut self, event: &Event, id: &Str) {
        let cited = event.source_event_seqs.as_deref().unwrap_or_default();
        let exact = |call: &OpenCall| call.seq.is_some_and(|seq| cited.contains(&seq));
        let position = self.calls.iter().position(|call| call.id == *id && exact(call));
        let position = position.or_else(|| self.calls.iter().position(|call| call.id == *id));
        if let Some(position) = position {
            self.calls.remove(position);
        }
    }

    /// The events that close the open turn, from the number `seq` on.
    pub(crate) fn closing(&self, seq: u64, time: u64) -> Vec<Event> {
        let number = |(n, draft)| Event::new(seq.saturating_add(n), time, draft);
        (0..).zip(self.closing_drafts()).map(number).collect()
    }

    fn closing_drafts(&self) -> Vec<Draft> {
        let Some(turn) = self.turn else { return Vec::new() };
        let mut drafts = Vec::new();
        if let Some(step) = self.step {
            drafts.extend(self.calls.iter().map(|call| lost_result(turn, step, call)));
            drafts.push(Draft::new(StepEnd { turn, step }));
        }
        drafts.push(Draft::new(TurnEnd { turn, reason: TurnEndReason::Interrupted }));
        drafts
    }
}

fn lost_result(turn: u64, step: u64, call: &OpenCall) -> Draft {
    let (name, code, text) = match call.seq {
        None => (
            "ToolNotStartedError",
            NOT_STARTED,
            "Error: the session ended before this call was started; nothing was done",
        ),
        Some(_) => (
            "ToolOutcomeUnknownError",
            OUTCOME_UNKNOWN,
            "Error: the session ended while this call was running; whether it took effect is not known, \
             so verify that before you call it again",
        ),
    };
    let message = ResultMessage {
        id: None,
        call_id: call.id.clone(),
        content: [Content::text(text)].into(),
        is_error: true,
    };
    let error = Some(ErrorInfo { name: name.into(), code: code.into() });
    let draft = Draft::new(ToolResult { turn, step, message, error, meta: None });
    match call.seq {
        Some(seq) => draft.citing([seq]),
        None => draft,
    }
}
