//! Where session logs are, and which is the newest.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use callgate::session::{Session, SessionErrorKind, SessionHeader, SessionOptions};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::time;

/// How much of a log is kept in memory while it is written. Nothing here reads it from there.
const KEPT_BYTES: usize = 64 * 1024;

/// How often a name is changed because another process took it in the same millisecond.
const ATTEMPTS: u32 = 100;

/// Opens the log of a new session: in the file that was asked for, else in the state directory, else in memory.
pub(crate) fn open(
    origin: &str,
    asked_for: Option<&Path>,
    environment: &Environment,
    terminal: Terminal,
) -> Result<Session, Failure> {
    let now = time::now_ms();
    let id = format!("{}-{}", time::sortable(now), std::process::id());
    let header = |id: String| {
        let header = SessionHeader::new(id, now).with_origin(origin);
        match std::env::current_dir().ok().as_deref().and_then(Path::to_str) {
            Some(cwd) => header.with_cwd(cwd),
            None => header,
        }
    };
    let options = SessionOptions::new().keep_bytes(KEPT_BYTES);
    if let Some(path) = asked_for {
        let created = options.create(path, header(id));
        return created.map_err(|error| {
            let shown = path.display();
            Failure::usage(match error.kind() {
                SessionErrorKind::AlreadyExists => {
                    format!("`{shown}` exists already; `--log` needs a new file")
                }
                _ => format!("the log asked for by `--log` cannot be written: {error}"),
            })
        });
    }
    let reason = match environment.state_dir() {
        None => "neither `$XDG_STATE_HOME` nor `$HOME` says where to put it".to_owned(),
        Some(directory) => match create_in(&directory, &id, |id| header(id.to_owned()), &options) {
            Ok(session) => return Ok(session),
            Err(error) => error,
        },
    };
    terminal.warning(&format!(
        "the session log is kept in memory only: {reason}; name a file with `--log`"
    ));
    Ok(SessionOptions::new().in_memory(header(id)))
}

fn create_in(
    directory: &Path,
    id: &str,
    header: impl Fn(&str) -> SessionHeader,
    options: &SessionOptions,
) -> Result<Session, String> {
    let mut name = id.to_owned();
    for attempt in 1..=ATTEMPTS {
        match options.create(directory.join(format!("{name}.jsonl")), header(&name)) {
            Err(error) if error.kind() == SessionErrorKind::AlreadyExists => {
                name = format!("{id}-{attempt}");
            }
            created => return created.map_err(|error| error.to_string()),
        }
    }
    Err(format!("`{}` holds too many logs of this moment", directory.display()))
}

/// The log that somebody means: a file, the id of a session, or the newest one.
pub(crate) fn find(named: Option<&Path>, environment: &Environment) -> Result<PathBuf, Failure> {
    let directory = environment.state_dir();
    let Some(named) = named else { return newest(directory) };
    let by_id = || {
        let is_id = named.components().count() == 1;
        let path = directory.as_ref()?.join(named).with_added_extension("jsonl");
        (is_id && path.is_file()).then_some(path)
    };
    if named.is_file() {
        return Ok(named.to_owned());
    }
    by_id().ok_or_else(|| {
        let shown = named.display();
        Failure::usage(format!("no session log `{shown}`: neither a file nor the id of a session; `callgate log --list` lists them"))
    })
}

fn newest(directory: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let Some(directory) = directory else {
        return Err(Failure::usage(
            "neither `$XDG_STATE_HOME` nor `$HOME` says where session logs are; name one: `callgate log FILE`",
        ));
    };
    list(&directory)?.pop().ok_or_else(|| {
        let shown = directory.display();
        Failure::usage(format!(
            "there is no session log in `{shown}` yet; `callgate run` writes one"
        ))
    })
}

/// The logs of a directory, oldest first. Names begin with the time.
pub(crate) fn list(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            let shown = directory.display();
            return Err(Failure::failed("log", format!("`{shown}` cannot be read: {error}")));
        }
    };
    let is_log = |path: &PathBuf| path.extension() == Some(OsStr::new("jsonl"));
    let mut logs: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_log).collect();
    logs.sort();
    Ok(logs)
}
