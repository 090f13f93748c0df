//! Programs that mean harm, as data: what each does, and how it may end.
//!
//! An end is a kind of failure; several that are right on some machine or in some engine are
//! separated by a bar. A program that does no harm ends with `= JSON`, what it returns, or with
//! `= nothing`. One that may run out of time gets little of it: see `Limits` of whoever runs it.

/// A program and its end.
pub(crate) type Hostile = (&'static str, &'static str);

/// Programs of one kind.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) programs: &'static [Hostile],
    /// Whether an interpreter that nobody kills can stop them as well.
    pub(crate) in_process: bool,
}

/// What follows each of them: it finds everything as it should be.
pub(crate) const HONEST: Hostile = (
    "return [await tools.echo('well'), Object.keys(Object.prototype), typeof left, [1, 2].map(x => x + 1), \
     JSON.stringify({ a: [1] }), await Promise.all([1, tools.echo({ b: 2 })]), `${new Error('e')}`, 'ab'.replace(/b/, 'c')]",
    r#"= ["well",[],"undefined",[2,3],"{\"a\":[1]}",[1,{"b":2}],"Error: e","ac"]"#,
);

pub(crate) const GROUPS: &[Group] = &[
    Group { name: "loops", programs: LOOPS, in_process: true },
    Group { name: "regular expressions", programs: EXPRESSIONS, in_process: true },
    Group { name: "memory", programs: MEMORY, in_process: true },
    Group { name: "recursion", programs: RECURSION, in_process: true },
    Group { name: "floods", programs: FLOODS, in_process: true },
    Group { name: "stopping", programs: STOPPING, in_process: true },
    Group { name: "promises", programs: PROMISES, in_process: true },
    Group { name: "prototypes", programs: PROTOTYPES, in_process: true },
    Group { name: "code from strings", programs: ESCAPES, in_process: true },
    Group { name: "values", programs: VALUES, in_process: true },
    Group { name: "patched built-ins", programs: PATCHES, in_process: true },
    Group { name: "the machine", programs: MACHINE, in_process: true },
    Group { name: "natives", programs: NATIVES, in_process: false },
];

const LOOPS: &[Hostile] = &[
    ("for (;;) {}", "timeout"),
    ("while (true) await 0", "timeout"),
    ("await tools.echo(1); while (true) {}", "timeout"),
    ("try { for (;;) {} } catch {} finally { for (;;) {} }", "timeout"),
    (
        "(function f() { setTimeout(f, 0); for (let i = 0; i < 1e5; i++); })(); await tools.hold(1)",
        "timeout",
    ),
    ("const f = async () => { await 0; return f() }; await f()", "timeout|worker-exit"),
    ("[1, 2, 3].sort(() => { for (;;) {} })", "timeout"),
    ("[...(function* () { for (;;) yield 1 })()]", "timeout|worker-exit"),
    ("'x'.replace(/x/, () => { for (;;) {} })", "timeout"),
    ("JSON.parse('[1]', () => { for (;;) {} })", "timeout"),
    ("JSON.stringify({ toJSON() { for (;;) {} } })", "timeout"),
    ("new Proxy({}, { get() { for (;;) {} } }).x", "timeout"),
    ("const x = { get then() { for (;;) {} } }; await x", "timeout"),
    ("return { get x() { for (;;) {} } }", "timeout"),
    ("await tools.echo({ get x() { for (;;) {} } })", "timeout"),
    ("class A { static { for (;;) {} } }", "timeout"),
    ("Object.prototype.then = function () { for (;;) {} }; await tools.echo({})", "timeout"),
    ("Error.prepareStackTrace = () => { for (;;) {} }; null.x", "timeout"),
    ("console.log({ get [Symbol.toStringTag]() { for (;;) {} } }); for (;;) {}", "timeout"),
    ("const a = []; for (const x of (a.push(1), a)) a.push(x)", "timeout|worker-exit"),
    ("Array.from({ length: 1e9 }, () => 1)", "timeout|worker-exit"),
    ("label: for (;;) { continue label }", "timeout"),
    ("do { var x = `${x}`.slice(0, 9) } while (true)", "timeout"),
    (
        "for (const x of { [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) }) {}",
        "timeout",
    ),
    (
        "for await (const x of { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false }) }) }) {}",
        "timeout",
    ),
    (
        "new Set([1]).union({ size: 1, has() {}, keys: () => ({ next: () => ({ done: false, value: 1 }) }) })",
        "timeout",
    ),
    ("Date.now = () => 0; performance = { now: () => 0 }; for (;;) {}", "timeout"),
    ("`${{ toString() { for (;;) {} } }}`", "timeout"),
    ("({ [Symbol.toPrimitive]() { for (;;) {} } }) > 1", "timeout"),
    ("Array.from({ length: 3, get 1() { for (;;) {} } })", "timeout"),
];

const EXPRESSIONS: &[Hostile] = &[
    ("/^(a+)+$/.test('a'.repeat(40) + 'b')", "timeout"),
    ("/(x+x+)+y/.exec('x'.repeat(50))", "timeout"),
    ("'a'.repeat(50).match(/(a|aa)+$(?<=b)/)", "timeout"),
    ("/((a{0,30}){0,30}){0,30}b/.test('a'.repeat(100))", "timeout|worker-exit|exception"),
    ("/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))", "timeout"),
    ("/(.*)*x\\1/s.test('y'.repeat(40))", "timeout"),
    (
        "'a'.repeat(40).replace(/(?:a?){40}a{40}/g, 'x'); for (;;) 'a'.repeat(30).split(/(?:a|a)*b/)",
        "timeout",
    ),
    (
        "new RegExp('a{1000}{1000}'); new RegExp('(?:' + 'a{9999}'.repeat(5000) + ')').test('a'); for (;;) {}",
        "timeout|exception|worker-exit",
    ),
    ("[...'a'.repeat(28).matchAll(/(a*)*b|(?=(a+)+c)/g)]; for (;;) {}", "timeout"),
    ("/(?=(a+)+b)(?!(a+)+c)/.test('a'.repeat(45))", "timeout"),
];

const MEMORY: &[Hostile] = &[
    ("const a = []; for (;;) a.push(new Array(1000).fill(a.length))", "worker-exit|timeout"),
    ("let s = 'x'; for (;;) s += s", "worker-exit|exception|timeout"),
    ("'x'.repeat(2 ** 29)", "worker-exit|exception"),
    ("return 'x'.repeat(2 ** 25)", "worker-exit|output-limit"),
    ("new ArrayBuffer(2 ** 40)", "worker-exit|exception"),
    ("new Uint8Array(2 ** 30).fill(1)", "worker-exit|exception"),
    ("const o = {}; for (let i = 0; ; i++) o['k' + i] = i", "worker-exit|timeout"),
    ("const m = new Map(); for (let i = 0; ; i++) m.set(i, 'v' + i)", "worker-exit|timeout"),
    ("const p = []; for (;;) p.push(new Promise(() => {}))", "worker-exit|timeout"),
    ("for (;;) setTimeout(() => {}, 1e6)", "worker-exit|exception|timeout"),
    ("for (;;) tools.hold('x'.repeat(10_000))", "worker-exit|exception|timeout"),
    ("for (;;) Symbol.for('x' + Math.random())", "worker-exit|timeout"),
    ("let d = []; for (;;) d = [d]", "worker-exit|timeout"),
    ("const b = 1n << 1000000000n; return String(b)", "worker-exit|exception|timeout"),
    ("'(' .repeat(1e7).split('').map(x => [x])", "worker-exit|timeout"),
    (
        "Promise.all((function* () { for (;;) yield tools.hold(1) })())",
        "worker-exit|exception|timeout",
    ),
    ("class A { constructor() { this.a = new A() } } new A()", "exception|worker-exit"),
    ("JSON.parse('[' + '[],'.repeat(5e6) + '[]]')", "worker-exit|exception"),
    ("const b = []; for (;;) b.push(new ArrayBuffer(1 << 20))", "worker-exit|exception"),
    ("let x = ['x']; for (let i = 0; i < 40; i++) x = [...x, ...x]", "worker-exit"),
    (
        "let x = {}; for (let i = 0; i < 40; i++) x = { a: x, b: x }; structuredClone(x); for (;;) {}",
        "timeout|worker-exit",
    ),
    ("new Array(2 ** 32 - 1).fill(0)", "worker-exit|timeout"),
    ("Array.from({ length: 2 ** 53 - 1 })", "worker-exit|exception|timeout"),
    ("[].fill.call({ length: 2 ** 53 - 1 }, 0)", "worker-exit|exception|timeout"),
    ("console.log('x'.repeat(2 ** 28))", "worker-exit|exception|output-limit"),
    ("new TextEncoder().encode('\u{20ac}'.repeat(2e7))", "worker-exit|exception"),
    ("btoa('x'.repeat(3e7)); atob('A'.repeat(3e7))", "worker-exit|exception|timeout"),
    ("'x'.padEnd(2 ** 30 - 1)", "worker-exit|exception"),
    (
        "try { const a = []; for (;;) a.push('x'.repeat(1000) + a.length) } catch { return 'survived' }",
        "worker-exit",
    ),
    (
        "const held = []; new FinalizationRegistry(() => { for (;;) held.push({}) }).register({}, 1); for (;;) held.push([held.length])",
        "worker-exit|timeout",
    ),
];

const RECURSION: &[Hostile] = &[
    ("(function f() { f() })()", "exception"),
    ("const f = () => [1].map(f); f()", "exception"),
    ("const o = { get x() { return this.x } }; o.x", "exception"),
    ("const f = async () => await f(); await f()", "exception|worker-exit"),
    ("let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x", "exception|timeout"),
    (
        "let p = {}; for (let i = 0; i < 1e5; i++) p = Object.create(p); return p.x ?? [p]",
        "invalid-output",
    ),
    (
        "let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); f()",
        "exception|worker-exit",
    ),
    ("JSON.parse('['.repeat(1e6))", "exception"),
    ("new RegExp('('.repeat(1e5) + ')'.repeat(1e5))", "exception"),
    ("const a = []; a[0] = a; a.toString(); a.flat(Infinity)", "exception"),
    ("let x = []; for (let i = 0; i < 1e5; i++) x = [x]; String(x)", "exception"),
    ("let x = []; for (let i = 0; i < 1e5; i++) x = [x]; x.flat(Infinity)", "exception|timeout"),
    ("let x = []; for (let i = 0; i < 1e5; i++) x = [x]; return x", "invalid-output"),
    (
        "let e = new Error('x'); for (let i = 0; i < 1e5; i++) e = new Error('x', { cause: e }); throw e",
        "exception",
    ),
    ("console.log((function f(n) { return n ? [f(n - 1)] : [] })(500)); throw 1", "exception"),
    ("function* g() { yield* g() } [...g()]", "exception|worker-exit"),
    ("const o = { toJSON() { return { o } } }; JSON.stringify(o)", "exception|worker-exit|timeout"),
    ("({ [Symbol.toPrimitive]() { return `${this}` } }) + ''", "exception"),
    (
        "let x = []; for (let i = 0; i < 2e4; i++) x = [x]; structuredClone(x); throw 1",
        "exception|worker-exit",
    ),
    (
        "let A = class {}; for (let i = 0; i < 5e4; i++) A = class extends A {}; new A()",
        "exception|worker-exit",
    ),
    ("try { (function f() { try { f() } finally { f() } })() } catch {} for (;;) {}", "timeout"),
    (
        "let p = Promise.resolve(1); for (let i = 0; i < 1e4; i++) { const q = p; p = new Promise(r => r(q)) } return await p",
        "= 1",
    ),
    ("new Proxy({}, { get(t, k, r) { return r[k] } }).x", "exception"),
    ("tools.echo.call(null, ((f) => f(f))((f) => f(f)))", "exception"),
];

const FLOODS: &[Hostile] = &[
    ("for (;;) console.log('x'.repeat(1000))", "output-limit"),
    ("for (;;) console.log()", "output-limit|timeout"),
    (
        "const a = Array(100).fill('z'.repeat(9999)); for (;;) console.log(a, [a, [a, a]])",
        "output-limit",
    ),
    ("console.log('x'.repeat(1 << 24))", "output-limit|worker-exit"),
    ("throw new Error('x'.repeat(1 << 22))", "output-limit"),
    ("return Array(1e6).fill('xxxxxxxxxx')", "output-limit"),
    ("for (;;) await tools.echo(1)", "timeout"),
    ("for (;;) Promise.reject(1)", "worker-exit|timeout"),
    ("await new Promise(() => setInterval(() => tools.hold(1), 0))", "timeout"),
    ("for (;;) tools.echo(1)", "worker-exit|exception|timeout"),
    ("for (;;) tools.fail('x').catch(() => {})", "worker-exit|exception|timeout"),
    ("for (;;) try { await tools.fail('x') } catch {}", "timeout"),
    ("for (;;) try { await tools.echo(undefined) } catch {}", "timeout"),
    ("for (;;) { tools.echo(() => 1).catch(() => {}) }", "worker-exit|timeout"),
    (
        "setInterval(() => console.log('tick', 'x'.repeat(100_000)), 0); await tools.hold(1)",
        "output-limit|timeout",
    ),
    (
        "const f = () => { queueMicrotask(f); queueMicrotask(f) }; f(); await new Promise(() => {})",
        "worker-exit|timeout",
    ),
    (
        "await Promise.all(Array.from({ length: 2000 }, () => tools.fail('x'.repeat(1000))))",
        "exception",
    ),
    (
        "throw new AggregateError(Array.from({ length: 1e5 }, (_, i) => new Error('e' + i)))",
        "exception|output-limit|worker-exit",
    ),
    ("await Promise.any(Array.from({ length: 5000 }, () => tools.fail('no')))", "exception"),
    ("console.log(...Array(5e4).fill('x'.repeat(100)))", "output-limit|exception"),
    ("const big = 'x'.repeat(1 << 20); for (;;) await tools.echo({ big })", "timeout"),
    (
        "return Object.fromEntries(Array.from({ length: 1e5 }, (_, i) => ['a key, and its number: ' + i, i]))",
        "output-limit",
    ),
];

const STOPPING: &[Hostile] = &[
    ("for (;;) try { for (;;) {} } catch {}", "timeout"),
    ("const again = () => { try { for (;;) {} } finally { again() } }; again()", "timeout"),
    (
        "async function f() { try { for (;;) {} } catch { return f() } finally { return f() } } await f()",
        "timeout",
    ),
    (
        "await new Promise(() => {}).finally(() => 1).constructor.resolve().then(() => { for (;;) {} }).catch(() => { for (;;) {} })",
        "timeout",
    ),
    ("function* g() { try { for (;;) {} } finally { yield* g() } } [...g()]", "timeout"),
    (
        "const big = []; for (;;) try { for (;;) big.push('x'.repeat(1000) + big.length) } catch { big.length = 0 }",
        "worker-exit",
    ),
    ("for (;;) try { console.log('x'.repeat(100_000)) } catch {}", "output-limit"),
    ("{ using x = { [Symbol.dispose]() { for (;;) {} } }; for (;;) {} }", "timeout|exception"),
    ("Promise.reject(1).finally(() => { for (;;) {} }); await 0; for (;;) {}", "timeout"),
    ("new Promise(() => { for (;;) {} }).catch(() => { for (;;) {} })", "timeout"),
    (
        "const it = { [Symbol.iterator]() { return this }, next: () => ({ done: false }), return() { for (;;) {} } }; for (const x of it) break",
        "timeout",
    ),
];

const PROMISES: &[Hostile] = &[
    ("await new Promise(() => {})", "exception"),
    ("return new Promise(() => {})", "exception"),
    ("await Promise.race([])", "exception"),
    ("await { then() {} }", "exception"),
    ("await tools.hold(1)", "timeout"),
    ("try { await tools.hold(1) } finally { await tools.hold(2) }", "timeout"),
    ("await new Promise(done => setTimeout(done, 1e9))", "timeout"),
    ("await Promise.race([tools.hold(1), new Promise(() => {})])", "timeout"),
    ("Promise.reject(new Error('lost')); await tools.hold(1)", "exception|timeout"),
    ("tools.fail('lost'); await new Promise(done => setTimeout(done, 50)); return 1", "exception"),
    // Calls after the end, and what else comes too late.
    ("tools.hold(1).then(() => tools.echo('late')); return 1", "= 1"),
    ("setTimeout(() => tools.echo('late'), 0); return 1", "= 1"),
    ("setInterval(() => console.log('late'), 0); return 1", "= 1"),
    ("Promise.resolve().then(function f() { return Promise.resolve().then(f) }); return 1", "= 1"),
    ("queueMicrotask(() => { throw new Error('late') }); return 1", "= 1|exception"),
    ("const p = tools.echo(1); p.then(() => { for (;;) {} }); return 1", "= 1|timeout"),
    ("new FinalizationRegistry(() => tools.echo('late')).register({}, 1); return 1", "= 1"),
    (
        "const all = []; for (let i = 0; i < 50; i++) all.push(tools.hold(i)); return all.length",
        "= 50",
    ),
    (
        "let done; const p = new Promise(r => done = r); done(1); done(2); return [await p, await p]",
        "= [1,1]",
    ),
    ("const p = { then(f) { f(1); f(2); throw 3 } }; return await p", "= 1"),
    ("await Promise.resolve({ get then() { throw new Error('then') } })", "exception"),
    ("const p = new Promise(r => setTimeout(() => r(p), 1)); await p", "exception"),
    ("return { then: 5 }", "= {\"then\":5}"),
];

const PROTOTYPES: &[Hostile] = &[
    ("Object.prototype.polluted = 1; return await tools.echo({ a: 1 })", r#"= {"a":1}"#),
    ("({}).__proto__.left = 1; globalThis.left = 2; return [({}).left, left]", "= [1,2]"),
    ("return JSON.parse('{ \"__proto__\": { \"evil\": 1 } }')", r#"= {"__proto__":{"evil":1}}"#),
    (
        "const x = JSON.parse('{ \"__proto__\": { \"evil\": 1 } }'); const y = await tools.echo(x); return [y.evil ?? 0, Object.keys(y), ({}).evil ?? 0]",
        r#"= [0,["__proto__"],0]"#,
    ),
    (
        "return [await tools.__proto__({ x: 1 }), await tools.constructor({ x: 2 }), await tools['']({ x: 3 })]",
        r#"= [{"x":1},{"x":2},{"x":3}]"#,
    ),
    (
        "return [typeof tools.toString, typeof tools.hasOwnProperty, typeof tools.valueOf, typeof tools.then]",
        r#"= ["undefined","undefined","undefined","undefined"]"#,
    ),
    (
        "Object.prototype.secret = () => 'stolen'; return [typeof tools.secret, 'secret' in tools]",
        r#"= ["undefined",false]"#,
    ),
    ("return Object.getPrototypeOf(tools)", "= null"),
    ("Object.setPrototypeOf(tools, { secret() {} })", "exception"),
    ("tools.echo = () => 'mine'", "exception"),
    ("delete tools.echo", "exception"),
    ("tools.more = 1", "exception"),
    ("Object.defineProperty(tools, 'echo', { value: 1 })", "exception"),
    ("globalThis.tools = { echo: () => 'mine' }", "exception"),
    ("Object.defineProperty(globalThis, 'tools', { value: {} })", "exception"),
    ("tools.echo.call = 5; tools.echo.__proto__.apply = null; return await tools.echo(1)", "= 1"),
    (
        "Object.defineProperty(Object.prototype, 'value', { get() { for (;;) {} } }); return await tools.echo({ a: 1 })",
        r#"= {"a":1}"#,
    ),
    (
        "Object.prototype.get = Object.prototype.set = () => 1; return [await tools.echo(1), await tools.fail('x').catch(e => e.message)]",
        r#"= [1,"x"]"#,
    ),
    (
        "Object.prototype.kind = 'x'; Object.prototype.message = 'y'; Object.prototype.failure = {}; return 1",
        "= 1",
    ),
    (
        "Array.prototype[0] = 'ghost'; Array.prototype.length = 0; return await tools.echo([])",
        "= []",
    ),
    (
        "Object.setPrototypeOf(Array.prototype, null); return await tools.echo([1])",
        "= [1]|invalid-output",
    ),
    (
        "Object.freeze(Object.prototype); Object.freeze(Array.prototype); Object.freeze(globalThis); return await tools.echo([{}])",
        "= [{}]|exception",
    ),
    (
        "Object.setPrototypeOf(globalThis, new Proxy({}, { has() { for (;;) {} } })); return 1",
        "= 1|exception|timeout",
    ),
    ("const o = { __proto__: { inherited: 1 }, own: 2 }; return o", "invalid-output"),
];

const ESCAPES: &[Hostile] = &[
    ("return eval('1')", "exception"),
    ("return (0, eval)('globalThis')", "exception"),
    ("return globalThis['ev' + 'al']('1')", "exception"),
    ("return new Function('return globalThis')()", "exception"),
    ("return Function('return 1')()", "exception"),
    ("return (() => {}).constructor('return 1')()", "exception"),
    ("return (async () => {}).constructor('return 1')()", "exception"),
    ("return (function* () {}).constructor('yield 1')()", "exception"),
    ("return (async function* () {}).constructor('yield 1')()", "exception"),
    ("return tools.echo.constructor('return 1')()", "exception"),
    ("return console.log.constructor('return 1')()", "exception"),
    ("return [].map.constructor('return 1')()", "exception"),
    ("return new ToolCallError().constructor.constructor('return 1')()", "exception"),
    ("return Reflect.construct((() => {}).constructor, ['return 1'])()", "exception"),
    (
        "return Object.getPrototypeOf(Function.prototype).constructor.constructor('return 1')()",
        "exception",
    ),
    ("class F extends Function {} return new F('return 1')()", "exception"),
    (
        "return Object.getOwnPropertyNames(Function.prototype).map(k => { try { return Function.prototype[k]?.('return 1') } catch { return 0 } }).filter(f => typeof f == 'function' && f() === 1).length",
        "= 0|exception",
    ),
    ("setTimeout('tools.echo(1)', 0)", "exception"),
    ("return await import('fs')", "exception"),
    ("import fs from 'fs'; return fs", "exception"),
    ("} ; tools.echo('outside'); async function x() {", "exception"),
    ("}); tools.echo('outside'); (async function () {", "exception"),
    ("return this === undefined", "= true"),
    ("return arguments.callee.caller", "exception"),
    ("leaked = 1", "exception"),
    (
        "Error.prepareStackTrace = (e, frames) => frames; const frames = new Error().stack; return frames.every(f => typeof (f.getFunction?.() ?? f.getThis?.() ?? 0) != 'function' || f.getFunction() === undefined)",
        "= true|= false|exception",
    ),
    (
        "return [/[/](home|root|usr|src|work|tmp)[/]/.test(new Error().stack), new Error().stack.includes('prelude')]",
        "= [false,false]",
    ),
    ("return [1n].toString.constructor.prototype.constructor('return 1')()", "exception"),
    (
        "const { get } = Object.getOwnPropertyDescriptor(Object.prototype, '__proto__'); return get.call(() => {}).constructor('return 1')()",
        "exception",
    ),
    ("return structuredClone.constructor('return 1')()", "exception"),
];

const VALUES: &[Hostile] = &[
    ("await tools.echo(new Proxy({ a: 1 }, {}))", "exception"),
    (
        "await tools.echo(new Proxy({}, { ownKeys() { for (;;) {} }, get() { for (;;) {} } }))",
        "exception",
    ),
    ("await tools.echo({ a: [new Proxy([], { get() { for (;;) {} } })] })", "exception"),
    (
        "const { proxy, revoke } = Proxy.revocable([], {}); revoke(); await tools.echo(proxy)",
        "exception",
    ),
    ("return new Proxy([], {})", "invalid-output"),
    ("await tools.echo({ get a() { throw new Error('no') } })", "exception"),
    ("let n = 0; return [await tools.echo({ get a() { return ++n } }), n]", r#"= [{"a":1},1]"#),
    ("let n = 0; return { get a() { n++; if (n > 1) for (;;) {} return n } }", r#"= {"a":1}"#),
    (
        "return await tools.echo({ get a() { tools.echo({ get b() { return tools.hold(1), 2 } }); return 1 } })",
        r#"= {"a":1}"#,
    ),
    (
        "const a = [1, 2, 3]; Object.defineProperty(a, 0, { get() { a.length = 1; gc = null } })",
        "= nothing|exception",
    ),
    ("await tools.echo(new Date())", "exception"),
    ("await tools.echo(new (class A { x = 1 })())", "exception"),
    ("await tools.echo(Object.assign([1], { extra: 1 }))", "exception"),
    ("await tools.echo({ [Symbol('s')]: 1, a: 1 })", "exception|= nothing"),
    ("await tools.echo(-0)", "exception"),
    ("await tools.echo(NaN)", "exception"),
    ("await tools.echo(5n)", "exception"),
    ("await tools.echo(Symbol('x'))", "exception"),
    ("await tools.echo('\\ud800')", "exception"),
    ("await tools.echo({ '\\udc00': 1 })", "exception"),
    ("const o = {}; o.o = o; await tools.echo(o)", "exception"),
    ("await tools.echo(new Uint8Array(9))", "exception"),
    ("await tools.echo(tools)", "exception"),
    ("return tools", "invalid-output"),
    ("return globalThis", "invalid-output"),
    ("return console", "invalid-output"),
    ("await tools.echo(Object.defineProperty({}, 'hidden', { value: 1 }))", "exception|= nothing"),
    (
        "console.log(new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 }, getPrototypeOf() { throw 3 } })); return 1",
        "= 1",
    ),
    (
        "console.log({ get a() { throw 1 }, get [Symbol.toStringTag]() { throw 2 }, constructor: { get name() { throw 3 } } }); return 1",
        "= 1",
    ),
    (
        "throw new Proxy(new Error('x'), { get() { for (;;) {} }, getPrototypeOf() { for (;;) {} } })",
        "exception|timeout",
    ),
    ("throw { toString() { for (;;) {} } }", "exception|timeout"),
    (
        "throw { toString() { throw 1 }, get message() { throw 2 }, get stack() { throw 3 } }",
        "exception",
    ),
    ("throw Object.create(null)", "exception"),
    ("throw null", "exception"),
    ("throw Symbol('x')", "exception"),
    (
        "throw Object.defineProperty(new Error('x'), 'stack', { get() { for (;;) {} } })",
        "exception|timeout",
    ),
    (
        "throw Object.defineProperties(new Error('x'), { name: { get() { throw 1 } }, message: { get() { throw 2 } }, stack: { value: 5n } })",
        "exception",
    ),
    (
        "Error.stackTraceLimit = 1e9; Error.prepareStackTrace = () => ({ toString() { throw 1 } }); throw new Error('x')",
        "exception",
    ),
    (
        "Error.prepareStackTrace = () => 'x'.repeat(1 << 21); throw new Error('x')",
        "exception|output-limit",
    ),
];

const PATCHES: &[Hostile] = &[
    (
        "JSON.stringify = () => '\"evil\"'; JSON.parse = () => 'evil'; return await tools.echo({ a: 1 })",
        r#"= {"a":1}"#,
    ),
    ("globalThis.JSON = null; return await tools.echo({ a: 1 })", r#"= {"a":1}"#),
    (
        "Object.prototype.toJSON = Array.prototype.toJSON = String.prototype.toJSON = () => 'evil'; return await tools.echo({ a: ['b'] })",
        r#"= {"a":["b"]}"#,
    ),
    ("globalThis.Promise = null; return await tools.echo(1)", "= 1"),
    (
        "Promise.prototype.then = Promise.prototype.catch = () => { throw new Error('evil') }; return await tools.echo(1)",
        "= 1",
    ),
    (
        "Promise.resolve = Promise.reject = Promise.all = () => 'evil'; return [await tools.echo(1), await tools.fail('x').catch(e => e.message)]",
        r#"= [1,"x"]"#,
    ),
    (
        "Object.defineProperty(Promise.prototype, 'constructor', { get() { for (;;) {} } }); await tools.echo(1); for (;;) {}",
        "timeout",
    ),
    (
        "Object.defineProperty(Promise, Symbol.species, { get() { for (;;) {} } }); return await tools.echo(1)",
        "= 1",
    ),
    (
        "for (const k of Object.getOwnPropertyNames(Array.prototype)) try { Array.prototype[k] = () => { throw new Error('evil') } } catch {} return await tools.echo([1, [2]])",
        "= [1,[2]]",
    ),
    (
        "Array.prototype[Symbol.iterator] = function* () { yield 'evil' }; return await tools.echo([1, 2])",
        "= [1,2]",
    ),
    (
        "Array.prototype.join = Array.prototype.map = Array.prototype.push = () => 'evil'; console.log([1, 2], { a: [3] }); return 1",
        "= 1",
    ),
    (
        "for (const k of ['get', 'set', 'has', 'delete']) Map.prototype[k] = () => { throw 1 }; return await tools.echo(1)",
        "= 1",
    ),
    (
        "Object.keys = Object.getOwnPropertyNames = Object.entries = Reflect.ownKeys = () => ['evil']; return await tools.echo({ a: 1 })",
        r#"= {"a":1}"#,
    ),
    (
        "Object.getPrototypeOf = Reflect.getPrototypeOf = () => null; return await tools.echo(new Map()).catch(e => e.name)",
        r#"= "ToolCallError""#,
    ),
    (
        "Object.defineProperty = Reflect.apply = () => { throw 1 }; setTimeout(() => 1, 0); return [new URL('http://a/b').host, await tools.fail('x').catch(e => e.message)]",
        r#"= ["a","x"]"#,
    ),
    (
        "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => 'evil'; return await new Promise(r => setTimeout(r, 1, 5))",
        "= 5",
    ),
    (
        "globalThis.Error = class { constructor() { for (;;) {} } }; return await tools.fail('x').catch(e => [e instanceof ToolCallError, e.message])",
        r#"= [true,"x"]"#,
    ),
    (
        "Error.prototype.message = 'evil'; Error.prototype.name = 'evil'; return await tools.fail('x').catch(e => [e.name, e.message, e.toolName])",
        r#"= ["ToolCallError","x","fail"]"#,
    ),
    (
        "Object.defineProperty(ToolCallError.prototype, 'message', { set() { for (;;) {} } }); return await tools.fail('x').catch(e => e.message)",
        r#"= "x""#,
    ),
    (
        "Object.defineProperty(Error, Symbol.hasInstance, { value: () => { for (;;) {} } }); return await tools.fail('x').catch(e => e.message)",
        r#"= "x""#,
    ),
    (
        "globalThis.ToolCallError = class { constructor() { throw 'evil' } }; return await tools.fail('x').catch(e => e.message)",
        r#"= "x""#,
    ),
    (
        "Object.setPrototypeOf(ToolCallError, function () { for (;;) {} }); return await tools.fail('x').catch(e => e.message)",
        r#"= "x""#,
    ),
    (
        "String.prototype.toString = String.prototype.valueOf = String.prototype.slice = () => 'evil'; return await tools.echo('good')",
        r#"= "good""#,
    ),
    (
        "Number.prototype.toString = BigInt.prototype.toString = () => 'evil'; return await tools.echo([1, 12345678901234567890n])",
        "= [1,12345678901234567890]",
    ),
    (
        "RegExp.prototype.exec = RegExp.prototype[Symbol.replace] = () => { throw 1 }; console.log(/x/g); return 1",
        "= 1",
    ),
    (
        "Date.prototype.toISOString = Date.prototype.valueOf = () => { for (;;) {} }; console.log(new Date(0)); return 1",
        "= 1",
    ),
    (
        "Symbol.prototype.toString = () => { for (;;) {} }; console.log(Symbol('x')); return 1",
        "= 1",
    ),
    (
        "globalThis.setTimeout = globalThis.queueMicrotask = null; globalThis.console = null; return await tools.echo(1)",
        "= 1",
    ),
    (
        "for (const k of Reflect.ownKeys(globalThis)) try { delete globalThis[k] } catch {} return await tools.echo(1)",
        "= 1",
    ),
    (
        "Object.defineProperty(Object.prototype, 'then', { get() { return undefined }, set() { for (;;) {} } }); return await tools.echo({ a: 1 })",
        r#"= {"a":1}"#,
    ),
    (
        "const [generator] = [(function* () {})()]; Object.getPrototypeOf(Object.getPrototypeOf(generator)).next = () => { for (;;) {} }; return await tools.echo([1])",
        "= [1]",
    ),
    (
        "Object.getPrototypeOf([][Symbol.iterator]()).next = () => { for (;;) {} }; return await tools.echo([1])",
        "= [1]",
    ),
];

const MACHINE: &[Hostile] = &[
    ("await fetch('http://127.0.0.1:9/')", "exception"),
    ("new XMLHttpRequest()", "exception"),
    ("new WebSocket('ws://127.0.0.1:9')", "exception"),
    ("require('fs').readFileSync('/etc/passwd')", "exception"),
    ("require('child_process').execSync('id')", "exception"),
    ("require('node:net').connect(9)", "exception"),
    ("fs.readFileSync('/etc/passwd')", "exception"),
    ("return process.env", "exception"),
    ("process.exit(7)", "exception"),
    ("process.kill(process.ppid, 'SIGKILL')", "exception"),
    ("process.binding('fs')", "exception"),
    ("process.on('exit', () => {})", "exception"),
    ("Deno.readTextFileSync('/etc/passwd')", "exception"),
    ("Bun.spawn(['id'])", "exception"),
    ("std.open('/etc/passwd', 'r')", "exception"),
    ("os.exec(['id'])", "exception"),
    ("std.getenv('HOME')", "exception"),
    ("os.kill(1, 9)", "exception"),
    ("print('x')", "exception"),
    ("new Worker('data:,')", "exception"),
    ("importScripts('x')", "exception"),
    ("await WebAssembly.compile(new Uint8Array(8))", "exception"),
    ("Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0)", "exception|timeout"),
    (
        "return await Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(8)), 0, 0).value",
        "exception|timeout",
    ),
    ("localStorage.setItem('a', 'b')", "exception"),
    ("document.cookie", "exception"),
    ("alert(1)", "exception"),
    ("return __dirname", "exception"),
    ("return import.meta.url", "exception"),
    ("loadScript('/etc/passwd')", "exception"),
    ("return typeof gc == 'function' ? gc() : null", "= null"),
    ("debugger; return 1", "= 1"),
    (
        "new URL('file:///etc/passwd').href; console.log(new URL('file:///etc/passwd')); return 1",
        "= 1",
    ),
];

/// Built-in functions that look at no interrupt. Only a kill ends some of them.
const NATIVES: &[Hostile] = &[
    // It goes on after the memory for its text has run out.
    (
        "let x = {}; for (let i = 0; i < 40; i++) x = { a: x, b: x }; JSON.stringify(x)",
        "timeout|worker-exit",
    ),
    ("new Array(2 ** 28).join()", "timeout|worker-exit|exception"),
    ("Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1)", "timeout"),
    ("Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)", "timeout"),
    ("Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)", "timeout"),
    ("Array.prototype.reverse.call({ length: 2 ** 53 - 1 })", "timeout"),
    ("Array.prototype.copyWithin.call({ length: 2 ** 53 - 1 }, 0, 1)", "timeout"),
    ("Array.prototype.every.call({ length: 2 ** 53 - 1 }, () => true)", "timeout"),
    (
        "try { Array.prototype.findLast.call({ length: 2 ** 53 - 1 }, () => false) } finally { for (;;) {} }",
        "timeout",
    ),
    ("[].concat({ length: 2 ** 31, [Symbol.isConcatSpreadable]: true, 0: 1 })", "timeout"),
    ("[].concat({ length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true })", "timeout|exception"),
    (
        "const t = 'a'.repeat(1 << 22); let n = 0; for (;;) n += t.indexOf('b' + n)",
        "timeout|worker-exit",
    ),
    ("10n ** 1_000_000n; String(7n ** 400_000n); for (;;) {}", "timeout|exception|worker-exit"),
    ("let x = 3n; for (;;) x *= x", "timeout|worker-exit|exception"),
    (
        "const a = Array.from({ length: 1e6 }, (_, i) => i ^ 0x5555); for (;;) a.sort().reverse()",
        "timeout|worker-exit",
    ),
    (
        "'\\u0344'.repeat(1e6).normalize('NFKD').normalize('NFC'); for (;;) {}",
        "timeout|worker-exit|exception",
    ),
    (
        "const a = new Float64Array(1e6).map((_, i) => -i); for (;;) a.slice().sort()",
        "timeout|worker-exit",
    ),
    ("JSON.stringify(new Array(2 ** 32 - 1))", "timeout|worker-exit|exception"),
    ("String.fromCharCode(...new Array(5e6))", "exception|worker-exit|timeout"),
    ("Reflect.apply(Math.max, null, { length: 2 ** 32 - 1 })", "exception|worker-exit|timeout"),
];
