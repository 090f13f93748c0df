//! The bootstrap, tested by itself with Python's own tools.

use std::process::Command;

#[test]
fn the_bootstrap_passes_its_own_tests() {
    // PYRT-7
    let mut python = Command::new("python3");
    python.args(["-B", "-W", "ignore", "-m", "unittest"]);
    python.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python"));
    let output = python.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
