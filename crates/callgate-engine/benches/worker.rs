//! What a run in a confined worker costs: `cargo bench -p callgate-engine --bench worker`.

use std::sync::Arc;

use callgate_core::Signal;
use callgate_core::program::{Namespace, Program, ProgramCall, ProgramEngine, ProgramHost, Reply};
use callgate_engine::{TypeScript, WorkerEngine};
use callgate_schema::Json;
use divan::Bencher;
use tokio::runtime::Runtime;

fn main() {
    callgate_engine::worker::run_if_worker();
    divan::main();
}

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
    bench(bencher, "return await tools.echo({ path: 'src/lib.rs' })");
}

/// A hundred calls, one after the other.
#[divan::bench]
fn seq100(bencher: Bencher<'_, '_>) {
    bench(bencher, "for (let i = 0; i < 100; i++) await tools.echo({ i })");
}

/// A hundred calls at once.
#[divan::bench]
fn par100(bencher: Bencher<'_, '_>) {
    bench(bencher, "await Promise.all(Array.from({ length: 100 }, (_, i) => tools.echo({ i })))");
}

/// A call that answers with a mebibyte.
#[divan::bench]
fn big1m(bencher: Bencher<'_, '_>) {
    bench(bencher, "return (await tools.big({})).length");
}

/// A program in a worker that nobody had and nobody will have: started ahead, ended after.
#[divan::bench]
fn alone(bencher: Bencher<'_, '_>) {
    let (engine, runtime, host) = (engine(), runtime(), host());
    bencher.bench(|| run(&runtime, &engine, &host, "return 1"));
}

/// Twenty thousand calls at once.
#[divan::bench(sample_count = 10)]
fn par20000(bencher: Bencher<'_, '_>) {
    bench(bencher, "await Promise.all(Array.from({ length: 20000 }, (_, i) => tools.echo({ i })))");
}

fn bench(bencher: Bencher<'_, '_>, source: &str) {
    let (engine, runtime, host) = (engine().for_session("bench"), runtime(), host());
    for _ in 0..10 {
        run(&runtime, &engine, &host, source);
    }
    bencher.bench(|| run(&runtime, &engine, &host, source));
}

fn host() -> Arc<Host> {
    Arc::new(Host("x".repeat(1 << 20).into()))
}

fn run(runtime: &Runtime, engine: &WorkerEngine, host: &Arc<Host>, source: &str) {
    let names = ["echo", "big"].map(Into::into).to_vec();
    let program = Program::new(source, vec![Namespace::new("tools", names, None)]);
    let ended = runtime.block_on(engine.run(program, host.clone(), Signal::new()));
    assert!(ended.is_ok_and(|end| end.failure.is_none()), "{source}");
}

fn engine() -> WorkerEngine {
    let engine = TypeScript::worker().require_confinement(true).build();
    engine.unwrap_or_else(|error| {
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
