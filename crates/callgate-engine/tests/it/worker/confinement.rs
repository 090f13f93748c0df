//! What a worker cannot do, tried by native code inside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use callgate_core::program::{FailureKind, Isolation, ProgramEngine};
use callgate_engine::TypeScript;
use callgate_engine::worker::{Confinement, Effect, Measure};

use super::support::{executable, failure, host, value, worker};

/// The user that owns nothing.
const NOBODY: u32 = 65_534;

/// Tests of the confinement mean nothing on systems without any, and say so.
fn is_confined(confinement: &Confinement) -> bool {
    let confined = confinement.isolation() == Isolation::WorkerConfined;
    if !confined {
        eprintln!("not tested, for here workers are only: {confinement}");
    }
    confined
}

/// Each attempt of the example, and that it was refused.
const REFUSED: &str = "\
read a file: 1
read its memory: 1
look at a file: 1
write a file: 1
list a directory: 1
change the directory: 1
connect: 1
listen: 1
send a datagram: 1
make a socket pair: 1
start a process: 1
start a thread: 1
find the host: 1
signal everybody: 1
signal itself: 1
write to a descriptor: 1
make executable memory: 1
make plain memory: done
abort another process: 1";

#[test]
fn native_code_in_a_worker_reaches_nothing() {
    // RUNTIME-34
    let engine = worker().build().unwrap();
    if is_confined(engine.confinement()) {
        let tried = value(&engine, "native: attempts").unwrap();
        assert_eq!(tried.as_str(), Some(REFUSED));
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn every_system_call_but_the_listed_ones_is_refused() {
    // RUNTIME-34
    let engine = worker().build().unwrap();
    if is_confined(engine.confinement()) {
        let answered = value(&engine, "native: system calls").unwrap();
        // poll mprotect munmap brk rt_sigprocmask rt_sigreturn sched_yield mremap getpid exit
        // gettimeofday sigaltstack gettid futex restart_syscall clock_gettime exit_group ppoll
        // getrandom, and two of the kernel's own. mmap, madvise, tgkill, read, write, recvfrom and
        // sendto are answered with other arguments only.
        let listed = "7 10 11 12 14 15 24 25 39 60 96 131 186 202 219 228 231 271 318 335 336";
        assert_eq!(answered.as_str(), Some(listed));
    }
}

#[test]
fn a_confined_worker_says_so_measure_by_measure() {
    let engine = worker().build().unwrap();
    let confinement = engine.confinement();
    assert_eq!(engine.isolation(), confinement.isolation());
    if is_confined(confinement) {
        for measure in Measure::ALL {
            // Older kernels know less of landlock, or nothing, and that is reported.
            if measure != Measure::Files {
                assert_eq!(*confinement.effect(measure), Effect::Full, "{}", measure.name());
            }
        }
        assert!(confinement.to_string().starts_with("worker, confined"));
        worker().require_confinement(true).build().unwrap();
    } else {
        worker().require_confinement(true).build().unwrap_err();
    }
}

#[test]
fn an_unprivileged_host_confines_its_workers_as_well() {
    // RUNTIME-34
    if !is_confined(worker().build().unwrap().confinement()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = folder.path().join("worker_host");
    // Not written by this process, whose other tests start processes of their own: one of those
    // could hold the file open for writing in the moment it is to be run.
    let mut install = Command::new("install");
    assert!(install.args(["-m", "755"]).arg(executable()).arg(&path).status().unwrap().success());
    let mut command = Command::new(&path);
    command.current_dir("/").env_clear();
    command.args(["run", "return await tools.echo(5)", "native: attempts", "native: abort"]);
    // Only the superuser can become somebody else; everybody else is unprivileged already.
    if fs::metadata("/proc/self")
        .is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0)
    {
        command.uid(NOBODY).gid(NOBODY);
    }
    let lines = host(&mut command);
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines[0], "worker, confined: 5");
    let attempts = format!("worker, confined: {}", callgate_schema::Json::from(REFUSED));
    assert_eq!(lines[1], attempts);
    assert!(lines[2].starts_with("worker, confined: worker-exit"), "{}", lines[2]);
}

#[test]
fn memory_that_the_interpreter_does_not_count_is_limited_too() {
    // RUNTIME-24
    let engine = worker().memory(64 << 20).build().unwrap();
    let (kind, message) = failure(&engine, "native: allocate");
    assert_eq!(kind, FailureKind::WorkerExit, "{message}");
    assert_eq!(value(&engine, "return 1"), Some(1.into()));
}

#[test]
fn a_program_that_would_start_itself_a_second_time_in_earnest_is_refused() {
    // This test binary calls no `run_if_worker`.
    let refused = TypeScript::worker().build().unwrap_err().to_string();
    assert!(refused.contains("run_if_worker"), "{refused}");
    let refused = TypeScript::worker().executable("/nowhere/at/all").build().unwrap_err();
    assert!(refused.to_string().contains("/nowhere/at/all"), "{refused}");
    // A program that is no worker says nothing that makes sense.
    let refused = TypeScript::worker().executable("/bin/true").build().unwrap_err();
    assert!(refused.to_string().contains("did not get ready"), "{refused}");
}

#[test]
fn nobody_else_can_start_a_worker() {
    let output = Command::new(executable()).arg("--callgate-worker").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
}
