//! What the crates bring along: the facade's budget, and crates that must stay unknown to others.

use std::collections::BTreeSet;

use crate::context::Context;
use crate::step::{Done, Trouble};

/// So many crates may build for `callgate` without features, itself, build scripts and macros included.
const BUDGET: usize = 60;

/// These crates must never bring those along, whatever their features.
const UNKNOWN: &[(&str, &[&str])] = &[
    ("callgate-schema", &["futures-util", "tokio"]),
    ("callgate-session", &["tokio"]),
    ("callgate-core", &["axum", "clap", "hyper", "jsonschema", "oxc_parser", "rmcp", "rquickjs"]),
    ("callgate", &["axum", "clap", "hyper", "jsonschema", "rmcp"]),
];

pub(super) fn check(cx: &Context) -> Result<Done, Trouble> {
    let lean = built(cx, "callgate", "--no-default-features")?;
    let mut problems = Vec::new();
    problems.extend(over_budget(&lean));
    for (krate, unknown) in UNKNOWN {
        problems.extend(known(krate, &built(cx, krate, "--all-features")?, unknown));
    }
    Trouble::unless_empty(problems, format!("{} of {BUDGET} crates", lean.len()))
}

/// Name and version of every crate that building this one for this machine builds.
fn built(cx: &Context, krate: &str, features: &str) -> Result<BTreeSet<String>, String> {
    let tree = cx.cargo_output(&[
        "tree",
        "--package",
        krate,
        features,
        "--edges",
        "normal,build",
        "--prefix",
        "none",
    ])?;
    Ok(crates(&tree))
}

/// `serde v1.0.229 (proc-macro) (*)`: the first two words are the crate.
fn crates(tree: &str) -> BTreeSet<String> {
    let first_two = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    tree.lines().filter(|line| !line.is_empty()).map(first_two).collect()
}

fn over_budget(lean: &BTreeSet<String>) -> Option<String> {
    if lean.len() <= BUDGET {
        return None;
    }
    let all: Vec<&str> = lean.iter().map(String::as_str).collect();
    Some(format!(
        "callgate: builds {} crates without features, its budget is {BUDGET}; drop a dependency of the library or put it \
         behind a feature: {}",
        all.len(),
        all.join(", ")
    ))
}

fn known(krate: &str, built: &BTreeSet<String>, unknown: &[&str]) -> Vec<String> {
    let names = built.iter().filter_map(|built| built.split(' ').next());
    names
        .filter(|name| unknown.contains(name))
        .map(|name| {
            format!("{krate}: brings {name} along (`cargo tree -p {krate} --all-features -i {name}` shows how); it belongs in a crate above")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "\
callgate v0.1.0 (/src/crates/callgate)
serde v1.0.229
serde_derive v1.0.229 (proc-macro)
syn v2.0.1
syn v3.0.10
serde v1.0.229 (*)
";

    #[test]
    fn each_version_of_a_crate_counts_once() {
        let expected = [
            "callgate v0.1.0",
            "serde v1.0.229",
            "serde_derive v1.0.229",
            "syn v2.0.1",
            "syn v3.0.10",
        ];
        assert_eq!(crates(TREE), expected.map(str::to_owned).into());
    }

    #[test]
    fn a_forbidden_crate_is_named_with_the_way_to_see_why() {
        assert_eq!(
            known("callgate", &crates(TREE), &["syn_extra", "serde"]),
            [
                "callgate: brings serde along (`cargo tree -p callgate --all-features -i serde` shows how); it belongs in a crate above"
            ]
        );
    }

    #[test]
    fn the_budget_allows_sixty_crates_and_not_one_more() {
        let crates = |number| (0..number).map(|n| format!("c{n} v1.0.0")).collect::<BTreeSet<_>>();
        assert_eq!(over_budget(&crates(60)), None);
        let over = over_budget(&crates(61)).unwrap();
        assert!(
            over.starts_with("callgate: builds 61 crates without features, its budget is 60;"),
            "{over}"
        );
    }
}
