//! A gateway on standard input and output in front of the servers that a file names, for tests.
//!
//! `gateway FILE`, with `{ "mode": "native", "servers": [{ "name", "command", "args", … }] }`.

#![expect(clippy::expect_used, reason = "a test tool stops where it cannot go on")]
#![expect(clippy::panic, clippy::print_stdout, reason = "standard output must survive both")]

use std::io;
use std::sync::Arc;
use std::time::Duration;

use callgate::testing::ScriptedEngine;
use callgate::{Cause, Json, Mode, Signal, ToolRuntime, json};
use callgate_mcp::{
    ClientOptions, Gateway, GatewayOptions, McpServers, ResultForm, ServerConfig, Stdio, Validation,
};
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> io::Result<()> {
    let path = std::env::args().nth(1).expect("usage: gateway FILE");
    let config = Json::parse(&std::fs::read_to_string(path)?).expect("the file is JSON");
    let mode = match config["mode"].as_str() {
        Some("code") => Mode::Code,
        Some("both") => Mode::Both,
        _ => Mode::Native,
    };
    let runtime =
        ToolRuntime::builder().mode(mode).engine(engine()).build().map_err(io::Error::other)?;
    if config["noisy"].as_bool() == Some(true) {
        runtime.guard(|_| {
            println!("printed to standard output");
            None
        });
        runtime.observe(|_, _| panic!("an observer panics"));
    }
    let servers = config["servers"].as_array().cloned().unwrap_or_default();
    let servers = servers.iter().map(server).collect();
    let mut options = ClientOptions::default();
    options.environment = std::env::vars_os().collect();
    if let Some(limit) = config["maxMessageBytes"].as_u64() {
        options.max_message_bytes = usize::try_from(limit).expect("a size");
    }
    let servers = McpServers::connect(&runtime, servers, options);
    let gateway = Arc::new(Gateway::new(runtime, servers, GatewayOptions::default()));
    let stop = Signal::new();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stopping = stop.clone();
    tokio::runtime::Handle::current().spawn(async move {
        tokio::select! {
            _ = terminate.recv() => stopping.cancel(Cause::new("signal", "SIGTERM")),
            _ = interrupt.recv() => stopping.cancel(Cause::new("signal", "SIGINT")),
        }
    });
    gateway.serve_stdio(&stop).await?;
    Ok(())
}

/// Programs are a JSON list of calls, `[["name", {…}], …]`; they return the list of outcomes.
fn engine() -> ScriptedEngine {
    ScriptedEngine::new().program("every tool once", async |tools| {
        let mut outcomes = Vec::new();
        for name in tools.members() {
            outcomes.push(match tools.call(name.clone(), json!({})).await {
                Ok(value) => json!({ "ok": value }),
                Err(error) => json!({ "error": error }),
            });
        }
        Ok(Some(Json::from(outcomes)))
    })
}

fn server(config: &Json) -> ServerConfig {
    let text = |name: &str| config[name].as_str().map(str::to_owned);
    let mut process = Stdio::new(text("command").expect("a command"));
    for arg in config["args"].as_array().map(|list| &**list).unwrap_or_default() {
        process = process.arg(arg.as_str().expect("a string"));
    }
    let mut server = ServerConfig::stdio(text("name").expect("a name"), process);
    let validation = |name: &str| match text(name).as_deref() {
        Some("enforce") => Some(Validation::Enforce),
        Some("warn") => Some(Validation::Warn),
        Some("off") => Some(Validation::Off),
        _ => None,
    };
    server.validate_arguments =
        validation("validateArguments").unwrap_or(server.validate_arguments);
    server.validate_results = validation("validateResults").unwrap_or(server.validate_results);
    if text("result").as_deref() == Some("envelope") {
        server.result = ResultForm::Envelope;
    }
    let seconds = |name: &str| config[name].as_f64().map(Duration::from_secs_f64);
    server.timeouts.start = seconds("start").unwrap_or(server.timeouts.start);
    server.timeouts.call = seconds("call").unwrap_or(server.timeouts.call);
    server.timeouts.idle = seconds("idle").unwrap_or(server.timeouts.idle);
    server
}
