//! `callgate serve`: one MCP server in front of those that the configuration declares.

use std::io;
use std::sync::Arc;

use callgate::{Cause, Mode, Signal};
use callgate_mcp::{Gateway, GatewayOptions, McpServers};
use tokio::runtime::{Builder, Handle};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::ServeArguments;
use crate::config::Config;
use crate::engine::EngineSettings;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::host::{self, Built};
use crate::reload::Reload;
use crate::terminal::Terminal;
use crate::{logging, servers, session_log};

/// The codes of the causes that end a session.
const INTERRUPTED: &str = Cause::INTERRUPT;
const TERMINATED: &str = "terminate";

pub(super) fn run(
    arguments: &ServeArguments,
    terminal: Terminal,
    environment: &Environment,
) -> Result<Exit, Failure> {
    logging::start(arguments.log_level, terminal);
    let reload = Reload::new(arguments.config.as_deref(), environment, terminal);
    let config = host::read_config(arguments.config.as_deref(), environment, terminal)?;
    let mode = arguments.mode.map(Mode::from).or(config.mode).unwrap_or_default();
    let Built { runtime, isolation, policy, .. } =
        host::build(&config, mode, settings(arguments, &config, mode), terminal)?;
    if mode != Mode::Native {
        terminal.note(&format!("isolation of programs: {isolation}"));
    }
    if let Some(root) = &arguments.root {
        host::install_files(&runtime, root)?;
    }
    if config.servers.is_empty() && arguments.root.is_none() {
        terminal.warning("there are no tools to serve: `mcpServers` in the configuration declares no server, and `--root` names no directory");
    }
    let threads =
        Builder::new_multi_thread().enable_all().build().map_err(|error| defect(&error))?;
    let ended = threads.block_on(async {
        let servers =
            McpServers::connect(&runtime, config.servers.clone(), servers::options(environment));
        let options = options(&config, environment, terminal);
        let gateway = Arc::new(Gateway::new(runtime.clone(), servers, options));
        let stop = Signal::new();
        obey_signals(&Handle::current(), &stop)?;
        Handle::current().spawn(reload.keep(policy, gateway.clone()));
        gateway.serve_stdio(&stop).await?;
        Ok(stop.cause().map(|cause| cause.code().to_owned()))
    });
    // A client that went keeps nobody waiting, and neither does a read of its input.
    threads.shutdown_background();
    match ended.map_err(|error: io::Error| failed(&error))?.as_deref() {
        Some(INTERRUPTED) => Ok(Exit::Interrupted),
        _ => Ok(Exit::Success),
    }
}

/// Where only functions are seen no program can be run.
fn settings(arguments: &ServeArguments, config: &Config, mode: Mode) -> EngineSettings {
    let settings = config.engine();
    match mode {
        Mode::Native => settings.idle(),
        Mode::Code | Mode::Both => EngineSettings {
            language: Some(arguments.lang.into()),
            unconfined: arguments.unconfined,
            ..settings
        },
    }
}

fn options(config: &Config, environment: &Environment, terminal: Terminal) -> GatewayOptions {
    let mut options = GatewayOptions::default();
    if let Some(detail) = config.sdk.detail {
        options.sdk = detail;
    }
    if let Some(bytes) = config.sdk.inline_bytes {
        options.sdk_inline_bytes = bytes;
    }
    if let Some(settle) = config.timeouts.settle {
        options.settle_within = settle;
    }
    let environment = environment.clone();
    options.log = Some(Arc::new(move || {
        session_log::open("serve", None, &environment, terminal).map_err(io::Error::other)
    }));
    options
}

/// The first signal ends the session in order, the second the process at once.
fn obey_signals(threads: &Handle, stop: &Signal) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = stop.clone();
    threads.spawn(async move {
        loop {
            let (code, text, exit) = tokio::select! {
                _ = interrupt.recv() => (INTERRUPTED, "interrupted by Ctrl-C", Exit::Interrupted),
                _ = terminate.recv() => (TERMINATED, "the process was asked to end (SIGTERM)", Exit::Terminated),
            };
            if stop.is_cancelled() {
                std::process::exit(exit.code().into());
            }
            stop.cancel(Cause::new(code, text));
        }
    });
    Ok(())
}

#[cold]
fn failed(error: &io::Error) -> Failure {
    Failure::failed("serve", format!("the client cannot be served: {error}"))
}

#[cold]
fn defect(error: &dyn std::error::Error) -> Failure {
    Failure::failed("defect", format!("the gateway cannot be set up: {error}"))
}
