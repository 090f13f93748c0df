//! The rules and servers of a gateway that is running, read again when the configuration changes.
//!
//! Servers that are gone go first, then all rules are exchanged at once, then new servers come: no tool is there under
//! rules that were not made for it. What cannot be read, is gone or is not trusted any more changes nothing.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callgate::PluginHandle;
use callgate_mcp::{Gateway, McpServers};

use crate::config::{self, Config, FILE_NAME, Loaded, Located, PassedOver};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::policy::DenyRules;
use crate::terminal::Terminal;
use crate::trust::Trusted;

/// How often files are looked at. One that looks different twice in a row is still being written.
const INTERVAL: Duration = Duration::from_millis(500);

/// The files that decide what is in force, and what they looked like when they were read.
#[derive(Clone, Debug)]
pub(crate) struct Reload {
    named: Option<PathBuf>,
    environment: Environment,
    terminal: Terminal,
    files: Vec<PathBuf>,
    read: Vec<Option<Look>>,
}

/// By what a change of a file is noticed: time, length and number of the file.
type Look = (i64, i64, u64, u64);

impl Reload {
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

    /// Keeps rules and servers up to date, for ever.
    pub(crate) async fn keep(mut self, rules: PluginHandle, servers: Arc<Gateway>) {
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
            let exchanged = match self.load() {
                Ok(config) => exchange(config, &rules, servers.servers()).await,
                Err(failure) => Err(failure.to_string()),
            };
            match exchanged {
                Ok(()) => self.terminal.note(
                    "the configuration changed; its rules and servers are in force now, and all else in it counts from the next start",
                ),
                Err(reason) => self.terminal.warning(&format!(
                    "the configuration changed and cannot be used, so all stays as it was: {reason}"
                )),
            }
        }
    }

    /// The configuration as the files have it now.
    fn load(&self) -> Result<Config, Failure> {
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
        Ok(config)
    }
}

/// Puts a configuration in the place of the one before.
async fn exchange(
    config: Config,
    rules: &PluginHandle,
    servers: &McpServers,
) -> Result<(), String> {
    servers.retain(&config.servers);
    rules.replace(&DenyRules::of(&config.policy)).await.map_err(|error| error.to_string())?;
    servers.start(config.servers);
    Ok(())
}

fn looks(files: &[PathBuf]) -> Vec<Option<Look>> {
    let look = |path: &PathBuf| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.mtime(), metadata.mtime_nsec(), metadata.len(), metadata.ino()))
    };
    files.iter().map(look).collect()
}
