//! `callgate.json`: where it is found, and what is said about a wrong one.

use std::fs;

use callgate::json;

use crate::sandbox::{Sandbox, assert_shown};

/// What is said about each of these configurations, when a program that returns 1 is run under them.
fn said_about(texts: &[&str]) -> String {
    let said = texts.iter().map(|text| {
        let sandbox = Sandbox::new();
        sandbox.write("c.json", text);
        let ended = sandbox.callgate(["run", "-q", "--config", "c.json", "-e", "return 1"]);
        let result = if ended.stdout.starts_with("1\n") { "runs" } else { "does not run" };
        format!("{text}\nexit {}, {result}\n{}", ended.code.unwrap(), ended.stderr)
    });
    said.collect::<Vec<String>>().join("\n")
}

#[test]
fn comments_and_a_last_comma_are_allowed() {
    let said = said_about(&[
        "// nothing\n{ /* at all */ }",
        "\u{feff}{\n  // all of it\n  \"callgate\": {\n    \"mode\": \"both\",\n    \"maxParallelSubCalls\": 1,\n    \"timeouts\": { \"run\": 30, \"compute\": 2.5, },\n    \"policy\": { \"deny\": [], },\n  },\n}\n",
        r#"{ "$schema": "x", "callgate": {} }"#,
    ]);
    assert_shown!(said);
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    let deep = "[".repeat(5_001);
    let said = said_about(&[
        "",
        "// only a comment",
        "{",
        "{\n  \"callgate\": {\n    \"mode\": \"code\"\n    \"policy\": {}\n  }\n}",
        "{ \"callgate\": { 'mode': 1 } }",
        "{ callgate: {} }",
        "{ \"callgate\" {} }",
        "{ \"callgate\": }",
        "{ \"callgate\": [1, }",
        "{} {}",
        "{,}",
        "[1,,2]",
        "{ \"a\": \"unclosed }",
        "{ \"a\": \"\\q\" }",
        "{ \"a\": \"\\ud83d\" }",
        "{ \"a\": \"\\ud83d\\ude00\" }",
        "{ \"a\": \"a\tb\" }",
        "{ \"a\": 0x10 }",
        "{ \"a\": +1 }",
        "{ \"a\": 12345678901234567890123 }",
        "{ \"a\": yes }",
        "{ /* never closed }",
    ]);
    assert_shown!(said);
    let sandbox = Sandbox::new();
    sandbox.write("c.json", &deep);
    let ended = sandbox.callgate(["run", "-q", "--config", "c.json", "-e", "1"]);
    let first = ended.stderr.lines().next().unwrap();
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        first,
        "error: c.json, line 1, column 5001: more than 5000 brackets are open here; nothing in a configuration is that deep"
    );
}

#[test]
fn values_of_the_wrong_kind_are_refused_with_their_place() {
    let said = said_about(&[
        "[]",
        r#"{ "callgate": [] }"#,
        r#"{ "mcpServers": 1 }"#,
        r#"{ "callgate": { "mode": "fast" } }"#,
        r#"{ "callgate": { "maxParallelSubCalls": 0 } }"#,
        r#"{ "callgate": { "maxParallelSubCalls": 1.5 } }"#,
        r#"{ "callgate": { "timeouts": { "run": 0 } } }"#,
        r#"{ "callgate": { "timeouts": { "run": "1m" } } }"#,
        r#"{ "callgate": { "policy": { "deny": "read" } } }"#,
        r#"{ "callgate": { "policy": { "deny": [1] } } }"#,
        r#"{ "callgate": { "policy": { "deny": [{}] } } }"#,
        r#"{ "callgate": { "policy": { "deny": [{ "tool": ["read"] }] } } }"#,
        r#"{ "callgate": { "policy": { "deny": [{ "tool": "read", "reason": 7 }] } } }"#,
        r#"{ "callgate": { "policy": { "deny": ["[a"] } } }"#,
        r#"{ "callgate": { "policy": { "deny": ["run_code"] } } }"#,
        r#"{ "callgate": { "policy": { "default": "deny" } } }"#,
        r#"{ "callgate": { "policy": { "ask": ["read"] } } }"#,
        // A rule that is passed over protects nothing.
        r#"{ "callgate": { "policy": { "Deny": ["read"] } } }"#,
        r#"{ "callgate": { "policy": { "deny": ["read"], "deny": [] } } }"#,
        r#"{ "callgate": { "policy": { "deny": [{ "tool": "wr*", "resaon": "x" }] } } }"#,
        r#"{ "callgate": { "policy": { "deny": ["read"] }, "policy": {} } }"#,
        r#"{ "callgate": { "polcy": { "deny": ["read"] } } }"#,
        r#"{ "callgate": { "deny": ["read"] } }"#,
        r#"{ "policy": { "deny": ["read"] } }"#,
        r#"{ "callgte": { "policy": { "deny": ["read"] } } }"#,
        r#"{ "callgate": { "policy": { "deny": ["read"] } }, "callgate": {} }"#,
    ]);
    assert_shown!(said);
}

#[test]
fn unknown_and_repeated_keys_are_reported_and_passed_over() {
    let said = said_about(&[
        "{\n  \"callgate\": {\n    \"max_parallel_sub_calls\": 2,\n    \"zebra\": 1\n  },\n  \"mcpservers\": {}\n}",
        r#"{ "callgate": { "policy": { "deny": ["wr*"] }, "timeouts": { "runs": 1 } } }"#,
        r#"{ "callgate": { "timeouts": { "run": 9 }, "timeouts": { "run": 8 } } }"#,
    ]);
    assert_shown!(said);
}

#[test]
fn very_many_mistakes_take_no_time_and_little_room() {
    let sandbox = Sandbox::new();
    let keys = (0..20_000).map(|n| format!("\"key{n}\": {{}},\n"));
    let rules = (0..5_000).map(|n| format!("\"tool{n}\",\n"));
    let (keys, rules): (String, String) = (keys.collect(), rules.collect());
    sandbox.write(
        "c.json",
        &format!("{{ {keys} \"callgate\": {{ \"policy\": {{ \"deny\": [{rules}] }} }} }}"),
    );
    let ended = sandbox.callgate(["run", "-q", "--config", "c.json", "-e", "return 1"]);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!((ended.code, lines.len()), (Some(0), 41));
    let [first, more] = [lines[0], lines[20]];
    assert!(first.starts_with("warning: c.json, line 1: unknown key `key0`; "), "{first}");
    assert_eq!(more, "warning: c.json: 19980 more warnings");
}

#[test]
fn a_configuration_is_found_by_flag_then_variable_then_in_the_home_directory() {
    let sandbox = Sandbox::new();
    let deny =
        |tool: &str| format!(r#"{{ "callgate": {{ "policy": {{ "deny": ["{tool}"] }} }} }}"#);
    let xdg = sandbox.home().join("xdg");
    fs::create_dir_all(sandbox.home().join(".config/callgate")).unwrap();
    fs::create_dir_all(xdg.join("callgate")).unwrap();
    fs::write(sandbox.home().join(".config/callgate/callgate.json"), deny("grep")).unwrap();
    fs::write(xdg.join("callgate/callgate.json"), deny("read")).unwrap();
    sandbox.write("by-variable.json", &deny("glob"));
    sandbox.write("by-flag.json", "{}");
    let denied = |flags: &[&str], variables: &[(&str, &str)]| {
        let mut command = sandbox.command();
        command.args(["tools", "list", "--json"]).args(flags).envs(variables.iter().copied());
        let output = command.output().unwrap();
        let list = callgate::Json::parse_slice(&output.stdout).unwrap();
        let denied =
            list.as_array().unwrap().iter().find(|tool| !tool["deniedBy"].is_null()).cloned();
        denied.unwrap_or_default()["name"].clone()
    };
    let xdg = xdg.to_str().unwrap();
    assert_eq!(denied(&[], &[]), json!("grep"));
    assert_eq!(denied(&[], &[("XDG_CONFIG_HOME", xdg)]), json!("read"));
    assert_eq!(denied(&[], &[("XDG_CONFIG_HOME", "relative")]), json!("grep"));
    assert_eq!(
        denied(&[], &[("XDG_CONFIG_HOME", xdg), ("CALLGATE_CONFIG", "by-variable.json")]),
        json!("glob")
    );
    assert_eq!(
        denied(&["--config", "by-flag.json"], &[("CALLGATE_CONFIG", "by-variable.json")]),
        json!(null)
    );
}

#[test]
fn a_configuration_that_was_asked_for_must_be_there() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("latin1.json"), b"{\n  \"a\": \"\xe9\" }").unwrap();
    let mut by_variable = sandbox.command();
    by_variable.args(["run", "-e", "1"]).env("CALLGATE_CONFIG", "absent.json");
    let by_variable = by_variable.output().unwrap();
    let ended = [
        sandbox.callgate(["run", "--config", "absent.json", "-e", "1"]).shown(),
        String::from_utf8(by_variable.stderr).unwrap(),
        sandbox.callgate(["tools", "list", "--config", "src"]).shown(),
        sandbox.callgate(["sdk", "--config", "latin1.json"]).shown(),
    ];
    assert_eq!(by_variable.status.code(), Some(2));
    assert_shown!(ended.join("\n"));
}

#[test]
fn the_configuration_of_a_working_directory_is_not_trusted() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "callgate.json",
        r#"{ "mcpServers": { "a": {}, "b": {} }, "callgate": { "policy": { "deny": ["*"] } } }"#,
    );
    let code = "return (await tools.glob({ pattern: '*.md' })).total";
    let ended = [
        sandbox.callgate(["run", "-e", code]),
        sandbox.callgate(["run", "-e", code, "--config", "./callgate.json"]),
    ];
    assert_shown!(ended.map(|ended| ended.shown()).join("\n"));
}

#[test]
fn one_sub_call_at_a_time_is_a_setting() {
    let sandbox = Sandbox::new();
    sandbox.write("c.json", r#"{ "callgate": { "maxParallelSubCalls": 1 } }"#);
    let code = "return (await Promise.all([1, 2, 3].map((n) => tools.read({ path: 'src/lib.rs', offset: n, limit: 1 })))).map((it) => it.offset)";
    let report = sandbox.run_json(&["--config", "c.json"], code);
    assert_eq!(report["result"], json!([1, 2, 3]), "{report}");
    let log = sandbox.logs().pop().unwrap();
    let text = fs::read_to_string(log).unwrap();
    let kinds: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split('"').nth(3))
        .filter(|kind| kind.contains("dispatch"))
        .collect();
    assert_eq!(kinds, ["tool/code-dispatch-start", "tool/code-dispatch"].repeat(3));
}
