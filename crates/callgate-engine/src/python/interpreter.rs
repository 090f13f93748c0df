//! The machine's Python: where it is, how old it is, what it lacks.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use callgate_core::program::EngineError;
use callgate_schema::{Json, ParseOptions};

use super::boot::{REQUIRED, modules};

/// How an interpreter is started, here and in earnest: without the user's site, environment and
/// packages, and with UTF-8 whatever the locale.
pub(super) const FLAGS: [&str; 6] = ["-I", "-S", "-B", "-X", "utf8", "-c"];
/// The names an interpreter may go by, the one that its owner chose first.
const NAMES: [&str; 6] =
    ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];
/// The oldest that can run programs.
const OLDEST: (u64, u64) = (3, 10);
/// How long an interpreter may take to tell about itself.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked whether it did.
const LOOK: Duration = Duration::from_millis(2);

/// An interpreter that can run programs.
#[derive(Clone, Debug)]
pub(super) struct Interpreter {
    pub(super) executable: PathBuf,
    pub(super) version: String,
    /// The directories of its standard library.
    pub(super) library: Vec<PathBuf>,
    /// The files it maps: itself and its libraries.
    pub(super) mapped: Vec<PathBuf>,
    /// Modules that it does not have.
    pub(super) missing: Vec<String>,
}

impl Interpreter {
    /// Finds the interpreter of that name or path, or the machine's own.
    ///
    /// # Errors
    ///
    /// If there is none, or none that can run programs; the message says what to do.
    pub(super) fn find(named: Option<&Path>, confined: bool) -> Result<Arc<Self>, EngineError> {
        if let Some(path) = named {
            return cached(path)?.checked(path, confined);
        }
        let mut refused: Option<EngineError> = None;
        for name in NAMES {
            let Some(path) = in_path(OsStr::new(name), std::env::var_os("PATH")) else { continue };
            match cached(&path).and_then(|found| found.checked(&path, confined)) {
                Ok(interpreter) => return Ok(interpreter),
                // What was found first is what its owner means.
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or_else(|| {
            EngineError::new(
                "Python programs need Python 3.10 or newer, and there is no `python3` in PATH: \
                 install it (on Debian: `apt install python3`), or write programs in TypeScript",
            )
        }))
    }
}

/// What an interpreter told about itself.
#[derive(Clone, Debug)]
struct Told {
    interpreter: Arc<Interpreter>,
    implementation: String,
    version: (u64, u64),
    /// Modules it lacks, and why.
    missing: Vec<(String, String)>,
}

impl Told {
    fn checked(&self, path: &Path, confined: bool) -> Result<Arc<Interpreter>, EngineError> {
        let (path, version) = (path.display(), &self.interpreter.version);
        if self.implementation != "cpython" {
            return Err(EngineError::new(format!(
                "Python programs need CPython, and `{path}` is {}",
                self.implementation
            )));
        }
        if self.version < OLDEST {
            return Err(EngineError::new(format!(
                "Python programs need Python 3.10 or newer, and `{path}` is Python {version}: \
                 install a newer one, and have `python3` in PATH mean that"
            )));
        }
        let is_needed = |name: &str| REQUIRED.contains(&name) || (confined && name == "ctypes");
        let needed: Vec<String> = (self.missing.iter())
            .filter(|(name, _)| is_needed(name))
            .map(|(name, why)| format!("`{name}` ({why})"))
            .collect();
        if !needed.is_empty() {
            return Err(EngineError::new(format!(
                "Python {version} at `{path}` lacks what Python programs need: {}; install its \
                 whole standard library (on Debian: `apt install python3`), or use another Python",
                needed.join(", ")
            )));
        }
        Ok(self.interpreter.clone())
    }
}

/// The first file of that name in a list of directories; a name with a slash is a path.
fn in_path(name: &OsStr, path: Option<OsString>) -> Option<PathBuf> {
    let path = path?;
    std::env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())
}

type Key = (PathBuf, Option<SystemTime>);

/// Asks an interpreter once as long as its file stays the same.
fn cached(path: &Path) -> Result<Told, EngineError> {
    static TOLD: LazyLock<Mutex<HashMap<Key, Told>>> = LazyLock::new(Mutex::default);
    let modified = path.metadata().and_then(|about| about.modified()).ok();
    let key = (path.to_owned(), modified);
    let lock = || TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(told) = lock().get(&key) {
        return Ok(told.clone());
    }
    let told = ask(path)?;
    lock().insert(key, told.clone());
    Ok(told)
}

/// Has an interpreter tell about itself. It runs as its owner would run it: nothing is known yet
/// that could confine it, and it reads nothing but its own files.
fn ask(path: &Path) -> Result<Told, EngineError> {
    let failed = |why: String| {
        let path = path.display();
        EngineError::new(format!(
            "`{path}` cannot run Python programs: {why}; use another Python, 3.10 or newer"
        ))
    };
    let mut command = Command::new(path);
    command.args(FLAGS).arg(include_str!("probe.py")).args(modules()).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => thread::sleep(LOOK),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed("it does not answer".to_owned()));
            }
        }
    };
    // What it says is shorter than a pipe is long; if not, it did not come to its end.
    let mut said = String::new();
    let _ = child.stdout.take().map(|mut out| out.read_to_string(&mut said));
    let told = ParseOptions::new().parse(said.trim()).ok().as_ref().and_then(read);
    told.ok_or_else(|| {
        let mut complaint = String::new();
        let _ = child.stderr.take().map(|mut err| err.read_to_string(&mut complaint));
        let last = complaint.lines().last().unwrap_or_default();
        failed(format!("it ended with {status} {last}").trim_end().to_owned())
    })
}

fn read(json: &Json) -> Option<Told> {
    let number = |at: usize| json.get("version")?.item(at)?.as_u64();
    let version = (number(0)?, number(1)?);
    let texts = |name: &str| -> Vec<String> {
        let items = json.get(name).and_then(Json::as_array).map(|items| &**items);
        let items = items.unwrap_or_default().iter().filter_map(Json::as_str);
        items.map(str::to_owned).collect()
    };
    let missing = json.get("missing")?.as_object()?.iter();
    let missing: Vec<(String, String)> = missing
        .map(|(name, why)| (name.to_string(), why.as_str().unwrap_or_default().to_owned()))
        .collect();
    let interpreter = Interpreter {
        executable: json.get("executable")?.as_str()?.into(),
        version: format!("{}.{}.{}", version.0, version.1, number(2)?),
        library: texts("library").into_iter().map(PathBuf::from).collect(),
        mapped: texts("mapped").into_iter().map(PathBuf::from).collect(),
        missing: missing.iter().map(|(name, _)| name.clone()).collect(),
    };
    let implementation = json.get("implementation")?.as_str()?.to_owned();
    Some(Told { interpreter: Arc::new(interpreter), implementation, version, missing })
}
