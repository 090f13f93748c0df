//! Declared MCP servers: `serve` in front of them, `check`, and the commands that call their tools.

use std::fmt::Write as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

use callgate::{Json, json};

use crate::client::{Client, text_of, value_of};
use crate::sandbox::{Sandbox, assert_shown};
use crate::writer;

/// A server in the shell that any machine has: two tools, of which `shout` fails.
const SERVER: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in *'"tools/call"'*) echo "$line" >> received.jsonl ;; esac
  case $line in
    *'"initialize"'*) answer='"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"tools/list"'*) answer='"result":{"tools":[{"name":"env.get","description":"Gives a variable.","inputSchema":{"type":"object"}},{"name":"shout","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}' ;;
    *'"env.get"'*) answer='"result":{"content":[{"type":"text","text":"'$GREETING'/'$1'"}]}' ;;
    *'"shout"'*) answer='"result":{"content":[{"type":"text","text":"too quiet"}],"isError":true}' ;;
    *) continue ;;
  esac
  echo "noise before an answer"
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,$answer}"
done
"#;

/// A project whose configuration declares the server, beside others that cannot be used.
fn project(own: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("server.sh", SERVER);
    let server = r#"{ "command": "/bin/sh", "args": ["server.sh", "${ARG:-first}"], "env": { "GREETING": "${env:WORD:-hello}" } }"#;
    sandbox.write(
        "c.json",
        &format!(
            r#"{{
  "mcpServers": {{
    "shell": {server},
    "gone": {{ "command": "./no-such-program" }},
    "unset": {{ "command": "/bin/true", "env": {{ "KEY": "${{TOKEN}}" }} }},
    "remote": {{ "type": "http", "url": "https://example.com/mcp" }},
    "odd": {{ "command": ["/bin/true"] }},
    "off": {{ "command": "/bin/true", "disabled": true }},
  }},
  "callgate": {{ {own} }},
}}"#
        ),
    );
    sandbox
}

/// The public name of `env.get`.
fn env_get() -> String {
    callgate::schema::public_name("shell", "env.get")
}

#[test]
fn a_check_starts_every_server_and_says_how_to_mend_what_is_wrong() {
    let sandbox = project("");
    let ended = sandbox.callgate(["check", "--config", "c.json"]);
    assert_shown!(ended.shown());
    let ended = sandbox.callgate(["check", "--config", "c.json", "--json"]);
    assert_eq!(ended.code, Some(1));
    let found = Json::parse(&ended.stdout).unwrap();
    let states: Vec<Json> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|server| {
            json!([server["name"].clone(), server["ok"].clone(), server["state"].clone()])
        })
        .collect();
    let state = |name: &str, ok: bool, state: &str| json!([name, ok, state]);
    assert_eq!(
        states,
        [
            state("shell", true, "ready"),
            state("gone", false, "down"),
            state("unset", false, "unusable"),
            state("remote", false, "unusable"),
            state("odd", false, "unusable"),
        ]
    );
    assert_eq!(found[0]["renamed"], json!({ "env.get": env_get() }));
}

#[test]
fn a_check_of_working_servers_succeeds() {
    let sandbox = Sandbox::new();
    sandbox.write("server.sh", SERVER);
    sandbox.write(
        "c.json",
        r#"{ "mcpServers": { "shell": { "command": "/bin/sh", "args": ["server.sh"] } } }"#,
    );
    assert_eq!(sandbox.callgate(["check", "--config", "c.json"]).code, Some(0));
    assert_shown!(sandbox.callgate(["check"]).shown());
}

#[test]
fn programs_and_calls_use_servers_and_files_together() {
    let sandbox = project("");
    let program = format!(
        "const [said, text] = await Promise.all([tools[{:?}]({{}}), tools.read({{ path: \"readme.md\" }})]);
         let failure; try {{ await tools.shell__shout({{ text: \"a\" }}) }} catch (error) {{ failure = [error.toolName, error.message] }}
         return [said, text.content ?? text, failure]",
        env_get()
    );
    let report = sandbox.run_json(&["--config", "c.json"], &program);
    let result = &report["result"];
    assert_eq!(result[0], json!("hello/first"), "{report}");
    assert!(result[1].to_string().contains("TODO: more"), "{report}");
    assert_eq!(result[2], json!(["shell__shout", "failed: too quiet"]));
    let called = sandbox.callgate(["tools", "call", "-q", "--config", "c.json", &env_get()]);
    assert_eq!((called.code, &*called.stdout), (Some(0), "hello/first\n"));
    let wrong = sandbox.callgate([
        "tools",
        "call",
        "-q",
        "--config",
        "c.json",
        "shell__shout",
        "{\"txt\":1}",
    ]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("text: missing"), "{}", wrong.stderr);
    let listed = sandbox.callgate(["tools", "list", "-q", "--config", "c.json"]);
    assert!(
        listed.stdout.contains("shell__shout") && listed.stdout.contains("grep"),
        "{}",
        listed.stdout
    );
    let sdk = sandbox.callgate(["sdk", "-q", "--config", "c.json"]);
    assert!(sdk.stdout.contains("shell__shout: {\n    text: string;"), "{}", sdk.stdout);
}

#[test]
fn variables_come_from_the_environment_and_reach_only_who_declares_them() {
    let sandbox = project("");
    let mut command = sandbox.command();
    command.args(["tools", "call", "-q", "--config", "c.json", &env_get()]);
    command.env("WORD", "hi").env("ARG", "second").env("GREETING", "not this");
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "hi/second\n");
}

#[test]
fn what_our_own_block_says_about_servers_is_checked() {
    let said = [
        r#""servers": { "shell": { "validateArguments": "off", "parallel": ["env*"], "timeouts": { "idle": 5 } } }"#,
        r#""servers": { "shel": {} }"#,
        r#""servers": { "shell": { "paralel": true } }"#,
        r#""servers": { "shell": { "parallel": 1 } }"#,
        r#""servers": { "shell": { "parallel": ["[a"] } }"#,
        r#""servers": { "shell": { "trusted": "yes" } }"#,
        r#""servers": { "shell": { "result": "raw" } }"#,
        r#""servers": { "shell": { "timeouts": { "call": 0 } } }"#,
        r#""sdk": { "detail": "some" }"#,
        r#""sdk": { "detail": "full", "inlineBytes": 100 }"#,
    ];
    let said = said.iter().fold(String::new(), |mut text, own| {
        let sandbox = project(own);
        let ended = sandbox.callgate(["tools", "list", "-q", "--config", "c.json"]);
        let lines = ended.stderr.lines().filter(|line| !line.starts_with("warning: server `"));
        _ = writeln!(text, "{own}\nexit {}", ended.code.unwrap());
        lines.for_each(|line| _ = writeln!(text, "{line}"));
        text.push('\n');
        text
    });
    assert_shown!(said);
}

#[test]
fn a_client_sees_the_tools_of_the_servers_and_the_rules_hold() {
    let sandbox =
        project(r#""policy": { "deny": [{ "tool": "shell__shout", "reason": "it is late" }] }"#);
    let mut client = Client::start(&sandbox, &[]);
    assert_eq!(client.names(), [env_get(), "shell__shout".to_owned()]);
    let answer = client.call(&env_get(), json!({}));
    assert_eq!(answer, json!({ "content": [{ "type": "text", "text": "hello/first" }] }));
    let denied = client.call("shell__shout", json!({ "text": "a" }));
    assert_eq!(denied["isError"], json!(true));
    assert!(denied["content"][0]["text"].as_str().unwrap().contains("it is late"), "{denied}");
    assert_eq!(client.end(), Some(0));
    let logs = sandbox.logs();
    assert_eq!(logs.len(), 1);
    assert_eq!(Sandbox::events(&logs[0], "tool/call").len(), 2);
    assert_eq!(Sandbox::events(&logs[0], "policy/decision").len(), 1);
    assert_eq!(Sandbox::events(&logs[0], "gateway/notice")[0]["details"]["tool"], json!("env.get"));
    assert_eq!(Sandbox::events(&logs[0], "turn/end").len(), 1);
}

/// The names of the tools that the server was asked to call, in order.
fn received(sandbox: &Sandbox) -> Vec<Json> {
    let record = std::fs::read_to_string(sandbox.path().join("received.jsonl")).unwrap_or_default();
    record.lines().map(|line| Json::parse(line).unwrap()["params"]["name"].clone()).collect()
}

#[test]
fn a_rule_over_a_servers_tool_stops_its_call_whoever_makes_it() {
    let rule = r#"{ "tool": "shell__sh*", "reason": "it is late" }"#;
    let sandbox = project(&format!(r#""policy": {{ "deny": [{rule}] }}"#));
    let mut client = Client::start(&sandbox, &["--mode", "both"]);
    let place = "c.json, line 10";
    let words = format!(
        "`shell__shout` is denied by policy.deny[0] \"shell__sh*\": it is late (to allow it, change the rule in {place})"
    );
    let direct = client.call("shell__shout", json!({ "text": "a" }));
    let content = json!([{ "type": "text", "text": format!("Error: {words}") }]);
    assert_eq!(direct, json!({ "content": content, "isError": true }));
    let code = format!(
        "const shout = () => tools.shell__shout({{ text: \"a\" }}).catch((error) => [error.toolName, error.message]);
         const alone = await shout();
         const together = await Promise.all([shout(), tools.{}({{}}), shout()]);
         const nested = await Promise.all([1, 2].map(async () => (await Promise.all([shout()]))[0]));
         return {{ alone, together, nested }}",
        env_get()
    );
    let caught = json!(["shell__shout", format!("denied: {words}")]);
    let value = value_of(&client.run(&code));
    assert_eq!(value["alone"], caught);
    assert_eq!(value["together"], json!([caught.clone(), "hello/first", caught.clone()]));
    assert_eq!(value["nested"], json!([caught.clone(), caught.clone()]));
    let uncaught = client.run("await tools.shell__shout({ text: 'a' })");
    assert_eq!(uncaught["isError"], json!(true));
    assert!(text_of(&uncaught).contains(&format!("denied: {words}")), "{uncaught}");
    assert_eq!(client.end(), Some(0));
    // The same words at a terminal.
    let arguments =
        ["tools", "call", "-q", "--config", "c.json", "shell__shout", r#"{"text":"a"}"#];
    let terminal = sandbox.callgate(arguments);
    assert_eq!(terminal.code, Some(1));
    assert!(terminal.stderr.ends_with(&format!("error: {words}\n")), "{}", terminal.stderr);
    // The server was asked for the other tool only.
    assert_eq!(received(&sandbox), [json!("env.get")]);
    // Every denial is in the log, with its rule.
    let decisions = Sandbox::events(&sandbox.logs()[0], "policy/decision");
    let said: Vec<Json> = decisions
        .iter()
        .map(|it| json!([it["callId"].clone(), it["decision"].clone(), it["rule"].clone()]))
        .collect();
    let denied = |id: &str| json!([id, "deny", "policy.deny[0] \"shell__sh*\""]);
    let ids = [
        "call-1",
        "call-2:code:1",
        "call-2:code:2",
        "call-2:code:4",
        "call-2:code:5",
        "call-2:code:6",
        "call-3:code:1",
    ];
    assert_eq!(said, ids.map(denied));
}

#[test]
fn first_questions_wait_for_slow_servers_as_long_as_the_configuration_says() {
    let slow = format!("sleep 4\n{SERVER}");
    let names = |own: &str| {
        let sandbox = project(own);
        sandbox.write("server.sh", &slow);
        let mut client = Client::start(&sandbox, &[]);
        (client.names(), client)
    };
    let (none, mut client) = names("");
    assert_eq!(none, Vec::<String>::new());
    // It appears later.
    let deadline = Instant::now() + Duration::from_secs(30);
    while client.names().is_empty() {
        assert!(Instant::now() < deadline, "the slow server never appears");
        sleep(Duration::from_millis(50));
    }
    let (all, _client) = names(r#""timeouts": { "settle": 60 }"#);
    assert_eq!(all, [env_get(), "shell__shout".to_owned()]);
}

/// Waits until a call of `shell__shout` ends with a text that begins like that.
fn wait_until_told(client: &mut Client, start: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let answer = client.call("shell__shout", json!({ "text": "a" }));
        if text_of(&answer).starts_with(start) {
            return;
        }
        assert!(Instant::now() < deadline, "{answer}");
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn rules_that_change_hold_at_once_and_a_bad_file_changes_nothing() {
    let rules = |rule: &str| format!(r#""policy": {{ "deny": [{rule}] }}"#);
    let sandbox = project("");
    let mut client = Client::start(&sandbox, &[]);
    wait_until_told(&mut client, "too quiet");
    let write = |own: &str| {
        let text = std::fs::read_to_string(project(own).path().join("c.json")).unwrap();
        sandbox.write("c.json", &text);
    };
    write(&rules(r#""shell__shout""#));
    wait_until_told(
        &mut client,
        "Error: `shell__shout` is denied by policy.deny[0] \"shell__shout\"",
    );
    write(&rules(r#""other", "shell__*""#));
    wait_until_told(&mut client, "Error: `shell__shout` is denied by policy.deny[1] \"shell__*\"");
    // Neither of these is a configuration; long after they were noticed the rules still hold.
    let before = received(&sandbox).len();
    for bad in
        [Some("{ \"callgate\": { \"policy\": "), Some("{ \"callgate\": { \"policy\": 1 } }"), None]
    {
        match bad {
            Some(text) => sandbox.write("c.json", text),
            None => std::fs::remove_file(sandbox.path().join("c.json")).unwrap(),
        }
        let deadline = Instant::now() + Duration::from_millis(1_600);
        while Instant::now() < deadline {
            let answer = client.call("shell__shout", json!({ "text": "a" }));
            assert!(
                text_of(&answer).starts_with("Error: `shell__shout` is denied by policy.deny[1]"),
                "{answer}"
            );
            sleep(Duration::from_millis(50));
        }
    }
    assert_eq!(received(&sandbox).len(), before);
    write("");
    wait_until_told(&mut client, "too quiet");
}

#[test]
fn servers_that_are_declared_later_come_under_the_rules_that_came_with_them() {
    let config = |names: &[&str], rule: &str| {
        let servers = names
            .iter()
            .map(|name| format!(r#""{name}": {{ "command": "/bin/sh", "args": ["server.sh"] }}"#));
        let servers = servers.collect::<Vec<String>>().join(", ");
        format!(
            r#"{{ "mcpServers": {{ {servers} }}, "callgate": {{ "policy": {{ "deny": ["{rule}"] }} }} }}"#
        )
    };
    let sandbox = Sandbox::new();
    sandbox.write("server.sh", SERVER);
    sandbox.write("c.json", &config(&["shell"], "none"));
    let mut client = Client::start(&sandbox, &[]);
    let wait_for = |client: &mut Client, prefixes: &[&str]| {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let names = client.names();
            let of = |prefix: &&&str| names.iter().any(|name| name.starts_with(**prefix));
            if ["shell", "second"].iter().filter(of).eq(prefixes) {
                return;
            }
            assert!(Instant::now() < deadline, "{names:?}");
            sleep(Duration::from_millis(20));
        }
    };
    wait_for(&mut client, &["shell"]);
    sandbox.write("c.json", &config(&["shell", "second"], "second__*"));
    wait_for(&mut client, &["shell", "second"]);
    let denied = client.call("second__shout", json!({ "text": "a" }));
    assert!(text_of(&denied).contains("is denied by policy.deny[0]"), "{denied}");
    sandbox.write("c.json", &config(&["second"], "none"));
    wait_for(&mut client, &["second"]);
    let unknown = client.call("shell__shout", json!({ "text": "a" }));
    assert!(text_of(&unknown).contains("unknown tool `shell__shout`"), "{unknown}");
    assert_eq!(client.call("second__shout", json!({ "text": "a" }))["isError"], json!(true));
    assert_eq!(received(&sandbox), [json!("shout")]);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn the_log_of_a_gateway_shows_direct_calls_and_calls_of_programs_with_their_rules() {
    let sandbox = project(r#""policy": { "deny": ["read"] }"#);
    let mut client = Client::start(&sandbox, &["--mode", "both", "--root", "."]);
    client.call(&env_get(), json!({ "name": "GREETING" }));
    client.call("shell__shout", json!({ "text": "a" }));
    client.call("shell__shout", json!({ "txt": 1 }));
    client.call("read", json!({ "path": "readme.md" }));
    client.call("shell__whisper", json!({}));
    let code = format!(
        "await tools.{}({{}}); await tools.shell__shout({{ text: 'b' }}).catch(() => 0); await tools.read({{ path: 'readme.md' }})",
        env_get()
    );
    client.run(&code);
    assert_eq!(client.end(), Some(0));
    assert_shown!(sandbox.callgate(["log"]).shown());
}

#[test]
fn a_model_that_writes_programs_is_told_how_and_its_program_uses_all_tools() {
    let sandbox = project(r#""policy": { "deny": ["shell__shout"] }"#);
    let mut client = Client::start(&sandbox, &["--mode", "code", "--root", "."]);
    assert_eq!(client.names(), ["run_code"]);
    let description = client.description();
    // The accessors of the program are those that the text shows.
    let accessor = |start: &str| {
        let line =
            description.lines().find(|line| line.starts_with(&format!("- {start}"))).unwrap();
        let end = line.find(": ").unwrap_or(line.len());
        line[2..end].to_owned()
    };
    let program = format!(
        "const said = await {}({{}}); const found = await {}({{ pattern: \"src/*.rs\" }});
         let denied; try {{ await {}({{ text: said }}) }} catch (error) {{ denied = error.message }}
         return {{ said, found, denied }}",
        accessor("tools.shell__env").as_str(),
        accessor("tools.glob"),
        accessor("tools.shell__shout"),
    );
    let value = value_of(&client.run(&program));
    assert_eq!(value["said"], json!("hello/first"));
    assert!(value["found"].to_string().contains("src/lib.rs"), "{value}");
    assert!(value["denied"].as_str().unwrap().starts_with("denied: "), "{value}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn the_description_of_run_code_is_enough_to_write_a_program() {
    let sandbox = project("");
    let mut client = Client::start(&sandbox, &["--mode", "code", "--root", "."]);
    let description = client.description();
    let declared = writer::declarations(&description);
    let wanted = [env_get(), "read".to_owned(), "grep".to_owned()];
    let tools = wanted.map(|name| declared.iter().find(|tool| tool.name == name).unwrap().clone());
    let wish = |name: &str| match name {
        "path" => Some(json!("readme.md")),
        "pattern" => Some(json!("TODO")),
        _ => None,
    };
    let program =
        writer::program(&tools.each_ref(), &wish, &|name| writer::accessor(&description, name));
    let value = value_of(&client.run(&program));
    assert_eq!(value[&*env_get()], json!("hello/first"), "{value}");
    assert!(!value["read"].is_null() && !value["grep"].is_null(), "{program}\n{value}");
}

#[test]
fn standard_output_carries_the_protocol_at_every_log_level() {
    let sandbox = project("");
    let requests = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"shell__shout","arguments":{"text":"a"}}}
no JSON at all
"#;
    for level in ["off", "warn", "trace"] {
        let ended =
            sandbox.with_input(["serve", "--config", "c.json", "--log-level", level], requests);
        let messages: Vec<Json> =
            ended.stdout.lines().map(|line| Json::parse(line).unwrap()).collect();
        assert!(messages.iter().all(|message| message["jsonrpc"] == json!("2.0")));
        assert_eq!((ended.code, messages.len()), (Some(0), 3), "{}", ended.stdout);
        assert_eq!(
            ended.stderr.contains("noise before an answer"),
            level != "off",
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn signals_end_a_gateway_in_order() {
    for (signal, code) in [("TERM", 0), ("INT", 130)] {
        let sandbox = project("");
        let mut client = Client::start(&sandbox, &[]);
        client.names();
        client.signal(signal);
        assert_eq!(client.wait().code(), Some(code));
    }
}
