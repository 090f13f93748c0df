//! What kills the servers if this process is killed in a way it cannot react to.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

/// A small process that outlives this one by a moment. It is told which process groups there
/// are; when the pipe to it closes, whatever the reason, it kills those that are left.
///
/// A death signal of the kernel would reach the servers themselves but not what they started
/// (`npx` starts a shell that starts the server), and depends on the thread that started them.
#[derive(Debug)]
pub(super) struct Watchdog(Mutex<Option<Guard>>);

#[derive(Debug)]
struct Guard {
    process: Child,
    /// Closing it is the alarm.
    pipe: Option<ChildStdin>,
}

/// Reads `+ GROUP` and `- GROUP`, then kills the groups that were added and not taken back.
const SCRIPT: &str = r#"
groups=
while read -r change group; do
  if [ "$change" = + ]; then
    groups="$groups $group"
  else
    left=
    for other in $groups; do
      [ "$other" = "$group" ] || left="$left $other"
    done
    groups=$left
  fi
done
for group in $groups; do
  kill -s KILL -- "-$group"
done
"#;

impl Watchdog {
    /// Starts one. Without it everything works, but a killed gateway may leave servers behind.
    pub(super) fn start() -> Self {
        // In a group of its own, so that it does not die of the same Ctrl-C.
        let process = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "callgate-watchdog"])
            .env_clear()
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match process {
            Ok(mut process) => {
                let pipe = process.stdin.take();
                Self(Mutex::new(Some(Guard { process, pipe })))
            }
            Err(error) => {
                tracing::warn!(%error, "no watchdog: servers may survive if the gateway is killed");
                Self(Mutex::new(None))
            }
        }
    }

    pub(super) fn add(&self, group: Pid) {
        self.tell(&format!("+ {}\n", group.as_raw_nonzero()));
    }

    pub(super) fn remove(&self, group: Pid) {
        self.tell(&format!("- {}\n", group.as_raw_nonzero()));
    }

    fn tell(&self, line: &str) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pipe) = guard.as_mut().and_then(|guard| guard.pipe.as_mut()) else { return };
        if let Err(error) = pipe.write_all(line.as_bytes()) {
            tracing::warn!(%error, "the watchdog is gone: servers may survive if the gateway is killed");
            *guard = None;
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.pipe = None;
        if let Err(error) = self.process.wait() {
            tracing::debug!(%error, "watchdog not waited for");
        }
    }
}
