//! What the author of a program reads when it fails.

use callgate_core::program::{FailureKind, Position, ProgramFailure};
use rquickjs::Value;

use super::realm::Realm;
use super::run::FILE;
use crate::strip::Lines;

/// Frames of a stack that are shown.
const FRAMES: usize = 16;
/// Causes of an error that are followed.
const CAUSES: usize = 4;

/// The failure of a program that threw.
pub(super) fn uncaught<'js>(
    realm: &Realm<'js>,
    thrown: &Value<'js>,
    lines: &Lines<'_>,
) -> ProgramFailure {
    let (message, position) = described(realm, thrown, lines);
    let failure = ProgramFailure::new(FailureKind::Exception, message);
    match position {
        Some(position) => failure.at(position),
        None => failure,
    }
}

/// The failure of a program that left a rejected promise alone.
pub(super) fn unhandled<'js>(
    realm: &Realm<'js>,
    reason: &Value<'js>,
    lines: &Lines<'_>,
) -> ProgramFailure {
    let mut failure = uncaught(realm, reason, lines);
    failure.message =
        format!("a promise was rejected and nothing awaits or catches it: {}", failure.message);
    failure
}

/// The failure of a program that the engine could not compile.
pub(super) fn syntax<'js>(
    realm: &Realm<'js>,
    thrown: &Value<'js>,
    lines: &Lines<'_>,
) -> ProgramFailure {
    let mut failure = uncaught(realm, thrown, lines);
    if let Some(position) = failure.position {
        let message = thrown
            .as_object()
            .and_then(|error| realm.text_of(error, "message"))
            .unwrap_or_default();
        let Position { line, column } = position;
        let frame = lines.frame(position);
        failure.message = format!(
            "syntax error at line {line}, column {column}: {message}\n{}",
            frame.trim_end()
        );
    }
    failure
}

fn described<'js>(
    realm: &Realm<'js>,
    thrown: &Value<'js>,
    lines: &Lines<'_>,
) -> (String, Option<Position>) {
    let mut message = realm.headline(thrown);
    let Some(error) = thrown.as_object().filter(|object| object.is_error()) else {
        return (message, None);
    };
    message += &hint(&message);
    let (frames, position) = frames(&realm.stack(error), lines);
    message += &frames;
    let mut cause = realm.data(error, "cause");
    for _ in 0..CAUSES {
        let Some(value) = cause.take() else { break };
        message += &format!("\ncaused by: {}", realm.headline(&value));
        cause = value
            .as_object()
            .filter(|object| object.is_error())
            .and_then(|error| realm.data(error, "cause"));
    }
    (message, position)
}

/// The frames in the author's terms, each on a line of its own, and the place of the innermost one.
fn frames(stack: &str, lines: &Lines<'_>) -> (String, Option<Position>) {
    let mut first = None;
    let mut shown = String::new();
    for frame in stack.lines().filter_map(|line| Frame::parse(line, lines)).take(FRAMES) {
        match frame {
            Frame::Native(name) => shown += &format!("\n    at {name} (native)"),
            Frame::Program(name, position) => {
                let Position { line, column } = position;
                first.get_or_insert(position);
                shown += &match name {
                    "" | "<anonymous>" => format!("\n    at {FILE}:{line}:{column}"),
                    name => format!("\n    at {name} ({FILE}:{line}:{column})"),
                };
            }
        }
    }
    (shown, first)
}

enum Frame<'a> {
    Native(&'a str),
    Program(&'a str, Position),
}

impl<'a> Frame<'a> {
    /// Reads `    at name (program.ts:1:2)`. Frames of the host's own code are none.
    fn parse(line: &'a str, lines: &Lines<'_>) -> Option<Self> {
        let frame = line.trim_start().strip_prefix("at ")?;
        if let Some(name) = frame.strip_suffix(" (native)") {
            return Some(Self::Native(name));
        }
        let at = frame.rfind(FILE)?;
        let name = frame[..at].trim_end_matches('(').trim_end();
        let mut numbers = frame[at + FILE.len()..].trim_end_matches(')').split(':').skip(1);
        let line = numbers.next()?.parse().ok()?;
        let column = numbers.next()?.parse().ok()?;
        (line >= 1 && line <= lines.len())
            .then(|| Self::Program(name, lines.from_bytes(line, column)))
    }
}

/// What to do instead, where a program reached for something that is not there.
fn hint(headline: &str) -> String {
    let missing = headline
        .strip_prefix("ReferenceError: ")
        .and_then(|rest| rest.strip_suffix(" is not defined"));
    let advice = match missing.map(|name| name.trim_matches('\'')) {
        Some(
            "fetch" | "XMLHttpRequest" | "WebSocket" | "EventSource" | "Request" | "Response"
            | "Headers",
        ) => "programs have no network: call a tool instead",
        Some("require" | "module" | "exports" | "__dirname" | "__filename") => {
            "programs have no modules: use the language itself, or call a tool instead"
        }
        Some("process" | "Deno" | "Bun" | "os") => {
            "programs have no process and no environment: call a tool instead"
        }
        Some("fs" | "path" | "child_process") => "programs have no files: call a tool instead",
        Some("Buffer") => "there is no Buffer: use TextEncoder, TextDecoder, atob and btoa",
        Some("window" | "document" | "localStorage" | "navigator") => {
            "programs do not run in a browser"
        }
        Some("setImmediate") => "use setTimeout(callback, 0)",
        Some("Intl" | "Temporal" | "crypto") => "it is not part of this runtime",
        _ => return String::new(),
    };
    format!("; {advice}")
}
