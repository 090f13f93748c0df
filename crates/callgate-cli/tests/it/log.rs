//! Session logs: where they are written, and `callgate log`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use callgate::{Json, json};

use crate::sandbox::{Sandbox, assert_shown};

const CODE: &str = "await Promise.all([tools.read({ path: 'readme.md' }), tools.read({ path: 'nope' }).catch(() => {})])";

#[test]
fn every_run_is_logged_in_a_file_for_its_owner_alone() {
    let sandbox = Sandbox::new();
    let one_by_one = "await tools.read({ path: 'readme.md' }); await tools.glob({ pattern: '*' })";
    sandbox.callgate(["run", "-e", one_by_one]);
    sandbox.callgate(["tools", "call", "read", r#"{"path": "readme.md"}"#]);
    let logs = sandbox.logs();
    assert_eq!(logs.len(), 2);
    for log in &logs {
        assert_eq!(fs::metadata(log).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(fs::metadata(sandbox.state()).unwrap().permissions().mode() & 0o777, 0o700);
    let text = fs::read_to_string(&logs[0]).unwrap();
    let kinds: Vec<&str> = text.lines().map(|line| line.split('"').nth(3).unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "session",
            "turn/start",
            "step/start",
            "tool/call",
            "tool/code-dispatch-start",
            "tool/code-dispatch",
            "tool/code-dispatch-start",
            "tool/code-dispatch",
            "tool/result",
            "step/end",
            "turn/end",
        ]
    );
}

#[test]
fn a_log_tells_why_its_session_ended() {
    // SESSION-4
    let sandbox = Sandbox::new();
    let ending = |code: &str| {
        sandbox.callgate(["run", "-e", code]);
        let log = sandbox.logs().pop().unwrap();
        Sandbox::events(&log, "turn/end").pop().unwrap()["reason"].clone()
    };
    assert_eq!(ending("return 1"), json!({ "kind": "completed" }));
    let message = "the program failed (exception): Error: no";
    let failed =
        json!({ "kind": "error", "error": { "message": message, "code": "CODE_RUN_FAILED" } });
    assert_eq!(ending("console.log('x'); throw new Error('no\\nway')"), failed);
    // What is long stands in the result; its end is enough here.
    let long = ending("throw new Error('\u{20ac}'.repeat(1000))");
    let message = long["error"]["message"].as_str().unwrap();
    assert!(message.len() < 510 && message.ends_with("\u{20ac}…"), "{message}");
}

#[test]
fn the_newest_session_is_shown_unless_another_is_named() {
    let sandbox = Sandbox::new();
    sandbox.callgate(["run", "-e", CODE]);
    sandbox.callgate(["tools", "call", "glob", r#"{"pattern": "*.md"}"#]);
    let first = sandbox.logs().remove(0);
    let id = first.file_stem().unwrap().to_str().unwrap();
    let shown = [
        sandbox.callgate(["log"]),
        sandbox.callgate(["log", id]),
        sandbox.callgate(["log", first.to_str().unwrap()]),
    ];
    assert_eq!(shown[1].stdout, shown[2].stdout);
    assert_shown!(shown.map(|ended| ended.shown()).join("\n"));
}

#[test]
fn sessions_are_listed_oldest_first() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.callgate(["log", "--list"]).stdout, "session  started  by  in\n");
    sandbox.callgate(["run", "-e", CODE]);
    sandbox.callgate(["tools", "call", "glob", r#"{"pattern": "*.md"}"#]);
    let listed = sandbox.callgate(["log", "--list"]);
    let cells = |line: &str| -> Vec<String> {
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    let rows: Vec<Vec<String>> = listed.stdout.lines().map(cells).collect();
    assert_eq!(
        (rows.len(), &rows[0][..]),
        (3, &["session", "started", "by", "in"].map(str::to_owned)[..])
    );
    let ids =
        sandbox.logs().into_iter().map(|log| log.file_stem().unwrap().to_str().unwrap().to_owned());
    assert_eq!(
        rows[1..].iter().map(|row| row[0].clone()).collect::<Vec<_>>(),
        ids.collect::<Vec<_>>()
    );
    let cwd = sandbox.path().canonicalize().unwrap().to_str().unwrap().to_owned();
    assert_eq!(
        [&rows[1][2..], &rows[2][2..]],
        [["run".to_owned(), cwd.clone()], ["tools call".to_owned(), cwd]]
    );
}

#[test]
fn events_are_printed_as_they_are() {
    let sandbox = Sandbox::new();
    sandbox.callgate(["run", "-e", CODE]);
    let printed = sandbox.callgate(["log", "--json"]);
    assert_eq!(printed.stdout, fs::read_to_string(&sandbox.logs()[0]).unwrap());
    let listed = sandbox.callgate(["log", "--list", "--json"]);
    assert_eq!(listed.stdout.lines().next(), printed.stdout.lines().next());
}

#[test]
fn a_log_can_be_written_where_it_is_wanted_but_never_over_another_file() {
    let sandbox = Sandbox::new();
    let first = sandbox.callgate(["run", "-q", "--log", "logs/mine.jsonl", "-e", "return 1"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    assert_eq!(sandbox.logs(), Vec::<std::path::PathBuf>::new());
    let again = sandbox.callgate(["run", "-q", "--log", "logs/mine.jsonl", "-e", "return 1"]);
    assert_shown!(again.shown());
    let shown = sandbox.callgate(["log", "logs/mine.jsonl"]);
    assert_shown!(shown.shown());
}

#[test]
fn without_a_place_for_logs_one_is_kept_in_memory_and_this_is_said_once() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "");
    let mut homeless = sandbox.command();
    homeless.env_remove("HOME").args(["run", "-q", "-e", "return 1"]);
    let mut blocked = sandbox.command();
    blocked
        .env("XDG_STATE_HOME", sandbox.path().join("file"))
        .args(["run", "-q", "-e", "return 1"]);
    let said = [homeless, blocked].map(|mut command| {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    });
    assert_shown!(said.join("\n"));
    let mut log = sandbox.command();
    let output = log.env_remove("HOME").arg("log").output().unwrap();
    assert_shown!(String::from_utf8(output.stderr).unwrap());
}

#[test]
fn logs_that_are_missing_or_damaged_are_named() {
    let sandbox = Sandbox::new();
    let none = sandbox.callgate(["log"]);
    sandbox.callgate(["run", "-e", CODE]);
    let text = fs::read_to_string(&sandbox.logs()[0]).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    sandbox.write("torn.jsonl", &text[..text.len() - 20]);
    sandbox
        .write("damaged.jsonl", &format!("{}\n{}\nnot JSON\n{}\n", lines[0], lines[1], lines[2]));
    let ended = [
        none,
        sandbox.callgate(["log", "absent.jsonl"]),
        sandbox.callgate(["log", "readme.md"]),
        sandbox.callgate(["log", "torn.jsonl"]),
        sandbox.callgate(["log", "damaged.jsonl"]),
    ];
    let events = sandbox.callgate(["log", "damaged.jsonl", "--json"]);
    assert_eq!(
        (events.code, events.stdout.lines().collect::<Vec<_>>()),
        (Some(1), lines[..2].to_vec())
    );
    assert_shown!(ended.map(|ended| ended.shown()).join("\n"));
}

#[test]
fn the_log_of_a_failed_run_holds_its_failure() {
    let sandbox = Sandbox::new();
    sandbox.callgate(["run", "-e", "throw new Error('boom')"]);
    let log = sandbox.logs().pop().unwrap();
    let [result] = &Sandbox::events(&log, "tool/result")[..] else { panic!("not one result") };
    assert_eq!(result["error"]["code"], Json::from("CODE_RUN_FAILED"));
    assert_shown!(sandbox.callgate(["log"]).shown());
}

/// A full disk is what went wrong, whatever the program heard of it.
#[test]
fn a_log_that_cannot_be_written_any_more_is_the_reason_of_the_failure() {
    let sandbox = Sandbox::new();
    let program = "for (let n = 0; n < 100; n++) await tools.glob({ pattern: `${n}` })";
    let shell = "trap '' XFSZ; ulimit -f 8; exec \"$0\" run --json -q --log full.jsonl -e \"$1\"";
    let mut command = Command::new("/bin/sh");
    command.current_dir(sandbox.path()).env("HOME", sandbox.home()).args(["-c", shell]);
    let output = command.arg(env!("CARGO_BIN_EXE_callgate")).arg(program).output().unwrap();
    let report = Json::parse(str::from_utf8(&output.stdout).unwrap()).unwrap();
    assert_eq!(report["error"]["kind"], json!("log"), "{report}");
    let message = report["error"]["message"].as_str().unwrap();
    assert!(message.contains("the session log could not be written"), "{report}");
}
