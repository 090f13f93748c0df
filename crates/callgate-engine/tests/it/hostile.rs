//! Programs that mean harm. Each must end as it should within seconds, and leave the engine working.

mod corpus;

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgate_core::Signal;
use callgate_core::program::{Program, ProgramEnd, ProgramEngine};
use callgate_engine::TypeScript;
use callgate_schema::{Json, Str};

use self::corpus::{GROUPS, HONEST, Hostile};
use crate::support::{Host, block_on, engine, tools};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);
/// What a program may compute that shall run out of time.
const SHORT: Duration = Duration::from_millis(100);
/// Long enough for one that does not.
const LONG: Duration = Duration::from_secs(10);
const MEMORY: usize = 32 << 20;
const OUTPUT: u64 = 1 << 20;

fn limited(compute: Duration) -> TypeScript {
    engine()
        .compute(compute)
        .wall(compute * 5)
        .memory(MEMORY)
        .max_output_bytes(OUTPUT)
        .build()
        .unwrap()
}

/// Whether that is one of the ends a program may have.
fn is_expected(ends: &str, value: Option<&Json>, failure: Option<&str>) -> bool {
    ends.split('|').any(|end| match (end.strip_prefix("= "), failure) {
        (Some("nothing"), None) => value.is_none(),
        (Some(json), None) => value == Some(&Json::parse(json).unwrap()),
        (None, Some(kind)) => end == kind,
        _ => false,
    })
}

/// What is wrong with an end, if something is.
fn complaint(
    (source, ends): Hostile,
    value: Option<&Json>,
    failure: Option<(&str, &str)>,
) -> Option<String> {
    let shown = |text: &str| text.chars().take(300).collect::<String>();
    let failed = failure.map(|(kind, message)| format!("{kind}: {}", shown(message)));
    let ended = failed.or(value.map(|value| shown(&value.to_string())));
    let is_expected = is_expected(ends, value, failure.map(|(kind, _)| kind));
    (!is_expected).then(|| {
        format!("{source}\n  may end with {ends}\n  not with {}", ended.unwrap_or_default())
    })
}

/// Runs each program of a group in this process, and an honest one after it.
fn check(group: &str) {
    let group = GROUPS.iter().find(|one| one.name == group).unwrap();
    assert!(group.in_process, "{group:?}");
    let (short, long) = (limited(SHORT), limited(LONG));
    let run = |(source, ends): Hostile| -> ProgramEnd {
        let engine = if ends.contains("timeout") { &short } else { &long };
        let program = Program::new(source, vec![tools()]);
        block_on(engine.run(program, Arc::new(Host::default()), Signal::new())).unwrap()
    };
    let mut complaints = Vec::new();
    for hostile in group.programs {
        let started = Instant::now();
        for program in [*hostile, HONEST] {
            let end = run(program);
            let failure = end.failure.as_ref();
            let failure = failure.map(|failure| (failure.kind.name(), &*failure.message));
            complaints.extend(complaint(program, end.value.as_ref(), failure));
        }
        let took = started.elapsed();
        if took > SHORT * 5 + 2 * PATIENCE {
            complaints.push(format!("{hostile:?} took {took:?}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn the_corpus_is_as_large_as_it_should_be() {
    let count: usize = GROUPS.iter().map(|group| group.programs.len()).sum();
    assert!(count >= 250, "{count} programs");
    let mut sources: Vec<&str> =
        GROUPS.iter().flat_map(|group| group.programs).map(|(source, _)| *source).collect();
    sources.sort_unstable();
    sources.dedup();
    assert_eq!(sources.len(), count, "each program is there once");
}

#[test]
fn loops_are_stopped() {
    // RUNTIME-27
    check("loops");
}

#[test]
fn regular_expressions_that_explode_are_stopped() {
    // RUNTIME-27
    check("regular expressions");
}

#[test]
fn memory_bombs_end_the_run() {
    // RUNTIME-27
    check("memory");
}

#[test]
fn deep_recursion_is_an_exception() {
    // RUNTIME-27
    check("recursion");
}

#[test]
fn floods_of_output_calls_and_errors_are_bounded() {
    // RUNTIME-27
    check("floods");
}

#[test]
fn stopping_cannot_be_caught() {
    // RUNTIME-26
    check("stopping");
}

#[test]
fn promises_that_never_settle_and_calls_that_come_too_late_are_told_apart() {
    // TSRT-12
    check("promises");
}

#[test]
fn polluted_prototypes_reach_neither_tools_nor_the_next_program() {
    // RUNTIME-7
    check("prototypes");
}

#[test]
fn no_code_is_made_from_strings() {
    // RUNTIME-34
    check("code from strings");
}

#[test]
fn values_that_fight_back_are_refused() {
    // RUNTIME-8
    check("values");
}

#[test]
fn patched_built_ins_change_nothing_that_the_host_does() {
    // RUNTIME-33
    check("patched built-ins");
}

#[test]
fn the_machine_is_out_of_reach() {
    // RUNTIME-34
    check("the machine");
}

/// The whole corpus in workers, in a host process of its own whose belongings can be counted.
#[cfg(target_os = "linux")]
mod in_workers {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use callgate_schema::json;

    use super::{GROUPS, HONEST, Json, LONG, MEMORY, OUTPUT, PATIENCE, SHORT, Str, complaint};
    use crate::worker::support::executable;

    /// The user that owns nothing.
    const NOBODY: u32 = 65_534;

    /// What the host is told: limits, and programs that each may have one of two budgets.
    fn request() -> Json {
        let programs = GROUPS.iter().flat_map(|group| group.programs);
        let programs: Vec<Json> = programs
            .map(|(source, ends)| {
                let compute = if ends.contains("timeout") { SHORT } else { LONG };
                json!([*source, u64::try_from(compute.as_millis()).unwrap()])
            })
            .collect();
        json!({ "programs": programs, "honest": HONEST.0, "memory": MEMORY as u64, "output": OUTPUT })
    }

    /// Runs everything in a host that this command starts, and checks what it says.
    fn check(mut command: Command) {
        command.arg("corpus").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut host = command.spawn().unwrap();
        let mut stdin = host.stdin.take().unwrap();
        let request = request().to_string();
        // It reads everything before it says anything.
        stdin.write_all(request.as_bytes()).unwrap();
        drop(stdin);
        let output = host.wait_with_output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}\n{printed}", output.status);
        let mut lines = printed.lines().map(|line| Json::parse(line).unwrap());
        let mut complaints = Vec::new();
        for hostile in GROUPS.iter().flat_map(|group| group.programs) {
            for program in [*hostile, HONEST] {
                let line = lines.next().expect("a line for each program");
                let text = |name: &str| line.get(name).and_then(Json::as_str).unwrap_or_default();
                let kind = Some(text("kind")).filter(|kind| !kind.is_empty());
                let failure = kind.map(|kind| (kind, text("message")));
                complaints.extend(complaint(program, line.get("value"), failure));
                let budget = if hostile.1.contains("timeout") { SHORT * 5 } else { PATIENCE };
                let took = line.get("ms").and_then(Json::as_u64).unwrap();
                if u128::from(took) > (budget + PATIENCE).as_millis() {
                    complaints.push(format!("{hostile:?} took {took} ms"));
                }
            }
        }
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
        let counts: Vec<Str> = lines.map(|line| line.to_str().unwrap()).collect();
        assert_eq!(counts[0], counts[1], "what is there before and after");
    }

    #[test]
    fn the_whole_corpus_ends_in_workers_as_it_should() {
        // RUNTIME-27
        check(Command::new(executable()));
    }

    #[test]
    fn the_whole_corpus_ends_in_workers_of_an_unprivileged_user_as_it_should() {
        // RUNTIME-27
        if fs::metadata("/proc/self").is_ok_and(|about| about.uid() != 0) {
            // Everybody but the superuser is unprivileged, and the corpus runs as them anyway.
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().join("worker_host");
        // Not written by this process: see the test of the confinement that does the same.
        let mut install = Command::new("install");
        let install = install.args(["-m", "755"]).arg(executable()).arg(&path);
        assert!(install.status().unwrap().success());
        let mut command = Command::new(&path);
        command.current_dir("/").env_clear().uid(NOBODY).gid(NOBODY);
        check(command);
    }
}
