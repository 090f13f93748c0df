//! [`Spill`]: keeps oversized results out of model and log, and saves them whole.

mod directory;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use callgate_schema::Str;
use callgate_session::Content;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

pub use directory::{SpillDirectory, path_segment};

use crate::call::Call;
use crate::change::{Change, Place};
use crate::error::{HookError, from_panic};
use crate::hook::{CodeDispatchLog, Hook, Next, PostDecision, PostExecute, Verdict};
use crate::plugin::Plugin;

/// The tool with which a model reads what was spilled; it must not be spilled again.
const READ: &str = "read";

/// What stands between the two ends of a shortened text.
const GAP: &str = "\n…\n";
/// What stands between a shortened text and the notice about it.
const BLANK_LINE: &str = "\n\n";

/// Saves results that are longer than a limit, and gives the model their two ends and the place
/// where the whole text is.
///
/// It works on the plain text of what the other hooks accepted, failures too, and changes nothing
/// but the content: programs get the whole value. It leaves alone what is blocked, what has
/// blocks other than text, calls made by tools and programs, and the tool `read`. The log's copies
/// of a program's calls get the same treatment, those of `read` too. Where there is no session or
/// the text cannot be saved, a warning is logged and the text stays as it is.
///
/// ```
/// use callgate_core::{ToolRuntime, hooks::{Spill, SpillDirectory}};
/// let runtime = ToolRuntime::builder().build()?;
/// let directory = SpillDirectory::new("spilled").unwrap();
/// runtime.install(&Spill::new(directory).max_inline_bytes(50_000))?;
/// # Ok::<(), callgate_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Spill {
    store: Arc<dyn SpillStore>,
    max_inline_bytes: Option<usize>,
}

/// Where spilled texts go.
pub trait SpillStore: Send + Sync + 'static {
    /// Saves a text whole and verbatim.
    ///
    /// # Errors
    ///
    /// If the text is not saved. The caller then shows it as it is.
    ///
    /// # Cancellation
    ///
    /// The future is not dropped before its end.
    fn save(&self, text: SpillText) -> BoxFuture<'_, Result<Spilled, HookError>>;
}

/// A text to save, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpillText {
    /// The id of the session it belongs to.
    pub owner: Str,
    /// The tool that made it.
    pub tool: Str,
    /// The call, or sub-call of a program, that made it.
    pub call_id: Str,
    /// Which copy it is: `result` for what the model reads, `dispatch` for the log of a program.
    pub label: &'static str,
    /// A name for people. It may hold anything; see [`path_segment`].
    pub suggested_name: String,
    /// The text.
    pub text: String,
}

impl SpillText {
    /// A text of that owner from a call of a tool, as the policy itself makes it.
    pub fn new(
        owner: impl Into<Str>,
        tool: impl Into<Str>,
        call_id: impl Into<Str>,
        text: impl Into<String>,
    ) -> Self {
        let tool = tool.into();
        let suggested_name = format!("{tool}.txt");
        let (owner, call_id, text) = (owner.into(), call_id.into(), text.into());
        Self { owner, tool, call_id, label: "result", suggested_name, text }
    }
}

/// Where a text was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "stores outside this crate make it")]
pub struct Spilled {
    /// Where it is, in a form that the hint can refer to: a path, for example.
    pub locator: String,
    /// How many bytes were saved.
    pub bytes: u64,
    /// How a model gets at it, as the end of a sentence.
    pub hint: String,
}

impl Spill {
    /// A policy that does nothing before it has a limit.
    pub fn new(store: impl SpillStore) -> Self {
        Self { store: Arc::new(store), max_inline_bytes: None }
    }

    /// The longest text that stays as it is, and the longest that takes the place of a longer one,
    /// in bytes.
    #[must_use]
    pub fn max_inline_bytes(self, limit: usize) -> Self {
        Self { max_inline_bytes: Some(limit), ..self }
    }

    /// What takes the place of a content that is too long, if it can be saved.
    async fn replace(
        &self,
        call: &Call,
        content: &[Content],
        from: From,
    ) -> Option<Arc<[Content]>> {
        let limit = self.max_inline_bytes?;
        let text = plain_text(content)?;
        if text.len() <= limit {
            return None;
        }
        let Some(session) = call.session() else {
            tracing::warn!(tool = %from.tool, call = %from.call_id, "no session owns the oversized text");
            return None;
        };
        let mut spilled =
            SpillText::new(session.header().id.clone(), from.tool, from.call_id, &*text);
        spilled.label = from.label;
        let place = self.save(spilled).await?;
        shorten(&text, &place, limit).map(|shorter| Arc::from([Content::text(shorter)]))
    }

    async fn save(&self, text: SpillText) -> Option<Spilled> {
        let (tool, call_id) = (text.tool.clone(), text.call_id.clone());
        let saving = AssertUnwindSafe(async { self.store.save(text).await }).catch_unwind();
        let saved =
            saving.await.unwrap_or_else(|panic| Err(from_panic("the spill store", &*panic)));
        saved
            .inspect_err(|error| {
                tracing::warn!(tool = %tool, call = %call_id, %error, "oversized text was not saved");
            })
            .ok()
    }
}

/// Where a content comes from.
struct From {
    tool: Str,
    call_id: Str,
    label: &'static str,
}

impl Hook<PostExecute> for Spill {
    fn call(
        &self,
        call: Call,
        next: Next<PostExecute>,
    ) -> BoxFuture<'_, Result<PostDecision, HookError>> {
        Box::pin(async move {
            let result = next.result().clone();
            let mut decision = next.run().await?;
            let content = match &decision.verdict {
                Verdict::Accept => result.content(),
                Verdict::ReplaceContent(content) => content,
                Verdict::ReplaceValue(_) | Verdict::Block(_) => return Ok(decision),
            };
            if !call.is_model_direct() || &**call.name() == READ {
                return Ok(decision);
            }
            let from =
                From { tool: call.name().clone(), call_id: call.id().clone(), label: "result" };
            if let Some(shorter) = self.replace(&call, content, from).await {
                decision.verdict = Verdict::ReplaceContent(shorter);
            }
            Ok(decision)
        })
    }
}

impl Hook<CodeDispatchLog> for Spill {
    fn call(
        &self,
        call: Call,
        next: Next<CodeDispatchLog>,
    ) -> BoxFuture<'_, Result<Arc<[Content]>, HookError>> {
        Box::pin(async move {
            let from = From {
                tool: next.tool_name().clone(),
                call_id: next.sub_call_id().clone(),
                label: "dispatch",
            };
            let content = next.run().await?;
            Ok(self.replace(&call, &content, from).await.unwrap_or(content))
        })
    }
}

impl Plugin for Spill {
    fn name(&self) -> &'static str {
        "spill"
    }

    /// Both hooks are outermost, so that they judge what all others made of a content.
    fn install(&self, change: &mut Change<'_>) {
        change.hook::<PostExecute>(self.clone(), Place::First);
        change.hook::<CodeDispatchLog>(self.clone(), Place::First);
    }
}

impl fmt::Debug for Spill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spill")
            .field("max_inline_bytes", &self.max_inline_bytes)
            .finish_non_exhaustive()
    }
}

/// The texts of a content one after the other, if there is nothing but text.
fn plain_text(content: &[Content]) -> Option<String> {
    content.iter().map(Content::as_text).collect()
}

/// Head, tail and notice within the limit, or just the notice; none if even that is too long.
fn shorten(text: &str, place: &Spilled, limit: usize) -> Option<String> {
    let whole = notice(text.len(), text.len(), place);
    let reserved = GAP.len() + BLANK_LINE.len() + whole.len();
    let room = limit.saturating_sub(reserved).min(text.len());
    let head = &text[..text.floor_char_boundary(room.div_ceil(2))];
    let tail = &text[text.ceil_char_boundary(text.len() - room / 2)..];
    if head.is_empty() && tail.is_empty() {
        return (whole.len() <= limit).then_some(whole);
    }
    let notice = notice(text.len() - head.len() - tail.len(), text.len(), place);
    Some([head, GAP, tail, BLANK_LINE, &notice].concat())
}

/// Tells how much is missing and where it is. Never longer than for the total.
fn notice(omitted: usize, total: usize, place: &Spilled) -> String {
    let Spilled { locator, hint, .. } = place;
    format!("[{omitted} of {total} bytes left out. The whole text is in {locator}; {hint}]")
}
