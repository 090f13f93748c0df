//! Reading whole texts: files and standard input.

use std::io::Read;

/// No program, configuration or JSON text that a person hands over is longer; what is longer is something else.
pub(crate) const LONGEST: u64 = 16 * 1024 * 1024;

/// Reads all of a text, which must be UTF-8.
///
/// The error is the reason, to stand behind "cannot be read: ".
pub(crate) fn read_text(input: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    input.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let (line, column) = end_of(&String::from_utf8_lossy(valid));
        format!("it is not UTF-8 at line {line}, column {column}; save it as UTF-8")
    })
}

/// Line and column of the end of a text, counted from one, columns in characters.
fn end_of(before: &str) -> (usize, usize) {
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
