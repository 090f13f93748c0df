//! Help texts, whole.

use crate::sandbox::{Sandbox, assert_shown};

#[test]
fn every_command_explains_itself() {
    let sandbox = Sandbox::new();
    let commands: [&[&str]; 15] = [
        &["--help"],
        &["-h"],
        &["run", "--help"],
        &["tools", "--help"],
        &["tools", "list", "--help"],
        &["tools", "describe", "--help"],
        &["tools", "call", "--help"],
        &["sdk", "--help"],
        &["serve", "--help"],
        &["check", "--help"],
        &["trust", "--help"],
        &["log", "--help"],
        &["schema", "--help"],
        &["schema", "check", "--help"],
        &["schema", "types", "--help"],
    ];
    for command in commands {
        let ended = sandbox.callgate(command);
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
        insta::with_settings!({ snapshot_suffix => command.join("-").replace("--", "") }, { insta::assert_snapshot!(ended.stdout) });
    }
}

#[test]
fn a_wrong_command_line_says_what_would_be_right() {
    let sandbox = Sandbox::new();
    let lines: [&[&str]; 5] =
        [&[], &["rnu"], &["run", "--jsn", "-e", "1"], &["tools"], &["log", "--list", "file"]];
    let shown = lines.map(|line| sandbox.callgate(line).shown());
    assert_shown!(shown.join("\n"));
}

#[test]
fn the_version_is_the_crates() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.callgate(["--version"]).stdout,
        format!("callgate {}\n", env!("CARGO_PKG_VERSION"))
    );
}
