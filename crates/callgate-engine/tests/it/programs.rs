//! Sixty programs such as models write, each run as it is, in this process and in a worker.

mod tools;

use std::fs;
use std::path::Path;

use callgate_core::program::ProgramEngine;
use callgate_core::{CallInput, CallResult, Mode, RUN_CODE, RuntimeBuilder, ToolRuntime};
use callgate_engine::TypeScript;
use callgate_schema::json;

use crate::support::block_on;

struct Example {
    name: String,
    source: String,
    expected: String,
}

/// The programs in their order, each with the text that a model reads after it.
fn examples() -> Vec<Example> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut programs: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "ts")).collect();
    programs.sort();
    let example = |path: &std::path::PathBuf| Example {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        source: fs::read_to_string(path).unwrap(),
        expected: fs::read_to_string(path.with_extension("txt")).unwrap_or_default(),
    };
    programs.iter().map(example).collect()
}

fn runtime(engine: impl ProgramEngine) -> ToolRuntime {
    let builder = ToolRuntime::builder().mode(Mode::Code).engine(engine);
    tools::all().into_iter().fold(builder, RuntimeBuilder::tool).build().unwrap()
}

fn run(engine: impl ProgramEngine, source: &str) -> CallResult {
    let runtime = runtime(engine);
    let input = json!({ "code": source, "description": "Runs a program of the tests" });
    block_on(runtime.execute(CallInput::new("run", RUN_CODE, input)))
}

/// Runs all programs; writes what they give back instead of comparing it if `CALLGATE_BLESS` is set.
fn check(engine: &(impl ProgramEngine + Clone)) {
    let bless = std::env::var_os("CALLGATE_BLESS").is_some();
    let mut wrong = Vec::new();
    for Example { name, source, expected } in examples() {
        let result = run(engine.clone(), &source);
        let text = format!("{}\n", result.text());
        if bless {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
            fs::write(folder.join(&name).with_extension("txt"), &text).unwrap();
        }
        if result.is_error() || (text != expected && !bless) {
            wrong.push(format!("{name}:\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{} programs went wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn there_are_sixty_programs_one_for_each_task() {
    let tasks = include_str!("../programs/TASKS.md");
    let numbers = tasks.lines().filter_map(|line| line.split_once(". "));
    let numbers: Vec<u32> = numbers.filter_map(|(number, _)| number.parse().ok()).collect();
    let programs: Vec<u32> =
        examples().iter().map(|it| it.name.split('-').next().unwrap().parse().unwrap()).collect();
    assert_eq!(numbers, (1..=60).collect::<Vec<_>>());
    assert_eq!(programs, numbers);
}

#[test]
fn programs_such_as_models_write_run_unchanged_in_this_process() {
    check(&TypeScript::in_process().build().unwrap());
}

#[cfg(unix)]
#[test]
fn programs_such_as_models_write_run_unchanged_in_a_worker() {
    check(&crate::worker::support::worker().build().unwrap().for_session("programs"));
}

#[test]
fn nothing_is_found_wrong_with_programs_that_run() {
    let runtime = runtime(TypeScript::in_process().build().unwrap());
    for Example { name, source, .. } in examples() {
        assert_eq!(block_on(runtime.check_program(source)).unwrap(), [], "{name}");
    }
}
