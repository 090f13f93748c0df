//! A tool that fails in the middle of a program: it can be caught, and if it is not, all that was done before is told.

use callgate::{Json, json};

use crate::sandbox::{Ended, Sandbox, assert_shown, without_times};

/// Tools that succeed, fail, break the protocol, and end their server.
const SERVER: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *'"initialize"'*) answer='"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"up","version":"1"}}' ;;
    *'"tools/list"'*) answer='"result":{"tools":[{"name":"first","inputSchema":{"type":"object"}},{"name":"second","inputSchema":{"type":"object"}},{"name":"third","inputSchema":{"type":"object"}},{"name":"strict","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}},{"name":"refuses","inputSchema":{"type":"object"}},{"name":"dies","inputSchema":{"type":"object"}}]}' ;;
    *'"first"'*) answer='"result":{"content":[{"type":"text","text":"one"}]}' ;;
    *'"second"'*) answer='"result":{"content":[{"type":"text","text":"quota used up"}],"isError":true}' ;;
    *'"third"'*) answer='"result":{"content":[{"type":"text","text":"three"}]}' ;;
    *'"refuses"'*) answer='"error":{"code":-32000,"message":"the upstream says no"}' ;;
    *'"dies"'*) exit 7 ;;
    *) continue ;;
  esac
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,$answer}"
done
"#;

const CONFIG: &str =
    r#"{ "mcpServers": { "up": { "command": "/bin/sh", "args": ["server.sh"] } } }"#;

/// What the program does between its first and its third call, in either language.
const CALLS: [(&str, &str); 5] = [
    ("isError", "tools.up__second({})"),
    ("unknown tool", "tools[name]({})"),
    ("missing argument", "tools.up__strict(options)"),
    ("JSON-RPC error", "tools.up__refuses({})"),
    ("dead process", "tools.up__dies({})"),
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("server.sh", SERVER);
    sandbox.write("c.json", CONFIG);
    sandbox
}

fn caught(call: &str) -> String {
    format!(
        "const name = 'up__secnd';\n\
         const options: Record<string, string> = {{}};\n\
         const one = await tools.up__first({{}});\n\
         let message = 'nothing failed';\n\
         try {{\n  await {call};\n}} catch (error) {{\n\
         \x20 message = `${{(error as any).toolName}}: ${{(error as Error).message}}`;\n}}\n\
         const three = await tools.up__third({{}}).catch((error: Error) => error.message);\n\
         return {{ one, message, three }};\n"
    )
}

fn uncaught(call: &str) -> String {
    format!(
        "const name = 'up__secnd';\n\
         const options: Record<string, string> = {{}};\n\
         const one = await tools.up__first({{}});\n\
         console.log('first:', one);\n\
         await {call};\n\
         return await tools.up__third({{}});\n"
    )
}

#[test]
fn a_caught_failure_carries_its_tool_and_its_kind_and_the_program_goes_on() {
    // BRIDGE-22
    let results: Vec<String> = CALLS
        .iter()
        .map(|(name, call)| {
            let report = sandbox().run_json(&["--config", "c.json"], &caught(call));
            assert_eq!(report["ok"], json!(true), "{name}: {report}");
            format!("{name}: {}", steady(&report["result"]))
        })
        .collect();
    insta::assert_snapshot!(results.join("\n"));
}

#[test]
fn a_failure_that_is_not_caught_tells_its_line_its_tool_and_all_that_was_done() {
    // CODE-18 RUNTIME-21 TSRT-10
    let shown = CALLS.map(|(name, call)| {
        let sandbox = sandbox();
        sandbox.write("program.ts", &uncaught(call));
        let ended = sandbox.callgate(["run", "--config", "c.json", "program.ts"]);
        assert_eq!(ended.code, Some(1), "{name}");
        format!("{name}\n{}", ended.shown())
    });
    assert_shown!(shown.join("\n"));
}

#[test]
fn the_log_shows_the_failed_call_as_failed() {
    // BRIDGE-31
    let sandbox = sandbox();
    let report = sandbox.run_json(&["--config", "c.json"], &uncaught("tools.up__second({})"));
    assert_eq!(report["ok"], json!(false));
    let logs = sandbox.logs();
    let settled = Sandbox::events(&logs[0], "tool/code-dispatch");
    let outcomes: Vec<(Json, Json)> =
        settled.iter().map(|it| (it["name"].clone(), it["isError"].clone())).collect();
    assert_eq!(outcomes, [(json!("up__first"), json!(false)), (json!("up__second"), json!(true))]);
    insta::assert_snapshot!(without_times(&report).pretty());
}

#[test]
fn arguments_of_a_server_are_judged_before_the_run_only_where_they_are_enforced() {
    let sandbox = sandbox();
    let program = "await tools.up__first({});\nawait tools.up__strict({ pth: 'a' });";
    sandbox.write("program.ts", program);
    let enforced = sandbox.callgate(["run", "--config", "c.json", "--check", "program.ts"]);
    let refused = sandbox.run_json(&["--config", "c.json"], program);
    assert_eq!(refused["calls"], json!([]));
    let lenient = CONFIG.replace(
        "} } }",
        r#"} }, "callgate": { "servers": { "up": { "validateArguments": "warn" } } } }"#,
    );
    sandbox.write("c.json", &lenient);
    let lenient = sandbox.callgate(["run", "--config", "c.json", "--check", "program.ts"]);
    assert_shown!([enforced.shown(), lenient.shown()].join("\n"));
}

fn caught_in_python(call: &str) -> String {
    format!(
        "name = 'up__secnd'\noptions = {{}}\none = await tools.up__first({{}})\nmessage = 'nothing failed'\n\
         try:\n    await {call}\nexcept Exception as error:\n\
         \x20   message = f\"{{getattr(error, 'toolName', None)}}: {{error}}\"\n\
         try:\n    three = await tools.up__third({{}})\nexcept ToolCallError as error:\n    three = str(error)\n\
         return {{'one': one, 'message': message, 'three': three}}\n"
    )
}

fn uncaught_in_python(call: &str) -> String {
    format!(
        "name = 'up__secnd'\noptions = {{}}\none = await tools.up__first({{}})\nprint('first:', one)\nawait {call}\n\
         return await tools.up__third({{}})\n"
    )
}

/// A result without what depends on how soon a dead server is started again.
fn steady(result: &Json) -> Json {
    let third = result["three"].as_str().unwrap_or_default();
    if third == "three" { result.clone() } else { result["message"].clone() }
}

/// A text without the marks that newer versions of Python put under a line.
fn unmarked(text: &str) -> String {
    let is_marks = |line: &str| {
        let line = line.trim();
        !line.is_empty() && line.chars().all(|mark| matches!(mark, '~' | '^'))
    };
    text.split_inclusive('\n').filter(|line| !is_marks(line)).collect()
}

/// Runs a program in Python, which is found by the path.
fn run_python(sandbox: &Sandbox, options: &[&str]) -> Ended {
    let mut command = sandbox.command();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.args(["run", "--config", "c.json"]).args(options).arg("program.py");
    Sandbox::ended(command, "")
}

#[test]
fn a_failure_can_be_caught_in_python_as_well() {
    let results = CALLS.map(|(name, call)| {
        let sandbox = sandbox();
        sandbox.write("program.py", &caught_in_python(call));
        let ended = run_python(&sandbox, &["--json", "--quiet"]);
        let report = Json::parse(ended.stdout.trim_end()).unwrap();
        assert_eq!(report["ok"], json!(true), "{name}: {report}");
        format!("{name}: {}", steady(&report["result"]))
    });
    insta::assert_snapshot!(results.join("\n"));
}

#[test]
fn a_failure_that_is_not_caught_in_python_tells_as_much() {
    let shown = CALLS.map(|(name, call)| {
        let sandbox = sandbox();
        sandbox.write("program.py", &uncaught_in_python(call));
        let ended = run_python(&sandbox, &[]);
        assert_eq!(ended.code, Some(1), "{name}");
        format!("{name}\n{}", unmarked(&ended.shown()))
    });
    assert_shown!(shown.join("\n"));
}
