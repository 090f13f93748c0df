//! Work that blocks, on a thread of its own, stopped by the signal of its call.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use callgate::{FailureClass, Signal, ToolContext, ToolError, codes::ABORTED};

/// Tells work that blocks when to stop.
#[derive(Debug)]
pub(super) struct Watch(Signal);

impl Watch {
    pub(super) fn new(signal: &Signal) -> Self {
        Self(signal.clone())
    }

    /// Fails once the call is cancelled; to be asked between files and chunks.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        if self.0.is_cancelled() { Err(aborted(&self.0)) } else { Ok(()) }
    }
}

/// Runs `work` on a thread for blocking work and waits for its end. Only work that has no thread
/// yet when the call is cancelled is not waited for: it never starts.
pub(super) async fn run<T: Send + 'static>(
    context: &ToolContext,
    work: impl FnOnce(&Watch) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let signal = context.signal();
    let watch = Watch::new(signal);
    let waiting = Waiting::new(work);
    let mut task = tokio::task::spawn_blocking({
        let waiting = waiting.clone();
        move || waiting.take().map(|work| work(&watch))
    });
    let mut cancelled = pin!(signal.cancelled());
    let mut is_cancelled = false;
    let ended = poll_fn(|wake| {
        if !is_cancelled && cancelled.as_mut().poll(wake).is_ready() {
            is_cancelled = true;
            if waiting.take().is_some() {
                return Poll::Ready(Ok(None));
            }
        }
        Pin::new(&mut task).poll(wake)
    });
    match ended.await {
        Ok(Some(outcome)) => outcome,
        Ok(None) => Err(aborted(signal)),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_runtime_is_gone) => Err(aborted(signal)),
        },
    }
}

/// Work that waits for a thread; whoever takes it decides what becomes of it.
struct Waiting<W>(Arc<Mutex<Option<W>>>);

impl<W> Waiting<W> {
    fn new(work: W) -> Self {
        Self(Arc::new(Mutex::new(Some(work))))
    }

    fn take(&self) -> Option<W> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<W> Clone for Waiting<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

fn aborted(signal: &Signal) -> ToolError {
    let message = match signal.cause() {
        Some(cause) => format!("the call was cancelled while it ran: {cause}"),
        None => "the call was stopped, because the tokio runtime is shutting down".to_owned(),
    };
    ToolError::coded("AbortError", ABORTED, message).with_class(FailureClass::Aborted)
}
