//! `callgate check`: starts every declared server and says what is wrong with it.

use callgate::{Array, Json, Object, ToolRuntime};
use callgate_mcp::{McpServers, ServerState, ServerStatus};
use tokio::runtime::Builder;

use crate::args::CheckArguments;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::look::{Look, Paint};
use crate::render::{Align, Table};
use crate::terminal::{Out, Terminal, visible};
use crate::{host, servers};

pub(super) fn run(
    arguments: &CheckArguments,
    terminal: Terminal,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let config = host::read_config(arguments.config.as_deref(), environment, terminal)?;
    if config.servers.is_empty() {
        terminal.note("`mcpServers` in the configuration declares no server");
    }
    let threads =
        Builder::new_multi_thread().enable_all().build().map_err(|error| defect(&error))?;
    let found = threads.block_on(async {
        let runtime = ToolRuntime::builder().build().map_err(|error| defect(&error))?;
        let connected =
            McpServers::connect(&runtime, config.servers.clone(), servers::options(environment));
        servers::wait(&connected, terminal).await;
        let found = connected.status();
        connected.shutdown().await;
        Ok::<_, Failure>(found)
    })?;
    let mut out = Out::new();
    if arguments.json {
        let list: Array = found.iter().map(status_json).collect();
        out.line(&Json::from(list).to_string())?;
    } else if !found.is_empty() {
        out.text(&table(&found).render(terminal.look))?;
        for status in &found {
            for line in remarks(status, terminal.look) {
                out.line(&visible(&line))?;
            }
        }
    }
    out.finish()?;
    Ok(if found.iter().all(ServerStatus::is_fine) { Exit::Success } else { Exit::Failed })
}

fn table(found: &[ServerStatus]) -> Table {
    let columns = [
        ("server", Align::Left),
        ("state", Align::Left),
        ("tools", Align::Right),
        ("what it is", Align::Left),
    ];
    let mut table = Table::new(columns.map(|(name, align)| (name.to_owned(), align)));
    for status in found {
        let protocol = status.protocol.as_ref().map(|version| format!("protocol {version}"));
        let product = status.product.as_ref().map(ToString::to_string);
        let what: Vec<String> = product.into_iter().chain(protocol).collect();
        table.row([
            status.name.to_string(),
            state(&status.state).to_owned(),
            status.tools.to_string(),
            what.join(", "),
        ]);
    }
    table
}

/// One word for scripts and tables.
fn state(state: &ServerState) -> &'static str {
    match state {
        ServerState::Ready => "ready",
        ServerState::Starting => "silent",
        ServerState::Incomplete { .. } => "incomplete",
        ServerState::Down { .. } => "down",
        ServerState::Unusable { .. } => "unusable",
        ServerState::Stopped => "stopped",
        _ => "unknown",
    }
}

/// What is wrong with a server, and what its owner should know.
fn remarks(status: &ServerStatus, look: Look) -> Vec<String> {
    let name = &status.name;
    let problem = servers::problem(status)
        .map(|problem| look.paint(Paint::Bad, &format!("{name}: {problem}")));
    let noise = (status.noise > 0).then(|| {
        format!("{name}: {} lines of its output were no messages; they were skipped", status.noise)
    });
    let warnings = status.warnings.iter().map(|warning| format!("{name}: {warning}"));
    let renamed =
        status.renamed.iter().map(|(raw, public)| format!("{name}: `{raw}` is called `{public}`"));
    problem.into_iter().chain(noise).chain(warnings).chain(renamed).collect()
}

fn status_json(status: &ServerStatus) -> Json {
    let (reason, retry) = match &status.state {
        ServerState::Incomplete { reason } | ServerState::Unusable { reason } => {
            (Some(reason), None)
        }
        ServerState::Down { reason, retry_in } => (Some(reason), Some(retry_in.as_secs_f64())),
        _ => (None, None),
    };
    let renamed = status.renamed.iter().map(|(raw, public)| (raw.clone(), Json::from(public)));
    let texts = |texts: &[String]| texts.iter().map(Json::from).collect::<Array>();
    Object::builder()
        .with("name", &status.name)
        .with("ok", status.is_fine())
        .with("state", state(&status.state))
        .with("reason", reason)
        .with("remedy", status.remedy.as_ref())
        .with("tools", status.tools)
        .with("product", status.product.as_ref())
        .with("protocol", status.protocol.as_ref())
        .with("noise", status.noise)
        .with("warnings", texts(&status.warnings))
        .with("renamed", renamed.collect::<Object>())
        .with("lastWords", texts(&status.last_words))
        .with("retryIn", retry.and_then(|seconds| Json::try_from(seconds).ok()))
        .build()
        .into()
}

#[cold]
fn defect(error: &dyn std::error::Error) -> Failure {
    Failure::failed("defect", format!("the servers cannot be started: {error}"))
}
