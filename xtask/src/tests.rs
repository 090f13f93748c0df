//! The steps of `cargo xtask test` that run the crates' own tests.

use crate::context::Context;
use crate::libtest::Transcript;
use crate::process::{self, Event};
use crate::step::{Done, Step, Trouble};

/// Unit, integration and end-to-end tests first, then the examples in the docs.
pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "tests",
        what: "unit, integration and end-to-end tests of every crate pass",
        run: targets,
    },
    Step { name: "doc tests", what: "the examples in the documentation run", run: docs },
];

/// Benches are left out: they measure, they do not test.
const TARGETS: &[&str] =
    &["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"];

fn targets(cx: &Context) -> Result<Done, Trouble> {
    // End-to-end tests start binaries and examples, also those of other crates.
    process::run(&mut cx.cargo(&["build", "--workspace", "--bins", "--examples", "--keep-going"]))?;
    let mut build = cx.cargo(TARGETS);
    build.args(["--no-run", "--message-format", "json-render-diagnostics"]);
    build.stderr(std::process::Stdio::inherit());
    let messages = process::output(&mut build)?;
    let mut test = cx.cargo(TARGETS);
    test.arg("--").args(&cx.filters);
    follow(cx, test, &messages)
}

fn docs(cx: &Context) -> Result<Done, Trouble> {
    let mut test = cx.cargo(&["test", "--workspace", "--no-fail-fast", "--doc"]);
    test.arg("--").args(&cx.filters);
    follow(cx, test, "")
}

/// Follows a `cargo test` to its end. `messages` are those of the same command with `--no-run`, for the targets' names.
pub(crate) fn follow(
    cx: &Context,
    mut command: std::process::Command,
    messages: &str,
) -> Result<Done, Trouble> {
    let mut transcript = Transcript::with_targets(messages);
    command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_QUIET", "false");
    command.env_remove("CALLGATE_TEST_LONG");
    if cx.long {
        command.env("CALLGATE_TEST_LONG", "1");
    }
    let status = process::follow(command, &mut |event| match event {
        Event::Line(line) => {
            if let Some(line) = transcript.read(line) {
                println!("{line}");
            }
        }
        Event::Quiet(time) => println!("  … {} ({} s)", transcript.position(), time.as_secs()),
    })?;
    transcript.finish(status.success())
}
