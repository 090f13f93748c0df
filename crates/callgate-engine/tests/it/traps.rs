//! What the engine, the parser and their bindings are known to get wrong.

use std::time::{Duration, Instant};

use callgate_core::program::FailureKind;
use callgate_engine::strip;
use callgate_schema::json;

use crate::support::{engine, fails, failure_on, logs, returns, run, run_on, value};

// Defects of the bindings that a value of a program can reach.

#[test]
fn an_array_of_the_largest_length_is_refused_like_any_with_holes() {
    fails("return new Array(4294967295)", FailureKind::InvalidOutput, "an array with holes");
    fails(
        "const a = [1]; a.length = 4294967295; return a",
        FailureKind::InvalidOutput,
        "an array with holes",
    );
    fails(
        "const a = []; a[4294967294] = 1; return a",
        FailureKind::InvalidOutput,
        "an array with holes",
    );
    returns(
        "try { await tools.echo(new Array(4294967295)) } catch (e) { return e.name }",
        r#""ToolCallError""#,
    );
    logs(
        "console.log(new Array(4294967295))",
        &["[ <100 empty items>, ... 4294967195 more items ]"],
    );
}

#[test]
fn keys_with_nul_stay_whole() {
    let source = r#"const x = { "a\0b": 1, a: 2, "\0": 3, "": 4 }; console.log(x); return [x, await tools.echo(x)]"#;
    let end = run(source);
    let expected = json!({ "a\0b": 1, "a": 2, "\0": 3, "": 4 });
    assert_eq!(end.value, Some(json!([expected.clone(), expected])));
    assert_eq!(&*end.logs[0], r"{ 'a\x00b': 1, a: 2, '\x00': 3, '': 4 }");
}

#[test]
fn a_key_that_is_half_a_surrogate_pair_is_refused_by_place() {
    fails(
        r#"return { ok: [{ "\ud800": 1 }] }"#,
        FailureKind::InvalidOutput,
        "value.ok[0].: a key with half of a surrogate pair",
    );
    logs(r#"console.log({ "a\udc00": "\ud800" })"#, &[r"{ 'a\udc00': '\ud800' }"]);
}

#[test]
fn text_of_half_surrogates_is_never_taken_for_utf_8() {
    for text in
        [r"'\ud800'", r"'\udfff'", r"'a\ud83d' + 'b'", r"['x'.repeat(9000) + '\ud83d'].join('')"]
    {
        fails(&format!("return {text}"), FailureKind::InvalidOutput, "half of a surrogate pair");
    }
    // Halves that meet are a whole.
    returns(r"return ('\ud83d' + '\ude00').repeat(2)", r#""😀😀""#);
}

// The strict border.

#[test]
fn a_hole_does_not_read_through_to_the_prototype() {
    fails(
        "Array.prototype[0] = 'ghost'; return [, 1]",
        FailureKind::InvalidOutput,
        "an array with holes",
    );
    logs("Array.prototype[0] = 'ghost'; console.log([, 1])", &["[ <1 empty item>, 1 ]"]);
}

#[test]
fn a_getter_that_changes_what_is_being_read_harms_nobody() {
    for source in [
        "const a = [0, 1, 2]; Object.defineProperty(a, 0, { get() { a.length = 0; return 1 }, enumerable: true }); return a",
        "const a = [{ get x() { a.length = 1e6; return 1 } }, 2]; return a",
        "const o = { get a() { delete o.b; o.c = 1; return 1 }, b: 2 }; return o",
        "const o = { get a() { Object.setPrototypeOf(o, null); return [o] } }; return o",
        "const o = { get a() { return { get b() { return o } } } }; return o",
        "const o = { get a() { tools.echo({ get z() { return tools.echo(1), 2 } }); console.log(o.b); return 1 }, b: 3 }; return o",
    ] {
        let end = run(source);
        let kind = end.failure.map(|failure| failure.kind);
        assert!(matches!(kind, None | Some(FailureKind::InvalidOutput)), "{source}: {kind:?}");
    }
}

#[test]
fn a_value_that_doubles_at_every_level_is_metered_while_it_is_read() {
    let bomb = "let x = ['boom']; for (let i = 0; i < 60; i++) x = [x, x];";
    assert_eq!(
        failure_on(engine().max_output_bytes(1 << 20), &format!("{bomb} return x")).0,
        FailureKind::OutputLimit
    );
    let caught = format!("{bomb} try {{ await tools.echo(x) }} catch (e) {{ return e.message }}");
    let (end, host) = run_on(engine().memory(2 << 20), &caught);
    assert!(end.value.unwrap().as_str().unwrap().contains("more data than the run's memory"));
    assert!(host.calls.lock().unwrap().is_empty());
    let small = engine().memory(512 << 20).compute(Duration::from_millis(200));
    assert_eq!(failure_on(small, &caught).0, FailureKind::Timeout);
}

#[test]
fn arguments_that_wait_are_bounded_by_the_memory_of_the_run() {
    let source = "const big = 'x'.repeat(1 << 20), calls = []; for (let i = 0; i < 100; i++) calls.push(tools.hold(big).catch(e => e.message)); \
                  return await Promise.race(calls)";
    let (end, host) = run_on(engine().memory(16 << 20), source);
    assert!(end.value.unwrap().as_str().unwrap().contains("await some first"));
    assert!(host.calls.lock().unwrap().len() <= 16);
    // Answered calls do not count.
    let (end, _) = run_on(
        engine().memory(16 << 20),
        "const big = 'x'.repeat(1 << 20); for (let i = 0; i < 50; i++) await tools.echo(big); return 1",
    );
    assert_eq!(end.value, Some(json!(1)));
}

#[test]
fn keys_that_look_like_indices_come_first() {
    returns("return await tools.echo({ b: 1, 2: 2, a: 3, 1: 4 })", r#"{"1":4,"2":2,"b":1,"a":3}"#);
}

// What the death of a program looks like.

#[test]
fn an_interrupt_after_the_first_await_is_a_timeout_not_a_hang() {
    for source in [
        "await 0; for (;;) {}",
        "await tools.echo(1); for (;;) {}",
        "await Promise.all([(async () => { await 0; for (;;) {} })()])",
    ] {
        assert_eq!(
            failure_on(engine().compute(Duration::from_millis(50)), source).0,
            FailureKind::Timeout,
            "{source}"
        );
    }
}

#[test]
fn memory_that_runs_out_in_the_job_queue_is_seen() {
    let source = "await 0; const next = () => Promise.resolve().then(() => { next(); next() }); next(); await new Promise(() => {})";
    assert_eq!(failure_on(engine().memory(16 << 20), source).0, FailureKind::WorkerExit);
}

#[test]
fn memory_that_runs_out_never_crashes_the_host() {
    // Every allocation in turn is the one that fails.
    for memory in (190_000..320_000).step_by(2_900) {
        for source in [
            "const u = new URL('https://x.y/a?b=c'); console.log(u.href, structuredClone({ a: [1, new Map()] })); return btoa('x')",
            "try { await Promise.all(Array.from({ length: 50 }, (_, i) => tools.echo({ i, s: 'ab'.repeat(i) }))) } catch (e) { console.log(e) }",
            "class A { #p = 1; get x() { return this.#p } } const m = new Map(); for (let i = 0; i < 200; i++) m.set({ i }, new A()); return [...m].length",
        ] {
            let (end, _) = run_on(engine().memory(memory), source);
            let kind = end.failure.map(|failure| failure.kind);
            assert!(matches!(kind, None | Some(FailureKind::WorkerExit)), "{memory}: {kind:?}");
        }
    }
}

#[test]
fn a_promise_that_nothing_settles_is_reported() {
    for source in [
        "await new Promise(() => {})",
        "await { then() {} }",
        "for await (const x of { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }) {}",
    ] {
        fails(source, FailureKind::Exception, "the program will never finish");
    }
}

#[test]
fn deep_values_go_through_the_programs_own_json_functions() {
    returns(
        "let x = 1; for (let i = 0; i < 5000; i++) x = [x]; const text = JSON.stringify(x); \
         return [text.length, JSON.stringify(JSON.parse(text)) === text, JSON.stringify(await tools.echo(x)) === text]",
        "[10001,true,true]",
    );
    fails(
        "let x = 1; for (let i = 0; i < 1e6; i++) x = [x]; JSON.stringify(x)",
        FailureKind::Exception,
        "Maximum call stack size exceeded",
    );
}

#[test]
fn a_bigint_prints_its_digits() {
    returns(
        "return JSON.stringify([{ id: 12345678901234567890n }, 5n])",
        r#""[{\"id\":12345678901234567890},5]""#,
    );
}

#[test]
fn what_quickjs_lacks_is_there_or_says_what_to_do() {
    returns(
        "return [atob(btoa('héllo')), new TextDecoder().decode(new TextEncoder().encode('€')), structuredClone({ a: [1] }).a[0]]",
        r#"["héllo","€",1]"#,
    );
    returns(
        "const u = new URL('../b?x=1#y', 'https://user@example.com:8080/a/c'); u.searchParams.append('q', 'a b'); return [u.href, u.host, u.origin]",
        r#"["https://user@example.com:8080/b?x=1&q=a+b#y","example.com:8080","https://example.com:8080"]"#,
    );
    returns(
        "return [new URLSearchParams({ a: '1', b: 'x y' }).toString(), URL.canParse('nope'), URL === globalThis.URL]",
        r#"["a=1&b=x+y",false,true]"#,
    );
    returns("URL = 5; return URL", "5");
    returns(
        "let order = []; setTimeout(() => order.push('timeout'), 1); queueMicrotask(() => order.push('micro')); \
             const id = setInterval(() => { order.push('tick'); if (order.length > 4) clearInterval(id) }, 1); const off = setTimeout(() => order.push('no'), 2); clearTimeout(off); \
             await new Promise((done, _) => setTimeout(done, 60, 'x')); return [order.slice(0, 2), order.includes('no'), order.length]",
        r#"[["micro","timeout"],false,5]"#,
    );
    fails(
        "setTimeout(() => { throw new Error('late') }, 1); await tools.hold(1)",
        FailureKind::Exception,
        "Error: late",
    );
    fails("setTimeout('code')", FailureKind::Exception, "a timer takes a function first");
    for (source, advice) in [
        ("await fetch('https://x.y')", "programs have no network: call a tool instead"),
        ("const fs = require('fs')", "programs have no modules"),
        ("return process.env.HOME", "no process and no environment"),
        ("fs.readFileSync('x')", "programs have no files"),
        ("return Buffer.from('x')", "TextEncoder"),
        ("eval('1')", "code cannot be made from strings"),
        ("new Function('return 1')", "code cannot be made from strings"),
    ] {
        fails(source, FailureKind::Exception, advice);
    }
}

// The parser.

#[test]
fn a_hundred_thousand_brackets_neither_crash_nor_hang() {
    let started = Instant::now();
    for (open, close) in [
        ("[", "]"),
        ("(", ")"),
        ("{", "}"),
        ("!", ""),
        ("1+", "1"),
        ("`${", "}`"),
        ("x=>", "1"),
        ("if(1)", ";"),
    ] {
        let source = open.repeat(100_000) + &close.repeat(100_000);
        let end = run(&source);
        let kind = end.failure.map(|failure| failure.kind);
        assert!(matches!(kind, None | Some(FailureKind::Exception)), "{open}: {kind:?}");
    }
    assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
}

#[test]
fn texts_that_make_the_parser_try_again_and_again_are_refused_in_time() {
    for unit in [
        "<(a=async ",
        "({[infer ?(<",
        "1<(",
        "`${{[a<",
        "{ainfer =1<(",
        "(a=",
        "a<",
        "x=>(a=",
        "({a=",
        "[a=(",
        "a?b:(c=",
        "a?(b=",
        "[abstract <{",
        "<{a(a=/",
    ] {
        let started = Instant::now();
        for repeats in [30, 4_000] {
            strip(&unit.repeat(repeats)).expect_err(unit);
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{unit}: {:?}", started.elapsed());
    }
}

#[test]
fn honest_programs_with_many_types_are_not_refused() {
    let part = "async function step(input: { id: number; tags: string[] }): Promise<Record<string, Array<Map<string, { a: [number, string] }>>>> {\n\
                const found = await tools.echo({ id: input.id, limit: 10 }) as { rows: Array<{ name: string; f: (x: Array<string>) => Set<number> }> };\n\
                for (let i = 0; i < found.rows.length; i++) if (i < (input.id - 1) && found.rows[i].name < `${i}`) return f<{ a: string }>(x => x < 3);\n}\n";
    strip(&part.replace("step", "s").repeat(60)).unwrap();
    let data = format!(
        "return [{}]",
        (0..20_000)
            .map(|i| format!("{{ id: {i}, name: 'row {i}' }}"))
            .collect::<Vec<_>>()
            .join(", ")
    );
    assert_eq!(value(&data).unwrap().as_array().unwrap().len(), 20_000);
}

#[test]
fn html_comments_are_no_comments() {
    // In a script `<!--` begins a comment; a program is parsed as a module, where it is three operators.
    returns("let b = 1; const x = 5 <!--b; return [x, b]", "[false,0]");
    returns("let x = 3, y = []; while (x --> 0) y.push(x); return y", "[2,1,0]");
    fails("return 1\n--> 0", FailureKind::Exception, "syntax error");
}

#[test]
fn what_the_parser_lets_through_the_compiler_finds_with_its_place() {
    let end = run("const a = 1;\nlet b = 2; const a = 3");
    insta::assert_snapshot!(end.failure.unwrap().message, @r"
    syntax error at line 2, column 20: invalid redefinition of lexical identifier
      1 | const a = 1;
    > 2 | let b = 2; const a = 3
        |                    ^
    ");
    fails("break", FailureKind::Exception, "syntax error at line 1");
    fails(
        "class A { m() { return this.#missing } }",
        FailureKind::Exception,
        "syntax error: undefined private field '#missing'",
    );
    fails("return /(/", FailureKind::Exception, "");
}

#[test]
fn odd_characters_of_a_program_stay_what_they_are() {
    returns("return 'a\0b'.length // \0", "3");
    returns("\u{feff}return 'bom'", r#""bom""#);
    returns("return [\u{a0}'\u{2028}'.length,\u{2029} 1]\r\n", "[1,1]");
    let end = run("const a = 1\r\n\r\nthrow new Error('x')\r\n");
    assert_eq!(end.failure.unwrap().message, "Error: x\n    at program.ts:3:11");
}

#[test]
fn many_rejections_are_handled_one_by_one_in_time() {
    let source = "const all = Array.from({ length: 50_000 }, (_, i) => Promise.reject(i)); \
                  return (await Promise.allSettled(all)).length";
    returns(source, "50000");
}

#[test]
fn a_value_that_is_small_here_and_large_there_is_refused() {
    let (end, _) = run_on(
        engine().memory(32 << 20).max_output_bytes(1 << 40),
        "let x = Array(100_000).fill(1); for (let i = 0; i < 10; i++) x = [x, x]; return x",
    );
    assert_eq!(end.failure.map(|failure| failure.kind), Some(FailureKind::OutputLimit));
}

#[test]
fn a_small_stack_is_enough_for_a_small_program() {
    let (end, _) =
        run_on(engine().stack(128 << 10), "console.log({ a: [1] }); return await tools.echo(1)");
    assert_eq!((end.value, end.failure), (Some(json!(1)), None));
}

// Natives.

#[test]
fn a_native_that_cannot_be_interrupted_is_stopped_right_after() {
    // In process a built-in function runs to its end: the budget is judged when it returns.
    let started = Instant::now();
    let (kind, _) = failure_on(
        engine().compute(Duration::from_millis(1)),
        "new Array(2 ** 21).join('x'); for (;;) {}",
    );
    assert_eq!(kind, FailureKind::Timeout);
    assert!(started.elapsed() < Duration::from_secs(20));
}
