//! Approvals: a rule asks, somebody answers, the session log keeps both, and a session can choose
//! not to be asked at all.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use callgate::hooks::Approvals;
use callgate::session::{ApprovalMode, Session, SessionHeader};
use callgate::{
    Approval, CallInput, Decision, Error, Json, Output, ParamSpec, Recorder, Signal,
    ToolDefinition, ToolRuntime, ValueSpec, json, render,
};

fn deploy() -> ToolDefinition {
    ToolDefinition::new(
        "deploy",
        "Deploys the service.",
        ParamSpec::new().required("to", ValueSpec::string()),
        Output::new(ValueSpec::string(), render::json),
        |arguments: Json, _| async move {
            Ok(json!(format!("deployed to {}", arguments["to"].as_str().unwrap_or("nowhere"))))
        },
    )
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let runtime = ToolRuntime::builder().tool(deploy()).build()?;

    // The rule: deploys need approval.
    runtime.on_pre_execute(|call, next| async move {
        if &**call.name() == "deploy" {
            return Ok(Decision::ask("deploys are for people").by_rule("no-unattended-deploy"));
        }
        next.run().await
    });

    // The service, and those who answer: a dialog would do so in a real application. One that
    // delegates leaves the answer to the next; where nobody answers, the call is denied.
    let approvals = Approvals::new();
    runtime.install(&approvals)?;
    runtime.on_approve(|request, next| async move {
        match request.call.arguments()["to"].as_str() {
            Some("staging") => Ok(Approval::AllowedOnce),
            Some("production") => Ok(Approval::Rejected),
            _ => next.run().await,
        }
    });

    let session = Session::in_memory(SessionHeader::new("session-1", 0));
    let recorder = Recorder::new(runtime.scope(), session.clone())?;
    for to in ["staging", "production", "the moon"] {
        let input = CallInput::new(format!("to {to}"), "deploy", json!({ "to": to }));
        println!("{to}: {}", recorder.call(input).await.text());
    }

    // The model learns of a switch at its next step, and finds the policy in its context.
    let notice = approvals.switch(&session, ApprovalMode::Never)?;
    println!("notice: {}", notice.is_some());
    println!("context: {}", recorder.scope().runtime_context(&Signal::new())?);
    let input = CallInput::new("again", "deploy", json!({ "to": "staging" }));
    println!("staging: {}", recorder.call(input).await.text());
    recorder.close()?;

    println!("log:");
    for event in session.events() {
        if event.kind().starts_with("approval/") {
            // The ids of questions are different in every process.
            let event = Json::parse(&event.to_string()).unwrap_or_default();
            let data = event["data"].as_object().map(|data| data.without("id"));
            println!("  {} {}", event["type"], data.unwrap_or_default());
        }
    }
    Ok(())
}
