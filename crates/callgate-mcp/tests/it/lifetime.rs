//! The gateway as a process: its end is the end of everything it started, and its standard output
//! carries nothing but the protocol.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use callgate::{Json, json};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::{Fake, PATIENCE, example, text, tool};

/// A gateway process and a client that talks to it line by line.
struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    lines: Vec<String>,
    _config: TempDir,
}

impl Process {
    fn start(config: &Json) -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("gateway.json");
        fs::write(&path, config.to_string()).unwrap();
        let mut child = Command::new(example("gateway"))
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output, lines: Vec::new(), _config: directory }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn hear(&mut self) -> Json {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let message = Json::parse(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.lines.push(line);
        message
    }

    fn ask(&mut self, id: u64, method: &str, params: Json) -> Json {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.say(&request.to_string());
        loop {
            let message = self.hear();
            if message["id"] == json!(id) {
                return message["result"].clone();
            }
        }
    }

    fn greet(&mut self) {
        self.ask(1, "initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {} }));
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the gateway does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Processes whose command line contains a text.
fn running(text: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| {
        let line = fs::read(process.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        (line.contains(text) && is_alive(&process.path())).then_some(line)
    });
    lines.collect()
}

fn is_alive(process: &Path) -> bool {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

fn wait_until_none(text: &str, within: Duration) {
    let deadline = Instant::now() + within;
    while !running(text).is_empty() {
        assert!(Instant::now() < deadline, "left behind: {:?}", running(text));
        thread::sleep(Duration::from_millis(10));
    }
}

/// A friendly server, and one that ignores the end of its input and SIGTERM and has a child of
/// its own that does as well.
struct Zoo {
    friendly: Fake,
    stubborn: Fake,
    child: String,
}

impl Zoo {
    fn new() -> Self {
        // A number that no other test sleeps for.
        let stamp = std::process::id() * 1_000 + fastrand();
        let child = format!("1000.{stamp:09}");
        let stubborn = json!({
            "pages": [[tool("echo")]],
            "spawn": ["sleep", child.clone()],
            "ignore_eof": true,
        });
        Self {
            friendly: Fake::with_tools(
                json!([tool("echo"), tool("hang")]),
                json!({ "hang": { "hang": true } }),
            ),
            stubborn: Fake::new(&stubborn),
            child,
        }
    }

    fn config(&self) -> Json {
        let server = |fake: &Fake| fake.stdio().args[0].to_string_lossy().into_owned();
        let program = example("fake_server").to_string_lossy().into_owned();
        let stubborn = json!([
            "-c",
            "trap '' TERM; exec \"$0\" \"$1\"",
            program.clone(),
            server(&self.stubborn)
        ]);
        json!({ "servers": [
            { "name": "friendly", "command": program, "args": [server(&self.friendly)] },
            { "name": "stubborn", "command": "sh", "args": stubborn },
        ] })
    }

    fn start(&self) -> Process {
        let mut process = Process::start(&self.config());
        process.greet();
        for server in ["friendly", "stubborn"] {
            let params = json!({ "name": format!("{server}__echo"), "arguments": {} });
            assert_eq!(process.ask(2, "tools/call", params), text("{}"));
        }
        assert_eq!(running(&self.child).len(), 1);
        process
    }

    fn wait_until_gone(&self, within: Duration) {
        for fake in [&self.friendly, &self.stubborn] {
            let script = fake.stdio().args[0].to_string_lossy().into_owned();
            wait_until_none(&script, within);
        }
        wait_until_none(&self.child, within);
    }
}

/// Tests run beside each other in one process.
fn fastrand() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[test]
fn the_end_of_input_ends_everything() {
    let zoo = Zoo::new();
    let mut process = zoo.start();
    process.input = None;
    let start = Instant::now();
    assert_eq!(process.wait().code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    zoo.wait_until_gone(Duration::ZERO);
}

#[test]
fn signals_end_everything_also_in_the_middle_of_a_call() {
    for signal in [Signal::TERM, Signal::INT] {
        let zoo = Zoo::new();
        let mut process = zoo.start();
        let call = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "friendly__hang" } });
        process.say(&call.to_string());
        thread::sleep(Duration::from_millis(100));
        process.signal(signal);
        let start = Instant::now();
        let answer = process.hear();
        assert_eq!(
            (answer["id"].clone(), answer["result"]["isError"].clone()),
            (json!(3), json!(true))
        );
        assert_eq!(process.wait().code(), Some(0));
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        zoo.wait_until_gone(Duration::ZERO);
    }
}

#[test]
fn a_gateway_that_is_killed_during_a_call_leaves_nothing_behind() {
    let zoo = Zoo::new();
    let mut process = zoo.start();
    let call = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "friendly__hang" } });
    process.say(&call.to_string());
    thread::sleep(Duration::from_millis(100));
    process.signal(Signal::KILL);
    assert_eq!(process.wait().signal(), Some(9));
    zoo.wait_until_gone(Duration::from_secs(2));
}

#[test]
fn standard_output_carries_the_protocol_whatever_is_printed_and_whoever_panics() {
    let fake = Fake::with_tools(json!([tool("echo")]), json!({}));
    let script = fake.stdio().args[0].to_string_lossy().into_owned();
    let program = example("fake_server").to_string_lossy().into_owned();
    let server = json!({ "name": "s", "command": program, "args": [script] });
    let mut process = Process::start(&json!({ "noisy": true, "servers": [server] }));
    process.greet();
    assert_eq!(process.ask(2, "tools/call", json!({ "name": "s__echo" })), text("{}"));
    for garbage in
        ["no JSON", "{\"level\":\"info\"}", "", "{\"jsonrpc\":\"2.0\",\"id\":7}", "[1, {}]"]
    {
        process.say(garbage);
    }
    assert_eq!(process.ask(9, "ping", json!({})), json!({}));
    process.input = None;
    process.wait();
    let mut rest = String::new();
    while process.output.read_line(&mut rest).unwrap() > 0 {}
    for line in process.lines.iter().map(String::as_str).chain(rest.lines()) {
        let message = Json::parse(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], json!("2.0"), "{line}");
    }
}

#[test]
fn requests_that_were_piped_in_are_all_answered() {
    let fake = Fake::with_tools(json!([tool("echo")]), json!({}));
    let script = fake.stdio().args[0].to_string_lossy().into_owned();
    let program = example("fake_server").to_string_lossy().into_owned();
    let server = json!({ "name": "s", "command": program, "args": [script] });
    let mut process = Process::start(&json!({ "servers": [server] }));
    process.say(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{}}}"#);
    process.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    process.say(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    process.say(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"s__echo"}}"#);
    process.input = None;
    let first = process.hear();
    assert_eq!(first["result"]["protocolVersion"], json!("2024-11-05"));
    let mut answers = [process.hear(), process.hear()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers[0]["result"]["tools"][0]["name"], json!("s__echo"));
    assert_eq!(answers[1]["result"], text("{}"));
    assert_eq!(process.wait().code(), Some(0));
}
