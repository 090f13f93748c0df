//! The outcome of a call, as everybody sees it: immutable and shared.

use std::fmt;
use std::sync::Arc;

use callgate_schema::Json;
use callgate_session::{Content, UserMessage};

use crate::error::ToolError;

/// The published result of one call: one shared, immutable object.
///
/// A failed call is a result too. The value lives only as long as this result does: logs keep
/// content, error and [`meta`](Self::meta), never the value.
#[derive(Clone)]
pub struct CallResult(Arc<Draft>);

/// A result in the making: the owned form that the pipeline works on.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) outcome: Outcome,
    pub(crate) content: Arc<[Content]>,
    pub(crate) meta: Option<Json>,
    pub(crate) raw: Option<Json>,
    pub(crate) contexts: Vec<UserMessage>,
    pub(crate) concludes_turn: bool,
}

/// Success with a value, or failure with an error; never both.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a call succeeds or fails")]
pub enum Outcome {
    /// The canonical value that the tool returned.
    Success(Json),
    /// Why the call failed.
    Failure(ToolError),
}

impl Draft {
    pub(crate) fn success(value: Json, content: Arc<[Content]>, meta: Option<Json>) -> Self {
        Self {
            outcome: Outcome::Success(value),
            content,
            meta,
            raw: None,
            contexts: Vec::new(),
            concludes_turn: false,
        }
    }

    #[cold]
    pub(crate) fn failure(error: ToolError) -> Self {
        if let Some((content, raw)) = error.attached() {
            return Self { raw, ..Self::failure_with(error, content) };
        }
        let content = [Content::text(format!("Error: {}", error.message()))];
        Self::failure_with(error, content.into())
    }

    #[cold]
    pub(crate) fn failure_with(error: ToolError, content: Arc<[Content]>) -> Self {
        Self {
            outcome: Outcome::Failure(error),
            content,
            meta: None,
            raw: None,
            contexts: Vec::new(),
            concludes_turn: false,
        }
    }

    /// Puts other content in the place of the tool's own, of which nothing is left then.
    pub(crate) fn replace_content(&mut self, content: Arc<[Content]>) {
        self.content = content;
        self.raw = None;
        if let Outcome::Failure(error) = &mut self.outcome {
            error.detach();
        }
    }

    pub(crate) fn is_success(&self) -> bool {
        matches!(self.outcome, Outcome::Success(_))
    }

    pub(crate) fn freeze(self) -> CallResult {
        CallResult(Arc::new(self))
    }
}

impl CallResult {
    /// Success or failure.
    pub fn outcome(&self) -> &Outcome {
        &self.0.outcome
    }

    /// Whether the call failed.
    pub fn is_error(&self) -> bool {
        !self.0.is_success()
    }

    /// The canonical value, on success.
    pub fn value(&self) -> Option<&Json> {
        match &self.0.outcome {
            Outcome::Success(value) => Some(value),
            Outcome::Failure(_) => None,
        }
    }

    /// The error, on failure.
    pub fn error(&self) -> Option<&ToolError> {
        match &self.0.outcome {
            Outcome::Success(_) => None,
            Outcome::Failure(error) => Some(error),
        }
    }

    /// What the model is shown.
    pub fn content(&self) -> &Arc<[Content]> {
        &self.0.content
    }

    /// The texts of the content, joined by line breaks.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.0.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }

    /// The projection for user interfaces, if the tool declares one.
    pub fn meta(&self) -> Option<&Json> {
        self.0.meta.as_ref()
    }

    /// The result as whoever made it sent it, for those who pass results on: what an MCP server
    /// answered, members that this library does not know included.
    ///
    /// Only there if the tool gave it, and gone as soon as a hook puts another value or other
    /// content in the place of the tool's own.
    pub fn raw(&self) -> Option<&Json> {
        self.0.raw.as_ref()
    }

    /// User-role messages that come with the result, in order. The loop gives them to the model
    /// after the tool results of the step.
    pub fn additional_contexts(&self) -> &[UserMessage] {
        &self.0.contexts
    }

    /// Whether the tool asked to end the turn.
    pub fn concludes_turn(&self) -> bool {
        self.0.concludes_turn
    }

    /// Whether both are the same shared object.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The result as something to change, without a copy if nobody else holds it.
    pub(crate) fn into_draft(self) -> Draft {
        Arc::try_unwrap(self.0).unwrap_or_else(|shared| (*shared).clone())
    }
}

impl fmt::Debug for CallResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let draft = &*self.0;
        f.debug_struct("CallResult")
            .field("outcome", &draft.outcome)
            .field("content", &draft.content)
            .field("meta", &draft.meta)
            .field("raw", &draft.raw)
            .field("additional_contexts", &draft.contexts)
            .field("concludes_turn", &draft.concludes_turn)
            .finish()
    }
}
