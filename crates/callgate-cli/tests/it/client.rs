//! A gateway process with a client that speaks line by line.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use callgate::{Json, json};

use crate::sandbox::Sandbox;

/// A process that takes longer to end hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A gateway process and whoever talks to it.
pub(crate) struct Client {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
    /// Results by the id of their request, until somebody asks for them.
    answers: HashMap<u64, Json>,
}

impl Client {
    /// Starts `callgate serve --config c.json` with more arguments, and greets it.
    pub(crate) fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = sandbox.command();
        command.arg("serve").args(["--config", "c.json"]).args(arguments);
        Self::of(command)
    }

    /// Starts a gateway and greets it.
    pub(crate) fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { child, input, output, next: 0, answers: HashMap::new() };
        client.ask("initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {} }));
        client
    }

    /// Makes a request; answers its id.
    pub(crate) fn request(&mut self, method: &str, params: Json) -> u64 {
        self.next += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        writeln!(self.input.as_mut().unwrap(), "{request}").unwrap();
        self.next
    }

    /// The result of a request. Notifications are passed over.
    pub(crate) fn answer(&mut self, id: u64) -> Json {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            let message = self.hear();
            if let Some(id) = message["id"].as_u64() {
                self.answers.insert(id, message["result"].clone());
            }
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Json) -> Json {
        let id = self.request(method, params);
        self.answer(id)
    }

    fn hear(&mut self) -> Json {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let message = Json::parse(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], json!("2.0"));
        message
    }

    pub(crate) fn call(&mut self, name: &str, arguments: Json) -> Json {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// Runs a program; answers the whole result.
    pub(crate) fn run(&mut self, code: &str) -> Json {
        self.call("run_code", json!({ "code": code, "description": "A program of a test" }))
    }

    pub(crate) fn tools(&mut self) -> Vec<Json> {
        self.ask("tools/list", json!({}))["tools"].as_array().unwrap().to_vec()
    }

    pub(crate) fn names(&mut self) -> Vec<String> {
        self.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The description of `run_code`.
    pub(crate) fn description(&mut self) -> String {
        let tools = self.tools();
        let run_code = tools.iter().find(|tool| tool["name"] == json!("run_code")).unwrap();
        run_code["description"].as_str().unwrap().to_owned()
    }

    pub(crate) fn end_input(&mut self) {
        self.input = None;
    }

    /// Closes its side; answers the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.end_input();
        self.wait().code()
    }

    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the gateway does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        let kill = format!("kill -s {signal} {}", self.child.id());
        let status = Command::new("/bin/sh").args(["-c", &kill]).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The text of a result that has one block, and maybe images behind it.
pub(crate) fn text_of(result: &Json) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

/// What a program returned.
pub(crate) fn value_of(result: &Json) -> Json {
    let text = text_of(result);
    Json::parse(text).unwrap_or_else(|error| panic!("{error}: {result}"))
}
