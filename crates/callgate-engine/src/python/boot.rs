//! What the parent of Python programs is started with.

use std::sync::LazyLock;

use callgate_schema::{Json, Object, Str};
use seccompiler::BpfProgram;

use super::interpreter::Interpreter;
use crate::limits::Limits;

/// The program that runs inside, in the order of its parts.
const PARTS: [&str; 6] = [
    include_str!("bootstrap/values.py"),
    include_str!("bootstrap/program.py"),
    include_str!("bootstrap/imports.py"),
    include_str!("bootstrap/preflight.py"),
    include_str!("bootstrap/run.py"),
    include_str!("bootstrap/zygote.py"),
];

/// Takes two messages from the socket that is its standard input, the program and what it is
/// started with, and becomes that program, with builtins of its own.
pub(super) const LOADER: &str = "\
import socket, json, builtins
s = socket.socket(fileno=0)
n = {'__name__': '<callgate>', '__builtins__': dict(builtins.__dict__)}
exec(compile(s.recv(1 << 20), '<callgate>', 'exec'), n)
b = json.loads(s.recv(1 << 20))
s.detach()
n['serve'](b)";

/// What a program may import.
const OFFERED: &str = include_str!("bootstrap/modules.txt");

/// What the standard library imports when it is first used, and cannot any more by then.
const NEEDED_LATER: [&str; 14] = [
    "_strptime",
    "linecache",
    "concurrent.futures.thread",
    "encodings.idna",
    "encodings.punycode",
    "encodings.latin_1",
    "encodings.utf_16",
    "encodings.utf_16_le",
    "encodings.utf_32",
    "encodings.cp1252",
    "encodings.unicode_escape",
    "encodings.raw_unicode_escape",
    "encodings.utf_8_sig",
    "stringprep",
];

/// Without these no program runs.
pub(super) const REQUIRED: [&str; 14] = [
    "ast",
    "asyncio",
    "builtins",
    "difflib",
    "gc",
    "importlib",
    "io",
    "json",
    "linecache",
    "select",
    "signal",
    "socket",
    "traceback",
    "weakref",
];

/// The program that runs inside.
pub(super) fn source() -> &'static str {
    static SOURCE: LazyLock<String> = LazyLock::new(|| PARTS.join("\n"));
    &SOURCE
}

/// Every module that is of use, if it exists.
pub(super) fn modules() -> impl Iterator<Item = &'static str> {
    REQUIRED.into_iter().chain(NEEDED_LATER).chain(OFFERED.lines())
}

/// The message a parent is started with.
pub(super) fn message(
    interpreter: &Interpreter,
    limits: &Limits,
    filter: Option<&BpfProgram>,
    effects: Json,
) -> Json {
    let existing = |name: &&str| !interpreter.missing.iter().any(|missing| **missing == **name);
    let offered: Vec<Str> = OFFERED.lines().filter(existing).map(Str::from).collect();
    let warm: Vec<Str> = modules().filter(existing).map(Str::from).collect();
    Object::builder()
        .with("offered", offered)
        .with("warm", warm)
        .with("filter", filter.map_or(Json::Null, |filter| hex(filter).into()))
        .with("effects", effects)
        .with("memory", limits.memory as u64)
        .with("output", limits.output)
        .with("frameCap", limits.frame_cap() as u64)
        .build()
        .into()
}

/// A filter as the kernel takes it, in hexadecimal digits.
fn hex(filter: &BpfProgram) -> String {
    let bytes = filter.iter().flat_map(|instruction| {
        let code = instruction.code.to_ne_bytes().into_iter();
        code.chain([instruction.jt, instruction.jf]).chain(instruction.k.to_ne_bytes())
    });
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
