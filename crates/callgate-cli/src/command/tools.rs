//! `callgate tools`: what programs can call, and calling it.

use std::io;
use std::time::Duration;

use callgate::schema::{SdkTool, nearest_name, typescript};
use callgate::session::Content;
use callgate::{Array, CallInput, CallResult, Json, Object, RUN_CODE, ToolDefinition};

use crate::args::{CallArguments, SetupArguments, ToolsCommand};
use crate::engine::EngineSettings;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::host::Host;
use crate::input::read_text;
use crate::look::{Look, Paint};
use crate::recorded::{self, Recorded};
use crate::render::{Align, Table};
use crate::terminal::{Out, Terminal, visible};
use crate::{session_log, time};

/// The id of the call.
const CALL_ID: &str = "call";

pub(super) fn run(
    command: &ToolsCommand,
    terminal: Terminal,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let open =
        |setup: &SetupArguments| Host::open(setup, EngineSettings::idle, environment, terminal);
    match command {
        ToolsCommand::List { json, setup } => list(&open(setup)?, *json, terminal.look),
        ToolsCommand::Describe { name, json, setup } => {
            describe(&open(setup)?, name, *json, terminal.look)
        }
        ToolsCommand::Call(arguments) => match call(arguments, terminal, environment) {
            Err(failure) if arguments.json => print_failure(&failure),
            ended => ended,
        },
    }
}

/// The tools that programs can call, in the order they were registered.
fn tools(host: &Host) -> Vec<ToolDefinition> {
    let schemas = host.runtime.schemas();
    let names = schemas.iter().map(|schema| &*schema.name).filter(|name| *name != RUN_CODE);
    names.filter_map(|name| host.runtime.get(name)).collect()
}

fn list(host: &Host, is_json: bool, look: Look) -> Result<Exit, Failure> {
    let tools = tools(host);
    let mut out = Out::new();
    if is_json {
        let list: Array = tools.iter().map(|tool| tool_json(host, tool)).collect();
        out.line(&Json::from(list).to_string())?;
    } else {
        out.text(&table(host, &tools).render(look))?;
    }
    out.finish()?;
    Ok(Exit::Success)
}

/// A line for each tool. There is a column for rules only if one denies something.
fn table(host: &Host, tools: &[ToolDefinition]) -> Table {
    let rule =
        |tool: &ToolDefinition| host.denied_by(tool.name()).map(|rule| rule.name.to_string());
    let has_rules = tools.iter().any(|tool| rule(tool).is_some());
    let columns = ["tool", "denied by", "what it does"].map(|name| (name.to_owned(), Align::Left));
    let mut table =
        Table::new(columns.into_iter().filter(|(name, _)| has_rules || name != "denied by"));
    for tool in tools {
        let rule = has_rules.then(|| rule(tool).unwrap_or_default());
        let description = first_sentence(tool.description());
        table.row([Some(tool.name().to_owned()), rule, Some(description)].into_iter().flatten());
    }
    table
}

/// The first sentence of a text, which is most of what a list has room for.
fn first_sentence(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.split_once(". ") {
        Some((sentence, _)) => format!("{sentence}."),
        None => line.to_owned(),
    }
}

fn describe(host: &Host, name: &str, is_json: bool, look: Look) -> Result<Exit, Failure> {
    let tools = tools(host);
    let Some(tool) = tools.iter().find(|tool| tool.name() == name) else {
        let names = tools.iter().map(ToolDefinition::name);
        return Err(Failure::usage(match nearest_name(name, names) {
            Some(near) => format!("no tool `{name}`; did you mean `{near}`?"),
            None => format!("no tool `{name}`; `callgate tools list` lists them"),
        }));
    };
    let mut out = Out::new();
    if is_json {
        out.line(&tool_json(host, tool).to_string())?;
    } else {
        out.line(&description(host, tool, look))?;
    }
    out.finish()?;
    Ok(Exit::Success)
}

fn description(host: &Host, tool: &ToolDefinition, look: Look) -> String {
    let mut parts =
        vec![look.paint(Paint::Heading, tool.name()), tool.description().trim_end().to_owned()];
    if let Some(rule) = host.denied_by(tool.name()) {
        let denied = format!("denied by {} in {}", rule.name, rule.place);
        parts.push(look.paint(Paint::Bad, &denied));
    }
    // The description stands above already.
    let sdk = SdkTool::new(tool.name(), "", tool.parameters(), tool.output_schema());
    parts.push(typescript::declaration_of(&sdk));
    parts.join("\n\n")
}

fn tool_json(host: &Host, tool: &ToolDefinition) -> Json {
    let rule = host.denied_by(tool.name()).map(|rule| &rule.name);
    Object::builder()
        .with("name", tool.name())
        .with("description", tool.description())
        .with("parameters", tool.parameters())
        .with("output", tool.output_schema())
        .with("deniedBy", rule)
        .build()
        .into()
}

fn call(
    arguments: &CallArguments,
    terminal: Terminal,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let CallArguments { name, json: is_json, .. } = arguments;
    let given = read_arguments(&arguments.arguments)?;
    let engine =
        if name == RUN_CODE { EngineSettings::for_one_program } else { EngineSettings::idle };
    let host = Host::open(&arguments.setup, engine, environment, terminal)?;
    let session = session_log::open("tools call", arguments.log.as_deref(), environment, terminal)?;
    let input = CallInput::new(CALL_ID, name.as_str(), given);
    let recorded = recorded::call(&host, &session, input, name.as_str(), terminal)?;
    let Recorded { result, calls, interrupted, .. } = recorded;
    let took = calls.roots().first().and_then(|root| calls.node(*root).took);
    if *is_json {
        print_json(&result, took)?;
    } else {
        print(&result, terminal)?;
    }
    let exit = if result.is_error() { Exit::Failed } else { Exit::Success };
    Ok(interrupted.unwrap_or(exit))
}

fn read_arguments(text: &str) -> Result<Json, Failure> {
    let read;
    let text = if text == "-" {
        read = read_text(io::stdin().lock())
            .map_err(|reason| Failure::usage(format!("standard input cannot be read: {reason}")))?;
        &read
    } else {
        text
    };
    let example = "give a JSON object such as '{\"path\": \"README.md\"}'";
    let given = Json::parse(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Failure::usage(format!(
            "the arguments are no JSON at line {line}, column {column}: {}; {example}",
            error.message()
        ))
    })?;
    match given {
        Json::Object(_) => Ok(given),
        other => Err(Failure::usage(format!("the arguments are {other}; {example}"))),
    }
}

/// What the model would read; a failure goes to standard error.
fn print(result: &CallResult, terminal: Terminal) -> Result<(), Failure> {
    if let Some(error) = result.error() {
        terminal.error(error.message());
        return Ok(());
    }
    let mut out = Out::new();
    for block in result.content().iter() {
        match block.as_text() {
            Some(text) if terminal.look.is_terminal => out.line(&visible(text))?,
            Some(text) => out.line(text)?,
            None => out.line(&format!("({}, shown by `--json`)", block.kind()))?,
        }
    }
    out.finish()
}

fn print_json(result: &CallResult, took: Option<Duration>) -> Result<(), Failure> {
    let error = result.error().map(|error| (recorded::kind_of(error), error.message().to_owned()));
    let content = result.content().iter().map(Content::to_json).collect();
    let value = result.value().cloned().unwrap_or_default();
    let object = call_json(value, content, error, took);
    let mut out = Out::new();
    out.line(&object.to_string())?;
    out.finish()
}

/// A call that was not even made.
fn print_failure(failure: &Failure) -> Result<Exit, Failure> {
    let error = Some((failure.kind().to_owned(), failure.to_string()));
    let mut out = Out::new();
    out.line(&call_json(Json::Null, Array::default(), error, None).to_string())?;
    out.finish()?;
    Ok(failure.exit())
}

fn call_json(
    value: Json,
    content: Array,
    error: Option<(String, String)>,
    took: Option<Duration>,
) -> Object {
    let error_json = |(kind, message): (String, String)| {
        Json::from(Object::builder().with("kind", kind).with("message", message).build())
    };
    Object::builder()
        .with("ok", error.is_none())
        .with("result", value)
        .with("content", content)
        .with("error", error.map(error_json))
        .with("ms", took.map(time::json_ms))
        .build()
}
