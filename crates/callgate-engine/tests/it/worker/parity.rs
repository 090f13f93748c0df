//! A program ends in a worker as it ends in this process, to the letter.

use std::sync::Arc;
use std::time::Duration;

use callgate_core::program::ProgramEngine;
use callgate_engine::TypeScript;

use super::support::{run, worker};
use crate::support::Host;

const PROGRAMS: &[&str] = &[
    "return 1",
    "return",
    "return { a: [1, 'b', null, true, 1.5, -1e300], 'c d': { __proto__: null, ['__proto__']: 1 } }",
    "return [2 ** 53, 9007199254740993n, -9223372036854775808n, 18446744073709551615n, 5e-324]",
    "return '\\u0000 \\u20ac \\u{1f980} \\u2028 \"\\\\'",
    "return await tools.echo({ text: '\\u0000\\n\\ud83e\\udd80', n: [1, 2.5, 12345678901234567890n] })",
    "return await tools['']({ a: 1 }).then(x => [x, Object.keys(tools)])",
    "return [await tools.__proto__(1), await tools.constructor(2), await tools['a-b'](3)]",
    "await tools.fail('denied: not today')",
    "try { await tools.fail('denied: no') } catch (e) { return [e instanceof ToolCallError, e.name, e.toolName, e.message] }",
    "return (await Promise.allSettled([tools.echo(1), tools.fail('x'), tools.echo([undefined])])).map(r => r.status)",
    "return await Promise.all([tools.later(20), tools.echo(1), tools.later(5)])",
    "await tools.echo(undefined)",
    "await tools.echo({ x: [1, { y: () => 1 }] })",
    "return { at: new Date(0) }",
    "return [1, , 2]",
    "return '\\ud800'",
    "const a: any = {}; a.a = a; return a",
    "let x = []; for (let i = 0; i < 4999; i++) x = [x]; return await tools.echo(x)",
    "let x = []; for (let i = 0; i < 5000; i++) x = [x]; return await tools.echo(x)",
    "let x = []; for (let i = 0; i < 4999; i++) x = [x]; return x",
    "return 'x'.repeat(70_000)",
    "console.log('a', 1, { b: [1, 2] }); console.error('c'); return 'd'",
    "console.log('\\ud800 \\u0000'); throw new Error('after')",
    "throw new Error('boom')",
    "\n\nfunction inner(): never { throw new TypeError('deep', { cause: new Error('below') }) }\n  inner()",
    "throw { not: 'an error' }",
    "const x: number = ;",
    "enum E { A }",
    "const a = 1; const a = 2",
    "Promise.reject(new Error('lost')); return 1",
    "await new Promise(() => {})",
    "await fetch('http://localhost')",
    "(function f() { f() })()",
    "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)",
    "for (let i = 0; ; i++) console.log('entry', i)",
    "return 'x'.repeat(1 << 21)",
    "throw new Error('x'.repeat(1 << 21))",
    "for (;;) {}",
    "let n = 0; await new Promise<void>(r => { const t = setInterval(() => { if (++n == 5) { clearInterval(t); r() } }, 1) }); return n",
    "tools.hold(1); return 'not awaited'",
    "return new TextDecoder().decode(new TextEncoder().encode('\u{20ac}')) + atob(btoa('x')) + new URL('http://a/b?c').search",
];

#[test]
fn a_worker_changes_nothing_but_where_a_program_runs() {
    // RUNTIME-10
    let inside = TypeScript::in_process()
        .memory(24 << 20)
        .compute(Duration::from_secs(2))
        .max_output_bytes(128 << 10)
        .build()
        .unwrap();
    let worker = worker()
        .memory(24 << 20)
        .compute(Duration::from_secs(2))
        .max_output_bytes(128 << 10)
        .build()
        .unwrap()
        .for_session("parity");
    let ends = |engine: &dyn ProgramEngine, source| {
        let host = Arc::new(Host::default());
        let end = run(engine, source, &host);
        let calls = host.calls.lock().unwrap().clone();
        (end, calls)
    };
    for source in PROGRAMS {
        let (there, here) = (ends(&worker, source), ends(&inside, source));
        let shown = |end: &_| format!("{end:?}").chars().take(500).collect::<String>();
        assert!(there == here, "{source}\n{}\n{}", shown(&there), shown(&here));
    }
}
