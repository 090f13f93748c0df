//! The calls of a program: how they are admitted, named, ordered, answered and recorded.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_core::testing::{Results, ScriptedEngine, ScriptedTools};
use callgate_core::{
    Cause, Denial, FailureClass, Mode, Output, PostDecision, Recorder, Registration, Restriction,
    Scope, ToolContext, ToolDefinition, ToolError, ToolRuntime, render,
};
use callgate_schema::{Json, ParamSpec, ValueSpec, json};
use callgate_session::{
    CodeDispatch, Content, EventBody, LogChecker, Session, SessionHeader, Source, UserMessage,
};
use futures_util::future::join_all;
use proptest::prelude::*;

use crate::support::{Counter, counting, napping, plain, run_program, runtime_with};

fn program<F>(script: impl Fn(ScriptedTools) -> F + Send + Sync + 'static) -> ToolRuntime
where
    F: Future<Output = Result<Option<Json>, String>> + Send + 'static,
{
    runtime_with(ScriptedEngine::new().program("go", script))
}

async fn go(layer: &callgate_core::Layer) -> Json {
    let result = run_program(layer, "run", "go").await;
    let value = result.value().unwrap_or_else(|| panic!("{}", result.text()));
    value.get("result").cloned().unwrap_or_default()
}

/// Runs the program in a recorded scope; answers its log.
async fn recorded(
    runtime: &ToolRuntime,
    arrange: impl FnOnce(&Scope),
) -> (callgate_core::CallResult, Session) {
    let session = Session::in_memory(SessionHeader::new("s", 0));
    callgate_core::Invariants::watch(&session).unwrap();
    let scope = runtime.scope();
    arrange(&scope);
    let recorder = Recorder::new(scope, session.clone()).unwrap();
    let arguments = json!({ "code": "go", "description": "Runs a program of the tests" });
    let result = recorder.call(callgate_core::CallInput::new("run", "run_code", arguments)).await;
    recorder.close().unwrap();
    LogChecker::check_all(&session.events()).unwrap();
    (result, session)
}

fn settled(session: &Session) -> Vec<CodeDispatch> {
    let pick =
        |body| if let EventBody::CodeDispatch(settled) = body { Some(settled) } else { None };
    session.events().into_iter().filter_map(|event| pick(event.body)).collect()
}

// BRIDGE-1 BRIDGE-3
#[tokio::test]
async fn a_program_binds_what_its_scope_sees_without_run_code() {
    let members = Arc::new(Mutex::new(Vec::new()));
    let seen = members.clone();
    let runtime = program(move |tools| {
        *seen.lock().unwrap() = tools.members().iter().map(ToString::to_string).collect();
        async { Ok(None) }
    });
    for name in ["x", "hidden", "__proto__"] {
        runtime.register(plain(name)).unwrap();
    }
    runtime.scope().register(plain("others")).unwrap();
    let scope = runtime.scope();
    scope.restrict(Restriction::deny(["hidden"])).unwrap();
    scope.register(plain("own")).unwrap();
    for mode in [Mode::Both, Mode::Code] {
        let presented = scope.scope();
        presented.present_as(mode).unwrap();
        run_program(&presented, "run", "go").await;
        assert_eq!(*members.lock().unwrap(), ["x", "__proto__", "own"]);
    }
}

// BRIDGE-2
#[tokio::test]
async fn names_of_every_prototype_are_ordinary_names_here() {
    let runtime = program(async |tools| {
        let mut answers = Vec::new();
        for name in ["__proto__", "constructor", "toString", "hasOwnProperty"] {
            answers.push(tools.call(name, json!({})).await.unwrap_or_else(Json::from));
        }
        Ok(Some(answers.into()))
    });
    runtime.register(plain("__proto__")).unwrap();
    runtime.register(plain("constructor")).unwrap();
    let answers = go(&runtime).await;
    assert_eq!(answers[0], json!("__proto__"));
    assert_eq!(answers[1], json!("constructor"));
    for missing in [&answers[2], &answers[3]] {
        assert!(missing.as_str().unwrap().starts_with("unknown tool `"), "{missing}");
    }
}

// BRIDGE-4
#[tokio::test]
async fn a_tool_that_went_after_the_start_fails_its_call_and_is_logged() {
    let registration: Arc<Mutex<Option<Registration>>> = Arc::default();
    let removing = registration.clone();
    let runtime = program(move |tools| {
        removing.lock().unwrap().take().unwrap().dispose();
        async move { Ok(Some(tools.call("x", json!({})).await.unwrap_err().into())) }
    });
    let counter = Counter::default();
    *registration.lock().unwrap() = Some(runtime.register(counting("x", &counter)).unwrap());
    let (result, session) = recorded(&runtime, |_| ()).await;
    assert!(result.text().starts_with("unknown tool `x`"), "{}", result.text());
    let settled = settled(&session);
    assert_eq!((settled[0].is_error, counter.get()), (true, 0));
}

// BRIDGE-5 BRIDGE-7 BRIDGE-8 BRIDGE-9
#[tokio::test]
async fn sub_calls_are_numbered_by_submission_and_belong_to_their_run() {
    let runtime = program(async |tools| {
        let calls = [0, 1, 2].map(|n| tools.call("x", json!({ "n": n })));
        join_all(calls).await;
        Ok(None)
    });
    runtime.register(plain("x")).unwrap();
    let scope = runtime.scope();
    let (results, _) = Results::observe(&scope);
    run_program(&scope, "run", "go").await;
    let calls = results.all();
    let (outer, _) = calls.last().unwrap();
    for (index, (call, _)) in calls[..3].iter().enumerate() {
        assert_eq!(&**call.id(), format!("run:code:{}", index + 1));
        assert_eq!((&**call.root_id(), call.parent()), ("run", Some(outer.token())));
        assert_eq!(call.scope(), Some(scope.id()));
        assert_eq!(call.arguments(), &json!({ "n": index }));
        // Its signal is the run's, not the caller's own handle.
        assert!(call.signal() != outer.signal());
    }
}

// BRIDGE-13 BRIDGE-12
#[tokio::test(start_paused = true)]
async fn a_policy_that_takes_its_time_on_one_call_delays_the_start_of_the_next() {
    let runtime = program(async |tools| {
        let calls = ["a", "b"].map(|name| tools.call(name, json!({ "ms": 10 })));
        join_all(calls).await;
        Ok(None)
    });
    for name in ["a", "b"] {
        runtime.register(napping(name).concurrency_safe()).unwrap();
    }
    let (_, session) = recorded(&runtime, |scope| {
        scope.on_pre_execute(async |call, next| {
            if &**call.name() == "a" {
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            next.run().await
        });
    })
    .await;
    let kinds: Vec<String> = session
        .events()
        .into_iter()
        .filter_map(|event| match event.body {
            EventBody::CodeDispatchStart(start) => Some(format!("start {}", start.name)),
            EventBody::CodeDispatch(settled) => Some(format!("settle {}", settled.name)),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, ["start a", "start b", "settle a", "settle b"]);
}

// BRIDGE-15
#[tokio::test(start_paused = true)]
async fn a_fast_call_is_answered_after_every_earlier_one() {
    let runtime = program(async |tools| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let calls = [("slow", 100_u64), ("fast", 1)].map(|(label, ms)| {
            let (order, call) = (order.clone(), tools.call("nap", json!({ "ms": ms })));
            async move {
                call.await.unwrap();
                order.lock().unwrap().push(label);
            }
        });
        join_all(calls).await;
        let order: Vec<Json> = order.lock().unwrap().iter().map(|label| json!(*label)).collect();
        Ok(Some(order.into()))
    });
    runtime.register(napping("nap").concurrency_safe()).unwrap();
    assert_eq!(go(&runtime).await, json!(["slow", "fast"]));
}

// BRIDGE-17
#[tokio::test(start_paused = true)]
async fn a_call_that_only_waits_for_its_commit_holds_no_slot() {
    let engine = ScriptedEngine::new().program("go", async |tools| {
        let calls = [100, 10, 10].map(|ms| tools.call("nap", json!({ "ms": ms })));
        join_all(calls).await;
        Ok(None)
    });
    let runtime = ToolRuntime::builder()
        .mode(Mode::Both)
        .engine(engine)
        .max_parallel_sub_calls(2)
        .build()
        .unwrap();
    runtime.register(napping("nap").concurrency_safe()).unwrap();
    let clock = tokio::time::Instant::now();
    run_program(&runtime, "run", "go").await;
    // The third starts when the second's body ends, though the second is not committed.
    assert_eq!(clock.elapsed().as_millis(), 100);
}

// BRIDGE-20 BRIDGE-22 BRIDGE-23
#[tokio::test]
async fn every_failure_rejects_its_own_call_and_opens_with_its_kind() {
    let runtime = program(async |tools| {
        let names = ["denied", "unknown", "fails", "blocked", "crashes", "args", "fine"];
        let calls = names.map(|name| tools.call(name, json!({})));
        let answers: Vec<Json> = join_all(calls)
            .await
            .into_iter()
            .map(|answer| answer.unwrap_or_else(Json::from))
            .collect();
        Ok(Some(answers.into()))
    });
    for name in ["denied", "blocked", "crashes", "fine"] {
        runtime.register(plain(name)).unwrap();
    }
    let output = || Output::new(ValueSpec::json(), render::json);
    let failing =
        |_: Json, _: ToolContext| async { Err::<Json, _>(ToolError::failed("quota used up")) };
    runtime
        .register(ToolDefinition::new("fails", "", ParamSpec::new(), output(), failing))
        .unwrap();
    let needs = ParamSpec::new().required("path", ValueSpec::string());
    runtime
        .register(ToolDefinition::new("args", "", needs, output(), |_, _| async { Ok(Json::Null) }))
        .unwrap();
    runtime.on_pre_execute(async |call, next| match &**call.name() {
        "denied" => Ok(callgate_core::Decision::deny("not you")),
        "crashes" => Err(ToolError::failed("the policy is broken")),
        _ => next.run().await,
    });
    runtime.on_post_execute(async |call, next| {
        if &**call.name() == "blocked" {
            Ok(PostDecision::block([Content::text("too big")]))
        } else {
            next.run().await
        }
    });
    let answers = go(&runtime).await;
    let lines: Vec<&str> = answers.as_array().unwrap().iter().filter_map(Json::as_str).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

// BRIDGE-21 BRIDGE-31
#[tokio::test]
async fn replaced_content_is_logged_and_the_program_still_gets_the_value() {
    let runtime = program(async |tools| tools.call("x", json!({})).await.map(Some));
    runtime.register(plain("x")).unwrap();
    let (result, session) = recorded(&runtime, |scope| {
        scope.on_post_execute(async |call, next| {
            if &**call.name() == "x" {
                Ok(PostDecision::replace_content([Content::text("***")]))
            } else {
                next.run().await
            }
        });
    })
    .await;
    assert_eq!(result.text(), "x");
    assert_eq!(settled(&session)[0].content[..], [Content::text("***")]);
}

// BRIDGE-28
#[tokio::test(start_paused = true)]
async fn work_that_a_tool_detached_survives_the_run() {
    let done = Counter::default();
    let counted = done.clone();
    let runtime = program(async |tools| tools.call("background", json!({})).await.map(Some));
    let background = ToolDefinition::new(
        "background",
        "Starts a job.",
        ParamSpec::new(),
        Output::new(ValueSpec::string(), render::json),
        move |_: Json, _: ToolContext| {
            let counted = counted.clone();
            async move {
                let mut jobs = tokio::task::JoinSet::new();
                jobs.spawn(async move {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    counted.add();
                });
                jobs.detach_all();
                Ok(json!("job-1"))
            }
        },
    );
    runtime.register(background).unwrap();
    assert_eq!(go(&runtime).await, json!("job-1"));
    assert_eq!(done.get(), 0);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(done.get(), 1);
}

// BRIDGE-32 BRIDGE-33 EVT-11
#[tokio::test(start_paused = true)]
async fn a_log_hook_changes_the_durable_copy_only_and_keeps_nobody_waiting() {
    let answered = Arc::new(Mutex::new(None));
    let noted = answered.clone();
    let runtime = program(move |tools| {
        let noted = noted.clone();
        async move {
            let started = tokio::time::Instant::now();
            let value = tools.call("x", json!({})).await?;
            *noted.lock().unwrap() = Some(started.elapsed());
            Ok(Some(value))
        }
    });
    runtime.register(plain("x")).unwrap();
    let (result, session) = recorded(&runtime, |scope| {
        scope.on_code_dispatch_log(async |call, next| {
            assert_eq!((&**call.id(), next.result().is_error()), ("run", false));
            tokio::time::sleep(Duration::from_secs(3)).await;
            Ok([Content::text("(shortened)")].into())
        });
    })
    .await;
    assert_eq!(result.text(), "x");
    assert_eq!(answered.lock().unwrap().unwrap(), Duration::ZERO);
    assert_eq!(settled(&session)[0].content[..], [Content::text("(shortened)")]);

    let (_, session) = recorded(&runtime, |scope| {
        scope.on_code_dispatch_log(async |_, _| panic!("no copy today"));
    })
    .await;
    assert_eq!(settled(&session)[0].content[..], [Content::text("x")]);
}

// BRIDGE-33: bounded memory, the lane waits when too many copies are being made.
#[tokio::test(start_paused = true)]
async fn slow_log_hooks_hold_the_lane_back() {
    let engine = ScriptedEngine::new().program("go", async |tools| {
        for _ in 0..4 {
            tools.call("x", json!({})).await?;
        }
        Ok(None)
    });
    let runtime = ToolRuntime::builder()
        .mode(Mode::Both)
        .engine(engine)
        .max_parallel_sub_calls(1)
        .build()
        .unwrap();
    runtime.register(plain("x")).unwrap();
    let clock = tokio::time::Instant::now();
    let (_, session) = recorded(&runtime, |scope| {
        scope.on_code_dispatch_log(async |_, next| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            next.run().await
        });
    })
    .await;
    assert_eq!((settled(&session).len(), clock.elapsed().as_secs()), (4, 2));
}

// BRIDGE-34 BOUND-10
#[tokio::test]
async fn without_a_session_sub_calls_run_and_nothing_is_written() {
    let runtime = program(async |tools| tools.call("x", json!({})).await.map(Some));
    runtime.register(plain("x")).unwrap();
    assert_eq!(go(&runtime).await, json!("x"));
}

// BRIDGE-29 BRIDGE-30
#[tokio::test]
async fn every_start_has_one_settlement_with_the_same_five_fields() {
    let runtime = program(async |tools| {
        let _unknown = tools.call("nobody", json!({ "a": 1 })).await;
        tools.call("x", json!({ "b": 2 })).await.map(Some)
    });
    runtime.register(plain("x")).unwrap();
    let (_, session) = recorded(&runtime, |_| ()).await;
    let lines: Vec<String> = session
        .events()
        .iter()
        .filter(|event| event.kind().contains("dispatch"))
        .map(|event| Json::parse(&event.to_string()).unwrap()["data"].to_string())
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

/// A tool that returns an image, defers a message, and may conclude the turn.
fn rich(name: &'static str, fails: bool) -> ToolDefinition {
    let render =
        |_: &Json, _: &Json| vec![Content::text("a picture"), Content::image("aGk=", "image/png")];
    ToolDefinition::new(
        name,
        "Has much to say.",
        ParamSpec::new(),
        Output::new(ValueSpec::null(), render),
        move |_: Json, context: ToolContext| async move {
            let message = UserMessage::new(Source::plugin(name), [Content::text(name)]);
            context.defer_context(message);
            context.conclude_turn();
            if fails { Err(ToolError::failed("no")) } else { Ok(Json::Null) }
        },
    )
}

fn sources(result: &callgate_core::CallResult) -> Vec<String> {
    let name = |context: &UserMessage| match &context.source {
        Source::Plugin { plugin, .. } => plugin.to_string(),
        other => format!("{other:?}"),
    };
    result.additional_contexts().iter().map(name).collect()
}

// BRIDGE-35 BRIDGE-36 BRIDGE-38 BOUND-11
#[tokio::test]
async fn the_outer_result_inherits_images_contexts_and_the_conclusion() {
    let runtime = program(async |tools| {
        let _failed = tools.call("bad", json!({})).await;
        tools.call("good", json!({})).await?;
        Ok(None)
    });
    runtime.register(rich("good", false)).unwrap();
    runtime.register(rich("bad", true)).unwrap();
    let result = run_program(&runtime, "run", "go").await;
    assert_eq!(sources(&result), ["bad", "tools-code-mode", "good"]);
    assert_eq!(result.additional_contexts()[1].content[1], Content::image("aGk=", "image/png"));
    assert!(result.concludes_turn());
    // A failed sub-call concludes nothing.
    let runtime = program(async |tools| {
        let _failed = tools.call("bad", json!({})).await;
        Ok(None)
    });
    runtime.register(rich("bad", true)).unwrap();
    assert!(!run_program(&runtime, "run", "go").await.concludes_turn());
}

// BRIDGE-35 BRIDGE-37
#[tokio::test]
async fn contexts_survive_a_failed_run_but_not_a_block_and_a_removed_image_is_gone() {
    let make = || {
        let runtime = program(async |tools| {
            tools.call("good", json!({})).await?;
            Err("TypeError: later".to_owned())
        });
        runtime.register(rich("good", false)).unwrap();
        runtime
    };
    let failed = run_program(&make(), "run", "go").await;
    assert!(failed.is_error() && !failed.concludes_turn());
    assert_eq!(sources(&failed), ["tools-code-mode", "good"]);

    let blocked = make();
    blocked.on_post_execute(async |call, next| {
        if &**call.name() == "run_code" {
            Ok(PostDecision::block([Content::text("no")]))
        } else {
            next.run().await
        }
    });
    assert_eq!(sources(&run_program(&blocked, "run", "go").await), Vec::<String>::new());

    let without_image = make();
    without_image.on_post_execute(async |call, next| {
        if &**call.name() == "good" {
            Ok(PostDecision::replace_content([Content::text("gone")]))
        } else {
            next.run().await
        }
    });
    assert_eq!(sources(&run_program(&without_image, "run", "go").await), ["good"]);
}

// BRIDGE-39 RESULT-11
#[tokio::test]
async fn sub_calls_have_no_presentation_data() {
    let runtime = program(async |tools| tools.call("x", json!({})).await.map(Some));
    let output = Output::new(ValueSpec::null(), render::nothing)
        .with_meta(|_, _| panic!("must not be computed for sub-calls"));
    runtime
        .register(ToolDefinition::new("x", "", ParamSpec::new(), output, |_, _| async {
            Ok(Json::Null)
        }))
        .unwrap();
    assert_eq!(go(&runtime).await, Json::Null);
}

// BRIDGE-26: a log that cannot be written stops starts, waits for bodies, and fails the run.
#[tokio::test(start_paused = true)]
async fn a_log_that_fails_ends_the_run_and_abandons_no_body() {
    let ended = Counter::default();
    let counted = ended.clone();
    let session = Session::in_memory(SessionHeader::new("s", 0));
    let closing = session.clone();
    let runtime = program(async |tools| {
        let calls = ["slow", "closes", "never"].map(|name| tools.call(name, json!({})));
        join_all(calls).await;
        Ok(None)
    });
    let sleepy = move |_: Json, _: ToolContext| {
        let counted = counted.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            counted.add();
            Ok(Json::Null)
        }
    };
    let output = || Output::new(ValueSpec::null(), render::nothing);
    runtime
        .register(
            ToolDefinition::new("slow", "", ParamSpec::new(), output(), sleepy).concurrency_safe(),
        )
        .unwrap();
    let closes = move |_: Json, _: ToolContext| {
        closing.close().unwrap();
        async { Ok(Json::Null) }
    };
    runtime
        .register(
            ToolDefinition::new("closes", "", ParamSpec::new(), output(), closes)
                .concurrency_safe(),
        )
        .unwrap();
    let never = Counter::default();
    runtime.register(counting("never", &never)).unwrap();
    let recorder = Recorder::new(runtime.scope(), session).unwrap();
    let arguments = json!({ "code": "go", "description": "Loses its log" });
    let result = recorder.call(callgate_core::CallInput::new("run", "run_code", arguments)).await;
    assert_eq!(result.error().unwrap().code(), Some(callgate_core::codes::LOG_FAILED));
    assert_eq!(ended.get(), 1);
}

// BRIDGE-8 SCOPE-17
#[tokio::test]
async fn hooks_of_the_scope_watch_sub_calls_like_direct_ones() {
    let runtime =
        program(async |tools| Ok(Some(tools.call("x", json!({})).await.unwrap_err().into())));
    runtime.register(plain("x")).unwrap();
    let (mine, other) = (runtime.scope(), runtime.scope());
    mine.guard(|call| (&**call.name() == "x").then(|| Denial::new("mine")));
    other.guard(|_| Some(Denial::new("other")));
    assert_eq!(go(&mine).await, json!("denied: mine"));
}

/// One call of a random program.
#[derive(Clone, Copy, Debug)]
struct Planned {
    safe: bool,
    ms: u64,
    /// How long the program waits before it submits this call.
    gap: u64,
    /// Whether it waits for the answer before it goes on.
    awaited: bool,
    denied: bool,
}

fn planned() -> impl Strategy<Value = Planned> {
    (any::<bool>(), 0..30_u64, 0..15_u64, any::<bool>(), prop::bool::weighted(0.15))
        .prop_map(|(safe, ms, gap, awaited, denied)| Planned { safe, ms, gap, awaited, denied })
}

/// Checks the order of one random schedule; every rule of the lane at once.
async fn check_schedule(plan: Vec<Planned>, cap: usize) {
    let bodies = Arc::new(Mutex::new((0_usize, 0_usize, Vec::<String>::new())));
    let script = plan.clone();
    let engine = ScriptedEngine::new().program("go", move |tools: ScriptedTools| {
        let plan = script.clone();
        async move {
            let mut open = Vec::new();
            for call in plan {
                tokio::time::sleep(Duration::from_millis(call.gap)).await;
                let name = match (call.denied, call.safe) {
                    (true, _) => "denied",
                    (false, true) => "safe",
                    (false, false) => "alone",
                };
                let answer = tools.call(name, json!({ "ms": call.ms }));
                if call.awaited {
                    let _answer = answer.await;
                } else {
                    open.push(answer);
                }
            }
            join_all(open).await;
            Ok(None)
        }
    });
    let runtime = ToolRuntime::builder()
        .mode(Mode::Both)
        .engine(engine)
        .max_parallel_sub_calls(cap)
        .build()
        .unwrap();
    let tool = |name: &'static str| {
        let bodies = bodies.clone();
        ToolDefinition::new(
            name,
            "",
            ParamSpec::new().required("ms", ValueSpec::integer()),
            Output::new(ValueSpec::null(), render::nothing),
            move |arguments: Json, _: ToolContext| {
                let bodies = bodies.clone();
                async move {
                    {
                        let mut bodies = bodies.lock().unwrap();
                        let (safe, alone, faults) = &mut *bodies;
                        if name == "alone" {
                            *alone += 1;
                        } else {
                            *safe += 1;
                        }
                        if *alone > 1 || (*alone == 1 && *safe > 0) || *safe > cap {
                            faults.push(format!("{safe} safe and {alone} alone at once"));
                        }
                    }
                    let ms = arguments.get("ms").and_then(Json::as_u64).unwrap_or(0);
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    let mut bodies = bodies.lock().unwrap();
                    if name == "alone" {
                        bodies.1 -= 1;
                    } else {
                        bodies.0 -= 1;
                    }
                    Ok(Json::Null)
                }
            },
        )
    };
    runtime.register(tool("safe").concurrency_safe()).unwrap();
    runtime.register(tool("denied").concurrency_safe()).unwrap();
    runtime.register(tool("alone")).unwrap();
    let (result, session) = recorded(&runtime, |scope| {
        scope.guard(|call| (&**call.name() == "denied").then(|| Denial::new("no")));
    })
    .await;
    assert!(!result.is_error(), "{}", result.text());
    assert_eq!(bodies.lock().unwrap().2, Vec::<String>::new());
    let mut started = Vec::new();
    let mut settled = Vec::new();
    for event in session.events() {
        match event.body {
            EventBody::CodeDispatchStart(start) => started.push(start.sub_call_id.to_string()),
            EventBody::CodeDispatch(end) => {
                assert_eq!(end.is_error, &*end.name == "denied");
                settled.push(end.sub_call_id.to_string());
            }
            _ => {}
        }
    }
    let in_order: Vec<String> =
        (1..=plan.len()).map(|number| format!("run:code:{number}")).collect();
    assert_eq!((&started, &settled), (&in_order, &in_order));
}

// BRIDGE-14 BRIDGE-17 BRIDGE-18 BRIDGE-26 BOUND-9
#[test]
fn random_schedules_keep_order_capacity_and_barriers() {
    let cases = if std::env::var_os("CALLGATE_TEST_LONG").is_some() { 20_000 } else { 2_000 };
    let config = ProptestConfig { cases, ..ProptestConfig::default() };
    proptest!(config, |(plan in prop::collection::vec(planned(), 1..12), cap in 1..5_usize)| {
        let tokio = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        tokio.block_on(check_schedule(plan, cap));
    });
}

// BRIDGE-25: calls abandoned by the end of a run are told so, and leave no trace in the log.
#[tokio::test(start_paused = true)]
async fn a_call_that_never_started_is_refused_with_its_name_and_not_logged() {
    let refused = Arc::new(Mutex::new(None));
    let noted = refused.clone();
    let runtime = program(move |tools| {
        let noted = noted.clone();
        async move {
            let _running = tools.call("slow", json!({ "ms": 50 }));
            let waiting = tools.call("waits", json!({}));
            let mut watcher = tokio::task::JoinSet::new();
            watcher.spawn(async move {
                *noted.lock().unwrap() = Some(waiting.await.unwrap_err());
            });
            watcher.detach_all();
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok(None)
        }
    });
    runtime.register(napping("slow")).unwrap();
    let counter = Counter::default();
    runtime.register(counting("waits", &counter)).unwrap();
    let (_, session) = recorded(&runtime, |_| ()).await;
    tokio::task::yield_now().await;
    assert_eq!(
        refused.lock().unwrap().as_deref(),
        Some("aborted: `waits` was not called, the program is over")
    );
    assert_eq!((settled(&session).len(), counter.get()), (1, 0));
    // The one that ran was cancelled with the end of the run as its cause.
    assert!(settled(&session)[0].content[0].as_text().unwrap().contains("the program is over"));
    assert_eq!(Cause::RUN_ENDED, "run-ended");
    assert_eq!(FailureClass::Aborted.word(), "aborted");
}
