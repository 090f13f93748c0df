//! `callgate sdk`: what a model is told about writing programs.

use callgate::Language;

use crate::args::{SdkArguments, SdkLanguage};
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
    let language = match arguments.lang {
        SdkLanguage::Typescript => Language::TypeScript,
    };
    let mut out = Out::new();
    out.line(&host.runtime.sdk(language))?;
    out.finish()?;
    Ok(Exit::Success)
}
