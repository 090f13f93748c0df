//! The steps of `cargo xtask ci` beside `tidy` and the generated files. They need rustfmt and clippy.

use crate::process;
use crate::step::{Done, Step, Trouble};
use crate::tools;

pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "format",
        what: "`cargo fmt` would change nothing",
        run: |cx| passes(&mut cx.cargo(&["fmt", "--all", "--check"])),
    },
    Step {
        name: "lints",
        what: "clippy has nothing to say about any target",
        run: |cx| {
            let mut clippy = cx.cargo(&["clippy", "--workspace", "--all-targets", "--keep-going"]);
            passes(clippy.args(["--", "-D", "warnings"]))
        },
    },
    Step {
        name: "docs",
        what: "the documentation of every library builds without a warning",
        run: |cx| {
            let mut doc = cx.cargo(&["doc", "--workspace", "--no-deps", "--lib"]);
            passes(doc.env("RUSTDOCFLAGS", "-D warnings"))
        },
    },
    Step {
        name: "dependencies",
        what: "deny.toml allows every crate, licence and source",
        run: |cx| {
            let mut deny = tools::cargo_deny(cx)?;
            deny.args(["--workspace", "--locked", "check", "--hide-inclusion-graph"]);
            passes(deny.args(["bans", "licenses", "sources"]))
        },
    },
];

fn passes(command: &mut std::process::Command) -> Result<Done, Trouble> {
    process::run(command)?;
    Ok(Done::one(""))
}
