//! `callgate tools` and `callgate sdk`.

use callgate::{Json, json};

use crate::sandbox::{Sandbox, assert_shown, without_times};

#[test]
fn tools_are_listed_for_people_and_for_programs() {
    let sandbox = Sandbox::new();
    let list = sandbox.callgate(["tools", "list"]);
    assert_eq!((list.code, list.stdout.lines().count(), &*list.stderr), (Some(0), 4, ""));
    let listed = sandbox.callgate(["tools", "list", "--json"]);
    let listed = Json::parse(&listed.stdout).unwrap();
    let members: Vec<Vec<&str>> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool.as_object().unwrap().keys().map(|key| &**key).collect())
        .collect();
    assert_eq!(members, vec![vec!["name", "description", "parameters", "output", "deniedBy"]; 3]);
    let names: Vec<&Json> = listed.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, [&json!("read"), &json!("glob"), &json!("grep")]);
    let described = sandbox.callgate(["tools", "describe", "glob", "--json"]);
    assert_eq!(Json::parse(&described.stdout).unwrap(), listed[1]);
}

#[test]
fn a_tool_is_described_with_its_types() {
    let sandbox = Sandbox::new();
    let described = sandbox.callgate(["tools", "describe", "read"]);
    assert_eq!(described.code, Some(0));
    let (text, types) = described.stdout.split_once("\ndeclare const tools: {\n").unwrap();
    assert!(text.starts_with("read\n\nReads a text file"), "{text}");
    assert!(types.starts_with("  read(args: {") && types.ends_with("\n}\n"), "{types}");
}

#[test]
fn an_unknown_tool_is_named_with_the_nearest_one() {
    let sandbox = Sandbox::new();
    let ended = [
        sandbox.callgate(["tools", "describe", "raed"]),
        sandbox.callgate(["tools", "describe", "run_code"]),
        sandbox.callgate(["tools", "call", "raed"]),
        sandbox.callgate(["tools", "call", "zebra"]),
    ];
    assert_shown!(ended.map(|ended| ended.shown()).join("\n"));
}

#[test]
fn a_call_prints_what_a_model_would_read() {
    let sandbox = Sandbox::new();
    let ended = [
        sandbox.callgate(["tools", "call", "read", r#"{"path": "readme.md"}"#]),
        sandbox
            .with_input(["tools", "call", "grep", "-"], r#"{"pattern": "TODO", "glob": "*.rs"}"#),
        sandbox.callgate(["tools", "call", "read", r#"{"path": "../secret"}"#]),
        sandbox.callgate(["tools", "call", "read"]),
    ];
    assert_shown!(ended.map(|ended| ended.shown()).join("\n"));
}

#[test]
fn a_call_prints_one_object_for_programs() {
    let sandbox = Sandbox::new();
    let calls: [&[&str]; 4] = [
        &["glob", r#"{"pattern": "*.md"}"#],
        &["glob", r#"{"pattern": 7}"#],
        &["glub"],
        &["glob", "[1]"],
    ];
    let printed = calls.map(|call| {
        let ended = sandbox.callgate(["tools", "call", "--json"].iter().chain(call));
        assert_eq!(ended.stderr, "");
        let object = without_times(&Json::parse(&ended.stdout).unwrap());
        format!("exit {}\n{}", ended.code.unwrap(), object.pretty())
    });
    insta::assert_snapshot!(printed.join("\n"));
}

#[test]
fn arguments_that_are_no_json_are_refused_before_anything_is_called() {
    let sandbox = Sandbox::new();
    let ended = ["{path: 1}", "", "[]", "-1", "{\"path\": \"a\"", "{\"n\": -0}"]
        .map(|arguments| sandbox.callgate(["tools", "call", "read", "--", arguments]).shown());
    assert_shown!(ended.join("\n"));
    assert_eq!(sandbox.logs(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn the_sdk_is_what_a_model_is_told_and_always_the_same() {
    let sandbox = Sandbox::new();
    let first = sandbox.callgate(["sdk", "--lang", "typescript"]);
    let second = sandbox.callgate(["sdk"]);
    assert_eq!((first.code, &first.stdout, &*first.stderr), (Some(0), &second.stdout, ""));
    assert!(first.stdout.starts_with("# Calling tools from a program\n"));
    assert!(first.stdout.ends_with("\n```\n"));
    let wrong = sandbox.callgate(["sdk", "--lang", "cobol"]);
    assert_shown!(wrong.shown());
}

#[test]
fn a_catalogue_is_printed_and_programs_look_the_rest_up() {
    let sandbox = Sandbox::new();
    sandbox.write("callgate.json", r#"{ "callgate": { "sdk": { "detail": "catalogue" } } }"#);
    let shown = sandbox.callgate(["sdk", "--config", "callgate.json"]);
    let (_, catalogue) = shown.stdout.split_once("These are your tools:\n\n").unwrap();
    assert!(catalogue.starts_with("- tools.glob: "), "{catalogue}");
    assert!(catalogue.contains("`await tools.search({ query: "), "{catalogue}");
    let code = "const [found] = await tools.search({ query: 'read a text file', limit: 1 });
        const text = await tools.describe({ names: ['grep', found.name] });
        return { name: found.name, declares: text.includes('grep(args: {') }";
    let report = sandbox.run_json(&["--config", "callgate.json"], code);
    assert_eq!(report["result"], json!({ "name": "read", "declares": true }), "{report}");
    assert_eq!(report["calls"], json!([]));
    // Without the catalogue there is nothing to look up.
    let refused = sandbox.run_json(&[], "return await tools.search({ query: 'x' })");
    assert_eq!(refused["ok"], json!(false));
}
