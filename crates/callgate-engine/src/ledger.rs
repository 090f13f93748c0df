//! What a run hands back, metered in bytes of JSON.

use callgate_core::program::{FailureKind, ProgramEnd, ProgramFailure};
use callgate_schema::{Json, Str};

/// Meters the logs, and then the value or the message, of one run.
#[derive(Debug)]
pub(crate) struct Ledger {
    cap: u64,
    /// The array of the logs, with its brackets and commas.
    used: u64,
    logs: Vec<Str>,
    /// The entry that did not fit.
    spilled: Option<Str>,
}

/// So many entries take memory that their bytes do not show. No honest program comes near.
const MOST_ENTRIES: usize = 1_000_000;

/// There is no room left.
#[derive(Debug)]
pub(crate) struct Full;

impl Ledger {
    pub(crate) fn new(cap: u64) -> Self {
        Self { cap, used: 2, logs: Vec::new(), spilled: None }
    }

    /// How many bytes may still come.
    pub(crate) fn left(&self) -> u64 {
        self.cap.saturating_sub(self.used)
    }

    /// Whether an entry did not fit.
    pub(crate) fn is_full(&self) -> bool {
        self.spilled.is_some()
    }

    /// Adds one entry. After the first that does not fit, none is taken.
    pub(crate) fn log(&mut self, entry: &str) -> Result<(), Full> {
        if self.is_full() {
            return Err(Full);
        }
        let cost = string_cost(entry).saturating_add(u64::from(!self.logs.is_empty()));
        if cost > self.left() || self.logs.len() == MOST_ENTRIES {
            self.spilled = Some(entry.into());
            return Err(Full);
        }
        self.used += cost;
        self.logs.push(entry.into());
        Ok(())
    }

    /// The end of a run that returned.
    pub(crate) fn finish(self, value: Option<Json>) -> ProgramEnd {
        if self.is_full()
            || value.as_ref().is_some_and(|value| value_cost(value, self.left()).is_none())
        {
            return self.overflow();
        }
        end(value, self.logs, None)
    }

    /// The end of a run that failed.
    pub(crate) fn fail(self, failure: ProgramFailure) -> ProgramEnd {
        if self.is_full()
            || failure.kind == FailureKind::OutputLimit
            || string_cost(&failure.message) > self.left()
        {
            return self.overflow();
        }
        end(None, self.logs, Some(failure))
    }

    /// The end of a run with too much output: as much of the logs as fits next to the message that says so.
    pub(crate) fn overflow(self) -> ProgramEnd {
        let cap = self.cap;
        let message = format!("the output is larger than {cap} bytes: log less and return less");
        let message = cut(&message, cap.saturating_sub(2)).to_owned();
        let room = cap.saturating_sub(string_cost(&message));
        let (mut used, mut kept) = (2_u64, Vec::new());
        for entry in self.logs.into_iter().chain(self.spilled) {
            let comma = u64::from(!kept.is_empty());
            let left = room.saturating_sub(used).saturating_sub(comma);
            let fitting = cut(&entry, left);
            if fitting.len() == entry.len() && string_cost(fitting) <= left {
                used += string_cost(fitting) + comma;
                kept.push(entry);
                continue;
            }
            if !fitting.is_empty() {
                kept.push(fitting.into());
            }
            break;
        }
        end(None, kept, Some(ProgramFailure::new(FailureKind::OutputLimit, message)))
    }
}

fn end(value: Option<Json>, logs: Vec<Str>, failure: Option<ProgramFailure>) -> ProgramEnd {
    let mut end = ProgramEnd::default();
    end.value = value;
    end.logs = logs;
    end.failure = failure;
    end
}

/// The bytes of a string in JSON, with its quotes.
pub(crate) fn string_cost(text: &str) -> u64 {
    text.bytes().map(byte_cost).sum::<u64>().saturating_add(2)
}

fn byte_cost(byte: u8) -> u64 {
    match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 2,
        ..0x20 => 6,
        _ => 1,
    }
}

/// The longest start of a text that costs at most `room` bytes as a JSON string.
fn cut(text: &str, room: u64) -> &str {
    let Some(mut left) = room.checked_sub(2) else { return "" };
    let fits = |byte: u8| match left.checked_sub(byte_cost(byte)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let mut end = text.bytes().map(fits).take_while(|fits| *fits).count();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The bytes of a value as compact JSON, if they are at most `room`.
fn value_cost(value: &Json, room: u64) -> Option<u64> {
    let mut pending: Vec<Box<dyn Iterator<Item = &Json> + '_>> =
        vec![Box::new(std::iter::once(value))];
    let mut cost = 0_u64;
    while let Some(values) = pending.last_mut() {
        let Some(value) = values.next() else {
            pending.pop();
            continue;
        };
        cost += match value {
            Json::Null => 4,
            Json::Bool(value) => 5 - u64::from(*value),
            Json::Number(number) => number.to_string().len() as u64,
            Json::String(text) => string_cost(text),
            Json::Array(items) => {
                pending.push(Box::new(items.iter()));
                2 + items.len().saturating_sub(1) as u64
            }
            Json::Object(members) => {
                pending.push(Box::new(members.values()));
                let keys: u64 = members.keys().map(|key| string_cost(key) + 1).sum();
                2 + members.len().saturating_sub(1) as u64 + keys
            }
        };
        if cost > room {
            return None;
        }
    }
    Some(cost)
}
