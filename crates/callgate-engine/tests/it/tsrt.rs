//! The TypeScript runtime, rule by rule.

use callgate_core::program::{FailureKind, Isolation, Language, Position, ProgramEngine};
use callgate_schema::json;

use crate::support::{engine, fails, failure, logs, returns, run, run_on, value};

#[test]
fn the_engine_says_what_it_is() {
    // TSRT-1
    let engine = engine().build().unwrap();
    assert_eq!(
        (engine.language(), engine.isolation()),
        (Language::TypeScript, Isolation::InProcess)
    );
    assert_eq!(
        (engine.language().name(), engine.isolation().to_string().as_str()),
        ("typescript", "in-process")
    );
}

#[test]
fn a_program_is_the_inside_of_a_strict_async_function() {
    // TSRT-2
    returns("return 1", "1");
    returns("const x = await tools.echo({ a: 1 }); return x", r#"{"a":1}"#);
    returns("return this === undefined", "true");
    returns("return arguments.length", "0");
    let (kind, message) = failure("undeclared = 1");
    assert_eq!(kind, FailureKind::Exception);
    assert!(message.starts_with("ReferenceError: undeclared is not defined"), "{message}");
    fails("with (Math) { return PI }", FailureKind::Exception, "with");
    fails("return 010", FailureKind::Exception, "syntax error");
    returns(
        "for await (const x of [tools.echo(1), tools.echo(2)]) console.log(x); return 'done'",
        r#""done""#,
    );
}

#[test]
fn types_are_erased() {
    // TSRT-3
    returns(
        "interface A { n: number }\ntype B<T> = { [K in keyof T]: T[K] };\ndeclare const later: string;\n\
         abstract class C<T> implements A { private readonly n!: number; constructor(n: T & number) { this.n = n }\n\
         get twice(): number { return this.n * 2 } abstract missing(): void }\n\
         function id<T>(this: void, x: T, y?: string): T { return x as unknown as T }\n\
         class D extends C<number> { override missing(): void {} }\n\
         const a = { n: 1 } satisfies A;\nlet b: B<A> = a!, c = <T,>(x: T): x is T & {} => true;\n\
         return [id<number>(b.n), new D(4).twice, c(1), (a as any).n as const]",
        "[1,8,true,1]",
    );
}

#[test]
fn syntax_that_needs_code_is_refused_before_anything_runs() {
    // TSRT-3
    for source in [
        "await tools.echo(1); enum Color { Red }",
        "await tools.echo(1); namespace N { export const x = 1 }",
        "await tools.echo(1); class A { constructor(private x: number) {} }",
        "await tools.echo(1); import fs = require('fs')",
        "await tools.echo(1); export = 5",
        "await tools.echo(1); let = = 5",
        "await tools.echo(1); const a = 1, a = 2",
    ] {
        let (end, host) = run_on(engine(), source);
        let failure = end.failure.expect(source);
        assert_eq!(failure.kind, FailureKind::Exception, "{source}");
        assert!(
            failure.message.starts_with("syntax error at line 1, column "),
            "{}",
            failure.message
        );
        assert_eq!(failure.position.map(|position| position.line), Some(1), "{source}");
        assert!(host.calls.lock().unwrap().is_empty(), "{source} made a call");
    }
}

#[test]
fn a_failure_names_the_place_in_the_authors_text() {
    // TSRT-4
    let end = run(
        "const a: Array<{\n  b: string\n}> = [];\nfunction f(x?: number): never {\n  throw new RangeError('no')\n}\n  f()",
    );
    let failure = end.failure.unwrap();
    insta::assert_snapshot!(failure.message, @r"
    RangeError: no
        at f (program.ts:5:13)
        at program.ts:7:3
    ");
    assert_eq!(failure.position, Some(Position { line: 5, column: 13 }));
    let first_line = run("throw new Error('x')").failure.unwrap();
    assert_eq!(first_line.position, Some(Position { line: 1, column: 11 }));
    let after_await = run("await tools.echo(1)\n\n    ;(null as any).x").failure.unwrap();
    assert_eq!(after_await.position.map(|position| position.line), Some(3));
    // Columns count characters, whatever their length in bytes.
    let wide = run("const ä = '€€€€'; throw new Error('x')").failure.unwrap();
    assert_eq!(wide.position, Some(Position { line: 1, column: 29 }));
    returns("return new Error('x').stack.trim()", r#""at <anonymous> (program.ts:1:12)""#);
}

#[test]
fn the_wrapper_cannot_be_left() {
    // TSRT-5
    for source in [
        "} ; tools.echo('escaped'); async function x() {",
        "}); tools.echo('escaped'); (async function () {",
        "}), tools.echo('escaped'), (0, async function () {",
        "*/ } tools.echo('escaped') /*",
        "` + tools.echo('escaped') + `}",
        "a <!--b; c = [function(){\n}), tools.echo('escaped'), (async function x() {\na <!--b; }]",
    ] {
        let (end, host) = run_on(engine(), source);
        assert_eq!(
            end.failure.map(|failure| failure.kind),
            Some(FailureKind::Exception),
            "{source}"
        );
        assert!(host.calls.lock().unwrap().is_empty(), "{source} escaped");
    }
    returns(
        r#"return ["} ; x(", `}) ${"}"} (`, '/*', "//", /}/.source]"#,
        r#"["} ; x(","}) } (","/*","//","}"]"#,
    );
    returns("let b = 2; return 1 <!--b", "false");
    returns("return 1 // }", "1");
    returns("#!/usr/bin/env node\nreturn 1", "1");
}

#[test]
fn the_scope_holds_the_namespaces_the_error_classes_the_console_and_the_language() {
    // TSRT-6
    returns(
        "return [Object.getPrototypeOf(tools), Reflect.ownKeys(tools), Object.isFrozen(tools), typeof ToolCallError]",
        r#"[null,["echo","fail","hold","later","__proto__","constructor","a-b",""],true,"function"]"#,
    );
    returns(
        "return [await tools.__proto__(1), await tools.constructor(2), await tools['']('x')]",
        r#"[1,2,"x"]"#,
    );
    returns(
        "return ['toString' in tools, tools.hasOwnProperty === undefined, 'valueOf' in tools]",
        "[false,true,false]",
    );
    returns(
        "return [typeof setTimeout, typeof queueMicrotask, typeof structuredClone, typeof URL, typeof fetch, typeof require, typeof process]",
        r#"["function","function","function","function","undefined","undefined","undefined"]"#,
    );
    fails("tools.echo = 1", FailureKind::Exception, "TypeError");
    fails("tools = {}", FailureKind::Exception, "TypeError");
    fails("tools.more = 1", FailureKind::Exception, "TypeError");
    fails("await tools['ecko']({})", FailureKind::Exception, "`tools` has no `ecko`; did you");
    fails("await tools?.ecko({})", FailureKind::Exception, "`tools` has no `ecko`; did you");
    fails("const x = { tools }; x.tools.y()", FailureKind::Exception, "y is not a function");
    fails("const list: any = [1]; list[0]()", FailureKind::Exception, "list[0] is not a function");
    for call in ["tools['ecko']({})", "tools?.ecko({})", "tools.ecko?.x.y ?? tools.ecko({})"] {
        fails(&format!("await {call}"), FailureKind::Exception, "`tools` has no `ecko`; did you");
    }
    fails("const x = { tools }; x.tools.y()", FailureKind::Exception, "y is not a function");
    fails("const list: any = [1]; list[0]()", FailureKind::Exception, "list[0] is not a function");
    fails(
        "await tools.ecko({})",
        FailureKind::Exception,
        "`tools` has no `ecko`; did you mean `echo`?",
    );
}

#[test]
fn the_console_has_five_methods_and_one_entry_a_call() {
    // TSRT-7
    returns("return Object.keys(console)", r#"["log","info","warn","error","debug"]"#);
    logs(
        "console.log('a'); console.info('b', 1); console.warn(); console.error('%s is %d', 'x', 5); console.debug('c\\nd')",
        &["a", "b 1", "", "%s is %d x 5", "c\nd"],
    );
    logs(r#"console.log("point", {x:1,y:2})"#, &["point { x: 1, y: 2 }"]);
}

#[test]
fn values_are_shown_as_node_shows_them() {
    // TSRT-7
    for (value, shown) in [
        ("undefined", "undefined"),
        ("null, true, -0, NaN, 1e21, 0.1, -Infinity", "null true -0 NaN 1e+21 0.1 -Infinity"),
        ("5n, Symbol('s')", "5n Symbol(s)"),
        ("['a', \"it's\", `\"'`, '\\n\\u0001']", r#"[ 'a', "it's", `"'`, '\n\x01' ]"#),
        ("{}, [], { 'a-b': 1, c: { d: [] } }", "{} [] { 'a-b': 1, c: { d: [] } }"),
        ("[1,,2,,,3], [undefined]", "[ 1, <1 empty item>, 2, <2 empty items>, 3 ] [ undefined ]"),
        ("Object.assign([1], { x: 2 })", "[ 1, x: 2 ]"),
        (
            "() => 1, function f() {}, class A {}, async () => {}",
            "[Function (anonymous)] [Function: f] [class A] [AsyncFunction (anonymous)]",
        ),
        ("new (class Point { x = 1 })", "Point { x: 1 }"),
        (
            "new Map([[{ a: 1 }, 'x']]), new Set([1, 'b'])",
            "Map(1) { { a: 1 } => 'x' } Set(2) { 1, 'b' }",
        ),
        ("new Date(0), new Date(NaN), /a+/gi", "1970-01-01T00:00:00.000Z Invalid Date /a+/gi"),
        ("Object.create(null)", "[Object: null prototype] {}"),
        (
            "{ get a() { throw 1 }, set b(v) {}, [Symbol('k')]: 1 }",
            "{ a: [Getter], b: [Setter], [Symbol(k)]: 1 }",
        ),
        ("new Uint8Array([1, 2]), new Proxy({}, {})", "Uint8Array(2) [ 1, 2 ] [Proxy]"),
        (
            "Promise.resolve(1), new Promise(() => {}), new WeakMap()",
            "Promise { 1 } Promise { <pending> } WeakMap { <items unknown> }",
        ),
        ("(() => { const a = { b: {} }; a.b.c = a; return a })()", "{ b: { c: [Circular] } }"),
    ] {
        logs(&format!("console.log({value})"), &[shown]);
    }
    let end = run("console.log(Object.assign(new TypeError('bad', { cause: 5 }), { code: 7 }))");
    insta::assert_snapshot!(end.logs[0], @r"
    TypeError: bad
        at <anonymous> (program.ts:1:31) { code: 7, [cause]: 5 }
    ");
    let end = run(
        "console.log({ first: 'a long text that fills the line', second: 'and another one that does', third: [1, 2, { x: 1 }] })",
    );
    insta::assert_snapshot!(end.logs[0], @r"
    {
      first: 'a long text that fills the line',
      second: 'and another one that does',
      third: [ 1, 2, { x: 1 } ]
    }
    ");
}

#[test]
fn inspection_is_bounded() {
    // TSRT-8
    logs(
        "console.log({ a: { b: { c: { d: { e: { f: 1 } } } } } })",
        &["{ a: { b: { c: { d: { e: [Object] } } } } }"],
    );
    logs("console.log([[[[[[1]]]]]])", &["[ [ [ [ [ [Array] ] ] ] ] ]"]);
    let entry = |source: &str| run(source).logs[0].to_string();
    assert!(
        entry("console.log(Array.from({ length: 250 }, (_, i) => i))")
            .ends_with("99,\n  ... 150 more items\n]")
    );
    let long = entry("console.log(['x'.repeat(20_000)], 'y'.repeat(20_000))");
    assert!(
        long.starts_with(&format!("[\n  '{}'... more characters\n]", "x".repeat(10_000))),
        "{}",
        &long[..100]
    );
    assert!(long.ends_with(&format!(" {}", "y".repeat(20_000))), "strings are verbatim");
    let wide = entry(
        "const a = Array(100).fill('z'.repeat(10_000)), b = Array(100).fill(a); console.log(Array(100).fill(b))",
    );
    assert!(wide.len() < 3 << 20, "{}", wide.len());
}

#[test]
fn inspection_is_total_for_hostile_values() {
    // TSRT-8
    for value in [
        "new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 }, getPrototypeOf() { throw 3 } })",
        "Object.create(new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 3 } }))",
        "{ get constructor() { throw 1 }, toString() { throw 2 }, toJSON() { throw 3 } }",
        "Object.defineProperty(new Error('x'), 'message', { get() { throw 1 } })",
        "Object.defineProperty(() => 1, 'name', { get() { throw 1 } })",
        "Object.defineProperty(new Map([[1, 2]]), 'size', { get() { throw 1 } })",
        "Object.defineProperty(/x/gi, 'source', { get() { for (;;) {} } })",
        "Object.setPrototypeOf(new Date(0), null)",
        "Object.setPrototypeOf([1, 2], null)",
        "(() => { const r = Proxy.revocable({}, {}); r.revoke(); return r.proxy })()",
        "(function () { return arguments })(1, 2)",
        "'\\ud800', ['\\udc00'], { ['\\ud83d']: 1 }",
        "new Array(4294967295)",
    ] {
        let end = run(&format!("console.log({value}); return 'alive'"));
        assert_eq!((end.failure, end.value), (None, Some(json!("alive"))), "{value}");
        assert_eq!(end.logs.len(), 1, "{value}");
    }
    logs(
        "Map.prototype.entries = Set.prototype.values = null; Array.prototype[Symbol.iterator] = null; console.log(new Map(), new Set())",
        &["Map(0) {} Set(0) {}"],
    );
    logs("console.log('\\ud83d', '\\ud83d\\ude00')", &["\\ud83d 😀"]);
}

#[test]
fn an_uncaught_throw_is_an_exception_with_its_text() {
    // TSRT-10
    let text = |source: &str| {
        let end = run(source);
        let failure = end.failure.expect(source);
        assert_eq!((failure.kind, end.value), (FailureKind::Exception, None), "{source}");
        failure.message
    };
    assert_eq!(text("throw new Error('boom')"), "Error: boom\n    at program.ts:1:11");
    assert_eq!(text("throw 'xy'"), "xy");
    assert_eq!(text("throw 5"), "5");
    assert_eq!(text("throw null"), "null");
    assert_eq!(text("throw undefined"), "undefined");
    assert_eq!(text("throw { toString() { throw 1 } }"), "{ toString: [Function: toString] }");
    assert_eq!(text("throw new Proxy({}, {})"), "[Proxy]");
    assert_eq!(text("throw Symbol('s')"), "Symbol(s)");
    assert_eq!(
        text("throw Object.defineProperty(new Error('x'), 'message', { get() { throw 1 } })"),
        "Error\n    at program.ts:1:33"
    );
    assert_eq!(
        text("throw new Error('outer', { cause: new TypeError('inner') })"),
        "Error: outer\n    at program.ts:1:39\ncaused by: TypeError: inner"
    );
    assert_eq!(
        text("await tools.fail('denied: no')"),
        "ToolCallError of `fail`: denied: no\n    at program.ts:1:13"
    );
    assert_eq!(
        text("await Promise.any([tools.fail('one'), Promise.reject(2)])"),
        "AggregateError\n    at program.ts:1:47\none of: ToolCallError: one\none of: 2"
    );
    assert_eq!(run("console.log('before'); throw 1").logs, ["before".into()]);
}

#[test]
fn a_return_gives_a_value_and_its_absence_gives_none() {
    // TSRT-11
    for (source, expected) in [
        ("return null", Some(json!(null))),
        ("return false", Some(json!(false))),
        ("return ''", Some(json!(""))),
        ("return Promise.resolve({ a: Promise.resolve })", None),
        ("return tools.echo([1])", Some(json!([1]))),
        ("return (async () => 5)()", Some(json!(5))),
    ] {
        if let Some(expected) = expected {
            assert_eq!(value(source), Some(expected), "{source}");
        } else {
            fails(source, FailureKind::InvalidOutput, "value.a: a function");
        }
    }
    for source in ["", "let x = 1", "return", "return undefined", "return void 0", "// nothing"] {
        assert_eq!(value(source), None, "{source}");
    }
}

#[test]
fn a_run_ends_with_its_body_whatever_is_still_open() {
    // TSRT-12
    let (end, host) = run_on(
        engine(),
        "tools.hold(1).then(() => console.log('never')); setTimeout(() => console.log('never'), 1); \
         setInterval(() => console.log('never'), 1); Promise.resolve().then(async () => { for (;;) { await 0 } }); \
         console.log('seen'); return 1",
    );
    assert_eq!((end.value, end.failure), (Some(json!(1)), None));
    assert_eq!(end.logs, ["seen".into()]);
    assert_eq!(*host.calls.lock().unwrap(), [("hold".to_owned(), json!(1))]);
}

#[test]
fn calls_started_before_an_await_overlap_and_arrive_in_order() {
    // TSRT-13
    let (end, host) = run_on(
        engine(),
        "const all = await Promise.all([tools.later(40), tools.later(1), tools.echo(2)]);\n\
         const settled = await Promise.allSettled([tools.fail('no'), tools.echo(3)]);\n\
         const first = await Promise.race([tools.hold(4), tools.echo(5)]);\n\
         return [all, settled.map(s => s.status), first]",
    );
    assert_eq!(end.value, Some(json!([[40, 1, 2], ["rejected", "fulfilled"], 5])));
    let calls = host.calls.lock().unwrap();
    let members: Vec<&str> = calls.iter().map(|(member, _)| &**member).collect();
    assert_eq!(members, ["later", "later", "echo", "fail", "echo", "hold", "echo"]);
}

#[test]
fn a_bad_argument_rejects_its_call_alone_and_never_reaches_the_host() {
    // TSRT-14
    let (end, host) = run_on(
        engine(),
        "const bad = tools.echo({ when: new Date() });\nif (!(bad instanceof Promise)) throw 1;\n\
         try { await bad } catch (e) { console.log(e instanceof ToolCallError, e.toolName, e.message) }\n\
         return await tools.echo('good')",
    );
    assert_eq!(end.value, Some(json!("good")));
    insta::assert_snapshot!(end.logs[0], @"true echo invalid arguments: arguments must be lossless JSON; arguments.when: a Date is not JSON: pass x.toISOString()");
    assert_eq!(*host.calls.lock().unwrap(), [("echo".to_owned(), json!("good"))]);
}

#[test]
fn a_failed_call_is_caught_as_the_error_class() {
    // TSRT-15
    returns(
        "try { await tools.fail('denied: not today') } catch (e) {\n\
         return [e instanceof ToolCallError, e instanceof Error, e.name, e.toolName, e.message, String(e),\n\
         Object.getOwnPropertyNames(e).sort(), e.constructor === ToolCallError, Object.keys(e)] }",
        r#"[true,true,"ToolCallError","fail","denied: not today","ToolCallError: denied: not today",["message","name","toolName"],true,["toolName"]]"#,
    );
    returns(
        "const e = new ToolCallError('m', 't'); return [e.name, e.toolName, e.message, e instanceof Error]",
        r#"["ToolCallError","t","m",true]"#,
    );
    returns(
        "class Mine extends ToolCallError {} return new Mine('m') instanceof ToolCallError",
        "true",
    );
}

#[test]
fn a_rejection_nobody_handles_fails_the_run() {
    // TSRT-16
    fails("Promise.reject(new Error('lost')); return 1", FailureKind::Exception, "Error: lost");
    fails(
        "tools.echo(undefined); return 1",
        FailureKind::Exception,
        "nothing awaits or catches it: ToolCallError",
    );
    fails(
        "(async () => { throw new TypeError('x') })(); await tools.echo(1)",
        FailureKind::Exception,
        "TypeError: x",
    );
    fails("Promise.reject(5); await new Promise(() => {})", FailureKind::Exception, "5");
    // A handler that comes later is a handler.
    returns(
        "const p = tools.fail('x'); await tools.later(20); return await p.catch(e => e.message)",
        r#""x""#,
    );
    // What the end of the run rejects does not count.
    returns("tools.hold(1); tools.later(1); return 1", "1");
    // The program's own failure comes first.
    fails("Promise.reject(1); throw 'mine'", FailureKind::Exception, "mine");
}

#[test]
fn limits_hold_in_a_fresh_interpreter_on_its_own_thread() {
    // TSRT-17
    use std::time::Duration;
    let compute = engine().compute(Duration::from_millis(50));
    assert_eq!(crate::support::failure_on(compute, "for (;;) {}").0, FailureKind::Timeout);
    let memory = engine().memory(8 << 20);
    let swallowed = "const a = []; try { for (;;) a.push('x'.repeat(1000) + a.length) } catch { a.length = 0 } return 'fine'";
    assert_eq!(crate::support::failure_on(memory, swallowed).0, FailureKind::WorkerExit);
    fails("(function f() { f() })()", FailureKind::Exception, "Maximum call stack size exceeded");
}
