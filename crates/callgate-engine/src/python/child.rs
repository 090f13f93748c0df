//! The hold of a host on the child that runs one Python program.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::fd::AsFd as _;
use tokio::sync::oneshot;

use super::zygote::Shared;
use crate::worker::process::{Leash, channel, ending, limit_processor_time};
use crate::worker::raw;

/// How long a killed process may take until it is gone; one that holds much memory takes longest.
const DYING: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// A child of a parent of Python programs.
pub(super) struct Child {
    pid: Pid,
    cpu_seconds: u64,
    /// Taken by whoever waits for its end. While it is there the number is the child's own.
    alive: Mutex<Option<Alive>>,
}

struct Alive {
    zygote: Shared,
    handle: OwnedFd,
}

impl Child {
    /// Has one forked; the host's end of its socket.
    pub(super) fn fork(zygote: &Shared, cpu_seconds: u64) -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = channel()?;
        let pid = zygote.fork(theirs.as_fd())?;
        // It is not reaped before it is asked for, so the number means no other process.
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        let alive = Alive { zygote: zygote.clone(), handle };
        let child = Self { pid, cpu_seconds, alive: Mutex::new(Some(alive)) };
        limit_processor_time(pid, Duration::from_secs(cpu_seconds), cpu_seconds)?;
        Ok((child, ours))
    }

    fn alive(&self) -> std::sync::MutexGuard<'_, Option<Alive>> {
        self.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leash for Child {
    fn kill(&self) {
        if let Some(alive) = &*self.alive() {
            // It may be gone already.
            let _ = pidfd_send_signal(&alive.handle, Signal::KILL);
        }
    }

    fn bury(&self) -> BoxFuture<'static, Option<ExitStatus>> {
        let Some(alive) = self.alive().take() else { return future::ready(None).boxed() };
        let _ = pidfd_send_signal(&alive.handle, Signal::KILL);
        let (pid, (done, status)) = (self.pid, oneshot::channel());
        ending(move || {
            let Alive { zygote, handle } = alive;
            let gone = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&DYING));
            // One that is not gone would keep its parent, and everybody who asks it, waiting.
            let status = gone.is_ok_and(|count| count > 0).then(|| zygote.reap(pid)).flatten();
            // Nobody may be waiting any more.
            let _ = done.send(status);
        });
        status.map(|status| status.ok().flatten()).boxed()
    }

    fn processor_time(&self) -> Option<Duration> {
        self.alive().as_ref().and_then(|_| raw::processor_time(self.pid))
    }

    /// It runs one program, so that nobody has to know.
    fn resident(&self) -> Option<u64> {
        None
    }

    fn limit_processor_time(&self, total: Duration) {
        if self.alive().is_some() {
            // The limit of its whole life stands behind this one.
            let _ = limit_processor_time(self.pid, total, self.cpu_seconds);
        }
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Child").field(&self.pid.as_raw_nonzero()).finish()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.bury());
    }
}
