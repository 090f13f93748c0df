//! The approval service.

use std::sync::{Arc, Mutex};

use callgate_core::hooks::Approvals;
use callgate_core::{
    Approval, ApprovalRequest, Approver, CallInput, Cause, ContextEntry, Decision, FailureClass,
    HookError, Layer, Question, Signal, ToolRuntime, codes,
};
use callgate_schema::{Json, json};
use callgate_session::{
    ApprovalMode, ApprovalPolicy, Check, Event, LogChecker, Message, Session, SessionHeader,
    Source, TurnStart, Violation, derive_messages,
};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join, join_all};
use tokio::time::{Instant, sleep};

use super::{events, failure, ms, recorder, runtime, text};
use crate::support::{Counter, counting};

/// A runtime whose tool `deploy` needs approval, for the given reason.
fn careful(runs: &Counter, reason: Option<&'static str>) -> ToolRuntime {
    let runtime = runtime([counting("deploy", runs)]);
    runtime.on_pre_execute(move |_, _| async move {
        Ok(match reason {
            Some(reason) => Decision::ask(reason),
            None => Decision::Ask(Question::default()),
        })
    });
    runtime
}

fn careful_with(approvals: &Approvals) -> (ToolRuntime, Counter) {
    let runs = Counter::default();
    let runtime = careful(&runs, Some("deploys are for people"));
    runtime.install(approvals).unwrap();
    (runtime, runs)
}

fn always(layer: &Layer, approval: Approval) {
    layer.on_approve(move |_, _| async move { Ok(approval) });
}

fn deploy(id: &str) -> CallInput {
    CallInput::new(id, "deploy", json!({}))
}

/// What the log says about approvals, with `?` for the ids of questions, which must be paired.
fn record(session: &Session) -> Vec<Json> {
    let mut open: Vec<Json> = Vec::new();
    let mut record = Vec::new();
    for event in events(session, "approval/") {
        let data = event["data"].as_object().unwrap();
        if let Some(id) = data.get("id") {
            if event["type"] == json!("approval/asked") {
                assert!(!open.contains(id), "{id} is asked twice");
                open.push(id.clone());
            } else {
                assert!(open.contains(id), "{id} was not asked");
            }
        }
        let data = if data.contains_key("id") { data.with("id", "?") } else { data.clone() };
        record.push(json!({ "type": event["type"].clone(), "data": data }));
    }
    LogChecker::check_all(&session.events()).unwrap();
    record
}

fn asked(call_id: &str) -> Json {
    let data = json!({
        "id": "?", "toolName": "deploy", "callId": call_id, "reason": "deploys are for people"
    });
    json!({ "type": "approval/asked", "data": data })
}

fn decided(outcome: &str) -> Json {
    json!({ "type": "approval/decided", "data": { "id": "?", "outcome": outcome } })
}

#[tokio::test]
async fn one_of_four_answers_is_given_and_only_one_of_them_is_a_grant() {
    // POLICY-10
    let rows = [
        (Approval::AllowedOnce, "allowed-once", "deploy"),
        (Approval::Rejected, "rejected", "Error: the request to run `deploy` was rejected"),
        (
            Approval::Cancelled,
            "cancelled",
            "Error: the question whether to run `deploy` was withdrawn",
        ),
        (
            Approval::Unavailable,
            "unavailable",
            "Error: nobody could be asked whether to run `deploy`",
        ),
    ];
    for (approval, word, shown) in rows {
        let (runtime, runs) = careful_with(&Approvals::new());
        always(&runtime, approval);
        let recorder = recorder(&runtime);
        let result = recorder.call(deploy("call-1")).await;
        assert_eq!(result.text(), shown);
        assert_eq!(runs.get(), usize::from(approval == Approval::AllowedOnce));
        assert_eq!(record(recorder.session()), [asked("call-1"), decided(word)]);
    }
}

#[tokio::test]
async fn a_grant_is_for_one_call_only() {
    // POLICY-10
    let (runtime, runs) = careful_with(&Approvals::new());
    let answers = Mutex::new(vec![Approval::Rejected, Approval::AllowedOnce]);
    runtime.on_approve(move |_, _| {
        let answer = answers.lock().unwrap().pop().unwrap();
        async move { Ok(answer) }
    });
    let recorder = recorder(&runtime);
    assert!(!recorder.call(deploy("call-1")).await.is_error());
    assert!(recorder.call(deploy("call-2")).await.is_error());
    assert_eq!(runs.get(), 1);
}

#[tokio::test]
async fn a_question_outside_an_open_turn_fails_before_it_is_recorded() {
    // POLICY-11
    let (runtime, runs) = careful_with(&Approvals::new());
    always(&runtime, Approval::AllowedOnce);
    let scope = runtime.scope();
    let session = Session::in_memory(SessionHeader::new("session-1", 0));
    scope.set_session(session.clone()).unwrap();
    let result = scope.execute(deploy("call-1")).await;
    let message =
        "`deploy` needs approval, which can only be asked for within a turn; open one first";
    assert_eq!(failure(&result), (FailureClass::Failed, None, message));
    assert_eq!((record(&session), runs.get()), (vec![], 0));
}

#[tokio::test]
async fn a_record_has_a_reason_only_if_one_was_given() {
    // POLICY-12
    let runtime = careful(&Counter::default(), None);
    runtime.install(&Approvals::new()).unwrap();
    always(&runtime, Approval::Rejected);
    let recorder = recorder(&runtime);
    recorder.call(deploy("call-1")).await;
    let asked = json!({
        "type": "approval/asked", "data": { "id": "?", "toolName": "deploy", "callId": "call-1" }
    });
    assert_eq!(record(recorder.session()), [asked, decided("rejected")]);
}

/// Refuses events of one kind.
struct Refuse(&'static str);

impl Check for Refuse {
    fn check(&mut self, event: &Event) -> Result<(), Violation> {
        if event.kind() == self.0 {
            return Err(Violation::new("tests", event.seq, "the disk is full"));
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_request_that_cannot_be_recorded_fails() {
    // POLICY-12
    for (refused, questions) in [("approval/asked", 0), ("approval/decided", 1)] {
        let (runtime, runs) = careful_with(&Approvals::new());
        let asked = Counter::default();
        let count = asked.clone();
        runtime.on_approve(move |_, _| {
            count.add();
            async { Ok(Approval::AllowedOnce) }
        });
        let recorder = recorder(&runtime);
        recorder.session().add_check(Refuse(refused)).unwrap();
        let result = recorder.call(deploy("call-1")).await;
        let (class, code, _) = failure(&result);
        assert_eq!((class, code), (FailureClass::Failed, Some(codes::LOG_FAILED)), "{refused}");
        assert_eq!((asked.get(), runs.get()), (questions, 0));
    }
}

#[tokio::test]
async fn a_broken_observer_of_the_log_does_not_matter() {
    // POLICY-12
    let (runtime, runs) = careful_with(&Approvals::new());
    always(&runtime, Approval::AllowedOnce);
    let recorder = recorder(&runtime);
    recorder.session().observe(|_| panic!("the observer is broken"));
    assert_eq!(recorder.call(deploy("call-1")).await.text(), "deploy");
    assert_eq!(record(recorder.session()), [asked("call-1"), decided("allowed-once")]);
    assert_eq!(runs.get(), 1);
}

#[tokio::test]
async fn cancellation_comes_before_the_policy_and_the_policy_before_all_hooks() {
    // POLICY-13
    let rows = [
        (true, ApprovalMode::Never, "cancelled", 0),
        (true, ApprovalMode::Ask, "cancelled", 0),
        (false, ApprovalMode::Never, "rejected", 0),
        (false, ApprovalMode::Ask, "allowed-once", 1),
    ];
    for (is_cancelled, policy, outcome, questions) in rows {
        let runs = Counter::default();
        let runtime = runtime([counting("deploy", &runs)]);
        runtime.on_pre_execute(move |call, _| async move {
            if is_cancelled {
                call.signal().cancel(Cause::new("user", "stop"));
            }
            Ok(Decision::ask("deploys are for people"))
        });
        let asked_hooks = Counter::default();
        let count = asked_hooks.clone();
        // Registered before the service, so that it would be the first to know.
        runtime.on_approve(move |_, _| {
            count.add();
            async { Ok(Approval::AllowedOnce) }
        });
        let approvals = Approvals::new();
        runtime.install(&approvals).unwrap();
        let recorder = recorder(&runtime);
        approvals.switch(recorder.session(), policy).unwrap();
        recorder.call(deploy("call-1")).await;
        let mut expected = vec![asked("call-1"), decided(outcome)];
        if policy == ApprovalMode::Never {
            let data = json!({ "policy": "never" });
            expected.insert(0, json!({ "type": "approval/policy", "data": data }));
        }
        assert_eq!(record(recorder.session()), expected);
        assert_eq!(asked_hooks.get(), questions);
    }
}

#[tokio::test]
async fn only_hooks_on_the_chain_of_the_calling_scope_are_asked() {
    // POLICY-13
    let (runtime, _) = careful_with(&Approvals::new());
    let (parent, sibling) = (runtime.scope(), runtime.scope());
    let child = parent.scope();
    let below = child.scope();
    always(&sibling, Approval::AllowedOnce);
    always(&below, Approval::AllowedOnce);
    let shown = async |scope: &Layer| scope.execute(deploy("call-1")).await.text();
    assert_eq!(shown(&child).await, "Error: nobody could be asked whether to run `deploy`");
    always(&parent, Approval::AllowedOnce);
    assert_eq!(shown(&child).await, "deploy");
}

type Answer = fn(ApprovalRequest) -> BoxFuture<'static, Result<Approval, HookError>>;

#[tokio::test(start_paused = true)]
async fn the_first_hook_that_does_not_delegate_decides_and_a_failing_one_is_no_answer() {
    // POLICY-14
    let rows: [(&str, Answer, &str); 5] = [
        ("answers", |_| Box::pin(async { Ok(Approval::AllowedOnce) }), "allowed-once"),
        ("fails at once", |_| Box::pin(async { Err(HookError::failed("no line")) }), "unavailable"),
        ("panics at once", |_| panic!("no line"), "unavailable"),
        (
            "fails later",
            |_| {
                Box::pin(async {
                    sleep(ms(50)).await;
                    Err(HookError::failed("no line"))
                })
            },
            "unavailable",
        ),
        (
            "panics later",
            |_| {
                Box::pin(async {
                    sleep(ms(50)).await;
                    panic!("no line")
                })
            },
            "unavailable",
        ),
    ];
    for (what, answer, outcome) in rows {
        let (runtime, _) = careful_with(&Approvals::new());
        runtime.on_approve(|_, next| async move { next.run().await });
        runtime.on_approve(move |request, _| answer(request));
        always(&runtime, Approval::Rejected);
        let recorder = recorder(&runtime);
        recorder.call(deploy("call-1")).await;
        assert_eq!(record(recorder.session()), [asked("call-1"), decided(outcome)], "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_question_is_settled_at_once_and_a_late_answer_is_discarded() {
    // POLICY-15
    let (runtime, runs) = careful_with(&Approvals::new());
    runtime.on_approve(|_, _| async {
        sleep(ms(3_600_000)).await;
        Ok(Approval::AllowedOnce)
    });
    let recorder = recorder(&runtime);
    let signal = Signal::new();
    let start = Instant::now();
    let stop = async {
        sleep(ms(5)).await;
        signal.cancel(Cause::new("user", "stop"));
    };
    let (result, ()) =
        join(recorder.call(deploy("call-1").with_signal(signal.clone())), stop).await;
    assert_eq!(start.elapsed(), ms(5));
    let (class, code, _) = failure(&result);
    assert_eq!((class, code), (FailureClass::Aborted, Some(codes::ABORTED_BEFORE_DISPATCH)));
    sleep(ms(7_200_000)).await;
    assert_eq!(record(recorder.session()), [asked("call-1"), decided("cancelled")]);
    assert_eq!(runs.get(), 0);
}

/// Hands on to the service and keeps what it answers.
#[derive(Clone, Default)]
struct Listening(Approvals, Arc<Mutex<Vec<Approval>>>);

impl Approver for Listening {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'static, Result<Approval, HookError>> {
        let Self(approvals, answers) = self.clone();
        Box::pin(async move {
            let answer = approvals.approve(request).await?;
            answers.lock().unwrap().push(answer);
            Ok(answer)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_service_itself_answers_a_cancelled_question_and_waits_for_nobody() {
    // POLICY-15
    let runtime = careful(&Counter::default(), None);
    let listening = Listening::default();
    runtime.set_approver(listening.clone()).unwrap();
    runtime.on_approve(|_, _| std::future::pending());
    let signal = Signal::new();
    let stop = async { signal.cancel(Cause::new("user", "stop")) };
    let call = runtime.scope().execute(deploy("call-1").with_signal(signal.clone()));
    join(call, stop).await;
    assert_eq!(*listening.1.lock().unwrap(), [Approval::Cancelled]);
}

/// Asks the service once, and stops waiting.
struct Impatient(Approvals);

impl Approver for Impatient {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'static, Result<Approval, HookError>> {
        assert!(self.0.approve(request).now_or_never().is_none());
        Box::pin(async { Ok(Approval::Rejected) })
    }
}

#[tokio::test]
async fn a_question_nobody_waits_for_is_recorded_as_cancelled() {
    // POLICY-12
    let runtime = careful(&Counter::default(), Some("deploys are for people"));
    runtime.set_approver(Impatient(Approvals::new())).unwrap();
    runtime.on_approve(|_, _| std::future::pending());
    let recorder = recorder(&runtime);
    recorder.call(deploy("call-1")).await;
    assert_eq!(record(recorder.session()), [asked("call-1"), decided("cancelled")]);
}

#[tokio::test]
async fn questions_that_are_open_at_once_have_ids_of_their_own() {
    let (runtime, runs) = careful_with(&Approvals::new());
    runtime.on_approve(|_, _| async {
        tokio::task::yield_now().await;
        Ok(Approval::AllowedOnce)
    });
    let recorder = recorder(&runtime);
    join_all((0..20).map(|number| recorder.call(deploy(&format!("call-{number}"))))).await;
    assert_eq!(runs.get(), 20);
    assert_eq!(record(recorder.session()).len(), 40);
}

#[tokio::test]
async fn a_scope_without_a_session_is_asked_about_without_a_record() {
    let (runtime, runs) = careful_with(&Approvals::new());
    always(&runtime, Approval::AllowedOnce);
    assert_eq!(runtime.scope().execute(deploy("call-1")).await.text(), "deploy");

    let (runtime, never_runs) = careful_with(&Approvals::with_default(ApprovalMode::Never));
    always(&runtime, Approval::AllowedOnce);
    let result = runtime.scope().execute(deploy("call-1")).await;
    assert_eq!(result.text(), "Error: the request to run `deploy` was rejected");
    assert_eq!((runs.get(), never_runs.get()), (1, 0));
}

fn session() -> Session {
    Session::in_memory(SessionHeader::new("session-1", 0))
}

#[test]
fn the_policy_of_a_session_is_its_last_entry_or_the_default() {
    // POLICY-16
    use ApprovalMode::{Ask, Never};
    let rows: [(Option<ApprovalMode>, &[ApprovalMode], ApprovalMode); 5] = [
        (None, &[], Ask),
        (Some(Never), &[], Never),
        (Some(Never), &[Ask], Ask),
        (None, &[Never], Never),
        (None, &[Never, Ask, Never], Never),
    ];
    for (default, entries, expected) in rows {
        let approvals = default.map_or_else(Approvals::new, Approvals::with_default);
        let session = session();
        for policy in entries {
            session.append(ApprovalPolicy { policy: *policy, source: None }).unwrap();
        }
        assert_eq!(approvals.policy(Some(&session)), expected);
        assert_eq!(approvals.policy(None), default.unwrap_or(Ask));
    }
    // Nothing else can be said, so nothing else can be recorded.
    assert_eq!(
        ["ask", "never", "always"].map(ApprovalMode::from_word),
        [Some(Ask), Some(Never), None]
    );
}

#[test]
fn switching_the_policy_records_it_and_tells_the_model_once() {
    // POLICY-17
    let (approvals, session) = (Approvals::new(), session());
    let notice = approvals.switch(&session, ApprovalMode::Never).unwrap().unwrap();
    insta::assert_snapshot!(text(&notice.content), @"The approval policy changed from `ask` to `never`. Calls that need approval are rejected without asking anybody; find a way that needs none.");
    assert_eq!(notice.source, Source::plugin("user-approval"));
    assert_eq!(approvals.switch(&session, ApprovalMode::Never).unwrap(), None);

    let notice = approvals.switch(&session, ApprovalMode::Ask).unwrap().unwrap();
    insta::assert_snapshot!(text(&notice.content), @"The approval policy changed from `never` to `ask`. Calls that need approval wait until somebody answers, and may be rejected.");
    assert_eq!(approvals.switch(&session, ApprovalMode::Ask).unwrap(), None);

    let entry = |policy| json!({ "type": "approval/policy", "data": { "policy": policy } });
    assert_eq!(events(&session, "approval/"), [entry("never"), entry("ask")]);
}

#[test]
fn a_switch_that_cannot_be_recorded_changes_nothing() {
    // POLICY-17
    let (approvals, session) = (Approvals::new(), session());
    session.add_check(Refuse("approval/policy")).unwrap();
    assert!(approvals.switch(&session, ApprovalMode::Never).is_err());
    assert_eq!(approvals.policy(Some(&session)), ApprovalMode::Ask);
}

#[tokio::test]
async fn the_model_of_a_scope_is_told_the_policy_and_never_the_questions() {
    // POLICY-18
    let approvals = Approvals::new();
    let (runtime, _) = careful_with(&approvals);
    always(&runtime, Approval::AllowedOnce);
    for (name, order) in [("after", 116), ("before", 114)] {
        runtime.add_context(ContextEntry::new(name, order, move |_| format!("({name})"))).unwrap();
    }
    let recorder = recorder(&runtime);
    let context = |layer: &Layer| layer.runtime_context(&Signal::new()).unwrap();
    insta::assert_snapshot!(context(recorder.scope()), @"
    (before)

    Approval policy: `ask`. Calls that need approval wait until somebody answers, and may be rejected.

    (after)
    ");
    approvals.switch(recorder.session(), ApprovalMode::Never).unwrap();
    insta::assert_snapshot!(context(recorder.scope()), @"
    (before)

    Approval policy: `never`. Calls that need approval are rejected without asking anybody; find a way that needs none.

    (after)
    ");
    assert_eq!(context(&runtime), "(before)\n\n(after)");

    recorder.call(deploy("call-1")).await;
    let messages = derive_messages(&recorder.session().events());
    assert!(matches!(messages.as_slice(), [Message::Result(_)]), "{messages:?}");
}

#[test]
fn the_policy_of_a_parent_is_seeded_into_a_child_it_delegates_to() {
    // POLICY-19
    let approvals = Approvals::new();
    let (parent, child) = (session(), session());
    approvals.switch(&parent, ApprovalMode::Never).unwrap();
    approvals.delegate(&parent, &child).unwrap();
    let data = json!({ "policy": "never", "source": "delegation" });
    assert_eq!(events(&child, "approval/"), [json!({ "type": "approval/policy", "data": data })]);
    assert_eq!(approvals.policy(Some(&child)), ApprovalMode::Never);
}

#[tokio::test]
async fn the_hook_sees_which_call_is_asked_about_and_why() {
    let (runtime, _) = careful_with(&Approvals::new());
    let seen = Arc::new(Mutex::new(None));
    let keep = seen.clone();
    runtime.on_approve(move |request, next| {
        *keep.lock().unwrap() = Some(request);
        next.run()
    });
    let scope = runtime.scope();
    let session = session();
    session.append(TurnStart { turn: 1 }).unwrap();
    scope.set_session(session).unwrap();
    scope.execute(CallInput::new("call-1", "deploy", json!({ "to": "production" }))).await;
    let request = seen.lock().unwrap().take().unwrap();
    assert_eq!(request.call.arguments(), &json!({ "to": "production" }));
    assert_eq!(request.reason.as_deref(), Some("deploys are for people"));
}
