//! Errors for three audiences: the host programmer, the author of a tool or hook, the model.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use callgate_schema::{Json, Str, Violation, Violations};
use callgate_session::Content;

use crate::program::EngineError;

/// What went wrong when the runtime was built or something was registered: for the host programmer.
///
/// Branch on [`kind`](Self::kind), never on the text.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    message: Arc<str>,
    violations: Violations,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting is outside its range.
    InvalidConfig,
    /// A tool definition cannot be registered as it is.
    InvalidDefinition,
    /// A schema uses what the enforced subset does not have.
    UnsupportedSchema,
    /// The name is taken by the runtime itself.
    ReservedName,
    /// The name, or the declaration, exists in this layer already.
    Duplicate,
    /// A restriction is empty or names tools nobody inherits.
    InvalidRestriction,
    /// The scope was disposed.
    Disposed,
    /// A log could not be written.
    Log,
    /// A prompt could not be assembled.
    Prompt,
    /// An invariant is broken: a defect of the host or of this crate.
    Invariant,
}

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self { kind, message: message.into(), violations: Violations::default() }
    }

    #[cold]
    pub(crate) fn with_violations(mut self, violations: Violations) -> Self {
        self.violations = violations;
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The faults of a schema, in order; empty for other kinds.
    pub fn violations(&self) -> &Violations {
        &self.violations
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {}

/// The stable codes of failures that this crate makes.
pub mod codes {
    /// No such tool is visible to the caller.
    pub const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";
    /// A tool returned something else than it declares.
    pub const INVALID_TOOL_OUTPUT: &str = "INVALID_TOOL_OUTPUT";
    /// The arguments do not fit the tool's parameters.
    pub const INVALID_ARGS: &str = "INVALID_ARGS";
    /// A schema is outside the enforced subset.
    pub const UNSUPPORTED_SCHEMA: &str = "UNSUPPORTED_SCHEMA";
    /// A program of Code Mode failed.
    pub const CODE_RUN_FAILED: &str = "CODE_RUN_FAILED";
    /// The call was cancelled while its body ran.
    pub const ABORTED: &str = "ABORTED";
    /// The call was cancelled before its body ran.
    pub const ABORTED_BEFORE_DISPATCH: &str = "ABORTED_BEFORE_DISPATCH";
    /// The call used up its declared time budget.
    pub const TOOL_TIMEOUT: &str = "TOOL_TIMEOUT";
    /// The session log could not be written, so the call must not go on.
    pub const LOG_FAILED: &str = "LOG_FAILED";
    /// An invariant is broken: a defect of the host or of this crate.
    pub const INVARIANT: &str = "INVARIANT";
}

/// Why a call failed, in one word: what a program's `ToolCallError` message opens with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureClass {
    /// A rule, a guard or a person said no.
    Denied,
    /// The arguments do not fit.
    InvalidArguments,
    /// No such tool.
    UnknownTool,
    /// The tool exists but cannot be reached at the moment.
    Unavailable,
    /// A deadline passed.
    TimedOut,
    /// The call was cancelled.
    Aborted,
    /// The tool broke its own output declaration.
    InvalidOutput,
    /// The result was held back after the tool had run.
    Blocked,
    /// The tool itself failed.
    Failed,
}

impl FailureClass {
    /// The fixed word, or words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::InvalidArguments => "invalid arguments",
            Self::UnknownTool => "unknown tool",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed out",
            Self::Aborted => "aborted",
            Self::InvalidOutput => "invalid output",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The class name and the stable code of a failure. Policies route on the code.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorInfo {
    /// The class name, e.g. `ToolTimeoutError`.
    pub name: Str,
    /// The stable code, e.g. `TOOL_TIMEOUT`.
    pub code: Str,
}

type Source = Arc<dyn StdError + Send + Sync>;

/// A failure raised by a tool or a hook, and why a call failed: message, and code if it has one.
///
/// It deliberately does not implement [`std::error::Error`], so that `?` converts every error
/// of a tool's own.
///
/// ```
/// use callgate_core::ToolError;
/// fn first_line(path: &str) -> Result<String, ToolError> {
///     let text = std::fs::read_to_string(path)?;
///     let line = text.lines().next();
///     line.map(str::to_owned).ok_or_else(|| ToolError::failed(format!("`{path}` is empty")))
/// }
/// assert!(first_line("/no/such/file").is_err());
/// ```
#[derive(Clone, Debug)]
pub struct ToolError {
    class: FailureClass,
    message: Arc<str>,
    info: Option<ErrorInfo>,
    source: Option<Source>,
    attached: Option<Arc<Attached>>,
    violations: Option<Arc<Violations>>,
}

/// What comes with a failure that was made elsewhere.
#[derive(Clone, Debug)]
struct Attached {
    content: Arc<[Content]>,
    raw: Option<Json>,
}

/// What a hook fails with: the same as a tool.
pub type HookError = ToolError;

impl ToolError {
    /// A failure of the tool, with a message for the model that says how to do better.
    #[cold]
    pub fn failed(message: impl Into<Arc<str>>) -> Self {
        Self::of(FailureClass::Failed, message)
    }

    /// A failure with a class name and a stable code, which policies and the log keep.
    #[cold]
    pub fn coded(name: impl Into<Str>, code: impl Into<Str>, message: impl Into<Arc<str>>) -> Self {
        let mut error = Self::failed(message);
        error.info = Some(ErrorInfo { name: name.into(), code: code.into() });
        error
    }

    /// A failure of the given class, without a code.
    #[cold]
    pub fn of(class: FailureClass, message: impl Into<Arc<str>>) -> Self {
        Self {
            class,
            message: message.into(),
            info: None,
            source: None,
            attached: None,
            violations: None,
        }
    }

    #[cold]
    pub(crate) fn known(
        class: FailureClass,
        name: &'static str,
        code: &'static str,
        message: impl Into<Arc<str>>,
    ) -> Self {
        let mut error = Self::coded(name, code, message);
        error.class = class;
        error
    }

    /// The arguments do not fit the tool's parameters.
    #[cold]
    pub fn invalid_arguments(message: impl Into<Arc<str>>) -> Self {
        Self::known(FailureClass::InvalidArguments, "ToolArgsError", codes::INVALID_ARGS, message)
    }

    /// What a check found wrong with the arguments of a tool.
    #[cold]
    pub(crate) fn refused_arguments(tool: &str, violations: Violations) -> Self {
        let message = cut(format!("invalid arguments for `{tool}`: {violations}"));
        let mut error = Self::invalid_arguments(message);
        error.violations = Some(Arc::new(violations));
        error
    }

    /// The tool broke its own output declaration.
    #[cold]
    pub(crate) fn invalid_output(tool: &str, what: impl fmt::Display) -> Self {
        let message = cut(format!("the output of `{tool}` is invalid: {what}"));
        let code = codes::INVALID_TOOL_OUTPUT;
        Self::known(FailureClass::InvalidOutput, "ToolOutputError", code, message)
    }

    /// The tool exists but cannot be reached at the moment.
    #[cold]
    pub fn unavailable(message: impl Into<Arc<str>>) -> Self {
        Self::of(FailureClass::Unavailable, message)
    }

    /// The call used up its time budget.
    #[cold]
    pub fn timed_out(message: impl Into<Arc<str>>) -> Self {
        Self::known(FailureClass::TimedOut, "ToolTimeoutError", codes::TOOL_TIMEOUT, message)
    }

    /// Another class for the same failure.
    #[must_use]
    pub fn with_class(mut self, class: FailureClass) -> Self {
        self.class = class;
        self
    }

    /// What lies behind it, for the host's own logs; a model never sees it.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// What the model reads of it, where that is more than the message: blocks that came from
    /// elsewhere, such as those of an MCP server.
    ///
    /// ```
    /// use callgate_core::ToolError;
    /// use callgate_session::Content;
    /// let error = ToolError::failed("quota used up").with_content([Content::text("quota used up")]);
    /// assert_eq!(error.message(), "quota used up");
    /// ```
    #[must_use]
    pub fn with_content(mut self, content: impl IntoIterator<Item = Content>) -> Self {
        let content = content.into_iter().collect();
        let raw = self.attached.and_then(|attached| attached.raw.clone());
        self.attached = Some(Arc::new(Attached { content, raw }));
        self
    }

    /// The failed result as whoever made it sent it, for those who pass results on; see
    /// [`CallResult::raw`](crate::CallResult::raw). It belongs to [content](Self::with_content)
    /// and is forgotten without.
    #[must_use]
    pub fn with_raw(mut self, raw: Json) -> Self {
        let attach = |attached: Arc<Attached>| {
            Arc::new(Attached { content: attached.content.clone(), raw: Some(raw) })
        };
        self.attached = self.attached.map(attach);
        self
    }

    /// Content and raw form, if it came with them.
    pub(crate) fn attached(&self) -> Option<(Arc<[Content]>, Option<Json>)> {
        self.attached.as_ref().map(|attached| (attached.content.clone(), attached.raw.clone()))
    }

    /// Forgets content and raw form: a hook put something in their place.
    pub(crate) fn detach(&mut self) {
        self.attached = None;
    }

    /// What kind of failure it is.
    pub fn class(&self) -> FailureClass {
        self.class
    }

    /// The message, without any prefix.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The message as a program reads it: it opens with the fixed word of its
    /// [class](Self::class), said once.
    pub fn for_program(&self) -> String {
        let word = self.class.word();
        if self.message.starts_with(word) {
            return self.message.to_string();
        }
        format!("{word}: {}", self.message)
    }

    /// Class name and code, if it has them. Denials and blocks have none.
    pub fn info(&self) -> Option<&ErrorInfo> {
        self.info.as_ref()
    }

    /// The stable code, if it has one.
    pub fn code(&self) -> Option<&str> {
        self.info.as_ref().map(|info| &*info.code)
    }

    /// What a check found wrong with the arguments, in order; empty for other failures.
    pub fn violations(&self) -> &[Violation] {
        self.violations.as_deref().map_or(&[], |violations| violations)
    }

    /// What lies behind it.
    pub fn source(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.source.as_deref()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl PartialEq for ToolError {
    /// Equal for everybody who may branch on it: class, message and code.
    fn eq(&self, other: &Self) -> bool {
        (self.class, &self.message, &self.info) == (other.class, &other.message, &other.info)
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for ToolError {
    #[cold]
    fn from(error: E) -> Self {
        Self::failed(error.to_string()).with_source(error)
    }
}

/// A panic of user code, as the failure it becomes at the border it was caught at.
#[cold]
pub(crate) fn from_panic(what: &str, panic: &(dyn Any + Send)) -> ToolError {
    let text = panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .filter(|text| !text.is_empty());
    ToolError::failed(match text {
        Some(text) => format!("{what} panicked: {text}"),
        None => format!("{what} panicked"),
    })
}

/// Nobody reads more of a message than this many bytes.
const LONGEST: usize = 8 << 10;

/// Bounds a message that quotes what somebody else wrote.
fn cut(mut message: String) -> String {
    if message.len() > LONGEST {
        let kept = message.floor_char_boundary(LONGEST);
        let more = message.len() - kept;
        message.truncate(kept);
        message = format!("{message}… ({more} more bytes)");
    }
    message
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        Self::new(ErrorKind::InvalidConfig, error.to_string())
    }
}
