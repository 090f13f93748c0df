//! `callgate schema`: schemas and values judged, and shown as types, one JSON object a line.

mod check;
mod lines;
mod request;
mod types;

use std::path::Path;

use callgate::{Json, json};

use crate::args::SchemaCommand;
use crate::failure::{Exit, Failure};
use crate::terminal::Out;
use lines::Lines;
use request::{Refusal, Request};

pub(super) fn run(command: &SchemaCommand) -> Result<Exit, Failure> {
    match command {
        SchemaCommand::Check { file, messages } => {
            answer_lines(file.as_deref(), |request| check::answer(request, *messages))
        }
        SchemaCommand::Types { lang, file } => {
            answer_lines(file.as_deref(), |request| types::answer(request, *lang))
        }
    }
}

/// Answers line by line, at once, so that a program can ask and wait.
fn answer_lines(
    file: Option<&Path>,
    answer: impl Fn(&Request) -> Result<Json, Refusal>,
) -> Result<Exit, Failure> {
    let mut lines = Lines::open(file)?;
    let mut out = Out::new();
    let mut exit = Exit::Success;
    while let Some(line) = lines.next_line()? {
        let answered = line.and_then(|text| Request::parse(&text)).and_then(|asked| answer(&asked));
        let answered = answered.unwrap_or_else(|refusal| {
            exit = Exit::Failed;
            json!({ "error": { "line": lines.number(), "kind": refusal.kind, "message": refusal.message } })
        });
        out.line(&answered.to_string())?;
        out.flush()?;
    }
    Ok(exit)
}
