//! The stages of a call: which run, in what order, and what each may change.

use std::sync::{Arc, Mutex};

use callgate_core::testing::{Results, ScriptedApprover};
use callgate_core::{
    Approval, ApprovalRequest, Approver, Call, CallInput, CallResult, Cause, Decision, Denial,
    Executed, FailureClass, HookError, Mode, Output, PostDecision, Scope, Signal, ToolContext,
    ToolDefinition, ToolError, ToolRuntime, codes, render,
};
use callgate_schema::{Json, ParamSpec, ValueSpec, json};
use callgate_session::{Content, Source, UserMessage};
use futures_util::future::BoxFuture;

use crate::support::{Counter, plain};

/// What ran, in order.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<&'static str>>>);

impl Trace {
    fn add(&self, stage: &'static str) {
        self.0.lock().unwrap().push(stage);
    }

    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// What the tool `subject` does, besides leaving traces.
type Behaviour = fn(ToolContext) -> Result<Json, ToolError>;

fn subject(trace: &Trace, behaviour: Behaviour) -> ToolDefinition {
    let (body, fin) = (trace.clone(), trace.clone());
    ToolDefinition::new(
        "subject",
        "Is called.",
        json!({ "type": "object" }),
        Output::new(ValueSpec::string(), render::json),
        move |_, context| {
            body.add("body");
            std::future::ready(behaviour(context))
        },
    )
    .finalize_content(move |_, _| {
        fin.add("fin");
        None
    })
}

const FINE: Behaviour = |_| Ok(json!("fine"));

/// A scope with a tracing hook in every stage, all registered before what a case adds.
fn traced(trace: &Trace) -> (ToolRuntime, Scope) {
    let runtime = ToolRuntime::builder().build().unwrap();
    let scope = runtime.scope();
    let gate = trace.clone();
    scope.on_pre_execute(move |_, next| {
        gate.add("gate");
        async move { next.run().await }
    });
    let guard = trace.clone();
    scope.guard(move |_| {
        guard.add("guards");
        None
    });
    let around = trace.clone();
    scope.on_execute(move |_, mut next| {
        around.add("around");
        async move { next.run().await }
    });
    let post = trace.clone();
    scope.on_post_execute(move |_, next| {
        post.add("post");
        async move { next.run().await }
    });
    (runtime, scope)
}

fn input() -> CallInput {
    CallInput::new("call-1", "subject", json!({}))
}

fn cancelled() -> Signal {
    let signal = Signal::new();
    signal.cancel(Cause::new("user", "stop"));
    signal
}

/// Somebody who never answers.
struct Silent;

impl Approver for Silent {
    fn approve(&self, _: ApprovalRequest) -> BoxFuture<'static, Result<Approval, HookError>> {
        Box::pin(std::future::pending())
    }
}

fn stop(call: &Call) {
    call.signal().cancel(Cause::new("user", "stop"));
}

struct Case {
    name: &'static str,
    arrange: fn(&Scope, &Trace),
    input: fn() -> CallInput,
    /// The stages that run, in order.
    stages: &'static [&'static str],
    /// `None` is success.
    outcome: Option<(FailureClass, Option<&'static str>)>,
}

fn register_fine(scope: &Scope, trace: &Trace) {
    scope.register(subject(trace, FINE)).unwrap();
}

const FAILED: Option<(FailureClass, Option<&str>)> = Some((FailureClass::Failed, None));
const DENIED: Option<(FailureClass, Option<&str>)> = Some((FailureClass::Denied, None));
const BEFORE: Option<(FailureClass, Option<&str>)> =
    Some((FailureClass::Aborted, Some(codes::ABORTED_BEFORE_DISPATCH)));
const ABORTED: Option<(FailureClass, Option<&str>)> =
    Some((FailureClass::Aborted, Some(codes::ABORTED)));
const UNKNOWN: Option<(FailureClass, Option<&str>)> =
    Some((FailureClass::UnknownTool, Some(codes::UNKNOWN_TOOL)));
const INVALID: Option<(FailureClass, Option<&str>)> =
    Some((FailureClass::InvalidOutput, Some(codes::INVALID_TOOL_OUTPUT)));

// PIPE-34 RESULT-1: content and value together, a failure with a value: no such type exists.
#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table with a row for each situation")]
async fn every_situation_runs_exactly_its_stages() {
    /// Table 6.6: which stages run in which situation.
    const CASES: &[Case] = &[
        Case {
            // PIPE-31 PIPE-40
            name: "all is well",
            arrange: register_fine,
            input,
            stages: &["gate", "guards", "around", "body", "post", "fin"],
            outcome: None,
        },
        Case {
            // PIPE-7
            name: "arguments not lossless",
            arrange: register_fine,
            input: || CallInput::from_text("call-1", "subject", r#"{"n": -0}"#),
            stages: &["fin"],
            outcome: FAILED,
        },
        Case {
            // PIPE-7 wins over a signal that is cancelled already.
            name: "arguments not lossless, cancelled at entry",
            arrange: register_fine,
            input: || CallInput::from_text("call-1", "subject", "[1e999]").with_signal(cancelled()),
            stages: &["fin"],
            outcome: FAILED,
        },
        Case {
            name: "arguments not lossless, collapsed",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.present_as(Mode::Code).unwrap();
            },
            input: || CallInput::from_text("call-1", "subject", r#"{"n": -0}"#),
            stages: &[],
            outcome: FAILED,
        },
        Case {
            // PIPE-8 VIS-13
            name: "collapsed",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.present_as(Mode::Code).unwrap();
            },
            input,
            stages: &[],
            outcome: UNKNOWN,
        },
        Case {
            // PIPE-8
            name: "collapsed, cancelled at entry",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.present_as(Mode::Code).unwrap();
            },
            input: || input().with_signal(cancelled()),
            stages: &["fin"],
            outcome: BEFORE,
        },
        Case {
            // PIPE-9
            name: "cancelled at entry",
            arrange: register_fine,
            input: || input().with_signal(cancelled()),
            stages: &["fin"],
            outcome: BEFORE,
        },
        Case {
            // PIPE-11
            name: "gate fails",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_pre_execute(async |call, _| {
                    stop(&call);
                    Err(ToolError::failed("the gate is broken"))
                });
            },
            input,
            stages: &["gate", "fin"],
            outcome: FAILED,
        },
        Case {
            // PIPE-12
            name: "gate denies",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_pre_execute(async |_, _| Ok(Decision::deny("no")));
            },
            input,
            stages: &["gate", "post", "fin"],
            outcome: DENIED,
        },
        Case {
            // PIPE-13
            name: "ask without a service",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_pre_execute(async |_, _| Ok(Decision::ask("really?")));
            },
            input,
            stages: &["gate", "post", "fin"],
            outcome: DENIED,
        },
        Case {
            // PIPE-13
            name: "ask, granted",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_pre_execute(async |_, _| Ok(Decision::ask("really?")));
                scope.set_approver(ScriptedApprover::answering([Approval::AllowedOnce])).unwrap();
            },
            input,
            stages: &["gate", "guards", "around", "body", "post", "fin"],
            outcome: None,
        },
        Case {
            // PIPE-13
            name: "ask, rejected",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_pre_execute(async |_, _| Ok(Decision::ask("really?")));
                scope.set_approver(ScriptedApprover::answering([Approval::Rejected])).unwrap();
            },
            input,
            stages: &["gate", "post", "fin"],
            outcome: DENIED,
        },
        Case {
            // PIPE-14
            name: "ask, the question is withdrawn but not the call",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_pre_execute(async |_, _| Ok(Decision::ask("really?")));
                scope.set_approver(ScriptedApprover::answering([Approval::Cancelled])).unwrap();
            },
            input,
            stages: &["gate", "post", "fin"],
            outcome: DENIED,
        },
        Case {
            // PIPE-14
            name: "cancelled while asking",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_pre_execute(async |call, _| {
                    stop(&call);
                    Ok(Decision::ask("really?"))
                });
                scope.set_approver(Silent).unwrap();
            },
            input,
            stages: &["gate", "post", "fin"],
            outcome: BEFORE,
        },
        Case {
            // PIPE-18
            name: "guard fails",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.guard(|_| panic!("the guard is broken"));
            },
            input,
            stages: &["gate", "guards", "fin"],
            outcome: FAILED,
        },
        Case {
            // PIPE-19 PIPE-16
            name: "guard denies, with an empty reason",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.guard(|_| Some(Denial::new("")));
            },
            input,
            stages: &["gate", "guards", "post", "fin"],
            outcome: DENIED,
        },
        Case {
            // CANCEL-11
            name: "guard denies after the caller cancelled",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.guard(|call| {
                    stop(call);
                    Some(Denial::new("no"))
                });
            },
            input,
            stages: &["gate", "guards", "post", "fin"],
            outcome: DENIED,
        },
        Case {
            // PIPE-20
            name: "cancelled during the gate, not denied",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_pre_execute(async |call, next| {
                    stop(&call);
                    next.run().await
                });
            },
            input,
            stages: &["gate", "guards", "post", "fin"],
            outcome: BEFORE,
        },
        Case {
            // PIPE-10 PIPE-22
            name: "unknown tool",
            arrange: |_, _| {},
            input,
            stages: &["gate", "guards", "around", "post"],
            outcome: UNKNOWN,
        },
        Case {
            // CANCEL-8
            name: "signal cancelled when the body is about to start",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_execute(async |call, mut next| {
                    stop(&call);
                    next.run().await
                });
            },
            input,
            stages: &["gate", "guards", "around", "post", "fin"],
            outcome: BEFORE,
        },
        Case {
            // CANCEL-8
            name: "a hook supplies a signal that is cancelled already",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_execute(async |_, mut next| next.run_with(cancelled()).await);
            },
            input,
            stages: &["gate", "guards", "around", "post", "fin"],
            outcome: BEFORE,
        },
        Case {
            // PIPE-27
            name: "a hook answers in place of the body",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_execute(async |_, _| Ok(Executed::success("cached")));
            },
            input,
            stages: &["gate", "guards", "around", "post", "fin"],
            outcome: None,
        },
        Case {
            // CANCEL-9
            name: "a hook answers in place of the body, after the caller cancelled",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_execute(async |call, _| {
                    stop(&call);
                    Ok(Executed::success("cached"))
                });
            },
            input,
            stages: &["gate", "guards", "around", "post", "fin"],
            outcome: BEFORE,
        },
        Case {
            // PIPE-24
            name: "body fails",
            arrange: |scope, trace| {
                let fails = |_| Err(ToolError::failed("out of paper"));
                scope.register(subject(trace, fails)).unwrap();
            },
            input,
            stages: &["gate", "guards", "around", "body", "post", "fin"],
            outcome: FAILED,
        },
        Case {
            // PIPE-24 RUST-1
            name: "body panics",
            arrange: |scope, trace| {
                scope.register(subject(trace, |_| panic!("out of luck"))).unwrap();
            },
            input,
            stages: &["gate", "guards", "around", "body", "post", "fin"],
            outcome: FAILED,
        },
        Case {
            // PIPE-25
            name: "body value invalid",
            arrange: |scope, trace| {
                scope.register(subject(trace, |_| Ok(json!(7)))).unwrap();
            },
            input,
            stages: &["gate", "guards", "around", "body", "post", "fin"],
            outcome: INVALID,
        },
        Case {
            // CANCEL-10
            name: "body value invalid, cancelled by then",
            arrange: |scope, trace| {
                let broken = |context: ToolContext| {
                    stop(context.call());
                    Ok(json!(7))
                };
                scope.register(subject(trace, broken)).unwrap();
            },
            input,
            stages: &["gate", "guards", "around", "body", "post", "fin"],
            outcome: INVALID,
        },
        Case {
            // CANCEL-9
            name: "body succeeds, cancelled by then",
            arrange: |scope, trace| {
                let late = |context: ToolContext| {
                    stop(context.call());
                    Ok(json!("late"))
                };
                scope.register(subject(trace, late)).unwrap();
            },
            input,
            stages: &["gate", "guards", "around", "body", "post", "fin"],
            outcome: ABORTED,
        },
        Case {
            // CANCEL-9 CANCEL-13
            name: "cancelled in the post stage",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_post_execute(async |call, next| {
                    stop(&call);
                    next.run().await
                });
            },
            input,
            stages: &["gate", "guards", "around", "body", "post", "fin"],
            outcome: ABORTED,
        },
        Case {
            // PIPE-28
            name: "around hook fails",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_execute(async |_, mut next| {
                    next.run().await?;
                    Err(ToolError::coded("CacheError", "CACHE", "the cache is broken"))
                });
            },
            input,
            stages: &["gate", "guards", "around", "body", "fin"],
            outcome: Some((FailureClass::Failed, Some("CACHE"))),
        },
        Case {
            // PIPE-27
            name: "around hook's own success is unfit",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_execute(async |_, _| Ok(Executed::success(json!({ "not": "a string" }))));
            },
            input,
            stages: &["gate", "guards", "around", "fin"],
            outcome: INVALID,
        },
        Case {
            // PIPE-37
            name: "post hook fails",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_post_execute(async |call, _| {
                    stop(&call);
                    Err(ToolError::failed("the post hook is broken"))
                });
            },
            input,
            stages: &["gate", "guards", "around", "body", "post", "fin"],
            outcome: FAILED,
        },
        Case {
            // PIPE-35
            name: "post blocks",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_post_execute(async |_, _| Ok(PostDecision::block([Content::text("no")])));
            },
            input,
            stages: &["gate", "guards", "around", "body", "post", "fin"],
            outcome: Some((FailureClass::Blocked, None)),
        },
        Case {
            // PIPE-33
            name: "post replaces the value of a failure",
            arrange: |scope, trace| {
                scope.register(subject(trace, |_| Err(ToolError::failed("no")))).unwrap();
                scope.on_post_execute(async |_, _| Ok(PostDecision::replace_value("yes")));
            },
            input,
            stages: &["gate", "guards", "around", "body", "post", "fin"],
            outcome: FAILED,
        },
        Case {
            // PIPE-33
            name: "post replaces the value by an unfit one",
            arrange: |scope, trace| {
                register_fine(scope, trace);
                scope.on_post_execute(async |_, _| Ok(PostDecision::replace_value(7)));
            },
            input,
            stages: &["gate", "guards", "around", "body", "post", "fin"],
            outcome: INVALID,
        },
    ];

    for case in CASES {
        let trace = Trace::default();
        let (_runtime, scope) = traced(&trace);
        (case.arrange)(&scope, &trace);
        let (published, _) = Results::observe(&scope);
        let result = scope.execute((case.input)()).await;
        let name = case.name;
        assert_eq!(trace.take(), case.stages, "stages: {name}");
        let outcome = result.error().map(|error| (error.class(), error.code()));
        assert_eq!(outcome, case.outcome, "outcome: {name}");
        // PIPE-40: published exactly once, the same object.
        let published = published.only("call-1").unwrap_or_else(|| panic!("published: {name}"));
        assert!(published.ptr_eq(&result), "{name}");
        // PIPE-41, RESULT-1: success has a value and no error, failure the reverse.
        assert_eq!(result.value().is_some(), result.error().is_none(), "{name}");
    }
}

// PIPE-3
#[tokio::test]
async fn every_stage_of_a_call_sees_the_same_fresh_token() {
    let runtime = ToolRuntime::builder().tool(plain("subject")).build().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |seen: &Arc<Mutex<Vec<_>>>, call: &Call| seen.lock().unwrap().push(call.token());
    let (gate, guard, post, end) = (seen.clone(), seen.clone(), seen.clone(), seen.clone());
    runtime.on_pre_execute(move |call, next| {
        note(&gate, &call);
        async move { next.run().await }
    });
    runtime.guard(move |call| {
        note(&guard, call);
        None
    });
    runtime.on_post_execute(move |call, next| {
        note(&post, &call);
        async move { next.run().await }
    });
    runtime.observe(move |call, _| note(&end, call));
    runtime.execute(input()).await;
    runtime.execute(input()).await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 8);
    assert!(seen[..4].iter().all(|token| *token == seen[0]));
    assert!(seen[4..].iter().all(|token| *token == seen[4]));
    assert_ne!(seen[0], seen[4]);
    // It has no text form that could leak.
    assert_eq!(format!("{:?}", seen[0]), "Token");
}

// PIPE-1 PIPE-4 PIPE-5
#[tokio::test]
async fn a_call_shows_its_input_to_every_stage() {
    let runtime = ToolRuntime::builder().tool(plain("subject")).build().unwrap();
    let scope = runtime.scope();
    let (results, _) = Results::observe(&runtime);
    scope.execute(CallInput::new("a", "subject", json!({ "x": 1 }))).await;
    let (outer, _) = results.all().remove(0);
    assert_eq!((&**outer.id(), &**outer.root_id(), &**outer.name()), ("a", "a", "subject"));
    assert_eq!(outer.arguments(), &json!({ "x": 1 }));
    assert_eq!(outer.scope(), Some(scope.id()));
    assert!(outer.is_model_direct());

    runtime.execute(CallInput::new("b", "subject", json!({})).nested_in(outer.token(), "a")).await;
    let (nested, _) = results.all().remove(1);
    // PIPE-44: tied to the outer call by comparing tokens, and by nothing else.
    assert_eq!(nested.parent(), Some(outer.token()));
    assert_eq!((&**nested.root_id(), nested.scope()), ("a", None));
}

// PIPE-6 PIPE-42
#[tokio::test]
async fn the_finalizer_is_the_one_from_entry_even_if_the_tool_goes() {
    let runtime = ToolRuntime::builder().build().unwrap();
    let labelled = |label: &'static str| {
        plain("subject").finalize_content(move |_, _| Some(vec![Content::text(label)]))
    };
    let old = runtime.register(labelled("old")).unwrap();
    let gate = runtime.clone();
    runtime.on_pre_execute(move |_, next| {
        old.dispose();
        gate.register(labelled("new")).unwrap();
        async move { next.run().await }
    });
    let result = runtime.execute(input()).await;
    assert_eq!((result.text(), result.is_error()), ("old".to_owned(), false));
}

// PIPE-42
#[tokio::test]
async fn a_tool_that_goes_while_its_body_runs_changes_nothing_for_that_call() {
    let runtime = ToolRuntime::builder().build().unwrap();
    let registration = Arc::new(Mutex::new(None::<callgate_core::Registration>));
    let own = registration.clone();
    let tool = ToolDefinition::new(
        "subject",
        "Removes itself.",
        ParamSpec::new(),
        Output::new(ValueSpec::string(), render::json),
        move |_, _| {
            let own = own.clone();
            async move {
                own.lock().unwrap().take().unwrap().dispose();
                Ok(json!("done"))
            }
        },
    );
    *registration.lock().unwrap() = Some(runtime.register(tool).unwrap());
    assert_eq!(runtime.execute(input()).await.text(), "done");
    let gone = runtime.execute(input()).await;
    assert_eq!(gone.error().unwrap().code(), Some(codes::UNKNOWN_TOOL));
}

// PIPE-26
#[tokio::test]
async fn a_result_of_one_call_offered_for_another_is_checked_again() {
    let runtime = ToolRuntime::builder().build().unwrap();
    let strings = plain("strings");
    let objects_ran = Counter::default();
    let counted = objects_ran.clone();
    let objects = ToolDefinition::new(
        "objects",
        "Returns an object.",
        ParamSpec::new(),
        Output::new(ValueSpec::object().open(), render::json),
        move |_, _| {
            counted.add();
            async { Ok(json!({})) }
        },
    );
    runtime.register(strings).unwrap();
    runtime.register(objects).unwrap();
    let cache = Arc::new(Mutex::new(None::<Executed>));
    runtime.on_execute(move |_, mut next| {
        let cache = cache.clone();
        async move {
            if let Some(cached) = cache.lock().unwrap().clone() {
                return Ok(cached);
            }
            let executed = next.run().await?;
            *cache.lock().unwrap() = Some(executed.clone());
            Ok(executed)
        }
    });
    let call =
        |id: &'static str, name: &'static str| runtime.execute(CallInput::new(id, name, json!({})));
    assert_eq!(call("1", "strings").await.text(), "strings");
    assert_eq!(call("2", "strings").await.text(), "strings");
    let mixed_up = call("3", "objects").await;
    assert_eq!(mixed_up.error().unwrap().code(), Some(codes::INVALID_TOOL_OUTPUT));
    assert_eq!(objects_ran.get(), 0);
}

fn context(text: &str) -> UserMessage {
    UserMessage::new(Source::plugin("test"), [Content::text(text)])
}

fn texts(result: &CallResult) -> Vec<String> {
    let contexts = result.additional_contexts().iter();
    contexts.filter_map(|context| context.content[0].as_text().map(str::to_owned)).collect()
}

// PIPE-29 PIPE-36 RESULT-15
#[tokio::test]
async fn contexts_come_in_the_order_body_around_post() {
    let runtime = ToolRuntime::builder().build().unwrap();
    let trace = Trace::default();
    let deferring = |context_of: ToolContext| {
        context_of.defer_context(context("body 1"));
        context_of.defer_context(context("body 2"));
        Ok(json!("fine"))
    };
    runtime.register(subject(&trace, deferring)).unwrap();
    runtime.on_execute(async |_, mut next| {
        let executed = next.run().await?;
        Ok(executed.with_context(context("around")))
    });
    runtime.on_post_execute(async |_, next| {
        assert_eq!(texts(next.result()), ["body 1", "body 2", "around"]);
        Ok(next.run().await?.with_context(context("post")))
    });
    let result = runtime.execute(input()).await;
    assert_eq!(texts(&result), ["body 1", "body 2", "around", "post"]);
    // RESULT-14: without any, there is none.
    let bare = ToolRuntime::builder().tool(plain("subject")).build().unwrap();
    let result = bare.execute(input()).await;
    assert!(result.additional_contexts().is_empty() && result.meta().is_none());
}

// PIPE-29 PIPE-28 PIPE-35
#[tokio::test]
async fn contexts_survive_failures_and_retries_but_not_hook_errors_and_blocks() {
    let run = async |behaviour: Behaviour, arrange: fn(&ToolRuntime)| {
        let runtime = ToolRuntime::builder().build().unwrap();
        runtime.register(subject(&Trace::default(), behaviour)).unwrap();
        arrange(&runtime);
        texts(&runtime.execute(input()).await)
    };
    let failing: Behaviour = |deferring| {
        deferring.defer_context(context("body"));
        Err(ToolError::failed("no"))
    };
    let stopping: Behaviour = |deferring| {
        deferring.defer_context(context("body"));
        stop(deferring.call());
        Ok(json!("late"))
    };
    assert_eq!(run(failing, |_| {}).await, ["body"]);
    assert_eq!(run(stopping, |_| {}).await, ["body"]);
    let retry = |runtime: &ToolRuntime| {
        runtime.on_execute(async |_, mut next| {
            next.run().await?;
            next.run().await
        });
    };
    assert_eq!(run(failing, retry).await, ["body", "body"]);
    let failing_hook = |runtime: &ToolRuntime| {
        runtime.on_execute(async |_, mut next| {
            next.run().await?;
            Err(ToolError::failed("hook"))
        });
    };
    assert_eq!(run(failing, failing_hook).await, Vec::<String>::new());
    let blocking = |runtime: &ToolRuntime| {
        runtime.on_post_execute(async |_, _| {
            Ok(PostDecision::block([Content::text("no")]).with_context(context("why")))
        });
    };
    assert_eq!(run(failing, blocking).await, ["why"]);
}

// PIPE-30
#[tokio::test]
async fn only_a_success_concludes_the_turn_and_the_mark_is_sticky() {
    let attempts = Counter::default();
    let counted = attempts.clone();
    let tool = ToolDefinition::new(
        "subject",
        "Concludes on its first attempt.",
        ParamSpec::new(),
        Output::new(ValueSpec::integer(), render::json),
        move |arguments: Json, context: ToolContext| {
            counted.add();
            let attempt = counted.get();
            async move {
                if attempt == 1 {
                    context.conclude_turn();
                    return Err(ToolError::failed("not yet"));
                }
                let _ = arguments;
                Ok(json!(attempt))
            }
        },
    );
    let runtime = ToolRuntime::builder().tool(tool).build().unwrap();
    let failed = runtime.execute(input()).await;
    assert!(failed.is_error() && !failed.concludes_turn());

    runtime.on_execute(async |_, mut next| {
        let first = next.run().await?;
        if first.is_error() { next.run().await } else { Ok(first) }
    });
    let fresh = runtime.execute(input()).await;
    assert!(!fresh.is_error() && !fresh.concludes_turn());
}

// PIPE-32 PIPE-33
#[tokio::test]
async fn replacing_content_keeps_the_value_and_replacing_the_value_renders_anew() {
    let make = || {
        let output = Output::new(ValueSpec::string(), render::json)
            .with_meta(|_, value| Ok(json!({ "shown": value.clone() })));
        let tool =
            ToolDefinition::new("subject", "Fine.", ParamSpec::new(), output, |_, _| async {
                Ok(json!("fine"))
            });
        ToolRuntime::builder().tool(tool).build().unwrap()
    };
    let runtime = make();
    runtime.on_post_execute(async |_, _| Ok(PostDecision::replace_content([Content::text("***")])));
    let result = runtime.execute(input()).await;
    assert_eq!((result.text(), result.value()), ("***".to_owned(), Some(&json!("fine"))));
    assert_eq!(result.meta(), Some(&json!({ "shown": "fine" })));

    let runtime = make();
    runtime.on_post_execute(async |_, _| Ok(PostDecision::replace_value("better")));
    let result = runtime.execute(input()).await;
    assert_eq!((result.text(), result.value()), ("better".to_owned(), Some(&json!("better"))));
    assert_eq!(result.meta(), Some(&json!({ "shown": "better" })));
}

// RESULT-9 RESULT-6 RESULT-7
#[tokio::test]
async fn failures_read_as_error_and_message_and_blocks_as_their_feedback() {
    let blocked = async |feedback: fn() -> Vec<Content>| {
        let runtime = ToolRuntime::builder().tool(plain("subject")).build().unwrap();
        runtime.on_post_execute(move |_, _| async move { Ok(PostDecision::block(feedback())) });
        let result = runtime.execute(input()).await;
        (result.text(), result.error().unwrap().message().to_owned())
    };
    let two = || vec![Content::text("one"), Content::text("two")];
    assert_eq!(blocked(two).await, ("one\ntwo".into(), "one\ntwo".into()));
    let image = || vec![Content::text("see"), Content::image("aGk=", "image/png")];
    assert_eq!(blocked(image).await.1, "see\n[image]");
    assert_eq!(blocked(Vec::new).await.1, "the result was blocked");

    let runtime = ToolRuntime::builder().build().unwrap();
    runtime.guard(|_| Some(Denial::new("not today")));
    let result = runtime.execute(input()).await;
    assert_eq!(result.content()[..], [Content::text("Error: not today")]);
    assert_eq!(result.error().unwrap().message(), "not today");
    assert_eq!(result.error().unwrap().info(), None);
}

// PIPE-39
#[tokio::test]
async fn a_finalizer_that_panics_fails_the_call_and_is_not_called_again() {
    let runs = Counter::default();
    let counted = runs.clone();
    let tool = plain("subject").finalize_content(move |_, _| {
        counted.add();
        panic!("no last word")
    });
    let runtime = ToolRuntime::builder().tool(tool).build().unwrap();
    let result = runtime.execute(input()).await;
    assert_eq!(result.text(), "Error: the finalizer panicked: no last word");
    assert_eq!(runs.get(), 1);
}

// PIPE-43
#[tokio::test]
async fn a_nested_call_gets_no_meta_and_keeps_its_own_contexts() {
    let inner = ToolDefinition::new(
        "inner",
        "Has meta.",
        ParamSpec::new(),
        Output::new(ValueSpec::string(), render::json).with_meta(|_, _| Ok(json!("meta"))),
        |_, deferring: ToolContext| async move {
            deferring.defer_context(context("inner"));
            Ok(json!("inner"))
        },
    );
    let runtime = ToolRuntime::builder()
        .tool(inner)
        .tool(crate::support::delegating("outer", "inner"))
        .build()
        .unwrap();
    let (results, _) = Results::observe(&runtime);
    runtime.execute(CallInput::new("direct", "inner", json!({}))).await;
    runtime.execute(CallInput::new("outer", "outer", json!({}))).await;
    let seen: Vec<_> = results
        .all()
        .into_iter()
        .map(|(call, result)| (call.id().to_string(), result.meta().cloned(), texts(&result)))
        .collect();
    let own = vec!["inner".to_owned()];
    assert_eq!(
        seen,
        [
            ("direct".to_owned(), Some(json!("meta")), own.clone()),
            ("outer:nested".to_owned(), None, own),
            ("outer".to_owned(), None, Vec::new()),
        ]
    );
}
