//! `read`: lines of a text file.

use std::sync::Arc;

use callgate::{Content, Json, Output, ParamSpec, ToolDefinition, ToolError, ValueSpec, json};
use serde::Deserialize;

use super::blocking::Watch;
use super::root::{Opened, Root};
use super::window::{LONGEST_LINE, MOST_BYTES, Unusable, Window};
use super::{count, fault, items, number, plural, text};

/// The most lines in one answer, and how many there are unless fewer are asked for.
const MOST_LINES: usize = 2_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    offset: Option<i64>,
    limit: Option<i64>,
}

pub(super) fn definition(root: &Arc<Root>) -> ToolDefinition {
    let description = format!(
        "Reads a text file below the root directory and shows its lines, numbered from 1. At most {MOST_LINES} lines and \
         {MOST_BYTES} bytes come at once; the last line of the answer says where to read on. \
         Lines over {LONGEST_LINE} characters are cut. Binary files and directories are refused: \
         use `glob` to see what is in a directory."
    );
    let parameters = ParamSpec::new()
        .required(
            "path",
            ValueSpec::string().description(
                "The file, relative to the root, with `/` between names: `src/main.rs`.",
            ),
        )
        .optional(
            "offset",
            ValueSpec::integer().description("The first line to show, counted from 1. Default: 1."),
        )
        .optional(
            "limit",
            ValueSpec::integer().description(format!(
                "How many lines to show, from 1 to {MOST_LINES}. Default: {MOST_LINES}."
            )),
        );
    let line = ValueSpec::object()
        .closed()
        .required(
            "number",
            ValueSpec::integer().description("The number of the line, counted from 1."),
        )
        .required("text", ValueSpec::string().description("The line without its line break."));
    let value = ValueSpec::object()
        .closed()
        .required("path", ValueSpec::string())
        .required("offset", ValueSpec::integer())
        .required("lines", ValueSpec::array_of(line))
        .required("totalLines", ValueSpec::integer().description("How many lines the file has."));
    let output =
        Output::new(value, render).with_meta(|arguments, value| Ok(meta(arguments, value)));
    super::definition(root, "read", description, parameters, output, read)
}

fn read(root: &Root, arguments: &Arguments, watch: &Watch) -> Result<Json, ToolError> {
    let path = &*arguments.path;
    let offset = count("offset", arguments.offset, 1, usize::MAX)? as u64;
    let limit = count("limit", arguments.limit, MOST_LINES, MOST_LINES)?;
    let file = match root.open(path)? {
        Opened::File(file) => file.file,
        Opened::Directory(_) => {
            let message = format!(
                "`{path}` is a directory; list the files in it with `glob`, for example `{{\"pattern\": \"*\", \"path\": {}}}`",
                Json::from(path)
            );
            return Err(fault::not_regular(message));
        }
    };
    let window = Window::read(file, offset, limit, watch).map_err(|unusable| match unusable {
        Unusable::NotText => fault::not_text(path),
        Unusable::Unreadable(error) => fault::unreadable(path, error),
        Unusable::Stopped(error) => error,
    })?;
    let total = window.total_lines;
    if offset > total.max(1) {
        let lines = plural(total, "line", "lines");
        let message =
            format!("`{path}` has no line {offset}: it has {lines}; use a smaller `offset`");
        return Err(fault::not_found(message));
    }
    let lines = window.lines.into_iter();
    let lines: Vec<Json> =
        lines.map(|line| json!({ "number": line.number, "text": line.text })).collect();
    Ok(json!({ "path": path, "offset": offset, "lines": lines, "totalLines": total }))
}

fn render(arguments: &Json, value: &Json) -> Vec<Content> {
    let lines = items(value, "lines");
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
        return vec![Content::text("(the file is empty)")];
    };
    let shown =
        lines.iter().map(|line| format!("{}: {}", number(line, "number"), text(line, "text")));
    let (first, last) = (number(first, "number"), number(last, "number"));
    let total = number(value, "totalLines");
    let place = format!("lines {first} to {last} of {total}; read on with offset {}", last + 1);
    let asked = arguments["limit"].as_u64().unwrap_or(MOST_LINES as u64);
    let footer = if last == total {
        format!("(end of file; {})", plural(total, "line", "lines"))
    } else if (lines.len() as u64) < asked {
        format!("(cut at {MOST_BYTES} bytes: {place})")
    } else {
        format!("({place})")
    };
    let shown: Vec<String> = shown.chain([String::new(), footer]).collect();
    vec![Content::text(shown.join("\n"))]
}

/// The value, and the language for highlighting.
fn meta(_: &Json, value: &Json) -> Json {
    let Some(object) = value.as_object() else { return Json::Null };
    match value["path"].as_str().and_then(language) {
        Some(language) => object.with("lang", language).into(),
        None => value.clone(),
    }
}

/// Endings that highlighters know by their own name.
const LANGUAGES: [&str; 44] = [
    "bash", "c", "cc", "cpp", "cs", "css", "csv", "dart", "diff", "ex", "exs", "go", "graphql",
    "h", "hpp", "hs", "html", "ini", "java", "js", "json", "jsx", "kt", "less", "lua", "md", "php",
    "pl", "proto", "py", "r", "rb", "rs", "scala", "scss", "sh", "sql", "svg", "swift", "toml",
    "ts", "tsx", "xml", "yaml",
];

fn language(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next()?;
    let (stem, ending) = name.rsplit_once('.')?;
    let ending = if ending.eq_ignore_ascii_case("yml") { "yaml" } else { ending };
    let known = LANGUAGES.iter().find(|known| known.eq_ignore_ascii_case(ending));
    known.copied().filter(|_| !stem.is_empty())
}
