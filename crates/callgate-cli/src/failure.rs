//! Why a command ends without success, and the exit codes that say so.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// How the process ends. The numbers are documented in `callgate --help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was done.
    Success,
    /// The program or the call failed.
    Failed,
    /// The command line or the configuration is wrong; nothing was run.
    Usage,
    /// Ctrl-C.
    Interrupted,
    /// Whoever read standard output stopped reading.
    OutputClosed,
    /// SIGTERM.
    Terminated,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Interrupted => 130,
            Self::OutputClosed => 141,
            Self::Terminated => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command ends early: a message for people, and the word programs branch on.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    exit: Exit,
    kind: &'static str,
    message: String,
}

impl Failure {
    /// Wrong use: the message says what to write instead.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, kind: "usage", message: message.into() }
    }

    /// A configuration that cannot be used.
    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, kind: "config", message: message.into() }
    }

    /// Something was tried and did not work.
    pub(crate) fn failed(kind: &'static str, message: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, kind, message: message.into() }
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// What kind of failure it is, as `--json` prints it.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// The message, unless there is nobody to tell.
    pub(crate) fn message(&self) -> Option<&str> {
        (self.exit != Exit::OutputClosed).then_some(&*self.message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// A failure to write to standard output: the only place where commands use `?` on I/O.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let exit = match error.kind() {
            io::ErrorKind::BrokenPipe => Exit::OutputClosed,
            _ => Exit::Failed,
        };
        let message = format!("cannot write to standard output: {error}");
        Self { exit, kind: "output", message }
    }
}
