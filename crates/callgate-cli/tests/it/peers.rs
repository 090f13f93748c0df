//! Official MCP servers and clients on both sides of `callgate serve`.
//!
//! `cargo xtask test` installs them: `CALLGATE_TEST_SERVERS` names the folder of npm's programs, `CALLGATE_TEST_PYTHON`
//! that of Python's modules. Without them there is nobody to talk to.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use callgate::{Array, Json, Object, json};

use crate::client::{Client, text_of, value_of};
use crate::sandbox::Sandbox;
use crate::writer::{self, Declared};

/// The installed servers and clients, and a project to use them in.
struct Peers {
    programs: PathBuf,
    python: PathBuf,
    sandbox: Sandbox,
}

/// Whoever talks to a server.
#[derive(Clone, Copy, Debug)]
enum Official {
    Python,
    TypeScript,
    Inspector,
}

const CLIENTS: [Official; 3] = [Official::Python, Official::TypeScript, Official::Inspector];

/// A server to talk to.
struct Server {
    command: PathBuf,
    args: Vec<String>,
}

impl Peers {
    /// What is installed, if anything is.
    fn find() -> Option<Self> {
        let folder = |name: &str| {
            let folder = env::var_os(name).map(PathBuf::from);
            if let Some(folder) = &folder {
                assert!(folder.is_dir(), "{name} names no folder");
            }
            folder
        };
        let found = folder("CALLGATE_TEST_SERVERS").zip(folder("CALLGATE_TEST_PYTHON"));
        let Some((programs, python)) = found else {
            eprintln!("not run: `cargo xtask test` installs what this talks to");
            return None;
        };
        let peers = Self { programs, python, sandbox: Sandbox::new() };
        peers.configure(r#""sdk": { "detail": "full" }"#);
        Some(peers)
    }

    /// Declares both servers, with a `callgate` block.
    fn configure(&self, own: &str) {
        let [everything, filesystem] = ["everything", "filesystem"].map(|name| {
            let Server { command, args } = self.server(name);
            let args: Array = args.into_iter().map(Json::from).collect();
            json!({ "command": command.to_str().unwrap(), "args": args })
        });
        self.sandbox.write(
            "c.json",
            &format!(
                r#"{{ "mcpServers": {{ "everything": {everything}, "filesystem": {filesystem} }}, "callgate": {{ "timeouts": {{ "settle": 60 }}, {own} }} }}"#
            ),
        );
    }

    fn server(&self, name: &str) -> Server {
        let command = self.programs.join(format!("mcp-server-{name}"));
        let args = match name {
            "filesystem" => vec![self.project()],
            _ => Vec::new(),
        };
        Server { command, args }
    }

    /// The gateway in front of both.
    fn gateway(&self, arguments: &[&str]) -> Server {
        let config = format!("{}/c.json", self.project());
        let own = ["serve", "--config", &config].into_iter().chain(arguments.iter().copied());
        Server {
            command: env!("CARGO_BIN_EXE_callgate").into(),
            args: own.map(str::to_owned).collect(),
        }
    }

    fn project(&self) -> String {
        self.sandbox.path().canonicalize().unwrap().to_str().unwrap().to_owned()
    }

    /// The few variables that all of them need.
    fn environment(&self) -> [(&'static str, String); 2] {
        let home = self.sandbox.home().to_str().unwrap().to_owned();
        let path = env::var_os("PATH").unwrap().into_string().unwrap();
        [("PATH", path), ("HOME", home)]
    }

    /// The tools that a client sees, and the results of calls.
    fn see(
        &self,
        client: Official,
        server: &Server,
        calls: &[(&str, Json)],
    ) -> (Vec<Json>, Vec<Json>) {
        match client {
            Official::Python => {
                let mut python = Command::new("python3");
                python.arg(script("client.py")).arg(self.plan(server, calls));
                seen(&self.output(python.env("PYTHONPATH", &self.python)))
            }
            Official::TypeScript => {
                let mut node = Command::new("node");
                node.arg(script("client.mjs")).arg(self.plan(server, calls));
                seen(&self.output(node.arg(self.programs.parent().unwrap())))
            }
            Official::Inspector => {
                let inspect = |arguments: &[String]| self.inspect(server, arguments);
                let listed = inspect(&["--method".to_owned(), "tools/list".to_owned()]);
                let results = calls.iter().map(|(name, arguments)| {
                    let mut line =
                        ["--method", "tools/call", "--tool-name", name].map(str::to_owned).to_vec();
                    for (name, value) in arguments.as_object().unwrap().iter() {
                        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                        line.extend(["--tool-arg".to_owned(), format!("{name}={value}")]);
                    }
                    inspect(&line)
                });
                (listed["tools"].as_array().unwrap().to_vec(), results.collect())
            }
        }
    }

    fn plan(&self, server: &Server, calls: &[(&str, Json)]) -> String {
        let calls = calls
            .iter()
            .map(|(name, arguments)| json!({ "name": *name, "arguments": arguments.clone() }));
        let plan = json!({
            "command": server.command.to_str().unwrap(),
            "args": server.args.iter().map(Json::from).collect::<Array>(),
            "env": self.environment().into_iter().map(|(name, value)| (name, Json::from(value))).collect::<Object>(),
            "cwd": self.project(),
            "calls": calls.collect::<Array>(),
        });
        plan.to_string()
    }

    /// The inspector reads what people write into the configurations of their clients.
    fn inspect(&self, server: &Server, arguments: &[String]) -> Json {
        let declared = json!({
            "command": server.command.to_str().unwrap(),
            "args": server.args.iter().map(Json::from).collect::<Array>(),
            "env": self.environment().into_iter().map(|(name, value)| (name, Json::from(value))).collect::<Object>(),
        });
        self.sandbox
            .write("inspector.json", &json!({ "mcpServers": { "it": declared } }).to_string());
        let mut inspector = Command::new(self.programs.join("mcp-inspector"));
        inspector.args(["--cli", "--config", "inspector.json", "--server", "it"]).args(arguments);
        self.output(inspector.env("MCP_INSPECTOR_SECRET_STORE", "memory"))
    }

    /// The one JSON value that a command prints.
    fn output(&self, command: &mut Command) -> Json {
        command.current_dir(self.project()).envs(self.environment()).stdin(Stdio::null());
        let output = command.output().unwrap();
        let complaints = String::from_utf8_lossy(&output.stderr);
        // The inspector prints the result of a failed call too, and fails then.
        Json::parse_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {command:?}: {complaints}"))
    }

    /// A raw client of the gateway.
    fn raw(&self, arguments: &[&str]) -> Client {
        let Server { command, args } = self.gateway(arguments);
        let mut gateway = Command::new(command);
        gateway.args(args).current_dir(self.project()).env_clear().envs(self.environment());
        Client::of(gateway)
    }
}

fn script(name: &str) -> String {
    format!("{}/tests/peers/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn seen(printed: &Json) -> (Vec<Json>, Vec<Json>) {
    assert_eq!(printed["protocol"], json!("2025-11-25"));
    let list = |name: &str| printed[name].as_array().unwrap().to_vec();
    (list("tools"), list("results"))
}

/// A tool as its server lists it: the name is the server's, and what the gateway adds is taken out.
fn original(tool: &Json) -> Json {
    let tool = tool.as_object().unwrap();
    let meta = tool.get("_meta").and_then(Json::as_object).unwrap();
    let mut original = tool.without("_meta").with("name", tool_name(meta));
    if let Some(schema) = meta.get("callgate/outputSchema") {
        original = original.with("outputSchema", schema.clone());
    }
    original.into()
}

fn tool_name(meta: &Object) -> Json {
    meta.get("callgate/origin").unwrap()["tool"].clone()
}

/// The order of tools and of their members does not matter.
fn sorted(tools: impl IntoIterator<Item = Json>) -> Vec<String> {
    let mut texts: Vec<String> = tools.into_iter().map(|tool| tool.canonical()).collect();
    texts.sort();
    texts
}

#[test]
fn official_clients_see_and_get_through_the_gateway_what_they_do_directly() {
    let Some(peers) = Peers::find() else { return };
    let (file, folder) = (format!("{}/readme.md", peers.project()), peers.project());
    let of_everything = [
        ("echo", json!({ "message": "ünï" })),
        ("get-sum", json!({ "a": 2, "b": 3 })),
        ("get-structured-content", json!({ "location": "Chicago" })),
        ("get-tiny-image", json!({})),
    ];
    let of_filesystem = [
        ("read_text_file", json!({ "path": file })),
        ("list_directory", json!({ "path": folder })),
        ("read_text_file", json!({ "path": "/no/such/file" })),
    ];
    for client in CLIENTS {
        // Each call of the inspector is a process of its own.
        let first = if matches!(client, Official::Inspector) { 2 } else { 0 };
        let (of_everything, of_filesystem) = (&of_everything[first..], &of_filesystem[first..]);
        let everything = peers.see(client, &peers.server("everything"), of_everything);
        let filesystem = peers.see(client, &peers.server("filesystem"), of_filesystem);
        let named = |server: &str, calls: &[(&str, Json)]| -> Vec<(String, Json)> {
            let named = calls
                .iter()
                .map(|(name, arguments)| (format!("{server}__{name}"), arguments.clone()));
            named.collect()
        };
        let calls =
            [named("everything", of_everything), named("filesystem", of_filesystem)].concat();
        let calls: Vec<(&str, Json)> =
            calls.iter().map(|(name, arguments)| (&**name, arguments.clone())).collect();
        let (tools, results) = peers.see(client, &peers.gateway(&[]), &calls);
        let mut direct = [everything.0, filesystem.0].concat();
        // It is there for clients that have roots, and the gateway has none.
        direct.retain(|tool| tool["name"] != json!("get-roots-list"));
        assert!(direct.len() > 20);
        assert_eq!(sorted(tools.iter().map(original)), sorted(direct), "{client:?}");
        assert_eq!(results, [everything.1, filesystem.1].concat(), "{client:?}");
        // Not only equal, but there: an image is one, a failure is one.
        assert_eq!(results[3 - first]["content"][1]["type"], json!("image"), "{client:?}");
        assert_eq!(results.last().unwrap()["isError"], json!(true), "{client:?}");
    }
}

#[test]
fn official_clients_of_code_mode_see_only_run_code_and_programs_use_both_servers() {
    let Some(peers) = Peers::find() else { return };
    let file = Json::from(format!("{}/readme.md", peers.project()));
    let code = format!(
        r#"const [said, file] = await Promise.all([
  tools.everything__echo({{ message: "hi" }}),
  tools.filesystem__read_text_file({{ path: {file} }}),
]);
await tools["everything__get-tiny-image"]({{}});
return {{ said, file }};"#
    );
    let (_, direct) =
        peers.see(Official::Python, &peers.server("everything"), &[("get-tiny-image", json!({}))]);
    let image = &direct[0]["content"][1];
    assert_eq!(image["type"], json!("image"));
    let call =
        ("run_code", json!({ "code": code, "description": "Asks both servers for something" }));
    for client in CLIENTS {
        let calls = std::slice::from_ref(&call);
        let (tools, results) = peers.see(client, &peers.gateway(&["--mode", "code"]), calls);
        let names: Vec<&Json> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, [&json!("run_code")], "{client:?}");
        let expected =
            json!({ "said": "Echo: hi", "file": { "content": "# Title\n\nTODO: more\n" } });
        assert_eq!(value_of(&results[0]), expected, "{client:?}");
        let blocks = results[0]["content"].as_array().unwrap().iter();
        let images: Vec<&Json> = blocks.filter(|block| block["type"] == json!("image")).collect();
        assert_eq!(images, [image], "{client:?}");
    }
}

/// The commands below a heading of the README.
fn readme(heading: &str) -> Vec<Vec<String>> {
    let readme = include_str!("../../../../README.md");
    let (_, section) = readme.split_once(&format!("## {heading}\n")).unwrap();
    let lines = section.lines().take_while(|line| !line.starts_with("## "));
    let commands = lines.filter_map(|line| line.strip_prefix("$ callgate ")?.split("  #").next());
    commands.map(|command| command.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn the_lines_of_the_readme_put_it_in_front_of_servers_for_every_client() {
    let Some(peers) = Peers::find() else { return };
    let [check, serve] = &readme("Put it in front of your MCP servers")[..] else {
        panic!("not two commands of callgate");
    };
    fs::rename(peers.sandbox.path().join("c.json"), peers.sandbox.path().join("mcp.json")).unwrap();
    let mut callgate = Command::new(env!("CARGO_BIN_EXE_callgate"));
    callgate.args(check).current_dir(peers.project()).env_clear().envs(peers.environment());
    let checked = callgate.output().unwrap();
    let said = String::from_utf8(checked.stdout).unwrap();
    assert!(checked.status.success(), "{said}");
    assert!(said.contains("everything") && said.contains("filesystem"), "{said}");
    let command = env!("CARGO_BIN_EXE_callgate").into();
    let server = Server { command, args: serve.clone() };
    for client in CLIENTS {
        let (tools, _) = peers.see(client, &server, &[]);
        let names: Vec<&Json> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, [&json!("run_code")], "{client:?}");
    }
}

/// What the programs are to do: some tools of both servers.
const WANTED: [&str; 4] = [
    "everything__echo",
    "everything__get-sum",
    "everything__get-structured-content",
    "filesystem__read_text_file",
];

#[test]
fn the_description_of_run_code_is_enough_to_write_a_program_for_real_servers() {
    let Some(peers) = Peers::find() else { return };
    let path = Json::from(format!("{}/readme.md", peers.project()));
    let wish = |name: &str| match name {
        "message" => Some(json!("hello")),
        "path" => Some(path.clone()),
        _ => None,
    };
    let expected = json!({
        "everything__echo": "Echo: hello",
        "everything__get-sum": "The sum of 2 and 2 is 4.",
        "everything__get-structured-content": 33,
        "filesystem__read_text_file": "# Title\n\nTODO: more\n",
    });
    let write = |description: &str, declared: &[Declared]| {
        let tools = WANTED.map(|name| declared.iter().find(|tool| tool.name == name).unwrap());
        writer::program(&tools, &wish, &|name| writer::accessor(description, name))
    };

    let mut client = peers.raw(&["--mode", "code"]);
    let description = client.description();
    insta::assert_snapshot!(description);
    assert_eq!(
        value_of(&client.run(&write(&description, &writer::declarations(&description)))),
        expected
    );

    // Where the text holds no declarations, it says how a program gets them.
    peers.configure(r#""sdk": { "detail": "catalogue" }"#);
    let mut client = peers.raw(&["--mode", "code"]);
    let description = client.description();
    assert!(!description.contains("interface ToolArgsMap"));
    let how = r#"await tools.describe({ names: ["name"] })"#;
    assert!(description.contains(how), "{description}");
    let names = WANTED.iter().map(|name| Json::from(*name)).collect::<Array>();
    let look_up = format!("return {}", how.replace(r#"["name"]"#, &Json::from(names).to_string()));
    let found = writer::looked_up(text_of(&client.run(&look_up)));
    assert_eq!(found.len(), WANTED.len());
    assert_eq!(value_of(&client.run(&write(&description, &found))), expected);
}
