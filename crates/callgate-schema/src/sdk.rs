//! [`SdkTool`]: what the generated SDK text says about one tool.

use crate::json::Json;
use crate::text;

/// A tool as the generated SDK shows it to a model.
///
/// ```
/// use callgate_schema::{Json, SdkTool, typescript};
///
/// let parameters = Json::parse(r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#)?;
/// let output = Json::parse(r#"{"type":"string"}"#)?;
/// let read = SdkTool::new("read", "Read a file.", &parameters, &output);
/// assert!(typescript::declarations(&[read]).contains("/** Read a file. */"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a tool has exactly these parts in an SDK")]
pub struct SdkTool<'a> {
    /// The name programs call it by.
    pub name: &'a str,
    /// What it does; empty for none.
    pub description: &'a str,
    /// The schema of its arguments, of the subset or not.
    pub parameters: &'a Json,
    /// What a call resolves to.
    pub output: SdkOutput<'a>,
}

/// What a call of a tool resolves to.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a new kind of output needs text in every language")]
pub enum SdkOutput<'a> {
    /// A value of this schema, of the subset or not.
    Value(&'a Json),
    /// The envelope of an MCP result: `content`, and `structuredContent` of the schema the
    /// server advertises, if it does.
    Envelope(Option<&'a Json>),
}

impl<'a> SdkTool<'a> {
    /// A tool of that name, description, schema of arguments and output.
    pub fn new(
        name: &'a str,
        description: &'a str,
        parameters: &'a Json,
        output: impl Into<SdkOutput<'a>>,
    ) -> Self {
        Self { name, description, parameters, output: output.into() }
    }
}

impl<'a> From<&'a Json> for SdkOutput<'a> {
    fn from(schema: &'a Json) -> Self {
        Self::Value(schema)
    }
}

/// How schemas outside the subset are shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reading {
    /// Not at all: the whole type says that nothing is known.
    Strict,
    /// As well as types can.
    Foreign,
}

/// The tools in the order SDK text lists them, whatever order they came in.
pub(crate) fn sorted<'t, 'a>(tools: &'t [SdkTool<'a>]) -> Vec<&'t SdkTool<'a>> {
    let mut tools: Vec<_> = tools.iter().collect();
    tools.sort_by_key(|tool| tool.name);
    tools
}

/// What a line of the catalogue shows of a description, in characters.
const CATALOGUE_CHARS: usize = 120;

/// One line per tool: its accessor, and the first sentence of its description.
pub(crate) fn catalogue_of(tools: &[SdkTool<'_>], accessor: impl Fn(&mut String, &str)) -> String {
    let mut out = String::new();
    for tool in sorted(tools) {
        out.push_str(if out.is_empty() { "- " } else { "\n- " });
        accessor(&mut out, tool.name);
        if !text::is_blank(tool.description) {
            out.push_str(": ");
            text::push_first_sentence(&mut out, tool.description, CATALOGUE_CHARS);
        }
    }
    out
}
