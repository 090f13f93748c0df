//! `callgate run`: a program and its calls.

mod findings;

use callgate::program::{Position, ProgramEnd};
use callgate::{Array, CallInput, Json, Object, RUN_CODE, Str, ToolError, codes, json};

use crate::args::RunArguments;
use crate::calls::{CallNode, CallState, Calls};
use crate::engine::EngineSettings;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::host::Host;
use crate::recorded::{self, Recorded};
use crate::render::{self, Explained};
use crate::session_log;
use crate::source::Source;
use crate::terminal::{Out, Terminal, visible};

/// The id of the call that runs the program; its sub-calls are `run:code:1` and so on.
const CALL_ID: &str = "run";

pub(super) fn run(
    arguments: &RunArguments,
    terminal: Terminal,
    environment: &Environment,
) -> Result<Exit, Failure> {
    if arguments.check {
        return findings::run(arguments, terminal, environment);
    }
    match execute(arguments, terminal, environment) {
        Ok(report) if arguments.json => report.print_json(),
        Ok(report) => report.print(terminal),
        Err(failure) if arguments.json => {
            Report::of_failure(failure.kind(), failure.to_string(), failure.exit()).print_json()
        }
        Err(failure) => Err(failure),
    }
}

fn execute(
    arguments: &RunArguments,
    terminal: Terminal,
    environment: &Environment,
) -> Result<Report, Failure> {
    let source = Source::load(arguments)?;
    let choose = |settings: EngineSettings| EngineSettings {
        language: Some(arguments.language()),
        unconfined: arguments.unconfined,
        isolation: arguments.isolation.or(settings.isolation),
        memory: arguments.memory.or(settings.memory),
        max_calls: arguments.max_calls.or(settings.max_calls),
        ..settings.within(arguments.timeout).for_one_program()
    };
    let host = Host::open(&arguments.setup, choose, environment, terminal)?;
    let session = session_log::open("run", arguments.log.as_deref(), environment, terminal)?;
    terminal.note(&format!("isolation of the program: {}", host.isolation));
    let input = json!({ "code": source.code.clone(), "description": source.description.clone() });
    let input = CallInput::new(CALL_ID, RUN_CODE, input);
    let recorded = recorded::call(&host, &session, input, source.name.clone(), terminal)?;
    Ok(Report::new(recorded, &source))
}

/// What there is to say about a run.
#[derive(Debug)]
struct Report {
    /// What the program returned, or why it failed.
    outcome: Result<Option<Json>, Why>,
    logs: Vec<Str>,
    calls: Calls,
    exit: Exit,
}

/// Why a program failed: the word for programs, the message, and the place in the file.
#[derive(Debug)]
struct Why {
    kind: String,
    message: String,
    place: Option<String>,
    position: Option<Position>,
}

impl Report {
    fn new(recorded: Recorded, source: &Source) -> Self {
        let Recorded { result, calls, end, interrupted } = recorded;
        let ProgramEnd { logs, failure, .. } = end.unwrap_or_default();
        // A log that could not be written ended the program, which heard of it as an abort.
        let failure =
            failure.filter(|_| result.error().and_then(ToolError::code) != Some(codes::LOG_FAILED));
        let outcome = match (result.error(), failure) {
            (None, _) => Ok(result.value().and_then(|value| value.get("result")).cloned()),
            (Some(_), Some(failure)) => Err(Why {
                kind: failure.kind.name().to_owned(),
                place: failure
                    .position
                    .map(|at| format!("{}:{}:{}", source.name, at.line, at.column)),
                position: failure.position,
                message: failure.in_source(&source.code),
            }),
            (Some(error), None) => Err(Why {
                kind: recorded::kind_of(error),
                message: error.message().to_owned(),
                place: None,
                position: None,
            }),
        };
        let exit = if outcome.is_ok() { Exit::Success } else { Exit::Failed };
        Self { outcome, logs, calls, exit: interrupted.unwrap_or(exit) }
    }

    /// A run that did not even begin.
    fn of_failure(kind: &str, message: String, exit: Exit) -> Self {
        let why = Why { kind: kind.to_owned(), message, place: None, position: None };
        Self { outcome: Err(why), logs: Vec::new(), calls: Calls::default(), exit }
    }

    /// What was logged, the result, the calls; then, on standard error, why it failed.
    fn print(&self, terminal: Terminal) -> Result<Exit, Failure> {
        let mut out = Out::new();
        for entry in &self.logs {
            let entry = if terminal.look.is_terminal { visible(entry) } else { entry.to_string() };
            out.line(&entry)?;
        }
        let result = self.outcome.as_ref().ok().and_then(Option::as_ref);
        if let Some(value) = result {
            out.line(&render::result(value, terminal.look))?;
        }
        if result.is_some() || !self.logs.is_empty() {
            out.text("\n")?;
        }
        out.text(&render::tree(&self.calls, terminal.look, Explained::SubCalls))?;
        out.finish()?;
        if let Err(Why { kind, message, place, .. }) = &self.outcome {
            let place = place.as_ref().map(|place| format!("\n --> {place}")).unwrap_or_default();
            terminal.error(&format!("the program failed ({kind}): {message}{place}"));
        }
        Ok(self.exit)
    }

    fn print_json(&self) -> Result<Exit, Failure> {
        let (result, error) = match &self.outcome {
            Ok(value) => (value.clone().unwrap_or_default(), Json::Null),
            Err(why) => {
                let error = Object::builder()
                    .with("kind", why.kind.as_str())
                    .with("message", why.message.as_str())
                    .with_some("line", why.position.map(|at| at.line))
                    .with_some("column", why.position.map(|at| at.column));
                (Json::Null, error.build().into())
            }
        };
        let object = Object::builder()
            .with("ok", self.outcome.is_ok())
            .with("result", result)
            .with("logs", self.logs.iter().map(Json::from).collect::<Array>())
            .with("error", error)
            .with("calls", self.calls.of_programs().map(call_json).collect::<Array>())
            .build();
        let mut out = Out::new();
        out.line(&object.to_string())?;
        out.finish()?;
        Ok(self.exit)
    }
}

fn call_json(node: &CallNode) -> Json {
    let error = match &node.state {
        CallState::Failed(message) => Json::from(message),
        CallState::Running | CallState::Succeeded => Json::Null,
    };
    Object::builder()
        .with("id", &node.id)
        .with("tool", &node.tool)
        .with("arguments", &node.arguments)
        .with("ok", node.state == CallState::Succeeded)
        .with("error", error)
        .with("ms", node.took.map(crate::time::json_ms))
        .build()
        .into()
}
