//! The tools of public MCP servers, as `cargo xtask capture` found them.

use std::fmt::Write as _;

use callgate_schema::{Json, SdkTool, json, public_name, python, typescript};

/// The servers, and why their types have places of which nothing is known.
const SERVERS: &[(&str, &str)] = &[
    (
        "everything",
        "12 tools have no output schema; 4 take no arguments, which is an open dict in Python",
    ),
    ("fetch", "its tool has no output schema"),
    ("filesystem", "one tool takes no arguments, which is an open dict in Python"),
    ("git", "no tool has an output schema"),
    ("memory", "a relation has the key `from`, a keyword of Python, so it is a dict there"),
    ("sequential-thinking", "every type is known"),
    ("time", "every type is known"),
];

struct Server {
    source: Json,
    names: Vec<String>,
    tools: Vec<Json>,
    any: Json,
}

impl Server {
    fn load(name: &str) -> Self {
        let path = format!("{}/tests/servers/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let captured = Json::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        let tools = captured["tools"].as_array().unwrap().to_vec();
        let names =
            tools.iter().map(|tool| public_name(name, tool["name"].as_str().unwrap())).collect();
        Self { source: captured["source"].clone(), names, tools, any: json!({}) }
    }

    fn sdk_tools(&self) -> Vec<SdkTool<'_>> {
        self.names
            .iter()
            .zip(&self.tools)
            .map(|(name, tool)| {
                let description = tool.get("description").and_then(Json::as_str);
                let output = tool.get("outputSchema").unwrap_or(&self.any);
                SdkTool::new(name, description.unwrap_or_default(), &tool["inputSchema"], output)
            })
            .collect()
    }

    /// Bytes of the schemas as text.
    fn schema_bytes(&self) -> usize {
        let schemas =
            self.tools.iter().flat_map(|tool| [tool.get("inputSchema"), tool.get("outputSchema")]);
        schemas.flatten().map(|schema| schema.to_string().len()).sum()
    }
}

/// How often a word stands in a text.
fn count(text: &str, word: &str) -> usize {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.split(|letter| !is_part(letter)).filter(|part| *part == word).count()
}

#[test]
fn their_sdks_are_these() {
    for (name, _) in SERVERS {
        let server = Server::load(name);
        let tools = server.sdk_tools();
        insta::with_settings!({ snapshot_suffix => format!("{name}.ts") }, {
            insta::assert_snapshot!(typescript::declarations(&tools));
        });
        insta::with_settings!({ snapshot_suffix => format!("{name}.py") }, {
            insta::assert_snapshot!(python::declarations(&tools));
        });
    }
}

#[test]
fn their_figures_are_these() {
    let none = typescript::declarations(&[]);
    let mut table = "\
| server | source | tools | bytes of schemas | bytes in TypeScript | bytes in Python | any JSON | open objects | `Any` | why |
|---|---|---|---|---|---|---|---|---|---|
"
    .to_owned();
    for (name, reason) in SERVERS {
        let server = Server::load(name);
        let tools = server.sdk_tools();
        let (typescript, python) = (typescript::declarations(&tools), python::declarations(&tools));
        // Open objects say that more members may be there; the other places say that nothing is known.
        let open = typescript.matches("Record<string, JsonValue>").count();
        let any = count(&typescript, "JsonValue") - count(&none, "JsonValue") - open;
        let any_in_python = count(&python, "Any").saturating_sub(1);
        let source = &server.source;
        let text = |member: &str| source[member].as_str().unwrap().to_owned();
        writeln!(
            table,
            "| {name} | {} `{}` {} ({}) | {} | {} | {} | {} | {any} | {open} | {any_in_python} | {reason} |",
            text("registry"),
            text("package"),
            text("version"),
            text("license"),
            tools.len(),
            server.schema_bytes(),
            typescript.len(),
            python.len(),
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn every_captured_server_is_tested() {
    let folder = format!("{}/tests/servers", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let names: Vec<String> = SERVERS.iter().map(|(name, _)| format!("{name}.json")).collect();
    assert_eq!(files, names);
}
