//! `read`.

use std::os::unix::net::UnixListener;

use callgate::{Json, json};
use insta::assert_snapshot;

use crate::support::Tree;

fn one(text: &str) -> Tree {
    Tree::new([("a.txt", text)])
}

fn read(tree: &Tree) -> Json {
    tree.value("read", json!({ "path": "a.txt" }))
}

/// The lines of a file of that text.
fn lines(text: &str) -> Vec<String> {
    let value = read(&one(text));
    let lines = value["lines"].as_array().unwrap();
    lines.iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_file_is_shown_with_numbered_lines_and_where_it_ends() {
    // FS-9
    let tree = Tree::new([("src/main.rs", "fn main() {\n\n}\n")]);
    assert_snapshot!(tree.text("read", json!({ "path": "src/main.rs" })), @r"
    1: fn main() {
    2: 
    3: }

    (end of file; 3 lines)
    ");
}

#[test]
fn the_value_has_the_lines_and_the_exact_number_of_all() {
    // FS-7
    let tree = one("one\ntwo\nthree\n");
    let value = tree.value("read", json!({ "path": "a.txt", "offset": 2, "limit": 1 }));
    let expected = json!({
        "path": "a.txt",
        "offset": 2,
        "lines": [{ "number": 2, "text": "two" }],
        "totalLines": 3,
    });
    assert_eq!(value, expected);
}

#[test]
fn a_window_in_the_middle_says_where_to_read_on() {
    let tree = one("one\ntwo\nthree\n");
    assert_snapshot!(tree.text("read", json!({ "path": "a.txt", "offset": 2, "limit": 1 })), @r"
    2: two

    (lines 2 to 2 of 3; read on with offset 3)
    ");
}

#[test]
fn line_breaks_make_lines_as_editors_count_them() {
    for (text, expected) in [
        ("", vec![]),
        ("a", vec!["a"]),
        ("a\n", vec!["a"]),
        ("a\n\n", vec!["a", ""]),
        ("a\r\nb\r\n", vec!["a", "b"]),
        ("a\r\r\n", vec!["a\r"]),
        ("a\rb\n", vec!["a\rb"]),
        ("a\r", vec!["a"]),
        ("\n", vec![""]),
        ("\u{feff}a\n", vec!["a"]),
        ("a\u{feff}\n", vec!["a\u{feff}"]),
    ] {
        assert_eq!(lines(text), expected, "{text:?}");
    }
}

#[test]
fn a_long_line_is_cut_and_says_so() {
    // FS-7
    let just = "x".repeat(2_000);
    let cut = format!("{just}… [line cut at 2000 characters]");
    let umlauts = "ü".repeat(2_000);
    for (text, expected) in [
        (just.clone(), &just),
        (format!("{just}\r\n"), &just),
        (format!("{just}x"), &cut),
        (format!("{just}x\r\n"), &cut),
        (format!("{just}xy\r\n"), &cut),
        (umlauts.clone(), &umlauts),
    ] {
        assert_eq!(lines(&format!("before\n{text}")), ["before", expected]);
    }
}

#[test]
fn characters_across_the_chunks_of_reading_stay_whole() {
    for shift in 0..4 {
        let text = format!("{}{}", "x".repeat(shift), "€\n".repeat(50_000));
        let tree = one(&text);
        let value = tree.value("read", json!({ "path": "a.txt", "offset": 49_999 }));
        let expected =
            json!([{ "number": 49_999, "text": "€" }, { "number": 50_000, "text": "€" }]);
        assert_eq!((&value["lines"], &value["totalLines"]), (&expected, &json!(50_000)), "{shift}");
    }
}

#[test]
fn one_line_of_many_megabytes_is_cut_and_the_rest_is_counted() {
    let text = format!("{}\nlast", "x".repeat(20 << 20));
    let value = read(&one(&text));
    assert_eq!(value["totalLines"], json!(2));
    assert_eq!(value["lines"][0]["text"].as_str().unwrap().chars().count(), 2_031);
    assert_eq!(value["lines"][1], json!({ "number": 2, "text": "last" }));
}

#[test]
fn the_byte_limit_ends_the_window_before_the_line_that_would_exceed_it() {
    // FS-7
    let line = "x".repeat(1_023);
    let fits = format!("{line}\n").repeat(50);
    let value = read(&one(&fits));
    assert_eq!(value["lines"].as_array().unwrap().len(), 50);

    let tree = one(&format!("{fits}\nmore\n"));
    let value = read(&tree);
    assert_eq!((value["lines"].as_array().unwrap().len(), &value["totalLines"]), (50, &json!(52)));
    let text = tree.text("read", json!({ "path": "a.txt" }));
    assert_snapshot!(text.lines().last().unwrap(), @"(cut at 51200 bytes: lines 1 to 50 of 52; read on with offset 51)");
    assert_snapshot!(tree.text("read", json!({ "path": "a.txt", "offset": 51 })), @r"
    51: 
    52: more

    (end of file; 52 lines)
    ");
}

#[test]
fn at_most_2000_lines_come_at_once() {
    let tree = one(&"x\n".repeat(2_001));
    let value = read(&tree);
    assert_eq!(
        (value["lines"].as_array().unwrap().len(), &value["totalLines"]),
        (2_000, &json!(2_001))
    );
    let text = tree.text("read", json!({ "path": "a.txt" }));
    assert_snapshot!(text.lines().last().unwrap(), @"(lines 1 to 2000 of 2001; read on with offset 2001)");
}

#[test]
fn an_empty_file_has_an_empty_window_at_offset_1_only() {
    // FS-8
    let tree = one("");
    let expected = json!({ "path": "a.txt", "offset": 1, "lines": [], "totalLines": 0 });
    assert_eq!(read(&tree), expected);
    assert_snapshot!(tree.text("read", json!({ "path": "a.txt" })), @"(the file is empty)");
    assert_snapshot!(tree.failure("read", json!({ "path": "a.txt", "offset": 2 })), @r"
    FS_NOT_FOUND
    Error: `a.txt` has no line 2: it has 0 lines; use a smaller `offset`
    ");
}

#[test]
fn an_offset_beyond_the_end_is_refused() {
    // FS-8
    let tree = one("one\n");
    assert_snapshot!(tree.failure("read", json!({ "path": "a.txt", "offset": 2 })), @r"
    FS_NOT_FOUND
    Error: `a.txt` has no line 2: it has 1 line; use a smaller `offset`
    ");
}

#[test]
fn counts_outside_their_range_are_refused() {
    // FS-4
    let tree = one("one\n");
    for (arguments, expected) in [
        (json!({ "path": "a.txt", "offset": 0 }), "`offset` is 0; it counts from 1"),
        (json!({ "path": "a.txt", "offset": (-3) }), "`offset` is -3; it counts from 1"),
        (json!({ "path": "a.txt", "limit": 0 }), "`limit` is 0; it must be between 1 and 2000"),
        (
            json!({ "path": "a.txt", "limit": 2_001 }),
            "`limit` is 2001; it must be between 1 and 2000",
        ),
        (json!({ "path": " \t" }), "`path` is blank; name something below the root, such as `src`"),
        (
            json!({ "path": "a\0b" }),
            "`path` is no path: it holds a NUL character or more than 4096 bytes",
        ),
        (
            json!({ "path": ("x".repeat(4_097)) }),
            "`path` is no path: it holds a NUL character or more than 4096 bytes",
        ),
    ] {
        assert_eq!(tree.failure("read", arguments), format!("INVALID_ARGS\nError: {expected}"));
    }
    for arguments in [
        json!({}),
        json!({ "path": "a.txt", "offset": 1.5 }),
        json!({ "path": "a.txt", "limt": 1 }),
    ] {
        assert_eq!(tree.failure("read", arguments).lines().next(), Some("INVALID_ARGS"));
    }
}

#[test]
fn a_misspelt_argument_is_refused() {
    let tree = one("one\n");
    assert_snapshot!(tree.failure("read", json!({ "path": "a.txt", "limt": 1 })), @r"
    INVALID_ARGS
    Error: unknown field `limt`, expected one of `path`, `offset`, `limit`
    ");
    assert_snapshot!(tree.failure("glob", json!({ "pattern": "*", "root": "." })), @r"
    INVALID_ARGS
    Error: unknown field `root`, expected `pattern` or `path`
    ");
    assert_snapshot!(tree.failure("grep", json!({ "pattern": "x", "max_matches": 1 })), @r"
    INVALID_ARGS
    Error: unknown field `max_matches`, expected one of `pattern`, `path`, `glob`, `ignoreCase`, `maxMatches`
    ");
}

#[test]
fn a_missing_file_is_named_with_the_nearest_that_exists() {
    // FS-5
    let tree = Tree::new([("src/main.rs", ""), ("src/lib.rs", ""), ("README.md", "")]);
    assert_snapshot!(tree.failure("read", json!({ "path": "src/mian.rs" })), @r"
    FS_NOT_FOUND
    Error: `src/mian.rs` does not exist; did you mean `src/main.rs`?
    ");
    assert_snapshot!(tree.failure("read", json!({ "path": "readme.md" })), @r"
    FS_NOT_FOUND
    Error: `readme.md` does not exist; did you mean `README.md`?
    ");
    assert_snapshot!(tree.failure("read", json!({ "path": "scr/main.rs" })), @r"
    FS_NOT_FOUND
    Error: `scr/main.rs` does not exist, because `scr` does not; did you mean `src`?
    ");
    assert_snapshot!(tree.failure("read", json!({ "path": "src/zebra" })), @r"
    FS_NOT_FOUND
    Error: `src/zebra` does not exist; use `glob` to see what is there
    ");
    assert_snapshot!(tree.failure("read", json!({ "path": "src/main.rs/x" })), @r"
    FS_NOT_FOUND
    Error: `src/main.rs/x` does not exist, because `src/main.rs` is a file, not a directory
    ");
}

#[test]
fn a_directory_is_refused_with_the_call_that_lists_it() {
    // FS-5
    let tree = Tree::new([("src/main.rs", "")]);
    assert_snapshot!(tree.failure("read", json!({ "path": "src" })), @r#"
    FS_NOT_REGULAR_FILE
    Error: `src` is a directory; list the files in it with `glob`, for example `{"pattern": "*", "path": "src"}`
    "#);
}

#[test]
fn pipes_and_sockets_are_refused_without_waiting_for_them() {
    let tree = Tree::new([]);
    let _socket = UnixListener::bind(tree.at("socket")).unwrap();
    assert_snapshot!(tree.failure("read", json!({ "path": "socket" })), @r"
    FS_NOT_REGULAR_FILE
    Error: `socket` is a socket; only files and directories can be read
    ");
    let made = std::process::Command::new("mkfifo").arg(tree.at("pipe")).status().unwrap();
    assert!(made.success());
    assert_snapshot!(tree.failure("read", json!({ "path": "pipe" })), @r"
    FS_NOT_REGULAR_FILE
    Error: `pipe` is a named pipe; only files and directories can be read
    ");
}

#[test]
fn what_is_not_text_is_refused_wherever_that_shows() {
    // FS-5
    let far = [b"line\n".repeat(40_000), b"\0".to_vec()].concat();
    for bytes in [
        b"a\0b".to_vec(),
        b"caf\xe9\n".to_vec(),
        b"cut \xe2\x82".to_vec(),
        b"\xff\xfea\0".to_vec(),
        far,
    ] {
        let tree = Tree::new([]);
        tree.write("a.bin", bytes);
        let expected =
            "FS_NOT_TEXT\nError: `a.bin` is binary or not in UTF-8, so it has no lines to show";
        assert_eq!(tree.failure("read", json!({ "path": "a.bin" })), expected);
    }
}

#[test]
fn unusual_names_are_read_as_they_are() {
    let names = [
        "with space.txt",
        "ünï.txt",
        "quote'\"`.txt",
        "-n",
        "~",
        "$HOME",
        "*",
        "a\nb",
        "#1",
        "...",
        ".hidden",
        "back\\slash",
        "日本語",
    ];
    for name in names {
        let tree = Tree::new([(name, "found\n")]);
        let value = tree.value("read", json!({ "path": name }));
        let expected = json!({
            "path": name,
            "offset": 1,
            "lines": [{ "number": 1, "text": "found" }],
            "totalLines": 1,
        });
        assert_eq!(value, expected);
    }
}

#[test]
fn meta_has_the_window_and_the_language() {
    // FS-11
    for (path, lang) in [
        ("a.rs", Some("rs")),
        ("a.test.PY", Some("py")),
        ("a.yml", Some("yaml")),
        (".rs", None),
        ("rs", None),
        ("a.", None),
        ("a.unknown", None),
        ("dir.rs/file", None),
    ] {
        let tree = Tree::new([(path, "x\n")]);
        let result = tree.call("read", json!({ "path": path }));
        let expected = json!({
            "path": path,
            "offset": 1,
            "lines": [{ "number": 1, "text": "x" }],
            "totalLines": 1,
        });
        let expected = expected.as_object().unwrap();
        let expected = lang.map_or_else(|| expected.clone(), |lang| expected.with("lang", lang));
        assert_eq!(result.meta(), Some(&Json::from(expected)), "{path}");
    }
}
