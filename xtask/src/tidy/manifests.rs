//! What each crate's manifest must inherit from the workspace.

use crate::context::Context;
use crate::step::{Done, Trouble};

/// Keys of `[package]` that have one value for all crates.
const INHERITED: &[&str] = &["edition", "rust-version", "license"];

pub(super) fn check(cx: &Context) -> Result<Done, Trouble> {
    let texts = cx.texts()?;
    let manifests: Vec<_> = texts.iter().filter(|(path, _)| is_member(path)).collect();
    let problems = manifests.iter().flat_map(|(path, text)| problems(path, text)).collect();
    Trouble::unless_empty(problems, format!("{} crates", manifests.len()))
}

fn is_member(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts[..], ["crates", _, "Cargo.toml"] | ["xtask", "Cargo.toml"])
}

fn problems(path: &str, text: &str) -> Vec<String> {
    let entries = entries(text);
    let inherits =
        |section: &str, key: &str| entries.iter().any(|entry| entry.is_inherited(section, key));

    let mut problems = Vec::new();
    for key in INHERITED {
        if !inherits("package", key) {
            problems.push(format!("{path}: write `{key}.workspace = true` in [package]"));
        }
    }
    let lints = |entry: &Entry| entry.path() == "lints.workspace" && entry.value == "true";
    if !entries.iter().any(lints) {
        problems.push(format!("{path}: write `workspace = true` in [lints]"));
    }
    for name in dependencies(&entries) {
        let inherited =
            entries.iter().any(|entry| entry.names_dependency(name) && entry.inherits());
        if !inherited {
            problems.push(format!(
                "{path}: name the version of `{name}` in [workspace.dependencies] and write `{name}.workspace = true` here"
            ));
        }
    }
    problems
}

/// One `key = value` line and the section it stands in.
#[derive(Debug)]
struct Entry<'a> {
    section: &'a str,
    key: &'a str,
    value: &'a str,
}

/// The lines of the form `key = value`. Continued lines of a list or text are none, or harmless.
fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut section = "";
    let mut entries = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[').and_then(|header| header.strip_suffix(']')) {
            section = header.trim_matches(['[', ']']).trim();
        } else if let Some((key, value)) = line.split_once('=')
            && !line.starts_with('#')
        {
            entries.push(Entry { section, key: key.trim(), value: value.trim() });
        }
    }
    entries
}

impl Entry<'_> {
    fn path(&self) -> String {
        if self.section.is_empty() {
            self.key.to_owned()
        } else {
            format!("{}.{}", self.section, self.key)
        }
    }

    fn is_inherited(&self, section: &str, key: &str) -> bool {
        self.section == section && self.key.split('.').next() == Some(key) && self.inherits()
    }

    /// `x.workspace = true`, `x = { workspace = true, … }`, or `workspace = true` in a section of its own.
    fn inherits(&self) -> bool {
        let last = self.key.rsplit('.').next() == Some("workspace");
        let spaceless: String = self.value.chars().filter(|c| !c.is_whitespace()).collect();
        (last && self.value.starts_with("true"))
            || (spaceless.starts_with('{') && spaceless.contains("workspace=true"))
    }

    /// The dependency that this line is about.
    fn dependency(&self) -> Option<&str> {
        let is_list = |section: &str| section.ends_with("dependencies");
        if is_list(self.section) {
            return self.key.split('.').next();
        }
        let (list, name) = self.section.rsplit_once('.')?;
        is_list(list).then_some(name)
    }

    fn names_dependency(&self, name: &str) -> bool {
        self.dependency() == Some(name)
    }
}

fn dependencies<'a>(entries: &'a [Entry<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = entries.iter().filter_map(Entry::dependency).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_inheritance_is_understood() {
        let text = r#"
[package]
name = "a"
edition.workspace = true
rust-version = { workspace = true }
license.workspace = true

[lints]
workspace = true

[dependencies]
serde.workspace = true
tokio = { workspace = true, features = ["rt"] }

[dependencies.clap]
workspace = true
optional = true

[target.'cfg(unix)'.dev-dependencies]
libc = {workspace=true}
"#;
        assert_eq!(problems("crates/a/Cargo.toml", text), Vec::<String>::new());
    }

    #[test]
    fn what_a_manifest_says_itself_is_refused_with_the_line_to_write() {
        let text = r#"
[package]
edition = "2024"
license.workspace = true

[dependencies]
serde = "1"
tokio = { version = "1", features = ["rt"] }
"#;
        assert_eq!(
            problems("a/Cargo.toml", text),
            [
                "a/Cargo.toml: write `edition.workspace = true` in [package]",
                "a/Cargo.toml: write `rust-version.workspace = true` in [package]",
                "a/Cargo.toml: write `workspace = true` in [lints]",
                "a/Cargo.toml: name the version of `serde` in [workspace.dependencies] and write `serde.workspace = true` here",
                "a/Cargo.toml: name the version of `tokio` in [workspace.dependencies] and write `tokio.workspace = true` here",
            ]
        );
    }
}
