//! Regular expressions, and what is wrong with them.

use callgate::ToolError;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

/// How large a compiled expression may be, in bytes.
const LARGEST: usize = 10 << 20;

pub(in crate::files) fn compile(
    pattern: &str,
    ignore_case: bool,
) -> Result<RegexMatcher, ToolError> {
    if pattern.is_empty() {
        let message = "`pattern` is empty, which matches every line; use `read` to see whole files";
        return Err(ToolError::invalid_arguments(message));
    }
    RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(LARGEST)
        .dfa_size_limit(LARGEST)
        .build(pattern)
        .map_err(|error| explain(pattern, error.kind()))
}

#[cold]
fn explain(pattern: &str, kind: &ErrorKind) -> ToolError {
    let message = match kind {
        ErrorKind::NotAllowed(_) => {
            "`pattern` matches a line break, but lines are searched one by one; search for one of the lines".to_owned()
        }
        _ => fault_in(pattern).unwrap_or_else(|| "`pattern` is too large; use fewer or smaller repetitions such as `{1000}`".to_owned()),
    };
    ToolError::invalid_arguments(message)
}

/// The first fault of an expression, and where it is.
fn fault_in(pattern: &str) -> Option<String> {
    let (start, what) = match regex_syntax::Parser::new().parse(pattern).err()? {
        regex_syntax::Error::Parse(error) => (error.span().start.offset, error.kind().to_string()),
        regex_syntax::Error::Translate(error) => {
            (error.span().start.offset, error.kind().to_string())
        }
        _ => return None,
    };
    let before = pattern.get(..start)?.chars().count();
    let at = pattern[start..].chars().take(20).collect::<String>();
    let place = if at.is_empty() {
        "its end".to_owned()
    } else {
        format!("character {}, `{at}`", before + 1)
    };
    Some(format!(
        "`pattern` is no valid regular expression at {place}: {what}; escape a character with `\\` to match it literally"
    ))
}
