//! The programs of `examples/programs` do what they say.

use std::path::Path;

use callgate::Json;

use crate::sandbox::{Sandbox, assert_shown};

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/programs");

fn program(name: &str) -> String {
    format!("{PROGRAMS}/{name}")
}

/// A small repository in which there is something to find for every program.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("crates/one/src/lib.rs", "//! The first crate.\n\npub fn f() {}\n");
    sandbox.write(
        "crates/two/src/lib.rs",
        "//! The second crate.\n// TODO: one\n// TODO: two\npub fn g() {}\n",
    );
    sandbox.write("crates/two/src/long.rs", &"fn line() {}\n".repeat(4_100));
    sandbox.write("crates/two/src/empty.rs", "");
    sandbox.write("docs/guide.md", "# Guide\n\n## Use\n\nSee [the readme](../readme.md), [nothing](gone.md#top) and [docs](.).\n\n## Use\n");
    sandbox
}

#[test]
fn every_program_runs_on_a_small_repository() {
    let sandbox = repository();
    for name in
        ["largest-files.ts", "words-per-crate.ts", "repeated-headings.ts", "broken-links.ts"]
    {
        let ended = sandbox.callgate(["run", "-q", &program(name)]);
        insta::with_settings!({ snapshot_suffix => name }, { assert_shown!(ended.shown()) });
    }
}

#[test]
fn every_program_runs_on_this_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sandbox = Sandbox::new();
    let mut names: Vec<String> = Path::new(PROGRAMS)
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 4, "{names:?}");
    for name in names {
        let ended = sandbox.callgate([
            "run",
            "-q",
            "--json",
            "--root",
            root.to_str().unwrap(),
            &program(&name),
        ]);
        let report = Json::parse(&ended.stdout).unwrap();
        assert_eq!((ended.code, &report["error"]), (Some(0), &Json::Null), "{name}: {ended:?}");
        assert!(report["result"].as_array().is_some(), "{name}");
        if name == "largest-files.ts" {
            assert_eq!(
                (
                    report["result"].as_array().unwrap().len(),
                    report["calls"].as_array().unwrap().len()
                ),
                (10, 21)
            );
        }
    }
}
