//! A scriptable server, a raw client, and a gateway between them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use callgate::testing::ScriptedEngine;
use callgate::{CallInput, CallResult, Json, Mode, Object, Signal, ToolRuntime, json};
use callgate_mcp::{
    ClientOptions, Gateway, GatewayOptions, McpServers, ServerConfig, ServerState, ServerStatus,
    Stdio,
};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::time::{Instant, sleep, timeout};

/// No test waits longer for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// An example of this crate as a program. Tests that run alone build it first.
pub(crate) fn example(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let directory = BUILT.get_or_init(|| {
        let test = std::env::current_exe().expect("a test has a path");
        let profile = test.parent().and_then(Path::parent).expect("tests lie in `deps`");
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--offline", "--package", "callgate-mcp", "--examples"]);
        if profile.ends_with("release") {
            build.arg("--release");
        }
        build.arg("--target-dir").arg(profile.parent().expect("a target directory"));
        build.args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
        assert!(build.status().expect("cargo runs").success(), "the examples must build");
        profile.join("examples")
    });
    directory.join(name)
}

/// A fake server and the record of what it was sent.
pub(crate) struct Fake {
    directory: TempDir,
}

impl Fake {
    /// A server that follows a script; see `examples/fake_server.rs`.
    pub(crate) fn new(script: &Json) -> Self {
        let fake = Self { directory: TempDir::new().expect("a temporary directory") };
        fake.follow(script);
        fake
    }

    /// A server with these tools on one page, whose calls are answered as listed; others echo.
    pub(crate) fn with_tools(tools: Json, calls: Json) -> Self {
        Self::new(&json!({ "pages": [tools], "calls": calls }))
    }

    /// From the next message on it follows another script.
    pub(crate) fn follow(&self, script: &Json) {
        let script = script.as_object().expect("a script is an object");
        let script = script.with("record", self.record().to_string_lossy().into_owned());
        let new = self.directory.path().join("new");
        fs::write(&new, Json::Object(script).to_string()).expect("the script can be written");
        fs::rename(new, self.script()).expect("the script can be replaced");
    }

    fn script(&self) -> PathBuf {
        self.directory.path().join("script.json")
    }

    fn record(&self) -> PathBuf {
        self.directory.path().join("record.jsonl")
    }

    pub(crate) fn stdio(&self) -> Stdio {
        Stdio::new(example("fake_server")).arg(self.script())
    }

    pub(crate) fn server(&self, name: &str) -> ServerConfig {
        ServerConfig::stdio(name, self.stdio())
    }

    /// Whether a process of it is there.
    pub(crate) fn is_running(&self) -> bool {
        let script = self.script().to_string_lossy().into_owned();
        let list = Command::new("ps").args(["-A", "-o", "args"]).output().expect("ps runs");
        String::from_utf8_lossy(&list.stdout).contains(&script)
    }

    /// Every message it received, in order.
    pub(crate) fn received(&self) -> Vec<Json> {
        let text = fs::read_to_string(self.record()).unwrap_or_default();
        text.lines().map(|line| Json::parse(line).expect("we send JSON")).collect()
    }

    /// The messages of one method.
    pub(crate) fn received_of(&self, method: &str) -> Vec<Json> {
        let received = self.received().into_iter();
        received.filter(|message| message["method"] == json!(method)).collect()
    }

    /// The parameters of every call of a tool.
    pub(crate) fn calls(&self) -> Vec<Json> {
        self.received_of("tools/call").into_iter().map(|call| call["params"].clone()).collect()
    }
}

/// A tool that takes anything.
pub(crate) fn tool(name: &str) -> Json {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

/// A result of one block of text.
pub(crate) fn text(text: &str) -> Json {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// A runtime with servers, without a client.
pub(crate) struct Host {
    pub(crate) runtime: ToolRuntime,
    pub(crate) servers: McpServers,
}

impl Host {
    pub(crate) async fn start(servers: Vec<ServerConfig>) -> Self {
        Self::start_with(ScriptedEngine::new(), servers, options()).await
    }

    pub(crate) async fn start_with(
        engine: ScriptedEngine,
        servers: Vec<ServerConfig>,
        options: ClientOptions,
    ) -> Self {
        let runtime = ToolRuntime::builder().mode(Mode::Both).engine(engine).build().unwrap();
        let servers = McpServers::connect(&runtime, servers, options);
        servers.settled(PATIENCE).await;
        Self { runtime, servers }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Json) -> CallResult {
        self.runtime.execute(CallInput::new("call", name, arguments)).await
    }

    /// Runs a program of the scripted engine.
    pub(crate) async fn run(&self, program: &str) -> CallResult {
        let arguments = json!({ "code": program, "description": "Runs a program" });
        self.runtime.execute(CallInput::new("run", "run_code", arguments)).await
    }

    pub(crate) fn status(&self, name: &str) -> ServerStatus {
        let status = self.servers.status().into_iter();
        status.into_iter().find(|status| &*status.name == name).expect("a server of that name")
    }
}

/// The environment that servers of tests need.
pub(crate) fn options() -> ClientOptions {
    let mut options = ClientOptions::default();
    options.environment = std::env::vars_os().collect();
    options
}

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "it never came to be that {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn is_ready(status: &ServerStatus) -> bool {
    status.state == ServerState::Ready
}

/// A client that speaks JSON lines with a gateway, and keeps everything it is told.
pub(crate) struct Client {
    reader: tokio::io::Lines<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    next: u64,
    /// Notifications in the order they came.
    pub(crate) told: Vec<Json>,
    answers: BTreeMap<String, Json>,
    pub(crate) stop: Signal,
    pub(crate) serving: tokio::task::JoinHandle<()>,
}

impl Client {
    pub(crate) fn connect(gateway: &Arc<Gateway>) -> Self {
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        let stop = Signal::new();
        let (gateway, stopping) = (gateway.clone(), stop.clone());
        let serving = tokio::runtime::Handle::current().spawn(async move {
            gateway.serve(reader, writer, &stopping).await.unwrap();
        });
        let (reader, writer) = tokio::io::split(ours);
        Self::new(Box::new(reader), Box::new(writer), stop, serving)
    }

    fn new(
        reader: Box<dyn AsyncRead + Send + Unpin>,
        writer: Box<dyn AsyncWrite + Send + Unpin>,
        stop: Signal,
        serving: tokio::task::JoinHandle<()>,
    ) -> Self {
        let reader = BufReader::new(reader).lines();
        let (told, answers) = (Vec::new(), BTreeMap::new());
        Self { reader, writer, next: 0, told, answers, stop, serving }
    }

    /// A client of a server itself.
    pub(crate) fn of_process(command: &Path) -> Self {
        let variables = std::env::vars_os().filter(|(name, _)| callgate_mcp::is_inherited(name));
        let mut child = tokio::process::Command::new(command)
            .env_clear()
            .envs(variables)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the server starts");
        let (writer, reader) = (child.stdin.take(), child.stdout.take());
        let living = tokio::runtime::Handle::current().spawn(async move {
            child.wait().await.expect("the server is waited for");
        });
        let reader = Box::new(reader.expect("its output"));
        Self::new(reader, Box::new(writer.expect("its input")), Signal::new(), living)
    }

    pub(crate) async fn greeted(gateway: &Arc<Gateway>) -> Self {
        let mut client = Self::connect(gateway);
        client.greet("2025-06-18").await;
        client
    }

    pub(crate) async fn greet(&mut self, version: &str) -> Json {
        let info = json!({ "name": "raw", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": info });
        let hello = self.ask("initialize", params).await;
        self.notify("notifications/initialized", Json::Null).await;
        hello
    }

    /// Closes its side.
    pub(crate) async fn end_input(&mut self) {
        self.writer.shutdown().await.unwrap();
    }

    pub(crate) async fn send_line(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Json) {
        let message = Object::builder().with("jsonrpc", "2.0").with("method", method);
        let message = message.with_some("params", (!params.is_null()).then_some(params));
        self.send_line(&Json::from(message.build()).to_string()).await;
    }

    /// Sends a request; answers its id.
    pub(crate) async fn request(&mut self, method: &str, params: Json) -> u64 {
        self.next += 1;
        let message =
            Object::builder().with("jsonrpc", "2.0").with("id", self.next).with("method", method);
        let message = message.with_some("params", (!params.is_null()).then_some(params));
        self.send_line(&Json::from(message.build()).to_string()).await;
        self.next
    }

    /// The next line it is told.
    pub(crate) async fn hear(&mut self) -> Json {
        let line = timeout(PATIENCE, self.reader.next_line()).await.expect("an answer in time");
        let line = line.unwrap().expect("the gateway is there");
        let message = Json::parse(&line).expect("the gateway speaks JSON");
        assert_eq!(message["jsonrpc"], json!("2.0"), "{line}");
        message
    }

    /// Takes a line in.
    async fn listen(&mut self) {
        let message = self.hear().await;
        match message.get("id") {
            Some(id) if message.get("method").is_none() => {
                self.answers.insert(id.to_string(), message);
            }
            _ => self.told.push(message),
        }
    }

    /// The whole answer to a request.
    pub(crate) async fn answer(&mut self, id: impl Into<Json>) -> Json {
        let id = id.into().to_string();
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            self.listen().await;
        }
    }

    /// Asks and returns the result, which must not be an error.
    pub(crate) async fn ask(&mut self, method: &str, params: Json) -> Json {
        let id = self.request(method, params).await;
        let answer = self.answer(id).await;
        answer.get("result").cloned().unwrap_or_else(|| panic!("no result: {answer}"))
    }

    /// Asks and returns the error.
    pub(crate) async fn refusal(&mut self, method: &str, params: Json) -> Json {
        let id = self.request(method, params).await;
        let answer = self.answer(id).await;
        answer.get("error").cloned().unwrap_or_else(|| panic!("no error: {answer}"))
    }

    pub(crate) async fn call(&mut self, name: &str, arguments: Json) -> Json {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments })).await
    }

    pub(crate) async fn tools(&mut self) -> Vec<Json> {
        let listed = self.ask("tools/list", Json::Null).await;
        listed["tools"].as_array().expect("a list").to_vec()
    }

    pub(crate) async fn tool_names(&mut self) -> Vec<String> {
        let tools = self.tools().await;
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// What it was told with this method, after a pause in which everything may arrive.
    pub(crate) async fn told_of(&mut self, method: &str) -> Vec<Json> {
        // Whatever was said before is said when this is answered.
        self.ask("ping", Json::Null).await;
        let told = self.told.iter().filter(|message| message["method"] == json!(method));
        told.map(|message| message["params"].clone()).collect()
    }

    /// Waits until it is told something with this method, and takes that.
    pub(crate) async fn wait_for(&mut self, method: &str) -> Json {
        loop {
            let place = self.told.iter().position(|message| message["method"] == json!(method));
            if let Some(place) = place {
                return self.told.remove(place)["params"].clone();
            }
            self.listen().await;
        }
    }
}

/// A gateway in front of servers.
pub(crate) async fn gateway(mode: Mode, servers: Vec<ServerConfig>) -> Arc<Gateway> {
    gateway_with(mode, ScriptedEngine::new(), servers, GatewayOptions::default()).await
}

pub(crate) async fn gateway_with(
    mode: Mode,
    engine: ScriptedEngine,
    servers: Vec<ServerConfig>,
    gateway_options: GatewayOptions,
) -> Arc<Gateway> {
    let runtime = ToolRuntime::builder().mode(mode).engine(engine).build().unwrap();
    let servers = McpServers::connect(&runtime, servers, options());
    servers.settled(PATIENCE).await;
    Arc::new(Gateway::new(runtime, servers, gateway_options))
}
