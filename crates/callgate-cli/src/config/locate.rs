//! Which file is the configuration.

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::failure::Failure;

/// The name of the file, wherever it is.
const FILE_NAME: &str = "callgate.json";

/// A configuration file, and why it is this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) path: PathBuf,
    chosen_by: Chooser,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chooser {
    Flag,
    Variable,
    Default,
}

impl Location {
    /// For messages about a file that cannot be read: who says that it should be.
    pub(crate) fn origin(&self) -> &'static str {
        match self.chosen_by {
            Chooser::Flag => ", named by `--config`,",
            Chooser::Variable => ", named by `$CALLGATE_CONFIG`,",
            Chooser::Default => "",
        }
    }
}

/// Finds the configuration: `--config`, then `$CALLGATE_CONFIG`, then the one in the configuration directory if it exists.
pub(crate) fn locate(
    flag: Option<&Path>,
    environment: &Environment,
) -> Result<Option<Location>, Failure> {
    let chosen = |path: &Path, chosen_by| Location { path: path.to_owned(), chosen_by };
    if let Some(path) = flag {
        return Ok(Some(chosen(path, Chooser::Flag)));
    }
    if let Some(path) = &environment.config {
        return Ok(Some(chosen(path, Chooser::Variable)));
    }
    let Some(path) = environment.default_config() else { return Ok(None) };
    // A file that is there and cannot be looked at may hold rules: going on without it would drop them.
    match path.try_exists() {
        Ok(exists) => Ok(exists.then(|| chosen(&path, Chooser::Default))),
        Err(error) => {
            let path = path.display();
            Err(Failure::config(format!("cannot look for the configuration `{path}`: {error}")))
        }
    }
}

/// A configuration in the working directory that is not the one in use. Whoever owns the directory wrote it, so it is not
/// read by itself.
pub(crate) fn ignored(used: Option<&Location>) -> Option<String> {
    let here = Path::new(FILE_NAME);
    if !here.is_file() || used.is_some_and(|used| is_same(&used.path, here)) {
        return None;
    }
    Some(format!(
        "`{FILE_NAME}` in this directory is not read by itself; use it with `--config {FILE_NAME}`"
    ))
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
