//! The document of all tools.

#[path = "../../examples/catalogue/catalogue.rs"]
#[expect(clippy::module_inception, reason = "the module of the example")]
mod catalogue;

use std::collections::BTreeSet;
use std::path::Path;

use callgate::{Json, Output, ParamSpec, ToolDefinition, ValueSpec, json, render};
use catalogue::{PACKAGES, Package, document, packages_in};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

fn fresh() -> String {
    let source = Path::new(SOURCE);
    document(PACKAGES, &packages_in(source).unwrap(), source).unwrap()
}

/// A package of one tool whose description is computed when it is registered.
fn computed(name: &'static str) -> Package {
    Package {
        name,
        requires: "a clock",
        writes: "a journal",
        aliases: "`when`",
        note: "clock: the system's",
        register: |layer| {
            let description = format!("Says what time it is in {} zones.", 20 + 4);
            let parameters =
                ParamSpec::new().required("zone", ValueSpec::string().values(["a", "b"]));
            let output = Output::new(ValueSpec::string(), render::json);
            layer.register(ToolDefinition::new(
                "time",
                description,
                parameters,
                output,
                |_, _| async { Ok(json!("noon")) },
            ))?;
            Ok(())
        },
    }
}

#[test]
fn what_models_see_is_read_from_registered_tools() {
    // CATALOG-1
    let text = document(&[computed("clock")], &BTreeSet::new(), Path::new(SOURCE)).unwrap();
    let (_, section) = text.split_once("\n## ").unwrap();
    insta::assert_snapshot!(section, @r#"
    `clock`

    ### `time`

    Says what time it is in 24 zones.

    ```json
    {
      "type": "object",
      "properties": {
        "zone": {
          "type": "string",
          "enum": [
            "a",
            "b"
          ]
        }
      },
      "required": [
        "zone"
      ]
    }
    ```

    Defined in `crates/callgate-tools/src/clock.rs`.
    "#);
    // What was chosen for the packages there are is said, and nothing of the machine is in the text.
    assert!(fresh().contains("| root: the working directory |"));
    let here = std::env::current_dir().unwrap();
    assert!(!fresh().contains(here.to_str().unwrap()));
}

#[test]
fn a_package_that_is_not_listed_or_registers_nothing_is_named() {
    // CATALOG-2
    let disk = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let refused = |packages: &[Package], names: &[&str]| {
        document(packages, &disk(names), Path::new(SOURCE)).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&[computed("clock")], &["clock", "shell"]),
        "the package `shell` is not in the catalogue; add a row to `PACKAGES`"
    );
    let empty = Package { register: |_| Ok(()), ..computed("clock") };
    assert_eq!(
        refused(&[empty], &["clock"]),
        "the package `clock` registers no tool; it needs a clock"
    );
    let modules = packages_in(Path::new(SOURCE)).unwrap();
    assert!(modules.contains("files") && !modules.contains("lib"), "{modules:?}");
}

#[test]
fn the_document_has_a_table_and_for_each_tool_what_it_takes_and_where_it_is_defined() {
    // CATALOG-3
    let text = fresh();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(
        rows,
        [
            "| `files` | `glob`, `grep`, `read` | a directory as root | nothing | none | root: the working directory |"
        ]
    );
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("##")).collect();
    assert_eq!(headings, ["## `files`", "### `glob`", "### `grep`", "### `read`"]);
    let blocks: Vec<Json> = text
        .split("```json\n")
        .skip(1)
        .map(|block| Json::parse(block.split("```").next().unwrap()).unwrap())
        .collect();
    assert_eq!(blocks.len(), 3);
    assert!(blocks.iter().all(|parameters| parameters["type"] == json!("object")), "{blocks:?}");
    for tool in ["glob", "grep", "read"] {
        let file = format!("Defined in `crates/callgate-tools/src/files/{tool}.rs`.");
        assert!(text.contains(&file), "{file}");
    }
}

#[test]
fn the_committed_document_is_fresh() {
    // CATALOG-4
    let committed = include_str!("../../../../docs/tools.md");
    assert!(committed == fresh(), "docs/tools.md is stale: run `cargo xtask gen` and commit it");
}
