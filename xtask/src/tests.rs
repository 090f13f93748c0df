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
    let transcript = Transcript::with_targets(&process::output(&mut build)?);
    follow(cx, TARGETS, transcript)
}

fn docs(cx: &Context) -> Result<Done, Trouble> {
    follow(cx, &["test", "--workspace", "--no-fail-fast", "--doc"], Transcript::default())
}

fn follow(cx: &Context, arguments: &[&str], transcript: Transcript) -> Result<Done, Trouble> {
    let mut transcript = transcript;
    let mut command = cx.cargo(arguments);
    command.arg("--").args(&cx.filters);
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
