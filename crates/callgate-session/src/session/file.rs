//! The file of a stored log.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::error::{SessionError, SessionErrorKind};
use super::record::Record;
use crate::event::Event;
use crate::header::SessionHeader;
use crate::reader::{LogReader, ReadError};
use crate::surface::Envelope;

/// What has happened to an event when [`Session::append`](super::Session::append) returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// It is written: it survives the end of the process.
    #[default]
    Write,
    /// It is on the disk: it survives the end of the machine.
    Fsync,
}

/// A last line that was not written to its end, and that opening the log cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TornTail {
    /// Where it started, in bytes from the start of the log.
    pub offset: u64,
    /// How many bytes there were.
    pub length: u64,
    /// The file they are kept in.
    pub saved_to: PathBuf,
}

/// An open log file that this process alone appends to.
#[derive(Debug)]
pub(super) struct LogFile {
    file: File,
    length: u64,
    durability: Durability,
    /// Whether a failed write left bytes that could not be removed.
    is_broken: bool,
}

/// What a log file holds, and where what it holds ends.
pub(super) struct Stored {
    pub(super) header: SessionHeader,
    pub(super) envelope: Envelope,
    pub(super) record: Record,
    /// How many bytes the complete lines have.
    intact: u64,
    /// Whether the last complete line lacks its line break.
    lacks_break: bool,
}

impl LogFile {
    pub(super) fn create(
        path: &Path,
        header: &SessionHeader,
        durability: Durability,
    ) -> Result<Self, SessionError> {
        let io = |error| SessionError::io(path, &error);
        create_parents(path).map_err(io)?;
        let file = private(OpenOptions::new().append(true).read(true).create_new(true))
            .open(path)
            .map_err(io)?;
        lock(&file, path)?;
        let mut log = Self { file, length: 0, durability, is_broken: false };
        let written =
            log.append(format!("{header}\n").as_bytes()).and_then(|()| log.sync_parent(path));
        if let Err(error) = written {
            // The empty file would only be in the way; the failure to report is the write's.
            let _ = fs::remove_file(path);
            return Err(io(error));
        }
        Ok(log)
    }

    /// Opens a log and reads it, without changing it.
    pub(super) fn open(
        path: &Path,
        durability: Durability,
        keep_bytes: usize,
    ) -> Result<(Self, Stored), SessionError> {
        let io = |error| SessionError::io(path, &error);
        let file = OpenOptions::new().append(true).read(true).open(path).map_err(io)?;
        if !file.metadata().map_err(io)?.is_file() {
            let message =
                format!("`{}` is not a file, so it cannot be a session log", path.display());
            return Err(SessionError::new(SessionErrorKind::Unreadable, message));
        }
        lock(&file, path)?;
        let stored =
            Stored::read(&file, keep_bytes).map_err(|error| SessionError::read(path, &error))?;
        Ok((Self { file, length: stored.intact, durability, is_broken: false }, stored))
    }

    /// Removes what is behind the last complete line, and completes that line.
    pub(super) fn mend(&mut self, path: &Path, stored: &Stored) -> io::Result<Option<TornTail>> {
        let torn = self.cut_tail(path)?;
        if stored.lacks_break {
            self.append(b"\n")?;
        }
        Ok(torn)
    }

    /// The events, read from the file again.
    pub(super) fn read_back(&self) -> Result<Vec<Event>, ReadError> {
        (&self.file).seek(SeekFrom::Start(0)).map_err(ReadError::of_input)?;
        LogReader::new(BufReader::new(&self.file))?.collect()
    }

    /// Moves what lies behind the last complete line into a file beside the log.
    fn cut_tail(&mut self, path: &Path) -> io::Result<Option<TornTail>> {
        let offset = self.length;
        let length = self.file.metadata()?.len().saturating_sub(offset);
        if length == 0 {
            return Ok(None);
        }
        let (saved_to, mut saved) = create_beside(path, offset)?;
        copy_from(&self.file, offset, &mut saved)?;
        if self.durability == Durability::Fsync {
            saved.sync_data()?;
        }
        self.file.set_len(offset)?;
        Ok(Some(TornTail { offset, length, saved_to }))
    }

    /// Writes one line, whole or not at all.
    pub(super) fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other(
                "an earlier write failed half-way and could not be undone",
            ));
        }
        let written = self.write_once(line).and_then(|()| match self.durability {
            Durability::Write => Ok(()),
            Durability::Fsync => self.file.sync_data(),
        });
        match written {
            Ok(()) => self.length += line.len() as u64,
            Err(_) => self.is_broken = self.file.set_len(self.length).is_err(),
        }
        written
    }

    /// One `write(2)`: readers of a live log never see half a line of a healthy disk.
    fn write_once(&mut self, line: &[u8]) -> io::Result<()> {
        loop {
            match self.file.write(line) {
                Ok(count) if count == line.len() => return Ok(()),
                Ok(_) => {
                    let reason = "there was room for a part of the event only";
                    return Err(io::Error::new(io::ErrorKind::StorageFull, reason));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Puts everything written so far on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// A new file is on the disk only when its directory is.
    fn sync_parent(&self, path: &Path) -> io::Result<()> {
        match (self.durability, path.parent()) {
            (Durability::Fsync, Some(parent)) if cfg!(unix) => {
                let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                File::open(parent)?.sync_all()
            }
            _ => Ok(()),
        }
    }
}

impl Stored {
    fn read(file: &File, keep_bytes: usize) -> Result<Self, ReadError> {
        let mut reader = LogReader::new(BufReader::new(file))?;
        let mut envelope = Envelope::default();
        let mut record = Record::new(keep_bytes);
        let mut intact = reader.offset();
        while let Some(read) = reader.next() {
            match read {
                Ok(event) => {
                    reader.check(&mut envelope, &event, intact)?;
                    record.push(
                        event,
                        usize::try_from(reader.offset() - intact).unwrap_or(usize::MAX),
                    );
                }
                Err(error) if error.is_broken_json() && reader.is_at_end()? => break,
                Err(error) => return Err(error),
            }
            intact = reader.offset();
        }
        let header = reader.header().clone();
        Ok(Self { header, envelope, record, intact, lacks_break: reader.lacks_line_break() })
    }
}

fn lock(file: &File, path: &Path) -> Result<(), SessionError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(SessionError::new(
            SessionErrorKind::InUse,
            format!(
                "session log `{}` is in use by another process; read it with a log reader",
                path.display()
            ),
        )),
        // Some network file systems have no locks; nothing better is to be had there.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(SessionError::io(path, &error)),
    }
}

/// Logs hold what tools returned: nobody but their owner may read them.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn create_parents(path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
        return Ok(());
    };
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(parent)
}

/// A new file named after the log and the place of its torn tail.
fn create_beside(path: &Path, offset: u64) -> io::Result<(PathBuf, File)> {
    let mut attempt = 0_u32;
    loop {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".torn-{offset}"));
        if attempt > 0 {
            name.push(format!("-{attempt}"));
        }
        let beside = path.with_file_name(name);
        match private(OpenOptions::new().write(true).create_new(true)).open(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

fn copy_from(mut file: &File, offset: u64, into: &mut File) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    io::copy(&mut file, into).map(drop)
}
