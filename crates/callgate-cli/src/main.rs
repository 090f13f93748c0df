//! The `callgate` command.

mod args;
mod calls;
mod command;
mod config;
mod engine;
mod environment;
mod failure;
mod host;
mod input;
mod interrupt;
mod logging;
mod look;
mod meter;
mod policy;
mod progress;
mod recorded;
mod reload;
mod render;
mod servers;
mod session_log;
mod source;
mod terminal;
mod time;
mod trust;

use std::process::ExitCode;

use clap::Parser as _;

use args::Arguments;
use environment::Environment;
use failure::{Exit, Failure};
use terminal::Terminal;

fn main() -> ExitCode {
    callgate::engine::worker::run_if_worker();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return explain(&error).into(),
    };
    let environment = Environment::read();
    let terminal = Terminal::new(arguments.color, arguments.quiet, &environment);
    let ended = command::run(arguments.command, terminal, &environment);
    ended.unwrap_or_else(|failure| report(&failure, terminal)).into()
}

/// Prints what clap has to say: help, the version, or what is wrong with the command line.
fn explain(error: &clap::Error) -> Exit {
    let wanted = if error.use_stderr() { Exit::Usage } else { Exit::Success };
    match error.print() {
        Ok(()) => wanted,
        Err(error) => Failure::from(error).exit(),
    }
}

fn report(failure: &Failure, terminal: Terminal) -> Exit {
    if let Some(message) = failure.message() {
        terminal.error(message);
    }
    failure.exit()
}
