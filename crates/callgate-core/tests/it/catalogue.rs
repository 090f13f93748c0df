//! The SDK as a catalogue, and how programs look the rest up.

use callgate_core::testing::{Results, ScriptedEngine, ScriptedTools};
use callgate_core::{
    CallInput, Denial, ErrorKind, Language, Mode, Output, RUN_CODE, Recorder, Restriction,
    SdkDetail, SdkOptions, Signal, ToolDefinition, ToolRuntime, render,
};
use callgate_schema::{Json, ParamSpec, ValueSpec, json};
use callgate_session::{EventBody, Session, SessionHeader};

use crate::support::{plain, run_program};

const TYPESCRIPT: Language = Language::TypeScript;

fn tool(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition::new(
        name,
        description,
        ParamSpec::new().required("n", ValueSpec::integer()),
        Output::new(ValueSpec::string(), render::json),
        |_, _| async { Ok(json!("done")) },
    )
}

fn runtime(engine: ScriptedEngine, sdk: impl Into<SdkOptions>) -> ToolRuntime {
    let runtime = ToolRuntime::builder().mode(Mode::Both).engine(engine).sdk(sdk);
    runtime
        .tool(tool("list_issues", "Lists issues. Newest first."))
        .tool(tool("close-issue", "Closes an issue, with a comment."))
        .tool(tool("read", "Reads a file about anything."))
        .build()
        .unwrap()
}

/// A program that makes these calls of `tools` and returns the answers, errors as text.
fn asking(calls: impl IntoIterator<Item = (&'static str, Json)>) -> ScriptedEngine {
    let calls: Vec<_> = calls.into_iter().collect();
    ScriptedEngine::new().program("ask", move |tools: ScriptedTools| {
        let calls = calls.clone();
        async move {
            let mut answers = Vec::new();
            for (name, arguments) in calls {
                let answer = tools.call(name, arguments).await;
                answers.push(answer.unwrap_or_else(|error| json!(error)));
            }
            Ok(Some(json!(answers)))
        }
    })
}

async fn answers(layer: &callgate_core::Layer) -> Json {
    let result = run_program(layer, "run", "ask").await;
    result.value().unwrap_or_else(|| panic!("{}", result.text()))["result"].clone()
}

#[tokio::test]
async fn programs_find_tools_by_words_and_read_their_declarations() {
    let engine = asking([
        ("search", json!({ "query": "close issues" })),
        ("search", json!({ "query": "issue", "limit": 1 })),
        ("search", json!({ "query": "" })),
        ("search", json!({ "query": "zebra" })),
        ("describe", json!({ "names": ["read", "close-issue", "read"] })),
    ]);
    let found = answers(&runtime(engine, SdkDetail::Catalogue)).await;
    let entry = |name, summary| json!({ "name": name, "summary": summary });
    let close = entry("close-issue", "Closes an issue, with a comment.");
    let list = entry("list_issues", "Lists issues. Newest first.");
    let read = entry("read", "Reads a file about anything.");
    assert_eq!(found[0], json!([close.clone(), list.clone()]));
    assert_eq!(found[1], json!([close.clone()]));
    assert_eq!(found[2], json!([close, list, read]));
    assert_eq!(found[3], json!([]));
    insta::assert_snapshot!(found[4].as_str().unwrap(), @r#"
    declare const tools: {
      /** Reads a file about anything. */
      read(args: {
        n: number;
      } & Record<string, JsonValue>): Promise<string>;
    }

    declare const tools: {
      /** Closes an issue, with a comment. */
      "close-issue"(args: {
        n: number;
      } & Record<string, JsonValue>): Promise<string>;
    }
    "#);
}

#[tokio::test]
async fn what_cannot_be_looked_up_says_what_would_be_right() {
    let engine = asking([
        ("search", json!({ "words": "issue" })),
        ("search", json!({ "query": "issue", "limit": -1 })),
        ("search", Json::Null),
        ("describe", json!({ "names": "read" })),
        ("describe", json!({ "names": ["list_isues"] })),
        ("describe", json!({ "names": ["zebra"] })),
        ("describe", json!({ "names": ["run_code"] })),
    ]);
    let found = answers(&runtime(engine, SdkDetail::Catalogue)).await;
    let lines: Vec<&str> = found.as_array().unwrap().iter().filter_map(Json::as_str).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    invalid arguments for `search`: query: missing, expected a string
    invalid arguments: `limit` is below zero; leave it out or give a positive number
    invalid arguments for `search`: arguments: expected an object with `query`, got null
    invalid arguments for `describe`: names: expected a list of strings, got the string "read"; wrap a single item in a list
    invalid arguments: there is no tool `list_isues`; did you mean `list_issues`?
    invalid arguments: there is no tool `zebra`; search for its name first
    invalid arguments: there is no tool `run_code`; search for its name first
    "#);
}

#[tokio::test]
async fn looking_up_shows_what_the_scope_sees_at_that_moment() {
    let engine =
        asking([("search", json!({ "query": "" })), ("describe", json!({ "names": ["read"] }))]);
    let runtime = runtime(engine, SdkDetail::Catalogue);
    let scope = runtime.scope();
    scope.restrict(Restriction::deny(["read", "close-issue"])).unwrap();
    scope.register(plain("own")).unwrap();
    let found = answers(&scope).await;
    let names: Vec<&Json> = found[0].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, [&json!("list_issues"), &json!("own")]);
    assert_eq!(
        found[1],
        json!("invalid arguments: there is no tool `read`; search for its name first")
    );
    assert_eq!(answers(&runtime).await[0].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn looking_up_is_no_call() {
    let engine = asking([("search", json!({ "query": "issue" }))]).program(
        "fail",
        async |tools: ScriptedTools| {
            tools.call("describe", json!({ "names": ["read"] })).await?;
            tools.call("read", json!({ "n": 1 })).await?;
            Err("oh".to_owned())
        },
    );
    let runtime = runtime(engine, SdkDetail::Catalogue);
    let (results, _observed) = Results::observe(&runtime);
    // What stops every call stops no look.
    let guard = runtime.guard(|call| (&**call.name() != RUN_CODE).then(|| Denial::new("no")));
    let session = Session::in_memory(SessionHeader::new("s", 0));
    let recorder = Recorder::new(runtime.scope(), session.clone()).unwrap();
    let input = json!({ "code": "ask", "description": "Looks tools up" });
    let result = recorder.call(CallInput::new("run", RUN_CODE, input)).await;
    recorder.close().unwrap();
    assert!(!result.is_error(), "{}", result.text());
    assert_eq!(results.all().len(), 1);
    let is_dispatch = |body: &EventBody| {
        matches!(body, EventBody::CodeDispatchStart(_) | EventBody::CodeDispatch(_))
    };
    assert!(!session.events().iter().any(|event| is_dispatch(&event.body)));

    guard.dispose();
    let failed = run_program(&runtime, "run", "fail").await;
    assert!(
        failed.text().ends_with("sub-calls that ran: 1, 0 of them failed\n  1. read: ok"),
        "{}",
        failed.text()
    );
    // No list of tools has them, and no call reaches them but a program's.
    let names: Vec<String> =
        runtime.schemas().iter().map(|schema| schema.name.to_string()).collect();
    assert_eq!(names, ["list_issues", "close-issue", "read", "run_code"]);
    let direct = runtime.execute(CallInput::new("1", "search", json!({ "query": "x" }))).await;
    assert!(direct.text().contains("unknown tool `search`"), "{}", direct.text());
}

#[tokio::test]
async fn one_program_looks_up_a_thousand_times_at_most() {
    let engine = ScriptedEngine::new().program("ask", async |tools: ScriptedTools| {
        for _ in 0..1_000 {
            tools.call("search", json!({ "query": "x" })).await?;
        }
        let last = tools.call("describe", json!({ "names": [] })).await;
        let call = tools.call("read", json!({ "n": 1 })).await;
        Ok(Some(json!([last.unwrap_err(), call?])))
    });
    let runtime = runtime(engine, SdkDetail::Catalogue);
    for _ in 0..2 {
        assert_eq!(
            answers(&runtime).await,
            json!([
                "failed: a program may look tools up at most 1000 times; describe several at once",
                "done"
            ])
        );
    }
}

#[tokio::test]
async fn a_tool_keeps_its_name_and_the_text_says_the_other() {
    let members = |tools: ScriptedTools| async move {
        let names: Vec<String> = tools.members().iter().map(ToString::to_string).collect();
        let mine = tools.call("search", json!({ "n": 1 })).await?;
        let found = tools.call("search_tools_2", json!({ "query": "read" })).await?;
        Ok(Some(json!([names.join(" "), mine, found[0]["name"].clone()])))
    };
    let engine = ScriptedEngine::new().program("ask", members);
    let runtime = runtime(engine, SdkDetail::Catalogue);
    runtime.register(tool("search", "Searches.")).unwrap();
    runtime.register(tool("search_tools", "Searches tools.")).unwrap();
    assert_eq!(
        answers(&runtime).await,
        json!([
            "list_issues close-issue read search search_tools search_tools_2 describe",
            "done",
            "read"
        ])
    );
    let text = runtime.sdk(TYPESCRIPT);
    assert!(text.contains("await tools.search_tools_2({ query:"), "{text}");
    assert!(text.contains("await tools.describe({ names:"), "{text}");
}

#[tokio::test]
async fn the_catalogue_is_a_section_of_the_prompt_in_the_language_of_programs() {
    for language in Language::ALL {
        let engine = ScriptedEngine::new().in_language(language);
        let runtime = runtime(engine, SdkDetail::Catalogue);
        let prompt = runtime.assemble(&Signal::new()).await.unwrap();
        let sdk = prompt.sections.iter().find(|section| &*section.name == "tools:sdk").unwrap();
        assert_eq!(sdk.text, runtime.sdk(language));
        let (_, own) = sdk.text.split_once("These are your tools:\n\n").unwrap();
        insta::with_settings!({ snapshot_suffix => language.name() }, { insta::assert_snapshot!(own) });
        assert!(!runtime.shows_whole_sdk(language));
    }
}

#[test]
fn size_decides_where_it_is_left_to_it() {
    let whole = runtime(ScriptedEngine::new(), SdkDetail::Full).sdk(TYPESCRIPT);
    let sdk = |bytes| {
        let options = SdkOptions::new(SdkDetail::Auto).inline_bytes(bytes);
        runtime(ScriptedEngine::new(), options).sdk(TYPESCRIPT)
    };
    assert_eq!(sdk(whole.len()), whole);
    assert!(sdk(whole.len() - 1).contains("tools.search("));
    // Of a long catalogue, as many lines as fit.
    assert!(sdk(100).contains("\n- tools[\"close-issue\"]: Closes an issue, with a comment.\n- tools.list_issues: Lists issues.\n- … and 1 more, which you find by searching\n"), "{}", sdk(100));
    let runtime = runtime(ScriptedEngine::new(), SdkOptions::default());
    assert_eq!((runtime.sdk(TYPESCRIPT), runtime.whole_sdk(TYPESCRIPT)), (whole.clone(), whole));
    // The default limit.
    for number in 0..200 {
        runtime.register(tool(&format!("tool_{number}"), "Does something.")).unwrap();
    }
    let scope = runtime.scope();
    scope.show_sdk(SdkDetail::Auto).unwrap();
    assert!(runtime.shows_whole_sdk(TYPESCRIPT) && !scope.shows_whole_sdk(TYPESCRIPT));
    assert!(runtime.sdk(TYPESCRIPT).len() > 16_384);
}

#[tokio::test]
async fn a_scope_declares_it_for_itself_and_those_below() {
    let engine = asking([("search", json!({ "query": "read" }))]);
    let runtime = runtime(engine, SdkDetail::Full);
    let scope = runtime.scope();
    let below = scope.scope();
    let declared = scope.show_sdk(SdkDetail::Catalogue).unwrap();
    assert_eq!(scope.show_sdk(SdkDetail::Full).unwrap_err().kind(), ErrorKind::Duplicate);
    for (layer, is_whole) in [(&*runtime, true), (&*scope, false), (&*below, false)] {
        assert_eq!(layer.shows_whole_sdk(TYPESCRIPT), is_whole);
        let answered = answers(layer).await;
        assert_eq!(answered[0].as_str().is_some(), is_whole, "{answered}");
    }
    below.show_sdk(SdkDetail::Full).unwrap();
    assert!(below.shows_whole_sdk(TYPESCRIPT));
    declared.dispose();
    assert!(scope.shows_whole_sdk(TYPESCRIPT));
}
