//! `callgate trust`: the `callgate.json` of a directory is used after somebody vouched for it, until it changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use callgate::{Json, json};

use crate::sandbox::{Ended, Sandbox, assert_shown};

fn deny(tool: &str) -> String {
    format!(r#"{{ "callgate": {{ "policy": {{ "deny": ["{tool}"] }} }} }}"#)
}

/// The tools that are denied, and what was said about it.
fn denied(sandbox: &Sandbox, options: &[&str]) -> (Vec<Json>, String) {
    let ended = sandbox.callgate(["tools", "list", "--json"].iter().chain(options));
    let tools = Json::parse(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    let denied = tools.as_array().unwrap().iter().filter(|tool| !tool["deniedBy"].is_null());
    (denied.map(|tool| tool["name"].clone()).collect(), ended.stderr)
}

fn store(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.state().join("trusted.json")
}

#[test]
fn a_configuration_is_used_after_it_was_trusted_and_until_it_changes() {
    let sandbox = Sandbox::new();
    sandbox.write("callgate.json", &deny("grep"));
    let (none, before) = denied(&sandbox, &[]);
    assert_eq!(none, Vec::<Json>::new());
    let trusted = sandbox.callgate(["trust"]);
    assert_eq!(denied(&sandbox, &[]), (vec![json!("grep")], String::new()));
    let again = sandbox.callgate(["trust"]);
    sandbox.write("callgate.json", &deny("read"));
    let (none, changed) = denied(&sandbox, &["--quiet"]);
    assert_eq!(none, Vec::<Json>::new());
    let retrusted = sandbox.callgate(["trust"]);
    assert_eq!(denied(&sandbox, &[]), (vec![json!("read")], String::new()));
    sandbox.write("callgate.json", &deny("grep"));
    assert_eq!(denied(&sandbox, &[]).0, Vec::<Json>::new(), "an older text is a change too");
    let revoked = sandbox.callgate(["trust", "--revoke"]);
    let twice = sandbox.callgate(["trust", "--revoke"]);
    let (none, after) = denied(&sandbox, &[]);
    assert_eq!(none, Vec::<Json>::new());
    assert_eq!(after, before);
    let shown = |ended: Ended| ended.shown();
    let said = [shown(trusted), shown(again), shown(retrusted), shown(revoked), shown(twice)];
    assert_shown!(format!("{}\nbefore: {before}changed: {changed}", said.join("\n")));
}

#[test]
fn what_is_trusted_is_recorded_for_its_owner_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("callgate.json", "{}");
    assert_eq!(sandbox.callgate(["trust"]).code, Some(0));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&store(&sandbox)), mode(&sandbox.state())), (0o600, 0o700));
    // A file that was opened to others is closed again by the next record.
    fs::set_permissions(store(&sandbox), fs::Permissions::from_mode(0o666)).unwrap();
    sandbox.write("callgate.json", "{ }");
    assert_eq!(sandbox.callgate(["trust"]).code, Some(0));
    assert_eq!(mode(&store(&sandbox)), 0o600);
    assert_eq!(fs::read_dir(sandbox.state()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn the_same_text_in_another_directory_is_not_trusted() {
    let sandbox = Sandbox::new();
    sandbox.write("callgate.json", &deny("grep"));
    assert_eq!(sandbox.callgate(["trust"]).code, Some(0));
    sandbox.write("src/callgate.json", &deny("grep"));
    let list = |directory: &str| {
        let mut command = sandbox.command();
        command.current_dir(sandbox.path().join(directory)).args(["tools", "list", "--json"]);
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains("policy.deny")
    };
    assert!(list(".") && !list("src"));
    // By whatever way somebody came there, it is the same directory.
    symlink(sandbox.path(), sandbox.path().join("src/link")).unwrap();
    assert!(list("src/link"));
}

#[test]
fn a_trusted_configuration_goes_before_the_users_own_and_behind_a_named_one() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.home().join(".config/callgate")).unwrap();
    fs::write(sandbox.home().join(".config/callgate/callgate.json"), deny("glob")).unwrap();
    sandbox.write("callgate.json", &deny("grep"));
    sandbox.write("named.json", &deny("read"));
    assert_eq!(denied(&sandbox, &[]).0, [json!("glob")]);
    assert_eq!(sandbox.callgate(["trust"]).code, Some(0));
    assert_eq!(denied(&sandbox, &[]).0, [json!("grep")]);
    assert_eq!(denied(&sandbox, &["--config", "named.json"]).0, [json!("read")]);
    let mut by_variable = sandbox.command();
    by_variable.args(["tools", "list"]).env("CALLGATE_CONFIG", "named.json");
    let output = String::from_utf8(by_variable.output().unwrap().stdout).unwrap();
    assert!(output.contains("\"read\"") && !output.contains("\"grep\""), "{output}");
}

#[test]
fn a_named_configuration_needs_no_trust_and_nothing_is_said_about_another() {
    let sandbox = Sandbox::new();
    sandbox.write("callgate.json", &deny("grep"));
    sandbox.write("named.json", "{}");
    assert_eq!(
        denied(&sandbox, &["--config", "callgate.json"]),
        (vec![json!("grep")], String::new())
    );
    assert_eq!(denied(&sandbox, &["--config", "named.json"]), (Vec::new(), String::new()));
}

#[test]
fn what_cannot_be_trusted_is_explained() {
    let nothing = Sandbox::new();
    let broken = Sandbox::new();
    broken.write("callgate.json", r#"{ "callgate": { "mode": "fast" } }"#);
    let damaged = Sandbox::new();
    damaged.write("callgate.json", &deny("grep"));
    fs::create_dir_all(damaged.state()).unwrap();
    fs::write(store(&damaged), "{").unwrap();
    let homeless = |arguments: &[&str]| {
        let mut command = damaged.command();
        let output = command.env_remove("HOME").args(arguments).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let said = [
        nothing.callgate(["trust"]).shown(),
        broken.callgate(["trust"]).shown(),
        damaged.callgate(["trust"]).shown(),
        damaged.callgate(["trust", "--revoke"]).shown(),
        damaged.callgate(["run", "-q", "-e", "return 1"]).shown(),
        homeless(&["trust"]),
        homeless(&["sdk"]),
    ];
    assert!(!store(&broken).exists());
    assert_shown!(said.join("\n"));
}

#[test]
fn what_a_trusted_configuration_starts_and_denies_is_said_without_its_arguments() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "callgate.json",
        r#"{
  "mcpServers": { "one": { "command": "npx", "args": ["-y", "${TOKEN:-secret}"] }, "two": { "command": "x", "args": ["${UNSET}"] } },
  "callgate": { "policy": { "deny": [{ "tool": "one__*", "reason": "not today" }] }, "mdoe": 1 }
}"#,
    );
    assert_shown!(sandbox.callgate(["trust"]).shown());
}
