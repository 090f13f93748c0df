//! What every step may know about the run it is part of.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process;
use crate::step::Trouble;

/// Where and how the steps run.
#[derive(Debug)]
pub(crate) struct Context {
    /// The workspace's root folder.
    pub(crate) root: PathBuf,
    /// Whether this is a CI run: what is left out on a developer's machine fails there.
    pub(crate) ci: bool,
    /// Whether tests repeat more than they do by default.
    pub(crate) long: bool,
    /// Only tests whose name contains one of these; all if empty.
    pub(crate) filters: Vec<String>,
    cargo: OsString,
}

impl Context {
    pub(crate) fn new() -> Self {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        Context {
            root: manifest.parent().unwrap_or(manifest).to_owned(),
            ci: env::var_os("CI").is_some_and(|ci| !["", "0", "false"].iter().any(|no| ci == *no)),
            long: false,
            filters: Vec::new(),
            cargo: env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        }
    }

    /// A cargo command in the root folder, without standard input. CI refuses a stale `Cargo.lock`.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&self.cargo);
        command.args(arguments);
        let takes_lock = !matches!(arguments, ["fmt" | "install", ..]);
        if self.ci && takes_lock {
            command.arg("--locked");
        }
        command
    }

    /// A command in the root folder, without standard input.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// What cargo prints to standard output, for metadata and for generated files.
    ///
    /// A file made by the product is one line: `cx.cargo_output(&["run", "-q", "-p", "callgate-cli", "--", "schema"])`.
    pub(crate) fn cargo_output(&self, arguments: &[&str]) -> Result<String, String> {
        let (arguments, own) = match arguments.iter().position(|argument| *argument == "--") {
            Some(end) => arguments.split_at(end),
            None => (arguments, &[][..]),
        };
        process::output(self.cargo(arguments).args(own))
    }

    /// The build's folder, `target` unless configured otherwise.
    pub(crate) fn target(&self) -> PathBuf {
        let configured = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        self.root.join(configured.unwrap_or_else(|| "target".into()))
    }

    /// Every file that is or would be committed, relative to the root, in order.
    pub(crate) fn files(&self) -> Result<Vec<String>, Trouble> {
        let mut git = self.command("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let listed = process::output(&mut git)
            .map_err(|_| Trouble::NotRun { needs: "git and a git checkout".to_owned() })?;
        let exists = |path: &&str| self.root.join(path).is_file();
        let mut files: Vec<String> =
            listed.split_terminator('\0').filter(exists).map(str::to_owned).collect();
        files.sort_unstable();
        files.dedup();
        Ok(files)
    }

    /// The files of [`files`](Self::files) that are UTF-8 text, with their content.
    pub(crate) fn texts(&self) -> Result<Vec<(String, String)>, Trouble> {
        let read = |path: String| {
            let text = String::from_utf8(std::fs::read(self.root.join(&path)).ok()?).ok()?;
            Some((path, text))
        };
        Ok(self.files()?.into_iter().filter_map(read).collect())
    }
}
