//! The result of a program: a table if it is one, else JSON, a string as it is.

use callgate::schema::Kind;
use callgate::{Json, Object, Str};

use super::table::{Align, Table};
use crate::look::Look;
use crate::terminal::visible;

/// Wider tables are harder to read than JSON.
const MOST_COLUMNS: usize = 20;

/// The lines of a result, without a line break at the end of a string that has none.
pub(crate) fn result(value: &Json, look: Look) -> String {
    let text = table(value).map_or_else(|| value.render_result(), |table| table.render(look));
    // Into a file goes what the program returned, to the byte; a terminal gets nothing that steers it.
    if look.is_terminal && value.kind() == Kind::String { visible(&text) } else { text }
}

/// The value as a table, if it is a list of flat objects.
fn table(value: &Json) -> Option<Table> {
    let rows: Vec<&Object> =
        value.as_array()?.iter().map(Json::as_object).collect::<Option<_>>()?;
    let is_flat = |row: &&Object| {
        !row.is_empty()
            && row.values().all(|cell| !matches!(cell.kind(), Kind::Array | Kind::Object))
    };
    if rows.is_empty() || !rows.iter().all(is_flat) {
        return None;
    }
    let names = names(&rows)?;
    let mut table = Table::new(names.iter().map(|name| (name.to_string(), align(&rows, name))));
    for row in rows {
        table.row(names.iter().map(|name| row.get(name).map(cell).unwrap_or_default()));
    }
    Some(table)
}

/// The names of all members in the order they first appear, unless they are too many.
fn names<'a>(rows: &[&'a Object]) -> Option<Vec<&'a Str>> {
    let mut names: Vec<&Str> = Vec::new();
    for row in rows {
        for name in row.keys() {
            if !names.contains(&name) {
                names.push(name);
                if names.len() > MOST_COLUMNS {
                    return None;
                }
            }
        }
    }
    Some(names)
}

fn align(rows: &[&Object], name: &str) -> Align {
    let mut cells = rows.iter().filter_map(|row| row.get(name));
    let is_numeric = |cell: &Json| matches!(cell.kind(), Kind::Number | Kind::Null);
    if cells.all(is_numeric) { Align::Right } else { Align::Left }
}

fn cell(value: &Json) -> String {
    match value {
        Json::String(text) => text.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use callgate::json;

    use super::*;

    #[test]
    fn a_list_of_flat_objects_is_a_table() {
        let value = json!([
            { "crate": "callgate-core", "words": 12345, "share": 0.5 },
            { "crate": "xtask", "words": null, "is_binary": true },
        ]);
        insta::assert_snapshot!(result(&value, Look::default()), @r"
        crate          words  share  is_binary
        callgate-core  12345    0.5
        xtask           null         true
        ");
    }

    #[test]
    fn everything_else_is_json_and_strings_are_themselves() {
        let shown = [
            json!([{ "a": [1] }]),
            json!([{}, { "a": 1 }]),
            json!([]),
            json!({ "a": 1 }),
            json!("two\nlines"),
            json!(null),
        ];
        let shown: Vec<String> = shown.iter().map(|value| result(value, Look::default())).collect();
        insta::assert_snapshot!(shown.join("\n---\n"), @r#"
        [
          {
            "a": [
              1
            ]
          }
        ]
        ---
        [
          {},
          {
            "a": 1
          }
        ]
        ---
        []
        ---
        {
          "a": 1
        }
        ---
        two
        lines
        ---
        null
        "#);
    }

    #[test]
    fn a_string_cannot_steer_a_terminal() {
        let value = json!("\u{1b}]0;title\u{7}a\tb\r\n\u{202e}c");
        assert_eq!(result(&value, Look::terminal(80)), "\\u{1b}]0;title\\u{7}a\tb\n\\u{202e}c");
        assert_eq!(result(&value, Look::default()), "\u{1b}]0;title\u{7}a\tb\r\n\u{202e}c");
    }
}
