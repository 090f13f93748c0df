//! `callgate sdk`: what a model is told about writing programs.

use crate::args::SdkArguments;
use crate::engine::EngineSettings;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::host::Host;
use crate::terminal::{Out, Terminal};

pub(super) fn run(
    arguments: &SdkArguments,
    terminal: Terminal,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let host = Host::open(&arguments.setup, EngineSettings::idle, environment, terminal)?;
    let mut out = Out::new();
    out.line(&host.runtime.sdk(arguments.lang.into()))?;
    out.finish()?;
    Ok(Exit::Success)
}
