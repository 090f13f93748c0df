//! [`Content`]: one block of what a model reads.

use callgate_schema::{Json, Object, Str};

use crate::form::{Field, FormError, Members, has_exactly};

/// One block of model-facing content.
///
/// The JSON forms are `{"type": "text", "text": …}`, `{"type": "reasoning", "text": …}` and
/// `{"type": "image", "data": …, "mimeType": …}`. A block with further members (annotations, `_meta`,
/// signatures) or of another type is [`Content::Other`] and kept as it is.
///
/// ```
/// use callgate_session::Content;
///
/// let block = Content::text("4 files changed");
/// assert_eq!(block.as_text(), Some("4 files changed"));
/// assert_eq!(block.to_string(), r#"{"type":"text","text":"4 files changed"}"#);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Plain text.
    Text(Str),
    /// What a model thought, as text.
    Reasoning(Str),
    /// A picture.
    Image {
        /// The bytes in base64.
        data: Str,
        /// The media type, such as `image/png`.
        mime_type: Str,
    },
    /// Any other block, verbatim.
    ///
    /// Make it with [`Content::from_json`], so that a block has one representation.
    Other(Json),
}

impl Content {
    /// A block of plain text.
    pub fn text(text: impl Into<Str>) -> Self {
        Self::Text(text.into())
    }

    /// A block of reasoning.
    pub fn reasoning(text: impl Into<Str>) -> Self {
        Self::Reasoning(text.into())
    }

    /// A picture, with its bytes in base64.
    pub fn image(data: impl Into<Str>, mime_type: impl Into<Str>) -> Self {
        Self::Image { data: data.into(), mime_type: mime_type.into() }
    }

    /// The block that has this JSON form. What is none of the known forms is kept verbatim.
    pub fn from_json(json: &Json) -> Self {
        json.as_object().and_then(Self::known).unwrap_or_else(|| Self::Other(json.clone()))
    }

    fn known(object: &Object) -> Option<Self> {
        let text = |name: &str| match object.get(name) {
            Some(Json::String(text)) => Some(text.clone()),
            _ => None,
        };
        match object.get("type")?.as_str()? {
            "text" if object.len() == 2 => Some(Self::Text(text("text")?)),
            "reasoning" if object.len() == 2 => Some(Self::Reasoning(text("text")?)),
            "image" if has_exactly(object, &["type", "data", "mimeType"]) => {
                Some(Self::Image { data: text("data")?, mime_type: text("mimeType")? })
            }
            _ => None,
        }
    }

    /// The JSON form of the block.
    pub fn to_json(&self) -> Json {
        let string = |text: &Str| Json::String(text.clone());
        let word = |word: &'static str| Json::String(word.into());
        match self {
            Self::Text(text) => object([("type", word("text")), ("text", string(text))]),
            Self::Reasoning(text) => object([("type", word("reasoning")), ("text", string(text))]),
            Self::Image { data, mime_type } => object([
                ("type", word("image")),
                ("data", string(data)),
                ("mimeType", string(mime_type)),
            ]),
            Self::Other(json) => json.clone(),
        }
    }

    /// The kind of the block: its `type`, or `unknown` for a block that has none.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text(_) => "text",
            Self::Reasoning(_) => "reasoning",
            Self::Image { .. } => "image",
            Self::Other(json) => json.get("type").and_then(Json::as_str).unwrap_or("unknown"),
        }
    }

    /// The text of a text block, with or without further members.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Other(json) if self.kind() == "text" => json.get("text")?.as_str(),
            _ => None,
        }
    }

    /// Whether the block is a picture, with or without further members.
    pub fn is_image(&self) -> bool {
        self.kind() == "image"
    }
}

fn object<const N: usize>(members: [(&'static str, Json); N]) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (Str::from(name), value)).collect())
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// Prints the JSON form.
impl std::fmt::Display for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        self.print(&mut out);
        f.write_str(&out)
    }
}

impl Field for Content {
    fn read(json: &Json) -> Result<Self, FormError> {
        Ok(Self::from_json(json))
    }

    fn print(&self, out: &mut String) {
        if let Self::Other(json) = self {
            return json.print(out);
        }
        let mut members = Members::open(out);
        members.word("type", self.kind());
        match self {
            Self::Text(text) | Self::Reasoning(text) => members.put("text", text),
            Self::Image { data, mime_type } => {
                members.put("data", data);
                members.put("mimeType", mime_type);
            }
            Self::Other(_) => {}
        }
        members.close();
    }
}
