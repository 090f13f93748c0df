//! [`EventBody`]: the vocabulary of the log, one struct per type of event.

use std::sync::Arc;

use callgate_schema::{Json, Str};

use crate::content::Content;
use crate::form::{Field, Fields, FormError, Members, records, words};
use crate::message::{ModelMessage, ResultMessage, UserMessage};

/// The one table of event types: wire name, struct, and what the log does with it.
macro_rules! vocabulary {
    ($($(#[$doc:meta])* $kind:literal $name:ident $(($property:ident))?;)*) => {
        /// What happened: one variant per type of event.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum EventBody {
            $($(#[$doc])* $name($name),)*
            /// An event of a type this version does not know, verbatim. Always ignorable.
            Other(OtherEvent),
        }

        impl EventBody {
            /// The type as it stands in the log, such as `tool/call`.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$name(_) => $kind,)*
                    Self::Other(other) => &other.kind,
                }
            }

            /// Whether a type of event is part of the vocabulary.
            pub fn is_known(kind: &str) -> bool {
                matches!(kind, $($kind)|*)
            }

            /// Whether events of this kind belong to the surface, which derives to messages.
            pub fn is_on_surface(&self) -> bool {
                match self {
                    $(Self::$name(_) => vocabulary!(@is surface $($property)?),)*
                    Self::Other(_) => false,
                }
            }

            /// Whether a reader that does not know the type may skip it.
            pub fn is_ignorable(&self) -> bool {
                match self {
                    $(Self::$name(_) => vocabulary!(@is ignorable $($property)?),)*
                    Self::Other(_) => true,
                }
            }

            pub(super) fn read(kind: Str, data: &Json, ignorable: bool) -> Result<Self, FormError> {
                let body = match &*kind {
                    $($kind => $name::read(data).map(Self::$name),)*
                    _ if ignorable => Ok(Self::Other(OtherEvent { kind, data: data.clone() })),
                    _ => return Err(unknown(&kind)),
                };
                body.map_err(|error| error.within("data"))
            }

            pub(super) fn print(&self, out: &mut String) {
                match self {
                    $(Self::$name(data) => data.print(out),)*
                    Self::Other(other) => other.data.print(out),
                }
            }
        }

        $(impl From<$name> for EventBody {
            fn from(data: $name) -> Self {
                Self::$name(data)
            }
        })*
    };
    (@is surface surface) => { true };
    (@is ignorable ignorable) => { true };
    (@is $wanted:ident $($other:ident)?) => { false };
}

vocabulary! {
    /// A turn opens.
    "turn/start" TurnStart;
    /// A turn closes.
    "turn/end" TurnEnd;
    /// A step opens.
    "step/start" StepStart;
    /// A step closes.
    "step/end" StepEnd;
    /// A message to the model.
    "user/message" UserMessage (surface);
    /// A piece of a streamed answer.
    "assistant/chunk" AssistantChunk;
    /// The answer of the model.
    "assistant/message" AssistantMessage (surface);
    /// A tool call is taken up.
    "tool/call" ToolCall;
    /// A tool call is finished.
    "tool/result" ToolResult (surface);
    /// A sub-call of a program starts.
    "tool/code-dispatch-start" CodeDispatchStart;
    /// A sub-call of a program is settled.
    "tool/code-dispatch" CodeDispatch;
    /// System text and tools of the requests from here on.
    "request/header" RequestHeader;
    /// Run-time context of the requests from here on.
    "request/context" RequestContext;
    /// Messages moved from an agent's inbox into the log.
    "agent/inbox/spliced" InboxSpliced;
    /// The events up to here were a seed.
    "session/end-seed" EndSeed;
    /// A question to an approver.
    "approval/asked" ApprovalAsked;
    /// The answer to it.
    "approval/decided" ApprovalDecided;
    /// From here on approvals are asked for, or never.
    "approval/policy" ApprovalPolicy;
    /// A permission preset was chosen.
    "permission/preset" PermissionPreset;
    /// What a rule said about a call.
    "policy/decision" PolicyDecision (ignorable);
    /// Something the gateway has to say about the session.
    "gateway/notice" GatewayNotice (ignorable);
}

#[cold]
fn unknown(kind: &str) -> FormError {
    FormError::new(format!(
        "is `{kind}`, which this version of callgate does not know, and the event is not marked as ignorable"
    ))
    .within("type")
}

/// An event of a type that is not in the vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherEvent {
    /// Its type.
    pub kind: Str,
    /// Its data.
    pub data: Json,
}

impl From<OtherEvent> for EventBody {
    fn from(other: OtherEvent) -> Self {
        Self::Other(other)
    }
}

records! {
    /// `turn/start`: an activation of the agent, or of the gateway session, begins.
    TurnStart {
        /// The turns of a log are 1, 2, 3 …
        turn: u64 = "turn",
    }

    /// `turn/end`
    TurnEnd {
        /// The open turn.
        turn: u64 = "turn",
        /// Why it ends.
        reason: TurnEndReason = "reason",
    }

    /// `step/start`
    StepStart {
        /// The open turn.
        turn: u64 = "turn",
        /// The steps of a turn are 1, 2, 3 …
        step: u64 = "step",
    }

    /// `step/end`
    StepEnd {
        /// The open turn.
        turn: u64 = "turn",
        /// The open step.
        step: u64 = "step",
    }

    /// `assistant/chunk`
    AssistantChunk {
        /// The open turn.
        turn: u64 = "turn",
        /// The open step.
        step: u64 = "step",
        /// The piece, in the form of the model's interface.
        chunk: Json = "chunk",
    }

    /// `tool/call`: a call is taken up, before anything about it is decided.
    ToolCall {
        /// The open turn.
        turn: u64 = "turn",
        /// The open step.
        step: u64 = "step",
        /// The id the model uses for the call.
        call_id: Str = "callId",
        /// The name it was called by.
        name: Str = "name",
        /// The arguments, as the text that was received.
        arguments: Str = "arguments",
    }

    /// `tool/result`: what the model reads of a call. Cites its `tool/call`.
    ToolResult {
        /// The open turn.
        turn: u64 = "turn",
        /// The open step.
        step: u64 = "step",
        /// The message.
        message: ResultMessage = "message",
        /// Class and code of a coded failure.
        error: Option<ErrorInfo> = "error",
        /// What the tool keeps for user interfaces.
        meta: Option<Json> = "meta",
    }

    /// Class and stable code of a failure.
    ErrorInfo {
        /// The class, such as `ToolNotFoundError`.
        name: Str = "name",
        /// The code, such as `UNKNOWN_TOOL`.
        code: Str = "code",
    }

    /// `tool/code-dispatch-start`
    CodeDispatchStart {
        /// The outermost call, made by the model.
        root_call_id: Str = "rootCallId",
        /// The call of the program.
        parent_call_id: Str = "parentCallId",
        /// The sub-call.
        sub_call_id: Str = "subCallId",
        /// The name of the tool.
        name: Str = "name",
        /// Its arguments.
        arguments: Json = "arguments",
    }

    /// `tool/code-dispatch`
    CodeDispatch {
        /// The outermost call, made by the model.
        root_call_id: Str = "rootCallId",
        /// The call of the program.
        parent_call_id: Str = "parentCallId",
        /// The sub-call.
        sub_call_id: Str = "subCallId",
        /// The name of the tool.
        name: Str = "name",
        /// Its arguments.
        arguments: Json = "arguments",
        /// Whether it failed.
        is_error: bool = "isError",
        /// Its final model-facing content, whole unless a hook shortened this copy.
        content: Arc<[Content]> = "content",
    }

    /// `request/header`
    RequestHeader {
        /// System text and tools.
        header: Json = "header",
        /// Why it is written.
        reason: HeaderReason = "reason",
    }

    /// `approval/asked`
    ApprovalAsked {
        /// The id of the question.
        id: Str = "id",
        /// The tool it is about.
        tool_name: Str = "toolName",
        /// The call it is about.
        call_id: Option<Str> = "callId",
        /// Why it is asked.
        reason: Option<Str> = "reason",
    }

    /// `approval/decided`
    ApprovalDecided {
        /// The id of the question.
        id: Str = "id",
        /// The answer.
        outcome: ApprovalOutcome = "outcome",
        /// Who or what answered, such as `elicitation` or `terminal`.
        by: Option<Str> = "by",
    }

    /// `approval/policy`
    ApprovalPolicy {
        /// The policy in force from here on.
        policy: ApprovalMode = "policy",
        /// Where it comes from: `delegation` if it was seeded into a child agent.
        source: Option<Str> = "source",
    }

    /// `permission/preset`
    PermissionPreset {
        /// The name of the preset.
        preset: Str = "preset",
    }

    /// `policy/decision`: what a rule said about a call.
    PolicyDecision {
        /// The call.
        call_id: Str = "callId",
        /// The outermost call it belongs to: itself, if it is not a sub-call.
        root_call_id: Str = "rootCallId",
        /// The name of the tool.
        name: Str = "name",
        /// What was decided.
        decision: PolicyVerdict = "decision",
        /// Where it was decided.
        stage: PolicyStage = "stage",
        /// The rule that decided.
        rule: Option<Str> = "rule",
        /// What the caller was told.
        reason: Option<Str> = "reason",
    }

    /// `gateway/notice`: something the gateway has to say about the session.
    GatewayNotice {
        /// What it is about, as a fixed word such as `server-down`.
        topic: Str = "topic",
        /// The text for people.
        message: Str = "message",
        /// More about it.
        details: Option<Json> = "details",
    }
}

/// `assistant/message`
#[derive(Clone, Debug, PartialEq)]
pub struct AssistantMessage {
    /// The open turn.
    pub turn: u64,
    /// The open step.
    pub step: u64,
    /// What the model answered.
    pub message: ModelMessage,
    /// What it cost, in the form of the model's interface.
    pub usage: Option<Json>,
    /// Whether the stream was cut off.
    pub interrupted: bool,
}

impl Field for AssistantMessage {
    fn read(json: &Json) -> Result<Self, FormError> {
        let fields = Fields::of(json, &["turn", "step", "message", "usage", "interrupted"])?;
        Ok(Self {
            turn: fields.take("turn")?,
            step: fields.take("step")?,
            message: fields.take("message")?,
            usage: fields.take("usage")?,
            interrupted: fields.flag("interrupted")?,
        })
    }

    fn print(&self, out: &mut String) {
        let mut members = Members::open(out);
        members.put("turn", &self.turn);
        members.put("step", &self.step);
        members.put("message", &self.message);
        members.put("usage", &self.usage);
        members.flag("interrupted", self.interrupted);
        members.close();
    }
}

/// `session/end-seed`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndSeed;

impl Field for EndSeed {
    fn read(json: &Json) -> Result<Self, FormError> {
        Fields::of(json, &[]).map(|_| Self)
    }

    fn print(&self, out: &mut String) {
        Members::open(out).close();
    }
}

/// `request/context`: run-time context, in the form of whoever assembles requests.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestContext(pub Json);

/// `agent/inbox/spliced`: what left an agent's inbox, in the form of the agent loop.
#[derive(Clone, Debug, PartialEq)]
pub struct InboxSpliced(pub Json);

macro_rules! verbatim {
    ($($name:ident)*) => {$(impl Field for $name {
        fn read(json: &Json) -> Result<Self, FormError> {
            Ok(Self(json.clone()))
        }

        fn print(&self, out: &mut String) {
            self.0.print(out);
        }
    })*};
}

verbatim! { RequestContext InboxSpliced }

words! {
    /// Why a `request/header` is written.
    HeaderReason {
        /// The first request of the log.
        Initial = "initial",
        /// The first request after the log was loaded.
        Resume = "resume",
        /// System text or tools are new.
        Change = "change",
    }
}

words! {
    /// The answer to an approval question.
    ApprovalOutcome {
        /// The one action asked about may happen.
        AllowedOnce = "allowed-once",
        /// It may not.
        Rejected = "rejected",
        /// The call was cancelled before somebody answered.
        Cancelled = "cancelled",
        /// Nobody could answer.
        Unavailable = "unavailable",
    }
}

words! {
    /// Whether approvals are asked for.
    ApprovalMode {
        /// Questions reach an approver.
        Ask = "ask",
        /// Questions are rejected without asking.
        Never = "never",
    }
}

words! {
    /// What a policy says about a call.
    PolicyVerdict {
        /// It may run.
        Allow = "allow",
        /// It may not.
        Deny = "deny",
        /// An approver decides.
        Ask = "ask",
    }
}

words! {
    /// Where in the pipeline a policy decided.
    PolicyStage {
        /// The pre-execute hooks.
        Gate = "gate",
        /// A guard.
        Guard = "guard",
        /// An approver.
        Approval = "approval",
    }
}

/// Why a turn ended: `{"kind": …}`, with `error` or `cause` where there is more to say.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TurnEndReason {
    /// Nothing is left to do.
    Completed,
    /// A policy refused the step.
    Blocked,
    /// An answer was cut at the model's limit.
    MaxTokens,
    /// The log broke off here. Written by repair only.
    Interrupted,
    /// Something failed.
    Error(Failure),
    /// Somebody stopped it.
    Aborted(AbortCause),
}

records! {
    /// A structured failure.
    Failure {
        /// What went wrong.
        message: Str = "message",
        /// Its code; `UNKNOWN` if it has no better one.
        code: Str = "code",
    }
}

/// Who or what stopped a turn: `{"kind": …}`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AbortCause {
    /// The person.
    User,
    /// The agent that delegated to this one.
    Parent,
    /// A hook.
    Hook {
        /// What it said.
        text: Str,
    },
    /// The agent was shut down.
    Disposed,
    /// Unknown, in a log that was imported.
    Legacy,
}

impl TurnEndReason {
    fn word(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Blocked => "blocked",
            Self::MaxTokens => "max-tokens",
            Self::Interrupted => "interrupted",
            Self::Error(_) => "error",
            Self::Aborted(_) => "aborted",
        }
    }
}

impl Field for TurnEndReason {
    fn read(json: &Json) -> Result<Self, FormError> {
        let only = |reason| Fields::of(json, &["kind"]).map(|_| reason);
        match kind(json)? {
            "completed" => only(Self::Completed),
            "blocked" => only(Self::Blocked),
            "max-tokens" => only(Self::MaxTokens),
            "interrupted" => only(Self::Interrupted),
            "error" => Fields::of(json, &["kind", "error"])?.take("error").map(Self::Error),
            "aborted" => Fields::of(json, &["kind", "cause"])?.take("cause").map(Self::Aborted),
            other => Err(unknown_kind("reason of a turn's end", other)),
        }
    }

    fn print(&self, out: &mut String) {
        let mut members = Members::open(out);
        members.word("kind", self.word());
        match self {
            Self::Error(failure) => members.put("error", failure),
            Self::Aborted(cause) => members.put("cause", cause),
            _ => {}
        }
        members.close();
    }
}

impl AbortCause {
    fn word(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Parent => "parent",
            Self::Hook { .. } => "hook",
            Self::Disposed => "disposed",
            Self::Legacy => "legacy",
        }
    }
}

impl Field for AbortCause {
    fn read(json: &Json) -> Result<Self, FormError> {
        let only = |cause| Fields::of(json, &["kind"]).map(|_| cause);
        match kind(json)? {
            "user" => only(Self::User),
            "parent" => only(Self::Parent),
            "hook" => Ok(Self::Hook { text: Fields::of(json, &["kind", "text"])?.take("text")? }),
            "disposed" => only(Self::Disposed),
            "legacy" => only(Self::Legacy),
            other => Err(unknown_kind("cause of an abort", other)),
        }
    }

    fn print(&self, out: &mut String) {
        let mut members = Members::open(out);
        members.word("kind", self.word());
        if let Self::Hook { text } = self {
            members.put("text", text);
        }
        members.close();
    }
}

fn kind(json: &Json) -> Result<&str, FormError> {
    json.get("kind")
        .and_then(Json::as_str)
        .ok_or_else(|| FormError::new("must be an object with a `kind`"))
}

#[cold]
fn unknown_kind(what: &str, kind: &str) -> FormError {
    FormError::new(format!("is no known {what}: `{kind}`")).within("kind")
}
