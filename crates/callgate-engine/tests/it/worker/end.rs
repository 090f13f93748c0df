//! How runs end, whatever happens to their workers.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use callgate_core::program::{
    FailureKind, Program, ProgramCall, ProgramEngine, ProgramHost, Reply,
};
use callgate_core::{Cause, Signal};
use callgate_schema::Json;

use super::support::{executable, failure, host, run, run_on, value, worker};
use crate::support::{Host, block_on, tools};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

#[test]
fn a_worker_that_dies_ends_the_run_and_only_the_run() {
    // RUNTIME-28
    let engine = worker().build().unwrap();
    for (program, told) in [
        ("native: exit", "status 7"),
        ("native: overflow", "signal 11"),
        ("native: abort", "signal 6"),
        ("native: panic", "status 101"),
    ] {
        let started = Instant::now();
        let (kind, message) = failure(&engine, program);
        assert_eq!(kind, FailureKind::WorkerExit, "{program}");
        assert!(message.contains(told), "{program}: {message}");
        assert!(started.elapsed() < PATIENCE, "{program}");
        assert_eq!(value(&engine, "return 'fine'"), Some("fine".into()), "after {program}");
    }
}

#[test]
fn what_cannot_be_interrupted_is_killed_on_the_deadline() {
    // RUNTIME-22
    let budget = Duration::from_millis(200);
    for program in ["native: spin", "new Array(2 ** 28).join()", "for (;;) {}"] {
        let started = Instant::now();
        let (end, _) = run_on(worker().compute(budget), program);
        let failure = end.failure.expect(program);
        assert_eq!(failure.kind, FailureKind::Timeout, "{program}: {}", failure.message);
        assert_eq!(
            failure.message,
            "the compute budget of 200ms is used up: compute less, or let a tool do it"
        );
        assert!(started.elapsed() < budget + PATIENCE, "{program}");
    }
}

#[test]
fn the_wall_ceiling_holds_for_a_program_that_waits() {
    // RUNTIME-23
    let ceiling = Duration::from_millis(200);
    for program in ["await tools.hold(1)", "await new Promise(r => setTimeout(r, 60_000))"] {
        let started = Instant::now();
        let engine = worker().wall(ceiling).pool(0).build().unwrap();
        let run = Program::new(program, vec![tools()]);
        let run = engine.run(run, Arc::new(Host::default()), Signal::new());
        let end = block_on(async { tokio::time::timeout(ceiling + PATIENCE, run).await });
        let end = end.unwrap_or_else(|_| panic!("{program} was not ended")).unwrap();
        let failure = end.failure.expect(program);
        assert_eq!(failure.kind, FailureKind::Timeout, "{program}: {}", failure.message);
        let message =
            "the wall-clock ceiling of 200ms was reached: wait for less, or split the work";
        assert_eq!(failure.message, message);
        assert!(started.elapsed() < ceiling + PATIENCE, "{program}");
    }
}

#[test]
fn time_spent_waiting_for_people_does_not_count() {
    // RUNTIME-23
    let engine = worker().wall(Duration::from_millis(400)).build().unwrap();
    let program = Program::new("await tools.later(900); return 'approved'", vec![tools()]);
    let pause = program.clock.pause();
    let end = block_on(async {
        let run = engine.run(program, Arc::new(Host::default()), Signal::new());
        let resume = async move {
            tokio::time::sleep(Duration::from_millis(850)).await;
            drop(pause);
        };
        tokio::join!(run, resume).0.unwrap()
    });
    assert_eq!((end.value, end.failure), (Some("approved".into()), None));
}

#[test]
fn a_deadline_holds_while_the_executor_of_the_host_is_busy() {
    // RUNTIME-30
    let engine = worker().compute(Duration::from_millis(100)).build().unwrap();
    let program = Program::new("console.log('before'); for (;;) {}", vec![tools()]);
    let run = engine.run(program, Arc::new(Host::default()), Signal::new());
    let end = block_on(async {
        let mut run = std::pin::pin!(run);
        tokio::select! { biased; _ = &mut run => panic!("so soon"), () = tokio::time::sleep(Duration::from_millis(50)) => {} }
        std::thread::sleep(Duration::from_millis(500));
        run.await.unwrap()
    });
    assert_eq!(end.failure.map(|failure| failure.kind), Some(FailureKind::Timeout));
    assert_eq!(end.logs, ["before".into()]);
}

#[test]
fn a_cancelled_run_ends_at_once_with_the_cause() {
    // RUNTIME-26
    let engine = worker().build().unwrap().for_session("a");
    for program in [
        "for (;;) {}",
        "try { for (;;) {} } finally { for (;;) {} }",
        "await tools.hold(1)",
        "await new Promise(r => setTimeout(r, 60_000))",
        "new Array(2 ** 28).join()",
        "native: spin",
    ] {
        let (signal, started) = (Signal::new(), Instant::now());
        let run = Program::new(format!("console.log('said');{program}"), vec![tools()]);
        let run = if program.starts_with("native") { Program::new(program, vec![]) } else { run };
        let end = block_on(async {
            let run = engine.run(run, Arc::new(Host::default()), signal.clone());
            let cancel = async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                signal.cancel(Cause::new("user", "the user pressed stop"));
            };
            tokio::join!(run, cancel).0.unwrap()
        });
        let failure = end.failure.expect(program);
        let expected = (FailureKind::Abort, "the user pressed stop");
        assert_eq!((failure.kind, &*failure.message), expected, "{program}");
        assert!(started.elapsed() < PATIENCE, "{program}");
        assert_eq!(end.logs.len(), usize::from(!program.starts_with("native")), "{program}");
        assert_eq!(value(&engine, "return 1"), Some(1.into()), "after {program}");
    }
    let signal = Signal::new();
    signal.cancel(Cause::new("user", "too early"));
    let program = Program::new("syntax error (", vec![tools()]);
    let end = block_on(engine.run(program, Arc::new(Host::default()), signal)).unwrap();
    assert_eq!(end.failure.map(|failure| failure.message), Some("too early".to_owned()));
}

/// Counts what it was asked, and how often each answer was asked for.
struct Slow;

impl ProgramHost for Slow {
    fn call(&self, call: ProgramCall, reply: Reply) {
        std::thread::spawn(move || reply.send(Ok(call.arguments)));
    }
}

#[test]
fn twenty_thousand_calls_at_once_do_not_wait_for_each_other() {
    // RUNTIME-30
    let engine = worker().build().unwrap();
    let source = "const out = await Promise.all(Array.from({ length: 20_000 }, (_, i) => tools.echo({ i, text: 'x'.repeat(100) }))); \
                  return out.every((value, i) => value.i === i)";
    assert_eq!(value(&engine, source), Some(true.into()));
    // Answers from other threads, and larger than any buffer between the two.
    let source = "const big = 'x'.repeat(300_000); \
                  const out = await Promise.all(Array.from({ length: 100 }, (_, i) => tools.echo(big + i))); \
                  return out.every((value, i) => value === big + i)";
    let program = Program::new(source, vec![tools()]);
    let end = block_on(engine.run(program, Arc::new(Slow), Signal::new())).unwrap();
    assert_eq!((end.value, end.failure), (Some(true.into()), None));
}

#[test]
fn sessions_never_share_a_worker_and_runs_never_share_an_interpreter() {
    // RUNTIME-7
    let engine = worker().build().unwrap();
    let (one, other) = (engine.for_session("one"), engine.for_session("other"));
    let leave = "globalThis.left = 'behind'; Array.prototype.left = 1; return typeof left";
    let look = "return [typeof left, typeof [].left]";
    let nothing: Json = ["undefined", "undefined"].into();
    assert_eq!(value(&one, leave), Some("string".into()));
    for engine in [&one, &other, &engine] {
        assert_eq!(value(engine, look), Some(nothing.clone()));
    }
    // What a worker keeps natively, it keeps for its session.
    let count = |engine| value(engine, "native: count").unwrap().to_string();
    let first = "\"1\"";
    assert_eq!(count(&one), first);
    assert_eq!([count(&engine), count(&engine)], [first, first], "alone, each time");
    assert_eq!(count(&other), first);
    let counts: Vec<_> = (0..8).map(|_| count(&one)).collect();
    assert!(counts.iter().any(|count| count != first), "kept for its session: {counts:?}");
    // A program may say itself which session it belongs to.
    let counts: Vec<_> = (0..8)
        .map(|_| {
            let mut program = Program::new("native: count", vec![tools()]);
            program.session = Some("third".into());
            let end = block_on(engine.run(program, Arc::new(Host::default()), Signal::new()));
            end.unwrap().value.unwrap().to_string()
        })
        .collect();
    assert_eq!(counts[0], first);
    assert!(counts.iter().any(|count| count != first), "kept for its session: {counts:?}");
}

#[test]
fn dropping_a_run_ends_its_worker_and_what_comes_later_has_no_effect() {
    // RUNTIME-29
    let engine = worker().build().unwrap();
    let host = Arc::new(Host::default());
    block_on(async {
        let program = Program::new("tools.hold(1); for (;;) await tools.echo(2)", vec![tools()]);
        let run = engine.run(program, host.clone(), Signal::new());
        let enough = async {
            while host.held.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! { _ = run => panic!("it never ends"), () = enough => {} }
    });
    for reply in host.held.lock().unwrap().drain(..) {
        reply.send(Ok(1.into()));
    }
    assert_eq!(value(&engine, "return 1"), Some(1.into()));
    let end = run(&engine, "tools.hold(1).then(() => console.log('late')); return 1", &host);
    assert_eq!((end.value, end.logs.len()), (Some(1.into()), 0));
}

#[test]
fn a_run_needs_no_particular_runtime() {
    // RUNTIME-30
    let engine = worker().build().unwrap();
    let start = || {
        let program = Program::new("return await tools.echo(5)", vec![tools()]);
        engine.run(program, Arc::new(Host::default()), Signal::new())
    };
    let five = Some(Json::from(5));
    // None at all, one that watches no sockets, one with threads, one with its clock stopped.
    assert_eq!(park_on(start()).unwrap().value, five);
    let blind = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    assert_eq!(blind.block_on(start()).unwrap().value, five);
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let runs: Vec<_> = (0..20).map(|_| threads.spawn(start())).collect();
    for run in runs {
        assert_eq!(threads.block_on(run).unwrap().unwrap().value, five);
    }
    let mut stopped = tokio::runtime::Builder::new_current_thread();
    let stopped = stopped.enable_all().start_paused(true).build().unwrap();
    assert_eq!(stopped.block_on(start()).unwrap().value, five);
    // A run that outlives its runtime ends.
    let run = threads.spawn(start());
    drop(threads);
    drop(run);
    assert_eq!(value(&engine, "return 1"), Some(1.into()));
}

/// An executor of three lines.
fn park_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

/// How many times something is done: few, or as many as `cargo xtask test --long` wants.
#[cfg(target_os = "linux")]
fn times(few: u32, many: u32) -> String {
    if std::env::var_os("CALLGATE_TEST_LONG").is_some() { many } else { few }.to_string()
}

#[test]
#[cfg(target_os = "linux")]
fn kills_at_random_moments_lose_no_call_and_leave_nothing_behind() {
    // RUNTIME-28
    let printed = host(Command::new(executable()).args(["soak", &times(50, 1_000)]));
    let lines: Vec<&str> = printed.lines().collect();
    let (runs, counts) = lines.split_at(lines.len() - 2);
    assert_eq!(counts[0], counts[1], "{printed}");
    let kinds = ["(abort)", "(worker-exit)", "the program could not be run"];
    let count = |kind| runs.iter().filter(|run| run.ends_with(kind)).count();
    let counts = kinds.map(count);
    // The first line is the seed.
    assert_eq!(counts.iter().sum::<usize>(), runs.len() - 1, "{printed}");
    assert!(counts[0] > 0 && counts[1] > 0, "{counts:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn many_runs_leave_nothing_behind_and_hold_no_more_memory() {
    // RUNTIME-7
    for place in [&[][..], &["in-process"]] {
        let count = times(1_000, 100_000);
        let printed = host(Command::new(executable()).args(["runs", &*count]).args(place));
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!(lines[0], lines[1], "{place:?}");
        let [before, after] = [lines[2], lines[3]].map(|bytes| bytes.parse::<u64>().unwrap());
        assert!(after < before + (4 << 20), "{place:?}: from {before} to {after} bytes");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn floods_of_calls_and_of_answers_cost_no_more_than_the_memory_of_the_run_allows() {
    // RUNTIME-24
    for place in [&[][..], &["in-process"]] {
        let printed = host(Command::new(executable()).arg("flood").args(place));
        let (ends, peak) = printed.trim_end().rsplit_once('\n').unwrap();
        // A run may have 32 MiB. As much may wait in each place on the way.
        let peak: u64 = peak.parse().unwrap();
        assert!(peak < 5 * (32 << 20), "{place:?}: {peak} bytes\n{ends}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_host_that_dies_takes_its_workers_along() {
    let spin = ["run", "native: spin"];
    let mut host = Command::new(executable()).args(spin).stdout(Stdio::null()).spawn().unwrap();
    let workers = loop {
        let children = format!("/proc/{}/task", host.id());
        let children: Vec<String> = std::fs::read_dir(children)
            .unwrap()
            .flatten()
            .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
            .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        // One that runs, and two that wait.
        if children.len() == 3 {
            break children;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    // The first has its program by then.
    std::thread::sleep(Duration::from_millis(200));
    host.kill().unwrap();
    host.wait().unwrap();
    let started = Instant::now();
    let lives = |pid: &String| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        status.contains("callgate-worker") && !status.contains(") Z ")
    };
    while workers.iter().any(lives) {
        assert!(started.elapsed() < PATIENCE, "a worker outlived its host");
        std::thread::sleep(Duration::from_millis(10));
    }
}
