//! Programs that mean harm. Each must end as it should within seconds, and leave the engine working.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgate_core::Signal;
use callgate_core::program::FailureKind::{
    Exception, InvalidOutput, OutputLimit, Timeout, WorkerExit,
};
use callgate_core::program::{FailureKind, Program, ProgramEngine};
use callgate_engine::TypeScript;
use callgate_schema::json;

use crate::support::{Host, block_on, engine, tools};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// Little time for programs that shall run out of it, enough for those that shall not.
fn limited(compute: Duration) -> TypeScript {
    engine()
        .compute(compute)
        .wall(compute * 5)
        .memory(32 << 20)
        .max_output_bytes(1 << 20)
        .build()
        .unwrap()
}

/// Runs each program, and an honest one after it.
#[track_caller]
fn check(programs: &[(&str, &[FailureKind])]) {
    let (short, long) = (limited(Duration::from_millis(100)), limited(PATIENCE));
    for (source, expected) in programs {
        let engine = if expected.contains(&Timeout) { &short } else { &long };
        let run = |source: &str| {
            let program = Program::new(source, vec![tools()]);
            block_on(engine.run(program, Arc::new(Host::default()), Signal::new())).unwrap()
        };
        let started = Instant::now();
        let end = run(source);
        let kind = end.failure.as_ref().map(|failure| failure.kind);
        assert!(kind.is_some_and(|kind| expected.contains(&kind)), "{source}: {end:?}");
        assert!(started.elapsed() < 2 * PATIENCE, "{source} took {:?}", started.elapsed());
        assert_eq!(
            run("return await tools.echo('well')").value,
            Some(json!("well")),
            "after {source}"
        );
    }
}

#[test]
fn loops_are_stopped() {
    // RUNTIME-27
    check(&[
        ("for (;;) {}", &[Timeout]),
        ("while (true) await 0", &[Timeout]),
        ("await tools.echo(1); while (true) {}", &[Timeout]),
        ("try { for (;;) {} } catch {} finally { for (;;) {} }", &[Timeout]),
        (
            "(function f() { setTimeout(f, 0); for (let i = 0; i < 1e5; i++); })(); await tools.hold(1)",
            &[Timeout],
        ),
        ("const f = async () => { await 0; return f() }; await f()", &[Timeout, WorkerExit]),
        ("[1, 2, 3].sort(() => { for (;;) {} })", &[Timeout]),
        ("[...(function* () { for (;;) yield 1 })()]", &[Timeout, WorkerExit]),
        ("'x'.replace(/x/, () => { for (;;) {} })", &[Timeout]),
        ("JSON.parse('[1]', () => { for (;;) {} })", &[Timeout]),
        ("JSON.stringify({ toJSON() { for (;;) {} } })", &[Timeout]),
        ("new Proxy({}, { get() { for (;;) {} } }).x", &[Timeout]),
        ("const x = { get then() { for (;;) {} } }; await x", &[Timeout]),
        ("return { get x() { for (;;) {} } }", &[Timeout]),
        ("await tools.echo({ get x() { for (;;) {} } })", &[Timeout]),
        ("class A { static { for (;;) {} } }", &[Timeout]),
        ("Object.prototype.then = function () { for (;;) {} }; await tools.echo({})", &[Timeout]),
        ("Error.prepareStackTrace = () => { for (;;) {} }; null.x", &[Timeout]),
        ("console.log({ get [Symbol.toStringTag]() { for (;;) {} } }); for (;;) {}", &[Timeout]),
        ("const a = []; for (const x of (a.push(1), a)) a.push(x)", &[Timeout, WorkerExit]),
        ("Array.from({ length: 1e9 }, () => 1)", &[Timeout, WorkerExit]),
    ]);
}

#[test]
fn regular_expressions_that_explode_are_stopped() {
    // RUNTIME-27
    check(&[
        ("/^(a+)+$/.test('a'.repeat(40) + 'b')", &[Timeout]),
        ("/(x+x+)+y/.exec('x'.repeat(50))", &[Timeout]),
        ("'a'.repeat(50).match(/(a|aa)+$(?<=b)/)", &[Timeout]),
        ("/((a{0,30}){0,30}){0,30}b/.test('a'.repeat(100))", &[Timeout, WorkerExit, Exception]),
    ]);
}

#[test]
fn memory_bombs_end_the_run() {
    // RUNTIME-27
    check(&[
        ("const a = []; for (;;) a.push(new Array(1000).fill(a.length))", &[WorkerExit, Timeout]),
        ("let s = 'x'; for (;;) s += s", &[WorkerExit, Exception, Timeout]),
        ("'x'.repeat(2 ** 29)", &[WorkerExit, Exception]),
        ("return 'x'.repeat(2 ** 25)", &[WorkerExit, OutputLimit]),
        ("new ArrayBuffer(2 ** 40)", &[WorkerExit, Exception]),
        ("new Uint8Array(2 ** 30).fill(1)", &[WorkerExit, Exception]),
        ("const o = {}; for (let i = 0; ; i++) o['k' + i] = i", &[WorkerExit, Timeout]),
        ("const m = new Map(); for (let i = 0; ; i++) m.set(i, 'v' + i)", &[WorkerExit, Timeout]),
        ("const p = []; for (;;) p.push(new Promise(() => {}))", &[WorkerExit, Timeout]),
        ("for (;;) setTimeout(() => {}, 1e6)", &[WorkerExit, Exception, Timeout]),
        ("for (;;) tools.hold('x'.repeat(10_000))", &[WorkerExit, Exception, Timeout]),
        ("for (;;) Symbol.for('x' + Math.random())", &[WorkerExit, Timeout]),
        ("let d = []; for (;;) d = [d]", &[WorkerExit, Timeout]),
        ("const b = 1n << 1000000000n; return String(b)", &[WorkerExit, Exception, Timeout]),
        ("'(' .repeat(1e7).split('').map(x => [x])", &[WorkerExit, Timeout]),
        (
            "Promise.all((function* () { for (;;) yield tools.hold(1) })())",
            &[WorkerExit, Exception, Timeout],
        ),
        ("class A { constructor() { this.a = new A() } } new A()", &[Exception, WorkerExit]),
    ]);
}

#[test]
fn deep_recursion_is_an_exception() {
    // RUNTIME-27
    check(&[
        ("(function f() { f() })()", &[Exception]),
        ("const f = () => [1].map(f); f()", &[Exception]),
        ("const o = { get x() { return this.x } }; o.x", &[Exception]),
        ("const f = async () => await f(); await f()", &[Exception, WorkerExit]),
        (
            "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x",
            &[Exception, Timeout],
        ),
        (
            "let p = {}; for (let i = 0; i < 1e5; i++) p = Object.create(p); return p.x ?? [p]",
            &[InvalidOutput],
        ),
        (
            "let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); f()",
            &[Exception, WorkerExit],
        ),
        ("JSON.parse('['.repeat(1e6))", &[Exception]),
        ("new RegExp('('.repeat(1e5) + ')'.repeat(1e5))", &[Exception]),
        ("const a = []; a[0] = a; a.toString(); a.flat(Infinity)", &[Exception]),
        ("let x = []; for (let i = 0; i < 1e5; i++) x = [x]; String(x)", &[Exception]),
        (
            "let x = []; for (let i = 0; i < 1e5; i++) x = [x]; x.flat(Infinity)",
            &[Exception, Timeout],
        ),
        ("let x = []; for (let i = 0; i < 1e5; i++) x = [x]; return x", &[InvalidOutput]),
        (
            "let e = new Error('x'); for (let i = 0; i < 1e5; i++) e = new Error('x', { cause: e }); throw e",
            &[Exception],
        ),
        ("console.log((function f(n) { return n ? [f(n - 1)] : [] })(500)); throw 1", &[Exception]),
    ]);
}

#[test]
fn floods_of_output_and_calls_are_bounded() {
    // RUNTIME-27
    check(&[
        ("for (;;) console.log('x'.repeat(1000))", &[OutputLimit]),
        ("for (;;) console.log()", &[OutputLimit, Timeout]),
        (
            "const a = Array(100).fill('z'.repeat(9999)); for (;;) console.log(a, [a, [a, a]])",
            &[OutputLimit],
        ),
        ("console.log('x'.repeat(1 << 24))", &[OutputLimit, WorkerExit]),
        ("throw new Error('x'.repeat(1 << 22))", &[OutputLimit]),
        ("return Array(1e6).fill('xxxxxxxxxx')", &[OutputLimit]),
        ("for (;;) await tools.echo(1)", &[Timeout]),
        ("for (;;) Promise.reject(1)", &[WorkerExit, Timeout]),
        ("await new Promise(() => setInterval(() => tools.hold(1), 0))", &[Timeout]),
    ]);
}

#[test]
fn stopping_cannot_be_caught() {
    // RUNTIME-26
    check(&[
        ("for (;;) try { for (;;) {} } catch {}", &[Timeout]),
        ("const again = () => { try { for (;;) {} } finally { again() } }; again()", &[Timeout]),
        (
            "async function f() { try { for (;;) {} } catch { return f() } finally { return f() } } await f()",
            &[Timeout],
        ),
        (
            "await new Promise(() => {}).finally(() => 1).constructor.resolve().then(() => { for (;;) {} }).catch(() => { for (;;) {} })",
            &[Timeout],
        ),
        ("function* g() { try { for (;;) {} } finally { yield* g() } } [...g()]", &[Timeout]),
        (
            "const big = []; for (;;) try { for (;;) big.push('x'.repeat(1000) + big.length) } catch { big.length = 0 }",
            &[WorkerExit],
        ),
        ("for (;;) try { console.log('x'.repeat(100_000)) } catch {}", &[OutputLimit]),
    ]);
}
