//! What a `cargo test` run says, read line by line.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::step::{Counts, Done, Trouble};

/// The transcript of one `cargo test` run: counts, and who failed.
///
/// A target is called by the flags that run it alone, as cargo does: `-p callgate-core --test it`.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    /// The file name of each test executable, and its target.
    targets: BTreeMap<String, String>,
    target: String,
    open: Option<Open>,
    counts: Counts,
    failures: Vec<String>,
    /// Targets that cargo calls failed.
    failed_targets: Vec<String>,
}

/// Tests that were announced and have no result line yet.
#[derive(Debug, Default)]
struct Open {
    announced: u64,
    seen: Counts,
}

impl Transcript {
    /// Learns the targets' names from the messages of `cargo test --no-run --message-format json`.
    pub(crate) fn with_targets(messages: &str) -> Self {
        let targets = messages.lines().filter_map(executable_of).collect();
        Transcript { targets, ..Transcript::default() }
    }

    /// Reads one line; returns what a reader should see of it, if anything.
    pub(crate) fn read(&mut self, line: &str) -> Option<String> {
        if let Some(target) = self.target_of(line) {
            self.abandon();
            self.target = target;
            return None;
        }
        if self.open.is_none()
            && let Some(announced) = announced(line)
        {
            self.open = Some(Open { announced, seen: Counts::default() });
            return None;
        }
        if let Some(counts) = result(line)
            && self.open.as_ref().is_some_and(|open| open.announced == counts.total())
        {
            return self.close(counts, line);
        }
        if let Some(target) = failed_target(line)
            && !self.failed_targets.iter().any(|known| known == target)
        {
            self.failed_targets.push(target.to_owned());
        }
        self.read_test(line)
    }

    /// Where the run is, for a sign of life.
    pub(crate) fn position(&self) -> String {
        let target = if self.target.is_empty() { "cargo" } else { &self.target };
        match &self.open {
            Some(Open { announced, seen }) => {
                format!("{target}: {} of {announced} tests done", seen.total())
            }
            None => target.to_owned(),
        }
    }

    /// The verdict, given how cargo exited.
    pub(crate) fn finish(mut self, success: bool) -> Result<Done, Trouble> {
        self.abandon();
        for target in std::mem::take(&mut self.failed_targets) {
            if !self.failures.iter().any(|failure| is_of(failure, &target)) {
                self.fail(format!("{target}: failed without naming a test"));
            }
        }
        if !success && self.failures.is_empty() {
            self.fail("cargo test failed; its output is above".to_owned());
        }
        if self.failures.is_empty() {
            return Ok(Done { counts: self.counts, note: String::new() });
        }
        Err(Trouble::Failed { counts: self.counts, problems: self.failures })
    }

    fn close(&mut self, counts: Counts, line: &str) -> Option<String> {
        self.open = None;
        if counts.total() == 0 {
            return None;
        }
        self.counts = self.counts + counts;
        let time = line.rsplit_once("finished in ").map_or("?", |(_, time)| time);
        Some(format!("  {:<52} {counts} ({time})", self.target))
    }

    /// Counts what a target did that ended without a result line: it crashed.
    fn abandon(&mut self) {
        if let Some(Open { announced, seen }) = self.open.take() {
            self.counts = self.counts + seen;
            self.fail(format!(
                "{}: ended after {} of {announced} tests without a result",
                self.target,
                seen.total()
            ));
        }
    }

    fn fail(&mut self, failure: String) {
        self.counts.failed += 1;
        self.failures.push(failure);
    }

    fn read_test(&mut self, line: &str) -> Option<String> {
        let Some(open) = &mut self.open else { return shown(line) };
        let Some((name, outcome)) =
            line.strip_prefix("test ").and_then(|test| test.rsplit_once(" ... "))
        else {
            return shown(line);
        };
        match outcome {
            "ok" => open.seen.passed += 1,
            _ if outcome.starts_with("ignored") => open.seen.skipped += 1,
            "FAILED" => {
                open.seen.failed += 1;
                self.failures.push(format!("{}: {name}", self.target));
                return Some(format!("FAILED {}: {name}", self.target));
            }
            _ => return shown(line),
        }
        None
    }

    /// The target that cargo says it starts now: `     Running tests/it.rs (target/debug/deps/it-2b)`.
    fn target_of(&self, line: &str) -> Option<String> {
        if let Some(krate) = line.strip_prefix("   Doc-tests ") {
            return Some(format!("-p {} --doc", krate.replace('_', "-")));
        }
        let (_, path) = line.strip_prefix("     Running ")?.strip_suffix(')')?.rsplit_once('(')?;
        self.targets.get(file_name(path)?).cloned()
    }
}

fn executable_of(message: &str) -> Option<(String, String)> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let file = file_name(message["executable"].as_str()?)?;
    let package = file_name(message["manifest_path"].as_str()?.strip_suffix("/Cargo.toml")?)?;
    let name = message["target"]["name"].as_str()?;
    let flags = match message["target"]["kind"][0].as_str()? {
        kind @ ("bin" | "test" | "example" | "bench") => format!("--{kind} {name}"),
        _ => "--lib".to_owned(),
    };
    Some((file.to_owned(), format!("-p {package} {flags}")))
}

fn file_name(path: &str) -> Option<&str> {
    path.rsplit('/').next()
}

/// `running 12 tests`
fn announced(line: &str) -> Option<u64> {
    let (number, unit) = line.strip_prefix("running ")?.split_once(' ')?;
    if matches!(unit, "test" | "tests") { number.parse().ok() } else { None }
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`
fn result(line: &str) -> Option<Counts> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |word: &str| {
        counts.split("; ").find_map(|part| part.strip_suffix(word)?.trim_end().parse::<u64>().ok())
    };
    Some(Counts { passed: count("passed")?, failed: count("failed")?, skipped: count("ignored")? })
}

/// A line of cargo's closing list of failed targets.
fn failed_target(line: &str) -> Option<&str> {
    line.strip_prefix("    `")?.strip_suffix('`').filter(|flags| flags.starts_with('-'))
}

fn is_of(failure: &str, target: &str) -> bool {
    failure.strip_prefix(target).is_some_and(|rest| rest.starts_with(':'))
}

/// Empty lines and cargo's closing remarks are noise next to a summary.
fn shown(line: &str) -> Option<String> {
    let noise = line.trim().is_empty() || line.starts_with("all doctests ran in");
    (!noise).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = r#"{"reason":"compiler-artifact","manifest_path":"/src/crates/callgate-core/Cargo.toml","target":{"kind":["lib"],"name":"callgate_core"},"profile":{"test":true},"executable":"/t/debug/deps/callgate_core-1a"}
{"reason":"compiler-artifact","manifest_path":"/src/crates/callgate-core/Cargo.toml","target":{"kind":["test"],"name":"it"},"profile":{"test":true},"executable":"/t/debug/deps/it-2b"}
{"reason":"compiler-artifact","manifest_path":"/src/crates/callgate-cli/Cargo.toml","target":{"kind":["bin"],"name":"callgate"},"profile":{"test":false},"executable":"/t/debug/callgate"}
{"reason":"build-finished","success":true}"#;

    /// Feeds the lines; returns what was shown and the verdict.
    fn read(success: bool, lines: &str) -> (Vec<String>, Result<Done, Trouble>) {
        let mut transcript = Transcript::with_targets(MESSAGES);
        let shown = lines.lines().filter_map(|line| transcript.read(line)).collect();
        (shown, transcript.finish(success))
    }

    fn failed(passed: u64, failed: u64, skipped: u64, problems: &[&str]) -> Result<Done, Trouble> {
        let problems = problems.iter().map(ToString::to_string).collect();
        Err(Trouble::Failed { counts: Counts { passed, failed, skipped }, problems })
    }

    #[test]
    fn results_of_all_targets_add_up_and_passing_tests_are_one_line_a_target() {
        let (shown, verdict) = read(
            true,
            "     Running unittests src/lib.rs (target/debug/deps/callgate_core-1a)

running 2 tests
test a::b ... ok
test c ... ignored, not on this system

test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

   Doc-tests callgate_core

running 1 test
test crates/callgate-core/src/lib.rs - (line 3) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.08s

running 1 test
test crates/callgate-core/src/lib.rs - (line 7) - compile fail ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.04s

all doctests ran in 0.34s; merged doctests compilation took 0.22s
",
        );
        assert_eq!(
            shown,
            [
                "  -p callgate-core --lib                               1 passed, 0 failed, 1 skipped (0.01s)",
                "  -p callgate-core --doc                               1 passed, 0 failed (0.08s)",
                "  -p callgate-core --doc                               1 passed, 0 failed (0.04s)",
            ]
        );
        let counts = Counts { passed: 3, failed: 0, skipped: 1 };
        assert_eq!(verdict, Ok(Done { counts, note: String::new() }));
    }

    #[test]
    fn a_failed_test_is_named_with_its_target_and_its_output_is_kept() {
        let (shown, verdict) = read(
            false,
            "     Running tests/it/main.rs (target/debug/deps/it-2b)
running 2 tests
test a ... ok
test b::c ... FAILED

failures:

---- b::c stdout ----
hi

failures:
    b::c

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.08s

error: test failed, to rerun pass `-p callgate-core --test it`
error: 1 target failed:
    `-p callgate-core --test it`
",
        );
        assert_eq!(
            shown[..4],
            ["FAILED -p callgate-core --test it: b::c", "failures:", "---- b::c stdout ----", "hi"]
        );
        assert_eq!(verdict, failed(1, 1, 0, &["-p callgate-core --test it: b::c"]));
    }

    #[test]
    fn a_target_that_crashes_counts_as_one_failure_beside_what_it_did_before() {
        let (_, verdict) = read(
            false,
            "     Running tests/it/main.rs (target/debug/deps/it-2b)
running 3 tests
test fine ... ok
error: test failed, to rerun pass `-p callgate-core --test it`

Caused by:
  process didn't exit successfully: `target/debug/deps/it-2b` (signal: 6, SIGABRT: process abort signal)
     Running unittests src/lib.rs (target/debug/deps/callgate_core-1a)
running 1 test
test a ... ok
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
error: 1 target failed:
    `-p callgate-core --test it`
",
        );
        let problem = "-p callgate-core --test it: ended after 1 of 3 tests without a result";
        assert_eq!(verdict, failed(2, 1, 0, &[problem]));
    }

    #[test]
    fn a_test_that_prints_like_a_runner_changes_no_counts() {
        let (_, verdict) = read(
            false,
            "     Running tests/it/main.rs (target/debug/deps/it-2b)
running 2 tests
test a ... ok
test b ... FAILED
failures:
---- b stdout ----
     Running b.rs (target/b-1)
running 7 tests
test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.08s
",
        );
        assert_eq!(verdict, failed(1, 1, 0, &["-p callgate-core --test it: b"]));
    }

    #[test]
    fn a_target_that_fails_without_a_test_is_named() {
        let lines = "error: 1 target failed:\n    `-p callgate-core --doc`";
        let (_, verdict) = read(false, lines);
        assert_eq!(
            verdict,
            failed(0, 1, 0, &["-p callgate-core --doc: failed without naming a test"])
        );
    }

    #[test]
    fn a_failing_run_without_any_test_is_a_failure() {
        let (_, verdict) = read(false, "error: could not compile `callgate-core`");
        assert_eq!(verdict, failed(0, 1, 0, &["cargo test failed; its output is above"]));
    }

    #[test]
    fn a_sign_of_life_says_how_far_the_target_is() {
        let mut transcript = Transcript::with_targets(MESSAGES);
        for line in [
            "     Running tests/it/main.rs (target/debug/deps/it-2b)",
            "running 9 tests",
            "test a ... ok",
        ] {
            assert_eq!(transcript.read(line), None);
        }
        assert_eq!(transcript.position(), "-p callgate-core --test it: 1 of 9 tests done");
    }
}
