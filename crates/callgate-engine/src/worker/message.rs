//! What host and worker tell each other: JSON in frames, rebuilt field by field.

use std::io::Write as _;
use std::time::Duration;

use callgate_core::program::{
    ErrorClass, FailureKind, Namespace, Position, ProgramEnd, ProgramFailure,
};
use callgate_schema::json::DEPTH_LIMIT;
use callgate_schema::{Json, Object, ParseOptions, Str};

use super::confinement::Confinement;
use super::deadline::CENTURY;
use super::frame::{Outbox, TooLong};
use crate::limits::Limits;
use crate::transport::{Answer, Outgoing};

// What a host says.

/// The first frame a worker gets.
const BOOT: u8 = b'B';
/// A program to run.
const PROGRAM: u8 = b'P';
/// The answer to a call.
const ANSWER: u8 = b'A';
/// The program should end.
pub(crate) const STOP: u8 = b'S';

// What a worker says.

/// It is confined and waits for a program.
const READY: u8 = b'R';
/// The program calls a function.
const CALL: u8 = b'C';
/// The program printed an entry. The payload is its text.
const LOG: u8 = b'L';
/// The program is over.
const END: u8 = b'E';

/// No cap but the one of the length in front of a frame.
const ANY_LENGTH: usize = usize::MAX;

/// What a worker is told before anything else.
#[derive(Clone, Debug)]
pub(crate) struct Boot {
    pub(crate) limits: Limits,
    /// Bytes of address space.
    pub(crate) address_space: u64,
    /// Seconds of computing in the whole life of the worker.
    pub(crate) cpu_seconds: u64,
    /// The longest frame it may send.
    pub(crate) frame_cap: usize,
}

/// What a worker hears.
#[derive(Debug)]
pub(crate) enum ToWorker {
    Boot(Boot),
    Program { source: Str, namespaces: Vec<Namespace> },
    Answer(Answer),
    Stop,
}

/// What a host hears.
#[derive(Debug)]
pub(crate) enum ToHost {
    Ready(Confinement),
    Call { call: Outgoing, size: usize },
    Log(Str),
    End(Ended),
}

/// How a worker says that a program ended.
pub(crate) type Ended = Result<Option<Json>, ProgramFailure>;

impl ToWorker {
    /// Reads a frame; none if it makes no sense.
    pub(crate) fn read(kind: u8, payload: &[u8]) -> Option<Self> {
        if kind == STOP {
            return Some(Self::Stop);
        }
        // What tools return may be deeper than text from outside, and the host is no stranger.
        let json = ParseOptions::new().max_depth(usize::MAX).parse_slice(payload).ok()?;
        match kind {
            BOOT => Boot::read(&json).map(Self::Boot),
            PROGRAM => {
                let source = json.get("source")?.to_str()?;
                let namespaces = json.get("namespaces")?.as_array()?.iter();
                let namespaces = namespaces.map(read_namespace).collect::<Option<_>>()?;
                Some(Self::Program { source, namespaces })
            }
            ANSWER => {
                let id = json.item(0)?.as_u64()?;
                let result = match json.item(2) {
                    Some(message) => Err(message.as_str()?.to_owned()),
                    None => Ok(json.item(1)?.clone()),
                };
                Some(Self::Answer(Answer { id, result }))
            }
            _ => None,
        }
    }
}

impl ToHost {
    /// Reads a frame; none if it makes no sense, and then it has no effect.
    pub(crate) fn read(kind: u8, payload: &[u8]) -> Option<Self> {
        if kind == LOG {
            return std::str::from_utf8(payload).ok().map(|entry| Self::Log(entry.into()));
        }
        // Arguments and values may be as deep as any text from outside, inside one bracket more.
        let options = ParseOptions::new().max_depth(DEPTH_LIMIT + 1);
        let json = options.parse_slice(payload).ok()?;
        match kind {
            READY => Confinement::read(&json).map(Self::Ready),
            CALL => {
                let id = json.item(0)?.as_u64()?;
                let (global, member) = (json.item(1)?.to_str()?, json.item(2)?.to_str()?);
                let arguments = json.item(3)?.clone();
                let call = Outgoing { id, global, member, arguments };
                Some(Self::Call { call, size: payload.len() })
            }
            END => read_end(json.as_object()?).map(Self::End),
            _ => None,
        }
    }
}

impl Boot {
    fn read(json: &Json) -> Option<Self> {
        let number = |name: &str| json.get(name)?.as_u64();
        let size = |name: &str| usize::try_from(number(name)?).ok();
        let limits = Limits {
            compute: Duration::from_nanos(number("computeNanoseconds")?),
            memory: size("memory")?,
            stack: size("stack")?,
            output: number("output")?,
            // Its host keeps that clock: it knows how long people were waited for.
            wall: CENTURY,
        };
        Some(Self {
            limits,
            address_space: number("addressSpace")?,
            cpu_seconds: number("cpuSeconds")?,
            frame_cap: size("frameCap")?,
        })
    }
}

fn read_namespace(json: &Json) -> Option<Namespace> {
    let members =
        json.get("members")?.as_array()?.iter().map(Json::to_str).collect::<Option<_>>()?;
    let class = match json.get("errorClass") {
        Some(class) => Some(ErrorClass::new(
            class.get("name")?.to_str()?,
            class.get("memberProperty")?.to_str()?,
        )),
        None => None,
    };
    Some(Namespace::new(json.get("global")?.to_str()?, members, class))
}

/// An end with both a failure and a value is a failure.
fn read_end(end: &Object) -> Option<Ended> {
    let Some(failure) = end.get("failure") else { return Some(Ok(end.get("value").cloned())) };
    let kind = kind_named(failure.get("kind")?.as_str()?)?;
    let failed = ProgramFailure::new(kind, failure.get("message")?.as_str()?);
    let place = |name: &str| u32::try_from(failure.get(name)?.as_u64()?).ok().filter(|at| *at > 0);
    Some(Err(match (place("line"), place("column")) {
        (Some(line), Some(column)) => failed.at(Position { line, column }),
        _ => failed,
    }))
}

/// The kinds a worker may tell. That a run was cancelled only the host knows.
fn kind_named(name: &str) -> Option<FailureKind> {
    use FailureKind::{Exception, InvalidOutput, OutputLimit, Timeout, WorkerExit};
    let kinds = [Exception, Timeout, WorkerExit, InvalidOutput, OutputLimit];
    kinds.into_iter().find(|kind| kind.name() == name)
}

// Writing. The host has no caps to keep: what it sends was made by tools and by its own caller.

pub(crate) fn boot(out: &mut Outbox, boot: &Boot) -> Result<(), TooLong> {
    let Boot { limits, address_space, cpu_seconds, frame_cap } = boot;
    let compute = u64::try_from(limits.compute.as_nanos()).unwrap_or(u64::MAX);
    let json = Object::builder()
        .with("computeNanoseconds", compute)
        .with("memory", limits.memory as u64)
        .with("stack", limits.stack as u64)
        .with("output", limits.output)
        .with("addressSpace", *address_space)
        .with("cpuSeconds", *cpu_seconds)
        .with("frameCap", *frame_cap as u64);
    push(out, BOOT, &Json::from(json.build()))
}

pub(crate) fn program(
    out: &mut Outbox,
    source: &Str,
    namespaces: &[Namespace],
) -> Result<(), TooLong> {
    let namespaces: Vec<Json> = namespaces.iter().map(write_namespace).collect();
    let json = Object::builder().with("source", source.clone()).with("namespaces", namespaces);
    push(out, PROGRAM, &Json::from(json.build()))
}

fn write_namespace(namespace: &Namespace) -> Json {
    let class = namespace.error_class.as_ref().map(|class| {
        let json = Object::builder().with("name", class.name.clone());
        json.with("memberProperty", class.member_property.clone()).build()
    });
    let json = Object::builder()
        .with("global", namespace.global.clone())
        .with("members", namespace.members.clone())
        .with_some("errorClass", class);
    json.build().into()
}

pub(crate) fn answer(out: &mut Outbox, answer: &Answer) -> Result<(), TooLong> {
    out.push(ANSWER, ANY_LENGTH, |bytes| match &answer.result {
        Ok(value) => write(bytes, format_args!("[{},{value}]", answer.id)),
        Err(message) => {
            let message = Json::from(message);
            write(bytes, format_args!("[{},null,{message}]", answer.id));
        }
    })
}

pub(crate) fn stop(out: &mut Outbox) -> Result<(), TooLong> {
    out.push(STOP, ANY_LENGTH, |_| ())
}

// A worker keeps to the cap it was given; whatever is longer would cost it its life.

pub(crate) fn ready(out: &mut Outbox, confinement: &Confinement) -> Result<(), TooLong> {
    push(out, READY, &confinement.write())
}

pub(crate) fn call(out: &mut Outbox, cap: usize, call: &Outgoing) -> Result<(), TooLong> {
    let Outgoing { id, global, member, arguments } = call;
    let (global, member) = (Json::from(global), Json::from(member));
    out.push(CALL, cap, |bytes| write(bytes, format_args!("[{id},{global},{member},{arguments}]")))
}

pub(crate) fn log(out: &mut Outbox, cap: usize, entry: &str) -> Result<(), TooLong> {
    out.push(LOG, cap, |bytes| bytes.extend_from_slice(entry.as_bytes()))
}

pub(crate) fn end(out: &mut Outbox, cap: usize, end: &ProgramEnd) -> Result<(), TooLong> {
    let json = match &end.failure {
        Some(failure) => {
            let position = failure.position;
            let failure = Object::builder()
                .with("kind", failure.kind.name())
                .with("message", failure.message.clone())
                .with_some("line", position.map(|position| position.line))
                .with_some("column", position.map(|position| position.column));
            Object::builder().with("failure", failure.build())
        }
        None => Object::builder().with_some("value", end.value.clone()),
    };
    let json = Json::from(json.build());
    out.push(END, cap, |bytes| write(bytes, format_args!("{json}")))
}

fn push(out: &mut Outbox, kind: u8, json: &Json) -> Result<(), TooLong> {
    out.push(kind, ANY_LENGTH, |bytes| write(bytes, format_args!("{json}")))
}

fn write(bytes: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    let _ = bytes.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use callgate_schema::json;
    use proptest::prelude::*;

    use super::*;
    use crate::worker::confinement::{Effect, Measure};
    use crate::worker::frame::Inbox;

    /// What arrives of these bytes, in pieces of those lengths, whatever they are.
    fn arrives(bytes: &[u8], pieces: &[usize], cap: usize) -> Vec<String> {
        let mut inbox = Inbox::new(cap);
        let mut seen = Vec::new();
        let mut rest = bytes;
        for length in pieces.iter().copied().chain([usize::MAX]) {
            let (piece, later) = rest.split_at(length.min(rest.len()));
            rest = later;
            inbox.feed(piece);
            loop {
                match inbox.next(ToHost::read) {
                    Ok(Some(message)) => seen.push(format!("{message:?}")),
                    Ok(None) => break,
                    Err(TooLong) => {
                        seen.push("too long".to_owned());
                        return seen;
                    }
                }
            }
        }
        seen
    }

    fn some_frames() -> Vec<u8> {
        let mut out = Outbox::default();
        let mut confinement = Confinement::none();
        confinement.set(Measure::Files, Effect::Partial("old".into()));
        ready(&mut out, &confinement).unwrap();
        let arguments = json!({ "text": "a\u{0}\"\u{20ac}", "n": [1, 2.5, u64::MAX] });
        let (global, member) = ("tools".into(), "a\"b".into());
        call(&mut out, 1_000, &Outgoing { id: 1, global, member, arguments }).unwrap();
        log(&mut out, 1_000, "entry\n").unwrap();
        let mut over = ProgramEnd::default();
        let failed = ProgramFailure::new(FailureKind::Exception, "no");
        over.failure = Some(failed.at(Position { line: 3, column: 4 }));
        end(&mut out, 1_000, &over).unwrap();
        end(&mut out, 1_000, &ProgramEnd::default()).unwrap();
        out.into_bytes()
    }

    #[test]
    fn frames_arrive_as_they_were_sent() {
        let seen = arrives(&some_frames(), &[], 1_000);
        insta::assert_snapshot!(seen.join("\n"), @r##"
        Some(Ready(Confinement([None("not tried"), None("not tried"), None("not tried"), Partial("old"), None("not tried"), None("not tried"), None("not tried")])))
        Some(Call { call: Outgoing { id: 1, global: "tools", member: "a\"b", arguments: {"text":"a\u0000\"€","n":[1,2.5,18446744073709551615]} }, size: 75 })
        Some(Log("entry\n"))
        Some(End(Err(ProgramFailure { kind: Exception, message: "no", position: Some(Position { line: 3, column: 4 }) })))
        Some(End(Ok(None)))
        "##);
    }

    #[test]
    fn what_is_too_long_is_taken_back() {
        let mut out = Outbox::default();
        assert_eq!(log(&mut out, 5, "12345"), Err(TooLong));
        assert!(out.is_empty());
        assert_eq!(log(&mut out, 6, "12345"), Ok(()));
        assert_eq!(arrives(&out.into_bytes(), &[], 5), ["too long"]);
    }

    proptest! {
        #[test]
        fn frames_may_arrive_in_any_pieces(pieces in prop::collection::vec(0_usize..40, 0..40)) {
            let bytes = some_frames();
            prop_assert_eq!(arrives(&bytes, &pieces, 1_000), arrives(&bytes, &[], 1_000));
        }

        #[test]
        fn any_bytes_can_arrive(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            arrives(&bytes, &[], 100);
        }

        #[test]
        fn any_change_to_a_frame_is_survived(at in 0_usize..400, byte in any::<u8>()) {
            let mut bytes = some_frames();
            let at = at % bytes.len();
            bytes[at] = byte;
            arrives(&bytes, &[], 1_000);
        }

        #[test]
        fn any_payload_is_read_or_dropped(kind in any::<u8>(), payload in ".{0,60}") {
            let _ = ToHost::read(kind, payload.as_bytes());
            let _ = ToWorker::read(kind, payload.as_bytes());
        }
    }
}
