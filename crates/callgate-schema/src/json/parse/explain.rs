//! What is wrong with text that is not JSON, said so that a model can mend it.

use super::Open;
use crate::json::error::shorten;

const NUMBER_FORM: &str = "write numbers in decimal like 0.5 or -1.5e3, without leading zeros";

/// Where exactly the fault is and what to do about it.
///
/// The tokenizer stopped at `offset`; its last good event ended at `from`.
pub(super) fn fault(
    bytes: &[u8],
    from: usize,
    offset: usize,
    inside: Option<&Open>,
) -> (usize, String) {
    let start = token_start(bytes, from, offset);
    if bytes.get(start) == Some(&b'"')
        && let Some((place, message)) = string_fault(bytes, start)
    {
        return (place, message);
    }
    if start < offset && matches!(bytes.get(start), Some(b'-' | b'0'..=b'9')) {
        return (start, bad_number(bytes, start));
    }
    if offset >= bytes.len() {
        return (bytes.len(), cut_off(inside).to_owned());
    }
    (offset, unexpected(bytes, start.max(offset), inside))
}

/// The first token after the last event, not counting what was between values.
fn token_start(bytes: &[u8], from: usize, offset: usize) -> usize {
    let between = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':');
    from + bytes[from..offset.max(from)].iter().take_while(|byte| between(byte)).count()
}

fn cut_off(inside: Option<&Open>) -> &'static str {
    match inside {
        None => "there is no value; write one JSON value, `{}` for an empty object",
        Some(Open::Array { .. }) => "the text ends inside a list; close every bracket",
        Some(Open::Object { .. }) => "the text ends inside an object; close every bracket",
    }
}

/// The first fault inside the string that starts there.
fn string_fault(bytes: &[u8], start: usize) -> Option<(usize, String)> {
    let mut place = start + 1;
    loop {
        match bytes.get(place) {
            None => return Some((start, "this string never ends; close it with `\"`".to_owned())),
            Some(b'"') => return invalid_utf8(bytes, start, place),
            Some(b'\\') => match escape(bytes, place) {
                Ok(length) => place += length,
                Err(message) => return Some((place, message)),
            },
            Some(b'\n') => {
                return Some((place, "a string cannot hold a line break; write `\\n`".to_owned()));
            }
            Some(byte @ 0..=0x1f) => {
                return Some((
                    place,
                    format!(
                        "a string cannot hold the control character {byte:#04x}; write `\\u{byte:04x}`"
                    ),
                ));
            }
            Some(_) => place += 1,
        }
    }
}

fn invalid_utf8(bytes: &[u8], start: usize, end: usize) -> Option<(usize, String)> {
    let error = std::str::from_utf8(&bytes[start..end]).err()?;
    Some((start + error.valid_up_to(), "this is not UTF-8; encode the text as UTF-8".to_owned()))
}

/// The length of the escape sequence that starts there.
fn escape(bytes: &[u8], place: usize) -> Result<usize, String> {
    match bytes.get(place + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
        Some(b'u') => unicode_escape(bytes, place),
        _ => {
            let shown =
                shorten(&String::from_utf8_lossy(&bytes[place..(place + 2).min(bytes.len())]));
            Err(format!("`{shown}` is no escape in JSON; write `\\\\` for a backslash"))
        }
    }
}

fn unicode_escape(bytes: &[u8], place: usize) -> Result<usize, String> {
    let shown = String::from_utf8_lossy(&bytes[place..(place + 6).min(bytes.len())]);
    match code_unit(bytes, place) {
        None => Err(format!("`{shown}` is no escape in JSON; `\\u` needs four hexadecimal digits")),
        Some(0xd800..=0xdbff) if matches!(code_unit(bytes, place + 6), Some(0xdc00..=0xdfff)) => {
            Ok(12)
        }
        Some(0xd800..=0xdfff) => Err(format!(
            "`{shown}` is half of a surrogate pair, which is no Unicode text; write the whole character"
        )),
        Some(_) => Ok(6),
    }
}

/// The UTF-16 code unit an escape such as `\u00e4` at that place stands for.
fn code_unit(bytes: &[u8], place: usize) -> Option<u32> {
    let digits = bytes.get(place..place + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))
}

fn bad_number(bytes: &[u8], start: usize) -> String {
    let in_number = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
    let length = bytes[start..].iter().take_while(in_number).count();
    let token = shorten(&String::from_utf8_lossy(&bytes[start..start + length]));
    format!("`{token}` is not a JSON number; {NUMBER_FORM}")
}

fn unexpected(bytes: &[u8], place: usize, inside: Option<&Open>) -> String {
    let word: Vec<u8> =
        bytes[place..].iter().copied().take_while(u8::is_ascii_alphanumeric).collect();
    let shown = match std::str::from_utf8(&word) {
        Ok(word) if !word.is_empty() => shorten(word),
        _ => String::from_utf8_lossy(&bytes[place..(place + 4).min(bytes.len())])
            .chars()
            .take(1)
            .collect(),
    };
    let hint = known_mistake(bytes, place, &shown).unwrap_or(match inside {
        None if place > 0 => "one JSON value is the whole text",
        None => "a JSON value starts with `{`, `[`, `\"`, a digit, true, false or null",
        Some(Open::Object { name: None, .. }) => {
            "an object is `\"name\": value` pairs with commas between them"
        }
        Some(Open::Object { .. }) => {
            "after a name comes a colon and a value, after the value a comma or `}`"
        }
        Some(Open::Array { .. }) => "a list is values with commas between them",
    });
    format!("`{shown}` is not expected here; {hint}")
}

/// What people and models who know other notations write.
fn known_mistake(bytes: &[u8], place: usize, shown: &str) -> Option<&'static str> {
    let before = &bytes[..place];
    Some(match shown {
        "'" | "`" | "“" | "”" => "strings stand in double quotes",
        "/" | "#" => "JSON has no comments",
        "True" | "False" | "None" | "undefined" => "JSON has true, false and null",
        "NaN" | "Infinity" => "JSON has no such number; use null or a string",
        "+" | "." => NUMBER_FORM,
        _ if before.last().is_some_and(u8::is_ascii_digit)
            && shown.as_bytes()[0].is_ascii_alphanumeric() =>
        {
            NUMBER_FORM
        }
        "}" | "]" if before.trim_ascii_end().ends_with(b",") => "remove the comma before it",
        "}" | "]" if !before.is_empty() => "close `[` with `]` and `{` with `}`",
        _ => return None,
    })
}
