//! Limits, budgets, and values at the border.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgate_core::program::{FailureKind, Isolation, Program, ProgramEnd, ProgramEngine};
use callgate_core::{Cause, Signal};
use callgate_engine::Python;

use super::support::{engine, failed, fails, returns, run};
use crate::support::{Host, block_on, tools};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

#[test]
fn values_arrive_exactly_and_everything_else_is_refused_with_its_path() {
    // PYRT-7
    for (text, why) in [
        ("(1, 2)", "value: a tuple is not JSON: pass list(x)"),
        ("{1, 2}", "value: a set is not JSON: pass list(x), or sorted(x)"),
        ("b'x'", "value: a bytes is not JSON: pass x.decode()"),
        ("float('nan')", "value: nan is not JSON: use None"),
        ("[float('inf')]", "value[0]: an infinity is not JSON"),
        ("{'a': [-0.0]}", "value.a[0]: -0.0 is not JSON: write x + 0.0"),
        ("2 ** 64", "value: an integer beyond 64 bits is not JSON: pass str(x)"),
        ("-2 ** 63 - 1", "value: an integer beyond 64 bits"),
        ("{1: 2}", "value: a key must be a string, not int: write str(key)"),
        ("{'a b': {None: 2}}", "value[\"a b\"]: a key must be a string, not NoneType"),
        ("'\\ud800'", "value: half of a surrogate pair is not text"),
        ("{'\\ud800': 1}", "value: a key with half of a surrogate pair"),
        ("lambda: 1", "value: a function is not JSON"),
        ("tools.echo(1)", "value: a coroutine is not JSON: `await` it first"),
        ("(n for n in [])", "value: a generator is not JSON: pass list(x)"),
        ("ValueError('x')", "value: a ValueError is not JSON: pass str(x)"),
        ("int", "value: a class is not JSON"),
        (
            "__import__('datetime').date(2020, 1, 1)",
            "value: a date is not JSON: pass x.isoformat()",
        ),
        ("__import__('decimal').Decimal(1)", "value: a Decimal is not JSON: pass str(x)"),
        ("__import__('collections').Counter('a')", "value: a Counter is not JSON: pass dict(x)"),
        ("__import__('collections').OrderedDict()", "value: an OrderedDict is not JSON"),
        ("type('S', (str,), {})('x')", "value: a S is not JSON: pass str(x)"),
        ("__import__('types').SimpleNamespace(a=1)", "value: a SimpleNamespace is not JSON"),
    ] {
        let message = format!("the returned value must be lossless JSON; {why}");
        fails(&format!("return {text}"), FailureKind::InvalidOutput, &message);
        let place = why.replacen("value", "arguments", 1);
        let program = format!("await tools.echo({text})");
        fails(
            &program,
            FailureKind::Exception,
            &format!("arguments must be lossless JSON; {place}"),
        );
    }
    returns(
        "return [2**64 - 1, -2**63, 5e-324, 1.7976931348623157e308, '\\0\u{1f980}']",
        "[18446744073709551615,-9223372036854775808,5e-324,1.7976931348623157e+308,\"\\u0000\u{1f980}\"]",
    );
    returns(
        "x = [1]\nreturn [x, x, True, None, {'b': 1, 'a': 2}]",
        "[[1],[1],true,null,{\"b\":1,\"a\":2}]",
    );
}

#[test]
fn values_come_back_with_exact_digits_and_in_order() {
    // PYRT-8
    returns(
        "x = await tools.echo({'z': 2 ** 60, 'a': 1.5, 'n': None, 'l': [True, -1]})\nreturn [x, type(x['z']).__name__, type(x['a']).__name__, list(x)]",
        r#"[{"z":1152921504606846976,"a":1.5,"n":null,"l":[true,-1]},"int","float",["z","a","n","l"]]"#,
    );
    returns(
        "x = []\nfor _ in range(4998): x = [x]\ny = await tools.echo(x)\nn = 0\nwhile y: y, n = y[0], n + 1\nreturn n",
        "4998",
    );
    returns(
        "x = {}\nfor _ in range(4000): x = {'k': x}\nreturn [await tools.echo(x)][0]['k']['k'] is not None",
        "true",
    );
    returns("big = await tools.echo('x' * 1_000_000)\nreturn len(big)", "1000000");
}

fn limited(source: &str) -> ProgramEnd {
    // What waits is ended by the wall clock; on a busy machine it takes long to compute so much.
    let waits = source.contains("sleep") || source.contains("hold");
    let wall = Duration::from_secs(if waits { 2 } else { 60 });
    let engine = Python::worker()
        .compute(Duration::from_millis(300))
        .wall(wall)
        .memory(96 << 20)
        .max_output_bytes(1000)
        .pool(0)
        .build()
        .unwrap();
    let end = run(&engine, source, &Arc::default());
    assert_eq!(run(&engine, "return 1", &Arc::default()).value, Some(1.into()), "after {source}");
    end
}

#[test]
fn every_limit_ends_a_program_with_its_own_kind() {
    // RUNTIME-22
    let kinds = [
        ("while True: pass", FailureKind::Timeout, "the compute budget of 300ms is used up"),
        ("import time\ntime.sleep(60)", FailureKind::Timeout, "the wall-clock ceiling of 2s"),
        ("await tools.hold(1)", FailureKind::Timeout, "the wall-clock ceiling of 2s"),
        ("x = bytearray(10 ** 9)", FailureKind::WorkerExit, "ran out of memory: 96 MiB"),
        ("import os\nos._exit(7)", FailureKind::WorkerExit, "status 7"),
        ("return 'x' * 2000", FailureKind::OutputLimit, "1000 bytes"),
        ("return {1: 'x' * 2000}", FailureKind::OutputLimit, "1000 bytes"),
        ("print('x' * 2000)", FailureKind::OutputLimit, "1000 bytes"),
        ("raise ValueError('x' * 2000)", FailureKind::OutputLimit, "1000 bytes"),
        ("return {1: 2}", FailureKind::InvalidOutput, "a key must be a string"),
    ];
    for (source, kind, text) in kinds {
        let failure = failed(limited(source), source);
        assert_eq!(failure.kind, kind, "{source}: {}", failure.message);
        assert!(failure.message.contains(text), "{source}: {}", failure.message);
    }
}

#[test]
fn output_is_metered_to_the_byte() {
    // PYRT-15
    // Two bytes are the brackets of the logs, two the quotes.
    assert_eq!(limited("return 'x' * 996").value, Some("x".repeat(996).into()));
    let failure = failed(limited("return 'x' * 997"), "");
    assert_eq!(failure.kind, FailureKind::OutputLimit);
}

#[test]
fn what_was_printed_before_the_end_is_kept() {
    // RUNTIME-21
    for source in [
        "print('said')\nwhile True: pass",
        "print('said')\nimport os\nos._exit(1)",
        "print('said')\nreturn 'x' * 5000",
        "import sys\nsys.stdout.write('said\\nmore')\nsys.stdout.flush()\nos = __import__('os')\nos.abort()",
    ] {
        let end = limited(source);
        assert_eq!(end.logs.first().map(|entry| &**entry), Some("said"), "{source}");
    }
}

#[test]
fn a_cancelled_run_ends_at_once_with_the_cause() {
    // RUNTIME-26
    for source in ["while True: pass", "await tools.hold(1)", "import time\ntime.sleep(60)"] {
        let (signal, started) = (Signal::new(), Instant::now());
        let program = Program::new(format!("print('said')\n{source}"), vec![tools()]);
        let run = engine().run(program, Arc::new(Host::default()), signal.clone());
        let end = block_on(async {
            let cancel = async {
                tokio::time::sleep(Duration::from_millis(200)).await;
                signal.cancel(Cause::new("test", "enough of this"));
            };
            tokio::join!(run, cancel).0.unwrap()
        });
        assert_eq!(end.logs, ["said".into()], "{source}");
        let failure = failed(end, source);
        assert_eq!(failure.kind, FailureKind::Abort, "{source}: {}", failure.message);
        assert!(failure.message.contains("enough of this"), "{}", failure.message);
        assert!(started.elapsed() < PATIENCE, "{source}");
    }
}

#[test]
fn runs_share_nothing() {
    // RUNTIME-7
    let engine = engine().for_session("one");
    for _ in 0..3 {
        let source = "import json, math\nseen = hasattr(json, 'mine') or 'x' in globals() or math.pi == 3\njson.mine = x = 1\nmath.pi = 3\nreturn seen";
        assert_eq!(run(&engine, source, &Arc::default()).value, Some(false.into()));
    }
}

#[test]
fn a_program_without_confinement_is_one_that_somebody_asked_for() {
    // RUNTIME-34
    let engine = Python::worker().unconfined(true).pool(0).build().unwrap();
    assert_eq!(engine.isolation(), Isolation::Worker, "{}", engine.confinement());
    let end = run(&engine, "import os\nreturn os.path.exists('/')", &Arc::default());
    assert_eq!(end.value, Some(true.into()));
}

#[test]
fn an_interpreter_that_cannot_run_programs_is_told_from_one_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, said: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{said}\n")).unwrap();
        let mut command = std::process::Command::new("chmod");
        assert!(command.arg("755").arg(&path).status().unwrap().success());
        path
    };
    let told = |version: &str, missing: &str| {
        format!(
            "echo '{{\"version\": {version}, \"implementation\": \"cpython\", \"executable\": \"/x\", \"missing\": {missing}}}'"
        )
    };
    for (path, text) in [
        (folder.path().join("none"), "cannot run Python programs: No such file"),
        (script("bad", "echo oops >&2; exit 3"), "exit status: 3 oops"),
        (script("old", &told("[3, 8, 18]", "{}")), "is Python 3.8.18: install a newer one"),
        (
            script("less", &told("[3, 11, 2]", "{\"asyncio\": \"gone\"}")),
            "lacks what Python programs need: `asyncio` (gone)",
        ),
        (
            script("bare", &told("[3, 11, 2]", "{\"ctypes\": \"gone\"}")),
            "lacks what Python programs need: `ctypes` (gone)",
        ),
    ] {
        let error = Python::worker().interpreter(&path).build().unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}
