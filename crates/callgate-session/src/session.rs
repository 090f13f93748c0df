//! [`Session`]: one append-only log.

mod error;
mod file;
mod observers;
mod options;
mod record;
mod writer;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use error::{AppendError, SessionError, SessionErrorKind};
pub use file::{Durability, TornTail};
pub use observers::Observation;
pub use options::SessionOptions;
pub use record::Position;

use crate::checker::Check;
use crate::clock::Clock;
use crate::event::{ApprovalMode, Draft, Event};
use crate::header::SessionHeader;
use crate::repair::Tail;
use file::LogFile;
use observers::Observers;
use record::Record;
use writer::{Turnstile, Writer, judge, settle};

/// One append-only log, in memory or in a file of its own. Cloning it gives another handle of the same log.
///
/// ```
/// use callgate_session::{Session, SessionHeader, TurnStart};
///
/// let session = Session::in_memory(SessionHeader::new("s-1", 0));
/// let event = session.append(TurnStart { turn: 1 })?;
/// assert_eq!((event.seq, event.kind()), (0, "turn/start"));
/// assert_eq!(session.events(), [event]);
/// # Ok::<(), callgate_session::AppendError>(())
/// ```
#[derive(Clone)]
pub struct Session {
    log: Arc<Log>,
}

/// How many sessions this process has had.
static SESSIONS: AtomicU64 = AtomicU64::new(0);

struct Log {
    instance: u64,
    header: SessionHeader,
    clock: Arc<dyn Clock>,
    recovery: Recovery,
    /// Held through one append: checks, writing, and observers. Whoever holds it is the only writer.
    writer: Mutex<Writer>,
    /// Held for moments only; no code of others runs meanwhile.
    record: Mutex<Record>,
    observers: Arc<Observers>,
}

/// What opening a log had to mend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The last line, if it was not complete.
    pub torn: Option<TornTail>,
    /// How many events were added to close an open turn.
    pub added_events: usize,
}

/// Making one. [`SessionOptions`] has the same functions for sessions that are special in some way.
impl Session {
    /// A log that lives in memory only.
    pub fn in_memory(header: SessionHeader) -> Self {
        SessionOptions::new().in_memory(header)
    }

    /// A log in a new file of mode 0600; missing directories are made with mode 0700.
    ///
    /// # Errors
    ///
    /// If the file exists ([`AlreadyExists`](SessionErrorKind::AlreadyExists)), cannot be made, or if the header is wrong.
    pub fn create(path: impl AsRef<Path>, header: SessionHeader) -> Result<Self, SessionError> {
        SessionOptions::new().create(path, header)
    }

    /// Opens the log in a file, mends it, and goes on with it.
    ///
    /// A last line that is not complete JSON is moved into a file beside the log. If the log breaks off inside a turn,
    /// the events of [`repair`](crate::repair()) are appended. [`Session::recovery`] tells what was done.
    ///
    /// # Errors
    ///
    /// If there is no such file ([`NotFound`](SessionErrorKind::NotFound)), another session has it open
    /// ([`InUse`](SessionErrorKind::InUse)), or it is not a log this version understands whole: another format version, an
    /// unknown event that is not ignorable, a damaged line. The file is then left as it was.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SessionError> {
        SessionOptions::new().open(path)
    }

    /// A log in memory that starts with the events of another one, and with a `session/end-seed` behind them.
    ///
    /// An open turn of the seed is closed as by [`repair`](crate::repair()); the header gets the length of the seed.
    ///
    /// # Errors
    ///
    /// If the events are not a log ([`Invalid`](SessionErrorKind::Invalid)).
    pub fn from_events(
        header: SessionHeader,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<Self, SessionError> {
        SessionOptions::new().from_events(header, events)
    }

    /// A log in memory that starts with the first `boundary` events of this one, which becomes its parent.
    ///
    /// For a fork in a file, hand [`Session::prefix`] to [`SessionOptions::create_from_events`].
    ///
    /// # Errors
    ///
    /// As [`Session::prefix`].
    pub fn fork(&self, boundary: u64, header: SessionHeader) -> Result<Self, SessionError> {
        let header = header.with_parent_session(self.log.header.id.clone());
        SessionOptions::new().from_events(header, self.prefix(boundary)?)
    }

    fn start(
        header: SessionHeader,
        clock: Arc<dyn Clock>,
        writer: Writer,
        record: Record,
        recovery: Recovery,
    ) -> Self {
        let (writer, record) = (Mutex::new(writer), Mutex::new(record));
        Self {
            log: Arc::new(Log {
                instance: SESSIONS.fetch_add(1, Ordering::Relaxed),
                header,
                clock,
                recovery,
                writer,
                record,
                observers: Arc::default(),
            }),
        }
    }

    /// Appends events as they are, number and time included.
    fn append_exactly(&self, events: Vec<Event>) -> Result<(), SessionError> {
        let (mut writer, _inside) = self.writer()?;
        for event in events {
            let bytes = writer.commit(&event)?;
            lock(&self.log.record).push(event, bytes);
        }
        Ok(())
    }
}

/// Writing.
impl Session {
    /// Puts an event at the end of the log and returns it as it stands there.
    ///
    /// The checks see it first. Then it is written, in one piece, and observers are told. Appends of several threads are
    /// ordered, and observers see events in the order of the log; an observer must not wait for another thread that appends
    /// to the same session.
    ///
    /// # Errors
    ///
    /// If a check refuses it, it is no event of a log, it cannot be written, or it comes from inside a check or an observer
    /// of this session. The log is then unchanged.
    ///
    /// # Panics
    ///
    /// Never. A panic in a check refuses the event; a panic in an observer is contained.
    pub fn append(&self, event: impl Into<Draft>) -> Result<Event, AppendError> {
        self.append_draft(event.into())
    }

    fn append_draft(&self, draft: Draft) -> Result<Event, AppendError> {
        let (mut writer, _inside) = self.writer()?;
        let event = Event::new(writer.envelope.next_seq(), self.log.clock.now_ms(), draft);
        let bytes = writer.commit(&event)?;
        lock(&self.log.record).push(event.clone(), bytes);
        self.log.observers.notify(&event);
        Ok(event)
    }

    /// The right to write, unless this thread has it already.
    fn writer(&self) -> Result<(MutexGuard<'_, Writer>, Turnstile), AppendError> {
        let log = Arc::as_ptr(&self.log).addr();
        if Turnstile::is_inside(log) {
            return Err(AppendError::Reentrant);
        }
        let writer = lock(&self.log.writer);
        Ok((writer, Turnstile::enter(log)))
    }

    /// Has every later event judged before it is in the log. The events already there are judged at once.
    ///
    /// # Errors
    ///
    /// If an event already in the log is refused, or from inside a check or an observer. The check is then not installed.
    pub fn add_check(&self, mut check: impl Check) -> Result<(), AppendError> {
        let (mut writer, _inside) = self.writer()?;
        for event in self.history(&writer)? {
            judge(&mut check, &event)?;
            settle(&mut check, &event);
        }
        writer.checks.push(Box::new(check));
        Ok(())
    }

    /// Has a function called for every later event, in the order of the log, before its append returns.
    ///
    /// The observer stays as long as the session, unless the [`Observation`] is disposed.
    pub fn observe(&self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Observation {
        self.log.observers.add(Arc::new(observer))
    }

    /// Puts everything appended so far on the disk. A log in memory has nothing to do.
    ///
    /// # Errors
    ///
    /// If the file system says no, or from inside a check or an observer.
    pub fn flush(&self) -> Result<(), AppendError> {
        let (writer, _inside) = self.writer()?;
        let synced = writer.file.as_ref().map_or(Ok(()), LogFile::sync);
        synced.map_err(|error| AppendError::Io(Arc::new(error)))
    }

    /// Ends the session: later appends fail, the file is released. Twice is harmless.
    ///
    /// # Errors
    ///
    /// If it is called from inside a check or an observer.
    pub fn close(&self) -> Result<(), AppendError> {
        let (mut writer, _inside) = self.writer()?;
        writer.is_closed = true;
        writer.file = None;
        Ok(())
    }
}

/// Reading.
impl Session {
    /// What is known about the session.
    pub fn header(&self) -> &SessionHeader {
        &self.log.header
    }

    /// What tells this session from all others of this process, whatever their ids are. Clones share it.
    ///
    /// ```
    /// use callgate_session::{Session, SessionHeader};
    ///
    /// let (one, other) = (SessionHeader::new("s", 0), SessionHeader::new("s", 0));
    /// let (one, other) = (Session::in_memory(one), Session::in_memory(other));
    /// assert_eq!(one.instance(), one.clone().instance());
    /// assert_ne!(one.instance(), other.instance());
    /// ```
    pub fn instance(&self) -> u64 {
        self.log.instance
    }

    /// The events so far: all of them, unless [`SessionOptions::keep_bytes`] says that the oldest are in the file only.
    pub fn events(&self) -> Vec<Event> {
        self.events_from(0)
    }

    /// The events from a number on, as far as they are kept in memory.
    pub fn events_from(&self, seq: u64) -> Vec<Event> {
        lock(&self.log.record).events_from(seq)
    }

    /// The first `boundary` events: what a fork at that point starts with.
    ///
    /// # Errors
    ///
    /// If the point lies behind the end ([`InvalidBoundary`](SessionErrorKind::InvalidBoundary)) or inside a turn
    /// ([`OpenTurn`](SessionErrorKind::OpenTurn)), if the session is closed ([`NotLive`](SessionErrorKind::NotLive)), or from
    /// inside a check or an observer.
    pub fn prefix(&self, boundary: u64) -> Result<Vec<Event>, SessionError> {
        let (writer, _inside) = self.writer()?;
        if writer.is_closed {
            return Err(AppendError::NotLive.into());
        }
        let length = lock(&self.log.record).len();
        if boundary > length {
            let message =
                format!("the log has {length} events and cannot be forked after {boundary}");
            return Err(SessionError::new(SessionErrorKind::InvalidBoundary, message));
        }
        let mut events = self.history(&writer)?;
        events.truncate(usize::try_from(boundary).unwrap_or(usize::MAX));
        match Tail::of(&events).turn() {
            None => Ok(events),
            Some(turn) => Err(SessionError::new(
                SessionErrorKind::OpenTurn,
                format!(
                    "turn {turn} is open after {boundary} events; fork before its start or after its end"
                ),
            )),
        }
    }

    /// All events, from the file if not all of them are kept.
    fn history(&self, writer: &Writer) -> Result<Vec<Event>, AppendError> {
        let record = lock(&self.log.record);
        match &writer.file {
            Some(file) if record.first_kept() > 0 => {
                file.read_back().map_err(|error| AppendError::Io(Arc::new(io::Error::other(error))))
            }
            _ => Ok(record.events_from(0)),
        }
    }

    /// How many events there are, in memory or not.
    pub fn len(&self) -> u64 {
        lock(&self.log.record).len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is open now.
    pub fn position(&self) -> Position {
        lock(&self.log.record).position()
    }

    /// The approval policy the log last recorded, if it recorded one.
    pub fn approval_policy(&self) -> Option<ApprovalMode> {
        lock(&self.log.record).approvals()
    }

    /// What opening the log had to mend.
    pub fn recovery(&self) -> &Recovery {
        &self.log.recovery
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.log.header.id)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// The panics of other people's code are caught before they could poison a lock, so a poisoned one is sound.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
