//! What the author of a program reads when it fails.

use callgate_core::program::{FailureKind, Lines, Namespace, Position, ProgramFailure};
use callgate_schema::nearest_name;
use rquickjs::{Object, Value};

use super::realm::Realm;
use super::run::FILE;

/// Frames of a stack that are shown.
const FRAMES: usize = 16;
/// A longer text is no name of what was called.
const LONGEST_NAME: usize = 80;
/// Causes of an error that are followed.
const CAUSES: usize = 4;

/// What the author of a program knows.
pub(super) struct Author<'a> {
    /// The text.
    pub(super) lines: Lines<'a>,
    /// What the text can call.
    pub(super) namespaces: &'a [Namespace],
}

impl Author<'_> {
    /// Names what was called at a place where nothing can be called.
    fn not_a_function(&self, at: Position) -> String {
        let (before, after) = self.lines.around(at);
        let called = after.split('(').next().unwrap_or_default().trim_end_matches("?.").trim_end();
        if called.is_empty() || called.len() > LONGEST_NAME {
            return "TypeError: what is called here is not a function".to_owned();
        }
        for Namespace { global, members, .. } in self.namespaces {
            let owner = before.trim_end().strip_suffix('[').map(str::trim_end);
            if let (Some(owner), Some(key)) = (owner, called.strip_suffix(']'))
                && ends_with_word(owner, global)
            {
                return format!("TypeError: `{global}` has nothing of the name that `{key}` gives");
            }
            let Some(name) = member_of(global, before, called) else { continue };
            if members.iter().any(|member| **member == *name) {
                continue;
            }
            return match nearest_name(name, members.iter().map(|member| &**member)) {
                Some(near) => {
                    format!("TypeError: `{global}` has no `{name}`; did you mean `{near}`?")
                }
                None => format!("TypeError: `{global}` has no `{name}`"),
            };
        }
        format!("TypeError: {called} is not a function")
    }
}

impl Author<'_> {
    /// The headline of an error of a tool, with the name of the tool in it.
    fn named_after_its_tool<'js>(
        &self,
        realm: &Realm<'js>,
        error: &Object<'js>,
        headline: &str,
    ) -> Option<String> {
        let classes = self.namespaces.iter().filter_map(|space| space.error_class.as_ref());
        classes.into_iter().find_map(|class| {
            let message = headline.strip_prefix(&*class.name)?.strip_prefix(": ")?;
            let tool = realm.text_of(error, &class.member_property)?;
            let is_member = self
                .namespaces
                .iter()
                .any(|space| space.members.iter().any(|member| **member == *tool));
            is_member.then(|| format!("{} of `{tool}`: {message}", class.name))
        })
    }
}

/// The member that a call names, if it names one of that object: `global.name` up to the name, or `global['name']`.
fn member_of<'a>(global: &str, before: &str, called: &'a str) -> Option<&'a str> {
    let owner =
        before.trim_end().strip_suffix('.').map(|owner| owner.trim_end_matches('?').trim_end());
    if owner.is_some_and(|owner| ends_with_word(owner, global)) {
        return called.chars().all(is_word).then_some(called);
    }
    let key =
        called.strip_prefix(global)?.trim_start().strip_prefix('[')?.strip_suffix(']')?.trim();
    let quote = key.chars().next().filter(|quote| matches!(quote, '\'' | '"' | '`'))?;
    key.strip_prefix(quote)?.strip_suffix(quote)
}

fn ends_with_word(text: &str, word: &str) -> bool {
    text.strip_suffix(word).is_some_and(|before| !before.ends_with(|c| is_word(c) || c == '.'))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// The failure of a program that threw.
pub(super) fn uncaught<'js>(
    realm: &Realm<'js>,
    thrown: &Value<'js>,
    author: &Author<'_>,
) -> ProgramFailure {
    let (message, position) = described(realm, thrown, author);
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
    author: &Author<'_>,
) -> ProgramFailure {
    let mut failure = uncaught(realm, reason, author);
    failure.message =
        format!("a promise was rejected and nothing awaits or catches it: {}", failure.message);
    failure
}

/// The failure of a program that the engine could not compile.
pub(super) fn syntax<'js>(
    realm: &Realm<'js>,
    thrown: &Value<'js>,
    author: &Author<'_>,
) -> ProgramFailure {
    let mut failure = uncaught(realm, thrown, author);
    let error = thrown
        .as_object()
        .filter(|error| realm.text_of(error, "name").as_deref() == Some("SyntaxError"));
    let Some(message) = error.and_then(|error| realm.text_of(error, "message")) else {
        return failure;
    };
    failure.message = match failure.position {
        Some(position) => {
            let Position { line, column } = position;
            let frame = author.lines.frame(position);
            format!("syntax error at line {line}, column {column}: {message}\n{}", frame.trim_end())
        }
        None => format!("syntax error: {message}"),
    };
    failure
}

fn described<'js>(
    realm: &Realm<'js>,
    thrown: &Value<'js>,
    author: &Author<'_>,
) -> (String, Option<Position>) {
    let mut message = realm.headline(thrown);
    let Some(error) = thrown.as_object().filter(|object| object.is_error()) else {
        return (message, None);
    };
    if let Some(named) = author.named_after_its_tool(realm, error, &message) {
        message = named;
    }
    let (frames, position) = frames(&realm.stack(error), &author.lines);
    match position {
        Some(position) if message == "TypeError: not a function" => {
            message = author.not_a_function(position);
        }
        _ => message += &hint(&message),
    }
    message += &frames;
    message += &causes(realm, error);
    (message, position)
}

/// What an error says about what led to it, each on a line of its own.
fn causes<'js>(realm: &Realm<'js>, error: &Object<'js>) -> String {
    let mut text = String::new();
    let several = realm.data(error, "errors").filter(|errors| !errors.is_proxy());
    if let Some(errors) = several.as_ref().and_then(Value::as_object) {
        for at in 0..CAUSES {
            let Some(error) = realm.data(errors, &at.to_string()) else { break };
            text.push_str("\none of: ");
            text.push_str(&realm.headline(&error));
        }
    }
    let mut cause = realm.data(error, "cause");
    for _ in 0..CAUSES {
        let Some(value) = cause.take() else { break };
        text.push_str("\ncaused by: ");
        text.push_str(&realm.headline(&value));
        let error = value.as_object().filter(|object| object.is_error());
        cause = error.and_then(|error| realm.data(error, "cause"));
    }
    text
}

/// The frames in the author's terms, each on a line of its own, and the place of the innermost one.
fn frames(stack: &str, lines: &Lines<'_>) -> (String, Option<Position>) {
    let mut first = None;
    let mut shown = String::new();
    for frame in stack.lines().filter_map(|line| Frame::parse(line, lines)).take(FRAMES) {
        match frame {
            Frame::Native(name) => shown.extend(["\n    at ", name, " (native)"]),
            Frame::Program(name, position) => {
                let Position { line, column } = position;
                first.get_or_insert(position);
                let place = format!("{FILE}:{line}:{column}");
                match name {
                    "" | "<anonymous>" => shown.extend([
                        "
    at ", &place,
                    ]),
                    name => shown.extend([
                        "
    at ", name, " (", &place, ")",
                    ]),
                }
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
        (line >= 1).then(|| Self::Program(name, lines.position_of_bytes(line, column)))
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
