//! A call comes to the same, whichever engine runs the program that makes it.

#[expect(dead_code, reason = "the page is printed by the example, not by the tests")]
#[path = "../../../callgate-core/examples/conformance.rs"]
mod matrix;

use callgate_core::program::ProgramEngine;
use callgate_engine::TypeScript;
use matrix::{Programs, SITUATIONS, Seen, Way, observe, observe_with};

use crate::support::block_on;

/// Both columns of every row, with programs of one engine.
fn every_row_agrees<E: ProgramEngine>(make: impl Fn() -> Programs<E>) {
    assert!(SITUATIONS.len() >= 20);
    for situation in SITUATIONS {
        let direct = block_on(observe(situation, Way::Direct));
        for (way, calls) in [(Way::Program, 1), (Way::Parallel, 3)] {
            let seen = block_on(observe_with(make(), situation, way));
            // What is hidden is no member of `tools`, so that there is nothing to call.
            let calls = if situation.name == "hidden by a restriction" { 0 } else { calls };
            let expected: Vec<Seen> = vec![direct[0].clone(); calls];
            assert_eq!(seen, expected, "{} {way:?}", situation.name);
        }
    }
}

fn typescript<E: ProgramEngine>(engine: E) -> Programs<E> {
    Programs {
        engine,
        one: "try { await tools.subject({}) } catch {}",
        three: "const call = async () => tools.subject({});\n\
                await Promise.allSettled([call(), call(), call()])",
    }
}

// BOUND-8
#[test]
fn programs_in_typescript_in_this_process_change_no_outcome() {
    every_row_agrees(|| typescript(TypeScript::in_process().build().unwrap()));
}

#[cfg(unix)]
#[test]
fn programs_in_typescript_in_a_worker_change_no_outcome() {
    let engine = crate::worker::support::worker().build().unwrap();
    every_row_agrees(|| typescript(engine.clone()));
}

#[cfg(target_os = "linux")]
#[test]
fn programs_in_python_change_no_outcome() {
    let engine = crate::python::support::engine();
    every_row_agrees(|| Programs {
        engine: engine.clone(),
        one: "try:\n    await tools.subject({})\nexcept Exception:\n    pass",
        three: "import asyncio\n\
                async def call():\n    await tools.subject({})\n\
                await asyncio.gather(call(), call(), call(), return_exceptions=True)",
    });
}
