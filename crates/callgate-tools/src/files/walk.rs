//! The files below a directory, in the order of their paths.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use callgate::ToolError;
use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;

use super::blocking::Watch;
use super::fault;
use super::ignored::Ignored;
use super::root::{Entered, OpenDirectory, Opened, Root, enter, list, shown};

/// How many directories stay open at once; the ones further up are opened again when needed.
const MOST_OPEN: usize = 32;

/// A walk over the regular files below a directory, sorted by the bytes of their paths.
///
/// It follows no links, and leaves out `.git`, what `.gitignore` files ignore, hidden entries
/// unless asked for, and what is neither file nor directory.
pub(super) struct Walk<'a> {
    root: &'a Root,
    watch: &'a Watch,
    include_hidden: bool,
    /// The entry at hand, from the root.
    path: String,
    /// How much of the path leads to the directory the walk started in, with the slash.
    start: usize,
    /// The directories between the start and the entry at hand.
    frames: Vec<Frame>,
    ignored: Ignored,
    skipped: u64,
}

/// A directory that is being walked.
struct Frame {
    /// None if it was closed to save descriptors.
    fd: Option<OwnedFd>,
    /// How much of the path leads to it, with the slash.
    depth: usize,
    /// What is left of it, last first.
    rest: Vec<Entry>,
}

struct Entry {
    name: String,
    is_directory: bool,
}

/// A regular file, as the listing of its directory has it.
pub(super) struct Found<'w> {
    /// From the root.
    pub(super) path: &'w str,
    /// From the directory the walk started in.
    pub(super) below_start: &'w str,
    name: &'w str,
    dir: BorrowedFd<'w>,
}

impl<'a> Walk<'a> {
    /// Starts at a directory a model named, which may itself be hidden or ignored.
    pub(super) fn start(
        root: &'a Root,
        start: OpenDirectory,
        include_hidden: bool,
        watch: &'a Watch,
    ) -> Result<Self, ToolError> {
        let mut walk = Self {
            root,
            watch,
            include_hidden,
            path: String::new(),
            start: 0,
            frames: Vec::new(),
            ignored: Ignored::default(),
            skipped: 0,
        };
        walk.approach(&start)?;
        walk.start = walk.path.len();
        match walk.open_frame(start.fd) {
            Ok(()) => Ok(walk),
            Err(Failure::Stopped(error)) => Err(error),
            Err(Failure::Unreadable(errno)) => Err(fault::unreadable(&shown(&start.names), errno)),
        }
    }

    /// Collects the rules of the directories above the start.
    fn approach(&mut self, start: &OpenDirectory) -> Result<(), ToolError> {
        let mut dir: Option<OwnedFd> = None;
        for name in &start.names {
            let Some(text) = name.to_str() else {
                let why = "a name in its path is not UTF-8, so nothing in it could be named";
                return Err(fault::unreadable(&shown(&start.names), io::Error::other(why)));
            };
            if text == ".git" {
                let message = "`path` leads into `.git`, which is never searched; use `read` to see single files of it";
                return Err(ToolError::invalid_arguments(message));
            }
            let above = dir.as_ref().map_or(self.root.fd(), AsFd::as_fd);
            self.skipped += u64::from(self.ignored.enter(above, self.path.len()).is_err());
            self.path.push_str(text);
            self.path.push('/');
            dir = match enter(above, name) {
                Ok(Entered::Directory(fd)) => Some(fd),
                _ => {
                    return Err(fault::not_found(format!(
                        "`{}` does not exist any more",
                        shown(&start.names)
                    )));
                }
            };
        }
        Ok(())
    }

    /// The next file.
    pub(super) fn next(&mut self) -> Result<Option<Found<'_>>, ToolError> {
        let found = self.advance()?;
        let frame = self.frames.last().filter(|_| found);
        let Some(Frame { fd: Some(fd), depth, .. }) = frame else { return Ok(None) };
        Ok(Some(Found {
            path: &self.path,
            below_start: &self.path[self.start..],
            name: &self.path[*depth..],
            dir: fd.as_fd(),
        }))
    }

    /// How many entries could not be looked at so far: unreadable, or with a name that is not
    /// UTF-8.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Goes to the next file that is not ignored; says whether there is one, whose directory is
    /// then open.
    fn advance(&mut self) -> Result<bool, ToolError> {
        while let Some(frame) = self.frames.last_mut() {
            self.watch.check()?;
            let Some(entry) = frame.rest.pop() else {
                self.frames.pop();
                self.ignored.leave();
                continue;
            };
            self.path.truncate(frame.depth);
            self.path.push_str(&entry.name);
            if self.ignored.covers(&self.path, entry.is_directory) || !self.reopen(&entry) {
                continue;
            }
            if !entry.is_directory {
                return Ok(true);
            }
            self.descend(&entry.name)?;
        }
        Ok(false)
    }

    /// Opens the directory of the entry at hand again, if it was closed. If that fails, the
    /// entry counts as skipped.
    fn reopen(&mut self, entry: &Entry) -> bool {
        let Some(frame) = self.frames.last_mut() else { return false };
        if frame.fd.is_some() {
            return true;
        }
        let directory = self.path[..self.path.len() - entry.name.len()].trim_end_matches('/');
        match self.root.open(if directory.is_empty() { "." } else { directory }) {
            Ok(Opened::Directory(directory)) => frame.fd = Some(directory.fd),
            _ => self.skipped += 1,
        }
        frame.fd.is_some()
    }

    fn descend(&mut self, name: &str) -> Result<(), ToolError> {
        let Some(fd) = self.frames.last().and_then(|frame| frame.fd.as_ref()) else {
            return Ok(());
        };
        let entered = match enter(fd.as_fd(), OsStr::new(name)) {
            Ok(Entered::Directory(fd)) => {
                self.path.push('/');
                self.open_frame(fd)
            }
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(Failure::Unreadable(errno)),
        };
        match entered {
            Err(Failure::Stopped(error)) => Err(error),
            Err(Failure::Unreadable(_)) => {
                self.skipped += 1;
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Goes down into the directory that the path leads to.
    fn open_frame(&mut self, fd: OwnedFd) -> Result<(), Failure> {
        let rest = self.entries(fd.as_fd())?;
        self.skipped += u64::from(self.ignored.enter(fd.as_fd(), self.path.len()).is_err());
        self.frames.push(Frame { fd: Some(fd), depth: self.path.len(), rest });
        if let Some(above) = self.frames.len().checked_sub(MOST_OPEN + 1) {
            self.frames[above].fd = None;
        }
        Ok(())
    }

    /// The entries of a directory that may be walked, last first.
    fn entries(&mut self, dir: BorrowedFd<'_>) -> Result<Vec<Entry>, Failure> {
        let mut entries = Vec::new();
        for entry in list(dir)? {
            self.watch.check().map_err(Failure::Stopped)?;
            let entry = entry?;
            let bytes = entry.file_name().to_bytes();
            let is_hidden = bytes.starts_with(b".");
            if matches!(bytes, b"." | b".." | b".git") || (is_hidden && !self.include_hidden) {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => kind_of(dir, entry.file_name()),
                known => known,
            };
            if !matches!(kind, FileType::RegularFile | FileType::Directory) {
                continue;
            }
            match std::str::from_utf8(bytes) {
                Ok(name) => entries.push(Entry {
                    name: name.to_owned(),
                    is_directory: kind == FileType::Directory,
                }),
                Err(_) => self.skipped += 1,
            }
        }
        entries.sort_unstable_by(|a, b| b.order(a));
        Ok(entries)
    }
}

/// Why a directory cannot be walked.
enum Failure {
    Unreadable(Errno),
    Stopped(ToolError),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self::Unreadable(errno)
    }
}

impl Entry {
    /// The order of whole paths: a directory sorts as if its name ended with the slash.
    fn order(&self, other: &Self) -> Ordering {
        let key = |entry: &Self| entry.is_directory.then_some(b'/');
        let (mine, others) =
            (self.name.bytes().chain(key(self)), other.name.bytes().chain(key(other)));
        mine.cmp(others)
    }
}

impl Found<'_> {
    /// The size in bytes, if it is still a regular file.
    pub(super) fn bytes(&self) -> Option<u64> {
        let stat = statat(self.dir, self.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        u64::try_from(stat.st_size).ok().filter(|_| is_file)
    }

    /// The file, opened, if it is still a regular file.
    pub(super) fn open(&self) -> rustix::io::Result<Option<File>> {
        match enter(self.dir, OsStr::new(self.name)) {
            Ok(Entered::File(file)) => Ok(Some(file)),
            Ok(_) | Err(Errno::NOENT | Errno::LOOP) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

fn kind_of(dir: BorrowedFd<'_>, name: &std::ffi::CStr) -> FileType {
    statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}
