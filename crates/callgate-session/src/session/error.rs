//! Why a session cannot be had, and why it does not take an event.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::checker::Violation;
use crate::form::FormError;
use crate::reader::ReadError;

/// Why an event is not in the log. The log is as it was.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AppendError {
    /// It was appended from inside a check or an observer of the same session.
    Reentrant,
    /// The session was closed.
    NotLive,
    /// A check refuses it.
    Rejected(Violation),
    /// It is not an event of a log: its surface operation, its sources or its type are wrong.
    Invalid(Violation),
    /// A value in it is nested too deep to be read again.
    TooDeep,
    /// A check panicked.
    CheckPanicked,
    /// It could not be written.
    Io(Arc<io::Error>),
}

impl AppendError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Reentrant => "REENTRANT_APPEND",
            Self::NotLive => "SESSION_NOT_LIVE",
            Self::Rejected(_) | Self::Invalid(_) | Self::CheckPanicked => crate::INVARIANT,
            Self::TooDeep => "EVENT_TOO_DEEP",
            Self::Io(_) => "SESSION_WRITE_FAILED",
        }
    }
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reentrant => f.write_str(
                "a check or observer of a session cannot append to it; hand the event to code outside of the log",
            ),
            Self::NotLive => f.write_str("the session is closed and takes no more events"),
            Self::Rejected(violation) | Self::Invalid(violation) => violation.fmt(f),
            Self::TooDeep => {
                let limit = callgate_schema::json::DEPTH_LIMIT;
                write!(f, "a value in the event is nested deeper than {limit} brackets, which no reader accepts")
            }
            Self::CheckPanicked => f.write_str("a check of the session log panicked, so the event is refused"),
            Self::Io(error) => write!(f, "the session log cannot be written: {error}"),
        }
    }
}

impl std::error::Error for AppendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Rejected(violation) | Self::Invalid(violation) => Some(violation),
            _ => None,
        }
    }
}

/// Why a session cannot be made, opened, forked or checked.
#[derive(Clone, Debug)]
pub struct SessionError {
    kind: SessionErrorKind,
    message: Arc<str>,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionErrorKind {
    /// There is no such log.
    NotFound,
    /// There is one already.
    AlreadyExists,
    /// Another process, or another handle, writes to it.
    InUse,
    /// The session was closed.
    NotLive,
    /// The point to fork at lies inside a turn.
    OpenTurn,
    /// The point to fork at lies outside the log.
    InvalidBoundary,
    /// It is no log, one of another version, or a damaged one.
    Unreadable,
    /// Its events break an invariant, or its header is wrong.
    Invalid,
    /// It was asked for from inside a check or an observer of the session.
    Reentrant,
    /// The file system says no.
    Io,
}

impl SessionError {
    #[cold]
    pub(crate) fn new(kind: SessionErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self { kind, message: message.into() }
    }

    #[cold]
    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        let path = path.display();
        match error.kind() {
            io::ErrorKind::NotFound => {
                Self::new(SessionErrorKind::NotFound, format!("there is no session log `{path}`"))
            }
            io::ErrorKind::AlreadyExists => Self::new(
                SessionErrorKind::AlreadyExists,
                format!("session log `{path}` exists already; open it, or choose another id"),
            ),
            _ => Self::new(SessionErrorKind::Io, format!("session log `{path}`: {error}")),
        }
    }

    #[cold]
    pub(crate) fn read(path: &Path, error: &ReadError) -> Self {
        let kind = if error.io_error().is_some() {
            SessionErrorKind::Io
        } else {
            SessionErrorKind::Unreadable
        };
        Self::new(kind, format!("session log `{}`: {error}", path.display()))
    }

    /// What is wrong.
    pub fn kind(&self) -> SessionErrorKind {
        self.kind
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self.kind {
            SessionErrorKind::NotFound => "SESSION_NOT_FOUND",
            SessionErrorKind::AlreadyExists => "SESSION_ALREADY_EXISTS",
            SessionErrorKind::InUse => "SESSION_IN_USE",
            SessionErrorKind::NotLive => "SESSION_NOT_LIVE",
            SessionErrorKind::OpenTurn => "OPEN_TURN",
            SessionErrorKind::InvalidBoundary => "INVALID_BOUNDARY",
            SessionErrorKind::Unreadable => "SESSION_UNREADABLE",
            SessionErrorKind::Invalid => crate::INVARIANT,
            SessionErrorKind::Reentrant => "REENTRANT_APPEND",
            SessionErrorKind::Io => "SESSION_IO",
        }
    }
}

impl From<Violation> for SessionError {
    fn from(violation: Violation) -> Self {
        Self::new(SessionErrorKind::Invalid, violation.to_string())
    }
}

impl From<FormError> for SessionError {
    fn from(error: FormError) -> Self {
        Self::new(SessionErrorKind::Invalid, format!("the session header is wrong: {error}"))
    }
}

impl From<AppendError> for SessionError {
    fn from(error: AppendError) -> Self {
        let kind = match error {
            AppendError::NotLive => SessionErrorKind::NotLive,
            AppendError::Reentrant => SessionErrorKind::Reentrant,
            AppendError::Io(_) => SessionErrorKind::Io,
            _ => SessionErrorKind::Invalid,
        };
        Self::new(kind, error.to_string())
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SessionError {}
