//! Small pieces of text that both languages print: string literals, numbers, documentation.

use std::fmt::{self, Display, Write as _};

/// Appends `text` as a JSON string literal, which is a TypeScript and a Python literal too.
///
/// Only what JSON demands is escaped: other scripts, U+007F and U+2028 stand as they are.
pub(crate) fn push_string_literal(out: &mut String, text: &str) {
    out.push('"');
    let mut copied = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[copied..at]);
        copied = at + 1;
        push_escape(out, byte);
    }
    out.push_str(&text[copied..]);
    out.push('"');
}

fn push_escape(out: &mut String, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        0x08 => out.push_str("\\b"),
        b'\t' => out.push_str("\\t"),
        b'\n' => out.push_str("\\n"),
        0x0c => out.push_str("\\f"),
        b'\r' => out.push_str("\\r"),
        other => push_hex(out, "\\u00", u32::from(other)),
    }
}

/// Appends `prefix` and two lower-case hex digits.
fn push_hex(out: &mut String, prefix: &str, code: u32) {
    out.push_str(prefix);
    for shift in [4, 0] {
        out.push(char::from_digit((code >> shift) & 0xf, 16).unwrap_or('0'));
    }
}

/// Appends what a value displays.
pub(crate) fn push_display(out: &mut String, value: impl Display) {
    let written = write!(out, "{value}");
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}

/// How long what a value displays is.
pub(crate) fn displayed_bytes(value: impl Display) -> usize {
    struct Length(usize);
    impl fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut length = Length(0);
    let written = write!(length, "{value}");
    debug_assert!(written.is_ok(), "counting cannot fail");
    length.0
}

/// Appends `text` as the inside of a one-line TypeScript comment.
pub(crate) fn push_typescript_doc(out: &mut String, text: &str) {
    if is_plain(text, |pair| pair == *b"*/") {
        return out.push_str(text);
    }
    push_words(out, text, |out, word| {
        let mut rest = word;
        while let Some((before, after)) = rest.split_once("*/") {
            out.push_str(before);
            out.push_str("*\\/");
            rest = after;
        }
        out.push_str(rest);
    });
}

/// Appends `text` as a one-line Python comment, without the `#`.
pub(crate) fn push_python_comment(out: &mut String, text: &str) {
    if is_plain(text, |_| false) {
        return out.push_str(text);
    }
    push_words(out, text, |out, word| {
        for char in word.chars() {
            if char.is_control() { push_hex(out, "\\x", char.into()) } else { out.push(char) }
        }
    });
}

/// Appends `text` as the inside of a one-line Python docstring in double quotes.
pub(crate) fn push_python_docstring(out: &mut String, text: &str) {
    if is_plain(text, |[_, byte]| byte == b'"' || byte == b'\\') {
        return out.push_str(text);
    }
    push_words(out, text, |out, word| {
        for char in word.chars() {
            match char {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                char if char.is_control() => push_hex(out, "\\\\x", char.into()),
                char => out.push(char),
            }
        }
    });
}

/// Whether nothing but white space is there to document.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(is_white_space)
}

/// Appends the first sentence of a text on one line, at most `limit` characters of it.
///
/// A full stop ends a sentence only if a space and something other than a small letter follow,
/// so that `e.g. this` does not.
pub(crate) fn push_first_sentence(out: &mut String, text: &str, limit: usize) {
    let mut line = String::new();
    for word in words(text) {
        if line.len() > 4 * limit {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|char| !char.is_control()));
    }
    let sentence = &line[..sentence_end(&line)];
    if sentence.chars().nth(limit).is_none() {
        return out.push_str(sentence);
    }
    let kept: String = sentence.chars().take(limit.saturating_sub(1)).collect();
    out.push_str(kept.trim_end());
    out.push('…');
}

/// Where the first sentence of a line ends.
fn sentence_end(line: &str) -> usize {
    let ends = |&(at, char): &(usize, char)| match char {
        '.' | '!' | '?' => {
            let mut next = line[at + 1..].chars();
            next.next() == Some(' ') && !next.next().is_some_and(char::is_lowercase)
        }
        '。' | '！' | '？' => true,
        _ => false,
    };
    line.char_indices().find(ends).map_or(line.len(), |(at, char)| at + char.len_utf8())
}

/// Appends the words of `text`, each through `push`, with one space between them.
fn push_words(out: &mut String, text: &str, push: impl Fn(&mut String, &str)) {
    for (index, word) in words(text).enumerate() {
        if index > 0 {
            out.push(' ');
        }
        push(out, word);
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_white_space).filter(|word| !word.is_empty())
}

/// ECMAScript's white space and line ends, which are not Rust's: U+FEFF is in, U+0085 is not.
fn is_white_space(char: char) -> bool {
    matches!(
        char,
        '\u{9}'..='\u{d}'
            | ' '
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
            | '\u{feff}'
    )
}

/// Whether `text` is printable ASCII in words one space apart, without a pair of bytes that is
/// `special`: then it needs no rewriting, which is the ordinary case.
fn is_plain(text: &str, special: impl Fn([u8; 2]) -> bool) -> bool {
    let mut last = b' ';
    for &byte in text.as_bytes() {
        let fits = matches!(byte, b' '..=b'~') && !(byte == b' ' && last == b' ');
        if !fits || special([last, byte]) {
            return false;
        }
        last = byte;
    }
    last != b' ' || text.is_empty()
}
