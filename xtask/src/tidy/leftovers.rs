//! What must not be committed: unfinished code, ignored tests, unreviewed snapshots, paths of one machine.

use crate::context::Context;
use crate::step::{Done, Trouble};
use crate::tidy::is_rust;

/// In Rust files, and what to do instead. Written in two parts, so that this file does not find itself.
const UNFINISHED: &[(&str, &str)] = &[
    (concat!("todo", "!("), "finish it, or return an error that says what is missing"),
    (concat!("unimplemented", "!("), "finish it, or return an error that says what is missing"),
    (concat!("#[", "ignore"), "mend the test or delete it"),
    (concat!("```", "ignore"), "make the example run; use `text` for what is no program"),
    (concat!("```rust,", "ignore"), "make the example run; use `text` for what is no program"),
];

/// In every text file, where an absolute path begins.
const MACHINE_PATHS: &[&str] =
    &[concat!("/", "work/"), concat!("/", "root/"), concat!("/", "home/")];

/// Endings of files that insta leaves for review.
const UNREVIEWED: &[&str] = &[".snap.new", ".pending-snap"];

pub(super) fn check(cx: &Context) -> Result<Done, Trouble> {
    let mut problems = Vec::new();
    for path in cx.files()? {
        if UNREVIEWED.iter().any(|ending| path.ends_with(ending)) {
            problems.push(format!(
                "{path}: a snapshot nobody reviewed; accept it with `INSTA_UPDATE=always`, or delete it"
            ));
        }
    }
    let texts = cx.texts()?;
    for (path, text) in &texts {
        problems.extend(in_text(path, text));
    }
    Trouble::unless_empty(problems, format!("{} files", texts.len()))
}

fn in_text(path: &str, text: &str) -> Vec<String> {
    let is_rust = is_rust(path);
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let place = format!("{path}:{number}");
        for (word, remedy) in UNFINISHED.iter().filter(|(word, _)| is_rust && line.contains(word)) {
            problems.push(format!("{place}: `{word}`; {remedy}"));
        }
        for word in MACHINE_PATHS.iter().filter(|word| begins_path(line, word)) {
            problems.push(format!(
                "{place}: a path of one machine, `{word}…`; write a relative path, or one under a temporary folder"
            ));
        }
    }
    problems
}

/// Whether the line has this text where an absolute path begins, and not in the middle of one or of a URL.
fn begins_path(line: &str, start: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || "_-.~}])*$%>".contains(c);
    line.match_indices(start).any(|(at, _)| !line[..at].ends_with(goes_on))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_code_is_found_in_rust_files_only() {
        for (word, remedy) in UNFINISHED {
            let text = format!("fine\n    {word}");
            assert_eq!(in_text("a.rs", &text), [format!("a.rs:2: `{word}`; {remedy}")]);
            assert_eq!(in_text("a.md", &text), Vec::<String>::new());
        }
    }

    #[test]
    fn absolute_paths_of_a_machine_are_found_everywhere() {
        let home = MACHINE_PATHS[2];
        for found in ["{home}a", "\"{home}a\"", "file://{home}a", "see ({home}a)", "p={home}a"] {
            let line = found.replace("{home}", home);
            assert_eq!(in_text("a.md", &line).len(), 1, "{line}");
        }
        for passed in
            ["https://a.example{home}a", "src{home}a", "${HOME}{home}", "~{home}", "/tmp/a"]
        {
            let line = passed.replace("{home}", home);
            assert_eq!(in_text("a.md", &line), Vec::<String>::new(), "{line}");
        }
    }
}
