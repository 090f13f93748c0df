//! Ways out of the root, all of them closed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use callgate::{Json, json};
use callgate_tools::FileTools;
use insta::assert_snapshot;

use crate::support::Tree;

const SECRET: &str = "the secret of the outside\n";

/// How often a race is run; each of the checks below fails within a few rounds if a step follows links.
const ROUNDS: usize = 300;

/// A root beside a directory with a secret.
fn beside_a_secret() -> Tree {
    let tree = Tree::new([("inside.txt", "inside\n"), ("sub/deep/leaf.txt", "leaf\n")]);
    let outside = tree.at("../outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.txt"), SECRET).unwrap();
    tree
}

fn check_refused(tree: &Tree, path: &str) {
    for (tool, arguments) in [
        ("read", json!({ "path": path })),
        ("glob", json!({ "pattern": "**/*", "path": path })),
        ("grep", json!({ "pattern": "secret", "path": path })),
    ] {
        let failure = tree.failure(tool, arguments);
        assert_eq!(failure.lines().next(), Some("FS_OUTSIDE_ROOT"), "{tool} {path}: {failure}");
    }
}

#[test]
fn parent_steps_stop_at_the_root() {
    let tree = beside_a_secret();
    for path in [
        "..",
        "../outside/secret.txt",
        "sub/../../outside/secret.txt",
        "./.././outside",
        "../root/inside.txt",
    ] {
        check_refused(&tree, path);
    }
    assert_snapshot!(tree.text("read", json!({ "path": "../outside/secret.txt" })), @"Error: `../outside/secret.txt` leads out of the root through `..`; only what is below the root can be read");
}

#[test]
fn parent_steps_inside_the_root_are_fine() {
    let tree = beside_a_secret();
    for path in
        ["sub/../inside.txt", "./sub/deep/../../inside.txt", "sub//deep/./../..//inside.txt"]
    {
        assert_eq!(
            tree.value("read", json!({ "path": path }))["lines"][0]["text"],
            json!("inside")
        );
    }
}

#[test]
fn absolute_paths_are_refused_with_the_relative_one() {
    let tree = beside_a_secret();
    check_refused(&tree, "/");
    check_refused(&tree, "/etc/passwd");
    let root = tree.root();
    let inside = root.join("inside.txt");
    check_refused(&tree, inside.to_str().unwrap());
    let text = |path: &Path| {
        let text = tree.text("read", json!({ "path": (path.to_str().unwrap()) }));
        text.replace(root.to_str().unwrap(), "<root>")
    };
    assert_snapshot!(text(&inside), @"Error: `<root>/inside.txt` is absolute; paths are relative to the root, and this one is `inside.txt`");
    assert_snapshot!(text(&root), @"Error: `<root>` is absolute; paths are relative to the root, and this one is `.`");
    assert_snapshot!(text(Path::new("/etc/passwd")), @"Error: `/etc/passwd` is absolute; paths are relative to the root, and only what is below the root can be read");
    // Nothing is looked up outside, so nothing is said about what exists there.
    assert_snapshot!(text(Path::new("/etc/no/such")), @"Error: `/etc/no/such` is absolute; paths are relative to the root, and only what is below the root can be read");
}

#[test]
fn links_that_leave_the_root_are_refused_wherever_they_stand() {
    let tree = beside_a_secret();
    let outside = tree.at("../outside").canonicalize().unwrap();
    tree.link("to-file", outside.join("secret.txt"));
    tree.link("to-directory", &outside);
    tree.link("relative", "../outside/secret.txt");
    tree.link("sub/up", "../..");
    tree.link("chain-1", "chain-2");
    tree.link("chain-2", "sub/deep/../../chain-3");
    tree.link("chain-3", outside.join("secret.txt"));
    tree.link("to-root", "/");
    tree.link("dangling", outside.join("nothing"));
    tree.link("back-again", "../root/inside.txt");
    tree.link("prefix", format!("{}-2", tree.root().display()));
    for path in [
        "to-file",
        "to-directory",
        "to-directory/secret.txt",
        "relative",
        "sub/up",
        "sub/up/outside/secret.txt",
        "chain-1",
        "to-root",
        "to-root/etc",
        "dangling",
        "back-again",
        "prefix",
        "to-directory/../outside/secret.txt",
    ] {
        check_refused(&tree, path);
    }
    assert_snapshot!(tree.text("read", json!({ "path": "to-file" })), @"Error: `to-file` leads out of the root through a symbolic link; only what is below the root can be read");
}

#[test]
fn links_that_stay_inside_are_followed() {
    let tree = beside_a_secret();
    tree.link("relative", "sub/deep/leaf.txt");
    tree.link("absolute", tree.at("sub/deep/leaf.txt"));
    tree.link("directory", "sub");
    tree.link("sub/up", "..");
    tree.link("chain", "directory/up/absolute");
    for path in [
        "relative",
        "absolute",
        "directory/deep/leaf.txt",
        "sub/up/relative",
        "chain",
        "directory/deep/../deep/leaf.txt",
    ] {
        let value = tree.value("read", json!({ "path": path }));
        assert_eq!(value["lines"][0]["text"], json!("leaf"), "{path}");
    }
    // A link is followed before the step up: `directory/..` is the parent of `sub`.
    let value = tree.value("read", json!({ "path": "directory/../inside.txt" }));
    assert_eq!(value["lines"][0]["text"], json!("inside"));
    let value = tree.value("glob", json!({ "pattern": "**", "path": "directory" }));
    assert_eq!(value["files"], json!([{ "path": "sub/deep/leaf.txt", "bytes": 5 }]));
}

#[test]
fn an_absolute_link_starts_again_at_the_root() {
    let tree = beside_a_secret();
    tree.link("sub/deep/home", tree.root());
    let value = tree.value("glob", json!({ "pattern": "*", "path": "sub/deep/home" }));
    assert_eq!(value["files"], json!([{ "path": "inside.txt", "bytes": 7 }]));
    check_refused(&tree, "sub/deep/home/..");
}

#[test]
fn a_link_to_another_name_of_the_root_stays_inside() {
    let tree = beside_a_secret();
    let alias = tree.at("../alias");
    symlink(tree.root(), &alias).unwrap();
    tree.link("aliased", alias.join("inside.txt"));
    assert_eq!(
        tree.value("read", json!({ "path": "aliased" }))["lines"][0]["text"],
        json!("inside")
    );
    check_refused(&tree, "../alias/inside.txt");
}

#[test]
fn links_in_a_circle_end_with_an_error() {
    let tree = beside_a_secret();
    tree.link("a", "b");
    tree.link("b", "a");
    tree.link("self", "self/x");
    assert_snapshot!(tree.failure("read", json!({ "path": "a" })), @r"
    FS_UNREADABLE
    Error: `a` cannot be read: it goes through more than 40 symbolic links, perhaps in a circle
    ");
    assert_eq!(
        tree.failure("glob", json!({ "pattern": "*", "path": "self" })).lines().next(),
        Some("FS_UNREADABLE")
    );
}

#[test]
fn a_link_to_nothing_says_what_is_missing() {
    let tree = beside_a_secret();
    tree.link("old", "sub/deep/leaf.text");
    assert_snapshot!(tree.failure("read", json!({ "path": "old" })), @r"
    FS_NOT_FOUND
    Error: `old` does not exist, because `sub/deep/leaf.text` does not; did you mean `sub/deep/leaf.txt`?
    ");
}

#[test]
fn searches_follow_no_links() {
    let tree = beside_a_secret();
    let outside = tree.at("../outside").canonicalize().unwrap();
    tree.link("to-directory", &outside);
    tree.link("to-file", outside.join("secret.txt"));
    tree.link("circle", ".");
    tree.link("twice.txt", "inside.txt");
    let value = tree.value("glob", json!({ "pattern": "**" }));
    let expected =
        json!([{ "path": "inside.txt", "bytes": 7 }, { "path": "sub/deep/leaf.txt", "bytes": 5 }]);
    assert_eq!((&value["files"], &value["total"]), (&expected, &json!(2)));
    let value = tree.value("grep", json!({ "pattern": "secret|inside" }));
    let expected =
        json!([{ "path": "inside.txt", "matches": [{ "lineNumber": 1, "line": "inside" }] }]);
    assert_eq!((&value["files"], &value["total"]), (&expected, &json!(1)));
}

#[test]
fn a_pattern_cannot_leave_either() {
    let tree = beside_a_secret();
    for pattern in ["../outside/*", "/etc/*", "sub/../../outside/*", "./../*"] {
        let failure = tree.failure("glob", json!({ "pattern": pattern }));
        assert_eq!(failure.lines().next(), Some("FS_OUTSIDE_ROOT"), "{failure}");
        let failure = tree.failure("grep", json!({ "pattern": "x", "glob": pattern }));
        assert_eq!(failure.lines().next(), Some("FS_OUTSIDE_ROOT"), "{failure}");
    }
    assert_snapshot!(tree.text("glob", json!({ "pattern": "/etc/*" })), @"Error: `pattern` is `/etc/*`, but matches only paths below the directory that is searched; leave out the leading `/` or `..`, or choose another directory with `path`");
}

#[test]
fn the_root_itself_may_be_named_through_a_link_and_is_fixed_then() {
    let tree = beside_a_secret();
    let alias = tree.at("../alias");
    symlink(tree.root(), &alias).unwrap();
    let tools = FileTools::below(&alias).unwrap();
    assert_eq!(tools.root(), tree.root());
    fs::remove_file(&alias).unwrap();
    symlink(tree.at("../outside"), &alias).unwrap();
    let scope = tree.runtime.scope();
    tools.install(&scope).unwrap();
    let result = tree.block_on(scope.execute(callgate::CallInput::new(
        "1",
        "read",
        json!({ "path": "inside.txt" }),
    )));
    assert_eq!(result.value().unwrap()["lines"][0]["text"], json!("inside"));
}

/// Swaps what stands at a place as fast as it can while the calls run.
fn race(swap: impl Fn(usize) + Sync, calls: impl Fn()) {
    /// Ends the swapping also when a check fails.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| {
            let mut round = 0;
            while !is_over.load(Ordering::Relaxed) {
                swap(round);
                round += 1;
            }
        });
        for _ in 0..ROUNDS {
            calls();
        }
    });
}

/// Makes `place` a link to one target or the other, without a moment in which there is none.
fn swap_link(tree: &Tree, place: &str, target: &Path) {
    let fresh = tree.at("../fresh");
    symlink(target, &fresh).unwrap();
    fs::rename(&fresh, tree.at(place)).unwrap();
}

#[test]
fn a_link_that_is_swapped_during_the_call_opens_nothing_outside() {
    let tree = beside_a_secret();
    tree.write("inner/secret.txt", "harmless\n");
    let targets = [tree.at("inner"), tree.at("../outside").canonicalize().unwrap()];
    tree.link("place", &targets[0]);
    let calls = || {
        check_nothing_leaks(&tree, "read", &json!({ "path": "place/secret.txt" }));
        check_nothing_leaks(&tree, "grep", &json!({ "pattern": "secret", "path": "place" }));
    };
    race(|round| swap_link(&tree, "place", &targets[round % 2]), calls);
}

fn check_nothing_leaks(tree: &Tree, tool: &str, arguments: &Json) {
    let text = tree.text(tool, arguments);
    assert!(!text.contains("of the outside"), "{text}");
}

/// Checks that only files with the harmless text are found.
#[cfg(target_os = "linux")]
fn check_sizes(tree: &Tree, pattern: &str) {
    let value = tree.value("glob", json!({ "pattern": pattern }));
    for file in value["files"].as_array().unwrap() {
        assert_eq!(file["bytes"], json!("harmless\n".len()));
    }
}

/// Exchanges what stands at two places, at once.
#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_swapped_for_a_link_during_the_call_opens_nothing_outside() {
    let tree = beside_a_secret();
    tree.write("place.txt", "harmless\n");
    let (place, trap) = (tree.at("place.txt"), tree.at("../trap"));
    symlink(tree.at("../outside/secret.txt").canonicalize().unwrap(), &trap).unwrap();
    let calls = || {
        check_nothing_leaks(&tree, "read", &json!({ "path": "place.txt" }));
        check_nothing_leaks(&tree, "grep", &json!({ "pattern": "secret", "path": "place.txt" }));
        check_nothing_leaks(&tree, "grep", &json!({ "pattern": "secret" }));
        check_sizes(&tree, "place.txt");
    };
    race(|_| exchange(&place, &trap), calls);
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_swapped_for_a_pipe_during_the_call_blocks_nothing() {
    let tree = beside_a_secret();
    tree.write("place.txt", "harmless\n");
    let (place, trap) = (tree.at("place.txt"), tree.at("../trap"));
    assert!(std::process::Command::new("mkfifo").arg(&trap).status().unwrap().success());
    let calls = || {
        for _ in 0..5 {
            check_nothing_leaks(&tree, "read", &json!({ "path": "place.txt" }));
        }
        check_nothing_leaks(&tree, "grep", &json!({ "pattern": "secret" }));
    };
    race(|_| exchange(&place, &trap), calls);
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_is_swapped_for_a_link_during_the_call_opens_nothing_outside() {
    let tree = beside_a_secret();
    tree.write("place/secret.txt", "harmless\n");
    tree.write("place/sub/secret.txt", "harmless\n");
    let outside = tree.at("../outside").canonicalize().unwrap();
    fs::create_dir(outside.join("sub")).unwrap();
    fs::write(outside.join("sub/secret.txt"), SECRET).unwrap();
    let (place, trap) = (tree.at("place"), tree.at("../trap"));
    symlink(&outside, &trap).unwrap();
    let calls = || {
        for path in ["place/secret.txt", "place/sub/secret.txt", "place/sub/../secret.txt"] {
            check_nothing_leaks(&tree, "read", &json!({ "path": path }));
        }
        check_nothing_leaks(&tree, "grep", &json!({ "pattern": "secret" }));
        check_sizes(&tree, "place/**");
    };
    race(|_| exchange(&place, &trap), calls);
}
