//! `glob`.

use std::fs;

use callgate::{Json, json};
use insta::assert_snapshot;

use crate::support::Tree;

fn sample() -> Tree {
    Tree::new([
        ("Cargo.toml", "12"),
        ("README.md", "123"),
        (".env", "x"),
        (".env.local", "x"),
        (".github/workflows/ci.yml", "x"),
        (".github/.cache/x.yml", "x"),
        (".git/config", "x"),
        ("src/lib.rs", "1234567"),
        ("src/main.rs", "1"),
        ("src/files/read.rs", ""),
        ("src/.hidden.rs", "x"),
        ("vendor/.git/config.yml", "x"),
        ("vendor/lib.rs", "x"),
    ])
}

fn paths(tree: &Tree, arguments: impl Into<Json>) -> Vec<String> {
    let value = tree.value("glob", arguments);
    let files = value["files"].as_array().unwrap();
    files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn files_are_shown_one_a_line_with_their_number() {
    assert_snapshot!(sample().text("glob", json!({ "pattern": "src/**/*.rs" })), @r"
    src/files/read.rs
    src/lib.rs
    src/main.rs

    (3 files)
    ");
}

#[test]
fn the_value_has_sizes_so_that_a_program_can_rank_files() {
    let value = sample().value("glob", json!({ "pattern": "src/**/*.rs" }));
    let expected = json!({
        "files": [
            { "path": "src/files/read.rs", "bytes": 0 },
            { "path": "src/lib.rs", "bytes": 7 },
            { "path": "src/main.rs", "bytes": 1 },
        ],
        "truncated": false,
        "total": 3,
        "skipped": 0,
    });
    assert_eq!(value, expected);
}

#[test]
fn meta_has_the_paths_for_a_search_card() {
    // CARD-10
    let result = sample().call("glob", json!({ "pattern": "*.md" }));
    let expected =
        json!({ "shape": "paths", "paths": ["README.md"], "truncated": false, "total": 1 });
    assert_eq!(result.meta(), Some(&expected));
}

#[test]
fn patterns_mean_what_shells_make_of_them() {
    let tree = sample();
    for (pattern, expected) in [
        ("*", "Cargo.toml README.md"),
        ("*.rs", ""),
        ("src/*.rs", "src/lib.rs src/main.rs"),
        ("./src/*.rs", "src/lib.rs src/main.rs"),
        ("**/lib.rs", "src/lib.rs vendor/lib.rs"),
        ("src/**", "src/files/read.rs src/lib.rs src/main.rs"),
        ("src/{lib,main}.rs", "src/lib.rs src/main.rs"),
        ("src/[l-m]*", "src/lib.rs src/main.rs"),
        ("src/???.rs", "src/lib.rs"),
        ("src", ""),
        ("readme.md", ""),
    ] {
        assert_eq!(paths(&tree, json!({ "pattern": pattern })).join(" "), expected, "{pattern}");
    }
}

#[test]
fn hidden_names_are_found_only_where_the_pattern_spells_their_dot() {
    let tree = sample();
    for (pattern, expected) in [
        ("**/*.yml", ""),
        (".*", ".env .env.local"),
        (".env*", ".env .env.local"),
        ("**/.env", ".env"),
        ("{.env,README.md}", ".env README.md"),
        (".github/**", ".github/workflows/ci.yml"),
        (".github/**/.*/*", ".github/.cache/x.yml"),
        ("**/.*", ".env .env.local src/.hidden.rs"),
        ("src/.*", "src/.hidden.rs"),
        ("?env", ""),
        ("[!a]env", ""),
        ("[.]env", ".env"),
        ("\\.env", ".env"),
    ] {
        assert_eq!(paths(&tree, json!({ "pattern": pattern })).join(" "), expected, "{pattern}");
    }
}

#[test]
fn git_storage_is_never_searched() {
    let tree = sample();
    assert_eq!(paths(&tree, json!({ "pattern": ".git/**" })), [""; 0]);
    assert_eq!(paths(&tree, json!({ "pattern": "**/.git/**" })), [""; 0]);
    assert_snapshot!(tree.failure("glob", json!({ "pattern": "*", "path": "vendor/.git" })), @r"
    INVALID_ARGS
    Error: `path` leads into `.git`, which is never searched; use `read` to see single files of it
    ");
}

#[test]
fn a_path_narrows_the_search_and_the_results_stay_relative_to_the_root() {
    let tree = sample();
    assert_eq!(
        paths(&tree, json!({ "pattern": "*.rs", "path": "src" })),
        ["src/lib.rs", "src/main.rs"]
    );
    assert_eq!(paths(&tree, json!({ "pattern": "**/*.rs", "path": "src/files/.." })).len(), 3);
    assert_eq!(
        paths(&tree, json!({ "pattern": "**/*.yml", "path": ".github" })),
        [".github/workflows/ci.yml"]
    );
    assert_eq!(paths(&tree, json!({ "pattern": "*", "path": "." })), ["Cargo.toml", "README.md"]);
    assert_snapshot!(tree.failure("glob", json!({ "pattern": "*", "path": "README.md" })), @r"
    FS_NOT_DIRECTORY
    Error: `README.md` is a file; give the directory to search, or leave `path` out to search everything
    ");
    assert_snapshot!(tree.failure("glob", json!({ "pattern": "*", "path": "source" })), @r"
    FS_NOT_FOUND
    Error: `source` does not exist; use `glob` to see what is there
    ");
}

#[test]
fn ignored_files_are_left_out_as_git_does() {
    let tree = Tree::new([
        (".gitignore", "*.log\n/build/\n!keep.log\n# comment\n\n[\ndocs/*.tmp\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("build/out.txt", ""),
        ("build/keep.log", ""),
        ("sub/build/out.txt", ""),
        ("sub/.gitignore", "!b.log\n*.txt\n/top.md\n"),
        ("sub/c.txt", ""),
        ("sub/top.md", ""),
        ("sub/deep/top.md", ""),
        ("zoo/c.txt", ""),
        ("sub/a.log", ""),
        ("sub/b.log", ""),
        ("docs/a.tmp", ""),
        ("docs/deep/a.tmp", ""),
    ]);
    assert_eq!(
        paths(&tree, json!({ "pattern": "**" })),
        ["docs/deep/a.tmp", "keep.log", "sub/b.log", "sub/deep/top.md", "zoo/c.txt"]
    );
    // The rules of the directories above count as well.
    assert_eq!(
        paths(&tree, json!({ "pattern": "**", "path": "sub" })),
        ["sub/b.log", "sub/deep/top.md"]
    );
    assert_eq!(paths(&tree, json!({ "pattern": "**", "path": "docs" })), ["docs/deep/a.tmp"]);
    // Who names an ignored directory wants to see it.
    assert_eq!(
        paths(&tree, json!({ "pattern": "**", "path": "build" })),
        ["build/keep.log", "build/out.txt"]
    );
}

#[test]
fn rules_that_cannot_be_read_are_counted_and_block_nothing() {
    let tree = Tree::new([("a.txt", ""), ("sub/b.txt", ""), ("linked/c.txt", "")]);
    tree.write(".gitignore", "a.txt\n".repeat(200_000));
    let made =
        std::process::Command::new("mkfifo").arg(tree.at("sub/.gitignore")).status().unwrap();
    assert!(made.success());
    tree.link("linked/.gitignore", "../rules");
    tree.write("rules", "c.txt\n");
    let value = tree.value("glob", json!({ "pattern": "**/*.txt" }));
    let files = json!([
        { "path": "a.txt", "bytes": 0 }, { "path": "linked/c.txt", "bytes": 0 }, { "path": "sub/b.txt", "bytes": 0 },
    ]);
    assert_eq!(value, json!({ "files": files, "truncated": false, "total": 3, "skipped": 1 }));
}

#[test]
fn paths_are_sorted_as_whole_texts() {
    let tree = Tree::new([
        ("a/b", ""),
        ("a.b", ""),
        ("a-b", ""),
        ("a0", ""),
        ("B", ""),
        ("ä", ""),
        ("a/a/a", ""),
        ("a/a-", ""),
    ]);
    let mut expected = ["a/b", "a.b", "a-b", "a0", "B", "ä", "a/a/a", "a/a-"];
    expected.sort_unstable();
    assert_eq!(paths(&tree, json!({ "pattern": "**" })), expected);
}

#[test]
fn of_thousands_of_files_the_first_1000_are_shown_and_all_are_counted() {
    let tree = Tree::new([]);
    for directory in 0..30 {
        fs::create_dir(tree.at(format!("d{directory:02}"))).unwrap();
        for file in 0..100 {
            fs::write(tree.at(format!("d{directory:02}/f{file:02}")), "x").unwrap();
        }
    }
    let value = tree.value("glob", json!({ "pattern": "**" }));
    let files = value["files"].as_array().unwrap();
    assert_eq!(files.len(), 1_000);
    assert_eq!(files[999], json!({ "path": "d09/f99", "bytes": 1 }));
    assert_eq!((&value["truncated"], &value["total"]), (&json!(true), &json!(3_000)));
    let text = tree.text("glob", json!({ "pattern": "**" }));
    assert_snapshot!(text.lines().last().unwrap(), @"(the first 1000 of 3000 files; narrow `pattern` or `path` to see the others)");
    let value = tree.value("glob", json!({ "pattern": "d0*/*" }));
    assert_eq!((&value["truncated"], &value["total"]), (&json!(false), &json!(1_000)));
}

#[test]
fn long_paths_use_up_the_answer_sooner() {
    let tree = Tree::new([]);
    let directory = format!("{0}/{0}/{0}/{0}", "d".repeat(250));
    for file in 0..150 {
        tree.write(format!("{directory}/{file:03}"), "");
    }
    let value = tree.value("glob", json!({ "pattern": "**" }));
    // 102,400 bytes hold 101 paths of 1,007.
    assert_eq!(value["files"].as_array().unwrap().len(), 101);
    assert_eq!((&value["truncated"], &value["total"]), (&json!(true), &json!(150)));
}

#[test]
fn directories_as_deep_as_they_come_are_walked() {
    let tree = Tree::new([]);
    let deep = vec!["d"; 150].join("/");
    tree.write(format!("{deep}/leaf"), "x");
    tree.write("z/last", "x");
    for depth in [1, 60, 149] {
        tree.write(format!("{}/z", vec!["d"; depth].join("/")), "x");
    }
    let value = tree.value("glob", json!({ "pattern": "**/{leaf,last,z}" }));
    assert_eq!((&value["total"], &value["skipped"]), (&json!(5), &json!(0)));
}

#[test]
fn nothing_found_says_what_to_try() {
    let tree = sample();
    assert_snapshot!(tree.text("glob", json!({ "pattern": "*.rs" })), @"(no file matches `*.rs`; `**/*.rs` searches all directories below; ignored and hidden files are left out, and letter case counts)");
    assert_snapshot!(tree.text("glob", json!({ "pattern": "src/" })), @"(no file matches `src/`; it finds files only: try `src/**`)");
    assert_snapshot!(tree.text("glob", json!({ "pattern": "**/*.py" })), @"(no file matches `**/*.py`; ignored and hidden files are left out, and letter case counts)");
}

#[test]
fn a_pattern_that_is_none_is_refused() {
    let tree = sample();
    for (pattern, expected) in [
        ("", "it is blank; `**/*` matches every file"),
        ("src/[a", "unclosed character class; missing ']'"),
        ("{a,b", "unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"),
    ] {
        let expected = format!("INVALID_ARGS\nError: `pattern` is no valid glob: {expected}");
        assert_eq!(tree.failure("glob", json!({ "pattern": pattern })), expected);
    }
    for pattern in ["x".repeat(4_097), format!("{}{}", "{".repeat(2_000), "}".repeat(2_000))] {
        let failure = tree.failure("glob", json!({ "pattern": pattern }));
        assert_eq!(failure.lines().next(), Some("INVALID_ARGS"), "{failure}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf_8_are_counted_and_left_out() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let tree = Tree::new([("plain.txt", "x")]);
    tree.write(OsStr::from_bytes(b"caf\xe9.txt"), "x");
    tree.write(OsStr::from_bytes(b"d\xff/inner.txt"), "x");
    let value = tree.value("glob", json!({ "pattern": "**" }));
    let files = json!([{ "path": "plain.txt", "bytes": 1 }]);
    assert_eq!(value, json!({ "files": files, "truncated": false, "total": 1, "skipped": 2 }));
    assert_snapshot!(tree.text("glob", json!({ "pattern": "**" })), @r"
    plain.txt

    (1 file; 2 entries skipped: unreadable, or with a name that is not UTF-8)
    ");
}
