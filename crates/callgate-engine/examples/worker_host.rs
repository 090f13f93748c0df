//! A host with its own workers, for the tests of this crate.
//!
//! Started as a worker it runs programs, and a few things no interpreter would do: see `native`.
//! Else it is a host: `worker_host run PROGRAM…` runs programs one after the other and prints how
//! each ended; `worker_host corpus` runs those that standard input lists; `worker_host soak KILLS`
//! has workers killed under programs, `worker_host runs COUNT` runs many honest ones, and both
//! print what was left behind; `worker_host flood` prints how much memory floods of calls cost.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "it is for tests, which read what it prints and how it fails"
)]
#![expect(
    unsafe_code,
    reason = "it proves that system calls are refused, and no safe code makes them"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::pin::pin;
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use callgate_core::program::{
    EngineError, ErrorClass, FailureKind, Namespace, Program, ProgramCall, ProgramEnd,
    ProgramEngine, ProgramHost, Reply,
};
use callgate_core::{
    CallInput, CallResult, Cause, Invariants, Mode, Output, RUN_CODE, Recorder, Signal,
    ToolDefinition, ToolRuntime, render,
};
use callgate_engine::TypeScript;
use callgate_schema::{Json, Object, ParamSpec, Str, ValueSpec, json};
use callgate_session::{Content, SessionHeader, SessionOptions};
use futures_util::future::{self, Either};

fn main() {
    callgate_engine::worker::run_if_worker_with(native);
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    match what.as_str() {
        "run" => arguments.for_each(|program| run(&program)),
        "corpus" => corpus(),
        "soak" => soak(count(arguments.next())),
        "runs" => runs(count(arguments.next()), arguments.next().is_some()),
        "flood" => flood(arguments.next().is_some()),
        _ => println!(
            "worker_host run PROGRAM… | corpus | soak KILLS | runs COUNT [in-process] | flood [in-process]"
        ),
    }
}

// In a worker.

/// What a program does whose text is `native: NAME`, or the same as a comment.
fn native(text: &str) -> Option<String> {
    let name = text.trim_start_matches("// ").strip_prefix("native: ")?;
    Some(match name {
        "attempts" => attempts(),
        "system calls" => refused_system_calls(),
        "overflow" => overflow(1).to_string(),
        "abort" => std::process::abort(),
        "exit" => std::process::exit(7),
        "panic" => panic!("as it was told"),
        "spin" => loop {
            std::hint::spin_loop();
        },
        "allocate" => allocate(),
        "count" => (COUNT.fetch_add(1, Ordering::Relaxed) + 1).to_string(),
        frames => return forge(frames),
    })
}

/// How often this very process was asked.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Tries what a program must not be able to do, one line for each try.
fn attempts() -> String {
    let mut lines = Vec::new();
    let mut attempt = |what: &str, result: io::Result<()>| {
        let code = result.err().map(|error| error.raw_os_error().unwrap_or_default());
        lines.push(format!("{what}: {}", code.map_or("done".to_owned(), |code| code.to_string())));
    };
    attempt("read a file", fs::read("/etc/passwd").map(drop));
    attempt("read its memory", fs::read("/proc/self/maps").map(drop));
    attempt("look at a file", fs::metadata("/etc/passwd").map(drop));
    attempt("write a file", fs::write(std::env::temp_dir().join("callgate-was-here"), "x"));
    attempt("list a directory", fs::read_dir("/").map(drop));
    attempt("change the directory", std::env::set_current_dir(std::env::temp_dir()));
    attempt("connect", std::net::TcpStream::connect(("127.0.0.1", 9)).map(drop));
    attempt("listen", std::net::TcpListener::bind(("127.0.0.1", 0)).map(drop));
    attempt("send a datagram", std::net::UdpSocket::bind(("127.0.0.1", 0)).map(drop));
    attempt("make a socket pair", std::os::unix::net::UnixStream::pair().map(drop));
    attempt("start a process", Command::new("/bin/true").spawn().map(drop));
    attempt("start a thread", std::thread::Builder::new().spawn(|| ()).map(drop));
    let parent = unsafe { libc::getppid() };
    attempt("find the host", if parent > 0 { Ok(()) } else { Err(io::Error::last_os_error()) });
    attempt("signal everybody", check(unsafe { libc::kill(-1, 0) }.into()));
    attempt("signal itself", check(unsafe { libc::kill(libc::getpid(), libc::SIGTERM) }.into()));
    attempt(
        "write to a descriptor",
        check(unsafe { libc::write(2, [b'x'].as_ptr().cast(), 1) } as i64),
    );
    for (what, protection) in [
        ("make executable memory", libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC),
        ("make plain memory", libc::PROT_READ | libc::PROT_WRITE),
    ] {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0) };
        attempt(what, check(if page == libc::MAP_FAILED { -1 } else { 0 }));
    }
    let other = unsafe { libc::syscall(libc::SYS_tgkill, 1, 1, libc::SIGABRT) };
    attempt("abort another process", check(other));
    lines.join("\n")
}

fn check(status: i64) -> io::Result<()> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The numbers of the system calls that were not refused with `EPERM`, whatever they are called.
fn refused_system_calls() -> String {
    /// These end the process, or wait for ever. The last two are the kernel's own, for probes: it
    /// answers anybody else with a crash.
    const NOT_TRIED: &[libc::c_long] =
        &[libc::SYS_exit, libc::SYS_exit_group, libc::SYS_rt_sigreturn, libc::SYS_ppoll, 335, 336];
    let answered = (0..1024).filter(|number| {
        if NOT_TRIED.contains(number) {
            return true;
        }
        // A descriptor, a pointer, a length that are not there.
        let status = unsafe { libc::syscall(*number, 9, 0, 0, 0, 0, 0) };
        !(status == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EPERM))
    });
    answered.map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}

/// More stack than there is.
fn overflow(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 1024]);
    if depth == u64::MAX { frame[0] } else { overflow(depth + 1) + frame[1023] }
}

/// More memory than there is, taken and used.
fn allocate() -> String {
    let mut taken = Vec::new();
    loop {
        taken.push(vec![1_u8; 64 << 20]);
        std::hint::black_box(&taken);
    }
}

/// Writes bytes of its own to the socket: `name: bytes` with escapes. Then the program goes on.
fn forge(what: &str) -> Option<String> {
    let bytes = match what.strip_prefix("frames ")? {
        // A length and nothing behind it.
        "endless" => vec![0xff; 4],
        "half" => frame(b'E', "{}").into_iter().take(3).collect(),
        "noise" => [
            frame(b'?', "{}"),
            frame(b'C', "nonsense"),
            frame(b'C', "[\"1\",\"tools\",\"echo\",1]"),
            frame(b'C', "[-1,\"tools\",\"echo\",1]"),
            frame(b'C', "[1.5,\"tools\",\"echo\",1]"),
            frame(b'C', "[1,\"tools\",\"echo\"]"),
            frame(b'C', "[1,\"tools\",5,1]"),
            frame(b'C', "[1,\"tools\",\"echo\",-0]"),
            frame(
                b'C',
                &format!("[1,\"tools\",\"echo\",{}1{}]", "[".repeat(5001), "]".repeat(5001)),
            ),
            frame(b'E', "[]"),
            frame(b'E', "{\"failure\":{\"kind\":\"abort\",\"message\":\"x\"}}"),
            frame(b'E', "{\"failure\":{\"kind\":\"magic\",\"message\":\"x\"}}"),
            frame(b'E', "{\"failure\":{\"kind\":\"timeout\",\"message\":5}}"),
            frame(b'E', "{\"failure\":{}}"),
            frame(b'R', "[{}]"),
            vec![0; 4],
            [&3_u32.to_le_bytes()[..], b"L\xff\xfe"].concat(),
        ]
        .concat(),
        "twice" => [
            frame(b'C', "[1,\"tools\",\"echo\",1]"),
            frame(b'C', "[1,\"tools\",\"echo\",2]"),
            frame(b'C', "[5,\"tools\",\"echo\",3]"),
            frame(b'C', "[4,\"tools\",\"echo\",4]"),
            frame(b'C', "[6,\"tools\",\"toString\",5]"),
            frame(b'C', "[7,\"elsewhere\",\"echo\",6]"),
        ]
        .concat(),
        "both" => frame(
            b'E',
            "{\"value\":1,\"failure\":{\"kind\":\"exception\",\"message\":\"both\",\"line\":0,\"column\":2}}",
        ),
        "logs" => frame(b'L', "four").repeat(100_000),
        "value" => frame(b'E', &format!("{{\"value\":\"{}\"}}", "x".repeat(1 << 20))),
        "calls" => loop {
            send(&frame(b'C', "[1,\"tools\",\"echo\",1]"));
        },
        "flood" => flood_with_calls(),
        random if random.starts_with("random ") => return talk_at_random(random),
        die => die_after(die.strip_prefix("die after ")?.parse().ok()?),
    };
    send(&bytes);
    Some("said".to_owned())
}

/// That many calls, and no end.
fn die_after(calls: u64) -> ! {
    for id in 1..=calls {
        send(&frame(b'C', &format!("[{id},\"tools\",\"work\",{{}}]")));
        if id.is_multiple_of(3) {
            std::thread::yield_now();
        }
    }
    std::process::exit(7)
}

/// Frames that make sense, mostly, and changes to them, as `random SEED` has it; then an end.
fn talk_at_random(what: &str) -> Option<String> {
    let seed: u64 = what.strip_prefix("random ")?.parse().ok()?;
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let sensible = [
        frame(b'C', "[1,\"tools\",\"echo\",{\"a\":[1]}]"),
        frame(b'C', "[2,\"tools\",\"hold\",null]"),
        frame(b'C', "[9007199254740993,\"tools\",\"fail\",\"x\"]"),
        frame(b'C', "[3,\"tools\",\"__proto__\",{\"__proto__\":1}]"),
        frame(b'C', "[4,\"elsewhere\",\"echo\",1]"),
        frame(b'L', "an entry"),
        frame(b'L', &"x".repeat(500)),
        frame(b'R', "[\"full\",\"full\"]"),
        frame(b'E', "{}"),
        frame(b'E', "{\"value\":[1,2.5,\"\\u0000\"]}"),
        frame(b'E', "{\"failure\":{\"kind\":\"exception\",\"message\":\"m\",\"line\":1}}"),
        frame(b'A', "[1,2]"),
        frame(b'S', ""),
        vec![0; 4],
        b"\x01\0\0\0\xff".to_vec(),
    ];
    for _ in 0..chance.below(150) {
        let mut bytes = sensible[chance.pick(sensible.len())].clone();
        // An end is the end, and it should not always come at once.
        if bytes[4..].first() == Some(&b'E') && chance.below(8) > 0 {
            continue;
        }
        match chance.below(12) {
            0 => (0..3).for_each(|_| {
                let at = chance.pick(bytes.len());
                bytes[at] = chance.byte();
            }),
            1 => bytes.truncate(chance.pick(bytes.len())),
            2 => (0..chance.below(40)).for_each(|_| bytes.push(chance.byte())),
            // A length that does not fit.
            3 if chance.below(6) == 0 => bytes[chance.pick(4)] = chance.byte(),
            // Another kind, and another payload.
            4 if bytes.len() > 5 => bytes[4] = b"BPASRCLE?"[chance.pick(9)],
            5 if bytes.len() > 5 => bytes[5..].iter_mut().for_each(|byte| *byte ^= 1),
            // A number that counts on.
            6..9 => {
                let id = chance.below(1 << 20);
                bytes = frame(b'C', &format!("[{id},\"tools\",\"echo\",{id}]"));
            }
            _ => {}
        }
        send(&bytes);
    }
    match chance.below(6) {
        0 => std::process::exit(0),
        1 => std::process::abort(),
        2 => loop {
            std::hint::spin_loop();
        },
        _ => Some("said".to_owned()),
    }
}

/// Calls without end, and never an ear for the answers.
fn flood_with_calls() -> Vec<u8> {
    let argument = "x".repeat(100_000);
    for id in 1_u64.. {
        send(&frame(b'C', &format!("[{id},\"tools\",\"echo\",\"{argument}\"]")));
    }
    Vec::new()
}

fn frame(kind: u8, payload: &str) -> Vec<u8> {
    let length = u32::try_from(payload.len() + 1).expect("a test is not that large");
    [&length.to_le_bytes()[..], &[kind], payload.as_bytes()].concat()
}

fn send(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let sent = unsafe { libc::send(0, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        match usize::try_from(sent) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(_) => std::process::exit(0),
        }
    }
}

// As a host.

/// The usual functions of the tests.
#[derive(Default)]
struct Tools {
    /// Replies of calls to `hold`, which nobody answers.
    held: Mutex<Vec<Reply>>,
}

impl ProgramHost for Tools {
    fn call(&self, call: ProgramCall, reply: Reply) {
        match &*call.member {
            "fail" => reply.send(Err(call.arguments.as_str().unwrap_or("failed").to_owned())),
            "hold" => self.held.lock().expect("nobody panics").push(reply),
            _ => reply.send(Ok(call.arguments)),
        }
    }
}

const MEMBERS: [&str; 7] = ["echo", "fail", "hold", "__proto__", "constructor", "a-b", ""];

fn count(argument: Option<String>) -> u32 {
    argument.and_then(|count| count.parse().ok()).expect("a number is needed")
}

fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

fn execute(engine: &dyn ProgramEngine, text: &str) -> Result<ProgramEnd, EngineError> {
    let members = MEMBERS.iter().map(|name| Str::from(*name)).collect();
    let class = ErrorClass::new("ToolCallError", "toolName");
    let program = Program::new(text, vec![Namespace::new("tools", members, Some(class))]);
    block_on(engine.run(program, Arc::<Tools>::default(), Signal::new()))
}

fn run(text: &str) {
    let engine = TypeScript::worker().memory(128 << 20).build().expect("workers can be started");
    let end = execute(&engine, text).expect("the engine works");
    match end.failure {
        Some(failure) => println!("{}: {}: {}", engine.isolation(), failure.kind, failure.message),
        None => println!("{}: {}", engine.isolation(), end.value.unwrap_or_default()),
    }
}

// The corpus.

/// Runs each program that standard input lists, and an honest one after it; prints how each ended,
/// then what this process held before, and after.
fn corpus() {
    let request = io::read_to_string(io::stdin()).expect("standard input is text");
    let request = Json::parse(&request).expect("standard input is JSON");
    let number = |json: Option<&Json>| json.and_then(Json::as_u64).expect("a number");
    let size = |name| number(request.get(name));
    let text = |json: Option<&Json>| json.and_then(Json::to_str).expect("a text");
    let honest = text(request.get("honest"));
    let programs = request.get("programs").and_then(Json::as_array).expect("programs");
    let mut engines = BTreeMap::new();
    for program in programs {
        let compute = Duration::from_millis(number(program.item(1)));
        engines.entry(compute).or_insert_with(|| {
            let engine = TypeScript::worker()
                .compute(compute)
                .wall(compute * 5)
                .memory(usize::try_from(size("memory")).expect("a size"))
                .max_output_bytes(size("output"))
                .pool(1);
            engine.build().expect("workers can be started").for_session("corpus")
        });
    }
    let settle = |wanted: Option<&String>| {
        // An unused worker, and one of the session, for each engine.
        settled(2 * engines.len(), wanted, || {
            for engine in engines.values() {
                let _ = execute(engine, "return 1");
            }
        })
    };
    let before = settle(None);
    for program in programs {
        let engine = &engines[&Duration::from_millis(number(program.item(1)))];
        for source in [&text(program.item(0)), &honest] {
            let started = Instant::now();
            let end = execute(engine, source).expect("the engine works");
            let failure = end.failure.as_ref();
            let ended = Object::builder()
                .with_some("kind", failure.map(|failure| failure.kind.name()))
                .with_some("message", failure.map(|failure| failure.message.clone()))
                .with_some("value", end.value.clone())
                .with("ms", u64::try_from(started.elapsed().as_millis()).expect("not that long"));
            println!("{}", Json::from(ended.build()));
        }
    }
    for counts in [&before, &settle(Some(&before))] {
        println!("{}", Json::from(counts));
    }
}

// Kills.

/// Kills workers at random moments, or cancels their programs, under Code Mode's own lane, and
/// checks after each that nothing was lost. Prints how each run ended, and what this process held
/// before, and after.
fn soak(kills: u32) {
    let engine = TypeScript::worker().compute(Duration::from_secs(20)).memory(128 << 20).pool(1);
    let bench = Bench::new(engine.build().expect("workers can be started"));
    let mut chance = Chance(u64::from(std::process::id()) | 1);
    println!("seed {}", chance.0);
    // What is made once stays.
    bench.kill(0, &mut chance);
    // A worker that was killed while it waited may not be gone when it is taken. Each run has an id of its own, for
    // there is to be one result of each.
    let again = AtomicUsize::new(0);
    let settle = |wanted| {
        settled(2, wanted, || {
            let id = format!("again-{}", again.fetch_add(1, Ordering::Relaxed));
            drop(block_on(bench.run(&id, "return 1", &Signal::new())));
        })
    };
    let before = settle(None);
    for at in 0..kills {
        bench.kill(at, &mut chance);
    }
    let after = settle(Some(&before));
    bench.fine();
    println!("{before}\n{after}");
}

/// A runtime with a tool whose bodies are counted, and a log that is checked.
struct Bench {
    recorder: Recorder,
    bodies: Arc<[AtomicUsize; 2]>,
    /// Results of calls, by the id of the call.
    published: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl Bench {
    fn new(engine: impl ProgramEngine) -> Self {
        let bodies: Arc<[AtomicUsize; 2]> = Arc::default();
        let runtime = ToolRuntime::builder().mode(Mode::Code).engine(engine).tool(work(&bodies));
        let runtime = runtime.tool(big()).build().expect("a runtime");
        let published: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
        let counts = published.clone();
        runtime.observe(move |call, _| {
            let mut counts = counts.lock().expect("nobody panics");
            *counts.entry(call.id().to_string()).or_default() += 1;
        });
        let log = SessionOptions::new().keep_bytes(64 << 10).in_memory(SessionHeader::new("s", 0));
        Invariants::watch(&log).expect("an empty log is in order");
        let recorder = Recorder::new(runtime.scope(), log).expect("a scope without a session");
        Self { recorder, bodies, published }
    }

    async fn run(&self, id: &str, code: &str, signal: &Signal) -> CallResult {
        let input = json!({ "code": code, "description": "Runs a program of the tests" });
        let input = CallInput::new(id, RUN_CODE, input).with_signal(signal.clone());
        self.recorder.call(input).await
    }

    fn fine(&self) {
        let result = block_on(self.run("fine", "return await tools.work({})", &Signal::new()));
        assert_eq!(result.text(), "1");
        self.published.lock().expect("nobody panics").clear();
    }

    fn kill(&self, at: u32, chance: &mut Chance) {
        let signal = Signal::new();
        let code = "for (;;) { await Promise.all([1, 2, 3].map(() => tools.work({}))); for (let i = 0; i < 1e4; i++); }";
        let id = format!("run-{at}");
        let run = self.run(&id, code, &signal);
        let moment = Duration::from_micros(chance.below(6000));
        let is_cancelled = chance.below(4) == 0;
        let killing = async {
            tokio::time::sleep(moment).await;
            if is_cancelled {
                signal.cancel(Cause::new("test", "enough"));
            } else {
                kill_children();
            }
            // A program that was not there yet when its worker should have been killed.
            tokio::time::sleep(Duration::from_millis(300)).await;
            signal.cancel(Cause::new("test", "too late"));
        };
        let result = block_on(async {
            match future::select(pin!(run), pin!(killing)).await {
                Either::Left((result, _)) => result,
                Either::Right(((), run)) => run.await,
            }
        });
        let [began, ended] = [0, 1].map(|count: usize| self.bodies[count].load(Ordering::SeqCst));
        assert_eq!(began, ended, "bodies that began and bodies that ended");
        let published = std::mem::take(&mut *self.published.lock().expect("nobody panics"));
        let twice: Vec<_> = published.iter().filter(|(_, count)| **count != 1).collect();
        assert!(twice.is_empty() && published.contains_key(&id), "one result each: {twice:?}");
        assert!(result.is_error(), "{}", result.text());
        self.recorder.close().expect("every call is settled in the log");
        let kinds = ["(abort)", "(worker-exit)", "the program could not be run"];
        let kind = kinds.iter().find(|kind| result.text().contains(**kind));
        println!("{at} {}", kind.map_or_else(|| result.text(), ToString::to_string));
    }
}

/// A tool that takes a moment.
fn work(bodies: &Arc<[AtomicUsize; 2]>) -> ToolDefinition {
    let bodies = bodies.clone();
    let output = Output::new(ValueSpec::integer(), render::json);
    let body = move |_, _| {
        let bodies = bodies.clone();
        async move {
            bodies[0].fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_micros(300)).await;
            bodies[1].fetch_add(1, Ordering::SeqCst);
            Ok(json!(1))
        }
    };
    ToolDefinition::new("work", "Works.", ParamSpec::new(), output, body).concurrency_safe()
}

/// A tool that returns a megabyte, a new one each time.
fn big() -> ToolDefinition {
    let output = Output::new(ValueSpec::string(), |_: &Json, _: &Json| Vec::<Content>::new());
    let body = |_, _| async { Ok(Json::from("x".repeat(1 << 20))) };
    ToolDefinition::new("big", "Returns much.", ParamSpec::new(), output, body).concurrency_safe()
}

// Floods.

/// Runs programs that call faster than they are served, or take no answers, and prints how each
/// ended and how much more memory this process ever held than before.
fn flood(in_process: bool) {
    let (compute, memory) = (Duration::from_millis(1500), 32 << 20);
    let bench = if in_process {
        let engine = TypeScript::in_process().compute(compute).wall(2 * compute).memory(memory);
        Bench::new(engine.build().expect("an engine"))
    } else {
        let engine = TypeScript::worker().compute(compute).wall(2 * compute).memory(memory);
        Bench::new(engine.build().expect("workers can be started"))
    };
    bench.fine();
    let before = resident();
    for program in [
        "for (;;) tools.work({}).catch(() => {})",
        "const input = { text: 'x'.repeat(10_000) }; for (;;) tools.work(input).catch(() => {})",
        "let last; for (let i = 0; i < 10_000; i++) last = tools.big({}); for (;;) {}",
        "let last; for (;;) { last = tools.big({}); await 0 }",
        "const a = []; for (let i = 0; i < 10_000; i++) a.push(tools.big({})); await Promise.allSettled(a); for (;;) {}",
        // Nothing but a kill ends this one.
        "let last; for (let i = 0; i < 10_000; i++) last = tools.big({}); [].includes.call({ length: 2 ** 53 - 1 }, 1)",
    ] {
        if in_process && program.contains("includes") {
            continue;
        }
        let result = block_on(bench.run("run", program, &Signal::new()));
        let text = result.text();
        assert!(result.is_error() && !text.contains("before anything ran"), "{program}: {text}");
        println!("{}", text.lines().next().unwrap_or_default());
        bench.recorder.close().expect("every call is settled in the log");
    }
    bench.fine();
    println!("{}", peak().saturating_sub(before));
}

/// The most bytes of memory that this process ever held.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.unwrap_or_default() * 1024
}

fn kill_children() {
    for pid in children() {
        // SAFETY: a signal to a child; one that is gone was not waited for by anybody else.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

/// Numbers that look random and come again with the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn pick(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("less than a length")
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).expect("less than 256")
    }
}

// Many runs.

/// Runs that many programs, and prints what this process held after the first tenth, and after all.
fn runs(count: u32, in_process: bool) {
    let worker;
    let inside;
    let engine: &dyn ProgramEngine = if in_process {
        inside = TypeScript::in_process().memory(64 << 20).build().expect("an engine");
        &inside
    } else {
        let engine = TypeScript::worker().memory(64 << 20).pool(1);
        worker = engine.build().expect("workers can be started").for_session("runs");
        &worker
    };
    let programs = [
        "return 1",
        "return await tools.echo({ text: 'x'.repeat(1000) })",
        "console.log('a', { b: [1, 2] }); return (await Promise.all([1, 2, 3].map(i => tools.echo(i)))).length",
        "throw new Error('no')",
        "await tools.fail('no')",
        "tools.hold(1); return new Map([[1, [2]]]).get(1)",
        "const x: number = ;",
    ];
    let one = |at: u32| {
        let program = programs[at as usize % programs.len()];
        let end = execute(engine, program).expect("the engine works");
        let kind = end.failure.map(|failure| failure.kind);
        assert!(matches!(kind, None | Some(FailureKind::Exception)), "{program}: {kind:?}");
    };
    let idle = if in_process { 0 } else { 2 };
    let settle = |wanted| settled(idle, wanted, || one(0));
    let first = count / 10;
    (0..first).for_each(one);
    let before = settle(None);
    let memory = resident();
    (first..count).for_each(one);
    println!("{before}\n{}", settle(Some(&before)));
    println!("{memory}\n{}", resident());
}

// What this process holds.

/// Bytes of memory.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Option<u64> = status.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or_default() * 4096
}

/// The processes whose parent is this one.
fn children() -> Vec<libc::pid_t> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let lists: Vec<String> = lists.collect();
    lists
        .iter()
        .flat_map(|list| list.split_whitespace())
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Descriptors, threads and children of this process, once they are as `wanted`, or as many
/// children as are kept, or never will be. `again` fills the pool.
fn settled(kept: usize, wanted: Option<&String>, again: impl Fn()) -> String {
    let late = Instant::now() + Duration::from_secs(20);
    loop {
        again();
        std::thread::sleep(Duration::from_millis(100));
        let count = |path| fs::read_dir(path).map_or(0, Iterator::count);
        let counts = format!(
            "descriptors {} threads {} children {}",
            count("/proc/self/fd"),
            count("/proc/self/task"),
            children().len()
        );
        let done = wanted.map_or_else(|| children().len() == kept, |wanted| counts == *wanted);
        if done || Instant::now() > late {
            return counts;
        }
    }
}
