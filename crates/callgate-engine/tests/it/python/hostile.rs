//! Programs that are up to something, from `tests/programs/python-hostile.txt`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::support::example;

/// The user that owns nothing.
const NOBODY: u32 = 65_534;
/// What the host prints if every program came to what it must, and nothing was left behind.
const ALL_IS_WELL: &str = "worker, confined\n105 programs\n";

fn executable() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| example("python_host"))
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{complaints}");
    printed
}

#[test]
fn hostile_programs_end_as_they_must_and_harm_nobody() {
    // PYRT-12
    assert_eq!(said(Command::new(executable()).arg("hostile")), ALL_IS_WELL);
}

#[test]
fn hostile_programs_of_an_unprivileged_host_harm_nobody_either() {
    // PYRT-17
    // Only the superuser can become somebody else; everybody else is unprivileged already.
    if !fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = folder.path().join("python_host");
    // Not written by this process, whose other tests start processes of their own: one of those
    // could hold the file open for writing in the moment it is to be run.
    let mut install = Command::new("install");
    assert!(install.args(["-m", "755"]).arg(executable()).arg(&path).status().unwrap().success());
    let mut command = Command::new(&path);
    command.arg("hostile").current_dir("/").env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    assert_eq!(said(command.uid(NOBODY).gid(NOBODY)), ALL_IS_WELL);
}

#[test]
fn a_parent_that_is_killed_is_replaced_and_nobody_outlives_the_host() {
    // RUNTIME-28
    let mut host = Command::new(executable());
    let mut host = host.arg("orphans").stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut line = || lines.next().unwrap();
    assert_eq!([line(), line()], ["returns 1", "returns 2"]);
    assert_eq!(line(), "worker-exit: the worker process ended");
    assert_eq!(line(), "returns 3");
    let pids: Vec<String> = line().split_whitespace().map(str::to_owned).collect();
    assert!(pids.len() >= 2, "{pids:?}");
    host.kill().unwrap();
    host.wait().unwrap();
    let is_alive = |pid: &String| {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Whoever adopts them may take its time to bury them.
        !status.is_empty() && !status.contains(") Z ")
    };
    let late = Instant::now() + Duration::from_secs(10);
    while pids.iter().any(is_alive) {
        assert!(Instant::now() < late, "somebody of {pids:?} is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}
