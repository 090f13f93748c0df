//! Results, values at the border, presentation data, and what Rust owes beyond them.

use std::sync::{Arc, Mutex};

use callgate_core::testing::Results;
use callgate_core::{
    Call, CallInput, Decision, Executed, FailureClass, Hook, Layer, Outcome, Output, PostDecision,
    Recorder, Scope, Signal, ToolContext, ToolDefinition, ToolError, ToolRuntime, codes, render,
};
use callgate_schema::{Json, ParamSpec, ValueSpec, json};
use callgate_session::{Content, EventBody, Session, SessionHeader};
use serde::{Serialize, Serializer};

use crate::support::plain;

fn tool(output: Output, body: fn(ToolContext) -> Result<Json, ToolError>) -> ToolDefinition {
    ToolDefinition::new("subject", "Is called.", ParamSpec::new(), output, move |_, context| {
        std::future::ready(body(context))
    })
}

async fn run(tool: ToolDefinition) -> callgate_core::CallResult {
    let runtime = ToolRuntime::builder().tool(tool).build().unwrap();
    runtime.execute(CallInput::new("1", "subject", json!({}))).await
}

fn any() -> Output {
    Output::new(ValueSpec::json(), render::json)
}

// RESULT-3 RESULT-5
#[tokio::test]
async fn a_coded_error_keeps_its_class_and_code_and_others_have_none() {
    let coded = tool(any(), |_| Err(ToolError::coded("DiskError", "ENOSPC", "the disk is full")));
    let result = run(coded).await;
    let info = result.error().unwrap().info().unwrap();
    assert_eq!((&*info.name, &*info.code), ("DiskError", "ENOSPC"));
    assert_eq!(result.text(), "Error: the disk is full");

    let own = tool(any(), |_| {
        std::str::from_utf8(&[0xff, 0xfe][..1])?;
        Ok(Json::Null)
    });
    let error = run(own).await.error().cloned().unwrap();
    assert_eq!((error.info(), error.class()), (None, FailureClass::Failed));
    // The host keeps what lies behind it; the message is the error's own.
    assert!(error.source().unwrap().downcast_ref::<std::str::Utf8Error>().is_some());
}

// RESULT-4
#[test]
fn the_codes_of_this_crate_are_fixed() {
    let all = [
        codes::UNKNOWN_TOOL,
        codes::INVALID_TOOL_OUTPUT,
        codes::INVALID_ARGS,
        codes::UNSUPPORTED_SCHEMA,
        codes::CODE_RUN_FAILED,
        codes::ABORTED,
        codes::ABORTED_BEFORE_DISPATCH,
        codes::TOOL_TIMEOUT,
    ];
    let expected = [
        "UNKNOWN_TOOL",
        "INVALID_TOOL_OUTPUT",
        "INVALID_ARGS",
        "UNSUPPORTED_SCHEMA",
        "CODE_RUN_FAILED",
        "ABORTED",
        "ABORTED_BEFORE_DISPATCH",
        "TOOL_TIMEOUT",
    ];
    assert_eq!(all, expected);
}

// RESULT-8 RUST-1
#[tokio::test]
async fn a_panic_becomes_a_message_whatever_it_was_thrown_with() {
    let texts = [
        run(tool(any(), |_| panic!("a plain text"))).await.text(),
        run(tool(any(), |context| panic!("a text with {}", context.call().id()))).await.text(),
        run(tool(any(), |_| std::panic::panic_any(7))).await.text(),
    ];
    assert_eq!(
        texts,
        [
            "Error: the tool panicked: a plain text",
            "Error: the tool panicked: a text with 1",
            "Error: the tool panicked"
        ]
    );
}

// RUST-1: no callback brings the process or a lock down.
#[tokio::test]
async fn every_kind_of_callback_may_panic_and_the_next_call_works() {
    let panicking: [fn(&Layer); 7] = [
        |layer| drop(layer.on_pre_execute(|_, _| async { panic!("hook") })),
        |layer| drop(layer.guard(|_| panic!("guard"))),
        |layer| drop(layer.on_execute(|_, _| async { panic!("hook") })),
        |layer| drop(layer.on_post_execute(|_, _| async { panic!("hook") })),
        |layer| drop(layer.observe(|_, _| panic!("observer"))),
        |layer| drop(layer.on_change(|| panic!("observer"))),
        |layer| {
            let shadow = plain("subject").concurrency_safe_if(|_| panic!("classifier"));
            drop(layer.register(shadow.finalize_content(|_, _| panic!("finalizer"))));
        },
    ];
    for install in panicking {
        let runtime = ToolRuntime::builder().tool(plain("subject")).build().unwrap();
        let scope = runtime.scope();
        install(&scope);
        let call = || CallInput::new("1", "subject", json!({}));
        scope.execute(call()).await;
        scope.execution_mode(&call());
        scope.register(plain("later")).unwrap();
        assert_eq!(runtime.execute(call()).await.text(), "subject");
    }
}

struct Broken;

impl Serialize for Broken {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("no sample today"))
    }
}

struct Panicking;

impl Serialize for Panicking {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("serialize me not")
    }
}

// JSON-10 JSON-12 JSON-2 PIPE-7
#[tokio::test]
async fn arguments_that_cannot_be_used_fail_the_call_and_say_why() {
    let runtime = ToolRuntime::builder().tool(plain("subject")).build().unwrap();
    let (results, _) = Results::observe(&runtime);
    let text = async |input: CallInput| {
        let result = runtime.execute(input).await;
        assert_eq!(result.error().unwrap().code(), None);
        result.text()
    };
    let by_value = |value: &dyn erased::Any| value.input();
    let texts = [
        text(CallInput::from_text("1", "subject", r#"{"a": [1, -0.0]}"#)).await,
        text(CallInput::from_text("2", "subject", r#"{"a": 1"#)).await,
        text(by_value(&f64::NAN)).await,
        text(by_value(&Broken)).await,
        text(by_value(&Panicking)).await,
        text(by_value(&std::collections::BTreeMap::from([(1, "int keys")]))).await,
    ];
    insta::assert_snapshot!(texts.join("\n"));
    // PIPE-7: what is published has no arguments.
    assert!(
        results
            .all()
            .iter()
            .all(|(call, _)| call.arguments_error().is_some() && call.arguments().is_null())
    );
    // Empty text means no arguments.
    let empty = runtime.execute(CallInput::from_text("9", "subject", "  ")).await;
    assert!(!empty.is_error());
}

mod erased {
    use callgate_core::CallInput;
    use serde::Serialize;

    /// Any serialisable value, as the arguments of a call.
    pub(super) trait Any {
        fn input(&self) -> CallInput;
    }

    impl<T: Serialize> Any for T {
        fn input(&self) -> CallInput {
            CallInput::from_serialize("3", "subject", self)
        }
    }
}

// JSON-12 PIPE-25
#[tokio::test]
async fn an_output_that_breaks_its_declaration_says_how_with_every_violation_in_order() {
    let output = || {
        let rows =
            ValueSpec::array_of(ValueSpec::object().closed().required("id", ValueSpec::integer()));
        Output::new(ValueSpec::object().closed().required("rows", rows), render::json)
    };
    let result =
        run(tool(output(), |_| Ok(json!({ "rows": [{ "id": "x" }, {}], "more": 1 })))).await;
    assert_eq!(result.error().unwrap().code(), Some(codes::INVALID_TOOL_OUTPUT));
    assert_eq!(&*result.error().unwrap().info().unwrap().name, "ToolOutputError");
    insta::assert_snapshot!(result.text());
    // A failing projection is the same fault.
    let render_fails = Output::fallible(ValueSpec::json(), |_, _| Err(ToolError::failed("no ink")));
    let meta_fails = any().with_meta(|_, _| panic!("no meta"));
    for (output, says) in [(render_fails, "no ink"), (meta_fails, "no meta")] {
        let result = run(tool(output, |_| Ok(Json::Null))).await;
        let error = result.error().unwrap();
        assert_eq!(error.code(), Some(codes::INVALID_TOOL_OUTPUT));
        assert!(error.message().contains(says) && error.message().contains("`subject`"), "{error}");
    }
}

// RESULT-11 RESULT-14
#[tokio::test]
async fn meta_belongs_to_successful_direct_calls_of_tools_that_project_it() {
    let null_meta = || any().with_meta(|_, _| Ok(Json::Null));
    assert_eq!(run(tool(null_meta(), |_| Ok(json!(1)))).await.meta(), Some(&Json::Null));
    assert_eq!(run(tool(any(), |_| Ok(json!(1)))).await.meta(), None);
    assert_eq!(run(tool(null_meta(), |_| Err(ToolError::failed("no")))).await.meta(), None);
}

// RESULT-2 RESULT-12 EVT-16 PIPE-2
#[tokio::test]
async fn a_result_is_one_immutable_object_that_everybody_shares() {
    let runtime = ToolRuntime::builder().tool(plain("subject")).build().unwrap();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeping = kept.clone();
    runtime.on_post_execute(move |_, next| {
        // What a hook does to its copy reaches nobody.
        let mut copy = next.result().content().to_vec();
        copy.clear();
        keeping.lock().unwrap().push(next.result().clone());
        async move { next.run().await }
    });
    let result = runtime.execute(CallInput::new("1", "subject", json!({}))).await;
    assert_eq!(result.text(), "subject");
    assert_eq!(kept.lock().unwrap()[0].outcome(), &Outcome::Success(json!("subject")));
}

// RESULT-10 RESULT-16 EVT-17 LOOP-9 SESSION-10
#[tokio::test]
async fn the_durable_result_keeps_content_error_and_meta_but_not_the_value() {
    let output = Output::new(ValueSpec::json(), |_, _| vec![Content::text("shown")])
        .with_meta(|_, _| Ok(json!({ "rows": 2 })));
    let runtime = ToolRuntime::builder()
        .tool(tool(output, |_| Ok(json!("the secret value"))))
        .build()
        .unwrap();
    let session = Session::in_memory(SessionHeader::new("s", 0));
    let scope = runtime.scope();
    let order = Arc::new(Mutex::new(Vec::new()));
    let (live, durable) = (order.clone(), order.clone());
    scope.observe(move |_, _| live.lock().unwrap().push("live"));
    let _observing = session.observe(move |event| {
        if matches!(event.body, EventBody::ToolResult(_)) {
            durable.lock().unwrap().push("durable");
        }
    });
    let recorder = Recorder::new(scope, session.clone()).unwrap();
    recorder.call(CallInput::from_text("1", "subject", "{ }")).await;
    recorder.call(CallInput::new("2", "nobody", json!({}))).await;
    let lines: Vec<String> = session.events().iter().map(ToString::to_string).collect();
    assert!(!lines.join("\n").contains("secret"));
    let stored = |line: &str| Json::parse(line).unwrap();
    let results: Vec<Json> = lines
        .iter()
        .filter(|line| line.contains("\"tool/result\""))
        .map(|line| stored(line))
        .collect();
    assert_eq!(results[0]["data"]["meta"], json!({ "rows": 2 }));
    assert_eq!(results[0]["sourceEventSeqs"], json!([2]));
    assert_eq!(
        results[1]["data"]["error"],
        json!({ "name": "ToolNotFoundError", "code": "UNKNOWN_TOOL" })
    );
    // The argument text is kept as it was received.
    assert!(lines.iter().any(|line| line.contains(r#""arguments":"{ }""#)));
    assert_eq!(*order.lock().unwrap(), ["live", "durable", "live", "durable"]);
}

// EVT-8 EVT-10: what a hook may answer is a closed type; this lists it whole.
#[test]
fn the_answers_of_hooks_are_closed() {
    let name = |decision: Decision| match decision {
        Decision::Allow => "allow",
        Decision::Deny(_) => "deny",
        Decision::Ask(_) => "ask",
    };
    assert_eq!(
        [Decision::Allow, Decision::deny(""), Decision::ask("")].map(name),
        ["allow", "deny", "ask"]
    );
    assert!(PostDecision::accept().is_plain_accept());
    assert!(PostDecision::block([]).is_block());
    assert!(PostDecision::replace_content([]).replaced_content().is_some());
    assert!(!PostDecision::replace_value(1).is_plain_accept());
}

// RUST-6 RUST-3 CANCEL-16: what the types promise.
#[test]
fn calls_and_what_they_share_can_cross_threads() {
    fn is_send<T: Send>() {}
    fn is_shared<T: Send + Sync + Clone + 'static>() {}
    is_send::<callgate_core::Execution>();
    is_send::<callgate_core::phase::Prepared>();
    is_shared::<Call>();
    is_shared::<callgate_core::CallResult>();
    is_shared::<ToolDefinition>();
    is_shared::<ToolRuntime>();
    is_shared::<Scope>();
    is_shared::<Signal>();
    is_shared::<Executed>();
    // A call always has a signal, whether its caller gave one or not.
    let _: fn(&Call) -> &Signal = Call::signal;
    let _: Option<Box<dyn Hook<callgate_core::hook::PreExecute>>> = None;
}

// PIPE-23 PIPE-25
#[tokio::test]
async fn a_body_sees_its_call_and_what_it_returns_is_what_programs_get() {
    let echo = ToolDefinition::new(
        "subject",
        "Echoes.",
        json!({}),
        any(),
        |arguments: Json, context: ToolContext| async move {
            assert_eq!(&arguments, context.call().arguments());
            assert!(context.check_cancelled().is_ok());
            Ok(arguments)
        },
    );
    let runtime = ToolRuntime::builder().tool(echo).build().unwrap();
    let deep = Json::parse(&format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000))).unwrap();
    for value in [
        json!({ "__proto__": 1, "": [null, 1.5, "ü"] }),
        json!(1_152_921_504_606_846_976_u64),
        deep,
    ] {
        let result = runtime.execute(CallInput::new("1", "subject", value.clone())).await;
        assert_eq!(result.value(), Some(&value));
    }
}

// PIPE-38: the finalizer sees failures that were found before it.
#[tokio::test]
async fn a_finalizer_sees_what_the_pipeline_made_of_the_call() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let subject = tool(Output::new(ValueSpec::string(), render::json), |_| Ok(json!(7)))
        .finalize_content(move |call, result| {
            noted.lock().unwrap().push((call.id().to_string(), result.text()));
            Some(vec![Content::text("last word")])
        });
    let runtime = ToolRuntime::builder().tool(subject).build().unwrap();
    let result = runtime.execute(CallInput::new("1", "subject", json!({}))).await;
    // Only the content is replaced.
    assert_eq!(result.text(), "last word");
    assert_eq!(result.error().unwrap().code(), Some(codes::INVALID_TOOL_OUTPUT));
    assert!(seen.lock().unwrap()[0].1.starts_with("Error: the output of `subject` is invalid"));
}
