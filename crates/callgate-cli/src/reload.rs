//! The rules of a gateway that is running: read again when the configuration changes, and exchanged as one change.
//!
//! What cannot be read, is gone or is not trusted any more changes nothing: the last rules stay in force.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callgate::PluginHandle;

use crate::config::{self, FILE_NAME, Loaded, Located, PassedOver, Policy};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::policy::DenyRules;
use crate::terminal::Terminal;
use crate::trust::Trusted;

/// How often files are looked at. One that looks different twice in a row is still being written.
const INTERVAL: Duration = Duration::from_millis(500);

/// The files that decide which rules hold, and what they looked like when these were read.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    named: Option<PathBuf>,
    environment: Environment,
    terminal: Terminal,
    files: Vec<PathBuf>,
    read: Vec<Option<Look>>,
}

/// By what a change of a file is noticed: time, length and number of the file.
type Look = (i64, i64, u64, u64);

impl Rules {
    /// Looks at the files. To be made before the configuration is read, so that no change falls between the two.
    pub(crate) fn new(named: Option<&Path>, environment: &Environment, terminal: Terminal) -> Self {
        let files = if let Some(path) = named.or(environment.config.as_deref()) {
            vec![path.to_owned()]
        } else {
            let trusted = Trusted::of(environment).map(|trusted| trusted.path().to_owned());
            let own = [Some(FILE_NAME.into()), trusted, environment.default_config()];
            own.into_iter().flatten().collect()
        };
        let read = looks(&files);
        let (named, environment) = (named.map(Path::to_owned), environment.clone());
        Self { named, environment, terminal, files, read }
    }

    /// Keeps the rules up to date, for ever.
    pub(crate) async fn keep(mut self, in_force: PluginHandle) {
        let mut last = self.read.clone();
        loop {
            tokio::time::sleep(INTERVAL).await;
            let now = looks(&self.files);
            let is_calm = now == last;
            last.clone_from(&now);
            if !is_calm || now == self.read {
                continue;
            }
            self.read = now;
            let exchanged = match self.policy() {
                Ok(policy) => {
                    let exchanged = in_force.replace(&DenyRules::of(&policy)).await;
                    exchanged.map_err(|error| error.to_string())
                }
                Err(failure) => Err(failure.to_string()),
            };
            match exchanged {
                Ok(()) => self.terminal.note(
                    "the configuration changed; its rules are in force now, and all else in it counts from the next start",
                ),
                Err(reason) => self.terminal.warning(&format!(
                    "the configuration changed and cannot be used, so the rules before it stay in force: {reason}"
                )),
            }
        }
    }

    /// The rules as the files have them now.
    fn policy(&self) -> Result<Policy, Failure> {
        let Located { location, passed_over } =
            config::locate(self.named.as_deref(), &self.environment)?;
        if let Some(PassedOver::NoLonger(reason)) = passed_over {
            return Err(Failure::config(reason));
        }
        let location = location.ok_or_else(|| Failure::config("there is none any more"))?;
        let Loaded { config, warnings } = config::load(&location, &self.environment)?;
        for warning in warnings {
            self.terminal.warning(&warning);
        }
        Ok(config.policy)
    }
}

fn looks(files: &[PathBuf]) -> Vec<Option<Look>> {
    let look = |path: &PathBuf| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.mtime(), metadata.mtime_nsec(), metadata.len(), metadata.ino()))
    };
    files.iter().map(look).collect()
}
