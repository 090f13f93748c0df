//! The root, and the only way to open something below it.
//!
//! A path is walked one component at a time. Each step looks at an entry of an open directory
//! without following links and opens what it saw with `O_NOFOLLOW`; a link is read and its target
//! walked in the same way. So nothing is ever opened that was not reached from the root's own
//! descriptor, whatever others rename meanwhile, and it needs no newer kernel than any Unix has.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use callgate::ToolError;
use callgate::schema::nearest_name;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::fault;

/// As many links as Linux follows in one path.
const MOST_DETOURS: usize = 40;
/// As long as a path of the operating system can be, in bytes.
const LONGEST_PATH: usize = 4_096;
/// How many names are read to find the one that may have been meant.
const MOST_NEIGHBOURS: usize = 10_000;

/// For directories that are only passed through, which may be unreadable.
#[cfg(any(target_os = "linux", target_os = "android"))]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const PASS: OFlags = OFlags::RDONLY;

/// Why a directory cannot be the root of [`FileTools`](super::FileTools).
///
/// ```
/// let error = callgate_tools::FileTools::below("/no/such/directory").unwrap_err();
/// assert!(error.to_string().starts_with("cannot use `/no/such/directory` as root: "));
/// ```
#[derive(Debug)]
pub struct RootError {
    path: PathBuf,
    source: io::Error,
}

impl fmt::Display for RootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot use `{}` as root: {}", self.path.display(), fault::words(&self.source))
    }
}

impl Error for RootError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// A directory, open, and where it was when it was opened.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    fd: OwnedFd,
}

/// Something below the root, open, with the names that lead to it without links.
#[derive(Debug)]
pub(super) enum Opened {
    Directory(OpenDirectory),
    File(OpenFile),
}

#[derive(Debug)]
pub(super) struct OpenDirectory {
    pub(super) fd: OwnedFd,
    pub(super) names: Vec<OsString>,
}

#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) file: File,
    pub(super) names: Vec<OsString>,
}

impl Root {
    pub(super) fn open_at(path: &Path) -> Result<Self, RootError> {
        let open = || {
            let path = path.canonicalize()?;
            let flags = PASS | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let fd = rustix::fs::open(&path, flags, Mode::empty())?;
            list(fd.as_fd())?;
            Ok(Self { path, fd })
        };
        open().map_err(|source| RootError { path: path.to_owned(), source })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Opens the file or directory at a path that a model gave.
    pub(super) fn open(&self, path: &str) -> Result<Opened, ToolError> {
        let pending = self.admit(path)?;
        Resolution { root: self, given: path, fd: None, names: Vec::new(), pending, detours: 0 }
            .run()
    }

    /// The steps of a path, last first, if it is a relative path at all.
    fn admit(&self, path: &str) -> Result<Vec<OsString>, ToolError> {
        let invalid = |message: String| Err(ToolError::invalid_arguments(message));
        if path.trim().is_empty() {
            return invalid(
                "`path` is blank; name something below the root, such as `src`".to_owned(),
            );
        }
        if path.len() > LONGEST_PATH || path.contains('\0') {
            return invalid(format!(
                "`path` is no path: it holds a NUL character or more than {LONGEST_PATH} bytes"
            ));
        }
        let path = Path::new(path);
        if path.is_absolute() {
            let way_out = match path.strip_prefix(&self.path) {
                Ok(below) if below.as_os_str().is_empty() => "this one is `.`".to_owned(),
                Ok(below) => format!("this one is `{}`", below.display()),
                Err(_) => "only what is below the root can be read".to_owned(),
            };
            return Err(fault::outside(format!(
                "`{}` is absolute; paths are relative to the root, and {way_out}",
                path.display()
            )));
        }
        Ok(steps(path))
    }

    /// Where an absolute link leads below the root, if it does.
    fn below(&self, target: &Path) -> Option<PathBuf> {
        let is_plain = |below: &&Path| !below.components().any(|step| step == Component::ParentDir);
        if let Some(below) = target.strip_prefix(&self.path).ok().filter(is_plain) {
            return Some(below.to_owned());
        }
        // Under another name of the root. The answer is only a hint: it is walked like any path.
        target.canonicalize().ok()?.strip_prefix(&self.path).ok().map(Path::to_owned)
    }
}

/// The steps of a path, last first.
fn steps(path: &Path) -> Vec<OsString> {
    let step = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().rev().filter_map(step).collect()
}

/// A walk along one path.
struct Resolution<'a> {
    root: &'a Root,
    given: &'a str,
    /// The directory reached; none is the root.
    fd: Option<OwnedFd>,
    /// The names that lead there from the root, none of them a link.
    names: Vec<OsString>,
    /// The steps still to take, last first.
    pending: Vec<OsString>,
    /// Links followed, and entries that changed between the look and the opening.
    detours: usize,
}

/// What an entry of a directory is, open where that is safe.
pub(super) enum Entered {
    Directory(OwnedFd),
    File(File),
    Link(PathBuf),
    /// A pipe, socket or device: opening it might block, or have an effect.
    Special(&'static str),
}

impl Resolution<'_> {
    fn run(mut self) -> Result<Opened, ToolError> {
        while let Some(step) = self.pending.pop() {
            if step == ".." {
                self.leave()?;
                continue;
            }
            match enter(self.fd(), &step) {
                Ok(Entered::Directory(fd)) => {
                    self.fd = Some(fd);
                    self.names.push(step);
                }
                Ok(Entered::Link(target)) => self.follow(&target)?,
                Ok(Entered::File(file)) => {
                    self.names.push(step);
                    return self.arrive(file);
                }
                Ok(Entered::Special(kind)) => return Err(self.special(kind)),
                // Only if it changed after we looked at it: look again.
                Err(Errno::LOOP | Errno::NOTDIR) => {
                    self.detour()?;
                    self.pending.push(step);
                }
                Err(Errno::NOENT) => return Err(self.missing(&step)),
                Err(errno) => return Err(fault::unreadable(self.given, errno)),
            }
        }
        let fd = self.fd.map_or_else(|| self.root.fd.try_clone(), Ok);
        let fd = fd.map_err(|error| fault::unreadable(self.given, error))?;
        Ok(Opened::Directory(OpenDirectory { fd, names: self.names }))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_ref().map_or(self.root.fd(), AsFd::as_fd)
    }

    fn arrive(self, file: File) -> Result<Opened, ToolError> {
        if self.pending.is_empty() {
            return Ok(Opened::File(OpenFile { file, names: self.names }));
        }
        let (given, file) = (self.given, shown(&self.names));
        Err(fault::not_found(format!(
            "`{given}` does not exist, because `{file}` is a file, not a directory"
        )))
    }

    /// One step up, by walking down again: the parent entry of a directory is whatever others
    /// made of it since.
    fn leave(&mut self) -> Result<(), ToolError> {
        if self.names.pop().is_none() {
            let how = if self.detours == 0 { "`..`" } else { "a symbolic link or `..`" };
            return Err(self.escape(how));
        }
        self.fd = None;
        for name in &self.names {
            let flags = PASS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = openat(self.fd(), name, flags, Mode::empty())
                .map_err(|errno| fault::unreadable(self.given, errno))?;
            self.fd = Some(fd);
        }
        Ok(())
    }

    fn follow(&mut self, target: &Path) -> Result<(), ToolError> {
        self.detour()?;
        if target.is_absolute() {
            let below = self.root.below(target).ok_or_else(|| self.escape("a symbolic link"))?;
            self.fd = None;
            self.names.clear();
            self.pending.extend(steps(&below));
        } else {
            self.pending.extend(steps(target));
        }
        Ok(())
    }

    fn detour(&mut self) -> Result<(), ToolError> {
        self.detours += 1;
        if self.detours > MOST_DETOURS {
            let why = format!(
                "it goes through more than {MOST_DETOURS} symbolic links, perhaps in a circle"
            );
            return Err(fault::unreadable(self.given, io::Error::other(why)));
        }
        Ok(())
    }

    #[cold]
    fn escape(&self, how: &str) -> ToolError {
        let given = self.given;
        fault::outside(format!(
            "`{given}` leads out of the root through {how}; only what is below the root can be read"
        ))
    }

    #[cold]
    fn special(&self, kind: &str) -> ToolError {
        let given = self.given;
        fault::not_regular(format!("`{given}` is {kind}; only files and directories can be read"))
    }

    /// No such entry: says which step failed, and what may have been meant.
    #[cold]
    fn missing(&self, step: &OsStr) -> ToolError {
        let below = |name: &str| match shown(&self.names) {
            parent if parent.is_empty() => name.to_owned(),
            parent => format!("{parent}/{name}"),
        };
        let step = step.to_string_lossy();
        let cause = if self.pending.is_empty() && self.detours == 0 {
            String::new()
        } else {
            format!(", because `{}` does not", below(&step))
        };
        let neighbours = neighbours(self.fd());
        let way_out = match nearest_name(&step, neighbours.iter().map(String::as_str)) {
            Some(name) => format!("did you mean `{}`?", below(name)),
            None => "use `glob` to see what is there".to_owned(),
        };
        fault::not_found(format!("`{}` does not exist{cause}; {way_out}", self.given))
    }
}

/// Looks at one entry of a directory, without following it, and opens it if it is a directory or
/// a regular file.
pub(super) fn enter(dir: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<Entered> {
    let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            let flags = PASS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            openat(dir, name, flags, Mode::empty()).map(Entered::Directory)
        }
        FileType::RegularFile => open_regular(dir, name),
        FileType::Symlink => {
            let target = readlinkat(dir, name, Vec::new())?.into_bytes();
            Ok(Entered::Link(OsString::from_vec(target).into()))
        }
        other => Ok(Entered::Special(described(other))),
    }
}

/// Opens what looked like a regular file, and looks again at what was opened.
fn open_regular(dir: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<Entered> {
    // Without blocking: a pipe may have taken its place.
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = openat(dir, name, flags, Mode::empty())?;
    match FileType::from_raw_mode(fstat(&fd)?.st_mode) {
        FileType::RegularFile => Ok(Entered::File(fd.into())),
        FileType::Directory => Ok(Entered::Directory(fd)),
        other => Ok(Entered::Special(described(other))),
    }
}

fn described(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "no regular file",
    }
}

/// A fresh listing of an open directory.
pub(super) fn list(dir: BorrowedFd<'_>) -> rustix::io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Dir::new(openat(dir, c".", flags, Mode::empty())?)
}

/// Names in a directory, sorted; as many as can be read.
fn neighbours(dir: BorrowedFd<'_>) -> Vec<String> {
    let Ok(listing) = list(dir) else { return Vec::new() };
    let names = listing.take(MOST_NEIGHBOURS).map_while(Result::ok);
    let names = names.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    let mut names: Vec<String> = names.filter(|name| name != "." && name != "..").collect();
    names.sort();
    names
}

/// Names as a path, for messages.
pub(super) fn shown(names: &[OsString]) -> String {
    let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
    names.join("/")
}
