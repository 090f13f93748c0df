//! A host of Python programs, for the tests of this crate.
//!
//! `python_host hostile` runs every program of `tests/programs/python-hostile.txt` and prints each
//! that did not come to what it must, what was left behind, and how many there were;
//! `python_host run PROGRAM…` prints how programs end; `python_host memory CHILDREN` how much
//! memory so many waiting children take.
#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::print_stdout,
        clippy::expect_used,
        reason = "it is for tests, which read what it prints and how it fails"
    )
)]

#[cfg(target_os = "linux")]
fn main() {
    host::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod host {
    use std::fs;
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use callgate_core::Signal;
    use callgate_core::program::{
        ErrorClass, Isolation, Namespace, Program, ProgramCall, ProgramEnd, ProgramEngine,
        ProgramHost, Reply,
    };
    use callgate_engine::{Python, PythonEngine};
    use callgate_schema::ParseOptions;

    const CORPUS: &str = include_str!("../tests/programs/python-hostile.txt");

    /// What no program of the corpus reaches.
    const LONG: Duration = Duration::from_secs(30);

    /// Answers each call with its arguments, but never those of `hold`.
    #[derive(Default)]
    struct Host(Mutex<Vec<Reply>>);

    impl ProgramHost for Host {
        fn call(&self, call: ProgramCall, reply: Reply) {
            match &*call.member {
                "hold" => self.0.lock().expect("nobody panics").push(reply),
                "fail" => {
                    reply.send(Err(call.arguments.as_str().unwrap_or("failed").to_owned()));
                }
                _ => reply.send(Ok(call.arguments)),
            }
        }
    }

    pub(super) fn main() {
        let mut arguments = std::env::args().skip(1);
        match arguments.next().as_deref() {
            Some("hostile") => hostile(arguments.next().as_deref()),
            Some("run") => arguments.for_each(|program| {
                println!("{}", told(&run(&engine(LONG), &program)));
            }),
            Some("orphans") => orphans(),
            Some("memory") => {
                memory(arguments.next().and_then(|count| count.parse().ok()).unwrap_or(20));
            }
            _ => println!("python_host hostile, python_host run PROGRAM…, python_host memory N"),
        }
    }

    fn engine(wall: Duration) -> PythonEngine {
        Python::worker()
            .compute(Duration::from_millis(250))
            .wall(wall)
            .memory(128 << 20)
            .max_output_bytes(1 << 20)
            .build()
            .expect("Python programs can be run")
    }

    fn run(engine: &PythonEngine, source: &str) -> ProgramEnd {
        let members = ["echo", "fail", "hold"].map(Into::into).to_vec();
        let class = ErrorClass::new("ToolCallError", "toolName");
        let space = Namespace::new("tools", members, Some(class));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let run =
            engine.run(Program::new(source, vec![space]), Arc::<Host>::default(), Signal::new());
        runtime.expect("a runtime").block_on(run).expect("the engine works")
    }

    /// Runs all programs, or those whose name contains a text.
    fn hostile(wanted: Option<&str>) {
        // On a busy machine it takes long until a program could compute so much.
        let (patient, hasty) = (engine(LONG), engine(Duration::from_secs(1)));
        println!("{}", patient.isolation());
        assert_eq!(patient.isolation(), Isolation::WorkerConfined);
        for engine in [&patient, &hasty] {
            assert_eq!(run(engine, "return 1").value, Some(1.into()));
        }
        let parents = children();
        let mut count = 0;
        for section in CORPUS.split("\n=== ").skip(1) {
            let (head, source) = section.split_once('\n').expect("a program below its name");
            let (name, expected) = head.split_once(" => ").expect("a name and an end");
            if wanted.is_some_and(|wanted| !name.contains(wanted)) {
                continue;
            }
            count += 1;
            let engine = if expected.contains("(wall-clock)") { &hasty } else { &patient };
            let started = Instant::now();
            let end = run(engine, source);
            let late = started.elapsed() > LONG;
            if late || !expected.split(" | ").any(|expected| is_as_expected(&end, expected)) {
                println!("{name}: {} after {:?}", told(&end), started.elapsed());
            }
            let next = run(&patient, "return await tools.echo('next')");
            if next.value != Some("next".into()) {
                println!("after {name}: {}", told(&next));
            }
            if children() != parents {
                println!("after {name}: another parent");
            }
        }
        println!("{count} programs");
    }

    fn is_as_expected(end: &ProgramEnd, expected: &str) -> bool {
        match (&end.failure, expected.strip_prefix("returns")) {
            (None, Some("")) => true,
            (None, Some(value)) => end.value == ParseOptions::new().parse(value.trim()).ok(),
            (Some(failure), None) => {
                let (kind, text) = expected.split_once(" (").unwrap_or((expected, ""));
                let text = text.strip_suffix(')').unwrap_or(text);
                failure.kind.name() == kind && failure.message.contains(text)
            }
            _ => false,
        }
    }

    fn told(end: &ProgramEnd) -> String {
        let text = match &end.failure {
            Some(failure) => format!("{}: {}", failure.kind, failure.message),
            None => format!("returns {}", end.value.clone().unwrap_or_default()),
        };
        text.chars().take(2_000).collect()
    }

    /// The processes whose parent is this one.
    fn children() -> Vec<String> {
        let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let lists =
            threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        let mut pids: Vec<String> = lists
            .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        pids.sort();
        pids
    }

    /// Has the parent of programs killed, between two and under one; then tells the processes
    /// there are, and waits to be killed itself.
    fn orphans() {
        let engine = Python::worker().build().expect("Python programs can be run");
        println!("{}", told(&run(&engine, "return 1")));
        kill_children();
        println!("{}", told(&run(&engine, "return 2")));
        let killing = std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            kill_children();
        });
        println!("{}", told(&run(&engine, "await tools.hold(1)")));
        let _ = killing.join();
        println!("{}", told(&run(&engine, "return 3")));
        let parents = children();
        let of = |pid: &String| fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let below: Vec<String> = parents.iter().filter_map(|pid| of(pid).ok()).collect();
        println!("{} {}", parents.join(" "), below.join(" "));
        run(&engine, "while True: pass");
    }

    /// Returns when they are gone, and their children too.
    fn kill_children() {
        for pid in children() {
            let pid = pid.parse().ok().and_then(rustix::process::Pid::from_raw);
            let _ =
                pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
        }
        std::thread::sleep(Duration::from_millis(500));
    }

    /// The proportional set size of a parent and of each of its waiting children.
    fn memory(count: usize) {
        let engine = Python::worker().pool(count).build().expect("Python programs can be run");
        std::thread::sleep(Duration::from_secs(2));
        let parent = children().first().cloned().unwrap_or_default();
        let of_parent = format!("/proc/{parent}/task/{parent}/children");
        let pids = fs::read_to_string(of_parent).unwrap_or_default();
        let sizes: Vec<u64> = pids.split_whitespace().map(size).collect();
        let mean = sizes.iter().sum::<u64>() / (sizes.len() as u64).max(1);
        println!("{} children: {mean} KiB each; parent: {} KiB", sizes.len(), size(&parent));
        drop(engine);
    }

    fn size(pid: &str) -> u64 {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let line = rollup.lines().find(|line| line.starts_with("Pss:"));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or_default()
    }
}
