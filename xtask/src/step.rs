//! Steps, their verdicts, and the summary at the end of every command.

use std::fmt::Write as _;
use std::iter::Sum;
use std::ops::Add;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::context::Context;

/// At most so many problems of one step stand in the summary.
const SHOWN: usize = 60;

/// One row of a table of checks.
#[derive(Debug)]
pub(crate) struct Step {
    /// Two or three words, for the summary.
    pub(crate) name: &'static str,
    /// What holds when the step passes, as a phrase.
    pub(crate) what: &'static str,
    pub(crate) run: fn(&Context) -> Result<Done, Trouble>,
}

/// A step that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) counts: Counts,
    /// A figure worth reading, or nothing.
    pub(crate) note: String,
}

/// A step that did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Each problem names the file or crate and the way to mend it.
    Failed { counts: Counts, problems: Vec<String> },
    /// The machine lacks something the project does not ask of newcomers. A failure on CI.
    NotRun { needs: String },
}

/// How many tests, or checks, ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

/// Runs the steps in order, all of them whatever fails, and prints the summary.
pub(crate) fn run_all<'a>(cx: &Context, steps: impl Iterator<Item = &'a Step>) -> ExitCode {
    let reports: Vec<Report> = steps.map(|step| run(cx, step)).collect();
    print!("{}", summary(&reports));
    let something_ran = total(&reports).total() > 0;
    let nothing_failed = reports.iter().all(|report| !report.failed());
    if something_ran && nothing_failed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(cx: &Context, step: &Step) -> Report {
    println!("== {}: {}", step.name, step.what);
    let started = Instant::now();
    let mut result = (step.run)(cx);
    if let Err(Trouble::NotRun { needs }) = &result
        && cx.ci
    {
        result = Err(format!("not run: needs {needs}; CI leaves nothing out").into());
    }
    let report = Report { name: step.name, result, time: started.elapsed() };
    println!("{}\n", report.line());
    report
}

impl Done {
    /// One check that holds.
    pub(crate) fn one(note: impl Into<String>) -> Self {
        Done { counts: Counts { passed: 1, ..Counts::default() }, note: note.into() }
    }
}

impl Trouble {
    /// One check: passed if there is no problem.
    pub(crate) fn unless_empty(
        problems: Vec<String>,
        note: impl Into<String>,
    ) -> Result<Done, Trouble> {
        if problems.is_empty() {
            return Ok(Done::one(note));
        }
        Err(Trouble::Failed { counts: Counts { failed: 1, ..Counts::default() }, problems })
    }
}

impl From<String> for Trouble {
    fn from(problem: String) -> Self {
        Trouble::Failed {
            counts: Counts { failed: 1, ..Counts::default() },
            problems: vec![problem],
        }
    }
}

impl Counts {
    pub(crate) fn total(self) -> u64 {
        self.passed + self.failed + self.skipped
    }
}

impl Add for Counts {
    type Output = Counts;

    fn add(self, other: Counts) -> Counts {
        Counts {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Counts>>(counts: I) -> Counts {
        counts.fold(Counts::default(), Add::add)
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

struct Report {
    name: &'static str,
    result: Result<Done, Trouble>,
    time: Duration,
}

impl Report {
    fn failed(&self) -> bool {
        matches!(self.result, Err(Trouble::Failed { .. }))
    }

    fn counts(&self) -> Counts {
        match &self.result {
            Ok(Done { counts, .. }) | Err(Trouble::Failed { counts, .. }) => *counts,
            Err(Trouble::NotRun { .. }) => Counts { skipped: 1, ..Counts::default() },
        }
    }

    fn line(&self) -> String {
        let verdict = match &self.result {
            Ok(Done { counts, note }) if note.is_empty() => format!("ok, {counts}"),
            Ok(Done { note, .. }) => format!("ok, {note}"),
            Err(Trouble::Failed { counts, .. }) => format!("FAILED, {counts}"),
            Err(Trouble::NotRun { needs }) => format!("NOT RUN: needs {needs}"),
        };
        format!("  {:<18} {verdict:<44} {:>7.1} s", self.name, self.time.as_secs_f64())
    }

    fn problems(&self) -> &[String] {
        if let Err(Trouble::Failed { problems, .. }) = &self.result { problems } else { &[] }
    }
}

/// One line a step, then what failed, then the totals in the plain form that runners print.
fn summary(reports: &[Report]) -> String {
    let mut text = "== summary\n".to_owned();
    for report in reports {
        _ = writeln!(text, "{}", report.line());
    }
    for report in reports.iter().filter(|report| report.failed()) {
        _ = writeln!(text, "\n{} failed:", report.name);
        let problems = report.problems();
        for problem in problems.iter().take(SHOWN) {
            _ = writeln!(text, "  {}", problem.replace('\n', "\n    "));
        }
        if problems.len() > SHOWN {
            _ = writeln!(text, "  … and {} more", problems.len() - SHOWN);
        }
    }
    let total = total(reports);
    if total.total() == 0 {
        text.push_str("\nnothing failed, but no test has such a name\n");
    }
    _ = writeln!(text, "\n{total}");
    text
}

fn total(reports: &[Report]) -> Counts {
    reports.iter().map(Report::counts).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &'static str, result: Result<Done, Trouble>) -> Report {
        Report { name, result, time: Duration::from_millis(1_500) }
    }

    #[test]
    fn the_summary_names_every_step_then_the_failures_then_the_totals() {
        let tests = Counts { passed: 12, failed: 1, skipped: 2 };
        let reports = [
            report(
                "tests",
                Err(Trouble::Failed {
                    counts: tests,
                    problems: vec!["-p a --lib: b::c".to_owned()],
                }),
            ),
            report(
                "doc tests",
                Ok(Done { counts: Counts { passed: 3, ..Counts::default() }, note: String::new() }),
            ),
            report("type text", Err(Trouble::NotRun { needs: "node".to_owned() })),
            report("crate budget", Ok(Done::one("46 of 60 crates"))),
            report("lints", Err("two\nlines".to_owned().into())),
        ];
        let expected = "\
== summary
  tests              FAILED, 12 passed, 1 failed, 2 skipped           1.5 s
  doc tests          ok, 3 passed, 0 failed                           1.5 s
  type text          NOT RUN: needs node                              1.5 s
  crate budget       ok, 46 of 60 crates                              1.5 s
  lints              FAILED, 0 passed, 1 failed                       1.5 s

tests failed:
  -p a --lib: b::c

lints failed:
  two
    lines

16 passed, 2 failed, 3 skipped
";
        assert_eq!(summary(&reports), expected);
    }

    #[test]
    fn a_filter_that_matches_nothing_is_a_failure() {
        let step = Step {
            name: "tests",
            what: "pass",
            run: |_| Ok(Done { counts: Counts::default(), note: String::new() }),
        };
        assert_eq!(run_all(&Context::new(), [step].iter()), ExitCode::FAILURE);
    }

    #[test]
    fn ci_fails_what_a_newcomers_machine_leaves_out() {
        let step = Step {
            name: "type text",
            what: "checked by tsc",
            run: |_| Err(Trouble::NotRun { needs: "node".to_owned() }),
        };
        let verdict = |ci| {
            let mut cx = Context::new();
            cx.ci = ci;
            run(&cx, &step).result
        };
        assert_eq!(verdict(false), Err(Trouble::NotRun { needs: "node".to_owned() }));
        assert_eq!(
            verdict(true),
            Err("not run: needs node; CI leaves nothing out".to_owned().into())
        );
    }
}
