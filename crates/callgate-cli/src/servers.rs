//! The declared MCP servers, for commands at a terminal: started, waited for, and ended with the command.

use std::time::Duration;

use callgate::Layer;
use callgate_mcp::{ClientOptions, McpServers, ServerConfig, ServerState, ServerStatus};
use tokio::runtime::{Builder, Runtime};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// What servers need besides their own processes.
const THREADS: usize = 2;

/// Whoever waits longer is told for what.
const SHORT: Duration = Duration::from_secs(1);

/// No command waits longer for servers to start; each has a timeout of its own.
const LONGEST: Duration = Duration::from_mins(5);

/// Running servers, and the threads that serve them.
#[derive(Debug)]
pub(crate) struct Servers {
    servers: McpServers,
    runtime: Runtime,
}

impl Servers {
    /// Starts servers whose tools belong into a layer, and waits until each is ready or has failed. Those that failed are
    /// reported; their tools are missing.
    pub(crate) fn start(
        layer: &Layer,
        declared: Vec<ServerConfig>,
        environment: &Environment,
        terminal: Terminal,
    ) -> Result<Self, Failure> {
        let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
        let runtime = runtime.map_err(|error| defect(&error))?;
        let servers = {
            let _inside = runtime.enter();
            McpServers::connect(layer, declared, options(environment))
        };
        runtime.block_on(wait(&servers, terminal));
        for status in servers.status() {
            if let Some(problem) = problem(&status) {
                terminal.warning(&format!("server `{}` cannot be used: {problem}", status.name));
            }
        }
        Ok(Self { servers, runtime })
    }

    /// Whether tools may be missing.
    pub(crate) fn is_incomplete(&self) -> bool {
        !self.servers.status().iter().all(ServerStatus::is_fine)
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.runtime.block_on(self.servers.shutdown());
    }
}

/// How servers are run, whatever the command.
pub(crate) fn options(environment: &Environment) -> ClientOptions {
    let mut options = ClientOptions::default();
    options.environment.clone_from(&environment.variables);
    options
}

/// Waits until each server is ready or has failed once.
pub(crate) async fn wait(servers: &McpServers, terminal: Terminal) {
    servers.settled(SHORT).await;
    let status = servers.status().into_iter();
    let late: Vec<String> = status
        .filter(|status| status.state == ServerState::Starting)
        .map(|status| format!("`{}`", status.name))
        .collect();
    if !late.is_empty() {
        terminal.note(&format!("waiting for {}", late.join(", ")));
        servers.settled(LONGEST).await;
    }
}

/// What is wrong with a server, and what can be done about it.
pub(crate) fn problem(status: &ServerStatus) -> Option<String> {
    let reason = match &status.state {
        ServerState::Ready => return None,
        ServerState::Starting => "it has not answered yet",
        ServerState::Stopped => "it was ended",
        ServerState::Incomplete { reason }
        | ServerState::Down { reason, .. }
        | ServerState::Unusable { reason } => reason,
        _ => "it is in a state that this version does not know",
    };
    let remedy = status.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
    Some(format!("{reason}{remedy}"))
}

#[cold]
fn defect(error: &dyn std::error::Error) -> Failure {
    Failure::failed("defect", format!("the servers cannot be started: {error}"))
}
