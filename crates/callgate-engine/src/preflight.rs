//! Pre-flight of TypeScript programs, wherever they run: one parse, and everything that is certainly wrong.

mod literals;
mod places;
mod survey;
mod uses;
mod walk;

use std::thread;

use callgate_core::preflight::{Finding, FindingKind, ToolSignature, judge};
use callgate_core::program::Program;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::strip::{self, NO_MODULES, Problem};
use survey::Survey;

/// Longer texts are looked at on a thread of their own, so that nobody else waits for it.
const SHORT: usize = 32 << 10;

/// What is certainly wrong with a program.
pub(crate) fn check<'a>(
    program: &'a Program,
    tools: &'a [ToolSignature],
) -> BoxFuture<'a, Vec<Finding>> {
    Box::pin(async move {
        if program.source.len() <= SHORT {
            return look(program, tools);
        }
        let (done, findings) = oneshot::channel();
        let (program, tools) = (program.clone(), tools.to_vec());
        let started = thread::Builder::new().name("callgate-check".to_owned()).spawn(move || {
            // Nobody may be waiting any more.
            let _ = done.send(look(&program, &tools));
        });
        // Without a thread nothing is found, and the run itself says what is wrong.
        if started.is_err() { Vec::new() } else { findings.await.unwrap_or_default() }
    })
}

fn look(program: &Program, tools: &[ToolSignature]) -> Vec<Finding> {
    let global = program.namespaces.first().map_or("", |namespace| &*namespace.global);
    let (problems, sketch) = strip::look(&program.source, |tree| {
        let survey = Survey::of(tree, global);
        walk::sketch(tree, &program.source, global, survey)
    });
    let mut findings: Vec<Finding> = problems.into_iter().map(finding).collect();
    if let Some(sketch) = sketch {
        findings.extend(judge(program, tools, &sketch.calls));
        findings.extend(sketch.findings);
    }
    findings.sort_by_key(|it| (it.position.line, it.position.column, it.kind));
    findings
}

fn finding(problem: Problem) -> Finding {
    let Problem { message, position } = problem;
    if message == NO_MODULES {
        return Finding::new(FindingKind::Import, position, message);
    }
    Finding::new(FindingKind::Syntax, position, format!("syntax error: {message}"))
}
