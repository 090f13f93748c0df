//! The surface: the ordered part of a log that derives to messages.

use crate::event::{Event, EventBody, SurfaceOp};
use crate::message::Message;

/// The messages a log derives to, in surface order.
///
/// A pure function of the events on the surface; all others change nothing, sub-calls of programs among them. An
/// answer of the model without content contributes no message. Operations that fit no surface are skipped: a log that
/// [`LogChecker`](crate::LogChecker) accepts has none.
///
/// ```
/// use callgate_session::{Content, Event, Message, Source, TurnStart, UserMessage, derive_messages};
///
/// let hello = UserMessage::new(Source::User, [Content::text("hello")]);
/// let log = [Event::new(0, 0, TurnStart { turn: 1 }), Event::new(1, 0, hello.clone())];
/// assert_eq!(derive_messages(&log), [Message::User(hello)]);
/// ```
pub fn derive_messages(events: &[Event]) -> Vec<Message> {
    let mut surface: Vec<&Event> = Vec::new();
    for event in events {
        match event.surface_op {
            Some(SurfaceOp::Append) => surface.push(event),
            Some(SurfaceOp::Replace { first, last }) => {
                if let Some(range) = find(&surface, |event| event.seq, first, last) {
                    surface.splice(range, [event]);
                }
            }
            None => {}
        }
    }
    surface.into_iter().filter_map(message).collect()
}

fn message(event: &Event) -> Option<Message> {
    match &event.body {
        EventBody::UserMessage(message) => Some(Message::User(message.clone())),
        EventBody::AssistantMessage(answer) if answer.message.content.is_empty() => None,
        EventBody::AssistantMessage(answer) => Some(Message::Model(answer.message.clone())),
        EventBody::ToolResult(result) => Some(Message::Result(result.message.clone())),
        _ => None,
    }
}

/// Where a range, both ends included, lies on a surface.
fn find<T>(
    surface: &[T],
    seq: impl Fn(&T) -> u64,
    first: u64,
    last: u64,
) -> Option<std::ops::Range<usize>> {
    let start = surface.iter().position(|entry| seq(entry) == first)?;
    let length = surface[start..].iter().position(|entry| seq(entry) == last)? + 1;
    Some(start..start + length)
}

/// Checks what holds for every single event of every log: its number, its place on the surface, what it cites.
#[derive(Clone, Debug, Default)]
pub(crate) struct Envelope {
    next_seq: u64,
    surface: Vec<u64>,
}

impl Envelope {
    pub(crate) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Says what is wrong with the next event.
    pub(crate) fn check(&self, event: &Event) -> Result<(), String> {
        if event.seq != self.next_seq {
            return Err(format!("`seq` must be {}, not {}", self.next_seq, event.seq));
        }
        check_type(event)?;
        self.check_surface(event)?;
        check_sources(event)
    }

    /// Takes over an event that was checked.
    pub(crate) fn advance(&mut self, event: &Event) {
        self.next_seq = event.seq + 1;
        match event.surface_op {
            Some(SurfaceOp::Append) => self.surface.push(event.seq),
            Some(SurfaceOp::Replace { first, last }) => {
                if let Some(range) = find(&self.surface, |seq| *seq, first, last) {
                    self.surface.splice(range, [event.seq]);
                }
            }
            None => {}
        }
    }

    fn check_surface(&self, event: &Event) -> Result<(), String> {
        match (event.body.is_on_surface(), event.surface_op) {
            (true, None) => Err(format!("`{}` must carry a `surfaceOp`", event.kind())),
            (false, Some(_)) => Err(format!("`{}` must not carry a `surfaceOp`", event.kind())),
            (_, Some(SurfaceOp::Replace { first, last })) => {
                match find(&self.surface, |seq| *seq, first, last) {
                    Some(_) => Ok(()),
                    None => Err(format!(
                        "`surfaceOp` replaces {first} to {last}, which is no range of the surface"
                    )),
                }
            }
            _ => Ok(()),
        }
    }
}

fn check_type(event: &Event) -> Result<(), String> {
    match &event.body {
        EventBody::Other(other) if EventBody::is_known(&other.kind) => {
            Err(format!("`{}` is an event of the vocabulary; use its own struct", other.kind))
        }
        EventBody::Other(other) if !event.ignorable => {
            Err(format!("`{}` is not in the vocabulary and must be ignorable", other.kind))
        }
        _ => Ok(()),
    }
}

fn check_sources(event: &Event) -> Result<(), String> {
    let Some(sources) = &event.source_event_seqs else { return Ok(()) };
    if sources.is_empty() && !matches!(event.body, EventBody::AssistantMessage(_)) {
        return Err("`sourceEventSeqs` must not be empty".to_owned());
    }
    if let Some(seq) = sources.iter().find(|seq| **seq >= event.seq) {
        return Err(format!("`sourceEventSeqs` names {seq}, which is not an earlier event"));
    }
    let mut sorted = sources.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("`sourceEventSeqs` names {} twice", pair[0])),
        None => Ok(()),
    }
}
