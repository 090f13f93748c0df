//! `run_code` as a tool: its arguments, its envelope, what it says, what it refuses.

use callgate_core::testing::{Results, ScriptedEngine};
use callgate_core::{
    CallInput, CallResult, Decision, ExecutionMode, FailureClass, Mode, PostDecision, RUN_CODE,
    Signal, ToolRuntime, codes,
};
use callgate_schema::{Json, json};
use callgate_session::Content;

use crate::support::{Counter, counting, delegating, plain, run_program, runtime_with};

fn code(source: &str) -> Json {
    json!({ "code": source, "description": "Runs a program of the tests" })
}

async fn run(layer: &callgate_core::Layer, arguments: Json) -> CallResult {
    layer.execute(CallInput::new("run", RUN_CODE, arguments)).await
}

// CODE-9 CODE-10
#[tokio::test]
async fn both_arguments_are_needed_and_the_description_must_say_something() {
    let engine = ScriptedEngine::new().program("", async |_| Ok(None));
    let runtime = runtime_with(engine);
    for arguments in
        [json!({}), json!({ "code": 1, "description": "x" }), json!({ "code": "" }), json!([])]
    {
        let error = run(&runtime, arguments).await.error().cloned().unwrap();
        assert_eq!(error.code(), Some(codes::INVALID_ARGS));
    }
    let blank = run(&runtime, json!({ "code": "", "description": " \n" })).await;
    assert_eq!(blank.error().unwrap().code(), None);
    assert!(blank.text().contains("`description` is empty"), "{}", blank.text());
    // An empty program is legal, and more arguments are tolerated.
    let empty =
        run(&runtime, json!({ "code": "", "description": "Does nothing", "extra": 1 })).await;
    assert_eq!(empty.text(), "(the program finished without output)");
}

// CODE-14 CODE-15 CODE-16 CODE-17
#[tokio::test]
async fn the_value_is_an_envelope_and_the_model_reads_logs_then_the_result() {
    let engine = ScriptedEngine::new()
        .program("logs and result", async |tools| {
            tools.log("a");
            tools.log("b");
            Ok(Some(json!(5)))
        })
        .program("nothing", async |_| Ok(None))
        .program("null", async |_| Ok(Some(Json::Null)))
        .program("empty text", async |_| Ok(Some(json!(""))))
        .program("text", async |_| Ok(Some(json!("as it is \"quoted\""))))
        .program("object", async |_| Ok(Some(json!({ "b": [1, 2], "a": {}, "c": [], "n": 1e21 }))))
        .program("deep", async |_| {
            Ok(Some(Json::parse(&format!("{}{}", "[".repeat(5_000), "]".repeat(5_000))).unwrap()))
        });
    let runtime = runtime_with(engine);
    let both = run_program(&runtime, "1", "logs and result").await;
    assert_eq!(
        (both.text().as_str(), both.value()),
        ("a\nb\n5", Some(&json!({ "logs": ["a", "b"], "result": 5 })))
    );
    let nothing = run_program(&runtime, "1", "nothing").await;
    assert_eq!(nothing.value(), Some(&json!({ "logs": [] })));
    let null = run_program(&runtime, "1", "null").await;
    assert_eq!(
        (null.text().as_str(), null.value()),
        ("null", Some(&json!({ "logs": [], "result": null })))
    );
    assert_eq!(
        run_program(&runtime, "1", "empty text").await.text(),
        "(the program finished without output)"
    );
    assert_eq!(run_program(&runtime, "1", "text").await.text(), "as it is \"quoted\"");
    insta::assert_snapshot!(run_program(&runtime, "1", "object").await.text(), @r#"
    {
      "b": [
        1,
        2
      ],
      "a": {},
      "c": [],
      "n": 1e+21
    }
    "#);
    assert!(run_program(&runtime, "1", "deep").await.text().len() < 11_000);
}

// CODE-18
#[tokio::test]
async fn a_failed_program_tells_its_kind_what_ran_and_what_was_printed() {
    let engine = ScriptedEngine::new().program("fails", async |tools| {
        tools.log("starting");
        for _ in 0..45 {
            tools.call("x", json!({})).await?;
        }
        let _caught = tools.call("nobody", json!({})).await;
        Err("TypeError: rows is not iterable\n    at line 3".to_owned())
    });
    let runtime = runtime_with(engine);
    runtime.register(plain("x")).unwrap();
    let result = run_program(&runtime, "1", "fails").await;
    let info = result.error().unwrap().info().unwrap();
    assert_eq!((&*info.name, &*info.code), ("CodeRunFailedError", codes::CODE_RUN_FAILED));
    insta::assert_snapshot!(result.text());
}

// CODE-19
#[tokio::test]
async fn an_engine_that_cannot_run_a_program_is_an_ordinary_failure() {
    let runtime = runtime_with(ScriptedEngine::new());
    let error = run_program(&runtime, "1", "unknown script").await.error().cloned().unwrap();
    assert_eq!((error.code(), error.class()), (None, FailureClass::Failed));
    let panicking = ScriptedEngine::new().program("p", async |_| panic!("the engine is broken"));
    let error = run_program(&runtime_with(panicking), "1", "p").await.error().cloned().unwrap();
    assert_eq!(
        (error.code(), error.message()),
        (None, "the program engine panicked: the engine is broken")
    );
}

// CODE-20
#[tokio::test]
async fn a_program_that_succeeds_although_it_was_cancelled_is_aborted() {
    let runtime = runtime_with(
        ScriptedEngine::new()
            .program("p", async |tools| tools.call("stop", json!({})).await.map(Some)),
    );
    let signal = Signal::new();
    let mine = signal.clone();
    runtime.observe(move |call, _| {
        if &**call.name() == "stop" {
            // Only after the program got its answer.
            mine.cancel(callgate_core::Cause::new("user", "stop"));
        }
    });
    runtime.register(plain("stop")).unwrap();
    let input = CallInput::new("run", RUN_CODE, code("p")).with_signal(signal);
    let error = runtime.execute(input).await.error().cloned().unwrap();
    assert!(
        [Some(codes::ABORTED), Some(codes::CODE_RUN_FAILED)].contains(&error.code()),
        "{error}"
    );
}

// CODE-21
#[test]
fn run_code_runs_alone_and_declares_no_timeout() {
    let runtime = runtime_with(ScriptedEngine::new());
    let input = CallInput::new("1", RUN_CODE, code("p"));
    assert_eq!(runtime.execution_mode(&input), ExecutionMode::Exclusive);
    assert_eq!(runtime.get(RUN_CODE).unwrap().declared_timeout(), None);
}

// CODE-23
#[tokio::test]
async fn policies_see_the_program_text_and_may_deny_or_replace() {
    let runtime = runtime_with(
        ScriptedEngine::new().program("fine", async |_| Ok(Some(json!("long output")))),
    );
    let scope = runtime.scope();
    scope.on_pre_execute(async |call, next| {
        let is_evil = call.arguments().get("code").and_then(Json::as_str) == Some("evil");
        if is_evil { Ok(Decision::deny("not this program")) } else { next.run().await }
    });
    scope.on_post_execute(async |_, _| {
        Ok(PostDecision::replace_content([Content::text("(spilled)")]))
    });
    assert_eq!(run(&scope, code("fine")).await.text(), "(spilled)");
    assert_eq!(run(&scope, code("evil")).await.error().unwrap().message(), "not this program");
}

// CODE-24 CODE-25 CODE-26 CODE-27 TURN-17 LOOP-17
#[tokio::test]
async fn in_mode_code_a_direct_call_of_a_visible_tool_goes_nowhere() {
    let runtime = runtime_with(ScriptedEngine::new());
    let bodies = Counter::default();
    runtime.register(counting("x", &bodies)).unwrap();
    let scope = runtime.scope();
    scope.present_as(Mode::Code).unwrap();
    let gates = Counter::default();
    let counted = gates.clone();
    scope.on_pre_execute(move |_, next| {
        counted.add();
        async move { next.run().await }
    });
    let (results, _) = Results::observe(&scope);
    let collapsed = scope.execute(CallInput::new("1", "x", json!({}))).await;
    assert_eq!(collapsed.error().unwrap().code(), Some(codes::UNKNOWN_TOOL));
    insta::assert_snapshot!(collapsed.text(), @r#"Error: `x` cannot be called directly; call `run_code` with a program that awaits `tools["x"](…)`"#);
    assert_eq!((gates.get(), bodies.get(), results.all().len()), (0, 0, 1));
    // A name nobody has is not collapsed: policies see it.
    let unknown = scope.execute(CallInput::new("2", "y", json!({}))).await;
    assert_eq!((unknown.error().unwrap().code(), gates.get()), (Some(codes::UNKNOWN_TOOL), 1));
    // Nested calls never collapse, and the mode that counts is the calling scope's.
    scope.register(delegating("outer", "x")).unwrap();
    let (outer, _) = results.all().remove(0);
    let nested = CallInput::new("3", "x", json!({})).nested_in(outer.token(), "1");
    assert_eq!(scope.execute(nested).await.text(), "x");
    assert_eq!(runtime.execute(CallInput::new("4", "x", json!({}))).await.text(), "x");
}

// CODE-33
#[tokio::test]
async fn disposing_a_scope_takes_its_mode_along() {
    let runtime = ToolRuntime::builder().engine(ScriptedEngine::new()).build().unwrap();
    let scope = runtime.scope();
    scope.present_as(Mode::Code).unwrap();
    let child = scope.scope();
    assert_eq!(child.mode(), Mode::Code);
    scope.dispose().await;
    assert_eq!(child.mode(), Mode::Native);
}

// BRIDGE-1 CODE-7
#[tokio::test]
async fn programs_nested_through_tools_end_at_a_depth() {
    let engine = ScriptedEngine::new().program("again", async |tools| {
        Ok(Some(tools.call("again", json!({})).await.unwrap_or_else(Json::from)))
    });
    let runtime = runtime_with(engine);
    let runs = Counter::default();
    let counted = runs.clone();
    runtime
        .register(callgate_core::ToolDefinition::new(
            "again",
            "Runs the program again.",
            json!({}),
            callgate_core::Output::new(
                callgate_schema::ValueSpec::json(),
                callgate_core::render::json,
            ),
            move |_: Json, context: callgate_core::ToolContext| {
                counted.add();
                async move {
                    let result = context.execute("deeper", RUN_CODE, code("again")).await;
                    match result.error() {
                        Some(error) => Err(error.clone()),
                        None => Ok(result.value().cloned().unwrap_or_default()),
                    }
                }
            },
        ))
        .unwrap();
    let result = run_program(&runtime, "1", "again").await;
    assert_eq!(runs.get(), 4);
    assert!(result.text().contains("nested more than 4 deep"), "{}", result.text());
}
