//! Logs for the tests: a sample with every type of event, and short ways to write events down.

use callgate_schema::{Json, json};
use callgate_session::{
    AbortCause, ApprovalAsked, ApprovalDecided, ApprovalMode, ApprovalOutcome, ApprovalPolicy,
    AssistantChunk, AssistantMessage, CodeDispatch, CodeDispatchStart, Content, Draft, EndSeed,
    ErrorInfo, Event, Failure, GatewayNotice, HeaderReason, InboxSpliced, ModelBlock, ModelMessage,
    OtherEvent, PermissionPreset, PolicyDecision, PolicyStage, PolicyVerdict, RequestContext,
    RequestHeader, ResultMessage, Session, SessionHeader, SessionOptions, Source, StepEnd,
    StepStart, ToolCall, ToolRequest, ToolResult, TurnEnd, TurnEndReason, TurnStart, UserMessage,
};

/// The drafts as events: numbered from 0, a millisecond apart.
pub(crate) fn log(drafts: impl IntoIterator<Item = Draft>) -> Vec<Event> {
    (0..).zip(drafts).map(|(n, draft)| Event::new(n, 1_000 + n, draft)).collect()
}

pub(crate) fn lines(events: &[Event]) -> String {
    events.iter().fold(String::new(), |text, event| text + &event.to_string() + "\n")
}

pub(crate) fn header(id: &str) -> SessionHeader {
    SessionHeader::new(id, 1_000)
}

/// Sessions whose every event is stamped 5,000.
pub(crate) fn options() -> SessionOptions {
    SessionOptions::new().clock(|| 5_000)
}

pub(crate) fn session() -> Session {
    options().in_memory(header("s-1"))
}

pub(crate) fn turn_start(turn: u64) -> Draft {
    TurnStart { turn }.into()
}

pub(crate) fn turn_end(turn: u64) -> Draft {
    TurnEnd { turn, reason: TurnEndReason::Completed }.into()
}

pub(crate) fn step_start(turn: u64, step: u64) -> Draft {
    StepStart { turn, step }.into()
}

pub(crate) fn step_end(turn: u64, step: u64) -> Draft {
    StepEnd { turn, step }.into()
}

pub(crate) fn user(text: &str) -> Draft {
    UserMessage::new(Source::User, [text.into()]).into()
}

/// An answer of the model: text, unless it is empty, and requests for calls of `read` with these ids.
pub(crate) fn answer(step: u64, text: &str, requests: &[&str]) -> Draft {
    let text = Some(Content::text(text)).filter(|content| content.as_text() != Some(""));
    let request = |id: &&str| {
        let (call_id, name, arguments) = ((*id).into(), "read".into(), "{}".into());
        ModelBlock::from(ToolRequest { call_id, name, arguments })
    };
    let content = text.into_iter().map(ModelBlock::from).chain(requests.iter().map(request));
    AssistantMessage {
        turn: 1,
        step,
        message: ModelMessage::new(content),
        usage: None,
        interrupted: false,
    }
    .into()
}

pub(crate) fn call(step: u64, id: &str) -> Draft {
    ToolCall { turn: 1, step, call_id: id.into(), name: "read".into(), arguments: "{}".into() }
        .into()
}

/// The result `done` of a call whose event has the number `call`.
pub(crate) fn result(step: u64, id: &str, call: u64) -> Draft {
    Draft::new(result_body(step, id)).citing([call])
}

pub(crate) fn result_body(step: u64, id: &str) -> ToolResult {
    let content = [Content::text("done")].into();
    let message = ResultMessage { id: None, call_id: id.into(), content, is_error: false };
    ToolResult { turn: 1, step, message, error: None, meta: None }
}

pub(crate) fn failed(step: u64, id: &str, code: &str) -> ToolResult {
    let mut result = result_body(step, id);
    result.message.is_error = true;
    result.error = Some(ErrorInfo { name: "SomeError".into(), code: code.into() });
    result
}

pub(crate) fn sub_start(root: &str, parent: &str, id: &str) -> Draft {
    CodeDispatchStart {
        root_call_id: root.into(),
        parent_call_id: parent.into(),
        sub_call_id: id.into(),
        name: "read".into(),
        arguments: json!({ "path": "a" }),
    }
    .into()
}

pub(crate) fn sub_end(root: &str, parent: &str, id: &str) -> Draft {
    CodeDispatch {
        root_call_id: root.into(),
        parent_call_id: parent.into(),
        sub_call_id: id.into(),
        name: "read".into(),
        arguments: json!({ "path": "a" }),
        is_error: false,
        content: [Content::text("aaa")].into(),
    }
    .into()
}

pub(crate) fn asked(id: &str) -> Draft {
    ApprovalAsked { id: id.into(), tool_name: "write".into(), call_id: None, reason: None }.into()
}

pub(crate) fn decided(id: &str) -> Draft {
    ApprovalDecided { id: id.into(), outcome: ApprovalOutcome::Rejected, by: None }.into()
}

pub(crate) fn other(kind: &str, data: Json) -> Draft {
    OtherEvent { kind: kind.into(), data }.into()
}

/// A valid log that has every type of event and every form of its parts.
pub(crate) fn sample() -> Vec<Event> {
    log(first_step().into_iter().chain(second_step()))
}

fn first_step() -> Vec<Draft> {
    vec![
        RequestHeader {
            header: json!({ "system": "be brief", "tools": [] }),
            reason: HeaderReason::Initial,
        }
        .into(),
        PermissionPreset { preset: "workspace-write".into() }.into(),
        ApprovalPolicy { policy: ApprovalMode::Ask, source: Some("delegation".into()) }.into(),
        EndSeed.into(),
        turn_start(1),
        step_start(1, 1),
        UserMessage::new(
            Source::User,
            ["fix \"it\"\n".into(), Content::image("aGk=", "image/png")],
        )
        .with_id("m-1")
        .into(),
        InboxSpliced(json!({ "messages": 1 })).into(),
        RequestContext(json!({ "approval:policy": "ask" })).into(),
        AssistantChunk { turn: 1, step: 1, chunk: json!({ "text": "let me" }) }.into(),
        sample_answer(),
        ToolCall {
            turn: 1,
            step: 1,
            call_id: "c1".into(),
            name: "run_code".into(),
            arguments: "{\"code\": 1 }".into(),
        }
        .into(),
        PolicyDecision {
            call_id: "c1".into(),
            root_call_id: "c1".into(),
            name: "run_code".into(),
            decision: PolicyVerdict::Ask,
            stage: PolicyStage::Gate,
            rule: Some("ask:run_code".into()),
            reason: Some("programs are asked about".into()),
        }
        .into(),
        ApprovalAsked {
            id: "q1".into(),
            tool_name: "run_code".into(),
            call_id: Some("c1".into()),
            reason: Some("programs are asked about".into()),
        }
        .into(),
        ApprovalDecided {
            id: "q1".into(),
            outcome: ApprovalOutcome::AllowedOnce,
            by: Some("terminal".into()),
        }
        .into(),
        sub_start("c1", "c1", "c1:code:1"),
        sub_start("c1", "c1:code:1", "c1:code:1:code:1"),
        sub_end("c1", "c1:code:1", "c1:code:1:code:1"),
        sub_end("c1", "c1", "c1:code:1"),
        ToolCall {
            turn: 1,
            step: 1,
            call_id: "c2".into(),
            name: "write".into(),
            arguments: String::new().into(),
        }
        .into(),
        Draft::new(ToolResult { meta: Some(Json::Null), ..failed(1, "c2", "INVALID_ARGS") })
            .citing([19]),
        Draft::new(ToolResult { meta: Some(json!({ "card": "diff" })), ..result_body(1, "c1") })
            .citing([11, 10]),
        step_end(1, 1),
    ]
}

fn second_step() -> Vec<Draft> {
    vec![
        step_start(1, 2),
        UserMessage::new(
            Source::Plugin {
                plugin: "tools-code-mode".into(),
                form: Some("notice".into()),
                summary: Some("read × 3".into()),
            },
            [Content::from_json(&json!({ "type": "resource", "uri": "file:a" }))],
        )
        .into(),
        UserMessage::new(Source::from_json(&json!({ "kind": "mail", "from": "a" })), []).into(),
        Draft::new(AssistantMessage {
            turn: 1,
            step: 2,
            message: ModelMessage::new([]),
            usage: None,
            interrupted: true,
        })
        .citing([]),
        GatewayNotice {
            topic: "server-down".into(),
            message: "server `a` is down".into(),
            details: None,
        }
        .into(),
        other("vendor/ping", json!({ "deep": [[1.5, 18_446_744_073_709_551_615_u64]] })),
        step_end(1, 2),
        TurnEnd {
            turn: 1,
            reason: TurnEndReason::Aborted(AbortCause::Hook { text: "enough".into() }),
        }
        .into(),
        turn_start(2),
        TurnEnd {
            turn: 2,
            reason: TurnEndReason::Error(Failure {
                message: "no disk".into(),
                code: "UNKNOWN".into(),
            }),
        }
        .into(),
        Draft::new(UserMessage::new(Source::User, ["all of the above, in short".into()]))
            .replacing(6..=25),
    ]
}

fn sample_answer() -> Draft {
    let thought = json!({ "type": "reasoning", "text": "hm", "signature": "s" });
    let request = |id: &str, name: &str, arguments: &str| {
        ModelBlock::from(ToolRequest {
            call_id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        })
    };
    let message = ModelMessage {
        id: Some("a-1".into()),
        content: [
            Content::reasoning("first").into(),
            Content::from_json(&thought).into(),
            Content::text("let me see").into(),
            request("c1", "run_code", "{\"code\": 1 }"),
            request("c2", "write", ""),
        ]
        .into(),
    };
    let answer = AssistantMessage {
        turn: 1,
        step: 1,
        message,
        usage: Some(json!({ "output": 12 })),
        interrupted: false,
    };
    Draft::new(answer).citing([9])
}
