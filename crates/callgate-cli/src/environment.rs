//! The only place that reads the environment of the process.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the environment says about where things are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// `$CALLGATE_CONFIG`: the configuration file to use.
    pub(crate) config: Option<PathBuf>,
    /// Whether `$TERM` says that the terminal understands nothing but text.
    pub(crate) has_dumb_terminal: bool,
    /// All of it, for what configurations and servers take from it.
    pub(crate) variables: Vec<(OsString, OsString)>,
    config_home: Option<PathBuf>,
    state_home: Option<PathBuf>,
}

impl Environment {
    pub(crate) fn read() -> Self {
        let home = absolute("HOME");
        let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
        Self {
            config: set("CALLGATE_CONFIG"),
            has_dumb_terminal: env::var_os("TERM").is_some_and(|term| term == "dumb"),
            variables: env::vars_os().collect(),
            config_home: absolute("XDG_CONFIG_HOME").or_else(|| below_home(".config")),
            state_home: absolute("XDG_STATE_HOME").or_else(|| below_home(".local/state")),
        }
    }

    /// The value of a variable that is set to text.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| known == name)?;
        found.1.to_str()
    }

    /// Where the configuration is if nobody names another.
    pub(crate) fn default_config(&self) -> Option<PathBuf> {
        self.config_home.as_ref().map(|home| home.join("callgate").join("callgate.json"))
    }

    /// Where session logs are kept.
    pub(crate) fn state_dir(&self) -> Option<PathBuf> {
        self.state_home.as_ref().map(|home| home.join("callgate"))
    }
}

/// A variable that is set to something. An empty one counts as unset.
fn set(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A base directory. The XDG specification has relative ones ignored.
fn absolute(name: &str) -> Option<PathBuf> {
    set(name).filter(|path| Path::is_absolute(path))
}
