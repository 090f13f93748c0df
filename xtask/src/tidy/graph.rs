//! Which workspace crate may depend on which.

use serde_json::Value;

use crate::context::Context;
use crate::step::{Done, Trouble};

/// A crate may depend only on these, for tests and builds too.
const ALLOWED: &[(&str, &[&str])] = &[
    ("callgate-schema", &[]),
    ("callgate-session", &["callgate-schema"]),
    ("callgate-core", &["callgate-schema", "callgate-session"]),
    ("callgate-macros", &[]),
    ("callgate-engine", &["callgate-core", "callgate-schema", "callgate-session"]),
    (
        "callgate",
        &[
            "callgate-core",
            "callgate-engine",
            "callgate-macros",
            "callgate-schema",
            "callgate-session",
        ],
    ),
    // From here on only the facade: what it lacks, its users lack too.
    ("callgate-tools", &["callgate"]),
    ("callgate-mcp", &["callgate"]),
    ("callgate-agent", &["callgate"]),
    ("callgate-inspector", &["callgate"]),
    (
        "callgate-cli",
        &["callgate", "callgate-agent", "callgate-inspector", "callgate-mcp", "callgate-tools"],
    ),
    ("callgate-fuzz", &["callgate", "callgate-mcp"]),
    ("xtask", &[]),
];

pub(super) fn check(cx: &Context) -> Result<Done, Trouble> {
    let metadata = cx.cargo_output(&["metadata", "--no-deps", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_str(&metadata)
        .map_err(|error| format!("cannot read `cargo metadata`: {error}"))?;
    Trouble::unless_empty(problems(&metadata), "")
}

fn problems(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    packages.iter().flat_map(package_problems).collect()
}

fn package_problems(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some((_, allowed)) = ALLOWED.iter().find(|(krate, _)| *krate == name) else {
        return vec![format!(
            "{name}: not in the table of crates; add its row to `ALLOWED` in xtask/src/tidy/graph.rs"
        )];
    };
    let dependencies = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
    let of_the_workspace = dependencies.iter().filter(|dependency| dependency["path"].is_string());
    of_the_workspace
        .filter_map(|dependency| dependency["name"].as_str())
        .filter(|dependency| !allowed.contains(dependency))
        .map(|dependency| {
            let allowed =
                if allowed.is_empty() { "no workspace crate".to_owned() } else { allowed.join(", ") };
            format!(
                "{name}: depends on {dependency}, but may depend only on {allowed}; \
                 move the code to the right side of the border, or change `ALLOWED` in xtask/src/tidy/graph.rs"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, dependencies: &Value) -> Value {
        json!({ "name": name, "dependencies": dependencies })
    }

    #[test]
    fn allowed_and_external_dependencies_pass() {
        let dependencies = json!([
            { "name": "callgate-schema", "path": "/src/crates/callgate-schema", "kind": null },
            { "name": "serde", "kind": null },
        ]);
        let metadata = json!({ "packages": [package("callgate-session", &dependencies)] });
        assert_eq!(problems(&metadata), Vec::<String>::new());
    }

    #[test]
    fn a_dependency_against_the_table_is_refused_even_for_tests() {
        let dependencies = json!([
            { "name": "callgate-core", "path": "/src/crates/callgate-core", "kind": "dev" },
        ]);
        let metadata = json!({ "packages": [
            package("callgate-schema", &dependencies),
            package("callgate-session", &dependencies),
        ] });
        let end = "move the code to the right side of the border, or change `ALLOWED` in xtask/src/tidy/graph.rs";
        assert_eq!(
            problems(&metadata),
            [
                format!(
                    "callgate-schema: depends on callgate-core, but may depend only on no workspace crate; {end}"
                ),
                format!(
                    "callgate-session: depends on callgate-core, but may depend only on callgate-schema; {end}"
                ),
            ]
        );
    }

    #[test]
    fn a_crate_without_a_row_is_refused() {
        let metadata = json!({ "packages": [package("callgate-new", &json!([]))] });
        assert_eq!(
            problems(&metadata),
            [
                "callgate-new: not in the table of crates; add its row to `ALLOWED` in xtask/src/tidy/graph.rs"
            ]
        );
    }

    #[test]
    fn the_table_names_only_crates_above_the_row() {
        for (row, (krate, allowed)) in ALLOWED.iter().enumerate() {
            for dependency in *allowed {
                let above = ALLOWED[..row].iter().any(|(name, _)| name == dependency);
                assert!(above, "{krate} may depend on {dependency}, which is not above it");
            }
        }
    }
}
