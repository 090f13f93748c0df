//! `callgate schema`: the vectors of the rules through the command line, and lines that cannot be answered.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use callgate::{Json, Object, json};
use sha2::{Digest as _, Sha256};

use crate::sandbox::{Sandbox, assert_shown};

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../callgate-schema/tests/vectors");
const FOREIGN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../callgate-mcp/tests/vectors");

fn load(folder: &str, file: &str) -> Vec<Json> {
    let text = std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
    Json::parse(&text).unwrap().as_array().unwrap().to_vec()
}

/// The answers to some lines, and how the command ended.
fn ask(arguments: &[&str], lines: &[Json]) -> (Vec<Json>, Option<i32>) {
    let input = lines.iter().fold(String::new(), |input, line| format!("{input}{line}\n"));
    let ended = Sandbox::new().with_input(["schema"].iter().chain(arguments), &input);
    assert_eq!(ended.stderr, "");
    let parse = |line| callgate::schema::ParseOptions::new().max_depth(200_000).parse(line);
    let answers: Vec<Json> = ended.stdout.lines().map(|line| parse(line).unwrap()).collect();
    assert_eq!(answers.len(), lines.len());
    (answers, ended.code)
}

/// Some members of a vector, as far as it has them.
fn pick(vector: &Json, names: &[&str]) -> Object {
    names
        .iter()
        .fold(Object::builder(), |line, name| line.with_some(*name, vector.get(name)))
        .build()
}

/// Asks about every vector of a file and compares each answer with what the vector says.
fn check_all(
    arguments: &[&str],
    vectors: &[Json],
    line: impl Fn(&Json) -> Object,
    expected: impl Fn(&Json) -> Json,
) {
    let lines: Vec<Json> = vectors.iter().map(|vector| line(vector).into()).collect();
    let (answers, code) = ask(arguments, &lines);
    for (vector, answer) in vectors.iter().zip(&answers) {
        assert_eq!(*answer, expected(vector), "{}", vector["id"]);
    }
    assert_eq!(code, Some(0));
}

/// A number that no value can hold: the whole text is refused where it stands.
fn is_lossy(text: Option<&Json>) -> Option<Json> {
    let error = Json::parse(text?.as_str()?).err()?;
    assert_eq!(error.kind(), callgate::schema::ParseErrorKind::NotLossless);
    Some(json!(error.path().to_string()))
}

#[test]
fn values_are_judged_as_the_vectors_say() {
    let line =
        |vector: &Json| pick(vector, &["schema", "schema_text", "value", "value_text", "root"]);
    let expected = |vector: &Json| match is_lossy(vector.get("value_text")) {
        Some(path) => {
            json!({ "valid": false, "violations": [{ "path": path, "kind": "lossless" }] })
        }
        None => pick(vector, &["valid", "violations"]).into(),
    };
    check_all(&["check"], &load(VECTORS, "json-schema.json"), line, expected);
}

#[test]
fn schemas_are_accepted_or_refused_as_the_vectors_say() {
    let line = |vector: &Json| pick(vector, &["schema", "schema_text", "object_root"]);
    let expected = |vector: &Json| match is_lossy(vector.get("schema_text")) {
        Some(path) => {
            let path = path.as_str().unwrap().replacen("value", "schema", 1);
            json!({ "accepted": false, "violations": [{ "path": path, "kind": "lossless" }] })
        }
        None => pick(vector, &["accepted", "violations"]).into(),
    };
    check_all(&["check"], &load(VECTORS, "unsupported-schemas.json"), line, expected);
}

#[test]
fn specs_compile_as_the_vectors_say() {
    let line = |vector: &Json| pick(vector, &["mode", "spec"]);
    let expected = |vector: &Json| pick(vector, &["schema", "violations"]).into();
    check_all(&["check"], &load(VECTORS, "value-spec.json"), line, expected);
}

#[test]
fn foreign_schemas_are_enforced_as_the_vectors_say() {
    let vectors = load(FOREIGN, "foreign-args.json");
    let line = |vector: &Json| {
        pick(vector, &["schema"]).with("value", vector["args"].clone()).with("foreign", true)
    };
    let lines: Vec<Json> = vectors.iter().map(|vector| line(vector).into()).collect();
    let (answers, code) = ask(&["check"], &lines);
    for (vector, answer) in vectors.iter().zip(&answers) {
        assert_eq!(answer["valid"], vector["valid"], "{}", vector["id"]);
        let is_empty = answer["violations"].as_array().unwrap().is_empty();
        assert_eq!(Some(is_empty), vector["valid"].as_bool(), "{}", vector["id"]);
    }
    assert_eq!(code, Some(0));
}

#[test]
fn types_are_shown_as_the_vectors_say() {
    for (language, file, text) in
        [("typescript", "ts-types.json", "ts"), ("python", "py-types.json", "py")]
    {
        let line = |vector: &Json| pick(vector, &["schema", "schema_text", "tools"]);
        let expected = |vector: &Json| match (vector.get(text), vector.get("sdk")) {
            (Some(text), _) => json!({ "text": text }),
            (None, sdk) => json!({ "sdk": sdk.unwrap() }),
        };
        let vectors: Vec<Json> = load(VECTORS, file)
            .into_iter()
            .filter(|vector| vector.get(text).or_else(|| vector.get("sdk")).is_some())
            .collect();
        assert!(vectors.len() > 80, "{file}");
        check_all(&["types", "--lang", language], &vectors, line, expected);
    }
}

#[test]
fn foreign_types_are_shown_as_the_vectors_say() {
    let vectors = load(VECTORS, "foreign-types.json");
    let line = |vector: &Json| pick(vector, &["schema"]).with("foreign", true);
    let expected = |vector: &Json| json!({ "text": vector["ts"].clone() });
    check_all(&["types", "--lang", "typescript"], &vectors, line, expected);
    let line = |vector: &Json| {
        let parameters = vector["schema"].clone();
        let tool = json!({ "name": "t", "description": "", "parameters": parameters, "output": { "type": "string" } });
        Object::builder().with("foreign", true).with("tools", json!([tool])).build()
    };
    let expected =
        |vector: &Json| json!({ "sdk": vector["py_sdk"].as_str().unwrap().trim_end_matches('\n') });
    check_all(&["types", "--lang", "python"], &vectors, line, expected);
}

/// The value that a description of nested wrappers stands for, as text: it may be deeper than text may be elsewhere.
fn nested(nest: &Json) -> String {
    let (before, after) = match nest["wrap"].as_str().unwrap() {
        "one_of_null" => (r#"{"oneOf":["#, r#",{"type":"null"}]}"#),
        "null_one_of" => (r#"{"oneOf":[{"type":"null"},"#, "]}"),
        "array" => (r#"{"type":"array","items":"#, "}"),
        "closed_object" => (
            r#"{"type":"object","additionalProperties":false,"properties":{"k":"#,
            r#"},"required":["k"]}"#,
        ),
        other => panic!("unknown wrapper {other}"),
    };
    let depth = usize::try_from(nest["depth"].as_u64().unwrap()).unwrap();
    format!("{}{}{}", before.repeat(depth), nest["leaf"], after.repeat(depth))
}

fn digest(text: &str) -> Json {
    let digest = Sha256::digest(text);
    let hex = digest.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    json!({ "bytes": text.len(), "sha256": hex })
}

#[test]
fn depth_is_no_limit() {
    let mut asked = 0;
    for vector in load(VECTORS, "deep.json") {
        let (arguments, line): (&[&str], String) = match vector["op"].as_str().unwrap() {
            "assert" | "assert_bad" => {
                (&["check"], format!(r#"{{"schema":{}}}"#, nested(&vector["schema_nest"])))
            }
            "compile" => (
                &["check"],
                format!(r#"{{"mode":"value","spec":{}}}"#, nested(&vector["spec_nest"])),
            ),
            "validate" => {
                let schema =
                    vector.get("schema_nest").map_or_else(|| vector["schema"].to_string(), nested);
                let value = match vector.get("value_nest") {
                    None => vector["value"].to_string(),
                    Some(nest) => {
                        let depth = usize::try_from(nest["depth"].as_u64().unwrap()).unwrap();
                        format!("{}{}{}", "[".repeat(depth), nest["leaf"], "]".repeat(depth))
                    }
                };
                (&["check"], format!(r#"{{"schema":{schema},"value":{value}}}"#))
            }
            "ts" => (
                &["types", "--lang", "typescript"],
                format!(r#"{{"schema":{}}}"#, nested(&vector["schema_nest"])),
            ),
            "py" => (
                &["types", "--lang", "python"],
                format!(r#"{{"schema":{}}}"#, nested(&vector["schema_nest"])),
            ),
            "py_sdk" => (
                &["types", "--lang", "python"],
                format!(
                    r#"{{"tools":[{{"name":{},"description":"","parameters":{},"output":{{"type":"string"}}}}]}}"#,
                    vector["tool"],
                    nested(&vector["schema_nest"])
                ),
            ),
            _ => continue,
        };
        let ended = Sandbox::new().with_input(["schema"].iter().chain(arguments), &line);
        let parse = |text: &str| {
            callgate::schema::ParseOptions::new().max_depth(200_000).parse(text).unwrap()
        };
        let answer = parse(&ended.stdout);
        let id = &vector["id"];
        assert_eq!(ended.code, Some(0), "{id}");
        if let Some(nest) = vector.get("same_as_schema_nest") {
            assert!(answer["schema"] == parse(&nested(nest)), "{id}");
        }
        if let Some(text) = vector.get("text") {
            let shown = answer.get("text").or_else(|| answer.get("sdk")).unwrap();
            let expected = pick(text, &["bytes", "sha256"]);
            assert_eq!(digest(shown.as_str().unwrap()), expected.into(), "{id}");
        }
        for verdict in ["accepted", "valid"] {
            assert_eq!(answer.get(verdict), vector.get(verdict), "{id}");
        }
        if let Some(count) = vector.get("violation_count") {
            let violations = answer["violations"].as_array().unwrap();
            assert_eq!(json!(violations.len()), *count, "{id}");
            if let Some(path) = vector.get("first_path") {
                assert_eq!(digest(violations[0]["path"].as_str().unwrap()), *path, "{id}");
            }
        }
        asked += 1;
    }
    assert_eq!(asked, 16);
}

#[test]
fn messages_are_told_where_they_are_wanted() {
    let lines = [
        json!({ "schema": { "type": "string", "minLength": 1 } }),
        json!({ "schema": { "type": "object", "properties": { "n": { "type": "integer" } } }, "value": { "n": "5" }, "root": "" }),
        json!({ "mode": "parameters", "spec": { "n": { "type": "integr" } } }),
        json!({ "foreign": true, "schema": { "type": "string", "minLength": 3 }, "value": "no", "root": "input" }),
        json!({ "foreign": true, "schema": { "type": 7 } }),
        json!({ "schema": {}, "value_text": "[1, -0]" }),
    ];
    let (answers, code) = ask(&["check", "--messages"], &lines);
    assert_eq!(code, Some(0));
    let answers: Vec<String> = answers.iter().map(Json::pretty).collect();
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn a_bad_line_is_named_and_the_next_one_is_answered() {
    let sandbox = Sandbox::new();
    let lines = [
        "{\"schema\": {}}",
        "",
        "  \r",
        "{\"schema\": ",
        "7",
        "{}",
        "{\"shcema\": {}}",
        "{\"schema\": {}, \"object_rot\": true}",
        "{\"schema\": {}, \"schema_text\": \"{}\"}",
        "{\"schema_text\": {}}",
        "{\"schema_text\": \"{\\n  x}\"}",
        "{\"schema\": {}, \"root\": 7}",
        "{\"schema\": {}, \"foreign\": \"yes\"}",
        "{\"spec\": {}}",
        "{\"mode\": \"output\", \"spec\": {}}",
        "{\"schema\": {}, \"value\": -0}",
        "{\"id\": 7, \"note\": \"left alone\", \"schema\": {}, \"value\": 1}\r",
    ];
    let checked = sandbox.with_input(["schema", "check"], &lines.join("\n"));
    let lines = [
        "{\"schema\": {}}",
        "{\"tools\": {}}",
        "{\"tools\": [7]}",
        "{\"tools\": [{\"name\": \"a\", \"parameters\": {}}]}",
        "{\"tools\": [{\"name\": \"a\", \"parameters\": {}, \"output\": {}}, {\"name\": \"a\", \"parameters\": {}, \"output\": {}}]}",
        "{\"tools\": [], \"schema\": {}}",
        "{\"tool\": []}",
        "{\"schema_text\": \"{\\\"const\\\": 1e999}\"}",
        "{\"tools\": []}",
    ];
    let shown = sandbox.with_input(["schema", "types", "--lang", "python"], &lines.join("\n"));
    assert_shown!(format!("{}\n{}", checked.shown(), shown.shown()));
}

#[test]
fn hostile_lines_are_refused_each_by_itself() {
    let sandbox = Sandbox::new();
    let deep = 200_000;
    let objects = "{\"properties\":{\"k\":".repeat(50_000);
    let mut input = b"{\"schema\": {}}\n\xff\n".to_vec();
    input.extend("[".repeat(1_000_000).bytes());
    input.push(b'\n');
    input.extend("x".repeat(17 * 1024 * 1024).bytes());
    input.push(b'\n');
    let value = format!("{}{}", "[".repeat(deep), "]".repeat(deep));
    input.extend(format!("{{\"schema\":{{}},\"value\":{value}}}\n").bytes());
    input.extend(format!("{{\"schema\":{{}},\"value\":{value},\"foreign\":true}}\n").bytes());
    input.extend(b"{\"schema\": {}}");
    let mut command = assert_cmd::Command::from_std(sandbox.command());
    let output = command.args(["schema", "check"]).write_stdin(input).output().unwrap();
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap(), @r#"
    {"accepted":true,"violations":[]}
    {"error":{"line":2,"kind":"not_utf8","message":"the line is not UTF-8 at byte 1"}}
    {"error":{"line":3,"kind":"too_deep","message":"the line is no JSON that can be kept, at column 250001: more than 250000 brackets are open; send a flatter value"}}
    {"error":{"line":4,"kind":"too_long","message":"the line is longer than 16777216 bytes; send a shorter one"}}
    {"valid":true,"violations":[]}
    {"error":{"line":6,"kind":"too_deep","message":"more than 5000 brackets are open in `value`; send a flatter value"}}
    {"accepted":true,"violations":[]}
    "#);
    assert_eq!(output.status.code(), Some(1));

    let line = format!("{{\"schema\":{objects}{{}}{}}}", "}}".repeat(50_000));
    let shown = sandbox.with_input(["schema", "types", "--lang", "typescript"], &line);
    insta::assert_snapshot!(shown.stdout, @r#"{"error":{"line":1,"kind":"too_deep","message":"the text would be longer than 256 MiB; nest fewer objects"}}"#);
}

#[test]
fn lines_of_a_file_are_answered_too() {
    let sandbox = Sandbox::new();
    sandbox.write("lines.jsonl", "{\"schema\": {}}\n{\"schema\": 1}\n");
    let shown = [
        sandbox.callgate(["schema", "check", "lines.jsonl"]),
        sandbox.callgate(["schema", "check", "liness.jsonl"]),
        sandbox.callgate(["schema", "types", "--lang", "python", "src"]),
        sandbox.callgate(["schema", "types", "lines.jsonl"]),
        sandbox.with_input(["schema", "types", "--lang", "typescript", "-"], "{\"schema\": {}}"),
    ]
    .map(|ended| ended.shown());
    assert_shown!(shown.join("\n"));
}

#[test]
fn each_line_is_answered_before_the_next_one_comes() {
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command()
        .args(["schema", "check"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for (schema, accepted) in [("{}", true), ("true", false)] {
        writeln!(stdin, "{{\"schema\": {schema}}}").unwrap();
        let answer = Json::parse(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["accepted"], json!(accepted));
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_guide_shows_what_is_answered() {
    let guide = include_str!("../../../../docs/guide/adding-a-tool.md");
    let mut shown = 0;
    for line in guide.split("$ echo '").skip(1) {
        let (input, rest) = line.split_once("' | callgate ").unwrap();
        let mut lines = rest.lines();
        let arguments = lines.next().unwrap().split(' ');
        let ended = Sandbox::new().with_input(arguments, input);
        assert_eq!(ended.stdout.trim_end(), lines.next().unwrap(), "{input}");
        shown += 1;
    }
    assert_eq!(shown, 4);
}
