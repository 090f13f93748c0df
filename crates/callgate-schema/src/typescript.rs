//! Schemas as TypeScript types, and the SDK text of tools for programs in TypeScript.
//!
//! | I want to …                               | use                                  |
//! |-------------------------------------------|--------------------------------------|
//! | show a model all of its tools             | [`section`]                          |
//! | type-check a program                      | [`declarations`]                     |
//! | show names first, signatures on demand    | [`catalogue`], [`declaration_of`]    |
//! | print one schema                          | [`type_text`], [`foreign_type_text`] |
//!
//! Nothing here fails, and equal input gives equal bytes. Work is linear in the text, whatever the
//! depth of a schema.

mod print;

use crate::json::Json;
use crate::sdk::{Reading, SdkOutput, SdkTool, catalogue_of, sorted};
use crate::shape::{ShapeId, Shapes};
use crate::text::push_string_literal;

use print::{Printer, is_identifier, push_doc, push_indent, push_key};

/// The type of a schema's values. `level` is the indentation of the construct it belongs to.
///
/// A schema outside the subset gives `unknown`, wherever in it the fault is; see
/// [`foreign_type_text`].
///
/// ```
/// use callgate_schema::{json, typescript};
///
/// let schema = json!({ "type": "array", "items": { "oneOf": [{ "type": "string" }, { "type": "null" }] } });
/// assert_eq!(typescript::type_text(&schema, 0), "(string | null)[]");
/// assert_eq!(typescript::type_text(&json!({ "type": "string", "format": "uri" }), 0), "unknown");
/// ```
pub fn type_text(schema: &Json, level: usize) -> String {
    type_as(schema, level, Reading::Strict)
}

/// The type of a schema's values, as well as it can be said for a schema outside the subset.
///
/// For a schema of the subset it is that of [`type_text`].
///
/// ```
/// use callgate_schema::{json, typescript};
///
/// let schema = json!({ "anyOf": [{ "type": "string", "format": "uri" }, { "type": "null" }] });
/// assert_eq!(typescript::foreign_type_text(&schema, 0), "string | null");
/// ```
pub fn foreign_type_text(schema: &Json, level: usize) -> String {
    type_as(schema, level, Reading::Foreign)
}

fn type_as(schema: &Json, level: usize, reading: Reading) -> String {
    let mut out = String::new();
    Renderer::new(reading).push_schema(&mut out, schema, level);
    out
}

/// What a model needs to write programs: [`instructions`], and the [`declarations`] of its tools
/// in a code fence.
///
/// ```
/// use callgate_schema::typescript;
///
/// let section = typescript::section(&[]);
/// assert!(section.starts_with(typescript::instructions()));
/// assert!(section.ends_with("\n```"));
/// ```
pub fn section(tools: &[SdkTool<'_>]) -> String {
    format!("{INSTRUCTIONS}\n\n```ts\n{}\n```", declarations(tools))
}

/// How programs are written and run, in front of the declarations. Always the same text.
pub fn instructions() -> &'static str {
    INSTRUCTIONS
}

const INSTRUCTIONS: &str = include_str!("typescript/instructions.md").trim_ascii_end();

/// The declarations of tools: what stands in the code fence of [`section`].
///
/// The order of `tools` does not matter; each name may come once.
///
/// ```
/// use callgate_schema::{SdkTool, json, typescript};
///
/// let (parameters, output) = (json!({ "type": "object" }), json!({ "type": "string" }));
/// let text = typescript::declarations(&[SdkTool::new("my-tool", "", &parameters, &output)]);
/// assert!(text.contains("  \"my-tool\": Record<string, JsonValue>;\n"));
/// ```
pub fn declarations(tools: &[SdkTool<'_>]) -> String {
    declared_as(tools, Reading::Foreign)
}

/// As [`declarations`], with `unknown` for every schema outside the subset.
pub fn strict_declarations(tools: &[SdkTool<'_>]) -> String {
    declared_as(tools, Reading::Strict)
}

/// What a tool takes up in the text, about.
const BYTES_PER_TOOL: usize = 1_536;

const PROLOGUE: &str = "type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue }";

const EPILOGUE: &str = "type ToolName = keyof ToolOutputMap

declare class ToolCallError extends Error {
  readonly name: \"ToolCallError\";
  readonly toolName: ToolName;
}

declare const tools: {
  [K in ToolName]: (args: ToolArgsMap[K]) => Promise<ToolOutputMap[K]>;
}";

fn declared_as(tools: &[SdkTool<'_>], reading: Reading) -> String {
    let tools = sorted(tools);
    let line_end = if tools.is_empty() { "" } else { "\n" };
    let mut renderer = Renderer::new(reading);
    let mut out = String::with_capacity(BYTES_PER_TOOL * (tools.len() + 1));
    out.extend([PROLOGUE, "\n\ninterface ToolArgsMap {", line_end]);
    for tool in &tools {
        if !tool.description.is_empty() {
            push_doc(&mut out, tool.description, 1);
        }
        push_indent(&mut out, 1);
        push_key(&mut out, tool.name);
        out.push_str(": ");
        renderer.push_schema(&mut out, tool.parameters, 1);
        out.push_str(";\n");
    }
    out.extend(["}\n\ninterface ToolOutputMap {", line_end]);
    for tool in &tools {
        push_indent(&mut out, 1);
        push_key(&mut out, tool.name);
        out.push_str(": ");
        renderer.push_output(&mut out, tool.output, 1);
        out.push_str(";\n");
    }
    out.extend(["}\n\n", EPILOGUE]);
    out
}

/// The declaration of one tool, for a model that asked for its signature.
///
/// ```
/// use callgate_schema::{SdkTool, json, typescript};
///
/// let parameters = json!({ "type": "object", "additionalProperties": false });
/// let output = json!({ "type": "integer" });
/// let count = SdkTool::new("count", "Count the files.", &parameters, &output);
/// assert_eq!(
///     typescript::declaration_of(&count),
///     "declare const tools: {\n  /** Count the files. */\n  count(args: Record<string, never>): Promise<number>;\n}"
/// );
/// ```
pub fn declaration_of(tool: &SdkTool<'_>) -> String {
    let mut renderer = Renderer::new(Reading::Foreign);
    let mut out = String::from("declare const tools: {\n");
    if !tool.description.is_empty() {
        push_doc(&mut out, tool.description, 1);
    }
    push_indent(&mut out, 1);
    push_key(&mut out, tool.name);
    out.push_str("(args: ");
    renderer.push_schema(&mut out, tool.parameters, 1);
    out.push_str("): Promise<");
    renderer.push_output(&mut out, tool.output, 1);
    out.push_str(">;\n}");
    out
}

/// One line per tool: how a program reaches it, and the first sentence of its description.
///
/// ```
/// use callgate_schema::{SdkTool, json, typescript};
///
/// let any = json!({});
/// let tool = SdkTool::new("read-file", "Read a file. Text only.", &any, &any);
/// assert_eq!(typescript::catalogue(&[tool]), "- tools[\"read-file\"]: Read a file.");
/// ```
pub fn catalogue(tools: &[SdkTool<'_>]) -> String {
    catalogue_of(tools, |out, name| {
        if is_identifier(name) {
            out.extend(["tools.", name]);
        } else {
            out.push_str("tools[");
            push_string_literal(out, name);
            out.push(']');
        }
    })
}

struct Renderer<'a> {
    reading: Reading,
    shapes: Shapes<'a>,
    printer: Printer,
}

impl<'a> Renderer<'a> {
    fn new(reading: Reading) -> Self {
        Self { reading, shapes: Shapes::default(), printer: Printer::default() }
    }

    fn push_schema(&mut self, out: &mut String, schema: &'a Json, level: usize) {
        let root = self.shapes.read(schema, self.reading);
        self.push_type(out, root, level);
    }

    fn push_output(&mut self, out: &mut String, output: SdkOutput<'a>, level: usize) {
        let root = self.shapes.read_output(output, self.reading);
        self.push_type(out, root, level);
    }

    fn push_type(&mut self, out: &mut String, root: Option<ShapeId>, level: usize) {
        match root {
            Some(root) => self.printer.print(out, &self.shapes, root, level),
            None => out.push_str("unknown"),
        }
    }
}
