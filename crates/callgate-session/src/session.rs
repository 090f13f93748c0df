//! [`Session`]: one append-only log.

mod error;
mod file;

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

pub use error::{AppendError, SessionError, SessionErrorKind};
pub use file::{Durability, TornTail};

use crate::checker::{Check, Violation};
use crate::clock::{Clock, SystemClock};
use crate::event::{ApprovalMode, Draft, EndSeed, Event, EventBody};
use crate::header::SessionHeader;
use crate::reader::LINE_DEPTH;
use crate::repair::Tail;
use crate::surface::Envelope;
use file::{LogFile, Stored};

/// How a session writes and where its time comes from.
///
/// ```
/// use callgate_session::{Durability, SessionOptions};
///
/// let options = SessionOptions::new().durability(Durability::Fsync).clock(|| 1_700_000_000_000);
/// ```
#[derive(Clone)]
pub struct SessionOptions {
    durability: Durability,
    clock: Arc<dyn Clock>,
}

impl SessionOptions {
    /// Written, not synced, stamped by the machine's clock.
    pub fn new() -> Self {
        Self { durability: Durability::Write, clock: Arc::new(SystemClock) }
    }

    /// What has happened to an event when it is appended.
    #[must_use]
    pub fn durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Where time stamps come from.
    #[must_use]
    pub fn clock(self, clock: impl Clock) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions")
            .field("durability", &self.durability)
            .finish_non_exhaustive()
    }
}

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

struct Log {
    header: SessionHeader,
    clock: Arc<dyn Clock>,
    recovery: Recovery,
    /// Held through one append: checks, writing, and observers. Whoever holds it is the only writer.
    writer: Mutex<Writer>,
    /// Held for moments only; no code of others runs meanwhile.
    record: Mutex<Record>,
    observers: Mutex<Observers>,
}

#[derive(Default)]
struct Writer {
    envelope: Envelope,
    checks: Vec<Box<dyn Check>>,
    file: Option<LogFile>,
    line: String,
    is_closed: bool,
}

#[derive(Default)]
struct Record {
    events: Vec<Event>,
    tail: Tail,
    approvals: Option<ApprovalMode>,
}

#[derive(Default)]
struct Observers {
    next_id: u64,
    entries: Arc<[(u64, Observer)]>,
}

type Observer = Arc<dyn Fn(&Event) + Send + Sync>;

/// What opening a log had to mend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The last line, if it was not complete.
    pub torn: Option<TornTail>,
    /// How many events were added to close an open turn.
    pub added_events: usize,
}

/// What is open in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// How many turns were opened so far; the next one has this number plus one.
    pub turns: u64,
    /// The open turn.
    pub turn: Option<u64>,
    /// The open step.
    pub step: Option<u64>,
}

impl Session {
    /// A log that lives in memory only.
    pub fn in_memory(header: SessionHeader) -> Self {
        Self::in_memory_with(header, SessionOptions::new())
    }

    /// A log that lives in memory only.
    pub fn in_memory_with(header: SessionHeader, options: SessionOptions) -> Self {
        Self::start(header, options, None)
    }

    /// A log in a new file of mode 0600; missing directories are made with mode 0700.
    ///
    /// # Errors
    ///
    /// If the file exists ([`AlreadyExists`](SessionErrorKind::AlreadyExists)), cannot be made, or if the header is wrong.
    pub fn create(path: impl AsRef<Path>, header: SessionHeader) -> Result<Self, SessionError> {
        Self::create_with(path, header, SessionOptions::new())
    }

    /// As [`Session::create`].
    ///
    /// # Errors
    ///
    /// As [`Session::create`].
    pub fn create_with(
        path: impl AsRef<Path>,
        header: SessionHeader,
        options: SessionOptions,
    ) -> Result<Self, SessionError> {
        header.check()?;
        let file = LogFile::create(path.as_ref(), &header, options.durability)?;
        Ok(Self::start(header, options, Some(file)))
    }

    /// Opens the log in a file, mends it, and goes on with it.
    ///
    /// A last line that is not complete JSON is moved into a file beside the log. If the log breaks off inside a turn,
    /// the events of [`repair`](crate::repair()) are appended. [`Session::recovery`] tells what was done.
    ///
    /// # Errors
    ///
    /// If there is no such file ([`NotFound`](SessionErrorKind::NotFound)), another process has it open
    /// ([`InUse`](SessionErrorKind::InUse)), or it is not a log this version understands whole: another format version, an
    /// unknown event that is not ignorable, a damaged line. The file is then left as it was.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SessionError> {
        Self::open_with(path, SessionOptions::new())
    }

    /// As [`Session::open`].
    ///
    /// # Errors
    ///
    /// As [`Session::open`].
    pub fn open_with(
        path: impl AsRef<Path>,
        options: SessionOptions,
    ) -> Result<Self, SessionError> {
        let (file, stored) = LogFile::open(path.as_ref(), options.durability)?;
        let Stored { header, events, torn } = stored;
        let mut session = Self::start(header, options, Some(file));
        session.replay(events)?;
        let added_events = session.close_open_turn()?;
        session.note(Recovery { torn, added_events });
        Ok(session)
    }

    /// A log in memory that starts with the events of another one, and with a `session/end-seed` behind them.
    ///
    /// An open turn of the seed is closed as by [`repair`](crate::repair()).
    ///
    /// # Errors
    ///
    /// If the events are not a log.
    pub fn from_events(
        header: SessionHeader,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<Self, SessionError> {
        Self::from_events_with(header, events, SessionOptions::new())
    }

    /// As [`Session::from_events`].
    ///
    /// # Errors
    ///
    /// As [`Session::from_events`].
    pub fn from_events_with(
        header: SessionHeader,
        events: impl IntoIterator<Item = Event>,
        options: SessionOptions,
    ) -> Result<Self, SessionError> {
        let mut session = Self::in_memory_with(header, options);
        session.replay(events)?;
        let added_events = session.close_open_turn()?;
        session.note(Recovery { torn: None, added_events });
        let is_marked =
            lock(&session.log.record).events.last().is_some_and(|event| is_end_seed(&event.body));
        if !is_marked {
            session.append(EndSeed)?;
        }
        Ok(session)
    }

    fn start(header: SessionHeader, options: SessionOptions, file: Option<LogFile>) -> Self {
        let log = Log {
            header,
            clock: options.clock,
            recovery: Recovery::default(),
            writer: Mutex::new(Writer { file, ..Writer::default() }),
            record: Mutex::default(),
            observers: Mutex::default(),
        };
        Self { log: Arc::new(log) }
    }

    /// Takes over events that are stored already.
    fn replay(&self, events: impl IntoIterator<Item = Event>) -> Result<(), SessionError> {
        let mut writer = lock(&self.log.writer);
        let mut record = lock(&self.log.record);
        for event in events {
            writer.check_envelope(&event).map_err(SessionError::from)?;
            writer.envelope.advance(&event);
            record.push(event);
        }
        Ok(())
    }

    fn close_open_turn(&self) -> Result<usize, SessionError> {
        let (drafts, time) = {
            let record = lock(&self.log.record);
            (record.tail.closing(), record.events.last().map_or(0, |event| event.time))
        };
        let count = drafts.len();
        for draft in drafts {
            self.append_at(draft, time)?;
        }
        Ok(count)
    }

    fn note(&mut self, recovery: Recovery) {
        if let Some(log) = Arc::get_mut(&mut self.log) {
            log.recovery = recovery;
        }
    }

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
        self.append_at(event.into(), self.log.clock.now_ms())
    }

    fn append_at(&self, draft: Draft, time: u64) -> Result<Event, AppendError> {
        let (mut writer, _turn) = self.writer()?;
        let event = Event::new(writer.envelope.next_seq(), time, draft);
        writer.commit(&event)?;
        lock(&self.log.record).push(event.clone());
        self.notify(&event);
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

    fn notify(&self, event: &Event) {
        let observers = lock(&self.log.observers).entries.clone();
        for (_, observer) in observers.iter() {
            // A panic of an observer is its own; the event is committed and the others hear of it.
            let _ = catch_unwind(AssertUnwindSafe(|| observer(event)));
        }
    }

    /// Has every later event judged before it is in the log. The events already there are judged at once.
    ///
    /// # Errors
    ///
    /// If an event already in the log is refused, or from inside a check or an observer. The check is then not installed.
    pub fn add_check(&self, mut check: impl Check) -> Result<(), AppendError> {
        let (mut writer, _turn) = self.writer()?;
        for event in self.events() {
            judge(&mut check, &event)?;
            check.committed(&event);
        }
        writer.checks.push(Box::new(check));
        Ok(())
    }

    /// Has a function called for every later event, in the order of the log, before its append returns.
    ///
    /// The observer stays as long as the session, unless the [`Observation`] is disposed.
    pub fn observe(&self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Observation {
        let mut observers = lock(&self.log.observers);
        let id = observers.next_id;
        observers.next_id += 1;
        let added: (u64, Observer) = (id, Arc::new(observer));
        observers.entries = observers.entries.iter().cloned().chain([added]).collect();
        Observation { log: Arc::downgrade(&self.log), id }
    }

    /// What is known about the session.
    pub fn header(&self) -> &SessionHeader {
        &self.log.header
    }

    /// The events so far.
    pub fn events(&self) -> Vec<Event> {
        lock(&self.log.record).events.clone()
    }

    /// The events from a number on.
    pub fn events_from(&self, seq: u64) -> Vec<Event> {
        let start = usize::try_from(seq).unwrap_or(usize::MAX);
        lock(&self.log.record).events.get(start..).unwrap_or_default().to_vec()
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        lock(&self.log.record).events.len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is open now.
    pub fn position(&self) -> Position {
        let record = lock(&self.log.record);
        Position { turns: record.tail.turns(), turn: record.tail.turn(), step: record.tail.step() }
    }

    /// The approval policy the log last recorded, if it recorded one.
    pub fn approval_policy(&self) -> Option<ApprovalMode> {
        lock(&self.log.record).approvals
    }

    /// What opening the log had to mend.
    pub fn recovery(&self) -> &Recovery {
        &self.log.recovery
    }

    /// Puts everything appended so far on the disk. A log in memory has nothing to do.
    ///
    /// # Errors
    ///
    /// If the file system says no.
    pub fn flush(&self) -> std::io::Result<()> {
        lock(&self.log.writer).file.as_ref().map_or(Ok(()), LogFile::sync)
    }

    /// Ends the session: later appends fail, the file is released. Twice is harmless.
    ///
    /// # Errors
    ///
    /// If it is called from inside a check or an observer.
    pub fn close(&self) -> Result<(), AppendError> {
        let (mut writer, _turn) = self.writer()?;
        writer.is_closed = true;
        writer.file = None;
        Ok(())
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

impl Writer {
    /// Checks an event, writes it, and takes it over: all or nothing.
    fn commit(&mut self, event: &Event) -> Result<(), AppendError> {
        if self.is_closed {
            return Err(AppendError::NotLive);
        }
        self.check_envelope(event).map_err(AppendError::Invalid)?;
        for check in &mut self.checks {
            judge(&mut **check, event)?;
        }
        self.write(event)?;
        self.envelope.advance(event);
        for check in &mut self.checks {
            // The event is committed; a check that panics now cannot take it back.
            let _ = catch_unwind(AssertUnwindSafe(|| check.committed(event)));
        }
        Ok(())
    }

    fn check_envelope(&self, event: &Event) -> Result<(), Violation> {
        self.envelope
            .check(event)
            .map_err(|problem| Violation::new(env!("CARGO_PKG_NAME"), event.seq, problem))
    }

    fn write(&mut self, event: &Event) -> Result<(), AppendError> {
        self.line.clear();
        event.print_line(&mut self.line);
        if depth(&self.line) > LINE_DEPTH {
            return Err(AppendError::TooDeep);
        }
        match &mut self.file {
            Some(file) => {
                file.append(self.line.as_bytes()).map_err(|error| AppendError::Io(Arc::new(error)))
            }
            None => Ok(()),
        }
    }
}

fn judge(check: &mut dyn Check, event: &Event) -> Result<(), AppendError> {
    match catch_unwind(AssertUnwindSafe(|| check.check(event))) {
        Ok(verdict) => verdict.map_err(AppendError::Rejected),
        Err(_) => Err(AppendError::CheckPanicked),
    }
}

impl Record {
    fn push(&mut self, event: Event) {
        self.tail.feed(&event);
        if let EventBody::ApprovalPolicy(entry) = &event.body {
            self.approvals = Some(entry.policy);
        }
        self.events.push(event);
    }
}

fn is_end_seed(body: &EventBody) -> bool {
    matches!(body, EventBody::EndSeed(_))
}

/// How many brackets are open at once in JSON text.
fn depth(text: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

/// The exact undo of one [`Session::observe`]. Dropping it does nothing.
#[derive(Clone)]
pub struct Observation {
    log: Weak<Log>,
    id: u64,
}

impl Observation {
    /// Removes the observer. Twice is harmless.
    pub fn dispose(&self) {
        if let Some(log) = self.log.upgrade() {
            let mut observers = lock(&log.observers);
            let kept = observers.entries.iter().filter(|(id, _)| *id != self.id).cloned().collect();
            let old = std::mem::replace(&mut observers.entries, kept);
            drop(observers);
            drop(old);
        }
    }
}

impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observation").field("id", &self.id).finish_non_exhaustive()
    }
}

thread_local! {
    /// The logs this thread is appending to right now: an observer may append to another session.
    static INSIDE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Marks, for as long as it lives, that this thread is inside an append to a log.
struct Turnstile;

impl Turnstile {
    fn is_inside(log: usize) -> bool {
        INSIDE.with_borrow(|inside| inside.contains(&log))
    }

    fn enter(log: usize) -> Self {
        INSIDE.with_borrow_mut(|inside| inside.push(log));
        Self
    }
}

impl Drop for Turnstile {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(Vec::pop);
    }
}

/// No code of others runs under a lock without its panics being caught, so a poisoned one is sound.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
