//! `callgate trust`: vouches for the configuration of the working directory as it is now.

use std::fs::File;
use std::path::Path;

use callgate_mcp::{ServerConfig, Transport};

use crate::args::TrustArguments;
use crate::config::{self, Config, FILE_NAME, Loaded, Location};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::input::read_text;
use crate::terminal::{Out, Terminal, visible};
use crate::trust::{Trust, Trusted};

pub(super) fn run(
    arguments: &TrustArguments,
    terminal: Terminal,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let trusted = Trusted::of(environment).ok_or_else(|| {
        Failure::usage("neither `$XDG_STATE_HOME` nor `$HOME` says where to record what is trusted; set one of them")
    })?;
    let mut out = Out::new();
    let path = Path::new(FILE_NAME);
    if !path.is_file() {
        return Err(Failure::usage(format!(
            "there is no `{FILE_NAME}` in this directory; name another file with `--config`, which needs no trust"
        )));
    }
    if arguments.revoke {
        let was_known = trusted.forget(path).map_err(failed)?;
        out.line(if was_known { "it is not trusted any more" } else { "it was not trusted" })?;
        out.finish()?;
        return Ok(Exit::Success);
    }
    let text = File::open(path).map_err(|error| error.to_string()).and_then(read_text);
    let text = text.map_err(|reason| failed(format!("`{FILE_NAME}` cannot be read: {reason}")))?;
    // What cannot be used is not worth anybody's trust.
    let location = Location::in_directory(path, text.clone());
    let Loaded { config, warnings } = config::load(&location, environment)?;
    for warning in warnings {
        terminal.warning(&warning);
    }
    let before = trusted.record(path, &text).map_err(failed)?;
    out.line(match before {
        Trust::Given => "it was trusted as it is already",
        Trust::Outdated | Trust::Missing => {
            "from now on commands in this directory use it, until it changes"
        }
    })?;
    for line in effects(&config) {
        out.line(&visible(&line))?;
    }
    out.finish()?;
    Ok(Exit::Success)
}

/// What somebody vouches for. Arguments of servers may hold secrets by now.
fn effects(config: &Config) -> Vec<String> {
    let servers =
        config.servers.iter().map(|ServerConfig { name, transport, .. }| match transport {
            Transport::Stdio(process) => {
                format!("it starts `{}` as server `{name}`", process.command.display())
            }
            _ => format!("it declares the server `{name}`, which cannot be used as it is"),
        });
    let rules = config.policy.deny.iter().map(|rule| format!("it denies by {}", rule.name));
    servers.chain(rules).collect()
}

#[cold]
fn failed(reason: String) -> Failure {
    Failure::failed("trust", reason)
}
