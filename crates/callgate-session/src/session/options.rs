//! [`SessionOptions`]: how a session writes, stamps and remembers.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::error::SessionError;
use super::file::{Durability, LogFile};
use super::record::Record;
use super::writer::Writer;
use super::{Recovery, Session};
use crate::clock::{Clock, SystemClock};
use crate::event::{EndSeed, Event, EventBody};
use crate::header::SessionHeader;
use crate::repair::repair;
use crate::surface::Envelope;

/// How a session writes, stamps and remembers, and then how it is made.
///
/// ```
/// use callgate_session::{Durability, SessionHeader, SessionOptions};
///
/// let session = SessionOptions::new()
///     .durability(Durability::Fsync)
///     .clock(|| 1_700_000_000_000)
///     .in_memory(SessionHeader::new("s-1", 1_700_000_000_000));
/// # let _ = session;
/// ```
#[derive(Clone)]
pub struct SessionOptions {
    durability: Durability,
    clock: Arc<dyn Clock>,
    keep_bytes: usize,
}

impl SessionOptions {
    /// Written and not synced, stamped by the machine's clock, all events kept in memory.
    pub fn new() -> Self {
        Self { durability: Durability::Write, clock: Arc::new(SystemClock), keep_bytes: usize::MAX }
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

    /// How many bytes of log, as text, a session with a file keeps in memory: the newest ones, and at least one event.
    /// Older events are in the file only. A log in memory keeps everything, because there is no other place for it.
    #[must_use]
    pub fn keep_bytes(self, bytes: usize) -> Self {
        Self { keep_bytes: bytes, ..self }
    }

    /// As [`Session::in_memory`].
    pub fn in_memory(&self, header: SessionHeader) -> Session {
        self.start(header, None, Recovery::default())
    }

    /// As [`Session::create`].
    ///
    /// # Errors
    ///
    /// As [`Session::create`].
    pub fn create(
        &self,
        path: impl AsRef<Path>,
        header: SessionHeader,
    ) -> Result<Session, SessionError> {
        self.create_recovered(path.as_ref(), header, Recovery::default())
    }

    /// As [`Session::open`].
    ///
    /// # Errors
    ///
    /// As [`Session::open`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Session, SessionError> {
        let path = path.as_ref();
        let (mut file, stored) = LogFile::open(path, self.durability, self.keep_bytes)?;
        let torn = file.mend(path, &stored).map_err(|error| SessionError::io(path, &error))?;
        let added = stored.record.closing();
        let recovery = Recovery { torn, added_events: added.len() };
        let writer = Writer::new(stored.envelope, Some(file));
        let session =
            Session::start(stored.header, self.clock.clone(), writer, stored.record, recovery);
        session.append_exactly(added)?;
        Ok(session)
    }

    /// As [`Session::from_events`].
    ///
    /// # Errors
    ///
    /// As [`Session::from_events`].
    pub fn from_events(
        &self,
        header: SessionHeader,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<Session, SessionError> {
        let (header, seed, recovery) = seeded(header, events);
        finish_seed(self.start(header, None, recovery), seed)
    }

    /// As [`Session::from_events`], in a new file.
    ///
    /// # Errors
    ///
    /// As [`Session::from_events`] and [`Session::create`].
    pub fn create_from_events(
        &self,
        path: impl AsRef<Path>,
        header: SessionHeader,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<Session, SessionError> {
        let (header, seed, recovery) = seeded(header, events);
        let checked = Session::in_memory(header.clone());
        checked.append_exactly(seed.clone())?;
        finish_seed(self.create_recovered(path.as_ref(), header, recovery)?, seed)
    }

    fn create_recovered(
        &self,
        path: &Path,
        header: SessionHeader,
        recovery: Recovery,
    ) -> Result<Session, SessionError> {
        header.check()?;
        let file = LogFile::create(path, &header, self.durability)?;
        Ok(self.start(header, Some(file), recovery))
    }

    /// A session without events. In memory, all of them will be kept: there is no other place for them.
    fn start(&self, header: SessionHeader, file: Option<LogFile>, recovery: Recovery) -> Session {
        let keep_bytes = if file.is_some() { self.keep_bytes } else { usize::MAX };
        let writer = Writer::new(Envelope::default(), file);
        Session::start(header, self.clock.clone(), writer, Record::new(keep_bytes), recovery)
    }
}

/// Closes an open turn of a seed and notes its length.
fn seeded(
    header: SessionHeader,
    events: impl IntoIterator<Item = Event>,
) -> (SessionHeader, Vec<Event>, Recovery) {
    let mut seed: Vec<Event> = events.into_iter().collect();
    let added = repair(&seed);
    let recovery = Recovery { torn: None, added_events: added.len() };
    seed.extend(added);
    (SessionHeader { seed_length: Some(seed.len() as u64), ..header }, seed, recovery)
}

fn finish_seed(session: Session, seed: Vec<Event>) -> Result<Session, SessionError> {
    let is_marked = seed.last().is_some_and(|event| matches!(event.body, EventBody::EndSeed(_)));
    session.append_exactly(seed)?;
    if !is_marked {
        session.append(EndSeed)?;
    }
    Ok(session)
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
            .field("keep_bytes", &self.keep_bytes)
            .finish_non_exhaustive()
    }
}
