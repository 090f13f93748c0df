//! Results that were made elsewhere and are passed on: blocks and raw form travel along, until a
//! hook puts something in their place.

use callgate_core::{
    CallInput, CallResult, Output, PostDecision, Returned, ToolContext, ToolDefinition, ToolError,
    ToolRuntime, render,
};
use callgate_schema::{Json, json};
use callgate_session::Content;

fn raw() -> Json {
    json!({ "content": [], "_meta": { "trace": 7 } })
}

fn blocks() -> [Content; 2] {
    [Content::text("quota"), Content::image("aGk=", "image/png")]
}

fn runtime() -> ToolRuntime {
    let output = || Output::new(json!({}), render::json);
    let tool = |name: &str, body: fn() -> Result<Returned, ToolError>| {
        ToolDefinition::new(
            name,
            "",
            json!({}),
            output(),
            move |_: Json, _: ToolContext| async move { body() },
        )
    };
    let succeeds =
        tool(
            "succeeds",
            || Ok(Returned::with_content(json!(1), blocks().to_vec()).with_raw(raw())),
        );
    let fails = tool("fails", || {
        Err(ToolError::failed("quota used up").with_content(blocks()).with_raw(raw()))
    });
    let passes_on = ToolDefinition::new(
        "passes_on",
        "",
        json!({}),
        output(),
        |_: Json, context: ToolContext| async move {
            let inner = context.execute("inner", "fails", json!({})).await;
            Err::<Json, _>(inner.error().cloned().unwrap())
        },
    );
    let tools = [succeeds, fails, passes_on];
    tools
        .into_iter()
        .fold(ToolRuntime::builder(), callgate_core::RuntimeBuilder::tool)
        .build()
        .unwrap()
}

async fn call(runtime: &ToolRuntime, name: &str) -> CallResult {
    runtime.execute(CallInput::new("1", name, json!({}))).await
}

#[tokio::test]
async fn blocks_and_raw_form_reach_the_caller_untouched() {
    for name in ["succeeds", "fails"] {
        let result = call(&runtime(), name).await;
        assert_eq!((&result.content()[..], result.raw()), (&blocks()[..], Some(&raw())), "{name}");
    }
    assert_eq!(call(&runtime(), "fails").await.error().unwrap().message(), "quota used up");
}

#[tokio::test]
async fn a_hook_that_replaces_or_blocks_leaves_nothing_of_the_original() {
    type Judge = fn() -> PostDecision;
    let judges: [(&str, &str, Judge); 5] = [
        ("succeeds", "short", || PostDecision::replace_content([Content::text("short")])),
        ("succeeds", "2", || PostDecision::replace_value(json!(2))),
        ("succeeds", "no", || PostDecision::block([Content::text("no")])),
        ("fails", "short", || PostDecision::replace_content([Content::text("short")])),
        ("fails", "no", || PostDecision::block([Content::text("no")])),
    ];
    for (name, text, judge) in judges {
        let runtime = runtime();
        runtime.on_post_execute(move |_, _| async move { Ok(judge()) });
        let result = call(&runtime, name).await;
        let seen = (&result.content()[..], result.raw());
        assert_eq!(seen, (&[Content::text(text)][..], None), "{name}");
    }
}

#[tokio::test]
async fn a_replaced_failure_that_is_raised_again_does_not_bring_its_blocks_back() {
    let runtime = runtime();
    runtime.on_post_execute(|call, next| async move {
        if &**call.name() == "fails" {
            return Ok(PostDecision::replace_content([Content::text("hidden")]));
        }
        next.run().await
    });
    let result = call(&runtime, "passes_on").await;
    let seen = (&result.content()[..], result.raw());
    assert_eq!(seen, (&[Content::text("Error: quota used up")][..], None));
}
