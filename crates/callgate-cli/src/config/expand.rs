//! Variables in the declarations of servers: `${NAME}`, `${env:NAME}`, and `${NAME:-default}`.

/// The name of a variable that is not set and has no default.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unset(pub(super) String);

/// Fills variables in. What has not one of the forms is text, and what is filled in is not looked at again.
pub(super) fn expand<'v>(
    text: &str,
    variable: impl Fn(&str) -> Option<&'v str>,
) -> Result<String, Unset> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        expanded.push_str(&rest[..start]);
        let inside = &rest[start + 2..];
        let Some((name, default, after)) = reference(inside) else {
            expanded.push_str("${");
            rest = inside;
            continue;
        };
        // As in shells, an empty variable has its default too.
        match (variable(name).filter(|value| !value.is_empty() || default.is_none()), default) {
            (Some(value), _) => expanded.push_str(value),
            (None, Some(default)) => expanded.push_str(default),
            (None, None) => return Err(Unset(name.to_owned())),
        }
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Name, default, and what follows, if the text begins with what stands between `${` and behind `}`.
fn reference(inside: &str) -> Option<(&str, Option<&str>, &str)> {
    let (body, after) = inside.split_once('}')?;
    let body = body.strip_prefix("env:").unwrap_or(body);
    let (name, default) = match body.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (body, None),
    };
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, default, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_filled_in_once_and_everything_else_is_text() {
        let variable = |name: &str| match name {
            "HOME" => Some("/h"),
            "EMPTY" => Some(""),
            "NESTED" => Some("${HOME}"),
            _ => None,
        };
        let cases = [
            ("plain", Ok("plain")),
            ("${HOME}/x", Ok("/h/x")),
            ("a${env:HOME}b${HOME}", Ok("a/hb/h")),
            ("${GONE:-d}", Ok("d")),
            ("${GONE:-}", Ok("")),
            ("${env:GONE:-d e}", Ok("d e")),
            ("${EMPTY}", Ok("")),
            ("${EMPTY:-d}", Ok("d")),
            ("${NESTED}", Ok("${HOME}")),
            ("$HOME ${} ${a b} ${input:x} ${", Ok("$HOME ${} ${a b} ${input:x} ${")),
            ("${GONE}", Err("GONE")),
            ("${env:GONE}", Err("GONE")),
        ];
        for (text, expected) in cases {
            let expected = expected.map(str::to_owned).map_err(|name| Unset(name.to_owned()));
            assert_eq!(expand(text, variable), expected, "{text}");
        }
    }
}
