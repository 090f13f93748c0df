//! What a run of a Python program costs, with a child that waits for it:
//! `cargo bench -p callgate-engine --bench python`.

#[cfg(target_os = "linux")]
fn main() {
    divan::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use callgate_core::Signal;
    use callgate_core::program::{
        Namespace, Program, ProgramCall, ProgramEngine, ProgramHost, Reply,
    };
    use callgate_engine::{Python, PythonEngine};
    use callgate_schema::Json;
    use divan::Bencher;
    use tokio::runtime::Runtime;

    /// How long it takes until a child waits again, with time to spare.
    const REST: Duration = Duration::from_millis(25);

    /// Answers every call at once: `big` with a mebibyte, all others with their arguments.
    struct Host(Json);

    impl ProgramHost for Host {
        fn call(&self, call: ProgramCall, reply: Reply) {
            reply.send(Ok(if &*call.member == "big" { self.0.clone() } else { call.arguments }));
        }
    }

    /// A program that does nothing.
    #[divan::bench]
    fn zero(bencher: Bencher<'_, '_>) {
        bench(bencher, "return 1");
    }

    /// One call.
    #[divan::bench]
    fn one(bencher: Bencher<'_, '_>) {
        bench(bencher, "return await tools.echo({'path': 'src/lib.rs'})");
    }

    /// A hundred calls, one after the other.
    #[divan::bench]
    fn seq100(bencher: Bencher<'_, '_>) {
        bench(bencher, "for i in range(100): await tools.echo({'i': i})");
    }

    /// A hundred calls at once.
    #[divan::bench]
    fn par100(bencher: Bencher<'_, '_>) {
        bench(
            bencher,
            "import asyncio\nawait asyncio.gather(*(tools.echo({'i': i}) for i in range(100)))",
        );
    }

    /// A call that answers with a mebibyte.
    #[divan::bench]
    fn big1m(bencher: Bencher<'_, '_>) {
        bench(bencher, "return len(await tools.big({}))");
    }

    /// A mebibyte of records that is returned.
    #[divan::bench(sample_count = 20)]
    fn records1m(bencher: Bencher<'_, '_>) {
        bench(
            bencher,
            "return [{'id': i, 'name': f'item {i}', 'ok': True} for i in range(20_000)]",
        );
    }

    fn bench(bencher: Bencher<'_, '_>, source: &str) {
        let (engine, runtime) = (engine(), runtime());
        let host = Arc::new(Host("x".repeat(1 << 20).into()));
        bencher
            .with_inputs(|| thread::sleep(REST))
            .bench_local_values(|()| run(&runtime, &engine, &host, source));
    }

    fn run(runtime: &Runtime, engine: &PythonEngine, host: &Arc<Host>, source: &str) {
        let names = ["echo", "big"].map(Into::into).to_vec();
        let program = Program::new(source, vec![Namespace::new("tools", names, None)]);
        let ended = runtime.block_on(engine.run(program, host.clone(), Signal::new()));
        assert!(ended.is_ok_and(|end| end.failure.is_none()), "{source}");
    }

    fn engine() -> PythonEngine {
        Python::worker().build().unwrap_or_else(|error| {
            eprintln!("{error}");
            std::process::exit(1)
        })
    }

    fn runtime() -> Runtime {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap_or_else(|error| {
            eprintln!("{error}");
            std::process::exit(1)
        })
    }
}
