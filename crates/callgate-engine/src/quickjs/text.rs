//! Text of a program for people to read: nothing is refused, half surrogates are shown.

use std::fmt::Write;

use rquickjs::{Result, String as JsString};

use super::raw;

/// The text of a string; half of a surrogate pair is written as `\ud83d`.
pub(super) fn readable(string: &JsString<'_>) -> Result<String> {
    raw::with_string_bytes(string, decode)
}

/// At least the first `limit` bytes of a string, and whether there is more.
pub(super) fn readable_start(string: &JsString<'_>, limit: usize) -> Result<(String, bool)> {
    raw::with_string_bytes(string, |bytes| {
        let mut end = limit.min(bytes.len());
        while end < bytes.len() && bytes[end] & 0xc0 == 0x80 {
            end += 1;
        }
        (decode(&bytes[..end]), end < bytes.len())
    })
}

/// Decodes UTF-8 in which lone surrogates are encoded as if they were characters.
pub(super) fn decode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        match std::str::from_utf8(rest) {
            Ok(valid) => {
                text.push_str(valid);
                return text;
            }
            Err(error) => {
                let (valid, bad) = rest.split_at(error.valid_up_to());
                text.push_str(std::str::from_utf8(valid).unwrap_or_default());
                rest = match *bad {
                    [0xed, high, low, ref after @ ..] => {
                        let unit = 0xd000 | (u32::from(high & 0x3f) << 6) | u32::from(low & 0x3f);
                        // Writing to a string cannot fail.
                        let _ = write!(text, "\\u{unit:04x}");
                        after
                    }
                    [_, ref after @ ..] => {
                        text.push(char::REPLACEMENT_CHARACTER);
                        after
                    }
                    [] => return text,
                };
            }
        }
    }
}
