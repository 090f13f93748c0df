//! An MCP server on standard input and output that does what a script says, for tests.
//!
//! `fake_server SCRIPT` reads the script anew for every message, so that a test may change it:
//!
//! ```json
//! {
//!   "record": "messages.jsonl",
//!   "noise": ["banner", { "bytes": [255] }, { "repeat": ["x", 5000000] }],
//!   "noise_between": [],
//!   "initialize": "answer",
//!   "protocol": "2025-06-18",
//!   "capabilities": { "tools": { "listChanged": true } },
//!   "exit_after_ms": 200,
//!   "ignore_eof": true,
//!   "pages": [[{ "name": "echo", "inputSchema": { "type": "object" } }]],
//!   "cursors": ["page/2=é"],
//!   "failing_page": 1,
//!   "answers": { "prompts/list": { "prompts": [] } },
//!   "calls": {
//!     "echo": { "result": {}, "delay_ms": 5 },
//!     "odd": { "raw": "{\"content\":[],\"n\":1e2}" },
//!     "bad": { "line": "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":-0}" },
//!     "no": { "error": { "code": -32000, "message": "no" } },
//!     "die": { "exit": 3 },
//!     "slow": { "progress": [{ "progress": 1 }], "hang": true },
//!     "env": { "environment": true },
//!     "more": { "list_changed": 200, "every_ms": 5 }
//!   }
//! }
//! ```

#![expect(clippy::expect_used, reason = "a test tool stops where it cannot go on")]

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use callgate::{Json, Object, json};

fn main() {
    let path = std::env::args().nth(1).expect("usage: fake_server SCRIPT");
    let server = Arc::new(Server { path });
    let script = server.script();
    if let Some(ms) = script["exit_after_ms"].as_u64() {
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(ms));
            std::process::exit(7);
        });
    }
    if let Some(line) = script["stderr"].as_str() {
        eprintln!("{line}");
    }
    if let Some(command) = script["spawn"].as_array() {
        let words: Vec<&str> = command.iter().filter_map(Json::as_str).collect();
        let mut child = Command::new(words[0]).args(&words[1..]).spawn().expect("the child starts");
        thread::spawn(move || child.wait());
    }
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        server.record(&line);
        let Ok(message) = Json::parse(&line) else { continue };
        server.clone().take(&message);
    }
    if script["ignore_eof"].as_bool() == Some(true) {
        loop {
            thread::sleep(Duration::from_mins(1));
        }
    }
}

struct Server {
    path: String,
}

impl Server {
    fn script(&self) -> Json {
        let text = fs::read_to_string(&self.path).expect("the script can be read");
        Json::parse(&text).expect("the script is JSON")
    }

    fn record(&self, line: &str) {
        if let Some(record) = self.script()["record"].as_str() {
            let file = OpenOptions::new().create(true).append(true).open(record);
            // In one piece: another process of the same server may write to it too.
            let mut file = file.expect("the record can be opened");
            file.write_all(format!("{line}\n").as_bytes()).expect("the record can be written");
        }
    }

    fn take(self: Arc<Self>, message: &Json) {
        let script = self.script();
        let Some(id) = message.get("id").cloned() else { return };
        let params = message["params"].clone();
        match message["method"].as_str() {
            Some("initialize") => greet(&script, &id),
            Some("tools/list") => list(&script, &id, &params),
            Some("tools/call") => {
                thread::spawn(move || call(&script, &id, &params));
            }
            Some(method) => {
                if let Some(answer) = script["answers"].get(method) {
                    noise(&script["noise_between"]);
                    respond(&id, answer);
                } else {
                    let message = format!("no method {method}");
                    refuse(&id, &json!({ "code": -32601, "message": message }));
                }
            }
            None => {}
        }
    }
}

fn greet(script: &Json, id: &Json) {
    noise(&script["noise"]);
    match &script["initialize"] {
        Json::String(word) if &**word == "never" => return,
        Json::String(word) if &**word == "exit" => std::process::exit(5),
        _ => {}
    }
    let capabilities = script.get("capabilities").cloned();
    let mut result = Object::builder()
        .with("protocolVersion", script["protocol"].as_str().unwrap_or("2025-06-18"))
        .with(
            "capabilities",
            capabilities.unwrap_or_else(|| json!({ "tools": { "listChanged": true } })),
        )
        .with("serverInfo", json!({ "name": "fake", "version": "1" }));
    if let Some(instructions) = script.get("instructions") {
        result.insert("instructions", instructions.clone());
    }
    respond(id, &result.build().into());
}

fn list(script: &Json, id: &Json, params: &Json) {
    noise(&script["noise_between"]);
    let cursors = script["cursors"].as_array().cloned().unwrap_or_default();
    let page = match params.get("cursor") {
        None => 0,
        Some(cursor) => {
            cursors.iter().position(|known| known == cursor).map_or(usize::MAX, |page| page + 1)
        }
    };
    let is_failing = script["failing_page"].as_u64() == Some(page as u64);
    if let Some(tools) = script["pages"].item(page).filter(|_| !is_failing) {
        let result = Object::builder().with("tools", tools.clone());
        let result = result.with_some("nextCursor", cursors.get(page).cloned());
        respond(id, &result.build().into());
    } else {
        refuse(id, &json!({ "code": -32000, "message": "no such page" }));
    }
}

fn respond(id: &Json, result: &Json) {
    say(&json!({ "jsonrpc": "2.0", "id": id.clone(), "result": result.clone() }).to_string());
}

fn refuse(id: &Json, error: &Json) {
    say(&json!({ "jsonrpc": "2.0", "id": id.clone(), "error": error.clone() }).to_string());
}

fn call(script: &Json, id: &Json, params: &Json) {
    let name = params["name"].as_str().unwrap_or_default();
    let Some(action) = script["calls"].get(name) else {
        let echoed =
            json!({ "content": [{ "type": "text", "text": params["arguments"].to_string() }] });
        return answer(script, id, &echoed.to_string());
    };
    for progress in action["progress"].as_array().map(|list| &**list).unwrap_or_default() {
        if let Some(token) = params["_meta"].get("progressToken") {
            let params = progress.as_object().expect("progress is an object");
            let params = Json::Object(params.with("progressToken", token.clone()));
            say(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
                .to_string());
        }
        pause(&action["progress_every_ms"]);
    }
    for _ in 0..action["list_changed"].as_u64().unwrap_or(0) {
        say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        pause(&action["every_ms"]);
    }
    pause(&action["delay_ms"]);
    if let Some(code) = action["exit"].as_i64() {
        std::process::exit(i32::try_from(code).expect("a small code"));
    }
    if action["hang"].as_bool() == Some(true) {
        return;
    }
    if let Some(line) = action["line"].as_str() {
        return say(&line.replace("$ID", &id.to_string()));
    }
    if action["environment"].as_bool() == Some(true) {
        let variables = std::env::vars().map(|(name, value)| (name, Json::from(value)));
        let variables: Object = variables.collect();
        let text = Json::from(variables).to_string();
        return answer(
            script,
            id,
            &json!({ "content": [{ "type": "text", "text": text }] }).to_string(),
        );
    }
    if let Some(error) = action.get("error") {
        return refuse(id, error);
    }
    match action["raw"].as_str() {
        Some(raw) => answer(script, id, raw),
        None => answer(script, id, &action["result"].to_string()),
    }
}

fn answer(script: &Json, id: &Json, result: &str) {
    noise(&script["noise_between"]);
    say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
}

fn pause(ms: &Json) {
    if let Some(ms) = ms.as_u64() {
        thread::sleep(Duration::from_millis(ms));
    }
}

fn noise(lines: &Json) {
    for line in lines.as_array().map(|list| &**list).unwrap_or_default() {
        let bytes = match (line, line["repeat"].as_array()) {
            (Json::String(text), _) => text.as_bytes().to_vec(),
            (_, Some(repeat)) => {
                let times = repeat[1].as_u64().and_then(|times| usize::try_from(times).ok());
                repeat[0].as_str().unwrap_or_default().repeat(times.unwrap_or(0)).into_bytes()
            }
            (_, None) => {
                let bytes = line["bytes"].as_array().map(|list| &**list).unwrap_or_default();
                bytes.iter().filter_map(|byte| u8::try_from(byte.as_u64()?).ok()).collect()
            }
        };
        write(&[&bytes[..], b"\n"].concat());
    }
}

fn say(line: &str) {
    write(format!("{line}\n").as_bytes());
}

fn write(bytes: &[u8]) {
    let mut output = io::stdout().lock();
    if output.write_all(bytes).and_then(|()| output.flush()).is_err() {
        std::process::exit(0);
    }
}
