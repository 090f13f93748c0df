//! `callgate run --check`: what is certainly wrong with a program, without running it.

use callgate::preflight::{Finding, FindingKind};
use callgate::program::Lines;
use callgate::{Array, Json, Language, Object, json};
use tokio::runtime::Builder;

use crate::args::RunArguments;
use crate::engine::EngineSettings;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::host::Host;
use crate::source::Source;
use crate::terminal::{Out, Terminal, visible};

pub(super) fn run(
    arguments: &RunArguments,
    terminal: Terminal,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let checked = Source::load(arguments).and_then(|source| {
        let findings = find(arguments, &source, terminal, environment)?;
        Ok((source, findings))
    });
    match checked {
        Ok((_, findings)) if arguments.json => print_json(&findings, None),
        Ok((source, findings)) => print(&source, &findings, terminal),
        Err(failure) if arguments.json => print_json(&[], Some(&failure)),
        Err(failure) => Err(failure),
    }
}

fn find(
    arguments: &RunArguments,
    source: &Source,
    terminal: Terminal,
    environment: &Environment,
) -> Result<Vec<Finding>, Failure> {
    let choose = |settings: EngineSettings| match arguments.language() {
        Language::TypeScript => settings.idle(),
        language @ Language::Python => EngineSettings {
            language: Some(language),
            unconfined: arguments.unconfined,
            ..settings.for_one_program()
        },
    };
    let host = Host::open(&arguments.setup, choose, environment, terminal)?;
    let defect = |error: &dyn std::error::Error| {
        Failure::failed("defect", format!("the program cannot be checked: {error}"))
    };
    let threads = Builder::new_current_thread().enable_all().build();
    let threads = threads.map_err(|error| defect(&error))?;
    let findings = threads.block_on(host.runtime.check_program(source.code.clone()));
    findings.map_err(|error| defect(&error))
}

/// Each finding with its place in the file and the lines around it.
fn print(source: &Source, findings: &[Finding], terminal: Terminal) -> Result<Exit, Failure> {
    let shown =
        |text: &str| if terminal.look.is_terminal { visible(text) } else { text.to_owned() };
    let lines = Lines::new(&source.code);
    let mut out = Out::new();
    for Finding { kind, position, message, .. } in findings {
        let place = format!("{}:{}:{}", source.name, position.line, position.column);
        // Problems of syntax say so themselves.
        let kind = if *kind == FindingKind::Syntax { String::new() } else { format!("{kind}: ") };
        out.line(&shown(&format!("{place}: {kind}{message}")))?;
        for line in lines.frame(*position).lines() {
            out.line(&shown(line))?;
        }
    }
    out.line(&match findings.len() {
        0 => format!("{}: nothing wrong was found", source.name),
        1 => format!("{}: 1 problem", source.name),
        count => format!("{}: {count} problems", source.name),
    })?;
    out.finish()?;
    Ok(exit(findings))
}

fn print_json(findings: &[Finding], failure: Option<&Failure>) -> Result<Exit, Failure> {
    let error = failure.map_or(
        Json::Null,
        |failure| json!({ "kind": failure.kind(), "message": failure.to_string() }),
    );
    let object = Object::builder()
        .with("ok", findings.is_empty() && failure.is_none())
        .with("findings", findings.iter().map(Finding::to_json).collect::<Array>())
        .with("error", error);
    let mut out = Out::new();
    out.line(&Json::from(object.build()).to_string())?;
    out.finish()?;
    Ok(failure.map_or_else(|| exit(findings), Failure::exit))
}

fn exit(findings: &[Finding]) -> Exit {
    if findings.is_empty() { Exit::Success } else { Exit::Failed }
}
