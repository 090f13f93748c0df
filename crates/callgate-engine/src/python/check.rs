//! Pre-flight of Python programs: a child parses, and the host judges what it says is there.

use std::io::Write as _;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use callgate_core::preflight::judge;
use callgate_core::preflight::{CallSketch, Extent, Finding, FindingKind, Sketch, ToolSignature};
use callgate_core::program::{Isolation, Position, Program};
use callgate_schema::{Json, Object, ParseOptions, Str};
use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::oneshot;

use super::nursery::Nursery;
use crate::worker::engine::greet;
use crate::worker::frame::{Inbox, Outbox, Received};
use crate::worker::pool::{Taken, Worker};

/// A program to look through, and what was seen.
const CHECK: u8 = b'K';
/// How long a child may look. A program that takes longer is run, and says itself what is wrong.
const PATIENCE: Duration = Duration::from_secs(5);
/// How deep what a child says may be: literals in its sketches are not deeper than 64.
const DEPTH: usize = 512;
/// More calls and findings than these are nobody's program.
const MOST: usize = 10_000;

/// What is certainly wrong with a program.
pub(super) fn check<'a>(
    nursery: &Arc<Nursery>,
    session: Option<Str>,
    level: Isolation,
    program: &'a Program,
    tools: &'a [ToolSignature],
) -> BoxFuture<'a, Vec<Finding>> {
    let global = program.namespaces.first().map_or("", |namespace| &*namespace.global);
    // What else could be wrong the run itself says as well, before anything happened.
    if !program.source.contains(global) && !program.source.contains("import") {
        return future::ready(Vec::new()).boxed();
    }
    let (source, global) = (program.source.clone(), Str::from(global));
    let nursery = nursery.clone();
    let (done, seen) = oneshot::channel();
    let look = move || {
        // Nobody may be waiting any more.
        let _ = done.send(look(&nursery, session, level, &source, &global));
    };
    // Without a thread nothing is found, and the run itself says what is wrong.
    let started = thread::Builder::new().name("callgate-check".to_owned()).spawn(look).is_ok();
    Box::pin(async move {
        if !started {
            return Vec::new();
        }
        let Some(Seen { calls, mut findings }) = seen.await.ok().flatten() else {
            return Vec::new();
        };
        findings.extend(judge(program, tools, &calls));
        findings.sort_by_key(|it| (it.position.line, it.position.column, it.kind));
        findings
    })
}

/// What a child saw.
struct Seen {
    calls: Vec<CallSketch>,
    findings: Vec<Finding>,
}

fn look(
    nursery: &Arc<Nursery>,
    session: Option<Str>,
    level: Isolation,
    source: &Str,
    global: &Str,
) -> Option<Seen> {
    let is_session = session.is_some();
    let pool = nursery.pool(session);
    let mut worker = match pool.take(None) {
        Taken::Now(worker) => worker,
        Taken::Later(starting) => starting.blocking_recv().ok()?.ok()?,
    };
    if !worker.is_ready {
        let (ready, confinement) = greet(worker).ok()?;
        worker = ready;
        if confinement.isolation() < level {
            return None;
        }
    }
    let said = ask(&mut worker, source, global)?;
    // It read a program and ran none: the next one of the session may be its own.
    if is_session && worker.inbox.is_empty() {
        pool.add(worker);
    }
    read(&said, global)
}

/// Has a child look through a program.
fn ask(worker: &mut Worker, source: &Str, global: &Str) -> Option<Json> {
    let question = Object::builder().with("source", source.clone()).with("global", global.clone());
    let question = Json::from(question.build());
    let mut outbox = Outbox::default();
    outbox
        .push(CHECK, usize::MAX, |bytes| {
            // Writing to memory does not fail.
            let _ = write!(bytes, "{question}");
        })
        .ok()?;
    let by = Instant::now() + PATIENCE;
    loop {
        let is_sent = outbox.flush(&worker.socket).ok()?;
        match worker.inbox.next(|kind, payload| (kind == CHECK).then(|| parse(payload)).flatten()) {
            Ok(Some(said)) => return said,
            Ok(None) => {}
            Err(_) => return None,
        }
        let left = by.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        let left = Timespec::try_from(left).ok();
        let flags = if is_sent { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        // Whatever it waited for: what is there tells.
        let _ = poll(&mut [PollFd::new(&worker.socket, flags)], left.as_ref());
        if receive(&mut worker.inbox, &worker.socket) == Received::Closed {
            return None;
        }
    }
}

fn receive(inbox: &mut Inbox, socket: &std::os::unix::net::UnixStream) -> Received {
    inbox.receive(socket, false)
}

fn parse(payload: &[u8]) -> Option<Json> {
    ParseOptions::new().max_depth(DEPTH).parse_slice(payload).ok()
}

// A child is a stranger: what it says is rebuilt field by field, and what makes no sense is left
// out.

fn read(said: &Json, global: &Str) -> Option<Seen> {
    let calls = said.get("calls")?.as_array()?.iter().take(MOST);
    let findings = said.get("findings")?.as_array()?.iter().take(MOST);
    Some(Seen {
        calls: calls.filter_map(|call| read_call(call, global)).collect(),
        findings: findings.filter_map(read_finding).collect(),
    })
}

fn read_call(call: &Json, global: &Str) -> Option<CallSketch> {
    let at = call.get("at")?;
    let place = position(at.item(0)?, at.item(1)?)?;
    let mut sketch = CallSketch::new(global.clone(), call.get("member")?.to_str()?, place);
    sketch.argument = call.get("argument").and_then(read_sketch);
    let flag = |name: &str| call.get(name) == Some(&Json::Bool(true));
    sketch.is_lookup_certain = flag("lookup");
    sketch.is_refusal_certain = flag("refusal");
    sketch.is_forgotten = flag("forgotten");
    Some(sketch)
}

fn read_finding(finding: &Json) -> Option<Finding> {
    let kind = match finding.item(0)?.as_str()? {
        "syntax" => FindingKind::Syntax,
        "import" => FindingKind::Import,
        _ => return None,
    };
    let place = position(finding.item(1)?, finding.item(2)?)?;
    Some(Finding::new(kind, place, finding.item(3)?.as_str()?))
}

/// Its depth is that of the text, which is limited.
fn read_sketch(json: &Json) -> Option<Sketch> {
    let at = position(json.item(1)?, json.item(2)?)?;
    let extent = |item: usize| match json.item(item) {
        Some(Json::Bool(false)) => Extent::Complete,
        _ => Extent::Open,
    };
    Some(match json.item(0)?.as_str()? {
        "s" => Sketch::scalar(at, json.item(3)?.clone()),
        "t" => Sketch::text(at),
        "b" => Sketch::boolean(at),
        "x" => Sketch::unfit(at, json.item(3)?.as_str()?),
        "l" => {
            let items = json.item(3)?.as_array()?.iter();
            Sketch::list(at, items.map(read_sketch).collect::<Option<_>>()?, extent(4))
        }
        "o" => {
            let members = json.item(3)?.as_array()?.iter().map(|member| {
                let place = position(member.item(1)?, member.item(2)?)?;
                Some((member.item(0)?.to_str()?, place, read_sketch(member.item(3)?)?))
            });
            Sketch::object(at, members.collect::<Option<_>>()?, extent(4))
        }
        _ => Sketch::unknown(at),
    })
}

fn position(line: &Json, column: &Json) -> Option<Position> {
    let number = |json: &Json| u32::try_from(json.as_u64()?).ok().filter(|at| *at > 0);
    Some(Position { line: number(line)?, column: number(column)? })
}
