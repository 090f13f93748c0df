//! Pre-flight of TypeScript programs: what is found, where, and what is never taken for a fault.

use std::sync::Arc;

use callgate_core::Signal;
use callgate_core::preflight::{Finding, ToolSignature, report};
use callgate_core::program::{
    ErrorClass, Namespace, Program, ProgramCall, ProgramEngine, ProgramHost, Reply,
};
use callgate_engine::TypeScript;
use callgate_schema::{Json, Str, SubsetSchema, json};
use proptest::prelude::*;

use crate::support::block_on;

fn signatures() -> Vec<ToolSignature> {
    let object = |properties: Json, required: Json| {
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    };
    let read = json!({ "path": { "type": "string" }, "limit": { "type": "integer" } });
    let list = json!({ "cursor": { "type": "string" }, "tags": { "type": "array", "items": { "type": "string" } } });
    vec![
        ToolSignature::new("read_file", object(read, json!(["path"]))),
        ToolSignature::new("list", object(list, json!([]))),
        ToolSignature::new("get", object(json!({ "id": { "type": "integer" } }), json!(["id"]))),
        ToolSignature::new("put", object(json!({ "value": {} }), json!(["value"]))),
        ToolSignature::new(
            "send-message",
            object(json!({ "text": { "type": "string" } }), json!(["text"])),
        ),
    ]
}

fn findings(source: &str) -> Vec<Finding> {
    let tools = signatures();
    let members = tools.iter().map(|tool| tool.name.clone()).collect();
    let program = Program::new(source, vec![Namespace::new("tools", members, None)]);
    block_on(TypeScript::in_process().build().unwrap().check(&program, &tools))
}

#[track_caller]
fn finds(source: &str, expected: &[&str]) {
    let found: Vec<String> =
        findings(source).iter().map(|it| format!("{} {it}", it.kind)).collect();
    assert_eq!(found, expected, "{source}");
}

/// Programs with one call of what is not there, and where it is.
const LOOKUPS: &[(&str, &str)] = &[
    (
        "await tools.raed_file({ path: 'a' })",
        "1, column 13: `tools` has no `raed_file`; did you mean `read_file`?",
    ),
    (
        "await tools['raed_file']({ path: 'a' })",
        "1, column 13: `tools` has no `raed_file`; did you mean `read_file`?",
    ),
    (
        "await tools[`nothing`]({})",
        "1, column 13: `tools` has no `nothing`; there are `read_file`, `list`, `get`, `put`, `send-message`",
    ),
    ("await (tools.lst as any)({})", "1, column 14: `tools` has no `lst`; did you mean `list`?"),
    ("await tools.lst!({})", "1, column 13: `tools` has no `lst`; did you mean `list`?"),
    ("const p = tools.lst({});", "1, column 17: `tools` has no `lst`; did you mean `list`?"),
    ("return tools.lst({})", "1, column 14: `tools` has no `lst`; did you mean `list`?"),
    (
        "for (const id of [1, 2]) {\n  const x = await tools.gett({ id });\n}",
        "2, column 25: `tools` has no `gett`; did you mean `get`?",
    ),
    (
        "if (Math.random() > 0.5) await tools.gett({ id: 1 })",
        "1, column 38: `tools` has no `gett`; did you mean `get`?",
    ),
    (
        "try { x() } catch (e) { await tools.gett({ id: 1 }) }",
        "1, column 37: `tools` has no `gett`; did you mean `get`?",
    ),
    (
        "try { x() } finally { await tools.gett({ id: 1 }) }",
        "1, column 35: `tools` has no `gett`; did you mean `get`?",
    ),
    (
        "await Promise.all([1, 2].map((id) => tools.gett({ id })))",
        "1, column 44: `tools` has no `gett`; did you mean `get`?",
    ),
    (
        "await Promise.all([1, 2].map(async (id) => { const r = await tools.gett({ id }); return r.name }))",
        "1, column 68: `tools` has no `gett`; did you mean `get`?",
    ),
    (
        "const [a] = await Promise.all([tools.lst({}), tools.list({})]);",
        "1, column 38: `tools` has no `lst`; did you mean `list`?",
    ),
    (
        "async function all() {\n  return await tools.lst({});\n}\nreturn (await all()).length;",
        "2, column 22: `tools` has no `lst`; did you mean `list`?",
    ),
    (
        "const all = async () => tools.lst({});\nconst b = async () => { await all() };\nawait b();",
        "1, column 31: `tools` has no `lst`; did you mean `list`?",
    ),
    (
        "async function walk(d: number): Promise<void> {\n  await tools.lst({});\n  await walk(d - 1);\n}\nawait walk(3);",
        "2, column 15: `tools` has no `lst`; did you mean `list`?",
    ),
    (
        "async function* pages() {\n  yield await tools.lst({});\n}\nfor await (const p of pages()) {}",
        "2, column 21: `tools` has no `lst`; did you mean `list`?",
    ),
    (
        "await (async () => { await tools.lst({}) })();",
        "1, column 34: `tools` has no `lst`; did you mean `list`?",
    ),
    (
        "const n = (await tools.lst({})).length;",
        "1, column 24: `tools` has no `lst`; did you mean `list`?",
    ),
    (
        "const x = await tools.lst({}).then((r) => r[0]);",
        "1, column 23: `tools` has no `lst`; did you mean `list`?",
    ),
    (
        "const flag = true; if (flag) await tools.lst({});",
        "1, column 42: `tools` has no `lst`; did you mean `list`?",
    ),
    (
        "// größe\nconst ü = '😀'; await tools.lst({})",
        "2, column 28: `tools` has no `lst`; did you mean `list`?",
    ),
];

#[test]
fn unknown_tools_are_found_wherever_their_call_would_end_the_program() {
    for (source, expected) in LOOKUPS {
        finds(source, &[&format!("unknown-tool line {expected}")]);
    }
}

/// Programs with one argument that is certainly refused, and what is found.
const ARGUMENTS: &[(&str, &str)] = &[
    (
        "await tools.read_file({})",
        "missing-argument line 1, column 23: `read_file`: path: missing, expected a string",
    ),
    (
        "await tools.read_file()",
        "missing-argument line 1, column 13: `read_file`: arguments: nothing is passed: pass an object, `{}` if there is nothing to say",
    ),
    (
        "await tools.read_file(undefined)",
        "missing-argument line 1, column 13: `read_file`: arguments: nothing is passed: pass an object, `{}` if there is nothing to say",
    ),
    (
        "await tools.read_file({ path: undefined })",
        "missing-argument line 1, column 23: `read_file`: path: missing, expected a string",
    ),
    (
        "await tools.read_file({ file_path: 'a' })",
        "missing-argument line 1, column 25: `read_file`: path: missing, expected a string; `file_path` was passed, rename it if it was meant",
    ),
    (
        "await tools.read_file({ path: 'a', limti: 1 })",
        "unknown-argument line 1, column 36: `read_file`: limti: unknown member; did you mean `limit`?",
    ),
    (
        "await tools.read_file({ ...rest, limti: 1 })",
        "unknown-argument line 1, column 34: `read_file`: limti: unknown member; did you mean `limit`?",
    ),
    (
        "await tools.read_file('a')",
        "wrong-argument line 1, column 23: `read_file`: arguments: expected an object, got the string \"a\"",
    ),
    (
        "await tools.read_file({ path: 'a', limit: '5' })",
        "wrong-argument line 1, column 43: `read_file`: limit: expected an integer, got the string \"5\"; send it without quotes",
    ),
    (
        "await tools.read_file({ path: 'a', limit: `${n}` })",
        "wrong-argument line 1, column 43: `read_file`: limit: expected an integer, got a string",
    ),
    (
        "await tools.read_file({ path: 'a', limit: 'n' + 1 })",
        "wrong-argument line 1, column 43: `read_file`: limit: expected an integer, got a string",
    ),
    (
        "await tools.read_file({ path: 'a', limit: 1.5 })",
        "wrong-argument line 1, column 43: `read_file`: limit: expected an integer, got 1.5",
    ),
    (
        "await tools.read_file({ path: 3 * 2 })",
        "wrong-argument line 1, column 31: `read_file`: path: expected a string, got a number",
    ),
    (
        "await tools.read_file({ path: !x })",
        "wrong-argument line 1, column 31: `read_file`: path: expected a string, got a boolean",
    ),
    (
        "await tools.read_file({ path: ['a'] })",
        "wrong-argument line 1, column 31: `read_file`: path: expected a string, got a list",
    ),
    (
        "const limit = '7'; await tools.read_file({ path: 'a', limit })",
        "wrong-argument line 1, column 55: `read_file`: limit: expected an integer, got the string \"7\"; send it without quotes",
    ),
    (
        "await tools.list({ tags: 'a' })",
        "wrong-argument line 1, column 26: `list`: tags: expected a list, got the string \"a\"",
    ),
    (
        "await tools.list({ tags: ['a', 1] })",
        "wrong-argument line 1, column 32: `list`: tags[1]: expected a string, got 1; send it as a string, in quotes",
    ),
    (
        "await tools['send-message']({ txt: 'a' })",
        "missing-argument line 1, column 31: `send-message`: text: missing, expected a string; `txt` was passed, rename it if it was meant",
    ),
    (
        "await Promise.all(ids.map((id) => tools.get({ ids: id })))",
        "missing-argument line 1, column 47: `get`: id: missing, expected an integer; `ids` was passed, rename it if it was meant",
    ),
    // What can never be passed.
    (
        "await tools.put({ value: () => 1 })",
        "wrong-argument line 1, column 26: `put`: value: a function is not JSON",
    ),
    (
        "await tools.put({ value: new Date() })",
        "wrong-argument line 1, column 26: `put`: value: a Date is not JSON: pass x.toISOString()",
    ),
    (
        "await tools.put({ value: new Map() })",
        "wrong-argument line 1, column 26: `put`: value: a Map is not JSON: pass Object.fromEntries(x)",
    ),
    (
        "await tools.put({ value: /a/ })",
        "wrong-argument line 1, column 26: `put`: value: a RegExp is not JSON: pass x.source",
    ),
    (
        "await tools.put({ value: NaN })",
        "wrong-argument line 1, column 26: `put`: value: NaN is not JSON: use null",
    ),
    (
        "await tools.put({ value: -0 })",
        "wrong-argument line 1, column 26: `put`: value: -0 is not JSON: use 0",
    ),
    (
        "await tools.put({ value: 1e999 })",
        "wrong-argument line 1, column 26: `put`: value: Infinity is not JSON: use null",
    ),
    (
        "await tools.put({ value: 5n })",
        "wrong-argument line 1, column 26: `put`: value: a bigint that a number can hold: write Number(x)",
    ),
    (
        "await tools.put({ value: 99999999999999999999n })",
        "wrong-argument line 1, column 26: `put`: value: a bigint beyond 64 bits is not JSON: pass String(x)",
    ),
    (
        "await tools.put({ value: [1, undefined] })",
        "wrong-argument line 1, column 30: `put`: value[1]: undefined is not JSON: use null, or leave the item out",
    ),
    (
        "await tools.put({ value: [, 1] })",
        "wrong-argument line 1, column 27: `put`: value[0]: undefined is not JSON: use null, or leave the item out",
    ),
    (
        "await tools.put({ value: '\\ud800' })",
        "wrong-argument line 1, column 26: `put`: value: half of a surrogate pair is not text: use toWellFormed()",
    ),
    (
        "await tools.put({ value: tools.list({}) })",
        "wrong-argument line 1, column 26: `put`: value: a promise is not JSON: `await` it first",
    ),
    // Integers that would not be what they say.
    (
        "await tools.get({ id: 9007199254740993 })",
        "rounded-integer line 1, column 23: JavaScript rounds 9007199254740993 to 9007199254740992: write 9007199254740993n, or pass it as a string",
    ),
    (
        "await tools.get({ id: -9_007_199_254_740_993 })",
        "rounded-integer line 1, column 23: JavaScript rounds -9007199254740993 to -9007199254740992: write -9007199254740993n, or pass it as a string",
    ),
    (
        "await tools.get({ id: 0x20000000000001 })",
        "rounded-integer line 1, column 23: JavaScript rounds 9007199254740993 to 9007199254740992: write 9007199254740993n, or pass it as a string",
    ),
    (
        "await tools.put({ value: 123456789012345678901 })",
        "rounded-integer line 1, column 26: JavaScript rounds 123456789012345678901 to 123456789012345683968: pass it as a string",
    ),
];

#[test]
fn literal_arguments_are_held_against_the_schema() {
    for (source, expected) in ARGUMENTS {
        finds(source, &[expected]);
    }
}

#[test]
fn a_call_that_nobody_waits_for_is_named() {
    let at = |place: &str| {
        format!(
            "not-awaited line {place}: `list` is called and nothing waits for its end: write `await` in front of it"
        )
    };
    for (source, place) in [
        ("tools.list({});\nreturn 1", "1, column 7"),
        ("(tools.list({}))", "1, column 8"),
        ("items.forEach((x) => {\n  tools.list({});\n});", "2, column 9"),
        ("if (x) tools.list({})", "1, column 14"),
    ] {
        finds(source, &[&at(place)]);
    }
    for source in [
        "void tools.list({})",
        "const p = tools.list({}); await p",
        "x = tools.list({})",
        "tools.list({}).then(use)",
        "tools.list({}).catch(() => {})",
        "items.map((x) => tools.list({}))",
        "try { tools.list({}) } catch {}",
        "x && tools.list({})",
        "(1, tools.list({}))",
        "tools.list?.({})",
    ] {
        finds(source, &[]);
    }
}

#[test]
fn imports_and_syntax_are_found_together_with_the_rest() {
    finds(
        "import fs from 'fs';\nenum Color { Red }\nconst p = require('path');\nawait tools.raed_file({});\ntools.list({ cursor: 1 });",
        &[
            "import line 1, column 1: a program has no modules to import: use the language itself, or call a tool",
            "syntax line 2, column 1: syntax error: `enum` needs code to be generated: write `const Color = { A: \"a\", B: \"b\" } as const` and `type Color = (typeof Color)[keyof typeof Color]`",
            "import line 3, column 11: a program has no modules to import: use the language itself, or call a tool",
            "unknown-tool line 4, column 13: `tools` has no `raed_file`; did you mean `read_file`?",
            "not-awaited line 5, column 7: `list` is called and nothing waits for its end: write `await` in front of it",
            "wrong-argument line 5, column 22: `list`: cursor: expected a string, got 1; send it as a string, in quotes",
        ],
    );
    finds(
        "const fs = await import('fs')",
        &[
            "import line 1, column 18: a program has no modules to import: use the language itself, or call a tool",
        ],
    );
    finds("const a = ;", &["syntax line 1, column 11: syntax error: Unexpected token"]);
}

/// Programs in which something looks wrong, but may be caught, avoided, or right.
const DOUBTFUL: &[&str] = &[
    // Caught.
    "try { await tools.nope({}) } catch {}",
    "try { await tools.get({}) } finally { done() }",
    "try { for (const x of y) { if (x) { await tools.nope({}) } } } catch (e) { log(e) }",
    "await tools.nope({}).catch(() => null)",
    "await tools.get({}).then((x) => x, () => null)",
    "await tools.get({}).then((x) => x).catch(() => null)",
    "await tools.get({}).catch(() => 1).finally(() => 2)",
    "await Promise.allSettled([tools.nope({}), tools.get({})])",
    "await Promise.allSettled(ids.map((id) => tools.get({})))",
    "await Promise.any([tools.nope({}), tools.list({})])",
    "const p = tools.get({}); try { await p } catch {}",
    "const ps = ids.map((id) => tools.get({})); await Promise.allSettled(ps)",
    "await Promise.race([tools.get({}), tools.list({})])",
    "async function f() { await tools.nope({}) }\ntry { await f() } catch {}",
    "async function f() { await tools.nope({}) }\nawait f().catch(() => {})",
    "async function f() { await tools.nope({}) }\nawait f(); await retry(f)",
    "const f = () => tools.get({});\nawait attempt(f)",
    "const f = async () => { await tools.get({}) };\nf()",
    "async function g() { await f() }\nasync function f() { await tools.nope({}) }\ntry { await g() } catch {}",
    "await retry(() => tools.nope({}))",
    "await new Promise((resolve) => resolve(tools.get({})))",
    "setTimeout(() => tools.nope({}), 1)",
    "class A { async run() { await tools.nope({}) } }",
    "const o = { async run() { await tools.nope({}) } }",
    "async function* f() { yield await tools.nope({}) }\nconst i = f()",
    "async function unused() { await tools.nope({}) }",
    // Tested.
    "if (tools.nope) await tools.nope({})",
    "if ('nope' in tools) await tools.nope({})",
    "if (typeof tools.nope === 'function') { await tools.nope({}) }",
    "await tools.nope?.({})",
    "tools.nope && await tools.nope({})",
    "const x = tools.nope ? await tools.nope({}) : 1",
    "if (Object.keys(tools).includes('nope')) await tools.nope({})",
    "if (!('nope' in tools)) return 1;\nawait tools.nope({})",
    "const has = 'nope' in tools;\nif (has) await tools.nope({})",
    "for (const name of ['nope']) if (tools[name]) await tools.nope({})",
    // Out of reach.
    "if (false) await tools.nope({})",
    "const debug = false; if (debug) { await tools.nope({}) }",
    "const mode = 'fast'; if (mode === 'slow') { await tools.nope({}) }",
    "const mode = 'fast'; switch (mode) { case 'slow': await tools.nope({}) }",
    "return 1; await tools.nope({})",
    "if (x) { return 1 } else { throw 2 }\nawait tools.nope({})",
    "for (const x of y) { continue; await tools.nope({}) }",
    "while (true) { if (await tools.list({})) return 1 }\nawait tools.nope({})",
    "for (;;) { return await tools.list({}) }\nawait tools.nope({})",
    "for (const x of []) await tools.nope({})",
    "const dry = true; dry || await tools.nope({})",
    "const dry = true; const x = dry ? 1 : await tools.nope({})",
    // Not ours.
    "const tools = { nope: async () => 1 }; await tools.nope()",
    "async function f(tools: any) { return await tools.nope({}) }\nawait f({ nope: () => 1 })",
    "await other.nope({})",
    "const { require } = { require: (x: string) => x }; require('x')",
    // Not known.
    "await tools[name]({ whatever: 1 })",
    "await tools.get(...args)",
    "await tools.get({ ...args })",
    "await tools.get(args)",
    "await tools.get({ [key]: 1 })",
    "await tools.get({ id: args.id })",
    "await tools.get({ id: Number('1') })",
    "await tools.get({ id })",
    "await tools.get({ id: x ? 1 : 2 })",
    "await tools.get({ id: x ?? 1 })",
    "await tools.get({ id: a + b })",
    "await tools.get({ id: 9007199254740993n })",
    "await tools.get({ id: 9007199254740992 })",
    "await tools.get({ id: -5 })",
    "await tools.get({ id: 1_000 })",
    "await tools.get({ id: 1e3 })",
    "await tools.get({ id: 1.0 })",
    "const undefined_ = 1; await tools.list({ cursor: undefined })",
    "await tools.list({ cursor: void 0 })",
    "let id: any = 'a'; id = 1; await tools.get({ id })",
    "await tools.read_file({ path: `a${1}` })",
    "await tools.read_file({ path: 'a' + 1 })",
    "await tools.read_file({ path: 'a', 'limit': 1 } as any)",
    "await tools.read_file({ path: 1, path: 'a' })",
    "await tools.put({ value: null })",
    "await tools.put({ value: [1, [2, { a: 'x' }]] })",
    "await tools.put({ value: JSON.stringify({}) })",
    "const Date = class {}; await tools.put({ value: new Date() })",
    "type T = Awaited<ReturnType<typeof tools.nope>>; return 1",
    "const hash = 14695981039346656037; return hash",
    "",
];

#[test]
fn what_might_be_caught_or_avoided_is_no_finding() {
    for source in DOUBTFUL {
        finds(source, &[]);
    }
}

#[test]
fn a_hostile_text_is_looked_at_within_reason() {
    let calls = "tools.nope({ a: [1, { b: 2 }] });".repeat(40_000);
    assert!(findings(&calls).len() <= 200);
    let one_line = format!("await tools.list({{ tags: [{}] }})", "1, ".repeat(200_000));
    assert!(findings(&one_line).len() <= 200);
    for (open, close) in [
        ("{", "}"),
        ("await tools.list({ tags: [", "] })"),
        ("if (x) {", "}"),
        ("(() => {", "})()"),
        ("async function f() {", "}"),
        ("try {", "} catch {}"),
        ("a?.b(", ")"),
        ("[...", "]"),
        ("!", "x"),
        ("x ? y : ", "z"),
        ("x && ", "y"),
        ("`${", "}`"),
    ] {
        let deep = format!("{}{}", open.repeat(5_000), close.repeat(5_000));
        let _either_way = findings(&deep);
    }
    for (open, inner, close) in
        [("{", "", "}"), ("[", "", "]"), ("!", "x", ""), ("- ", "x", ""), ("x.y(", "", ")")]
    {
        let deep = format!("{}{inner}{}", open.repeat(40_000), close.repeat(40_000));
        finds(&deep, &[]);
        let _either_way = findings(&format!("await tools.list({deep})"));
    }
    let mut functions = String::new();
    for at in 0..3_000 {
        functions.extend(["async function f", &at.to_string(), "() { await f"]);
        functions.extend([&(at + 1).to_string(), "() }\n"]);
    }
    finds(
        &format!("{functions}async function f3000() {{ await tools.nope({{}}) }}\nawait f0()"),
        &[
            "unknown-tool line 3001, column 38: `tools` has no `nope`; there are `read_file`, `list`, `get`, `put`, `send-message`",
        ],
    );
}

#[test]
fn the_author_reads_every_finding_in_its_line() {
    let source = "\
import { readFile } from 'fs/promises';

const page = await tools.lst({ cursor: 1 });
for (const file of page.files) {
  const text = await tools.read_file({ file: file.path, limit: '10' });
  tools['send-message']({ text });
}
await tools.get({ id: 9007199254740993 });
";
    insta::assert_snapshot!(report(source, &findings(source)));
}

/// Refuses arguments as the pipeline would, and answers everything else.
struct Strict(Vec<(Str, SubsetSchema)>);

impl ProgramHost for Strict {
    fn call(&self, call: ProgramCall, reply: Reply) {
        let schema = self.0.iter().find(|(name, _)| *name == call.member).map(|(_, schema)| schema);
        let is_valid = schema.is_some_and(|schema| schema.is_valid(&call.arguments));
        reply.send(if is_valid {
            Ok(json!({ "id": 7, "ok": true }))
        } else {
            Err("refused".into())
        });
    }
}

/// Writes a program from a list of choices. Every branch that is taken for granted is one that is taken at run time,
/// so that a program which succeeds proves that nothing in it was certain to fail.
struct Writer<'c> {
    choices: std::slice::Iter<'c, u8>,
    names: u32,
}

impl Writer<'_> {
    fn choose<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[usize::from(self.choices.next().copied().unwrap_or(0)) % from.len()]
    }

    fn name(&mut self) -> u32 {
        self.names += 1;
        self.names
    }

    fn call(&mut self) -> String {
        let tool = self.choose(&[
            "tools.get",
            "tools.list",
            "tools.read_file",
            "tools['send-message']",
            "tools.nope",
            "tools.gett",
            "tools[key]",
            "(tools.get as any)",
        ]);
        let argument = self.choose(&[
            "{ id: 1 }",
            "{}",
            "{ path: 'a' }",
            "{ text: `t` }",
            "{ id: 'x' }",
            "{ id: seven.id }",
            "{ ...whole }",
            "{ ...whole, id: 'x' }",
            "{ id: 1, extra: 2 }",
            "{ id: undefined }",
            "whole",
            "{ [key]: 1 }",
            "'text'",
            "{ path: 'a', limit: 1.5 }",
            "{ cursor: undefined }",
            "{ tags: ['a', 1] }",
            "{ id: () => 1 }",
            "",
            "undefined",
            "{ id: 5n }",
            "{ id: -0 }",
            "{ text: seven.id + '' }",
            "{ path: 'a', limit: three }",
            "{ id: three }",
        ]);
        format!("{tool}({argument})")
    }

    fn block(&mut self, depth: u32) -> String {
        let mut text = String::new();
        for _ in 0..=self.choose(&["", "1", "12"]).len() {
            text.push_str(&self.statement(depth));
            text.push('\n');
        }
        text
    }

    fn statement(&mut self, depth: u32) -> String {
        let call = self.call();
        let kinds = [
            "await",
            "const",
            "catch",
            "then",
            "settled",
            "optional",
            "tested",
            "list",
            "try",
            "finally",
            "if",
            "loop",
            "map",
            "function",
            "caught function",
            "handled function",
            "unused function",
            "never",
            "switched off",
            "iife",
            "generator",
            "return",
            "callback",
            "retry",
            "while",
        ];
        let kind = self.choose(if depth == 0 { &kinds[..8] } else { &kinds });
        let name = self.name();
        match kind {
            "await" => format!("await {call};"),
            "const" => format!("const v{name} = (await {call}).id;"),
            "catch" => format!("await {call}.catch(() => null);"),
            "then" => format!("const v{name} = await {call}.then((it) => it.id);"),
            "settled" => {
                format!("await Promise.allSettled([{call}, {}].slice(0, 0));", self.call())
            }
            "optional" => "await tools.nope?.({});".to_owned(),
            "tested" => "if ('nope' in tools) { await tools.nope({}); }".to_owned(),
            "list" => format!("await Promise.all([{call}, {}]);", self.call()),
            _ => self.nested(kind, name, depth - 1),
        }
    }

    fn nested(&mut self, kind: &str, name: u32, depth: u32) -> String {
        let body = self.block(depth);
        match kind {
            "try" => format!("try {{\n{body}}} catch {{}}"),
            "finally" => format!("try {{ try {{\n{body}}} finally {{ whole.id; }} }} catch {{}}"),
            "if" => format!("if (seven.ok) {{\n{body}}}"),
            "loop" => format!("for (const v{name} of [1, 2]) {{\n{body}}}"),
            "while" => format!("while (true) {{\n{body}break;\n}}"),
            "map" => format!("await Promise.all([1, 2].map(async (v{name}) => {{\n{body}}}));"),
            "function" => format!("async function f{name}() {{\n{body}}}\nawait f{name}();"),
            "caught function" => {
                format!(
                    "const f{name} = async () => {{\n{body}}};\ntry {{ await f{name}(); }} catch {{}}"
                )
            }
            "handled function" => {
                format!("async function f{name}() {{\n{body}}}\nawait f{name}().catch(() => {{}});")
            }
            "unused function" => format!("async function f{name}() {{\n{body}}}"),
            "never" => format!("if (false) {{\n{body}}}"),
            "switched off" => format!("const off{name} = false;\nif (off{name}) {{\n{body}}}"),
            "iife" => format!("await (async () => {{\n{body}}})();"),
            "generator" => format!(
                "async function* g{name}() {{\nyield 1;\n{body}}}\nfor await (const v{name} of g{name}()) {{}}"
            ),
            "return" => format!("await (async () => {{\nreturn 1;\n{body}}})();"),
            "callback" => format!("const c{name} = {{ run: async () => {{\n{body}}} }};"),
            _ => format!("await attempt(async () => {{\n{body}}});"),
        }
    }
}

fn written(choices: &[u8]) -> String {
    let mut writer = Writer { choices: choices.iter(), names: 0 };
    let body = writer.block(4);
    format!(
        "const key: string = String('get');\n\
         const seven: any = await tools.get({{ id: 7 }});\n\
         const whole: any = {{ id: seven.id }};\n\
         const three = 3;\n\
         async function attempt(work: () => Promise<unknown>) {{ try {{ await work(); }} catch {{}} }}\n\
         {body}return 1;\n"
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_program_that_succeeds_has_no_finding(choices in prop::collection::vec(any::<u8>(), 1..80)) {
        let source = written(&choices);
        let tools = signatures();
        let schemas = tools.iter().map(|it| (it.name.clone(), SubsetSchema::assert(&it.parameters).unwrap()));
        let host = Arc::new(Strict(schemas.collect()));
        let members = tools.iter().map(|tool| tool.name.clone()).collect();
        let class = ErrorClass::new("ToolCallError", "toolName");
        let program = Program::new(source.clone(), vec![Namespace::new("tools", members, Some(class))]);
        let engine = TypeScript::in_process().build().unwrap();
        let end = block_on(engine.run(program, host, Signal::new())).unwrap();
        let found = findings(&source);
        if end.failure.is_none() {
            prop_assert_eq!(&found, &[], "{}", source);
        }
    }
}

#[test]
fn written_programs_are_of_both_kinds() {
    let mut random = 0x2545_f491_u32;
    let mut choice = || {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        random.to_le_bytes()[1]
    };
    let mut counts = [0, 0];
    for _ in 0..300 {
        let choices: Vec<u8> = (0..60).map(|_| choice()).collect();
        counts[usize::from(findings(&written(&choices)).is_empty())] += 1;
    }
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
}
