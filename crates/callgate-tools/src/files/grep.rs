//! `grep`: lines that match a regular expression.

mod matches;
pub(super) mod regex;

use std::sync::Arc;

use callgate::{Content, Json, Output, ParamSpec, ToolDefinition, ToolError, ValueSpec, json};
use serde::Deserialize;

use super::blocking::Watch;
use super::pattern::PathPattern;
use super::root::{OpenDirectory, OpenFile, Opened, Root, shown};
use super::walk::Walk;
use super::{count, fault, items, number, plural, skipped_note, text};
pub(super) use matches::{Matches, Searched};

/// The most matching lines in one answer.
const MOST_MATCHES: usize = 1_000;
/// How many matching lines there are unless another number is asked for.
const USUAL_MATCHES: usize = 200;
const SKIPPED: &str = "binary, unreadable, or with a name that is not UTF-8";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    ignore_case: Option<bool>,
    max_matches: Option<i64>,
}

pub(super) fn definition(root: &Arc<Root>) -> ToolDefinition {
    let description = format!(
        "Searches files below the root directory, line by line, for a regular expression (Rust syntax: no \
         look-around, no back-references; escape `{{`, `(` and the like to match them literally). \
         Shows the matching lines with their numbers, by file. Leaves out binary files, what \
         `.gitignore` files ignore, and names that begin with a dot unless `glob` spells the dot; \
         follows no symbolic links. Shows {USUAL_MATCHES} lines unless `maxMatches` says otherwise."
    );
    let parameters = ParamSpec::new()
        .required("pattern", ValueSpec::string().description("The regular expression; `^` and `$` match at the ends of a line."))
        .optional("path", ValueSpec::string().description("The directory or the single file to search, relative to the root. Default: the root."))
        .optional("glob", ValueSpec::string().description("Searches only files that match: by their names, as in `*.rs` or `*.{ts,tsx}`, or with a slash by their paths below `path`, as in `src/**/*.rs`."))
        .optional("ignoreCase", ValueSpec::boolean().description("Whether upper and lower case are the same. Default: false."))
        .optional("maxMatches", ValueSpec::integer().description(format!("How many matching lines to show, from 1 to {MOST_MATCHES}. Default: {USUAL_MATCHES}.")));
    let line = ValueSpec::object()
        .closed()
        .required("lineNumber", ValueSpec::integer().description("Counted from 1."))
        .required(
            "line",
            ValueSpec::string().description(
                "The line without its line break; cut around the match if it is long.",
            ),
        );
    let file = ValueSpec::object()
        .closed()
        .required(
            "path",
            ValueSpec::string().description("Relative to the root, with `/` between names."),
        )
        .required("matches", ValueSpec::array_of(line));
    let value = ValueSpec::object()
        .closed()
        .required("files", ValueSpec::array_of(file).description("Sorted by path."))
        .required("truncated", ValueSpec::boolean().description("Whether there are more matching lines than `files` has."))
        .required("total", ValueSpec::integer().description("How many lines match."))
        .required("skipped", ValueSpec::integer().description("How many files and directories were not searched: binary, unreadable, or with a name that is not UTF-8."));
    let output = Output::new(value, render).with_meta(|_, value| Ok(meta(value)));
    super::definition(root, "grep", description, parameters, output, grep)
}

fn grep(root: &Root, arguments: &Arguments, watch: &Watch) -> Result<Json, ToolError> {
    let limit = count("maxMatches", arguments.max_matches, USUAL_MATCHES, MOST_MATCHES)?;
    let matcher = regex::compile(&arguments.pattern, arguments.ignore_case.unwrap_or(false))?;
    let glob = arguments.glob.as_deref();
    let glob = glob.map(|glob| PathPattern::for_names("glob", glob)).transpose()?;
    let search = Matches::new(matcher, limit, watch);
    match root.open(arguments.path.as_deref().unwrap_or("."))? {
        Opened::File(_) if glob.is_some() => {
            let message = "`path` is a single file; leave `glob` out, or name a directory";
            Err(ToolError::invalid_arguments(message))
        }
        Opened::File(file) => search_file(file, search),
        Opened::Directory(directory) => search_below(root, directory, glob.as_ref(), search),
    }
}

/// A file that a model named is searched whatever rules there are, or it is told why not.
fn search_file(file: OpenFile, mut matches: Matches<'_>) -> Result<Json, ToolError> {
    let path = shown(&file.names);
    match matches.search(&path, file.file)? {
        Searched::Whole => Ok(matches.into_value(0)),
        Searched::Binary => Err(fault::not_text(&path)),
        Searched::Unreadable(error) => Err(fault::unreadable(&path, error)),
    }
}

fn search_below(
    root: &Root,
    directory: OpenDirectory,
    glob: Option<&PathPattern>,
    mut matches: Matches<'_>,
) -> Result<Json, ToolError> {
    let include_hidden = glob.is_some_and(PathPattern::names_hidden);
    let mut walk = Walk::start(root, directory, include_hidden, matches.watch())?;
    let mut skipped = 0;
    while let Some(found) = walk.next()? {
        if glob.is_some_and(|glob| !glob.matches(found.below_start)) {
            continue;
        }
        let searched = match found.open() {
            Ok(Some(file)) => matches.search(found.path, file)?,
            Ok(None) => continue,
            Err(errno) => Searched::Unreadable(errno.into()),
        };
        skipped += u64::from(!matches!(searched, Searched::Whole));
    }
    let skipped = skipped + walk.skipped();
    Ok(matches.into_value(skipped))
}

fn render(arguments: &Json, value: &Json) -> Vec<Content> {
    let files = items(value, "files");
    let total = number(value, "total");
    let skipped = skipped_note(value, SKIPPED);
    if files.is_empty() {
        let pattern = text(arguments, "pattern");
        return vec![Content::text(format!(
            "(no line matches `{pattern}`; ignored, hidden and binary files are left out{skipped})"
        ))];
    }
    let summary = if value["truncated"] == json!(true) {
        let lines: usize = files.iter().map(|file| items(file, "matches").len()).sum();
        format!(
            "the first {lines} of {total} matching lines; narrow `pattern`, `path` or `glob` to see the others"
        )
    } else {
        let matching = plural(total, "matching line", "matching lines");
        format!("{matching} in {}", plural(files.len() as u64, "file", "files"))
    };
    let shown: Vec<String> =
        files.iter().flat_map(block).chain([format!("({summary}{skipped})")]).collect();
    vec![Content::text(shown.join("\n"))]
}

/// The lines that show one file, with an empty one at the end.
fn block(file: &Json) -> Vec<String> {
    let line = |line: &Json| format!("  {}: {}", number(line, "lineNumber"), text(line, "line"));
    let mut lines = vec![text(file, "path").to_owned()];
    lines.extend(items(file, "matches").iter().map(line));
    lines.push(String::new());
    lines
}

fn meta(value: &Json) -> Json {
    json!({
        "shape": "matches",
        "files": &value["files"],
        "truncated": &value["truncated"],
        "total": &value["total"],
    })
}
