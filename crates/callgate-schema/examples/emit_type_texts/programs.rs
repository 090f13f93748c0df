//! Programs against generated declarations: what the checkers must accept, and refuse.

use std::error::Error;

use callgate_schema::{Json, SdkTool, json, python, typescript};

use crate::Out;

pub(crate) fn emit(out: &Out) -> Result<(), Box<dyn Error>> {
    let schemas = schemas();
    let tools: Vec<_> =
        schemas.iter().map(|(name, args, output)| SdkTool::new(name, "", args, output)).collect();
    let program = |declarations: String, program: &str| format!("{declarations}\n\n{program}");
    out.typescript("program", &program(typescript::declarations(&tools), TYPESCRIPT))?;
    out.python("program", &program(python::declarations(&tools), PYTHON))?;

    let body = example(typescript::instructions()).join("\n");
    let body = format!("export async function program(): Promise<JsonValue> {{\n{body}\n}}\n");
    out.typescript("example", &program(typescript::declarations(&tools), &body))?;
    // Checkers know no subscripts: such tools stand in a comment.
    let body = example(python::instructions()).join("\n");
    let body = body.replace("titles)})", "titles)})  # type: ignore[index]");
    let body = format!("async def program() -> Any:\n{body}\n");
    let any = "from typing import Any\n";
    out.python("example", &format!("{any}{}", program(python::declarations(&tools), &body)))
}

/// The indented program in the instructions.
fn example(instructions: &str) -> Vec<&str> {
    instructions.lines().filter(|line| line.starts_with("    ") || line.is_empty()).collect()
}

fn schemas() -> Vec<(&'static str, Json, Json)> {
    let closed = |properties: Json, required: Json| json!({ "type": "object", "additionalProperties": false, "properties": properties, "required": required });
    let text = json!({ "type": "string" });
    let nullable = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
    let ends = json!({
        "oneOf": [
            closed(json!({ "kind": { "type": "string", "const": "done" }, "code": { "type": "integer" } }), json!(["kind", "code"])),
            closed(json!({ "kind": { "type": "string", "const": "gone" }, "why": text.clone() }), json!(["kind", "why"])),
        ],
    });
    let parts = json!({
        "allOf": [
            { "type": "object", "properties": { "id": { "type": "integer" } }, "required": ["id"] },
            { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] },
        ],
    });
    vec![
        (
            "run",
            closed(
                json!({ "command": text.clone(), "limit": { "type": "integer" } }),
                json!(["command"]),
            ),
            ends,
        ),
        (
            "open",
            json!({ "type": "object", "properties": { "path": text.clone() }, "required": ["path"] }),
            text.clone(),
        ),
        (
            "tag_all",
            closed(json!({ "tags": { "type": "array", "items": nullable } }), json!(["tags"])),
            closed(json!({ "parts": { "type": "array", "items": parts } }), json!(["parts"])),
        ),
        (
            "get_page",
            closed(json!({ "id": text.clone() }), json!(["id"])),
            closed(
                json!({ "title": text.clone(), "open": { "type": "boolean" } }),
                json!(["title", "open"]),
            ),
        ),
        (
            "post-note",
            closed(json!({ "text": text.clone() }), json!(["text"])),
            json!({ "type": "null" }),
        ),
    ]
}

const TYPESCRIPT: &str = r#"export async function program(): Promise<void> {
  const end = await tools.run({ command: "ls", limit: 5 });
  if (end.kind === "done") {
    const code: number = end.code;
    console.log(code);
  } else {
    console.log(end.why.length);
  }
  await tools.open({ path: "a", and: ["more"] });
  await tools["post-note"]({ text: "hi" });
  try {
    await tools.run({ command: "ls" });
  } catch (error) {
    if (error instanceof ToolCallError) {
      const name: ToolName = error.toolName;
      console.log(name, error.message);
    }
  }
  const { parts } = await tools.tag_all({ tags: ["a", null] });
  const first: number = parts[0].id + parts[0].name.length;
  console.log(first, parts.map((part) => part.name));

  // @ts-expect-error
  await tools.run({ limit: 5 });
  // @ts-expect-error
  await tools.run({ command: 5 });
  // @ts-expect-error
  await tools.open({ path: null });
  // @ts-expect-error
  await tools.tag_all({ tags: "a" });
  // @ts-expect-error
  await tools.tag_all({ tags: [1] });
  // @ts-expect-error
  await tools.missing({});
  // @ts-expect-error
  console.log(end.code);
}
"#;

const PYTHON: &str = r#"async def program() -> None:
    end = await tools.run({"command": "ls", "limit": 5})
    if end["kind"] == "done":
        code: int = end["code"]
        print(code)
    else:
        print(len(end["why"]))
    await tools.open({"path": "a"})
    try:
        await tools.run({"command": "ls"})
    except ToolCallError as error:
        name: str = error.toolName
        print(name, error)
    parts = (await tools.tag_all({"tags": ["a", None]}))["parts"]
    print(parts[0]["id"] + len(parts[0]["name"]))

    await tools.run({"limit": 5})  # type: ignore[typeddict-item]
    await tools.run({"command": 5})  # type: ignore[typeddict-item]
    await tools.open({"path": None})  # type: ignore[typeddict-item]
    await tools.tag_all({"tags": "a"})  # type: ignore[typeddict-item]
    await tools.tag_all({"tags": [1]})  # type: ignore[list-item]
    await tools.missing({})  # type: ignore[attr-defined]
"#;
