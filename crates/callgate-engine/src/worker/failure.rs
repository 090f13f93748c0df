//! What the author of a program reads when its worker was ended, or ended by itself.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use callgate_core::program::{EngineError, FailureKind, ProgramFailure};
use rustix::process::Signal;

use super::link::Verdict;
use crate::limits::Limits;

/// The failure behind a verdict that is not told by the worker itself.
///
/// # Errors
///
/// If the program did not run at all.
pub(super) fn of(
    verdict: &Verdict,
    status: Option<ExitStatus>,
    limits: &Limits,
    is_sent: bool,
) -> Result<ProgramFailure, EngineError> {
    let exit = |message: String| Ok(ProgramFailure::new(FailureKind::WorkerExit, message));
    match verdict {
        Verdict::Aborted(cause) => Ok(ProgramFailure::new(FailureKind::Abort, cause.as_str())),
        Verdict::Compute => Ok(compute(limits)),
        Verdict::Wall => Ok(wall(limits)),
        Verdict::TooLong => exit("the worker process sent more at once than it may".to_owned()),
        Verdict::Gone if !is_sent => Err(EngineError::new(format!(
            "a worker process did not get ready: it {}",
            described(status)
        ))),
        Verdict::Gone if status.and_then(|status| status.signal()) == Some(TIME_IS_UP) => {
            Ok(compute(limits))
        }
        Verdict::NotReady => Err(EngineError::new("a worker process did not get ready in time")),
        Verdict::Unconfined => Err(EngineError::new(
            "a worker process is less confined than the first one was: the program was not run",
        )),
        Verdict::NoRuntime => {
            Err(EngineError::new("the runtime that the program was run on was shut down"))
        }
        Verdict::Ended | Verdict::Output | Verdict::Gone => {
            exit(format!("the worker process {}", described(status)))
        }
    }
}

const TIME_IS_UP: i32 = Signal::XCPU.as_raw();

fn compute(limits: &Limits) -> ProgramFailure {
    let message = format!(
        "the compute budget of {:?} is used up: compute less, or let a tool do it",
        limits.compute
    );
    ProgramFailure::new(FailureKind::Timeout, message)
}

fn wall(limits: &Limits) -> ProgramFailure {
    let message = format!(
        "the wall-clock ceiling of {:?} was reached: wait for less, or split the work",
        limits.wall
    );
    ProgramFailure::new(FailureKind::Timeout, message)
}

/// `ended with status 7`, `was killed by signal 11`.
fn described(status: Option<ExitStatus>) -> String {
    const ABORT: i32 = Signal::ABORT.as_raw();
    const KILL: i32 = Signal::KILL.as_raw();
    let code = status.and_then(|status| status.code());
    match (code, status.and_then(|status| status.signal())) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(ABORT)) => {
            "gave up (signal 6): most likely it ran out of memory: keep less at a time".to_owned()
        }
        (None, Some(KILL)) => {
            "was killed (signal 9): somebody ended it, or the system ran out of memory".to_owned()
        }
        (None, Some(signal)) => format!("crashed (signal {signal})"),
        (None, None) => "ended".to_owned(),
    }
}
