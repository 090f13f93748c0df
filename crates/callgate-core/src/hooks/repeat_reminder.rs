//! [`RepeatReminder`]: tells a model that it repeats itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use callgate_schema::{Json, Str};
use callgate_session::{Content, EventBody, Session, Source, UserMessage};
use futures_util::future::BoxFuture;

use super::per_scope::PerScope;
use crate::call::Call;
use crate::change::{Change, Place};
use crate::error::{Error, ErrorKind, HookError};
use crate::hook::{Hook, Next, PostDecision, PostExecute};
use crate::plugin::Plugin;

/// The name under which the reminders come.
const PLUGIN: &str = "repeat-tool-reminder";

/// Adds a message to the result of a call that a scope makes again and again.
///
/// Calls are the same if tool and arguments are: member order and the spelling of numbers do not
/// count. Denied, failed, unknown and nested calls count as well. A call with other arguments
/// starts a new count, and so does a message of the user in the session log. It never blocks,
/// delays or changes a call. Calls of the runtime itself take no part.
///
/// ```
/// use callgate_core::{ToolRuntime, hooks::RepeatReminder};
/// let runtime = ToolRuntime::builder().build()?;
/// runtime.hook(RepeatReminder::new().thresholds([2, 4, 8])?.exclude(["poll_*"]));
/// # Ok::<(), callgate_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RepeatReminder {
    thresholds: BTreeSet<u32>,
    include: Vec<Str>,
    exclude: Vec<Str>,
    preview_chars: usize,
    chains: Arc<PerScope<Chain>>,
}

/// What one scope did last.
#[derive(Debug, Default)]
struct Chain {
    last: Option<(Str, Json)>,
    count: u32,
    /// How many events of the session log were looked at.
    seen: u64,
}

impl Default for RepeatReminder {
    fn default() -> Self {
        Self {
            thresholds: BTreeSet::from([3, 5, 8]),
            include: Vec::new(),
            exclude: Vec::new(),
            preview_chars: 500,
            chains: Arc::default(),
        }
    }
}

impl RepeatReminder {
    /// Reminds of the third, the fifth and the eighth call, of all tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// The counts at which it reminds, in any order.
    ///
    /// # Errors
    ///
    /// If there are none, one is less than 2, or one is there twice.
    pub fn thresholds(self, counts: impl IntoIterator<Item = u32>) -> Result<Self, Error> {
        let mut thresholds = BTreeSet::new();
        for count in counts {
            if count < 2 {
                return Err(invalid(format!("a repeat threshold must be at least 2, not {count}")));
            }
            if !thresholds.insert(count) {
                return Err(invalid(format!("the repeat threshold {count} is given twice")));
            }
        }
        if thresholds.is_empty() {
            return Err(invalid("there must be at least one repeat threshold".to_owned()));
        }
        Ok(Self { thresholds, ..self })
    }

    /// Watches only tools whose whole name matches one of these patterns; `*` stands for anything.
    /// No pattern means all tools.
    #[must_use]
    pub fn include(self, patterns: impl IntoIterator<Item = impl Into<Str>>) -> Self {
        Self { include: patterns.into_iter().map(Into::into).collect(), ..self }
    }

    /// Does not watch tools whose whole name matches one of these patterns, whatever is included.
    #[must_use]
    pub fn exclude(self, patterns: impl IntoIterator<Item = impl Into<Str>>) -> Self {
        Self { exclude: patterns.into_iter().map(Into::into).collect(), ..self }
    }

    /// How many characters of the arguments a reminder quotes; 500 unless set.
    ///
    /// # Errors
    ///
    /// If it is 0.
    pub fn preview_chars(self, preview_chars: usize) -> Result<Self, Error> {
        if preview_chars == 0 {
            return Err(invalid("a reminder must quote at least 1 character".to_owned()));
        }
        Ok(Self { preview_chars, ..self })
    }

    /// Counts a call; answers how often it came in a row, if that is worth a reminder.
    fn count(&self, call: &Call) -> Option<u32> {
        if call.scope().is_none() || !self.watches(call.name()) {
            return None;
        }
        let session = call.session();
        let count = self.chains.with(call, |chain| chain.count(call, session.as_ref()));
        self.thresholds.contains(&count).then_some(count)
    }

    fn watches(&self, name: &str) -> bool {
        let lists = |patterns: &[Str]| patterns.iter().any(|pattern| matches(pattern, name));
        (self.include.is_empty() || lists(&self.include)) && !lists(&self.exclude)
    }

    fn remind(&self, call: &Call, count: u32) -> UserMessage {
        let name = call.name();
        let text = if self.thresholds.first() == Some(&count) {
            "The same tool was called several times in a row with the same arguments. If the result \
             does not help, change the arguments or try another way."
                .to_owned()
        } else {
            let arguments = self.preview(call.arguments());
            format!(
                "`{name}` was called {count} times in a row with the same arguments: {arguments}\n\
                 Calling it again will hardly change the result. Do something else, or say what \
                 is in the way."
            )
        };
        let source = Source::Plugin {
            plugin: PLUGIN.into(),
            form: Some("notice".into()),
            summary: Some(format!("{name} × {count}").into()),
        };
        UserMessage::new(source, [Content::text(text)])
    }

    fn preview(&self, arguments: &Json) -> String {
        let text = arguments.canonical();
        let Some((end, _)) = text.char_indices().nth(self.preview_chars) else { return text };
        let (shown, hidden) = text.split_at(end);
        format!("{shown}… ({} more characters)", hidden.chars().count())
    }
}

impl Chain {
    fn count(&mut self, call: &Call, session: Option<&Session>) -> u32 {
        if session.is_some_and(|session| self.user_spoke(session)) {
            self.last = None;
        }
        let is_same = self
            .last
            .as_ref()
            .is_some_and(|(name, arguments)| name == call.name() && arguments == call.arguments());
        if is_same {
            self.count = self.count.saturating_add(1);
        } else {
            self.last = Some((call.name().clone(), call.arguments().clone()));
            self.count = 1;
        }
        self.count
    }

    /// Whether the log got a message of the user since the last look.
    fn user_spoke(&mut self, session: &Session) -> bool {
        let new = if self.last.is_some() { session.events_from(self.seen) } else { Vec::new() };
        self.seen = new.last().map_or_else(|| session.len(), |event| event.seq + 1);
        new.iter().any(|event| match &event.body {
            EventBody::UserMessage(message) => message.source == Source::User,
            _ => false,
        })
    }
}

impl Hook<PostExecute> for RepeatReminder {
    fn call(
        &self,
        call: Call,
        next: Next<PostExecute>,
    ) -> BoxFuture<'_, Result<PostDecision, HookError>> {
        Box::pin(async move {
            let count = self.count(&call);
            let decision = next.run().await?;
            Ok(match count {
                Some(count) => decision.with_context_first(self.remind(&call, count)),
                None => decision,
            })
        })
    }
}

impl Plugin for RepeatReminder {
    fn name(&self) -> &'static str {
        PLUGIN
    }

    fn install(&self, change: &mut Change<'_>) {
        change.hook(self.clone(), Place::Last);
    }
}

/// Whether the whole name matches; only `*` is special.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut name) = name.strip_prefix(head).and_then(|name| name.strip_suffix(tail)) else {
        return false;
    };
    // Between the outer stars the earliest match of each part leaves most to the next ones.
    for part in middle.split('*') {
        let Some((_, after)) = name.split_once(part) else { return false };
        name = after;
    }
    true
}

#[cold]
fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidConfig, message)
}
