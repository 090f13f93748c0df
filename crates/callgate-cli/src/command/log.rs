//! `callgate log`: the calls of a session, and what rules said about them.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use callgate::session::{EventBody, LogReader, ReadError, SessionHeader};

use crate::args::LogArguments;
use crate::calls::Calls;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::look::{Look, Paint};
use crate::render::{self, Align, Explained, Table};
use crate::terminal::{Out, Terminal, visible};
use crate::{session_log, time};

pub(super) fn run(
    arguments: &LogArguments,
    terminal: Terminal,
    environment: &Environment,
) -> Result<Exit, Failure> {
    if arguments.list {
        return list(arguments.json, terminal, environment);
    }
    let path = session_log::find(arguments.file.as_deref(), environment)?;
    let damaged = |error: ReadError| {
        Failure::failed(
            "log",
            format!("the session log `{}` cannot be read: {error}", path.display()),
        )
    };
    let mut reader = LogReader::open(&path).map_err(damaged)?;
    let end = if arguments.json {
        print_events(&mut reader)?
    } else {
        print_calls(&mut reader, terminal.look)?
    };
    if let Some(tail) = reader.torn_tail() {
        let message = format!(
            "`{}` ends with {} bytes of an event that was not written whole",
            path.display(),
            tail.len()
        );
        terminal.warning(&message);
    }
    end.map_err(damaged).map(|()| Exit::Success)
}

type Reader = LogReader<BufReader<File>>;

/// Prints the events as they are. What is damaged ends the output, not before what is before it was printed.
fn print_events(reader: &mut Reader) -> Result<Result<(), ReadError>, Failure> {
    let mut out = Out::new();
    out.line(&reader.header().to_string())?;
    for event in reader {
        match event {
            Ok(event) => out.line(&event.to_string())?,
            Err(error) => {
                out.finish()?;
                return Ok(Err(error));
            }
        }
    }
    out.finish()?;
    Ok(Ok(()))
}

/// Prints the session as a person wants it: what it was, its calls, and whatever else somebody has to know.
fn print_calls(reader: &mut Reader, look: Look) -> Result<Result<(), ReadError>, Failure> {
    let header = reader.header().clone();
    let mut calls = Calls::default();
    let mut notices = Vec::new();
    let mut end = Ok(());
    for event in reader {
        match event {
            Ok(event) => {
                calls.feed(&event);
                if let EventBody::GatewayNotice(notice) = &event.body {
                    notices.push(format!("{}: {}", notice.topic, notice.message));
                }
            }
            Err(error) => {
                end = Err(error);
                break;
            }
        }
    }
    let mut out = Out::new();
    out.text(&heading(&header, look))?;
    out.text(&render::tree(&calls, look, Explained::All))?;
    for notice in notices {
        out.line(&visible(&notice))?;
    }
    out.finish()?;
    Ok(end)
}

fn heading(header: &SessionHeader, look: Look) -> String {
    let title = look.paint(Paint::Heading, &format!("session {}", header.id));
    let origin = header.origin.as_ref().map(|origin| format!("{origin}, ")).unwrap_or_default();
    let cwd = header.cwd.as_ref().map(|cwd| format!(", in {cwd}")).unwrap_or_default();
    let line = visible(&format!("{origin}started {}{cwd}", time::readable(header.created_at)));
    format!("{title}\n{line}\n\n")
}

/// Lists the sessions of the state directory.
fn list(is_json: bool, terminal: Terminal, environment: &Environment) -> Result<Exit, Failure> {
    let logs = match environment.state_dir() {
        Some(directory) => session_log::list(&directory)?,
        None => Vec::new(),
    };
    let columns = ["session", "started", "by", "in"].map(|name| (name.to_owned(), Align::Left));
    let mut table = Table::new(columns);
    let mut out = Out::new();
    for path in logs {
        match read_header(&path) {
            Ok(header) if is_json => out.line(&header.to_string())?,
            Ok(header) => table.row([
                header.id.to_string(),
                time::readable(header.created_at),
                header.origin.as_deref().unwrap_or_default().to_owned(),
                header.cwd.as_deref().unwrap_or_default().to_owned(),
            ]),
            Err(error) => {
                terminal.warning(&format!("`{}` is no session log: {error}", path.display()));
            }
        }
    }
    if !is_json {
        out.text(&table.render(terminal.look))?;
    }
    out.finish()?;
    Ok(Exit::Success)
}

fn read_header(path: &Path) -> Result<SessionHeader, ReadError> {
    LogReader::open(path).map(|reader| reader.header().clone())
}
