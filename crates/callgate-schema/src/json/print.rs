//! Printing: compact, canonical and pretty, without recursion.

use std::fmt;

use super::tree::by_name;
use super::{Array, Json, Object, Str};

impl Json {
    /// Compact text with keys sorted at every depth: equal values have equal texts.
    ///
    /// ```
    /// use callgate_schema::json;
    ///
    /// assert_eq!(json!({ "b": 1, "a": [2, { "d": 3, "c": 4 }] }).canonical(), r#"{"a":[2,{"c":4,"d":3}],"b":1}"#);
    /// ```
    pub fn canonical(&self) -> String {
        printed(self, Style::Canonical)
    }

    /// Text over several lines, two spaces a level, for people.
    ///
    /// Indentation ends at ten columns: containers nested five deep or more are printed on one line, so that the
    /// length of the text stays in proportion to the value.
    pub fn pretty(&self) -> String {
        printed(self, Style::Pretty)
    }

    /// The text a model or a person reads when this is a result: a string as it is, everything else
    /// [pretty](Json::pretty).
    ///
    /// ```
    /// use callgate_schema::json;
    ///
    /// assert_eq!(json!("two\nlines").render_result(), "two\nlines");
    /// assert_eq!(json!({ "a": [] }).render_result(), "{\n  \"a\": []\n}");
    /// ```
    pub fn render_result(&self) -> String {
        match self {
            Self::String(text) => text.as_ref().to_owned(),
            _ => self.pretty(),
        }
    }
}

/// Compact JSON text; with `{:#}` as [`Json::pretty`].
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = if f.alternate() { Style::Pretty } else { Style::Compact };
        print(self, style, f)
    }
}

/// As `Display`.
impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Json::Array(self.clone()), f)
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Json::Object(self.clone()), f)
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Compact,
    Canonical,
    Pretty,
}

/// Containers nested this deep or deeper stay on one line (the root is 0): ten columns of indentation at most.
const FIRST_COMPACT_DEPTH: usize = 5;

/// A container whose opening bracket is out.
struct Open<'a> {
    parts: Parts<'a>,
    first: bool,
    indented: bool,
}

enum Parts<'a> {
    Items(std::slice::Iter<'a, Json>),
    Members(std::slice::Iter<'a, (Str, Json)>),
    Sorted(std::vec::IntoIter<&'a (Str, Json)>),
}

impl<'a> Parts<'a> {
    fn next(&mut self) -> Option<(Option<&'a str>, &'a Json)> {
        match self {
            Self::Items(items) => items.next().map(|value| (None, value)),
            Self::Members(members) => members.next().map(|(name, value)| (Some(&**name), value)),
            Self::Sorted(members) => members.next().map(|(name, value)| (Some(&**name), value)),
        }
    }

    fn closing(&self) -> char {
        if matches!(self, Self::Items(_)) { ']' } else { '}' }
    }
}

fn printed(value: &Json, style: Style) -> String {
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let _: fmt::Result = print(value, style, &mut text);
    text
}

fn print(value: &Json, style: Style, out: &mut impl fmt::Write) -> fmt::Result {
    let mut open = Vec::new();
    begin(value, style, &mut open, out)?;
    while let Some(Open { parts, first, indented }) = open.last_mut() {
        let indented = *indented;
        let Some((name, part)) = parts.next() else {
            let closing = parts.closing();
            open.pop();
            if indented {
                new_line(open.len(), out)?;
            }
            out.write_char(closing)?;
            continue;
        };
        if !std::mem::take(first) {
            out.write_char(',')?;
        }
        if indented {
            new_line(open.len(), out)?;
        }
        if let Some(name) = name {
            write_string(name, out)?;
            out.write_str(if indented { ": " } else { ":" })?;
        }
        begin(part, style, &mut open, out)?;
    }
    Ok(())
}

/// Writes a scalar or an empty container; opens any other.
fn begin<'a>(
    value: &'a Json,
    style: Style,
    open: &mut Vec<Open<'a>>,
    out: &mut impl fmt::Write,
) -> fmt::Result {
    let parts = match value {
        Json::Null => return out.write_str("null"),
        Json::Bool(value) => return out.write_str(if *value { "true" } else { "false" }),
        Json::Number(number) => return write!(out, "{number}"),
        Json::String(text) => return write_string(text, out),
        Json::Array(array) if array.is_empty() => return out.write_str("[]"),
        Json::Object(object) if object.is_empty() => return out.write_str("{}"),
        Json::Array(array) => Parts::Items(array.iter()),
        Json::Object(object) if style == Style::Canonical => {
            Parts::Sorted(by_name(object).into_iter())
        }
        Json::Object(object) => Parts::Members(object.entries().iter()),
    };
    out.write_char(if matches!(parts, Parts::Items(_)) { '[' } else { '{' })?;
    let indented = style == Style::Pretty && open.len() < FIRST_COMPACT_DEPTH;
    open.push(Open { parts, first: true, indented });
    Ok(())
}

fn new_line(level: usize, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_char('\n')?;
    (0..level).try_for_each(|_| out.write_str("  "))
}

/// The string in quotes, escaped where JSON demands it, as `JSON.stringify` does.
fn write_string(text: &str, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_char('"')?;
    let mut written = 0;
    for (place, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.write_str(&text[written..place])?;
        written = place + 1;
        match byte {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            0x08 => out.write_str("\\b")?,
            0x0c => out.write_str("\\f")?,
            _ => write!(out, "\\u{byte:04x}")?,
        }
    }
    out.write_str(&text[written..])?;
    out.write_char('"')
}
