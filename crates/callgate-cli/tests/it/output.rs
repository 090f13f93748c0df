//! Standard output that nobody reads to its end.

use std::io::Read as _;
use std::process::Stdio;

use crate::sandbox::Sandbox;

/// Reads the start of what a command prints, closes the pipe, and answers how the command ended.
fn read_the_start(sandbox: &Sandbox, arguments: &[&str]) -> (String, Option<i32>, String) {
    let mut command = sandbox.command();
    let mut child =
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut start = [0; 8];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (String::from_utf8_lossy(&start).into_owned(), child.wait().unwrap().code(), stderr)
}

#[test]
fn a_reader_that_stops_ends_the_command_quietly() {
    let sandbox = Sandbox::new();
    // More than a pipe holds.
    let code = "return Array.from({ length: 50000 }, (_, n) => ({ n, text: 'some text' }))";
    let outputs = [
        (vec!["run", "-q", "-e", code], "    n  t"),
        (vec!["run", "-q", "--json", "-e", code], "{\"ok\":tr"),
        (vec!["log", "--json"], "{\"type\":"),
    ];
    for (arguments, start) in outputs {
        let ended = read_the_start(&sandbox, &arguments);
        assert_eq!(ended, (start.to_owned(), Some(141), String::new()), "{arguments:?}");
    }
}

#[test]
fn closed_output_does_not_stop_a_run_before_its_end() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    let mut child = command
        .args(["run", "-q", "-e", "return await tools.read({ path: 'readme.md' })"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(141));
    let log = sandbox.logs().pop().unwrap();
    assert_eq!(Sandbox::events(&log, "turn/end").len(), 1);
}

#[test]
fn help_ends_quietly_too() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    let mut child = command.arg("--help").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let code = child.wait().unwrap().code();
    assert!(matches!(code, Some(0 | 141)), "{code:?}");
}
