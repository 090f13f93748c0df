//! Engines whose workers are the example `worker_host`: a test binary has no `main` of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use callgate_core::Signal;
use callgate_core::program::{FailureKind, Program, ProgramEnd, ProgramEngine};
use callgate_engine::{TypeScript, WorkerBuilder};
use callgate_schema::Json;

use crate::support::{Host, block_on, example, tools};

pub(crate) fn executable() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| example("worker_host"))
}

pub(crate) fn worker() -> WorkerBuilder {
    TypeScript::worker().executable(executable())
}

/// Runs a program on an engine with these limits.
pub(crate) fn run_on(engine: WorkerBuilder, source: &str) -> (ProgramEnd, Arc<Host>) {
    let host = Arc::new(Host::default());
    let end = run(&engine.pool(0).build().unwrap(), source, &host);
    (end, host)
}

pub(crate) fn run(engine: &dyn ProgramEngine, source: &str, host: &Arc<Host>) -> ProgramEnd {
    block_on(engine.run(Program::new(source, vec![tools()]), host.clone(), Signal::new())).unwrap()
}

pub(crate) fn value(engine: &dyn ProgramEngine, source: &str) -> Option<Json> {
    let end = run(engine, source, &Arc::default());
    assert_eq!(end.failure, None, "{source}");
    end.value
}

#[track_caller]
pub(crate) fn failure(engine: &dyn ProgramEngine, source: &str) -> (FailureKind, String) {
    let end = run(engine, source, &Arc::default());
    let failure = end.failure.unwrap_or_else(|| panic!("{source} did not fail: {:?}", end.value));
    (failure.kind, failure.message)
}

/// How a run of the example as a host went: what it printed.
pub(crate) fn host(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    printed
}
