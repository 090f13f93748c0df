//! Ctrl-C and SIGTERM.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use callgate::{Json, json};

use crate::sandbox::{Sandbox, assert_shown};

/// A run that goes on for ever, and its standard error.
fn endless(sandbox: &Sandbox, options: &[&str], code: &str) -> (Child, BufReader<ChildStderr>) {
    let mut command = sandbox.command();
    command
        .arg("run")
        .args(options)
        .args(["-e", code])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    (child, stderr)
}

/// Reads lines until one begins like that.
fn wait_for(stderr: &mut BufReader<ChildStderr>, start: &str) {
    let mut line = String::new();
    while !line.starts_with(start) {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended before `{start}`");
    }
}

fn send(signal: &str, child: &Child) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Why the session ended, as its log tells.
fn endings(sandbox: &Sandbox) -> Vec<Json> {
    let log = sandbox.logs().pop().unwrap();
    Sandbox::events(&log, "turn/end").iter().map(|end| end["reason"].clone()).collect()
}

#[test]
fn ctrl_c_lets_calls_settle_closes_the_log_and_ends_with_130() {
    let sandbox = Sandbox::new();
    let (child, mut stderr) =
        endless(&sandbox, &["--json"], "for (;;) await tools.glob({ pattern: '**' })");
    wait_for(&mut stderr, "running ");
    send("-INT", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let report = Json::parse_slice(&output.stdout).unwrap();
    assert_eq!(report["error"], json!({ "kind": "abort", "message": "interrupted by Ctrl-C" }));
    let calls = report["calls"].as_array().unwrap().len();
    assert!(
        report["calls"].as_array().unwrap().iter().all(|call| !call["ms"].is_null()),
        "{report}"
    );
    let log = sandbox.logs().pop().unwrap();
    let count = |kind| Sandbox::events(&log, kind).len();
    assert_eq!((count("tool/code-dispatch-start"), count("tool/code-dispatch")), (calls, calls));
    assert_eq!((count("tool/result"), count("step/end")), (1, 1));
    assert_eq!(endings(&sandbox), [json!({ "kind": "aborted", "cause": { "kind": "user" } })]);
}

#[test]
fn a_program_that_only_computes_is_interrupted_too() {
    let sandbox = Sandbox::new();
    let (child, mut stderr) = endless(&sandbox, &[], "try { for (;;) {} } finally { for (;;) {} }");
    wait_for(&mut stderr, "running ");
    send("-INT", &child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
}

#[test]
fn sigterm_ends_a_run_in_the_same_way() {
    let sandbox = Sandbox::new();
    let (child, mut stderr) =
        endless(&sandbox, &[], "for (;;) await tools.glob({ pattern: '**' })");
    wait_for(&mut stderr, "running ");
    send("-TERM", &child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
    assert_eq!(endings(&sandbox), [json!({ "kind": "aborted", "cause": { "kind": "disposed" } })]);
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_what_cannot_be_interrupted() {
    let sandbox = Sandbox::new();
    // QuickJS looks for interruptions between calls of native functions, and not often.
    let code = "const text = 'a'.repeat(1 << 22); let n = 0; for (;;) n += text.indexOf('b')";
    let (child, mut stderr) = endless(&sandbox, &[], code);
    wait_for(&mut stderr, "running ");
    send("-INT", &child);
    wait_for(&mut stderr, "note: stopping");
    let start = Instant::now();
    send("-INT", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(130), &b""[..]));
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    let shown = sandbox.callgate(["log"]);
    assert_shown!(shown.shown());
}
