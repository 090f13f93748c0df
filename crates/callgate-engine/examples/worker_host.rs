//! A host with its own workers, for the tests of this crate.
//!
//! Started as a worker it runs programs, and a few things no interpreter would do: see `native`.
//! Else it is a host: `worker_host run PROGRAM…` runs programs one after the other and prints how
//! each ended; `worker_host soak KILLS` has workers killed under programs and prints what was left
//! behind.
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

use std::fs;
use std::io;
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use callgate_core::program::{Namespace, Program, ProgramCall, ProgramEngine, ProgramHost, Reply};
use callgate_core::{Cause, Signal};
use callgate_engine::{TypeScript, WorkerEngine};
use futures_util::future::{self, Either};

fn main() {
    callgate_engine::worker::run_if_worker_with(native);
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    match what.as_str() {
        "run" => arguments.for_each(|program| run(&program)),
        "soak" => soak(arguments.next().and_then(|kills| kills.parse().ok()).unwrap_or(50)),
        _ => println!("worker_host run PROGRAM…, worker_host soak KILLS"),
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
        "flood" => flood(),
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

/// Calls without end, and never an ear for the answers.
fn flood() -> Vec<u8> {
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

/// Answers each call with its arguments.
struct Echo;

impl ProgramHost for Echo {
    fn call(&self, call: ProgramCall, reply: Reply) {
        reply.send(Ok(call.arguments));
    }
}

fn engine() -> WorkerEngine {
    TypeScript::worker()
        .compute(Duration::from_secs(20))
        .memory(128 << 20)
        .build()
        .expect("workers can be started")
}

fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

fn program(text: &str) -> Program {
    Program::new(text, vec![Namespace::new("tools", vec!["echo".into()], None)])
}

fn run(text: &str) {
    let engine = engine();
    let end = block_on(engine.run(program(text), Arc::new(Echo), Signal::new()));
    let end = end.expect("the engine works");
    match end.failure {
        Some(failure) => println!("{}: {}: {}", engine.isolation(), failure.kind, failure.message),
        None => println!("{}: {}", engine.isolation(), end.value.unwrap_or_default()),
    }
}

/// Kills workers at moments that differ, or cancels their programs, and counts what is left.
fn soak(kills: u32) {
    let engine = engine().for_session("soak");
    // What is made once stays.
    kill(&engine, 0);
    kill(&engine, 1);
    let before = settled_counts(&engine, None);
    for at in 0..kills {
        kill(&engine, at);
    }
    let after = settled_counts(&engine, Some(&before));
    println!("{before}\n{after}");
}

fn kill(engine: &WorkerEngine, at: u32) {
    let signal = Signal::new();
    let text = "for (;;) { await Promise.all([1, 2, 3].map(i => tools.echo(i))); let x = 1; for (let i = 0; i < 1e5; i++) x += i; }";
    let run = engine.run(program(text), Arc::new(Echo), signal.clone());
    let moment = Duration::from_micros(u64::from(at * 7919 % 5000));
    let killing = async {
        tokio::time::sleep(moment).await;
        if at.is_multiple_of(3) {
            signal.cancel(Cause::new("test", "enough"));
        } else {
            for pid in children() {
                // SAFETY: a signal to a child; one that is gone was not waited for by anybody else.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
        }
        // A program that was not there yet when its worker should have been killed.
        tokio::time::sleep(Duration::from_millis(300)).await;
        signal.cancel(Cause::new("test", "too late"));
    };
    let end = block_on(async {
        match future::select(run, pin!(killing)).await {
            Either::Left((end, _)) => end,
            Either::Right(((), run)) => run.await,
        }
    });
    let kind = match &end {
        Ok(end) => end.failure.as_ref().map_or("none", |failure| failure.kind.name()),
        // Its worker was killed before it was there.
        Err(_) => "not run",
    };
    println!("{at} {kind}");
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

/// Descriptors, threads and children of this process, once they are as they were or never will be.
fn settled_counts(engine: &WorkerEngine, wanted: Option<&String>) -> String {
    let late = Instant::now() + Duration::from_secs(10);
    loop {
        // The pool is full again after a run.
        let _ = block_on(engine.run(program("return 1"), Arc::new(Echo), Signal::new()));
        std::thread::sleep(Duration::from_millis(100));
        let count = |path| fs::read_dir(path).map_or(0, Iterator::count);
        let counts = format!(
            "descriptors {} threads {} children {}",
            count("/proc/self/fd"),
            count("/proc/self/task"),
            children().len()
        );
        let done = wanted.is_some_and(|wanted| counts == *wanted);
        if done || Instant::now() > late || wanted.is_none() && children().len() == 3 {
            return counts;
        }
    }
}
