//! One call from the command line: logged, measured, interruptible.

use std::sync::{Arc, Mutex, PoisonError};

use callgate::program::ProgramEnd;
use callgate::session::{AbortCause, Failure as LoggedFailure, Session, TurnEndReason};
use callgate::{CallInput, CallResult, FailureClass, Recorder, Str, ToolError, codes};
use tokio::runtime::Builder;

use crate::calls::Calls;
use crate::failure::{Exit, Failure};
use crate::host::Host;
use crate::interrupt::Interrupts;
use crate::meter::Meter;
use crate::progress::Progress;
use crate::terminal::Terminal;

/// Enough threads to watch for signals while the call runs on the main one. Tools that block bring their own.
const THREADS: usize = 2;

/// Bytes of a failure's message that are repeated where the session ends.
const LONGEST_SUMMARY: usize = 500;

/// A call that is over.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) result: CallResult,
    /// It and the calls its program made.
    pub(crate) calls: Calls,
    /// How its program ended, if it was one and was run.
    pub(crate) end: Option<ProgramEnd>,
    /// How the process has to end, if it was interrupted.
    pub(crate) interrupted: Option<Exit>,
}

/// Makes one call in a scope of its own and records it in the session, which is closed afterwards.
pub(crate) fn call(
    host: &Host,
    session: &Session,
    input: CallInput,
    label: impl Into<Str>,
    terminal: Terminal,
) -> Result<Recorded, Failure> {
    let calls = Arc::new(Mutex::new(Calls::default()));
    let fed = calls.clone();
    session.observe(move |event| fed.lock().unwrap_or_else(PoisonError::into_inner).feed(event));
    let scope = host.runtime.scope();
    let meter = Meter::default();
    scope.install(&meter).map_err(|error| defect(&error))?;
    let recorder = Recorder::new(scope, session.clone()).map_err(|error| defect(&error))?;

    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    let runtime = runtime.map_err(|error| defect(&error))?;
    let interrupts =
        Interrupts::watch(runtime.handle(), terminal).map_err(|error| defect(&error))?;
    let input = input.with_signal(interrupts.signal().clone());
    let progress = Progress::start(runtime.handle(), terminal, label.into(), calls.clone());
    let result = runtime.block_on(recorder.call(input));
    progress.stop();
    let interrupted = interrupts.finish();
    // The call has settled. What a tool may have left behind does not keep anybody waiting.
    runtime.shutdown_background();

    let closed =
        recorder.close_with(reason(&result, interrupted)).map_err(|error| error.to_string());
    let closed = closed.and_then(|()| session.close().map_err(|error| error.to_string()));
    if let Err(error) = closed {
        terminal.warning(&format!("the session log could not be completed: {error}"));
    }
    let mut calls = std::mem::take(&mut *calls.lock().unwrap_or_else(PoisonError::into_inner));
    meter.refine(&mut calls);
    Ok(Recorded { result, calls, end: host.last_end.take(), interrupted })
}

/// How the log says that the session ended.
fn reason(result: &CallResult, interrupted: Option<Exit>) -> TurnEndReason {
    match (interrupted, result.error()) {
        (Some(Exit::Interrupted), _) => TurnEndReason::Aborted(AbortCause::User),
        (Some(_), _) => TurnEndReason::Aborted(AbortCause::Disposed),
        (None, Some(error)) => TurnEndReason::Error(summary(error)),
        (None, None) => TurnEndReason::Completed,
    }
}

/// The first line of a failure. The whole of it is in the log as the result of the call.
fn summary(error: &ToolError) -> LoggedFailure {
    let line = error.message().lines().next().unwrap_or_default();
    let message = match line.floor_char_boundary(LONGEST_SUMMARY) {
        end if end < line.len() => format!("{}…", &line[..end]).into(),
        _ => line.into(),
    };
    LoggedFailure { message, code: error.code().unwrap_or("UNKNOWN").into() }
}

/// The word for a failure that programs branch on.
pub(crate) fn kind_of(error: &ToolError) -> String {
    match error.class() {
        _ if error.code() == Some(codes::LOG_FAILED) => "log".to_owned(),
        FailureClass::Aborted => "abort".to_owned(),
        FailureClass::TimedOut => "timeout".to_owned(),
        class => class.word().replace(' ', "-"),
    }
}

#[cold]
fn defect(error: &dyn std::error::Error) -> Failure {
    Failure::failed("defect", format!("the call cannot be set up: {error}"))
}
