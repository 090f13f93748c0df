//! Ctrl-C and SIGTERM: the first cancels what runs, the second ends the process at once.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use callgate::{Cause, Signal};
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use crate::failure::Exit;
use crate::terminal::Terminal;

/// How long calls may take to come to their end after they were cancelled.
const PATIENCE: Duration = Duration::from_secs(5);

/// Watches for signals as long as the runtime lives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts {
    signal: Signal,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    caught: OnceLock<Exit>,
    /// Whether what could be cancelled is over.
    is_idle: AtomicBool,
}

impl Interrupts {
    /// Starts watching. From here on signals do not end the process by themselves.
    pub(crate) fn watch(handle: &Handle, terminal: Terminal) -> io::Result<Self> {
        let interrupts = Self::default();
        let _inside = handle.enter();
        let streams = Streams {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        };
        handle.spawn(interrupts.clone().obey(streams, terminal));
        Ok(interrupts)
    }

    /// Cancelled with the first signal.
    pub(crate) fn signal(&self) -> &Signal {
        &self.signal
    }

    /// How the process has to end, if a signal came. From here on the next one ends it at once.
    pub(crate) fn finish(&self) -> Option<Exit> {
        self.state.is_idle.store(true, Ordering::Release);
        self.state.caught.get().copied()
    }

    async fn obey(self, mut streams: Streams, terminal: Terminal) {
        let exit = streams.next().await;
        let _first = self.state.caught.set(exit);
        if self.state.is_idle.load(Ordering::Acquire) {
            end(exit);
        }
        terminal.note("stopping; once more ends the process at once");
        let text = match exit {
            Exit::Terminated => "the process was asked to end (SIGTERM)",
            _ => "interrupted by Ctrl-C",
        };
        self.signal.cancel(Cause::new("interrupt", text));
        let exit = tokio::select! {
            again = streams.next() => again,
            () = tokio::time::sleep(PATIENCE) => exit,
        };
        end(exit);
    }
}

struct Streams {
    interrupt: Stream,
    terminate: Stream,
}

impl Streams {
    async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
        }
    }
}

/// Ends the process. What was logged is on its way to the disk already.
fn end(exit: Exit) -> ! {
    std::process::exit(exit.code().into())
}
