//! A directory of its own for each test, and the binary in it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use callgate::{Json, Object};
use tempfile::TempDir;

/// A test that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// A working directory with some files, a home directory without any, and nothing else of the machine's environment.
pub(crate) struct Sandbox {
    directory: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let sandbox = Self { directory };
        fs::create_dir_all(sandbox.home()).unwrap();
        sandbox.write("readme.md", "# Title\n\nTODO: more\n");
        sandbox.write("src/main.rs", "fn main() {}\n");
        sandbox.write(
            "src/lib.rs",
            "// TODO: first\n// TODO: second\npub fn one() -> u8 {\n    1\n}\n",
        );
        sandbox
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// The working directory of commands.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// Writes a file below the working directory.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home().join(".local/state/callgate")
    }

    /// The logs of the sessions so far, oldest first.
    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.state()) else { return Vec::new() };
        let mut logs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        logs.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        logs.sort();
        logs
    }

    /// The events of a log with this type.
    pub(crate) fn events(log: &Path, kind: &str) -> Vec<Json> {
        let text = fs::read_to_string(log).unwrap();
        let events = text.lines().map(|line| Json::parse(line).unwrap());
        events
            .filter(|event| event["type"].as_str() == Some(kind))
            .map(|event| event["data"].clone())
            .collect()
    }

    /// The binary, for tests that need more than its end.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
        command.current_dir(self.path()).env_clear().env("HOME", self.home());
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn callgate(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ended {
        self.with_input(arguments, "")
    }

    /// Runs the binary with a text as its standard input.
    pub(crate) fn with_input(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        input: &str,
    ) -> Ended {
        let mut command = self.command();
        command.args(arguments);
        Self::ended(command, input)
    }

    /// Runs a command to its end.
    pub(crate) fn ended(command: Command, input: &str) -> Ended {
        let mut command = assert_cmd::Command::from_std(command);
        let output = command.write_stdin(input).timeout(PATIENCE).output().unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: without_progress(&String::from_utf8(output.stderr).unwrap()),
        }
    }

    /// Runs a program and returns the one object that it printed.
    pub(crate) fn run_json(&self, options: &[&str], code: &str) -> Json {
        let ended =
            self.callgate(["run", "--json", "--quiet"].iter().chain(options).chain(&["-e", code]));
        let lines: Vec<&str> = ended.stdout.lines().collect();
        let [line] = lines[..] else { panic!("not one line: {ended:?}") };
        Json::parse(line).unwrap()
    }

    /// What a program returned.
    pub(crate) fn result_of(&self, code: &str) -> Json {
        let report = self.run_json(&[], code);
        assert_eq!(report["error"], Json::Null, "{report}");
        report["result"].clone()
    }
}

impl Ended {
    /// Everything a person sees of it. Durations, ids and directories differ from run to run.
    pub(crate) fn shown(&self) -> String {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        format!("exit {code}\n--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr)
    }
}

/// A slow machine makes progress lines.
fn without_progress(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with("running ")).collect()
}

/// A report with the times taken out.
pub(crate) fn without_times(report: &Json) -> Json {
    let Some(object) = report.as_object() else { return report.clone() };
    let zero = |value: &Json| if value.is_null() { Json::Null } else { Json::from(0) };
    let members = object.iter().map(|(name, value)| {
        let value = match (&**name, value) {
            ("ms", ms) => zero(ms),
            ("calls", Json::Array(calls)) => {
                calls.iter().map(without_times).collect::<Vec<Json>>().into()
            }
            (_, value) => value.clone(),
        };
        (name.clone(), value)
    });
    members.collect::<Object>().into()
}

/// Runs assertions on snapshots whose durations and ids are taken out.
macro_rules! assert_shown {
    ($shown:expr, @$snapshot:literal) => {
        insta::with_settings!({ filters => crate::sandbox::FILTERS.to_vec() }, {
            insta::assert_snapshot!($shown, @$snapshot);
        })
    };
    ($shown:expr) => {
        insta::with_settings!({ filters => crate::sandbox::FILTERS.to_vec() }, {
            insta::assert_snapshot!($shown);
        })
    };
}
pub(crate) use assert_shown;

pub(crate) const FILTERS: &[(&str, &str)] = &[
    (r"(isolation of the program): (worker, confined|worker)\n", "$1: [as far as possible]\n"),
    (r" *[0-9]+(\.[0-9])? m?s\b", " [time]"),
    (r"\b[0-9]{8}-[0-9]{6}\.[0-9]{3}-[0-9]+\b", "[session]"),
    (r"\b[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} UTC", "[date]"),
    (r"/[^ `\n]*/(project|home)\b", "[$1]"),
];
