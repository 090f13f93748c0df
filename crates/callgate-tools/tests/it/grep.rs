//! `grep`.

use callgate::{Json, json};
use insta::assert_snapshot;

use crate::support::Tree;

fn sample() -> Tree {
    Tree::new([
        ("src/lib.rs", "mod read;\n\npub fn grep() {}\n"),
        ("src/main.rs", "fn main() {\r\n    grep();\r\n}\r\n"),
        ("docs/grep.md", "# Grep\n"),
        (".hidden/grep.md", "grep\n"),
        (".git/grep", "grep\n"),
        (".gitignore", "target\n"),
        ("target/grep.rs", "grep\n"),
    ])
}

/// `path:line:text` of every match.
fn found(tree: &Tree, arguments: impl Into<Json>) -> Vec<String> {
    let value = tree.value("grep", arguments);
    let files = value["files"].as_array().unwrap();
    let line = |path: &Json, found: &Json| {
        format!(
            "{}:{}:{}",
            path.as_str().unwrap(),
            found["lineNumber"],
            found["line"].as_str().unwrap()
        )
    };
    let lines = files.iter().flat_map(|file| {
        file["matches"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| line(&file["path"], found))
            .collect::<Vec<_>>()
    });
    lines.collect()
}

#[test]
fn matching_lines_are_shown_by_file_with_their_numbers() {
    assert_snapshot!(sample().text("grep", json!({ "pattern": "grep|^mod" })), @r"
    src/lib.rs
      1: mod read;
      3: pub fn grep() {}

    src/main.rs
      2:     grep();

    (3 matching lines in 2 files)
    ");
}

#[test]
fn the_value_has_files_with_their_matches() {
    let value = sample().value("grep", json!({ "pattern": "grep", "path": "src" }));
    let expected = json!({
        "files": [
            { "path": "src/lib.rs", "matches": [{ "lineNumber": 3, "line": "pub fn grep() {}" }] },
            { "path": "src/main.rs", "matches": [{ "lineNumber": 2, "line": "    grep();" }] },
        ],
        "truncated": false,
        "total": 2,
        "skipped": 0,
    });
    assert_eq!(value, expected);
}

#[test]
fn meta_has_the_matches_for_a_search_card() {
    // CARD-10
    let result = sample().call("grep", json!({ "pattern": "mod" }));
    let expected = json!({
        "shape": "matches",
        "files": [{ "path": "src/lib.rs", "matches": [{ "lineNumber": 1, "line": "mod read;" }] }],
        "truncated": false,
        "total": 1,
    });
    assert_eq!(result.meta(), Some(&expected));
}

#[test]
fn expressions_match_within_lines() {
    let tree = Tree::new([("a.txt", "Alpha beta\r\nbeta\r\n\r\nγάμμα (x)\n")]);
    for (pattern, expected) in [
        ("beta$", "1 2"),
        ("^beta$", "2"),
        ("^$", "3"),
        ("γ.μμα", "4"),
        (r"\(x\)", "4"),
        (r"\bbeta\b", "1 2"),
        ("ALPHA", ""),
        ("(?i)ALPHA", "1"),
        ("beta.", ""),
    ] {
        let found = found(&tree, json!({ "pattern": pattern }));
        let numbers: Vec<&str> = found.iter().map(|line| line.split(':').nth(1).unwrap()).collect();
        assert_eq!(numbers.join(" "), expected, "{pattern}");
    }
}

#[test]
fn case_can_be_ignored() {
    let found = found(&sample(), json!({ "pattern": "grep", "ignoreCase": true, "path": "docs" }));
    assert_eq!(found, ["docs/grep.md:1:# Grep"]);
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_first_line() {
    let tree = Tree::new([("a.cs", "\u{feff}using System;\n")]);
    assert_eq!(found(&tree, json!({ "pattern": "^using" })), ["a.cs:1:using System;"]);
}

#[test]
fn a_glob_chooses_files_by_name_or_by_path() {
    let tree = sample();
    for (glob, expected) in [
        ("*.rs", "src/lib.rs src/main.rs"),
        ("lib.*", "src/lib.rs"),
        ("src/*.rs", "src/lib.rs src/main.rs"),
        ("*/lib.rs", "src/lib.rs"),
        ("./*.rs", ""),
        (".hidden/*", ".hidden/grep.md"),
        ("*.{md,toml}", ""),
    ] {
        let found = found(&tree, json!({ "pattern": "grep", "glob": glob }));
        let paths: Vec<&str> = found.iter().map(|line| line.split(':').next().unwrap()).collect();
        assert_eq!(paths.join(" "), expected, "{glob}");
    }
}

#[test]
fn a_file_that_is_named_is_searched_whatever_rules_there_are() {
    let tree = sample();
    for path in ["target/grep.rs", ".hidden/grep.md", ".git/grep"] {
        assert_eq!(
            found(&tree, json!({ "pattern": "grep", "path": path })),
            [format!("{path}:1:grep")]
        );
    }
    assert_snapshot!(tree.failure("grep", json!({ "pattern": "x", "path": "src/lib.rs", "glob": "*.rs" })), @r"
    INVALID_ARGS
    Error: `path` is a single file; leave `glob` out, or name a directory
    ");
}

#[test]
fn binary_files_are_counted_and_left_out_even_if_they_begin_as_text() {
    let tree = Tree::new([("a.txt", "needle\n")]);
    tree.write("early.bin", b"\0needle\n");
    tree.write("late.bin", [b"needle\n".repeat(100_000), b"\0".to_vec()].concat());
    let value = tree.value("grep", json!({ "pattern": "needle" }));
    let files = json!([{ "path": "a.txt", "matches": [{ "lineNumber": 1, "line": "needle" }] }]);
    assert_eq!(value, json!({ "files": files, "truncated": false, "total": 1, "skipped": 2 }));
    assert_snapshot!(tree.text("grep", json!({ "pattern": "needle" })), @r"
    a.txt
      1: needle

    (1 matching line in 1 file; 2 entries skipped: binary, unreadable, or with a name that is not UTF-8)
    ");
    assert_snapshot!(tree.failure("grep", json!({ "pattern": "needle", "path": "late.bin" })), @r"
    FS_NOT_TEXT
    Error: `late.bin` is binary or not in UTF-8, so it has no lines to show
    ");
}

#[test]
fn bytes_that_are_not_utf_8_are_shown_as_replacements() {
    let tree = Tree::new([]);
    tree.write("latin.txt", b"caf\xe9 needle\n");
    assert_eq!(found(&tree, json!({ "pattern": "needle" })), ["latin.txt:1:caf\u{fffd} needle"]);
}

#[test]
fn a_long_line_is_cut_around_its_match() {
    let tree =
        Tree::new([("a.js", &*format!("{}needle{}\n", "ä".repeat(1_000), "b".repeat(1_000)))]);
    let expected = format!(
        "a.js:1:…{}needle{}… [cut: the line has 2006 characters]",
        "ä".repeat(100),
        "b".repeat(394)
    );
    assert_eq!(found(&tree, json!({ "pattern": "needle" })), [expected]);
    let expected = format!("a.js:1:{}… [cut: the line has 2006 characters]", "ä".repeat(500));
    assert_eq!(found(&tree, json!({ "pattern": "ä" })), [expected]);
    let expected = format!("a.js:1:…{} [cut: the line has 2006 characters]", "b".repeat(101));
    assert_eq!(found(&tree, json!({ "pattern": "b$" })), [expected]);
    let just = "x".repeat(500);
    let tree = Tree::new([("a.js", &*just)]);
    assert_eq!(found(&tree, json!({ "pattern": "x" })), [format!("a.js:1:{just}")]);
}

#[test]
fn the_first_matches_are_shown_and_all_are_counted() {
    let tree =
        Tree::new([("a.txt", &*"needle\n".repeat(150)), ("b.txt", &*"needle\n".repeat(150))]);
    let value = tree.value("grep", json!({ "pattern": "needle" }));
    let counts: Vec<usize> = value["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["matches"].as_array().unwrap().len())
        .collect();
    assert_eq!(counts, [150, 50]);
    assert_eq!((&value["truncated"], &value["total"]), (&json!(true), &json!(300)));
    assert_snapshot!(tree.text("grep", json!({ "pattern": "needle", "maxMatches": 2 })), @r"
    a.txt
      1: needle
      2: needle

    (the first 2 of 300 matching lines; narrow `pattern`, `path` or `glob` to see the others)
    ");
    let value = tree.value("grep", json!({ "pattern": "needle", "maxMatches": 300 }));
    assert_eq!((&value["truncated"], &value["total"]), (&json!(false), &json!(300)));
    assert_snapshot!(tree.failure("grep", json!({ "pattern": "needle", "maxMatches": 1_001 })), @r"
    INVALID_ARGS
    Error: `maxMatches` is 1001; it must be between 1 and 1000
    ");
}

#[test]
fn long_lines_use_up_the_answer_sooner() {
    let lines = format!("{}\n", "x".repeat(500));
    let tree = Tree::new([("a.txt", &*lines.repeat(104)), ("b.txt", &*lines.repeat(196))]);
    let value = tree.value("grep", json!({ "pattern": "x", "maxMatches": 1_000 }));
    let counts: Vec<usize> = value["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["matches"].as_array().unwrap().len())
        .collect();
    // 102,400 bytes hold the paths and 204 lines of 500.
    assert_eq!(counts, [104, 100]);
    assert_eq!((&value["truncated"], &value["total"]), (&json!(true), &json!(300)));
}

#[test]
fn a_line_too_long_to_search_is_counted_and_left_out() {
    let tree = Tree::new([("a.txt", &*"x".repeat(17 << 20)), ("b.txt", "x\n")]);
    let value = tree.value("grep", json!({ "pattern": "x$" }));
    let files = json!([{ "path": "b.txt", "matches": [{ "lineNumber": 1, "line": "x" }] }]);
    assert_eq!(value, json!({ "files": files, "truncated": false, "total": 1, "skipped": 1 }));
    let failure = tree.failure("grep", json!({ "pattern": "x$", "path": "a.txt" }));
    assert_eq!(failure.lines().next(), Some("FS_UNREADABLE"), "{failure}");
}

#[test]
fn nothing_found_says_what_was_left_out() {
    assert_snapshot!(sample().text("grep", json!({ "pattern": "zebra" })), @"(no line matches `zebra`; ignored, hidden and binary files are left out)");
}

#[test]
fn an_invalid_expression_is_refused_with_the_place_of_its_fault() {
    let tree = sample();
    for (pattern, expected) in [
        (
            "(foo",
            "`pattern` is no valid regular expression at character 1, `(foo`: unclosed group; escape a character with `\\` to match it literally",
        ),
        (
            "ä[b",
            "`pattern` is no valid regular expression at character 2, `[b`: unclosed character class; escape a character with `\\` to match it literally",
        ),
        (
            "fn main() {",
            "`pattern` is no valid regular expression at character 11, `{`: unclosed counted repetition; escape a character with `\\` to match it literally",
        ),
        (
            "a(?=b)",
            "`pattern` is no valid regular expression at character 2, `(?=b)`: look-around, including look-ahead and look-behind, is not supported; escape a character with `\\` to match it literally",
        ),
        (
            "a\nb",
            "`pattern` matches a line break, but lines are searched one by one; search for one of the lines",
        ),
        ("", "`pattern` is empty, which matches every line; use `read` to see whole files"),
        (r"\pL{1000}", "`pattern` is too large; use fewer or smaller repetitions such as `{1000}`"),
    ] {
        assert_eq!(
            tree.failure("grep", json!({ "pattern": pattern })),
            format!("INVALID_ARGS\nError: {expected}")
        );
    }
    let failure = tree.failure("grep", json!({ "pattern": ("(".repeat(100_000)) }));
    assert_eq!(failure.lines().next(), Some("INVALID_ARGS"));
}
