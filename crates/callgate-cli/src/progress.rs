//! What is shown on standard error while something takes longer than a second.

use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use callgate::Str;
use tokio::runtime::Handle;

use crate::calls::Calls;
use crate::terminal::{ERASE_LINE, Terminal};

/// Before this nobody wonders.
const FIRST: Duration = Duration::from_secs(1);
/// How often the line on a terminal changes.
const FRAME: Duration = Duration::from_millis(200);
/// How often a line is added where lines stay.
const LINE: Duration = Duration::from_secs(10);

/// A line that tells how far a run is, until it is stopped.
#[derive(Debug)]
pub(crate) struct Progress(Arc<Shown>);

#[derive(Debug)]
struct Shown {
    label: Str,
    calls: Arc<Mutex<Calls>>,
    terminal: Terminal,
    start: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_over: bool,
    /// Whether there is a line that has to be removed.
    is_dirty: bool,
}

impl Progress {
    pub(crate) fn start(
        handle: &Handle,
        terminal: Terminal,
        label: Str,
        calls: Arc<Mutex<Calls>>,
    ) -> Self {
        let shown = Arc::new(Shown {
            label,
            calls,
            terminal,
            start: Instant::now(),
            state: Mutex::default(),
        });
        if !terminal.is_quiet() {
            handle.spawn(shown.clone().go_on());
        }
        Self(shown)
    }

    /// Removes the line from a terminal. Nothing is shown any more.
    pub(crate) fn stop(self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_over = true;
        if state.is_dirty {
            let mut stderr = io::stderr().lock();
            let _written = write!(stderr, "{ERASE_LINE}").and_then(|()| stderr.flush());
        }
    }
}

impl Shown {
    async fn go_on(self: Arc<Self>) {
        let pause = if self.terminal.can_redraw { FRAME } else { LINE };
        tokio::time::sleep(FIRST).await;
        while self.show() {
            tokio::time::sleep(pause).await;
        }
    }

    /// Shows how far the run is; answers whether it goes on.
    fn show(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_over {
            return false;
        }
        let (made, running) = self.calls.lock().unwrap_or_else(PoisonError::into_inner).counts();
        let seconds = self.start.elapsed().as_secs();
        let line =
            format!("running {}: {seconds} s, {made} calls, {running} of them running", self.label);
        let mut stderr = io::stderr().lock();
        // Progress nobody can see is no loss.
        let _written = if self.terminal.can_redraw {
            state.is_dirty = true;
            let width = self.terminal.error_look.width().unwrap_or(80).saturating_sub(1);
            let line: String = line.chars().take(width).collect();
            write!(stderr, "{ERASE_LINE}{line}").and_then(|()| stderr.flush())
        } else {
            writeln!(stderr, "{line}")
        };
        true
    }
}
