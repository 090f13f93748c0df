//! The child process of a server, with everything that it starts.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callgate::Str;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::watchdog::Watchdog;
use crate::config::{Stdio, is_inherited};

/// A running server and its process group, which is killed at the latest when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
    watchdog: Arc<Watchdog>,
}

/// The ends of a server's pipes.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// How long a server may take to end by itself, and again after it was asked to.
const GRACE: Duration = Duration::from_millis(1_500);

/// How long an end that was announced by closed pipes may take.
const LAST_BREATH: Duration = Duration::from_millis(250);

impl Process {
    /// Starts a server. Of `environment` it gets what every server gets.
    ///
    /// # Errors
    ///
    /// Why it cannot be started, and what to do.
    pub(super) fn start(
        config: &Stdio,
        environment: &[(OsString, OsString)],
        watchdog: &Arc<Watchdog>,
    ) -> Result<(Self, Pipes), String> {
        let mut command = Command::new(&config.command);
        command
            .args(&config.args)
            .env_clear()
            .envs(environment.iter().filter(|(name, _)| is_inherited(name)).cloned())
            .envs(config.env.iter().cloned())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(cwd) = &config.cwd {
            command.current_dir(cwd);
        }
        let mut child = command.spawn().map_err(|error| explain(config, &error))?;
        let group = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        if let Some(group) = group {
            watchdog.add(group);
        }
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = Self { child, group, watchdog: watchdog.clone() };
        match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => {
                Ok((process, Pipes { stdin, stdout, stderr }))
            }
            _ => Err("its pipes could not be opened".to_owned()),
        }
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits a moment for an end that is near; answers how it ended.
    pub(super) async fn last_breath(&mut self) -> Option<ExitStatus> {
        timeout(LAST_BREATH, self.child.wait()).await.ok()?.ok()
    }

    /// Ends the server, whose standard input must be closed by now: it may end by itself, then it
    /// is asked to, then it is killed, with everything it started.
    pub(super) async fn stop(mut self) {
        if timeout(GRACE, self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            if timeout(GRACE, self.child.wait()).await.is_err() {
                tracing::warn!(
                    pid = self.child.id(),
                    "a server did not end when asked to; it is killed"
                );
            }
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group
            // There may be nobody left.
            && let Err(error) = kill_process_group(group, signal)
        {
            tracing::trace!(%error, "process group not signalled");
        }
    }
}

impl Drop for Process {
    /// What is left of the group goes with it.
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(group) = self.group {
            self.watchdog.remove(group);
        }
    }
}

fn explain(config: &Stdio, error: &std::io::Error) -> String {
    let command = config.command.display();
    let missing_cwd = config.cwd.as_ref().filter(|cwd| !cwd.is_dir());
    match (missing_cwd, error.kind()) {
        (Some(cwd), _) => {
            format!("its working directory `{}` does not exist; correct `cwd`", cwd.display())
        }
        (None, ErrorKind::NotFound) => {
            format!(
                "the command `{command}` does not exist; install it, or correct `command` (it is looked up in PATH)"
            )
        }
        (None, ErrorKind::PermissionDenied) => {
            format!(
                "the command `{command}` may not be run; make it executable, or correct `command`"
            )
        }
        (None, _) => format!("the command `{command}` cannot be run: {error}"),
    }
}

/// How a process ended, for people.
pub(super) fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it exited with status {code}"),
        (None, Some(signal)) => format!("it was killed by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    }
}

/// The newest lines of a server's standard error.
#[derive(Clone, Debug, Default)]
pub(super) struct LastWords(Arc<Mutex<VecDeque<String>>>);

/// How many lines are kept.
const KEPT_LINES: usize = 20;

/// Longer lines are cut.
const LONGEST_LINE: u64 = 2_000;

impl LastWords {
    fn add(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// The last lines, oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Reads a server's standard error to its end: each line goes into the log.
pub(super) async fn log_stderr(server: Str, stderr: ChildStderr, words: LastWords) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if !text.is_empty() {
            tracing::info!(%server, "{}", text.escape_debug());
            words.add(text.to_owned());
        }
    }
}
