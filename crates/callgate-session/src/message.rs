//! Messages: what the surface of a log derives to, and what a model request is made of.

use std::sync::Arc;

use callgate_schema::{Json, Str};

use crate::content::Content;
use crate::form::{Field, Fields, FormError, Members, has_exactly};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Message {
    /// Something a person, a plugin or another outside party said.
    User(UserMessage),
    /// What the model answered.
    Model(ModelMessage),
    /// What a tool call resulted in.
    Result(ResultMessage),
}

/// Prints the JSON form.
impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        match self {
            Self::User(message) => message.print(&mut out),
            Self::Model(message) => message.print(&mut out),
            Self::Result(message) => message.print(&mut out),
        }
        f.write_str(&out)
    }
}

/// A user-role message that is not a tool result: input, an additional context, a notice.
///
/// ```
/// use callgate_session::{Content, Source, UserMessage};
///
/// let message = UserMessage::new(Source::User, [Content::text("fix the build")]);
/// assert_eq!(message.content[0].as_text(), Some("fix the build"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct UserMessage {
    /// The id of the message, if its producer gave one.
    pub id: Option<Str>,
    /// Who it comes from.
    pub source: Source,
    /// What it says.
    pub content: Arc<[Content]>,
}

impl UserMessage {
    /// A message without an id.
    pub fn new(source: Source, content: impl IntoIterator<Item = Content>) -> Self {
        Self { id: None, source, content: content.into_iter().collect() }
    }

    /// The same message with an id.
    #[must_use]
    pub fn with_id(self, id: impl Into<Str>) -> Self {
        Self { id: Some(id.into()), ..self }
    }
}

impl Field for UserMessage {
    fn read(json: &Json) -> Result<Self, FormError> {
        let fields = Fields::of(json, &["id", "role", "source", "content"])?;
        fields.expect("role", "user")?;
        Ok(Self {
            id: fields.take("id")?,
            source: fields.take("source")?,
            content: fields.take("content")?,
        })
    }

    fn print(&self, out: &mut String) {
        let mut members = Members::open(out);
        members.put("id", &self.id);
        members.word("role", "user");
        members.put("source", &self.source);
        members.put("content", &self.content);
        members.close();
    }
}

/// Where a user-role message comes from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Source {
    /// The person at the keyboard.
    User,
    /// A tool.
    Tool {
        /// The call it belongs to.
        call_id: Str,
    },
    /// A plugin.
    Plugin {
        /// Its name, such as `tools-code-mode`.
        plugin: Str,
        /// What kind of message it is, such as `notice`.
        form: Option<Str>,
        /// One line about it.
        summary: Option<Str>,
    },
    /// Any other source, verbatim.
    ///
    /// Make it with [`Source::from_json`], so that a source has one representation.
    Other(Json),
}

impl Source {
    /// A plugin of that name.
    pub fn plugin(name: impl Into<Str>) -> Self {
        Self::Plugin { plugin: name.into(), form: None, summary: None }
    }

    /// The source that has this JSON form. What is none of the known forms is kept verbatim.
    pub fn from_json(json: &Json) -> Self {
        Self::known(json).unwrap_or_else(|| Self::Other(json.clone()))
    }

    fn known(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        match object.get("kind")?.as_str()? {
            "user" if object.len() == 1 => Some(Self::User),
            "tool" if has_exactly(object, &["kind", "callId"]) => {
                Some(Self::Tool { call_id: Str::read(object.get("callId")?).ok()? })
            }
            "plugin" => {
                let fields = Fields::of(json, &["kind", "plugin", "form", "summary"]).ok()?;
                Some(Self::Plugin {
                    plugin: fields.take("plugin").ok()?,
                    form: fields.take("form").ok()?,
                    summary: fields.take("summary").ok()?,
                })
            }
            _ => None,
        }
    }
}

impl Field for Source {
    fn read(json: &Json) -> Result<Self, FormError> {
        Ok(Self::from_json(json))
    }

    fn print(&self, out: &mut String) {
        if let Self::Other(json) = self {
            return json.print(out);
        }
        let mut members = Members::open(out);
        match self {
            Self::User => members.word("kind", "user"),
            Self::Tool { call_id } => {
                members.word("kind", "tool");
                members.put("callId", call_id);
            }
            Self::Plugin { plugin, form, summary } => {
                members.word("kind", "plugin");
                members.put("plugin", plugin);
                members.put("form", form);
                members.put("summary", summary);
            }
            Self::Other(_) => {}
        }
        members.close();
    }
}

/// What a model answered in one step.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelMessage {
    /// The id of the message, if the model's interface gave one.
    pub id: Option<Str>,
    /// Its blocks, in the order of the model.
    pub content: Arc<[ModelBlock]>,
}

impl ModelMessage {
    /// A message without an id.
    pub fn new(content: impl IntoIterator<Item = ModelBlock>) -> Self {
        Self { id: None, content: content.into_iter().collect() }
    }

    /// The tool calls the model asks for, in its order.
    pub fn requests(&self) -> impl Iterator<Item = &ToolRequest> {
        self.content.iter().filter_map(|block| match block {
            ModelBlock::Request(request) => Some(request),
            ModelBlock::Content(_) => None,
        })
    }
}

impl Field for ModelMessage {
    fn read(json: &Json) -> Result<Self, FormError> {
        let fields = Fields::of(json, &["id", "role", "content"])?;
        fields.expect("role", "assistant")?;
        Ok(Self { id: fields.take("id")?, content: fields.take("content")? })
    }

    fn print(&self, out: &mut String) {
        let mut members = Members::open(out);
        members.put("id", &self.id);
        members.word("role", "assistant");
        members.put("content", &self.content);
        members.close();
    }
}

/// One block of a model's message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelBlock {
    /// Text, reasoning and the like.
    Content(Content),
    /// The wish to call a tool.
    Request(ToolRequest),
}

impl From<Content> for ModelBlock {
    fn from(content: Content) -> Self {
        Self::Content(content)
    }
}

impl From<ToolRequest> for ModelBlock {
    fn from(request: ToolRequest) -> Self {
        Self::Request(request)
    }
}

const REQUEST: &str = "tool-call";
const RESULT: &str = "tool-result";

/// A tool call as the model wrote it: `{"type": "tool-call", "toolCallId", "name", "arguments"}`.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolRequest {
    /// The id the model uses for the call.
    pub call_id: Str,
    /// The name of the tool.
    pub name: Str,
    /// The arguments, as the text the model wrote.
    pub arguments: Str,
}

impl Field for ModelBlock {
    fn read(json: &Json) -> Result<Self, FormError> {
        if json.get("type").and_then(Json::as_str) == Some(REQUEST) {
            ToolRequest::read(json).map(Self::Request)
        } else {
            Content::read(json).map(Self::Content)
        }
    }

    fn print(&self, out: &mut String) {
        match self {
            Self::Content(content) => content.print(out),
            Self::Request(request) => request.print(out),
        }
    }
}

impl Field for ToolRequest {
    fn read(json: &Json) -> Result<Self, FormError> {
        let fields = Fields::of(json, &["type", "toolCallId", "name", "arguments"])?;
        fields.expect("type", REQUEST)?;
        Ok(Self {
            call_id: fields.take("toolCallId")?,
            name: fields.take("name")?,
            arguments: fields.take("arguments")?,
        })
    }

    fn print(&self, out: &mut String) {
        let mut members = Members::open(out);
        members.word("type", REQUEST);
        members.put("toolCallId", &self.call_id);
        members.put("name", &self.name);
        members.put("arguments", &self.arguments);
        members.close();
    }
}

/// The result of a tool call: a user-role message of source kind `tool` that holds one tool-result block.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultMessage {
    /// The id of the message, if its producer gave one.
    pub id: Option<Str>,
    /// The id the model used for the call.
    pub call_id: Str,
    /// What the model reads.
    pub content: Arc<[Content]>,
    /// Whether the call failed.
    pub is_error: bool,
}

impl ResultMessage {
    /// The failure flag and content of the one block of a message, and the call it belongs to.
    fn read_block(blocks: &Json) -> Result<Self, FormError> {
        let Some([block]) = blocks.as_array().map(|blocks| &**blocks) else {
            return Err(FormError::new("must be a list of exactly one tool-result block"));
        };
        let fields = Fields::of(block, &["type", "toolCallId", "content", "isError"])?;
        fields.expect("type", RESULT)?;
        Ok(Self {
            id: None,
            call_id: fields.take("toolCallId")?,
            content: fields.take("content")?,
            is_error: fields.take("isError")?,
        })
    }
}

impl Field for ResultMessage {
    fn read(json: &Json) -> Result<Self, FormError> {
        let fields = Fields::of(json, &["id", "role", "source", "content"])?;
        fields.expect("role", "user")?;
        let block =
            Self::read_block(&fields.take("content")?).map_err(|error| error.within("content"))?;
        let source = Source::Tool { call_id: block.call_id.clone() };
        if fields.take::<Source>("source")? != source {
            return Err(
                FormError::new("must be of kind `tool` and name the same call").within("source")
            );
        }
        Ok(Self { id: fields.take("id")?, ..block })
    }

    fn print(&self, out: &mut String) {
        let mut members = Members::open(out);
        members.put("id", &self.id);
        members.word("role", "user");
        members.put("source", &Source::Tool { call_id: self.call_id.clone() });
        let list = members.name("content");
        list.push('[');
        let mut block = Members::open(list);
        block.word("type", RESULT);
        block.put("toolCallId", &self.call_id);
        block.put("content", &self.content);
        block.put("isError", &self.is_error);
        block.close();
        list.push(']');
        members.close();
    }
}
