//! Rules of the repository that no compiler knows.

mod graph;
mod lean;
mod leftovers;
mod manifests;
mod rules;

use std::fmt::Write as _;
use std::path::Path;

use crate::step::Step;

/// Every check. Each problem names the file or crate and the way to mend it.
pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "crate graph",
        what: "a crate depends only on the workspace crates the table allows it",
        run: graph::check,
    },
    Step {
        name: "lean library",
        what: "`callgate` without features builds at most 60 crates, and no crate knows what is not its business",
        run: lean::check,
    },
    Step {
        name: "manifests",
        what: "crates inherit edition, Rust version, licence, lints and dependencies from the workspace",
        run: manifests::check,
    },
    Step {
        name: "leftovers",
        what: "no unfinished code, ignored test, unreviewed snapshot or path of one machine is committed",
        run: leftovers::check,
    },
    Step {
        name: "rule ids",
        what: "`docs/spec` lists each rule once, and tests name only rules that exist",
        run: rules::check,
    },
];

/// The checks as a Markdown table.
pub(crate) fn table() -> String {
    let mut table = "| check | what holds |\n|---|---|\n".to_owned();
    for Step { name, what, .. } in STEPS {
        _ = writeln!(table, "| {name} | {what} |");
    }
    table
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}
