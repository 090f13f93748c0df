//! Every target on its corpus and on mutations of it: a few seconds by default, many more with `CALLGATE_TEST_LONG`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use callgate::json;
use callgate_fuzz::mutate::{Dice, mutated};
use callgate_fuzz::{TARGETS, type_texts, words};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus");

/// No input may take longer, on a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(20);

fn rounds() -> usize {
    if std::env::var_os("CALLGATE_TEST_LONG").is_some() { 100_000 } else { 1_500 }
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let mut files: Vec<_> = Path::new(CORPUS)
        .join(target)
        .read_dir()
        .unwrap_or_else(|error| panic!("no corpus for `{target}`: {error}"))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() >= 5, "{target}: {files:?}");
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// The corpus, then mutations of it.
fn inputs(target: &str) -> impl Iterator<Item = Vec<u8>> {
    let mut pool = corpus(target);
    let words = words();
    let mut dice = Dice::new(target.len() as u64);
    let seeds = pool.clone();
    let mutations = (0..rounds()).map(move |round| {
        let (one, other) = (dice.below(pool.len()), dice.below(pool.len()));
        let input = mutated(&pool[one], &pool[other], &words, &mut dice);
        // Some become seeds themselves.
        if round % 8 == 0 && pool.len() < 500 {
            pool.push(input.clone());
        }
        input
    });
    seeds.into_iter().chain(mutations)
}

fn smoke(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    for input in inputs(name) {
        let started = Instant::now();
        let run = std::panic::catch_unwind(|| (target.run)(&input));
        let took = started.elapsed();
        let shown = String::from_utf8_lossy(&input);
        assert!(run.is_ok(), "`{name}` fails on:\n{shown}");
        assert!(took < PATIENCE, "`{name}` takes {took:?} for:\n{shown}");
    }
}

#[test]
fn json_text() {
    smoke("json");
}

#[test]
fn schemas_of_the_subset() {
    smoke("subset");
}

#[test]
fn schemas_of_others() {
    smoke("foreign");
}

#[test]
fn types_of_schemas() {
    smoke("types");
}

#[test]
fn specs() {
    smoke("spec");
}

#[test]
fn derived_schemas() {
    smoke("derive");
}

#[test]
fn programs() {
    smoke("strip");
}

/// Reads texts as JSON lines and answers how many there were, or what is wrong with the first bad one.
const PARSE: &str = "
import ast, json, sys
count = 0
for line in sys.stdin:
    text = json.loads(line)
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as error:
        sys.exit(f'{error}\\n{text}')
    count += 1
print(count)
";

#[test]
fn python_text_parses() {
    let python = Command::new("python3")
        .args(["-c", PARSE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut python) = python else {
        eprintln!("not run: there is no python3 to parse the text");
        return;
    };
    let texts: Vec<String> =
        inputs("types").filter_map(|input| type_texts(&input)).map(|(_, python)| python).collect();
    assert!(texts.len() > 100, "{}", texts.len());
    let mut input = python.stdin.take().unwrap();
    let lines =
        texts.iter().fold(String::new(), |lines, text| lines + &json!(&**text).to_string() + "\n");
    let writing = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = python.wait_with_output().unwrap();
    let _whole = writing.join().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), texts.len().to_string());
}

#[test]
fn every_target_has_a_harness_and_a_corpus() {
    let named = |folder: &str| -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(folder);
        folder
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect()
    };
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(named("fuzz_targets"), targets);
    assert_eq!(named("corpus"), targets);
}
