//! The contract of every program engine, rule by rule.
#![expect(clippy::disallowed_methods, reason = "the tests are about runs side by side")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgate_core::program::{
    ErrorClass, FailureKind, Namespace, Program, ProgramCall, ProgramEngine, ProgramHost, Reply,
};
use callgate_core::{Cause, Signal};
use callgate_engine::TypeScript;
use callgate_schema::{Json, Object, Str, json};
use proptest::prelude::*;

use crate::support::{
    Host, block_on, engine, fails, failure_on, logs, nested, returns, run, run_on, tools, value,
};

/// Long enough for a busy machine, short enough to tell a hang from a wait.
const PATIENCE: Duration = Duration::from_secs(5);

fn namespace(global: &str, members: &[&str], class: Option<ErrorClass>) -> Namespace {
    Namespace::new(global, members.iter().map(|member| Str::from(*member)).collect(), class)
}

fn run_with(namespaces: Vec<Namespace>, source: &str) -> Result<Option<Json>, String> {
    let engine = engine().build().unwrap();
    let host = Arc::new(Host::default());
    let end = block_on(engine.run(Program::new(source, namespaces), host, Signal::new()));
    end.map(|end| {
        assert_eq!(end.failure, None, "{source}");
        end.value
    })
    .map_err(|error| error.to_string())
}

#[test]
fn a_namespace_holds_functions_of_any_name() {
    // RUNTIME-2
    let plain = namespace("plain", &["echo", "with space", "🙂"], None);
    let source = "return [await plain.echo(1), await plain['with space'](2), await plain['🙂'](3), \
                  Object.keys(plain)]";
    let expected = json!([1, 2, 3, ["echo", "with space", "🙂"]]);
    assert_eq!(run_with(vec![plain], source), Ok(Some(expected)));
}

#[test]
fn a_failed_program_is_a_result_with_its_logs() {
    // RUNTIME-3
    let end = run("console.log('a'); console.log('b'); throw new Error('no')");
    assert_eq!(end.value, None);
    assert_eq!(end.logs, ["a".into(), "b".into()]);
    assert_eq!(end.failure.map(|failure| failure.kind), Some(FailureKind::Exception));
    let end = run("return 5");
    assert_eq!((end.value, end.failure), (Some(json!(5)), None));
}

#[test]
fn only_misuse_is_an_error_and_it_is_found_first() {
    // RUNTIME-4
    let engine = engine().build().unwrap();
    let cancelled = Signal::new();
    cancelled.cancel(Cause::new("user", "the user pressed stop"));
    let host = Arc::new(Host::default());
    let bad = Program::new("syntax error (", vec![namespace("await", &[], None)]);
    assert!(block_on(engine.run(bad, host.clone(), cancelled.clone())).is_err());
    let unparsed = Program::new("syntax error (", vec![tools()]);
    let end = block_on(engine.run(unparsed, host.clone(), cancelled)).unwrap();
    let failure = end.failure.unwrap();
    assert_eq!((failure.kind, &*failure.message), (FailureKind::Abort, "the user pressed stop"));
    let unparsed = Program::new("syntax error (", vec![tools()]);
    let end = block_on(engine.run(unparsed, host, Signal::new())).unwrap();
    assert_eq!(end.failure.map(|failure| failure.kind), Some(FailureKind::Exception));
}

#[test]
fn global_names_work_in_every_language() {
    // RUNTIME-5
    for name in [
        "await",
        "lambda",
        "$tools",
        "not valid!",
        "console",
        "",
        "1a",
        "_",
        "None",
        "eval",
        "match",
        "__builtins__",
        "__name__",
        "__debug__",
        "tools2 ",
        "ü",
    ] {
        let refused = run_with(vec![namespace(name, &[], None)], "return 1").unwrap_err();
        assert!(refused.contains(&format!("`{name}`")), "{refused}");
        let class = ErrorClass::new(name, "member");
        assert!(
            run_with(vec![namespace("tools", &[], Some(class))], "return 1").is_err(),
            "{name}"
        );
    }
    for name in ["tools", "_x", "A1", "__x__", "ToolCallError", "Object", "undefinedValue"] {
        assert_eq!(
            run_with(vec![namespace(name, &[], None)], "return 1"),
            Ok(Some(json!(1))),
            "{name}"
        );
    }
    let twice = vec![namespace("a", &[], None), namespace("a", &[], None)];
    assert!(run_with(twice, "").unwrap_err().contains("twice"));
    let clash = namespace("a", &[], Some(ErrorClass::new("a", "member")));
    assert!(run_with(vec![clash], "").unwrap_err().contains("twice"));
    assert!(run_with(vec![namespace("a", &["x", "x"], None)], "").unwrap_err().contains("twice"));
}

#[test]
fn the_member_property_of_an_error_class_is_free_of_clashes() {
    // RUNTIME-6
    let with = |property: &str| {
        let class = ErrorClass::new("Failed", property);
        run_with(vec![namespace("tools", &[], Some(class))], "return 1")
    };
    for property in [
        "",
        "name",
        "message",
        "stack",
        "args",
        "with_traceback",
        "add_note",
        "__x__",
        "__toolName__",
        "_____",
    ] {
        assert!(with(property).is_err(), "{property}");
    }
    for property in ["toolName", "__", "____", "___", "_x_", "tool-name"] {
        assert_eq!(with(property), Ok(Some(json!(1))), "{property}");
    }
}

#[test]
fn runs_share_nothing() {
    // RUNTIME-7
    let engine = engine().build().unwrap();
    let run = |source: &str| {
        let program = Program::new(source, vec![tools()]);
        block_on(engine.run(program, Arc::new(Host::default()), Signal::new())).unwrap().value
    };
    for _ in 0..4 {
        run(
            "globalThis.left = 1; Array.prototype.left = 1; Object.prototype.left = 1; JSON.left = 1; \
             Promise.prototype.then = null; setInterval(() => {}, 1); URL.left = 1; return 1",
        );
        let seen = run(
            "return [typeof left, typeof [].left, typeof {}.left, typeof JSON.left, typeof URL.left, \
                        await tools.echo(1)]",
        );
        assert_eq!(
            seen,
            Some(json!(["undefined", "undefined", "undefined", "undefined", "undefined", 1]))
        );
    }
}

#[test]
fn an_engine_that_is_shut_down_ends_its_runs_and_takes_no_more() {
    // RUNTIME-7
    let engine = engine().build().unwrap();
    let start = |source: &str| {
        engine.run(Program::new(source, vec![tools()]), Arc::new(Host::default()), Signal::new())
    };
    block_on(async {
        let running =
            [tokio::spawn(start("for (;;) {}")), tokio::spawn(start("await tools.hold(1)"))];
        tokio::time::sleep(Duration::from_millis(50)).await;
        engine.shut_down().await;
        for run in running {
            let failure = run.await.unwrap().unwrap().failure.unwrap();
            let expected = (FailureKind::Abort, "the engine was shut down");
            assert_eq!((failure.kind, &*failure.message), expected);
        }
        assert_eq!(start("return 1").await.unwrap_err().to_string(), "the engine was shut down");
        engine.shut_down().await;
    });
}

#[test]
fn only_lossless_json_leaves_a_program() {
    // RUNTIME-8
    for (text, expected) in [
        ("null", "null"),
        (
            "[true, false, 0, 1.5, -1, 1e300, 5e-324, '', 'x']",
            "[true,false,0,1.5,-1,1e+300,5e-324,\"\",\"x\"]",
        ),
        ("{ b: 1, a: [{}], 2: 'two', 1: 'one' }", r#"{"1":"one","2":"two","b":1,"a":[{}]}"#),
        ("Object.assign(Object.create(null), { a: 1 })", r#"{"a":1}"#),
        ("{ a: undefined, b: 1 }", r#"{"b":1}"#),
        ("Object.freeze([Object.freeze({ a: 1 })])", r#"[{"a":1}]"#),
    ] {
        returns(&format!("return ({text})"), expected);
        returns(&format!("return await tools.echo({text})"), expected);
    }
    for (text, place, why) in [
        ("[undefined]", "[0]", "undefined is not JSON"),
        ("[1, , 2]", "", "an array with holes"),
        ("{ a: [5n] }", ".a[0]", "write Number(x)"),
        ("{ a: -5n }", ".a", "write Number(x)"),
        ("18446744073709551616n", "", "pass String(x)"),
        ("-9223372036854775809n", "", "pass String(x)"),
        ("{ s: Symbol('x') }", ".s", "a symbol"),
        ("{ f() {} }", ".f", "a function"),
        ("[NaN]", "[0]", "NaN"),
        ("{ a: Infinity }", ".a", "Infinity"),
        ("-Infinity", "", "Infinity"),
        ("{ z: [-0] }", ".z[0]", "-0 is not JSON"),
        ("Object.assign([1], { extra: 2 })", "", "extra properties"),
        ("new (class extends Array {})(1, 2)", "", "use a plain array"),
        ("{ d: new Date() }", ".d", "toISOString()"),
        ("new Map()", "", "Object.fromEntries(x)"),
        ("new Set()", "", "[...x]"),
        ("/x/", "", "a RegExp"),
        ("new Uint8Array(1)", "", "Array.from(x)"),
        ("new (class Point { x = 1 })", "", "an instance of Point"),
        ("new TypeError('x')", "", "an instance of TypeError"),
        ("new Number(1)", "", "an instance of Number"),
        ("Object.setPrototypeOf(new Date(), Object.prototype)", "", "a Date"),
        ("Object.setPrototypeOf(new Boolean(true), Object.prototype)", "", "not JSON"),
        ("{ p: Promise.resolve(1) }", ".p", "`await` it first"),
        ("new Proxy({}, {})", "", "a proxy"),
        ("new Proxy([], {})", "", "a proxy"),
        ("Object.create({ a: 1 })", "", "not JSON"),
        ("{ [Symbol('k')]: 1 }", "", "a symbol"),
        ("Object.defineProperty({}, 'h', { value: 1 })", ".h", "not enumerable"),
        ("Object.defineProperty([1], 0, { enumerable: false })", "", "hidden items"),
        ("(() => { const a = { b: [] }; a.b.push(a); return a })()", ".b[0]", "a cycle"),
        ("(function () { return arguments })(1)", "", "not JSON"),
    ] {
        let caught = format!("try {{ await tools.echo({text}) }} catch (e) {{ return e.message }}");
        let message = value(&caught).unwrap_or_default();
        let message = message.as_str().unwrap_or_default();
        assert!(message.contains(&format!("arguments{place}: ")), "{text}: {message}");
        assert!(message.contains(why), "{text}: {message}");
        // A promise that is returned is awaited, so it is put into a list.
        fails(
            &format!("return [{text}]"),
            FailureKind::InvalidOutput,
            &format!("value[0]{place}: "),
        );
    }
}

#[test]
fn a_value_is_read_once_and_as_it_is() {
    // RUNTIME-9
    returns("const x = { a: 1 }; return [x, x, { x }]", r#"[{"a":1},{"a":1},{"x":{"a":1}}]"#);
    returns(
        "let reads = 0; const x = await tools.echo({ get a() { return ++reads } }); return [x, reads]",
        r#"[{"a":1},1]"#,
    );
    returns(
        "let reads = 0; const list = [0]; Object.defineProperty(list, 0, { get() { return ++reads } }); \
         return [await tools.echo(list), reads]",
        "[[1],1]",
    );
    fails(
        "return { get a() { throw new Error('mine') } }",
        FailureKind::InvalidOutput,
        "value.a: reading it threw Error: mine",
    );
    fails(
        "return { toJSON() { return 1 } }",
        FailureKind::InvalidOutput,
        "value.toJSON: a function",
    );
    returns(
        r#"const own = JSON.parse('{"__proto__":{"a":1},"constructor":2}'); const back = await tools.echo(own);
           return [back, Object.getPrototypeOf(back) === Object.prototype, Object.keys(back)]"#,
        r#"[{"__proto__":{"a":1},"constructor":2},true,["__proto__","constructor"]]"#,
    );
}

#[test]
fn values_cross_by_copy() {
    // RUNTIME-10
    let source = "const sent = { list: [1] }; const promise = tools.echo(sent); sent.list.push(2); \
                  const got = await promise; got.list.push(3); const again = await tools.echo(sent); \
                  return [sent, got, again]";
    let (end, host) = run_on(engine(), source);
    assert_eq!(
        end.value,
        Some(json!([{ "list": [1, 2] }, { "list": [1, 3] }, { "list": [1, 2] }]))
    );
    assert_eq!(host.calls.lock().unwrap()[0].1, json!({ "list": [1] }));
}

/// Answers with a value of 200,000 levels.
struct Deep;
impl ProgramHost for Deep {
    fn call(&self, _: ProgramCall, reply: Reply) {
        reply.send(Ok((0..200_000).fold(json!(1), |inner, _| json!([inner]))));
    }
}

#[test]
fn five_thousand_levels_pass_and_more_are_refused() {
    // RUNTIME-11
    let make = "const make = (levels, wrap) => { let x = 1; for (let i = 0; i < levels; i++) x = wrap(x); return x };";
    for wrap in ["x => [x]", "x => ({ x })"] {
        let source = format!("{make} return await tools.echo(make(5000, {wrap}))");
        let value = value(&source).unwrap();
        assert_eq!(nested(&value), 5_000, "{wrap}");
        fails(
            &format!("{make} return make(100_000, {wrap})"),
            FailureKind::InvalidOutput,
            "more than 5000 levels deep",
        );
        returns(
            &format!(
                "{make} try {{ await tools.echo(make(5001, {wrap})) }} catch (e) {{ return e.message.slice(-25) }}"
            ),
            r#""ore than 5000 levels deep""#,
        );
    }
    // What the host made may be as deep as it likes.
    let source = "let x = await tools.echo(1), depth = 0; while (Array.isArray(x)) { x = x[0]; depth++ } return depth";
    let engine = engine().build().unwrap();
    let end =
        block_on(engine.run(Program::new(source, vec![tools()]), Arc::new(Deep), Signal::new()))
            .unwrap();
    assert_eq!(end.value, Some(json!(200_000)));
}

#[test]
fn a_bad_value_fails_what_it_was_for_and_nothing_else() {
    // RUNTIME-12
    let (end, host) = run_on(
        engine(),
        "const results = await Promise.allSettled([tools.echo(1), tools.echo(() => 1), tools.echo(2), tools.echo()]); \
         return results.map(r => r.status)",
    );
    assert_eq!(end.value, Some(json!(["fulfilled", "rejected", "fulfilled", "rejected"])));
    assert_eq!(host.calls.lock().unwrap().len(), 2);
    let end = run("console.log('kept'); return () => 1");
    let failure = end.failure.unwrap();
    assert_eq!((end.value, failure.kind), (None, FailureKind::InvalidOutput));
    assert_eq!(
        failure.message,
        "the returned value must be lossless JSON; value: a function is not JSON"
    );
    assert_eq!(end.logs, ["kept".into()]);
}

#[test]
fn numbers_are_never_rounded() {
    // RUNTIME-13
    struct Ids;
    impl ProgramHost for Ids {
        fn call(&self, call: ProgramCall, reply: Reply) {
            let ids = json!([
                9_007_199_254_740_991_i64,
                9_007_199_254_740_992_i64,
                9_007_199_254_740_993_i64,
                -9_007_199_254_740_993_i64,
                i64::MIN,
                u64::MAX,
                1.5,
                1e300
            ]);
            reply.send(Ok(if call.arguments == json!("ids") { ids } else { call.arguments }));
        }
    }
    let run = |source: &str| {
        let engine = engine().build().unwrap();
        let program = Program::new(source, vec![tools()]);
        let end = block_on(engine.run(program, Arc::new(Ids), Signal::new())).unwrap();
        assert_eq!(end.failure, None);
        end.value.unwrap().to_string()
    };
    assert_eq!(
        run("return (await tools.echo('ids')).map(id => typeof id)"),
        r#"["number","bigint","bigint","bigint","bigint","bigint","number","number"]"#
    );
    // They go back exactly, and print their digits.
    let exact = "[9007199254740991,9007199254740992,9007199254740993,-9007199254740993,-9223372036854775808,\
                 18446744073709551615,1.5,1e+300]";
    assert_eq!(run("return await tools.echo(await tools.echo('ids'))"), exact);
    assert_eq!(
        run("return JSON.parse(JSON.stringify(JSON.stringify(await tools.echo('ids'))))"),
        format!("{exact:?}")
    );
    // A double is what it is.
    returns(
        "return [2 ** 53, 2 ** 60, 0.1 + 0.2, 100, 1.0]",
        "[9007199254740992,1152921504606846976,0.30000000000000004,100,1]",
    );
    returns("return Object.keys({ z: 1, a: 2, m: 3 })", r#"["z","a","m"]"#);
    returns("return await tools.echo({ z: 1, a: 2, m: 3 })", r#"{"z":1,"a":2,"m":3}"#);
}

fn any_json() -> impl Strategy<Value = Json> {
    let number =
        any::<f64>().prop_filter_map("a number of JSON", |number| Json::try_from(number).ok());
    let scalar = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        number,
        any::<String>().prop_map(Json::from),
    ];
    scalar.prop_recursive(6, 60, 8, |inner| {
        let members = proptest::collection::vec((any::<String>(), inner.clone()), 0..8);
        prop_oneof![
            proptest::collection::vec(inner, 0..8).prop_map(Json::from),
            members.prop_map(|members| Json::from(members.into_iter().collect::<Object>())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_value_goes_in_and_comes_out_the_same(sent in any_json()) {
        // RUNTIME-9
        struct Gives(Json);
        impl ProgramHost for Gives {
            fn call(&self, call: ProgramCall, reply: Reply) {
                assert!(call.arguments == json!(0) || call.arguments == self.0);
                reply.send(Ok(self.0.clone()));
            }
        }
        let source = "const x = await tools.echo(0); return [x, await tools.echo(x), structuredClone(x)]";
        let engine = engine().build().unwrap();
        let program = Program::new(source, vec![tools()]);
        let end = block_on(engine.run(program, Arc::new(Gives(sent.clone())), Signal::new())).unwrap();
        prop_assert_eq!(end.failure, None);
        prop_assert_eq!(end.value, Some(Json::from([sent.clone(), sent.clone(), sent])));
    }
}

#[test]
fn half_a_surrogate_pair_is_refused_and_shown_in_logs() {
    // RUNTIME-14
    for text in ["'\\ud83d'", "'x\\udc00y'", "{ '\\ud83d': 1 }", "['\\udfff\\ud800']"] {
        fails(&format!("return ({text})"), FailureKind::InvalidOutput, "half of a surrogate pair");
        returns(
            &format!(
                "try {{ await tools.echo({text}) }} catch (e) {{ return e.message.includes('toWellFormed') }}"
            ),
            "true",
        );
    }
    returns("return '\\ud83d\\ude00€\\0'", "\"😀€\\u0000\"");
    logs("console.log('a\\ud83db')", &["a\\ud83db"]);
    fails("throw '\\ud83d'", FailureKind::Exception, "\\ud83d");
}

/// Panics, or drops the reply.
struct Careless;
impl ProgramHost for Careless {
    fn call(&self, call: ProgramCall, _: Reply) {
        assert_ne!(call.arguments, json!("panic"));
    }
}

#[test]
fn a_rejected_call_carries_exactly_the_name_the_member_and_the_message() {
    // RUNTIME-15
    let class = ErrorClass::new("BackendError", "operation");
    let source = "const seen = []; for (const [call, X] of [[() => backend.fail('why'), BackendError], [() => plain.fail('why'), Error]]) \
                  try { await call() } catch (e) { seen.push([e instanceof X, e instanceof Error, e.constructor === X, \
                  e.name, e.operation ?? null, e.message, Object.getOwnPropertyNames(e).sort()]) } return seen";
    let namespaces =
        vec![namespace("backend", &["fail"], Some(class)), namespace("plain", &["fail"], None)];
    assert_eq!(
        run_with(namespaces, source),
        Ok(Some(json!([
            [true, true, true, "BackendError", "fail", "why", ["message", "name", "operation"]],
            [true, true, true, "Error", null, "why", ["message"]]
        ])))
    );
    // A host that panics, or drops the reply, has answered too.
    let source = "const texts = []; for (const x of ['panic', 'drop']) try { await tools.echo(x) } catch (e) { texts.push(e.name) } return texts";
    let engine = engine().build().unwrap();
    let end = block_on(engine.run(
        Program::new(source, vec![tools()]),
        Arc::new(Careless),
        Signal::new(),
    ))
    .unwrap();
    assert_eq!(end.value, Some(json!(["ToolCallError", "ToolCallError"])));
}

/// The kind of the failure, the message, the logs, and the bytes all of it costs.
fn ledger(cap: u64, source: &str) -> (Option<FailureKind>, String, Vec<String>) {
    let (end, _) = run_on(engine().max_output_bytes(cap), source);
    let failure = end.failure.map(|failure| (failure.kind, failure.message));
    let value = end.value.map(|value| value.to_string());
    let logs: Vec<String> = end.logs.iter().map(ToString::to_string).collect();
    let text = match (&failure, value) {
        (Some((_, message)), _) => serde_cost(message),
        (None, Some(value)) => value.len() as u64,
        (None, None) => 0,
    };
    let commas = logs.len().saturating_sub(1) as u64;
    let total = 2 + logs.iter().map(|entry| serde_cost(entry)).sum::<u64>() + commas + text;
    assert!(total <= cap, "{total} bytes with a cap of {cap}: {source}");
    (
        failure.as_ref().map(|(kind, _)| *kind),
        failure.map(|(_, message)| message).unwrap_or_default(),
        logs,
    )
}

fn serde_cost(text: &str) -> u64 {
    Json::from(text).to_string().len() as u64
}

#[test]
fn the_ledger_counts_logs_and_value_in_bytes_of_json() {
    // RUNTIME-16
    for (cap, source, fits) in [
        (7, "return '€'", true),
        (6, "return '€'", false),
        (11, "console.log('abc'); return 'xy'", true),
        (10, "console.log('abc'); return 'xy'", false),
        (11, "console.log('abc'); throw 'xy'", true),
        (10, "console.log('abc'); throw 'xy'", false),
        (9, "return [1, 2, 3]", true),
        (8, "return [1, 2, 3]", false),
        (17, "return { a: 1.5, b: 2 }", true),
        (16, "return { a: 1.5, b: 2 }", false),
        (9, "console.log('a'); console.log('b')", true),
        (8, "console.log('a'); console.log('b')", false),
        (4, "let x = await tools.echo('a long value that is only passed through')", true),
        (8, "return true && null", true),
    ] {
        let (kind, ..) = ledger(cap, source);
        let expected = match (fits, source.contains("throw")) {
            (true, false) => None,
            (true, true) => Some(FailureKind::Exception),
            (false, _) => Some(FailureKind::OutputLimit),
        };
        assert_eq!(kind, expected, "{source} with {cap} bytes");
    }
}

#[test]
fn each_byte_of_a_string_costs_what_it_costs_escaped() {
    // RUNTIME-17
    for (text, cost) in [
        (r#"\""#, 2),
        (r"\\", 2),
        (r"\b", 2),
        (r"\t", 2),
        (r"\n", 2),
        (r"\f", 2),
        (r"\r", 2),
        (r"\0", 6),
        (r"\x0b", 6),
        (r"\x1f", 6),
        (r"\x7f", 1),
        ("/", 1),
        ("é", 2),
        ("€", 3),
        ("😀", 4),
        (r"\u2028", 3),
    ] {
        let exact = 2 + 2 + cost;
        assert_eq!(ledger(exact, &format!("return \"{text}\"")).0, None, "{text}");
        assert_eq!(
            ledger(exact - 1, &format!("return \"{text}\"")).0,
            Some(FailureKind::OutputLimit),
            "{text}"
        );
        assert_eq!(ledger(exact, &format!("console.log(\"{text}\")")).0, None, "{text} logged");
        assert_eq!(
            ledger(exact - 1, &format!("console.log(\"{text}\")")).0,
            Some(FailureKind::OutputLimit),
            "{text} logged"
        );
    }
}

#[test]
fn above_the_cap_the_value_is_dropped_and_the_message_names_the_cap() {
    // RUNTIME-18
    let (kind, message, logs) = ledger(200, "console.log('kept'); return 'x'.repeat(200)");
    assert_eq!((kind, logs), (Some(FailureKind::OutputLimit), vec!["kept".to_owned()]));
    assert_eq!(message, "the output is larger than 200 bytes: log less and return less");
    let (kind, message, _) = ledger(200, "throw new Error('x'.repeat(200))");
    assert_eq!(kind, Some(FailureKind::OutputLimit));
    assert!(!message.contains("xxx"), "{message}");
}

#[test]
fn on_overflow_logs_stay_as_far_as_they_fit() {
    // RUNTIME-19
    let message = "the output is larger than 100 bytes: log less and return less";
    let room = 100 - usize::try_from(serde_cost(message)).unwrap();
    let (kind, shown, logs) =
        ledger(100, "console.log('first'); console.log('€'.repeat(50)); console.log('never')");
    assert_eq!((kind, &*shown), (Some(FailureKind::OutputLimit), message));
    let left = room - 2 - 7 - 1 - 2;
    assert_eq!(logs, ["first".to_owned(), "€".repeat(left / 3)]);
    // Too small for the message, too: it is cut, and nothing else is kept.
    let (kind, shown, logs) = ledger(20, "console.log('x'.repeat(100))");
    assert_eq!(
        (kind, &*shown, logs.len()),
        (Some(FailureKind::OutputLimit), "the output is la", 0)
    );
    assert_eq!(ledger(4, "return 1000").1, "");
}

#[test]
fn an_overflow_of_logs_stops_the_run_at_once() {
    // RUNTIME-20
    let started = Instant::now();
    let (end, host) = run_on(
        engine().max_output_bytes(1_000),
        "try { for (;;) console.log('x'.repeat(100)) } catch { await tools.echo('after') } finally { await tools.echo('finally') }",
    );
    assert_eq!(end.failure.map(|failure| failure.kind), Some(FailureKind::OutputLimit));
    assert!(host.calls.lock().unwrap().is_empty(), "nothing ran after the overflow");
    assert!(started.elapsed() < PATIENCE);
    // Failures before the program started count, too.
    assert_eq!(
        failure_on(engine().max_output_bytes(30), "enum Color { Red }").0,
        FailureKind::OutputLimit
    );
    let (kind, ..) = ledger(1_000, "console.log('\\x01'.repeat(50_000_000))");
    assert_eq!(kind, Some(FailureKind::OutputLimit));
}

#[test]
fn what_was_printed_before_the_end_is_in_the_result() {
    // RUNTIME-21
    let before = "console.log('one'); console.error('two'); console.debug('three');";
    let kept = ["one".into(), "two".into(), "three".into()];
    for (limits, rest) in [
        (engine().compute(Duration::from_millis(50)), "for (;;) {}"),
        (engine().wall(Duration::from_millis(50)), "await tools.hold(1)"),
        (engine().memory(8 << 20), "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)"),
        (engine(), "(function f() { f() })()"),
        (engine(), "throw 1"),
    ] {
        let (end, _) = run_on(limits, &format!("{before} {rest}"));
        assert!(end.failure.is_some(), "{rest}");
        assert_eq!(end.logs, kept, "{rest}");
    }
}

#[test]
fn the_compute_budget_counts_computing_only() {
    // RUNTIME-22
    let budget = || engine().compute(Duration::from_millis(150));
    let (kind, message) = failure_on(budget(), "for (;;) {}");
    assert_eq!(
        (kind, &*message),
        (
            FailureKind::Timeout,
            "the compute budget of 150ms is used up: compute less, or let a tool do it"
        )
    );
    // Also after an await, while a call is open, and in small pieces.
    for source in [
        "await tools.echo(1); for (;;) {}",
        "tools.hold(1); for (;;) {}",
        "for (;;) await tools.echo(1)",
        "for (;;) await 0",
        "setTimeout(() => { for (;;) {} }, 1); await tools.hold(1)",
        "await new Promise(r => setInterval(() => { let x = 0; for (let i = 0; i < 1e5; i++) x += i }, 0))",
        "try { for (;;) {} } catch {} finally { for (;;) {} }",
    ] {
        assert_eq!(failure_on(budget(), source).0, FailureKind::Timeout, "{source}");
    }
    // Waiting is free.
    let (end, _) = run_on(
        budget(),
        "await tools.later(300); await new Promise(r => setTimeout(r, 300)); return 1",
    );
    assert_eq!((end.value, end.failure), (Some(json!(1)), None));
}

#[test]
fn the_wall_ceiling_counts_waiting_but_not_for_people() {
    // RUNTIME-23
    let wall = || engine().wall(Duration::from_millis(150));
    for source in [
        "await tools.hold(1)",
        "await new Promise(r => setTimeout(r, 60_000))",
        "setInterval(() => {}, 10); await tools.hold(1)",
    ] {
        let (kind, message) = failure_on(wall(), source);
        assert_eq!(kind, FailureKind::Timeout, "{source}");
        assert_eq!(
            message,
            "the wall-clock ceiling of 150ms was reached: wait for less, or split the work"
        );
    }
    // Somebody is asked for half a second.
    let program = Program::new("await tools.later(500); return 'approved'", vec![tools()]);
    let pause = program.clock.pause();
    let end = block_on(async {
        let run = wall().build().unwrap().run(program, Arc::new(Host::default()), Signal::new());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(450)).await;
            drop(pause);
        });
        run.await.unwrap()
    });
    assert_eq!((end.value, end.failure), (Some(json!("approved")), None));
}

#[test]
fn exhausted_memory_ends_the_run_and_only_the_run() {
    // RUNTIME-24
    let engine = engine().memory(16 << 20).build().unwrap();
    let run = |source: &str| {
        let program = Program::new(source, vec![tools()]);
        block_on(engine.run(program, Arc::new(Host::default()), Signal::new())).unwrap()
    };
    for source in [
        "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)",
        "const a = []; for (;;) a.push({ i: a.length })",
        "let s = 'x'; for (;;) s = s + s + '!'.padEnd(s.length)",
        "return new ArrayBuffer(1 << 30)",
        "const a = []; try { for (;;) a.push('x'.repeat(1000) + a.length) } catch { a.length = 0; return 'swallowed' }",
        "await tools.echo(1); const m = new Map(); for (let i = 0; ; i++) m.set(i, [i])",
        "const f = async () => { for (;;) { f(); await 0 } }; await f()",
    ] {
        let failure = run(source).failure.expect(source);
        assert_eq!(failure.kind, FailureKind::WorkerExit, "{source}: {}", failure.message);
        assert_eq!(
            failure.message,
            "the program needed more than 16 MiB of memory: keep less at a time"
        );
        assert_eq!(run("return 'fine'").value, Some(json!("fine")));
    }
    let tiny = crate::support::engine().memory(1_000);
    assert_eq!(failure_on(tiny, "return 1").0, FailureKind::WorkerExit);
}

#[test]
fn limits_are_checked_when_the_engine_is_made() {
    // RUNTIME-25
    let ok = TypeScript::in_process;
    for good in [
        ok(),
        ok().compute(Duration::from_nanos(1)).wall(Duration::from_millis(2_147_483_647)),
        ok().max_output_bytes(4),
        ok().stack(128 << 10),
        ok().max_output_bytes((1 << 53) - 1),
    ] {
        good.build().unwrap();
    }
    for bad in [
        ok().compute(Duration::ZERO),
        ok().wall(Duration::ZERO),
        ok().wall(Duration::from_millis(2_147_483_648)),
        ok().memory(0),
        ok().stack(0),
        ok().stack((128 << 10) - 1),
        ok().stack(17 << 20),
        ok().max_output_bytes(3),
        ok().max_output_bytes(1 << 53),
    ] {
        bad.build().unwrap_err();
    }
}

#[test]
fn a_cancelled_run_ends_at_once_with_the_cause() {
    // RUNTIME-26
    for source in [
        "for (;;) {}",
        "try { for (;;) {} } catch {}",
        "try { for (;;) {} } finally { for (;;) {} }",
        "await tools.echo(1); for (;;) {}",
        "await tools.hold(1)",
        "await new Promise(r => setTimeout(r, 60_000))",
        "for (;;) await 0",
        "const x = { get a() { for (;;) {} } }; await tools.echo(x)",
        "'a'.repeat(30).match(/(a+)+b/)",
    ] {
        let started = Instant::now();
        let signal = Signal::new();
        let program = Program::new(source, vec![tools()]);
        let end = block_on(async {
            let run =
                engine().build().unwrap().run(program, Arc::new(Host::default()), signal.clone());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(100)).await;
                signal.cancel(Cause::new("user", "the user pressed stop"));
            });
            run.await.unwrap()
        });
        let failure = end.failure.expect(source);
        assert_eq!(
            (failure.kind, &*failure.message),
            (FailureKind::Abort, "the user pressed stop"),
            "{source}"
        );
        assert!(started.elapsed() < PATIENCE, "{source}");
    }
}

#[test]
fn one_outcome_wins_and_what_comes_later_has_no_effect() {
    // RUNTIME-29
    let (end, host) = run_on(
        engine(),
        "tools.hold(1).then(() => console.log('late'), () => console.log('late')); return 1",
    );
    assert_eq!((end.value, end.failure, end.logs.len()), (Some(json!(1)), None, 0));
    for reply in host.held.lock().unwrap().drain(..) {
        reply.send(Ok(json!("too late")));
    }
    let signal = Signal::new();
    let engine = engine().build().unwrap();
    let end = block_on(engine.run(Program::new("return 1", vec![tools()]), host, signal.clone()))
        .unwrap();
    signal.cancel(Cause::new("user", "too late"));
    assert_eq!((end.value, end.failure), (Some(json!(1)), None));
}

#[test]
fn a_run_blocks_neither_its_caller_nor_other_runs() {
    // RUNTIME-30
    let engine = engine().compute(Duration::from_secs(2)).build().unwrap();
    let start = |source: &str| {
        engine.run(Program::new(source, vec![tools()]), Arc::new(Host::default()), Signal::new())
    };
    block_on(async {
        let busy = tokio::spawn(start("for (;;) {}"));
        let started = Instant::now();
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert_eq!(start("return await tools.echo(1)").await.unwrap().value, Some(json!(1)));
        }
        assert!(!busy.is_finished() && started.elapsed() < Duration::from_secs(2));
        assert_eq!(
            busy.await.unwrap().unwrap().failure.map(|failure| failure.kind),
            Some(FailureKind::Timeout)
        );
    });
}

#[test]
fn a_program_that_poisons_the_language_changes_nothing_for_the_host() {
    // RUNTIME-33
    let poison = "for (const p of [Object.prototype, Array.prototype]) { p[0] = 'ghost'; p.ghost = 'ghost'; p.toJSON = () => 'forged' }\n\
        Object.prototype.then = undefined; JSON.stringify = JSON.parse = JSON.rawJSON = () => 'forged';\n\
        Array.isArray = () => false; Object.keys = () => []; Object.getPrototypeOf = () => null; Reflect.ownKeys = () => [];\n\
        Map.prototype.get = Map.prototype.set = () => { throw 'poison' }; String.prototype.slice = () => 'forged';\n\
        Symbol.prototype.toString = BigInt.prototype.toString = Date.prototype.toISOString = () => 'forged';\n\
        Error.prototype.toString = () => 'forged'; Error.prepareStackTrace = () => 'forged'; globalThis.Error = class {};\n\
        Promise.reject = () => 'forged'; Promise.prototype.finally = null; globalThis.Promise = class {};\n\
        Object.defineProperty = Object.freeze = () => { throw 'poison' };\n\
        Array.prototype.push = Array.prototype.map = Array.prototype[Symbol.iterator] = () => { throw 'poison' };\n\
        Function.prototype.call = Function.prototype.apply = () => { throw 'poison' };\n";
    returns(
        &format!(
            "{poison} const back = await tools.echo({{ list: [1, {{ a: 'x' }}], ['k']: null }});\n\
             let failure; try {{ await tools.fail('denied') }} catch (e) {{ failure = [e instanceof ToolCallError, e.message, e.toolName] }}\n\
             let refused; try {{ await tools.echo([, 1]) }} catch (e) {{ refused = e.message }}\n\
             console.log(new Date(0), 5n, Symbol('s'), [1]); return {{ back, failure, refused }}"
        ),
        r#"{"back":{"list":[1,{"a":"x"}],"k":null},"failure":[true,"denied","fail"],"refused":"invalid arguments: arguments must be lossless JSON; arguments: an array with holes is not JSON: use null for what is missing"}"#,
    );
    // The setters of a poisoned prototype are never called by values that come in.
    returns(
        "let called = 0; for (const name of ['a', '0', '__proto__']) Object.defineProperty(name === '0' ? Array.prototype : Object.prototype, name, \
         { set() { called++ }, get() { called++ }, configurable: true });\n\
         const x = await tools.echo([{ a: 1 }]); return [called, x[0].a, Object.keys(x[0])]",
        r#"[0,1,["a"]]"#,
    );
}

#[test]
fn a_program_reaches_nothing_but_the_language_and_its_namespaces() {
    // RUNTIME-34
    returns(
        "return ['require', 'process', 'fetch', 'Deno', 'Bun', 'WebAssembly', 'XMLHttpRequest', 'importScripts', 'std', 'os', 'bjson', 'Worker', 'gc', \
         'print', 'load', 'read', 'scriptArgs', 'navigator', '__loadScript'].filter(name => name in globalThis)",
        "[]",
    );
    for source in [
        "return await import('fs')",
        "return import.meta.url",
        "return eval('1')",
        "return (0, eval)('1')",
        "return new Function('return 1')()",
        "return (async () => {}).constructor('return 1')()",
        "return (function* () {}).constructor('return 1')()",
        "return (async function* () {}).constructor('return 1')()",
        "return Reflect.construct(Object.getPrototypeOf(async () => {}).constructor, ['return 1'])",
        "return (class {}).constructor('return 1')()",
        "setTimeout('return 1', 0)",
        "return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)",
    ] {
        fails(source, FailureKind::Exception, "");
    }
}

#[test]
fn dropping_the_run_stops_it_soon_and_waits_for_nothing() {
    // RUNTIME-29
    struct Beat(std::sync::mpsc::Sender<()>);
    impl ProgramHost for Beat {
        fn call(&self, _: ProgramCall, reply: Reply) {
            let _ = self.0.send(());
            reply.send(Ok(json!(null)));
        }
    }
    let (beats, beat) = std::sync::mpsc::channel();
    let engine = engine().build().unwrap();
    let run = engine.run(
        Program::new("for (;;) await tools.echo(1)", vec![tools()]),
        Arc::new(Beat(beats)),
        Signal::new(),
    );
    let beat = block_on(async {
        let running = tokio::spawn(run);
        let beat = tokio::task::spawn_blocking(move || {
            beat.recv().unwrap();
            beat
        });
        let beat = beat.await.unwrap();
        running.abort();
        beat
    });
    // The calls stop, because the program does.
    while beat.recv_timeout(PATIENCE).is_ok() {}
    let signal = Signal::new();
    drop(engine.run(Program::new("for (;;) {}", vec![tools()]), Arc::new(Host::default()), signal));
}
