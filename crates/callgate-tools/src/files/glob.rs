//! `glob`: files by the patterns of their paths.

use std::sync::Arc;

use callgate::{
    Array, Content, Json, Output, ParamSpec, ToolDefinition, ToolError, ValueSpec, json,
};
use serde::Deserialize;

use super::blocking::Watch;
use super::pattern::PathPattern;
use super::root::{Opened, Root};
use super::walk::Walk;
use super::{fault, items, number, plural, skipped_note, text};

/// The most files in one answer.
const MOST_FILES: usize = 1_000;
/// The most bytes of paths in one answer.
const MOST_BYTES: usize = 102_400;
/// Why a file may be missing.
const LEFT_OUT: &str = "ignored and hidden files are left out, and letter case counts";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pattern: String,
    path: Option<String>,
}

pub(super) fn definition(root: &Arc<Root>) -> ToolDefinition {
    let description = format!(
        "Finds files below the root directory by a pattern for their paths and shows the paths, \
         sorted and relative to the root. Finds files only, no directories, and follows no symbolic links. Leaves out what \
         `.gitignore` files ignore, and names that begin with a dot unless the pattern spells the \
         dot (`.github/**`). Shows at most {MOST_FILES} files. The value also has their sizes."
    );
    let parameters = ParamSpec::new()
        .required("pattern", ValueSpec::string().description("A glob for the path below `path`: `*` and `?` stay within a name, `**` crosses directories, `{a,b}` and `[a-z]` choose. `*.rs` finds files in one directory, `**/*.rs` in all below it."))
        .optional("path", ValueSpec::string().description("The directory to search, relative to the root. Default: the root."));
    let file = ValueSpec::object()
        .closed()
        .required(
            "path",
            ValueSpec::string().description("Relative to the root, with `/` between names."),
        )
        .required("bytes", ValueSpec::integer().description("The size of the file."));
    let value = ValueSpec::object()
        .closed()
        .required("files", ValueSpec::array_of(file).description("Sorted by path."))
        .required("truncated", ValueSpec::boolean().description("Whether there are more files than `files` has."))
        .required("total", ValueSpec::integer().description("How many files the pattern matches."))
        .required("skipped", ValueSpec::integer().description("How many entries could not be looked at: unreadable, or with a name that is not UTF-8."));
    let output = Output::new(value, render).with_meta(|_, value| Ok(meta(value)));
    super::definition(root, "glob", description, parameters, output, glob)
}

fn glob(root: &Root, arguments: &Arguments, watch: &Watch) -> Result<Json, ToolError> {
    let pattern = PathPattern::for_paths("pattern", &arguments.pattern)?;
    let start = arguments.path.as_deref().unwrap_or(".");
    let Opened::Directory(directory) = root.open(start)? else {
        return Err(fault::not_directory(start));
    };
    let mut walk = Walk::start(root, directory, pattern.names_hidden(), watch)?;
    let mut files = Vec::new();
    let (mut total, mut bytes, mut is_full) = (0_u64, 0, false);
    while let Some(found) = walk.next()? {
        if !pattern.matches(found.below_start) {
            continue;
        }
        is_full |= files.len() == MOST_FILES || bytes + found.path.len() > MOST_BYTES;
        if is_full {
            total += 1;
        } else if let Some(size) = found.bytes() {
            total += 1;
            bytes += found.path.len();
            files.push(json!({ "path": found.path, "bytes": size }));
        }
    }
    let skipped = walk.skipped();
    Ok(json!({ "files": files, "truncated": is_full, "total": total, "skipped": skipped }))
}

fn render(arguments: &Json, value: &Json) -> Vec<Content> {
    let files = items(value, "files");
    let total = number(value, "total");
    let skipped = skipped_note(value, "unreadable, or with a name that is not UTF-8");
    if files.is_empty() {
        return vec![Content::text(format!("({}{skipped})", nothing_found(arguments)))];
    }
    let summary = if value["truncated"] == json!(true) {
        format!(
            "the first {} of {total} files; narrow `pattern` or `path` to see the others",
            files.len()
        )
    } else {
        plural(total, "file", "files")
    };
    let footer = format!("({summary}{skipped})");
    let shown: Vec<&str> =
        files.iter().map(|file| text(file, "path")).chain(["", &*footer]).collect();
    vec![Content::text(shown.join("\n"))]
}

/// What to try instead.
fn nothing_found(arguments: &Json) -> String {
    let pattern = text(arguments, "pattern");
    let advice = if pattern.ends_with('/') {
        format!("it finds files only: try `{pattern}**`")
    } else if !pattern.contains("**") {
        format!("`**/{pattern}` searches all directories below; {LEFT_OUT}")
    } else {
        LEFT_OUT.to_owned()
    };
    format!("no file matches `{pattern}`; {advice}")
}

fn meta(value: &Json) -> Json {
    let paths: Array = items(value, "files").iter().map(|file| &file["path"]).collect();
    json!({ "shape": "paths", "paths": paths, "truncated": &value["truncated"], "total": &value["total"] })
}
