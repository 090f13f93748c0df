//! TypeScript to JavaScript by blanking types out: every line and every byte column stays where it was.

use std::fmt;

use callgate_core::program::{Lines, Position};
use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::SourceType;

mod blank;
mod nesting;
mod speculation;

pub(crate) use blank::{NO_MODULES, is_type_only};

/// Erases the types of a program that stands for the inside of an async function.
///
/// Types become spaces, so that a position in the result is the position in `source`. `await` and `return` are legal at
/// the outermost level; syntax that would need code to be generated is refused together with what to write instead.
///
/// ```
/// let javascript = callgate_engine::strip("let n: number = 1; return n as any")?;
/// assert_eq!(javascript, "let n         = 1; return n ;     ");
/// # Ok::<(), callgate_engine::StripError>(())
/// ```
///
/// # Errors
///
/// Everything that is wrong with the text, each problem with its place and the author's line.
pub fn strip(source: &str) -> Result<String, StripError> {
    strip_within(source, 0)
}

/// [`strip`] for a caller that knows that its thread has `stack` bytes left.
pub(crate) fn strip_within(source: &str, stack: usize) -> Result<String, StripError> {
    nesting::with_stack_for(source, stack, || strip_here(source))
        .unwrap_or_else(|too_deep| Err(StripError::new(source, vec![(0, too_deep)])))
}

fn strip_here(source: &str) -> Result<String, StripError> {
    speculation::check(source, tree_size)
        .map_err(|finding| StripError::new(source, vec![finding]))?;
    let erased = parse(source, SourceType::ts(), |program| blank::blank_out(source, program));
    let javascript = erased.map_err(|findings| StripError::new(source, findings))?;
    if javascript != source {
        // Whatever the eraser did, only a text that is the inside of one function may be wrapped and run.
        parse(&javascript, SourceType::mjs(), |_| Ok(()))
            .map_err(|findings| StripError::new(source, findings))?;
    }
    Ok(javascript)
}

/// Parses a text once and hands its tree on, if there is one; says what is wrong with it besides.
pub(crate) fn look<T: Send>(
    source: &str,
    then: impl FnOnce(&Program<'_>) -> T + Send,
) -> (Vec<Problem>, Option<T>) {
    let looked = nesting::with_stack_for(source, 0, || look_here(source, then));
    let (findings, looked) = looked.unwrap_or_else(|too_deep| (vec![(0, too_deep)], None));
    (StripError::new(source, findings).problems, looked)
}

fn look_here<T>(source: &str, then: impl FnOnce(&Program<'_>) -> T) -> (Vec<Finding>, Option<T>) {
    if let Err(finding) = speculation::check(source, tree_size) {
        return (vec![finding], None);
    }
    let looked = parse(source, SourceType::ts(), |program| {
        let refused = blank::blank_out(source, program).err().unwrap_or_default();
        Ok((refused, Some(then(program))))
    });
    looked.unwrap_or_else(|findings| (findings, None))
}

/// How many bytes the syntax tree of a text takes, right or wrong, with what was tried in vain.
fn tree_size(text: &str) -> usize {
    let allocator = Allocator::default();
    parser(&allocator, text, SourceType::ts()).parse();
    allocator.used_bytes()
}

fn parser<'a>(allocator: &'a Allocator, text: &'a str, kind: SourceType) -> Parser<'a> {
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    Parser::new(allocator, text, kind.with_module(true)).with_options(options)
}

/// A problem and the byte at which it starts.
type Finding = (u32, String);

/// Parses the inside of an async function and hands it on, if there is nothing wrong with it.
fn parse<T>(
    text: &str,
    kind: SourceType,
    then: impl FnOnce(&Program<'_>) -> Result<T, Vec<Finding>>,
) -> Result<T, Vec<Finding>> {
    let allocator = Allocator::default();
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let parsed =
        Parser::new(&allocator, text, kind.with_module(true)).with_options(options).parse();
    let mut findings: Vec<Finding> = parsed
        .diagnostics
        .errors()
        .map(|found| {
            let start = found.labels.first().map_or(0, oxc_span::LabeledSpan::offset);
            let help = found.help.iter().map(|help| format!("; {help}"));
            (start, found.message.chars().map(String::from).chain(help).collect())
        })
        .collect();
    if parsed.panicked && findings.is_empty() {
        findings.push((0, "this is no program".to_owned()));
    }
    if findings.is_empty() { then(&parsed.program) } else { Err(findings) }
}

/// Why a text is not a program.
///
/// Its [`Display`](fmt::Display) shows the first problems, each with the author's lines around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripError {
    problems: Vec<Problem>,
    text: String,
}

/// One problem of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// What is wrong, and what to write instead where that is known.
    pub message: String,
    /// Where it starts.
    pub position: Position,
}

impl StripError {
    /// More than this many problems are only counted.
    const SHOWN: usize = 5;

    fn new(source: &str, mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|(start, _)| *start);
        let lines = Lines::new(source);
        let problems: Vec<Problem> = findings
            .into_iter()
            .map(|(start, message)| Problem { message, position: lines.position(start as usize) })
            .collect();
        let mut text = String::new();
        for problem in problems.iter().take(Self::SHOWN) {
            let Position { line, column } = problem.position;
            let headline =
                format!("syntax error at line {line}, column {column}: {}\n", problem.message);
            text.push_str(&headline);
            text.push_str(&lines.frame(problem.position));
        }
        if let more @ 1.. = problems.len().saturating_sub(Self::SHOWN) {
            let rest = format!("and {more} more");
            text.push_str(&rest);
        }
        text.truncate(text.trim_end().len());
        Self { problems, text }
    }

    /// What is wrong, in the order of the text.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for StripError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for StripError {}
