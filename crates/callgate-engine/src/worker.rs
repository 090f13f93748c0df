//! Programs in processes of their own.
//!
//! A worker is the very program that uses this crate, started once more with a hidden argument: it
//! has no environment, no open files, `/` as its directory and one socket. Before it reads a
//! program it cuts itself off ([`Measure`] lists how), after that it can compute, and ask its host
//! for calls. On Linux, x86-64 and aarch64, it then has no files, no network, no processes and no
//! threads; elsewhere it is a process with limits. The host kills it on its deadline whatever it
//! does, and believes nothing it says: what arrives is checked like input from a stranger.
//!
//! For that the program must become a worker when it is started as one. This is the first line of
//! its `main`:
//!
//! ```
//! callgate_engine::worker::run_if_worker();
//! ```
//!
//! A worker that is told nothing costs a few megabytes. Workers are started ahead of time; a
//! worker runs programs of one session only, see [`WorkerEngine::for_session`], and each program
//! has a fresh interpreter. Nothing is left behind when the host goes: its workers notice the end
//! of the socket when they wait, and the kernel ends them when they do not.
//!
//! Runs need no particular executor. On a tokio runtime that watches sockets, as `enable_all` and
//! `#[tokio::main]` make them, calls are served without another thread; elsewhere a thread is
//! started for each run.

mod confine;
pub(crate) mod confinement;
pub(crate) mod deadline;
mod declared;
pub(crate) mod engine;
mod failure;
pub(crate) mod frame;
pub(crate) mod limit;
mod link;
pub(crate) mod message;
pub(crate) mod pool;
pub(crate) mod process;
pub(crate) mod raw;
pub(crate) mod run;
mod serve;
#[cfg(target_os = "linux")]
pub(crate) mod system_calls;

use std::sync::atomic::{AtomicBool, Ordering};

pub use confinement::{Confinement, Effect, Measure};
pub use engine::{WorkerBuilder, WorkerEngine};

/// The argument that makes this program a worker.
const ARGUMENT: &str = "--callgate-worker";

/// Whether this program becomes a worker when it is started as one.
static IS_PREPARED: AtomicBool = AtomicBool::new(false);

/// Becomes a worker if this process was started as one, and then never returns; else it does
/// nothing.
///
/// Call it first thing in `main`: before anything is printed, read, opened or started. Without it
/// [`WorkerBuilder::build`] refuses, for the program would be started a second time in earnest.
pub fn run_if_worker() {
    become_worker_if_started_as_one(None);
}

/// [`run_if_worker`] for tests of the confinement: programs for which `native` gives a value are
/// run by it, not by the interpreter, but inside the same process and as confined.
#[doc(hidden)]
pub fn run_if_worker_with(native: NativeProgram) {
    become_worker_if_started_as_one(Some(native));
}

/// Runs the text of a program as native code, if it is such a text.
#[doc(hidden)]
pub type NativeProgram = fn(&str) -> Option<String>;

fn become_worker_if_started_as_one(native: Option<NativeProgram>) {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == ARGUMENT) && arguments.next().is_none() {
        serve::serve(native)
    }
    IS_PREPARED.store(true, Ordering::Relaxed);
}
