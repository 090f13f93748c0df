//! What a run costs: `cargo bench -p callgate-engine`.
#![expect(clippy::expect_used, reason = "a benchmark that cannot run shall say so")]

use std::sync::Arc;

use callgate_core::Signal;
use callgate_core::program::{Namespace, Program, ProgramCall, ProgramEngine, ProgramHost, Reply};
use callgate_engine::TypeScript;
use divan::Bencher;
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

/// Answers every call at once with its arguments.
struct Echo;

impl ProgramHost for Echo {
    fn call(&self, call: ProgramCall, reply: Reply) {
        reply.send(Ok(call.arguments));
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

/// A hundred calls at a time.
#[divan::bench]
fn par100(bencher: Bencher<'_, '_>) {
    bench(bencher, "await Promise.all(Array.from({ length: 100 }, (_, i) => tools.echo({ i })))");
}

/// A value of about a megabyte there, back, and out.
#[divan::bench]
fn big1m(bencher: Bencher<'_, '_>) {
    let source = "const rows = Array.from({ length: 10_000 }, (_, i) => ({ id: i, name: `row ${i}`, price: i / 3, \
                  tags: ['a', 'b'], note: 'some text that is a little longer' }));\nreturn await tools.echo(rows)";
    bench(bencher, source);
}

/// The erasure of types from a program of about 40 KB.
#[divan::bench]
fn strip40k(bencher: Bencher<'_, '_>) {
    let part = "async function step(input: { id: number; tags: string[] }): Promise<Record<string, unknown>> {\n  \
                const found = await tools.echo({ id: input.id, limit: 10 }) as { rows: Array<{ name: string }> };\n  \
                return Object.fromEntries(found.rows.map((row, at) => [`${row.name}-${at}`, at < 10 ? row : null]));\n}\n";
    let source: String = (0..125).map(|at| part.replace("step", &format!("step{at}"))).collect();
    bencher.bench(|| callgate_engine::strip(&source).map(|text| text.len()));
}

fn bench(bencher: Bencher<'_, '_>, source: &str) {
    let runtime = Runtime::new().expect("a runtime");
    let engine = TypeScript::in_process().build().expect("the default limits");
    let program = Program::new(source, vec![Namespace::new("tools", vec!["echo".into()], None)]);
    bencher.bench(|| {
        let end = runtime
            .block_on(engine.run(program.clone(), Arc::new(Echo), Signal::new()))
            .expect("a run");
        assert_eq!(end.failure, None);
        end
    });
}
