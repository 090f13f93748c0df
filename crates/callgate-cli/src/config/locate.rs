//! Which file is the configuration.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::input::read_text;
use crate::trust::{Trust, Trusted};

/// The name of the file, wherever it is.
pub(crate) const FILE_NAME: &str = "callgate.json";

/// A configuration file, and why it is this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) path: PathBuf,
    chosen_by: Chooser,
    /// What the file said when it was judged: that, and not what it says a moment later, is used.
    pub(super) text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chooser {
    Flag,
    Variable,
    Directory,
    Default,
}

impl Location {
    fn new(path: impl Into<PathBuf>, chosen_by: Chooser) -> Self {
        Self { path: path.into(), chosen_by, text: None }
    }

    /// The file of the working directory with what it says.
    pub(crate) fn in_directory(path: impl Into<PathBuf>, text: String) -> Self {
        Self { text: Some(text), ..Self::new(path, Chooser::Directory) }
    }

    /// For messages about a file that cannot be read: who says that it should be.
    pub(crate) fn origin(&self) -> &'static str {
        match self.chosen_by {
            Chooser::Flag => ", named by `--config`,",
            Chooser::Variable => ", named by `$CALLGATE_CONFIG`,",
            Chooser::Directory | Chooser::Default => "",
        }
    }
}

/// The configuration that is used, and what there is to say about one that is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) location: Option<Location>,
    pub(crate) passed_over: Option<PassedOver>,
}

/// Why the configuration of the working directory is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PassedOver {
    /// Nobody asked for it: good to know.
    Unknown(String),
    /// It was used before, so somebody may rely on its rules.
    NoLonger(String),
}

/// Finds the configuration: `--config`, then `$CALLGATE_CONFIG`, then a trusted one in the working directory, then the one
/// in the configuration directory, if it exists.
pub(crate) fn locate(flag: Option<&Path>, environment: &Environment) -> Result<Located, Failure> {
    let chosen = |location| Ok(Located { location: Some(location), passed_over: None });
    if let Some(path) = flag {
        return chosen(Location::new(path, Chooser::Flag));
    }
    if let Some(path) = &environment.config {
        return chosen(Location::new(path, Chooser::Variable));
    }
    let passed_over = match in_directory(environment) {
        Ok(Some(location)) => return chosen(location),
        Ok(None) => None,
        Err(passed_over) => Some(passed_over),
    };
    Ok(Located { location: in_home(environment)?, passed_over })
}

/// The configuration of the user.
fn in_home(environment: &Environment) -> Result<Option<Location>, Failure> {
    let Some(path) = environment.default_config() else { return Ok(None) };
    // A file that is there and cannot be looked at may hold rules: going on without it would drop them.
    match path.try_exists() {
        Ok(exists) => Ok(exists.then(|| Location::new(path, Chooser::Default))),
        Err(error) => {
            let path = path.display();
            Err(Failure::config(format!("cannot look for the configuration `{path}`: {error}")))
        }
    }
}

/// The configuration of the working directory, if there is one that is trusted as it is.
fn in_directory(environment: &Environment) -> Result<Option<Location>, PassedOver> {
    let path = Path::new(FILE_NAME);
    if !path.is_file() {
        return Ok(None);
    }
    let here = format!("`{FILE_NAME}` in this directory");
    let remedy =
        format!("read it, then run `callgate trust`, or use it once with `--config {FILE_NAME}`");
    let unknown = |reason: String| {
        PassedOver::Unknown(format!("{here} is not used, because {reason}; {remedy}"))
    };
    let Some(trusted) = Trusted::of(environment) else {
        return Err(unknown(
            "neither `$XDG_STATE_HOME` nor `$HOME` says what is trusted".to_owned(),
        ));
    };
    let text = File::open(path).map_err(|error| error.to_string()).and_then(read_text);
    let text = text.map_err(|reason| unknown(format!("it cannot be read: {reason}")))?;
    match trusted.judge(path, &text) {
        Ok(Trust::Given) => Ok(Some(Location::in_directory(path, text))),
        Ok(Trust::Missing) => Err(unknown("it is not trusted yet".to_owned())),
        Ok(Trust::Outdated) => Err(PassedOver::NoLonger(format!(
            "{here} changed since it was trusted, so it is not used and its rules are not in force; {remedy}"
        ))),
        Err(reason) => Err(PassedOver::NoLonger(format!("{here} is not used: {reason}"))),
    }
}
