//! Processes that run programs: how they are started, held, measured, ended and buried.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};
use rustix::process::Pid;
use tokio::sync::oneshot;

use super::frame::without_signal;
use super::raw;

/// The hold a host has on the process of one program.
pub(crate) trait Leash: Send + Sync + fmt::Debug {
    /// Ends the process at once. Twice is harmless.
    fn kill(&self);

    /// Ends the process and waits until nothing of it is left; its status, if it can be known.
    fn bury(&self) -> BoxFuture<'static, Option<ExitStatus>>;

    /// How much processor time it used so far, if that can be known.
    fn processor_time(&self) -> Option<Duration>;

    /// How many bytes of memory it holds, if that can be known.
    fn resident(&self) -> Option<u64>;

    /// Ends the process by the kernel's hand when it has used that much processor time.
    fn limit_processor_time(&self, total: Duration);
}

/// A child of this process.
pub(crate) struct Process {
    pid: Pid,
    /// Seconds of processor time it may have in its whole life.
    cpu_seconds: u64,
    /// Taken by whoever waits for its end, so that a number that was given back is never killed.
    child: Mutex<Option<Child>>,
}

impl Process {
    /// Starts a program with no environment, no files and one socket: its standard input.
    ///
    /// It must be called on a thread that outlives the process: the kernel ends a worker with the
    /// *thread* that started it. [`starting`] is one.
    pub(crate) fn start(
        executable: &Path,
        argument: &str,
        cpu_seconds: u64,
    ) -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = channel()?;
        let mut command = Command::new(executable);
        command.arg0("callgate-worker").arg(argument).stderr(Stdio::null());
        Ok((Self::spawn(command, theirs.into(), cpu_seconds)?, ours))
    }

    /// Starts a command with no environment, no files and that socket as its standard input.
    pub(crate) fn spawn(
        mut command: Command,
        socket: OwnedFd,
        cpu_seconds: u64,
    ) -> io::Result<Self> {
        command
            .env_clear()
            .current_dir("/")
            .stdin(socket)
            .stdout(Stdio::null())
            // What a person types at the host's terminal is not for its workers.
            .process_group(0);
        // The thread that will wait for it is there before it is needed.
        ending(|| ());
        let mut child = command.spawn()?;
        let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            let _ = child.kill();
            return Err(io::Error::other("the process has no number"));
        };
        Ok(Self { pid, cpu_seconds, child: Mutex::new(Some(child)) })
    }

    /// What it says on standard error, if that is a pipe.
    pub(crate) fn take_stderr(&self) -> Option<ChildStderr> {
        self.child().as_mut()?.stderr.take()
    }

    fn child(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Leash for Process {
    fn kill(&self) {
        if let Some(child) = self.child().as_mut() {
            // It may be gone already.
            let _ = child.kill();
        }
    }

    fn bury(&self) -> BoxFuture<'static, Option<ExitStatus>> {
        let Some(mut child) = self.child().take() else { return future::ready(None).boxed() };
        let _ = child.kill();
        // Most often it is gone when somebody asks: its socket was closed before.
        if let Ok(Some(status)) = child.try_wait() {
            return future::ready(Some(status)).boxed();
        }
        let (done, status) = oneshot::channel();
        ending(move || {
            // Nobody may be waiting any more.
            let _ = done.send(child.wait().ok());
        });
        status.map(|status| status.ok().flatten()).boxed()
    }

    fn processor_time(&self) -> Option<Duration> {
        raw::processor_time(self.pid)
    }

    #[cfg(target_os = "linux")]
    fn resident(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/statm", self.pid)).ok()?;
        let pages: u64 = status.split(' ').nth(1)?.parse().ok()?;
        Some(pages.saturating_mul(rustix::param::page_size() as u64))
    }

    #[cfg(not(target_os = "linux"))]
    fn resident(&self) -> Option<u64> {
        None
    }

    #[cfg(target_os = "linux")]
    fn limit_processor_time(&self, total: Duration) {
        // The limit of its whole life stands behind this one.
        let _ = limit_processor_time(self.pid, total, self.cpu_seconds);
    }

    #[cfg(not(target_os = "linux"))]
    fn limit_processor_time(&self, _total: Duration) {}
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Process").field(&self.pid.as_raw_nonzero()).finish()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.bury());
    }
}

/// Has the kernel end a process that used that much processor time, and any that used so many
/// seconds.
#[cfg(target_os = "linux")]
pub(crate) fn limit_processor_time(
    process: Pid,
    total: Duration,
    at_most: u64,
) -> rustix::io::Result<()> {
    use rustix::process::{Resource, Rlimit, prlimit};
    // One second more: the kernel counts whole ones.
    let current = total.as_secs().saturating_add(1).min(at_most);
    let limit = Rlimit { current: Some(current), maximum: Some(at_most) };
    prlimit(Some(process), Resource::Cpu, limit).map(drop)
}

/// The two ends of a socket between a host and a worker: the first is the host's.
pub(crate) fn channel() -> io::Result<(UnixStream, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    without_signal(&ours)?;
    Ok((ours, theirs))
}

/// The program this process runs, as one that can be started again.
pub(crate) fn this_program() -> io::Result<PathBuf> {
    // Holds for a program whose file was moved or replaced meanwhile, too.
    let link = Path::new("/proc/self/exe");
    if link.exists() { Ok(link.to_owned()) } else { std::env::current_exe() }
}

type Task = Box<dyn FnOnce() + Send>;

/// Runs a task on the thread that starts processes. It lives as long as this process.
pub(crate) fn starting(task: impl FnOnce() + Send + 'static) {
    static THREAD: OnceLock<Sender<Task>> = OnceLock::new();
    run_on(&THREAD, "callgate-start", Box::new(task));
}

/// Runs a task on the thread that waits for processes to end.
pub(crate) fn ending(task: impl FnOnce() + Send + 'static) {
    static THREAD: OnceLock<Sender<Task>> = OnceLock::new();
    run_on(&THREAD, "callgate-end", Box::new(task));
}

/// Without a thread the task is dropped; whoever waits for it notices.
fn run_on(thread: &OnceLock<Sender<Task>>, name: &str, task: Task) {
    let tasks = thread.get_or_init(|| {
        let (tasks, queue) = mpsc::channel::<Task>();
        // Without that thread the queue is gone, and so is every task.
        let _ =
            thread::Builder::new().name(name.to_owned()).stack_size(256 << 10).spawn(move || {
                for task in queue {
                    task();
                }
            });
        tasks
    });
    let _ = tasks.send(task);
}
