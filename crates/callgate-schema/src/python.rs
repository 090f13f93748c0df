//! Schemas as Python types, and the SDK text of tools for programs in Python.
//!
//! | I want to …                               | use                               |
//! |-------------------------------------------|-----------------------------------|
//! | show a model all of its tools             | [`section`]                          |
//! | type-check a program                      | [`declarations`]                  |
//! | show names first, signatures on demand    | [`catalogue`], [`declaration_of`] |
//! | print one schema                          | [`type_text`], [`foreign_type_text`] |
//!
//! Nothing here fails, and equal input gives equal bytes. Work is linear in the text, whatever the
//! depth of a schema.

mod imports;
mod names;
mod print;

use crate::json::Json;
use crate::sdk::{Reading, SdkTool, catalogue_of, sorted};
use crate::shape::{ShapeId, Shapes};
use crate::text;

use imports::Import;
use names::{camel, hides_annotation, is_attribute, joined};
use print::Printer;

/// The type of a schema's values, as an expression on its own: objects are `dict[str, Any]`.
///
/// A schema outside the subset gives `Any`, wherever in it the fault is.
///
/// ```
/// use callgate_schema::{json, python};
///
/// let schema = json!({ "type": "array", "items": { "oneOf": [{ "type": "string" }, { "type": "null" }] } });
/// assert_eq!(python::type_text(&schema), "list[str | None]");
/// assert_eq!(python::type_text(&json!({ "type": "string", "format": "uri" })), "Any");
/// ```
pub fn type_text(schema: &Json) -> String {
    type_as(schema, Reading::Strict)
}

/// The type of a schema's values as an expression on its own, as well as it can be said for a
/// schema outside the subset.
///
/// For a schema of the subset it is that of [`type_text`].
///
/// ```
/// use callgate_schema::{json, python};
///
/// let schema = json!({ "anyOf": [{ "type": "string", "format": "uri" }, { "type": "null" }] });
/// assert_eq!(python::foreign_type_text(&schema), "str | None");
/// ```
pub fn foreign_type_text(schema: &Json) -> String {
    type_as(schema, Reading::Foreign)
}

fn type_as(schema: &Json, reading: Reading) -> String {
    let mut out = String::new();
    let mut renderer = Renderer::new(reading);
    let root = renderer.shapes.read(schema, renderer.reading);
    renderer.push_type(&mut out, root, None);
    out
}

/// What a model needs to write programs: [`instructions`], and the [`declarations`] of its tools
/// in a code fence.
///
/// ```
/// use callgate_schema::python;
///
/// let section = python::section(&[]);
/// assert!(section.starts_with(python::instructions()));
/// assert!(section.ends_with("\n```"));
/// ```
pub fn section(tools: &[SdkTool<'_>]) -> String {
    format!("{INSTRUCTIONS}\n\n```python\n{}\n```", declarations(tools))
}

/// How programs are written and run, in front of the declarations. Always the same text.
pub fn instructions() -> &'static str {
    INSTRUCTIONS
}

const INSTRUCTIONS: &str = include_str!("python/instructions.md").trim_ascii_end();

/// The declarations of tools: what stands in the code fence of [`section`].
///
/// The order of `tools` does not matter; each name may come once.
///
/// ```
/// use callgate_schema::{SdkTool, json, python};
///
/// let (parameters, output) = (json!({ "type": "object" }), json!({ "type": "string" }));
/// let text = python::declarations(&[SdkTool::new("my-tool", "", &parameters, &output)]);
/// assert!(text.contains("    # tools[\"my-tool\"](args: dict[str, Any]) -> str\n"));
/// ```
pub fn declarations(tools: &[SdkTool<'_>]) -> String {
    declared_as(tools, Reading::Foreign)
}

/// As [`declarations`], with `Any` for every schema outside the subset.
pub fn strict_declarations(tools: &[SdkTool<'_>]) -> String {
    declared_as(tools, Reading::Strict)
}

/// What a tool takes up in the text, about.
const BYTES_PER_TOOL: usize = 1_792;

const ERROR_CLASS: &str = "\n\nclass ToolCallError(Exception):\n    toolName: str\n\n";

fn declared_as(tools: &[SdkTool<'_>], reading: Reading) -> String {
    let tools = sorted(tools);
    let mut renderer = Renderer::new(reading);
    renderer.printer.classes.reserve(BYTES_PER_TOOL * (tools.len() + 1));
    renderer.printer.classes.push_str(ERROR_CLASS);
    renderer.printer.imports.add(Import::Protocol);
    let protocol = renderer.protocol(&tools);
    let imports = renderer.printer.imports.line();
    let mut out = renderer.printer.classes;
    out.extend([&protocol, "\ntools: Tools"]);
    out.insert_str(0, &imports);
    out
}

/// The declaration of one tool, for a model that asked for its signature: its classes, and its
/// method.
///
/// ```
/// use callgate_schema::{SdkTool, json, python};
///
/// let parameters = json!({
///     "type": "object",
///     "properties": { "path": { "type": "string" } },
///     "additionalProperties": false,
/// });
/// let output = json!({ "type": "integer" });
/// let count = SdkTool::new("count", "Count the files.", &parameters, &output);
/// assert_eq!(
///     python::declaration_of(&count),
///     r#"class CountArgs(TypedDict):
///     path: NotRequired[str]
///
/// class Tools(Protocol):
///     async def count(self, args: CountArgs) -> int:
///         """Count the files.""""#
/// );
/// ```
pub fn declaration_of(tool: &SdkTool<'_>) -> String {
    let mut renderer = Renderer::new(Reading::Foreign);
    let protocol = renderer.protocol(&[tool]);
    renderer.printer.classes + protocol.trim_end_matches('\n')
}

/// One line per tool: how a program reaches it, and the first sentence of its description.
///
/// ```
/// use callgate_schema::{SdkTool, json, python};
///
/// let any = json!({});
/// let tool = SdkTool::new("from", "Read a file. Text only.", &any, &any);
/// assert_eq!(python::catalogue(&[tool]), "- tools[\"from\"]: Read a file.");
/// ```
pub fn catalogue(tools: &[SdkTool<'_>]) -> String {
    catalogue_of(tools, |out, name| {
        if is_attribute(name) {
            out.extend(["tools.", name]);
        } else {
            push_subscript(out, name);
        }
    })
}

fn push_subscript(out: &mut String, name: &str) {
    out.push_str("tools[");
    text::push_string_literal(out, name);
    out.push(']');
}

struct Renderer<'a> {
    reading: Reading,
    shapes: Shapes<'a>,
    printer: Printer<'a>,
}

/// What a tool takes and gives, in the text of all signatures.
struct Signature {
    start: usize,
    result: usize,
    end: usize,
}

impl<'a> Renderer<'a> {
    fn new(reading: Reading) -> Self {
        Self { reading, shapes: Shapes::default(), printer: Printer::default() }
    }

    /// The class that has the tools as methods. All types are printed first, since a method must
    /// not be called as one of the classes.
    fn protocol(&mut self, tools: &[&SdkTool<'a>]) -> String {
        let mut types = String::new();
        let signatures: Vec<_> =
            tools.iter().map(|tool| self.signature(&mut types, tool)).collect();
        let is_method = |name: &str| {
            is_attribute(name) && !hides_annotation(name) && !self.printer.names.contains(name)
        };
        let mut out = String::from("class Tools(Protocol):\n");
        if !tools.iter().any(|tool| is_method(tool.name)) {
            out.push_str("    pass\n");
        }
        for (tool, signature) in tools.iter().zip(signatures) {
            let args = &types[signature.start..signature.result];
            let result = &types[signature.result..signature.end];
            if is_method(tool.name) {
                push_method(&mut out, tool, args, result);
            } else {
                push_comment(&mut out, tool, args, result);
            }
        }
        out
    }

    fn signature(&mut self, types: &mut String, tool: &SdkTool<'a>) -> Signature {
        let name = camel(tool.name);
        let start = types.len();
        let args = self.shapes.read(tool.parameters, self.reading);
        self.push_type(types, args, Some(joined(&name, "Args")));
        let result = types.len();
        let output = self.shapes.read_output(tool.output, self.reading);
        self.push_type(types, output, Some(joined(&name, "Output")));
        Signature { start, result, end: types.len() }
    }

    fn push_type(&mut self, out: &mut String, root: Option<ShapeId>, base: Option<String>) {
        match root {
            Some(root) => self.printer.print(out, &self.shapes, root, base),
            None => out.push_str(self.printer.any()),
        }
    }
}

fn push_method(out: &mut String, tool: &SdkTool<'_>, args: &str, result: &str) {
    out.extend(["    async def ", tool.name, "(self, args: ", args, ") -> ", result]);
    if text::is_blank(tool.description) {
        return out.push_str(": ...\n");
    }
    out.push_str(":\n        \"\"\"");
    text::push_python_docstring(out, tool.description);
    out.push_str("\"\"\"\n");
}

fn push_comment(out: &mut String, tool: &SdkTool<'_>, args: &str, result: &str) {
    out.push_str("    # ");
    push_subscript(out, tool.name);
    out.extend(["(args: ", args, ") -> ", result, "\n"]);
    if !text::is_blank(tool.description) {
        out.push_str("    #   ");
        text::push_python_comment(out, tool.description);
        out.push('\n');
    }
}
