//! The commands, one file each.

mod check;
mod log;
mod run;
mod schema;
mod sdk;
mod serve;
mod tools;
mod trust;

use crate::args::Command;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::terminal::Terminal;

/// Runs a command and answers how the process ends.
pub(crate) fn run(
    command: Command,
    terminal: Terminal,
    environment: &Environment,
) -> Result<Exit, Failure> {
    match command {
        Command::Run(arguments) => run::run(&arguments, terminal, environment),
        Command::Tools(command) => tools::run(&command, terminal, environment),
        Command::Sdk(arguments) => sdk::run(&arguments, terminal, environment),
        Command::Serve(arguments) => serve::run(&arguments, terminal, environment),
        Command::Check(arguments) => check::run(&arguments, terminal, environment),
        Command::Trust(arguments) => trust::run(&arguments, terminal, environment),
        Command::Log(arguments) => log::run(&arguments, terminal, environment),
        Command::Schema(command) => schema::run(&command),
    }
}
