//! Which configurations of working directories somebody vouched for.
//!
//! Whoever wrote a directory wrote its `callgate.json`, and a configuration starts programs. So one that is only found is
//! used after `callgate trust` recorded where it is and the hash of what it says; any change of it ends that.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use callgate::{Json, Object, json};
use sha2::{Digest, Sha256};

use crate::environment::Environment;
use crate::input::read_text;

/// The file of all that is trusted: readable and writable by its owner alone.
#[derive(Clone, Debug)]
pub(crate) struct Trusted(PathBuf);

/// What is known about a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Somebody vouched for it as it is.
    Given,
    /// Somebody vouched for what it was before.
    Outdated,
    /// Nobody vouched for it.
    Missing,
}

/// The member of the file that holds all others, so that there can be more one day.
const MEMBER: &str = "trusted";

impl Trusted {
    /// The file of this user, if the environment says where it is.
    pub(crate) fn of(environment: &Environment) -> Option<Self> {
        environment.state_dir().map(|directory| Self(directory.join("trusted.json")))
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// What is known about a configuration with this text.
    ///
    /// The error is the reason why nothing is known.
    pub(crate) fn judge(&self, configuration: &Path, text: &str) -> Result<Trust, String> {
        let recorded = self.read()?.get(&key(configuration)?).cloned();
        Ok(match recorded {
            Some(recorded) if recorded == json!(hash(text)) => Trust::Given,
            Some(_) => Trust::Outdated,
            None => Trust::Missing,
        })
    }

    /// Vouches for a configuration with this text; answers what was known before.
    pub(crate) fn record(&self, configuration: &Path, text: &str) -> Result<Trust, String> {
        let before = self.judge(configuration, text)?;
        if before != Trust::Given {
            self.write(self.read()?.with(key(configuration)?, hash(text)))?;
        }
        Ok(before)
    }

    /// Takes back what was recorded about a configuration; answers whether there was anything.
    pub(crate) fn forget(&self, configuration: &Path) -> Result<bool, String> {
        let (recorded, key) = (self.read()?, key(configuration)?);
        let is_known = recorded.contains_key(&key);
        if is_known {
            self.write(recorded.without(&key))?;
        }
        Ok(is_known)
    }

    /// The hashes by path.
    fn read(&self) -> Result<Object, String> {
        let file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Object::default()),
            Err(error) => return Err(self.unreadable(&error.to_string())),
        };
        let content =
            read_text(file).and_then(|text| Json::parse(&text).map_err(|error| error.to_string()));
        match content.map_err(|reason| self.unreadable(&reason))?.get(MEMBER) {
            Some(Json::Object(recorded)) => Ok(recorded.clone()),
            _ => Err(self.unreadable(&format!("it has no object `{MEMBER}`"))),
        }
    }

    /// Puts a new file in the place of the old one, so that it is never half written.
    fn write(&self, recorded: Object) -> Result<(), String> {
        let content = json!({ (MEMBER): Json::Object(recorded) });
        let new = self.0.with_extension(format!("json.{}", std::process::id()));
        let written = (|| {
            if let Some(directory) = self.0.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            }
            // What a process of the same number left behind would keep its own mode.
            match fs::remove_file(&new) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
            writeln!(file, "{content}")?;
            file.sync_all()?;
            fs::rename(&new, &self.0)
        })();
        written.map_err(|error| format!("`{}` cannot be written: {error}", self.0.display()))
    }

    #[cold]
    fn unreadable(&self, reason: &str) -> String {
        format!(
            "`{}` cannot be used: {reason}; mend it, or delete it and trust again",
            self.0.display()
        )
    }
}

/// The same file has one path, wherever somebody stands.
fn key(configuration: &Path) -> Result<String, String> {
    let shown = configuration.display();
    let path = configuration
        .canonicalize()
        .map_err(|error| format!("`{shown}` cannot be found: {error}"))?;
    path.into_os_string().into_string().map_err(|_| {
        format!("the path of `{shown}` is not UTF-8, so nothing can be recorded about it; name it with `--config`")
    })
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold("sha256:".to_owned(), |hash, byte| format!("{hash}{byte:02x}"))
}
