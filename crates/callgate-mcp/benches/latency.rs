//! What a gateway adds to a call over standard input and output: the same calls of the same server, made directly and
//! through it, in turns, so that whatever else the machine does meets all of them.
//!
//! `cargo bench -p callgate-mcp`. The program is all three: the client, the server and the gateway.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]
#![expect(clippy::expect_used, reason = "a bench stops where it cannot go on")]

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use callgate::session::{SessionHeader, SessionOptions};
use callgate::{Json, Mode, Signal, ToolRuntime, json};
use callgate_mcp::{ClientOptions, Gateway, GatewayOptions, McpServers, ServerConfig};

/// Calls of each kind in one turn, and turns.
const CALLS: usize = 100;
const TURNS: usize = 20;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server"] => serve(),
        ["gateway"] => stand_before(None),
        ["gateway", log] => stand_before(Some(log)),
        _ => measure(),
    }
}

fn measure() {
    let logs = tempfile::tempdir().expect("a temporary directory");
    let log = logs.path().join("session.jsonl");
    let log = log.to_str().expect("a path that is text");
    let mut direct = Client::start("directly", &["server"], "echo");
    let mut plain = Client::start("through the gateway", &["gateway"], "s__echo");
    let mut logged = Client::start("through the gateway, logged", &["gateway", log], "s__echo");
    for size in [10, 10_000] {
        let text = "x".repeat(size);
        for client in [&mut direct, &mut plain, &mut logged] {
            client.times.clear();
            client.turn(&text);
            client.times.clear();
        }
        for _ in 0..TURNS {
            for client in [&mut direct, &mut plain, &mut logged] {
                client.turn(&text);
            }
        }
        println!(
            "arguments of {size} bytes, {} calls of each kind, one after another",
            CALLS * TURNS
        );
        let base = direct.at(0.5);
        for client in [&mut direct, &mut plain, &mut logged] {
            let (median, late) = (client.at(0.5), client.at(0.95));
            let added = median.saturating_sub(base);
            let ratio = median.as_secs_f64() / base.as_secs_f64();
            println!(
                "  {:<28} median {:>7.1} µs   95 % {:>7.1} µs   added {:>7.1} µs   {ratio:.2} times",
                client.name,
                micros(median),
                micros(late),
                micros(added),
            );
        }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A client of one server or gateway.
struct Client {
    name: &'static str,
    tool: &'static str,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
    times: Vec<Duration>,
}

impl Client {
    fn start(name: &'static str, arguments: &[&str], tool: &'static str) -> Self {
        let program = env::current_exe().expect("a bench has a path");
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut client =
            Self { name, tool, child, input, output, line: String::new(), times: Vec::new() };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {} });
        client.ask("initialize", &hello);
        client.ask("tools/list", &json!({}));
        client
    }

    fn turn(&mut self, text: &str) {
        let params = json!({ "name": self.tool, "arguments": { "text": text } });
        for _ in 0..CALLS {
            let start = Instant::now();
            self.ask("tools/call", &params);
            self.times.push(start.elapsed());
            assert!(self.line.contains("content"), "{}", self.line);
        }
    }

    fn ask(&mut self, method: &str, params: &Json) {
        let id = self.times.len();
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        writeln!(self.input, "{line}").expect("it reads");
        loop {
            self.line.clear();
            assert_ne!(self.output.read_line(&mut self.line).expect("it writes"), 0);
            if self.line.contains("\"id\"") {
                return;
            }
        }
    }

    /// The time that this part of the calls did not exceed.
    fn at(&mut self, part: f64) -> Duration {
        self.times.sort_unstable();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in a short list"
        )]
        let place = (self.times.len() as f64 * part) as usize;
        self.times[place.min(self.times.len() - 1)]
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A server that does as little as a server can.
fn serve() {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let message = Json::parse(&line.expect("lines")).expect("JSON");
        let Some(id) = message.get("id") else { continue };
        let result = match message["method"].as_str() {
            Some("initialize") => {
                json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": { "name": "s", "version": "1" } })
            }
            Some("tools/list") => {
                let text = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
                json!({ "tools": [{ "name": "echo", "inputSchema": text }] })
            }
            _ => {
                json!({ "content": [{ "type": "text", "text": message["params"]["arguments"]["text"].clone() }] })
            }
        };
        let answer = json!({ "jsonrpc": "2.0", "id": id.clone(), "result": result });
        writeln!(output, "{answer}").and_then(|()| output.flush()).expect("somebody reads");
    }
}

/// A gateway in front of that server.
#[tokio::main]
async fn stand_before(log: Option<&str>) {
    let program = env::current_exe().expect("a bench has a path");
    let server = ServerConfig::stdio("s", callgate_mcp::Stdio::new(program).arg("server"));
    let runtime = ToolRuntime::builder().mode(Mode::Native).build().expect("a runtime");
    let servers = McpServers::connect(&runtime, vec![server], ClientOptions::default());
    let mut options = GatewayOptions::default();
    if let Some(log) = log.map(Path::new).map(Path::to_owned) {
        options.log = Some(Arc::new(move || {
            let header = SessionHeader::new("bench", 0);
            SessionOptions::new().create(&log, header).map_err(io::Error::other)
        }));
    }
    let gateway = Arc::new(Gateway::new(runtime, servers, options));
    gateway.serve_stdio(&Signal::new()).await.expect("a client");
}
