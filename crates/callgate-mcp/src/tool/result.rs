//! What a server answered to a call: a value for programs, blocks for everybody else.

use callgate::{Array, Content, FailureClass, Json, Object, Returned, Str, ToolError, codes};

use super::McpTool;
use crate::config::{ResultForm, Validation};
use crate::meta;
use crate::schema::describe;

/// A result that was taken, and what is wrong with it all the same.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) returned: Returned,
    pub(crate) mismatch: Option<String>,
}

impl McpTool {
    /// Takes a result as the server sent it.
    ///
    /// # Errors
    ///
    /// If the server says that the call failed, if it is no result, or if it does not fit the
    /// declared schema and that matters.
    pub(crate) fn accept(&self, result: Json) -> Result<Answered, ToolError> {
        let Some(object) = result.as_object() else {
            return Err(self.unusable(&format!("it is {}, not a result", result.kind().as_str())));
        };
        let blocks = self.blocks(object)?;
        if object.get("isError").and_then(Json::as_bool) == Some(true) {
            let content = blocks.iter().map(Content::from_json);
            return Err(ToolError::failed(failure_text(&blocks))
                .with_content(content)
                .with_raw(result));
        }
        if object.contains_key("task") && !object.contains_key("content") {
            return Err(self.unusable("it is a task, and tasks are not supported"));
        }
        let structured = object.get("structuredContent").filter(|value| !value.is_null());
        let mismatch = self.mismatch(structured);
        if let Some(mismatch) = &mismatch
            && self.validate_results == Validation::Enforce
        {
            return Err(self.mismatched(mismatch));
        }
        let value = match self.form {
            ResultForm::Value => useful_value(structured, &blocks),
            ResultForm::Envelope => envelope(structured, &blocks),
        };
        let content = blocks.iter().map(Content::from_json).collect();
        let raw = match &mismatch {
            Some(mismatch) => meta::with(
                object,
                meta::WARNINGS,
                [Json::from(mismatch.as_str())].into_iter().collect::<Array>(),
            )
            .into(),
            None => result.clone(),
        };
        Ok(Answered { returned: Returned::with_content(value, content).with_raw(raw), mismatch })
    }

    /// The blocks of a result. Servers older than the protocol's first version send `toolResult`.
    fn blocks(&self, result: &Object) -> Result<Array, ToolError> {
        match (result.get("content"), result.get("toolResult")) {
            (Some(Json::Array(blocks)), _) => Ok(blocks.clone()),
            (None, Some(legacy)) => {
                let text = legacy.to_str().unwrap_or_else(|| legacy.to_string().into());
                Ok([Content::text(text).to_json()].into_iter().collect())
            }
            (None, None) => Ok(Array::default()),
            (Some(other), _) => {
                let kind = other.kind().as_str();
                Err(self.unusable(&format!("its `content` is {kind}, not a list of blocks")))
            }
        }
    }

    /// What the declared schema says about the structured part of a result.
    fn mismatch(&self, structured: Option<&Json>) -> Option<String> {
        let schema = self.output.as_ref()?;
        match structured {
            None => Some(
                "value.structuredContent: missing, although an output schema is declared"
                    .to_owned(),
            ),
            Some(value) => {
                let violations = schema.validate(value);
                (!violations.is_empty()).then(|| describe(&violations, "value.structuredContent"))
            }
        }
    }

    #[cold]
    fn mismatched(&self, mismatch: &str) -> ToolError {
        let message = format!(
            "server `{}` ran `{}`, but its result does not fit the schema it declares and was held back: {mismatch}",
            self.server, self.raw_name
        );
        ToolError::coded("ToolOutputError", codes::INVALID_TOOL_OUTPUT, message)
            .with_class(FailureClass::InvalidOutput)
    }

    #[cold]
    pub(crate) fn unusable(&self, reason: &str) -> ToolError {
        ToolError::failed(format!(
            "the answer of server `{}` to `{}` cannot be used: {reason}",
            self.server, self.raw_name
        ))
    }
}

/// What a failed call says: its text, as the server wrote it.
fn failure_text(blocks: &Array) -> String {
    let texts: Vec<&str> = blocks.iter().filter_map(text_of).collect();
    let text = texts.join("\n");
    if text.trim().is_empty() {
        "the server reports a failure and does not say why".to_owned()
    } else {
        text
    }
}

fn text_of(block: &Json) -> Option<&str> {
    let is_text = block.get("type").and_then(Json::as_str) == Some("text");
    block.get("text").and_then(Json::as_str).filter(|_| is_text)
}

/// What a program can use: structured content; else what the only block says, read as JSON if it
/// is a whole object or list; else the blocks.
fn useful_value(structured: Option<&Json>, blocks: &Array) -> Json {
    if let Some(structured) = structured {
        return structured.clone();
    }
    let [block] = &**blocks else { return Json::Array(blocks.clone()) };
    let Some(text) = text_of(block) else { return Json::Array(blocks.clone()) };
    if matches!(text.trim_start().as_bytes().first(), Some(b'{' | b'['))
        && let Ok(parsed) = Json::parse(text)
    {
        return parsed;
    }
    block.get("text").cloned().unwrap_or_default()
}

fn envelope(structured: Option<&Json>, blocks: &Array) -> Json {
    let content: Str = "content".into();
    let envelope = Object::builder().with(content, Json::Array(blocks.clone()));
    envelope.with_some("structuredContent", structured.cloned()).build().into()
}
