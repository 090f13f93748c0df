//! The tools of public MCP servers, as they list them: fixtures that the schema crate's tests read.
//!
//! Needs the network and starts software of others, so it is no step of any check: what it writes is committed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use serde_json::{Value, json};

use crate::context::Context;
use crate::step::Trouble;
use crate::tools;

/// Where the fixtures are, relative to the workspace's root.
const FOLDER: &str = "crates/callgate-schema/tests/servers";

/// One server: where it comes from, and how it is started.
struct Server {
    name: &'static str,
    registry: Registry,
    package: &'static str,
    version: &'static str,
    license: &'static str,
    arguments: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum Registry {
    /// A package of npm, and its program.
    Npm(&'static str),
    /// A package of `PyPI`, and its module.
    Pypi(&'static str),
}

/// Their packages say `SEE LICENSE IN LICENSE`, and their readmes that it is the MIT licence.
const MIT_BY_README: &str = "MIT, by its readme";

const fn npm(name: &'static str, program: &'static str, package: &'static str) -> Server {
    let registry = Registry::Npm(program);
    Server { name, registry, package, version: "2026.8.31", license: MIT_BY_README, arguments: &[] }
}

const fn pypi(
    name: &'static str,
    module: &'static str,
    package: &'static str,
    version: &'static str,
) -> Server {
    Server {
        name,
        registry: Registry::Pypi(module),
        package,
        version,
        license: "MIT",
        arguments: &[],
    }
}

const SERVERS: &[Server] = &[
    npm("everything", "mcp-server-everything", "@modelcontextprotocol/server-everything"),
    Server {
        // A folder that it may read; the list does not depend on it.
        arguments: &["."],
        ..npm("filesystem", "mcp-server-filesystem", "@modelcontextprotocol/server-filesystem")
    },
    npm("memory", "mcp-server-memory", "@modelcontextprotocol/server-memory"),
    npm(
        "sequential-thinking",
        "mcp-server-sequential-thinking",
        "@modelcontextprotocol/server-sequential-thinking",
    ),
    pypi("git", "mcp_server_git", "mcp-server-git", "2026.10.19"),
    Server {
        // It names the time zone of the machine in its descriptions otherwise.
        arguments: &["--local-timezone", "UTC"],
        ..pypi("time", "mcp_server_time", "mcp-server-time", "2026.10.19")
    },
    pypi("fetch", "mcp_server_fetch", "mcp-server-fetch", "2026.10.24"),
];

/// Writes all fixtures.
pub(crate) fn run(cx: &Context) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for server in SERVERS {
        match capture(cx, server) {
            Ok(tools) => println!("{}: {tools} tools", server.name),
            Err(error) => {
                eprintln!("{}: {error}", server.name);
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

fn capture(cx: &Context, server: &Server) -> Result<usize, String> {
    let mut command = command(cx, server).map_err(|trouble| format!("{trouble:?}"))?;
    command.args(server.arguments);
    let mut session = Session::start(command)?;
    let tools = session.tools()?;
    let registry = match server.registry {
        Registry::Npm(_) => "npm",
        Registry::Pypi(_) => "PyPI",
    };
    let fixture = json!({
        "source": {
            "registry": registry,
            "package": server.package,
            "version": server.version,
            "license": server.license,
        },
        "tools": tools,
    });
    let text = serde_json::to_string_pretty(&fixture).map_err(|error| error.to_string())? + "\n";
    let path = Path::new(FOLDER).join(format!("{}.json", server.name));
    std::fs::write(cx.root.join(&path), text)
        .map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
    Ok(tools.len())
}

fn command(cx: &Context, server: &Server) -> Result<Command, Trouble> {
    match server.registry {
        Registry::Npm(program) => tools::npm(cx, server.package, server.version, program),
        Registry::Pypi(module) => tools::pip_module(cx, server.package, server.version, module),
    }
}

/// A server that runs, and what is said to it.
struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Session {
    fn start(mut command: Command) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("has no pipes".to_owned());
        };
        let mut session = Self { child, input, output: BufReader::new(output), asked: 0 };
        let client = json!({ "name": "callgate-capture", "version": "1" });
        let hello =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        session.ask("initialize", &hello)?;
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(session)
    }

    /// All pages of its list.
    fn tools(&mut self) -> Result<Vec<Value>, String> {
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.ask("tools/list", &params)?;
            tools.extend(page["tools"].as_array().cloned().unwrap_or_default());
            match page.get("nextCursor") {
                Some(Value::String(cursor)) => params = json!({ "cursor": cursor }),
                _ => return Ok(tools),
            }
        }
    }

    /// The result of a request; whatever else the server says meanwhile is passed over.
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.output.read_line(&mut line).map_err(|error| error.to_string())?;
            if read == 0 {
                return Err(format!("it ended before it answered `{method}`"));
            }
            let Ok(mut message) = serde_json::from_str::<Value>(&line) else { continue };
            if message["id"] != json!(id) {
                continue;
            }
            if let Some(error) = message.get("error") {
                return Err(format!("`{method}` failed: {error}"));
            }
            return Ok(message["result"].take());
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let sent = writeln!(self.input, "{message}").and_then(|()| self.input.flush());
        sent.map_err(|error| format!("it does not listen: {error}"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // One that is gone already needs no end.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}
