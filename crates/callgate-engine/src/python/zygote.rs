//! The parent of Python programs, as its host sees it.

use std::io::{self, IoSlice, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callgate_core::program::EngineError;
use callgate_schema::Json;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
    SocketType, recv, send, sendmsg, socketpair,
};
use rustix::process::Pid;

use super::boot::{LOADER, source};
use super::cage::Cage;
use super::interpreter::{FLAGS, Interpreter};
use crate::worker::process::{Leash as _, Process};
use crate::worker::raw;

/// How long a parent may take to answer. Its first answer comes when it has imported everything.
const PATIENCE: Duration = Duration::from_secs(10);
/// More processor time than it takes to fork children for a lifetime: no limit, but one that its
/// hold asks for.
const CPU_SECONDS: u64 = 1 << 31;
/// The longest complaint that is passed on.
const COMPLAINT: u64 = 8_000;

/// A warmed interpreter that forks a child for each program, and runs none itself.
#[derive(Debug)]
pub(super) struct Zygote {
    /// One question and its answer at a time.
    control: Mutex<OwnedFd>,
    /// Ends with this.
    _process: Process,
}

impl Zygote {
    /// Starts one and waits until it is ready.
    ///
    /// # Errors
    ///
    /// If it cannot be started or confined, or does not get ready.
    pub(super) fn start(
        interpreter: &Interpreter,
        cage: Cage,
        boot: &Json,
    ) -> Result<Self, EngineError> {
        let path = interpreter.executable.display();
        let is_confined = cage.filter.is_some();
        let failed = |why: String| {
            EngineError::new(format!("Python programs cannot be run with `{path}`: {why}"))
        };
        let start = || -> io::Result<(OwnedFd, Process)> {
            let flags = SocketFlags::CLOEXEC;
            let (ours, theirs) =
                socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
            set_socket_timeout(&ours, Timeout::Recv, Some(PATIENCE))?;
            set_socket_timeout(&ours, Timeout::Send, Some(PATIENCE))?;
            let mut command = Command::new(&interpreter.executable);
            // Not under another name: it finds its library by the path it is started with.
            command.args(FLAGS).arg(LOADER).stderr(Stdio::piped());
            raw::enter_before_exec(&mut command, cage);
            Ok((ours, Process::spawn(command, theirs, CPU_SECONDS)?))
        };
        let (control, process) = start().map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied if is_confined => {
                failed(format!("this system does not let them be confined ({error})"))
            }
            _ => failed(error.to_string()),
        })?;
        let greeted = greet(&control, boot);
        let complaint = process.take_stderr();
        greeted.map_err(|why| {
            process.kill();
            let mut said = Vec::new();
            let _ = complaint.map(|pipe| pipe.take(COMPLAINT).read_to_end(&mut said));
            let said = String::from_utf8_lossy(&said);
            match said.lines().rfind(|line| line.contains("rror")) {
                Some(line) => failed(format!("{why}: {line}")),
                None => failed(why),
            }
        })?;
        Ok(Self { control: Mutex::new(control), _process: process })
    }

    /// Forks a child with that end of a socket as its standard input; its number, which stays its
    /// own until it is [reaped](Self::reap).
    pub(super) fn fork(&self, socket: BorrowedFd<'_>) -> io::Result<Pid> {
        let answer = self.ask(b"F", &[socket])?;
        let pid = answer.parse().ok().and_then(Pid::from_raw);
        pid.ok_or_else(|| io::Error::other(answer.trim_start_matches('!').to_owned()))
    }

    /// The status of a child that ended.
    pub(super) fn reap(&self, child: Pid) -> Option<ExitStatus> {
        let answer = self.ask(format!("R{}", child.as_raw_nonzero()).as_bytes(), &[]).ok()?;
        let status: i32 = answer.parse().ok()?;
        (status >= 0).then(|| ExitStatus::from_raw(status))
    }

    fn ask(&self, question: &[u8], sockets: &[BorrowedFd<'_>]) -> io::Result<String> {
        let control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        if !sockets.is_empty() {
            rights.push(SendAncillaryMessage::ScmRights(sockets));
        }
        let slices = [IoSlice::new(question)];
        again(|| sendmsg(control.as_fd(), &slices, &mut rights, SendFlags::NOSIGNAL))?;
        hear(&control)
    }
}

fn greet(control: &OwnedFd, boot: &Json) -> Result<(), String> {
    let tell = || -> io::Result<String> {
        let boot = boot.to_string();
        for message in [source().as_bytes(), boot.as_bytes()] {
            again(|| send(control, message, SendFlags::NOSIGNAL))?;
        }
        hear(control)
    };
    match tell() {
        Ok(answer) if answer == "ready" => Ok(()),
        Ok(answer) => Err(answer.trim_start_matches('!').to_owned()),
        Err(error) => Err(format!("it did not get ready ({error})")),
    }
}

fn hear(control: &OwnedFd) -> io::Result<String> {
    let mut answer = [0; 4096];
    let (length, _) = again(|| recv(control, &mut answer[..], RecvFlags::empty()))?;
    if length == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}

/// A signal that somebody else handles ends a wait for nothing.
fn again<T>(mut wait: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match wait() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

/// Parents are shared by their children's holds: the last one to let go ends it.
pub(super) type Shared = Arc<Zygote>;
