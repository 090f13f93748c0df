//! A rule stops a call, whoever makes it, and the log names the rule.

use callgate::{Json, json};

use crate::sandbox::{Sandbox, assert_shown};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "callgate.json",
        r#"{
  "callgate": {
    "policy": {
      "deny": [
        "wri*",
        { "tool": "re*", "reason": "nothing here is to be read" } // as an example
      ]
    }
  }
}
"#,
    );
    sandbox
}

/// What the newest log says about decisions.
fn decisions(sandbox: &Sandbox) -> Vec<Json> {
    Sandbox::events(sandbox.logs().last().unwrap(), "policy/decision")
}

const RULE: &str = "policy.deny[1] \"re*\"";

#[test]
fn a_direct_call_is_denied() {
    let sandbox = sandbox();
    let ended = sandbox.callgate([
        "tools",
        "call",
        "-q",
        "--config",
        "callgate.json",
        "read",
        r#"{"path":"readme.md"}"#,
    ]);
    assert_shown!(ended.shown());
    let [decision] = &decisions(&sandbox)[..] else { panic!("not one decision") };
    let reason = decision["reason"].as_str().unwrap();
    assert_eq!(ended.stderr.lines().last().unwrap(), format!("error: {reason}"));
    let expected = json!({
        "callId": "call",
        "rootCallId": "call",
        "name": "read",
        "decision": "deny",
        "stage": "gate",
        "rule": RULE,
        "reason": reason,
    });
    assert_eq!(*decision, expected);
}

#[test]
fn the_same_rule_stops_calls_of_a_program_which_can_go_on() {
    let sandbox = sandbox();
    let code = "const call = () => tools.read({ path: 'readme.md' }).catch((error) => error.message);\n\
                const alone = await call();\n\
                const together = await Promise.all([call(), tools.glob({ pattern: '*.md' }), call()]);\n\
                return { alone, together, found: together[1].files.length };";
    let report = sandbox.run_json(&["--config", "callgate.json"], code);
    let direct = sandbox.callgate([
        "tools",
        "call",
        "--json",
        "-q",
        "--config",
        "callgate.json",
        "read",
        r#"{"path":"x"}"#,
    ]);
    let direct = Json::parse(&direct.stdout).unwrap();
    let message = format!("denied: {}", direct["error"]["message"].as_str().unwrap());
    assert_eq!(direct["error"]["kind"], json!("denied"));
    assert_eq!(report["result"]["alone"], json!(message.clone()));
    assert_eq!(report["result"]["together"][0], json!(message.clone()));
    assert_eq!(report["result"]["together"][2], json!(message.clone()));
    assert_eq!(report["result"]["found"], json!(1));
    let outcomes: Vec<Json> = report["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            json!([
                call["id"].clone(),
                call["tool"].clone(),
                call["ok"].clone(),
                call["error"].clone()
            ])
        })
        .collect();
    let denied = |n: u64| json!([format!("run:code:{n}"), "read", false, message.clone()]);
    assert_eq!(
        outcomes,
        [denied(1), denied(2), json!(["run:code:3", "glob", true, null]), denied(4)]
    );
    // The direct call wrote the newest log; the run the one before it.
    let logs = sandbox.logs();
    let decisions = Sandbox::events(&logs[logs.len() - 2], "policy/decision");
    let named: Vec<[&Json; 3]> =
        decisions.iter().map(|it| [&it["callId"], &it["rootCallId"], &it["rule"]]).collect();
    let (one, two, four) = (json!("run:code:1"), json!("run:code:2"), json!("run:code:4"));
    let (root, rule) = (json!("run"), json!(RULE));
    assert_eq!(named, [[&one, &root, &rule], [&two, &root, &rule], [&four, &root, &rule]]);
}

#[test]
fn a_denied_call_is_shown_with_its_rule() {
    let sandbox = sandbox();
    let code = "await tools.glob({ pattern: '*' }); await tools.read({ path: 'readme.md' })";
    let ended = sandbox.callgate(["run", "-q", "--config", "callgate.json", "-e", code]);
    assert_shown!(ended.shown());
    assert_shown!(sandbox.callgate(["log"]).shown());
}

#[test]
fn listed_and_described_tools_tell_that_they_are_denied() {
    let sandbox = sandbox();
    let list = sandbox.callgate(["tools", "list", "-q", "--config", "callgate.json"]);
    let names: Vec<&str> =
        list.stdout.lines().map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(names, ["tool", "read", "glob", "grep"]);
    assert!(list.stdout.contains(RULE), "{}", list.stdout);
    let json = sandbox.callgate(["tools", "list", "--json", "-q", "--config", "callgate.json"]);
    let json = Json::parse(&json.stdout).unwrap();
    assert_eq!([&json[0]["deniedBy"], &json[1]["deniedBy"]], [&json!(RULE), &json!(null)]);
}

#[test]
fn a_rule_that_names_no_tool_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("typo.json", r#"{ "callgate": { "policy": { "deny": ["raed", "web_*"] } } }"#);
    sandbox.write("servers.json", r#"{ "mcpServers": { "github": {} }, "callgate": { "policy": { "deny": ["github__*"] } } }"#);
    let ended = ["typo.json", "servers.json"]
        .map(|config| sandbox.callgate(["run", "--config", config, "-e", "1"]).shown());
    assert_shown!(ended.join("\n"));
}

#[test]
fn rules_name_tools_and_not_the_program_that_calls_them() {
    let sandbox = Sandbox::new();
    sandbox.write("all.json", r#"{ "callgate": { "policy": { "deny": ["*"] } } }"#);
    let report = sandbox.run_json(
        &["--config", "all.json"],
        "return await tools.glob({ pattern: '*' }).catch(() => 'denied')",
    );
    assert_eq!(report["result"], json!("denied"), "{report}");
}
