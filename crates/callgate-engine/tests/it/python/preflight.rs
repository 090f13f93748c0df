//! Pre-flight of Python programs: what is found, where, and what is never taken for a fault.

use callgate_core::preflight::ToolSignature;
use callgate_core::program::{ErrorClass, Namespace, Program, ProgramEngine};
use callgate_schema::{Json, json};

use super::support::engine;
use crate::support::block_on;

fn signatures() -> Vec<ToolSignature> {
    let object = |properties: Json, required: Json| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let read = json!({ "path": { "type": "string" }, "limit": { "type": "integer" } });
    vec![
        ToolSignature::new("read_file", object(read, json!(["path"]))),
        ToolSignature::new("get", object(json!({ "id": { "type": "integer" } }), json!(["id"]))),
        ToolSignature::new(
            "send-message",
            object(json!({ "text": { "type": "string" } }), json!(["text"])),
        ),
    ]
}

#[track_caller]
fn finds(source: &str, expected: &[&str]) {
    let tools = signatures();
    let members = tools.iter().map(|tool| tool.name.clone()).collect();
    let class = ErrorClass::new("ToolCallError", "toolName");
    let program = Program::new(source, vec![Namespace::new("tools", members, Some(class))]);
    let found = block_on(engine().for_session("check").check(&program, &tools));
    let found: Vec<String> = found.iter().map(|it| format!("{} {it}", it.kind)).collect();
    assert_eq!(found, expected, "{source}");
}

#[test]
fn what_would_certainly_fail_is_found_all_at_once_with_its_place() {
    finds(
        "await tools.raed_file({'path': 'a'})\nimport requests\nawait tools.get(id='x')\ntools.get({'id': 1})\nawait tools.read_file({'pth': 'a'})",
        &[
            "unknown-tool line 1, column 13: `tools` has no `raed_file`; did you mean `read_file`?",
            "import line 2, column 1: `requests` cannot be imported: programs have no network; call a tool instead",
            "wrong-argument line 3, column 20: `get`: id: expected an integer, got the string \"x\"",
            "not-awaited line 4, column 7: `get` is called and nothing waits for its end: write `await` in front of it",
            "missing-argument line 5, column 24: `read_file`: path: missing, expected a string; `pth` was passed, rename it if it was meant",
        ],
    );
    finds(
        "x = = 1\nawait tools.get({})",
        &["syntax line 1, column 5: syntax error: invalid syntax"],
    );
    finds(
        "await tools['send-mesage'](text='é')",
        &[
            "unknown-tool line 1, column 13: `tools` has no `send-mesage`; did you mean `send-message`?",
        ],
    );
    finds(
        "async def main():\n    return await tools.gte({'id': 1})\nreturn await main()",
        &["unknown-tool line 2, column 24: `tools` has no `gte`; did you mean `get`?"],
    );
    finds(
        "é = 'é'; await tools.get({'id': (1, 2)})",
        &["wrong-argument line 1, column 33: `get`: id: a tuple is not JSON: use a list"],
    );
}

#[test]
fn what_may_work_is_never_taken_for_a_fault() {
    for source in [
        "try:\n    await tools.raed_file({})\nexcept Exception:\n    pass",
        "import asyncio\nawait asyncio.gather(tools.get({}), return_exceptions=True)",
        "if hasattr(tools, 'nope'):\n    await tools.nope({})",
        "if 'nope' in tools:\n    await tools.nope({})",
        "name = 'nope'\nawait tools[name]({})",
        "args = {'id': 1}\nawait tools.get(args)\nawait tools.get({**args})\nawait tools.get(**args)",
        "def f():\n    import requests\n",
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None",
        "return 1\nawait tools.nope({})",
        "DEBUG = False\nif DEBUG:\n    await tools.nope({})",
        "tools = {}\nawait tools.nope({})",
        "def f(tools):\n    return tools.nope({})",
        "while True:\n    pass\nawait tools.nope({})",
        "import contextlib\nwith contextlib.suppress(Exception):\n    await tools.nope({})",
        "async def f():\n    await tools.nope({})\n",
        "x = tools.get({'id': 1})\nawait x",
        "import asyncio\nt = asyncio.create_task(tools.get({'id': 1}))\nreturn await t",
        "await tools.read_file({'path': f'{1}.txt', 'limit': int('5')})",
    ] {
        finds(source, &[]);
    }
}
