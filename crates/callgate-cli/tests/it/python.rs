//! Programs in Python, on the command line.
#![cfg(target_os = "linux")]

use std::process::Output;

use crate::sandbox::Sandbox;

/// Runs the binary with the Pythons of this machine.
fn callgate(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let path = std::env::var_os("PATH").unwrap_or_default();
    sandbox.command().args(arguments).env("PATH", path).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_file_that_ends_in_py_is_a_python_program() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "count.py",
        "found = await tools.grep(pattern='TODO')\nprint('searched')\nreturn [type(found).__name__, 2 ** 63]\n",
    );
    let ended = callgate(&sandbox, &["run", "--json", "count.py"]);
    let (out, err) = (text(&ended.stdout), text(&ended.stderr));
    assert!(
        out.contains(r#""ok":true,"result":["dict",9223372036854775808],"logs":["searched"]"#),
        "{out}{err}"
    );
    assert!(err.contains("note: isolation of the program: worker, confined"), "{err}");
    let ended = callgate(&sandbox, &["run", "--lang", "typescript", "--json", "count.py"]);
    assert!(text(&ended.stdout).contains(r#""ok":false"#));
}

#[test]
fn a_python_program_fails_at_its_authors_own_line() {
    let sandbox = Sandbox::new();
    sandbox.write("fails.py", "x = 0\n\nreturn 1 / x\n");
    let ended = callgate(&sandbox, &["run", "fails.py"]);
    let err = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{err}");
    assert!(err.contains("ZeroDivisionError: division by zero"), "{err}");
    assert!(err.contains(" --> fails.py:3:8"), "{err}");
}

#[test]
fn a_python_program_is_checked_before_it_starts() {
    let sandbox = Sandbox::new();
    let code = "await tools.glob(pattern='*')\nawait tools.grap(pattern='x')";
    let ended = callgate(&sandbox, &["run", "--json", "--lang", "python", "-e", code]);
    let out = text(&ended.stdout);
    assert!(out.contains("`tools` has no `grap`; did you mean `grep`?"), "{out}");
    assert!(out.contains(r#""calls":[]"#), "{out}");
}

#[test]
fn a_program_without_confinement_is_warned_about() {
    let sandbox = Sandbox::new();
    let arguments = ["run", "--unconfined", "--lang", "python", "-e", "return 1"];
    let ended = callgate(&sandbox, &arguments);
    let err = text(&ended.stderr);
    assert!(err.contains("warning: Python programs run unconfined: with your files"), "{err}");
    assert_eq!(ended.status.code(), Some(0), "{err}");
    let ended = callgate(&sandbox, &["run", "--unconfined", "-e", "return 1"]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(text(&ended.stderr).contains("`--unconfined` is for Python programs"));
}

#[test]
fn without_python_a_command_says_what_to_install_and_an_sdk_is_shown_all_the_same() {
    let sandbox = Sandbox::new();
    let ended = sandbox.callgate(["run", "--lang", "python", "-e", "return 1"]);
    assert!(ended.stderr.contains("there is no `python3` in PATH: install it"), "{ended:?}");
    let ended = sandbox.callgate(["sdk", "--lang", "python"]);
    assert!(ended.stdout.contains("class ToolCallError(Exception):"), "{ended:?}");
    assert_eq!(ended.code, Some(0));
}
