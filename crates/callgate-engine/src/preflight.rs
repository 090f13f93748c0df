//! Pre-flight of TypeScript programs, wherever they run.

use callgate_core::preflight::{Finding, FindingKind, ToolSignature};
use callgate_core::program::Program;
use futures_util::future::BoxFuture;

use crate::strip::strip;

/// What is certainly wrong with a program.
pub(crate) fn check<'a>(
    program: &'a Program,
    _: &'a [ToolSignature],
) -> BoxFuture<'a, Vec<Finding>> {
    Box::pin(async move {
        let Err(error) = strip(&program.source) else { return Vec::new() };
        let problems = error.problems().iter();
        problems
            .map(|it| {
                Finding::new(
                    FindingKind::Syntax,
                    it.position,
                    format!("syntax error: {}", it.message),
                )
            })
            .collect()
    })
}
