//! Pre-flight: sketches of calls against schemas, the same for every language, and what `run_code` makes of it.

use callgate_core::preflight::{
    CallSketch, Extent, Finding, FindingKind, Sketch, ToolSignature, judge, report,
};
use callgate_core::program::{Namespace, Position, Program};
use callgate_core::testing::ScriptedEngine;
use callgate_core::{ErrorKind, Output, ToolDefinition, ToolError, ToolRuntime, codes, render};
use callgate_schema::{Json, ValueSpec, json};

use crate::support::{Counter, counting, plain, run_program, runtime_with};

const fn at(column: u32) -> Position {
    Position { line: 1, column }
}

/// A literal as the text of a program shows it: every value at the column of its depth, names one before.
fn literal(value: &Json, column: u32) -> Sketch {
    match value {
        Json::Array(items) => {
            let items = items.iter().map(|item| literal(item, column + 10)).collect();
            Sketch::list(at(column), items, Extent::Complete)
        }
        Json::Object(members) => Sketch::object(
            at(column),
            members
                .iter()
                .map(|(name, value)| (name.clone(), at(column + 9), literal(value, column + 10)))
                .collect(),
            Extent::Complete,
        ),
        scalar => Sketch::scalar(at(column), scalar.clone()),
    }
}

fn call(member: &str, argument: Sketch) -> CallSketch {
    let mut call = CallSketch::new("tools", member, at(1));
    call.argument = Some(argument);
    call.is_lookup_certain = true;
    call.is_refusal_certain = true;
    call
}

fn with(mut call: CallSketch, change: impl FnOnce(&mut CallSketch)) -> CallSketch {
    change(&mut call);
    call
}

fn program(members: &[&str]) -> Program {
    let members = members.iter().map(|name| (*name).into()).collect();
    Program::new("", vec![Namespace::new("tools", members, None)])
}

fn found(schema: &Json, argument: Sketch) -> Vec<String> {
    let tools = [ToolSignature::new("t", schema.clone())];
    let findings = judge(&program(&["t"]), &tools, &[call("t", argument)]);
    findings
        .iter()
        .map(|it| format!("{} at {}: {}", it.kind, it.position.column, it.message))
        .collect()
}

fn schema() -> Json {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string" },
            "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
            "sort": { "enum": ["asc", "desc"] },
            "tags": { "type": "array", "items": { "type": ["string", "null"] } },
            "when": { "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/range" }] },
            "size": { "anyOf": [{ "type": "number" }, { "type": "boolean" }] },
            "both": { "allOf": [{ "type": "object", "required": ["a"] }, { "required": ["b"] }] },
            "version": { "const": 2 },
            "any": true,
        },
        "required": ["path"],
        "additionalProperties": false,
        "$defs": {
            "range": {
                "type": "object",
                "properties": { "from": { "type": "string" }, "then": { "$ref": "#/$defs/range" } },
                "required": ["from"],
            },
        },
    })
}

#[test]
fn literals_are_held_against_the_schema_as_the_check_at_run_time_would() {
    let cases: &[(Json, &[&str])] = &[
        (json!({ "path": "a", "limit": 3, "sort": "asc", "tags": ["a", null], "version": 2 }), &[]),
        (
            json!({ "path": "a", "when": "now", "size": 1.5, "any": [1], "both": { "a": 1, "b": 2 } }),
            &[],
        ),
        (json!({ "path": "a", "when": { "from": "x", "then": { "from": "y" } } }), &[]),
        (json!(null), &[]),
        (json!({}), &["missing-argument at 1: `t`: path: missing, expected a string"]),
        (
            json!({ "pth": "a" }),
            &[
                "missing-argument at 10: `t`: path: missing, expected a string; `pth` was passed, rename it if it was meant",
            ],
        ),
        (
            json!({ "path": "a", "limti": 3 }),
            &["unknown-argument at 10: `t`: limti: unknown member; did you mean `limit`?"],
        ),
        (
            json!({ "path": "a", "colour": 3 }),
            &[
                "unknown-argument at 10: `t`: colour: unknown member; known are `path`, `limit`, `sort`, `tags`, `when`, `size`, `both`, `version`, `any`",
            ],
        ),
        (
            json!({ "path": 5 }),
            &[
                "wrong-argument at 11: `t`: path: expected a string, got 5; send it as a string, in quotes",
            ],
        ),
        (
            json!({ "path": "a", "limit": "20" }),
            &[
                "wrong-argument at 11: `t`: limit: expected an integer, got the string \"20\"; send it without quotes",
            ],
        ),
        (
            json!({ "path": "a", "limit": 1.5 }),
            &["wrong-argument at 11: `t`: limit: expected an integer, got 1.5"],
        ),
        (
            json!({ "path": "a", "limit": 0 }),
            &["wrong-argument at 11: `t`: limit: expected at least 1, got 0"],
        ),
        (
            json!({ "path": "a", "limit": 101 }),
            &["wrong-argument at 11: `t`: limit: expected at most 100, got 101"],
        ),
        (
            json!({ "path": "a", "sort": "des" }),
            &[
                "wrong-argument at 11: `t`: sort: expected one of \"asc\", \"desc\", got the string \"des\"; did you mean \"desc\"?",
            ],
        ),
        (
            json!({ "path": "a", "version": 3 }),
            &["wrong-argument at 11: `t`: version: expected 2, got 3"],
        ),
        (
            json!({ "path": "a", "tags": "a" }),
            &["wrong-argument at 11: `t`: tags: expected a list, got the string \"a\""],
        ),
        (
            json!({ "path": "a", "tags": ["a", 5] }),
            &["wrong-argument at 21: `t`: tags[1]: expected a string or null, got 5"],
        ),
    ];
    check_all(cases);
}

#[test]
fn combinations_point_at_what_was_meant() {
    let cases: &[(Json, &[&str])] = &[
        // The one alternative of the value's type is what was meant.
        (
            json!({ "path": "a", "when": { "form": "x" } }),
            &[
                "missing-argument at 20: `t`: when.from: missing, expected a string; `form` was passed, rename it if it was meant",
            ],
        ),
        (
            json!({ "path": "a", "when": { "from": "x", "then": { "from": 1 } } }),
            &[
                "wrong-argument at 31: `t`: when.then.from: expected a string, got 1; send it as a string, in quotes",
            ],
        ),
        (
            json!({ "path": "a", "size": "big" }),
            &[
                "wrong-argument at 11: `t`: size: expected a number, or a boolean, got the string \"big\"",
            ],
        ),
        (
            json!({ "path": "a", "both": { "a": 1 } }),
            &["missing-argument at 11: `t`: both.b: missing"],
        ),
        (
            json!("a"),
            &["wrong-argument at 1: `t`: arguments: expected an object, got the string \"a\""],
        ),
        // All at once, in the order of the text.
        (
            json!({ "limit": "x", "sort": 1 }),
            &[
                "missing-argument at 1: `t`: path: missing, expected a string",
                "wrong-argument at 11: `t`: limit: expected an integer, got the string \"x\"",
                "wrong-argument at 11: `t`: sort: expected one of \"asc\", \"desc\", got 1; send it as a string, in quotes",
            ],
        ),
    ];
    check_all(cases);
}

fn check_all(cases: &[(Json, &[&str])]) {
    for (argument, expected) in cases {
        assert_eq!(found(&schema(), literal(argument, 1)), *expected, "{argument}");
    }
}

#[test]
fn what_is_not_known_is_taken_to_be_right() {
    let text = |value: Sketch| {
        Sketch::object(at(1), vec![("path".into(), at(2), value)], Extent::Complete)
    };
    let open = Sketch::object(at(1), vec![], Extent::Open);
    let cases: Vec<(Sketch, &[&str])> = vec![
        (Sketch::unknown(at(1)), &[]),
        (open, &[]),
        (text(Sketch::unknown(at(3))), &[]),
        (text(Sketch::text(at(3))), &[]),
        // What counts as nothing is missing.
        (
            text(Sketch::absent(at(3))),
            &["missing-argument at 1: `t`: path: missing, expected a string"],
        ),
        (
            text(Sketch::number(at(3))),
            &["wrong-argument at 3: `t`: path: expected a string, got a number"],
        ),
        (
            text(Sketch::boolean(at(3))),
            &["wrong-argument at 3: `t`: path: expected a string, got a boolean"],
        ),
        // What is certain of an open object still is.
        (
            Sketch::object(
                at(1),
                vec![("limti".into(), at(2), Sketch::unknown(at(3)))],
                Extent::Open,
            ),
            &["unknown-argument at 2: `t`: limti: unknown member; did you mean `limit`?"],
        ),
        // Of a name that comes twice the last one counts.
        (
            Sketch::object(
                at(1),
                vec![
                    ("path".into(), at(2), Sketch::number(at(3))),
                    ("path".into(), at(4), Sketch::text(at(5))),
                ],
                Extent::Complete,
            ),
            &[],
        ),
        (
            Sketch::absent(at(1)),
            &[
                "missing-argument at 1: `t`: arguments: nothing is passed: pass an object, `{}` if there is nothing to say",
            ],
        ),
    ];
    for (argument, expected) in cases {
        assert_eq!(found(&schema(), argument.clone()), expected, "{argument:?}");
    }
}

#[test]
fn keywords_of_other_people_are_never_misread() {
    let cases = [
        (json!({ "properties": { "a": false } }), json!({ "a": 1 })),
        (
            json!({ "additionalProperties": false, "patternProperties": { "^x": {} } }),
            json!({ "x1": 1 }),
        ),
        (json!({ "$ref": "#/nowhere", "type": "array" }), json!({})),
        (json!({ "$ref": "https://example.com/schema" }), json!({})),
        (json!({ "$ref": "#" }), json!({})),
        (json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }] }), json!({})),
        (json!({ "type": "integer", "exclusiveMinimum": true, "minimum": 1 }), json!(1)),
        (json!({ "type": "integer" }), json!(1.0)),
        (json!({ "const": 1 }), json!(1.0)),
        (json!({ "type": "mystery" }), json!(1)),
        (json!({ "prefixItems": [{}], "items": { "type": "string" } }), json!([1])),
        (json!({ "not": {} }), json!({})),
        (json!(true), json!({})),
        (json!("nonsense"), json!({})),
        (json!({ "oneOf": [] }), json!({})),
        (json!({ "oneOf": [{ "type": "integer" }, { "type": "number" }] }), json!(1)),
    ];
    for (schema, argument) in cases {
        assert_eq!(found(&schema, literal(&argument, 1)), [""; 0], "{schema} {argument}");
    }
}

#[test]
fn only_what_is_certain_counts() {
    let tools =
        [ToolSignature::new("read", schema()), ToolSignature::new("loose", schema()).unenforced()];
    let program = program(&["read", "loose", "late"]);
    let kinds = |call: CallSketch| -> Vec<FindingKind> {
        judge(&program, &tools, &[call]).iter().map(|finding| finding.kind).collect()
    };
    let bad = || literal(&json!({ "path": 1 }), 1);
    assert_eq!(kinds(call("read", bad())), [FindingKind::WrongArgument]);
    assert_eq!(kinds(with(call("read", bad()), |it| it.is_refusal_certain = false)), []);
    assert_eq!(kinds(call("raed", bad())), [FindingKind::UnknownTool]);
    assert_eq!(kinds(with(call("raed", bad()), |it| it.is_lookup_certain = false)), []);
    // Arguments that are not enforced are not judged; what cannot be passed at all is.
    assert_eq!(kinds(call("loose", bad())), []);
    let function = Sketch::unfit(at(7), "a function is not JSON");
    let nested = Sketch::list(at(3), vec![function], Extent::Complete);
    let members = vec![("x".into(), at(2), nested)];
    let unfit = Sketch::object(at(1), members, Extent::Complete);
    assert_eq!(kinds(call("loose", unfit)), [FindingKind::WrongArgument]);
    // A member without a signature, and an object that is none of the program's.
    assert_eq!(kinds(call("late", bad())), []);
    assert_eq!(kinds(with(call("x", bad()), |it| it.global = "other".into())), []);
    let forgotten = with(CallSketch::new("tools", "read", at(4)), |it| it.is_forgotten = true);
    assert_eq!(kinds(forgotten), [FindingKind::NotAwaited]);
}

#[test]
fn a_deep_or_wide_schema_costs_little() {
    let mut deep = Sketch::scalar(at(1), 1);
    for _ in 0..100_000 {
        deep = Sketch::list(at(1), vec![deep], Extent::Complete);
    }
    let schema = json!({
        "$defs": { "x": { "anyOf": [{ "items": { "$ref": "#/$defs/x" } }, { "items": { "$ref": "#/$defs/x" } }] } },
        "$ref": "#/$defs/x",
    });
    assert_eq!(found(&schema, deep), [""; 0]);
    let mut nested = json!({ "type": "string" });
    for _ in 0..4_000 {
        nested = json!({ "allOf": [nested.clone()] });
    }
    assert_eq!(found(&nested, Sketch::number(at(1))), [""; 0]);
    let wide = Sketch::list(at(1), vec![Sketch::number(at(2)); 100_000], Extent::Complete);
    let _cut_short = found(&json!({ "items": { "type": "string" } }), wide);
}

#[test]
fn the_report_shows_every_finding_in_its_line() {
    let source =
        "const a = await tools.raed({});\nfor (const b of a) {\n  tools.read({ pth: b });\n}\n";
    let findings = [
        Finding::new(
            FindingKind::UnknownTool,
            at(23),
            "`tools` has no `raed`; did you mean `read`?",
        ),
        Finding::new(FindingKind::NotAwaited, Position { line: 3, column: 9 }, "not waited for"),
    ];
    insta::assert_snapshot!(report(source, &findings));
    let many: Vec<Finding> = (0..14).map(|_| findings[1].clone()).collect();
    assert!(report(source, &many).ends_with("… and 4 more"));
    assert_eq!(
        findings[0].to_json(),
        json!({
            "kind": "unknown-tool",
            "line": 1,
            "column": 23,
            "message": "`tools` has no `raed`; did you mean `read`?",
        })
    );
}

// CODE-18
#[tokio::test]
async fn a_program_with_a_finding_is_not_started() {
    let position = at(13);
    let finding = Finding::new(FindingKind::UnknownTool, position, "`tools` has no `raed`");
    let engine = ScriptedEngine::new()
        .program("await tools.raed({})", async |tools| {
            let _ran = tools.call("x", json!({})).await;
            Ok(None)
        })
        .finding("await tools.raed({})", finding);
    let runtime = runtime_with(engine);
    let calls = Counter::default();
    runtime.register(counting("x", &calls)).unwrap();
    let result = run_program(&runtime, "1", "await tools.raed({})").await;
    assert_eq!(calls.get(), 0);
    let info = result.error().and_then(|error| error.info().cloned()).unwrap();
    assert_eq!((&*info.name, &*info.code), ("CodeRunFailedError", codes::CODE_RUN_FAILED));
    insta::assert_snapshot!(result.text());
}

#[tokio::test]
async fn a_raw_schema_is_judged_only_if_the_tool_enforces_it() {
    let raw = |name: &str| {
        let output = Output::new(ValueSpec::json(), render::json);
        let body = |arguments: Json, _| async move { Ok::<_, ToolError>(arguments) };
        ToolDefinition::new(name.to_owned(), "", schema(), output, body)
    };
    assert!(!ToolSignature::of(&raw("t")).is_enforced);
    assert!(ToolSignature::of(&raw("t").enforces_parameters()).is_enforced);
    assert!(ToolSignature::of(&plain("t")).is_enforced);
}

#[tokio::test]
async fn a_program_can_be_checked_without_being_run() {
    let finding = Finding::new(FindingKind::Import, at(1), "no modules");
    let engine = ScriptedEngine::new().finding("import", finding.clone());
    let runtime = runtime_with(engine);
    assert_eq!(runtime.check_program("import").await.unwrap(), [finding]);
    assert_eq!(runtime.check_program("fine").await.unwrap(), []);
    let without = ToolRuntime::builder().build().unwrap();
    let error = without.check_program("fine").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
}
