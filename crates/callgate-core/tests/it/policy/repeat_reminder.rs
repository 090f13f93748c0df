//! Repeat reminders.

use std::fmt::Write as _;

use callgate_core::hooks::RepeatReminder;
use callgate_core::testing::{ScriptedEngine, ScriptedTools};
use callgate_core::{
    CallInput, CallResult, Denial, Error, ErrorKind, HookError, Layer, PostDecision, ToolError,
};
use callgate_schema::{Json, json};
use callgate_session::{Content, Source, UserMessage};
use proptest::prelude::*;

use super::{contexts, events, go, note, recorder, runtime, runtime_for, tool};
use crate::support::{delegating, plain};

const HINT: &str = "The same tool was called several times in a row with the same arguments. If the \
                    result does not help, change the arguments or try another way.";

async fn make(layer: &Layer, name: &str, arguments: Json) -> CallResult {
    layer.execute(CallInput::new("call", name, arguments)).await
}

/// Which of the calls, numbered from 1, came with a reminder.
async fn reminded(layer: &Layer, calls: &[(&str, Json)]) -> Vec<usize> {
    let mut reminded = Vec::new();
    for (number, (name, arguments)) in (1..).zip(calls) {
        if !make(layer, name, arguments.clone()).await.additional_contexts().is_empty() {
            reminded.push(number);
        }
    }
    reminded
}

fn times(count: usize, name: &'static str) -> Vec<(&'static str, Json)> {
    vec![(name, json!({})); count]
}

fn echo() -> callgate_core::ToolDefinition {
    tool("echo", |arguments, _| std::future::ready(Ok(arguments)))
}

#[tokio::test]
async fn a_reminder_changes_nothing_but_the_messages() {
    // POLICY-36
    let runtime =
        runtime([plain("look"), tool("fail", |_, _| async { Err(ToolError::failed("no")) })]);
    let (plain, watched) = (runtime.scope(), runtime.scope());
    watched.install(&RepeatReminder::new().thresholds([2]).unwrap()).unwrap();
    for name in ["look", "fail"] {
        make(&watched, name, json!({})).await;
        let (without, with) =
            (make(&plain, name, json!({})).await, make(&watched, name, json!({})).await);
        assert_eq!(without.outcome(), with.outcome());
        assert_eq!(without.content(), with.content());
        assert_eq!((contexts(&without), contexts(&with)), (vec![], vec![HINT.to_owned()]));
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    // POLICY-37
    let thresholds = |counts: &[u32]| RepeatReminder::new().thresholds(counts.to_vec());
    let refused: [(Result<RepeatReminder, Error>, &str); 5] = [
        (thresholds(&[]), "there must be at least one repeat threshold"),
        (thresholds(&[1]), "a repeat threshold must be at least 2, not 1"),
        (thresholds(&[3, 0]), "a repeat threshold must be at least 2, not 0"),
        (thresholds(&[3, 5, 3]), "the repeat threshold 3 is given twice"),
        (RepeatReminder::new().preview_chars(0), "a reminder must quote at least 1 character"),
    ];
    for (setting, message) in refused {
        let error = setting.unwrap_err();
        assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::InvalidConfig, message));
    }
    assert!(thresholds(&[8, 2, 5]).is_ok());
    assert!(RepeatReminder::new().preview_chars(1).is_ok());
}

#[tokio::test]
async fn the_default_thresholds_are_three_five_and_eight() {
    // POLICY-37
    let runtime = runtime([plain("look")]);
    runtime.hook(RepeatReminder::new());
    assert_eq!(reminded(&runtime.scope(), &times(10, "look")).await, [3, 5, 8]);
}

#[tokio::test]
async fn patterns_choose_the_tools_that_are_watched() {
    // POLICY-37
    let rows: [(&[&str], &[&str], &str, bool); 18] = [
        (&[], &[], "look", true),
        (&["look"], &[], "look", true),
        (&["look"], &[], "lookup", false),
        (&["look"], &[], "a look", false),
        (&["look*"], &[], "lookup", true),
        (&["*up"], &[], "lookup", true),
        (&["l*k*p"], &[], "lookup", true),
        (&["l*p*k"], &[], "lookup", false),
        (&["*oo*"], &[], "lookup", true),
        (&["lo*ok"], &[], "lok", false),
        (&["*ab*b*"], &[], "abab", true),
        (&["*ab*ba*"], &[], "aba", false),
        (&["*"], &[], "x", true),
        (&["a.c", "[ab]", "?"], &[], "abc", false),
        (&["other", "look"], &[], "look", true),
        (&[], &["look"], "look", false),
        (&["look"], &["l*"], "look", false),
        (&["**"], &["up*"], "lookup", true),
    ];
    for (include, exclude, name, is_watched) in rows {
        let runtime = runtime([plain(name)]);
        let reminder = RepeatReminder::new().thresholds([2]).unwrap();
        runtime.hook(reminder.include(include.to_vec()).exclude(exclude.to_vec()));
        let calls = vec![(name, json!({})); 2];
        let expected: &[usize] = if is_watched { &[2] } else { &[] };
        assert_eq!(
            reminded(&runtime.scope(), &calls).await,
            expected,
            "{include:?} {exclude:?} {name}"
        );
    }
}

type Judge = fn() -> PostDecision;

#[tokio::test]
async fn a_reminder_stands_in_front_of_the_messages_of_any_decision() {
    // POLICY-38
    let rows: [(Judge, &str); 4] = [
        (PostDecision::accept, "look"),
        (|| PostDecision::replace_content([Content::text("other")]), "other"),
        (|| PostDecision::replace_value("other"), "other"),
        (|| PostDecision::block([Content::text("blocked")]), "blocked"),
    ];
    for (judge, shown) in rows {
        let runtime = runtime([plain("look")]);
        runtime.hook(RepeatReminder::new().thresholds([2]).unwrap());
        runtime.on_post_execute(
            move |_, _| async move { Ok(judge().with_context(note("further in"))) },
        );
        let scope = runtime.scope();
        make(&scope, "look", json!({})).await;
        let result = make(&scope, "look", json!({})).await;
        assert_eq!(result.text(), shown);
        assert_eq!(contexts(&result), [HINT, "further in"]);
    }
}

#[tokio::test]
async fn a_call_is_counted_before_the_hooks_further_in_are_asked() {
    // POLICY-38
    let runtime = runtime([plain("look")]);
    runtime.hook(RepeatReminder::new());
    runtime.on_post_execute(|call, next| async move {
        if &**call.id() == "broken" { Err(HookError::failed("broken")) } else { next.run().await }
    });
    let scope = runtime.scope();
    for id in ["fine", "broken"] {
        scope.execute(CallInput::new(id, "look", json!({}))).await;
    }
    assert_eq!(contexts(&make(&scope, "look", json!({})).await), [HINT]);
}

#[tokio::test]
async fn calls_are_the_same_if_their_canonical_arguments_are() {
    // POLICY-39
    let same = [
        (r#"{"a":1,"b":{"c":2,"d":[3]}}"#, r#"{ "b": {"d": [3.0], "c": 2e0}, "a": 1.0 }"#),
        (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
        ("[]", "[]"),
        ("null", "null"),
    ];
    let different = [
        (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#),
        (r#"{"a":1}"#, r#"{"a":"1"}"#),
        (r#"{"a":null}"#, "{}"),
        ("{}", "[]"),
    ];
    let is_repeat = async |one: &str, other: &str| {
        let runtime = runtime([echo()]);
        runtime.hook(RepeatReminder::new().thresholds([2]).unwrap());
        let calls = [one, other].map(|arguments| ("echo", Json::parse(arguments).unwrap()));
        reminded(&runtime.scope(), &calls).await == [2]
    };
    for (one, other) in same {
        assert!(is_repeat(one, other).await, "{one} {other}");
    }
    for (one, other) in different {
        assert!(!is_repeat(one, other).await, "{one} {other}");
    }
}

#[tokio::test]
async fn arguments_of_any_depth_are_compared_and_quoted() {
    // POLICY-39
    let depth = 100_000;
    let deep = (0..depth).fold(json!({}), |inner, _| json!({ "in": inner }));
    let runtime = runtime([echo()]);
    runtime.hook(RepeatReminder::new().thresholds([2, 3]).unwrap().preview_chars(9).unwrap());
    let scope = runtime.scope();
    for _ in 0..2 {
        make(&scope, "echo", deep.clone()).await;
    }
    let rest = depth * r#"{"in":}"#.len() + "{}".len() - 9;
    let expected = format!(r#"arguments: {{"in":{{"i… ({rest} more characters)"#);
    let reminder = contexts(&make(&scope, "echo", deep).await).remove(0);
    assert_eq!(reminder.lines().next().unwrap().split_once("the same ").unwrap().1, expected);
}

#[tokio::test]
async fn every_scope_has_a_chain_of_its_own_that_other_watched_calls_break() {
    // POLICY-40
    let runtime = runtime([plain("look"), plain("other"), plain("poll")]);
    runtime.hook(RepeatReminder::new().exclude(["poll"]));
    let calls = |names: &[&'static str]| -> Vec<(&'static str, Json)> {
        names.iter().map(|name| (*name, json!({}))).collect()
    };
    let (one, two) = (runtime.scope(), runtime.scope());
    assert_eq!(reminded(&one, &calls(&["look", "other", "look", "look"])).await, [0_usize; 0]);
    assert_eq!(reminded(&two, &calls(&["look", "look"])).await, [0_usize; 0]);
    assert_eq!(reminded(&one, &calls(&["poll", "look"])).await, [2]);
    assert_eq!(reminded(&two, &calls(&["poll", "poll", "poll", "look"])).await, [4]);
    // Calls of the runtime itself belong to nobody.
    assert_eq!(reminded(&runtime, &times(9, "look")).await, [0_usize; 0]);
    // A new scope starts afresh, even on the same session.
    let session = recorder(&runtime).session().clone();
    let first = runtime.scope();
    first.set_session(session.clone()).unwrap();
    assert_eq!(reminded(&first, &times(2, "look")).await, [0_usize; 0]);
    first.dispose().await;
    let second = runtime.scope();
    second.set_session(session).unwrap();
    assert_eq!(reminded(&second, &times(3, "look")).await, [3]);
}

#[tokio::test]
async fn every_call_that_reaches_the_post_stage_counts() {
    // POLICY-41
    let engine = ScriptedEngine::new().program("go", async |tools: ScriptedTools| {
        for _ in 0..3 {
            tools.call("look", json!({})).await?;
        }
        Ok(None)
    });
    let runtime = runtime_for(engine);
    for tool in [
        plain("look"),
        plain("secret"),
        delegating("outer", "look"),
        tool("fail", |_, _| async { Err(ToolError::failed("no")) }),
    ] {
        runtime.register(tool).unwrap();
    }
    runtime.guard(|call| (&**call.name() == "secret").then(|| Denial::new("no")));
    runtime.guard(|call| {
        assert!(&**call.id() != "skips", "the guard is broken");
        None
    });
    runtime.hook(RepeatReminder::new());
    for name in ["secret", "fail", "nobody"] {
        assert_eq!(reminded(&runtime.scope(), &times(3, name)).await, [3], "{name}");
    }
    // Nested calls count with the direct ones.
    let scope = runtime.scope();
    scope.hook(RepeatReminder::new().exclude(["outer"]));
    let calls = ["look", "outer", "look"].map(|name| (name, json!({})));
    assert_eq!(reminded(&scope, &calls).await, [3]);
    assert_eq!(contexts(&runtime.scope().execute(go()).await), [HINT]);
    // What skips the post stage is not counted.
    let scope = runtime.scope();
    assert_eq!(reminded(&scope, &times(2, "look")).await, [0_usize; 0]);
    assert!(scope.execute(CallInput::new("skips", "look", json!({}))).await.is_error());
    assert_eq!(reminded(&scope, &times(1, "look")).await, [1]);
}

#[tokio::test]
async fn higher_thresholds_get_a_reminder_with_details() {
    // POLICY-42
    let runtime = runtime([echo()]);
    let reminder = RepeatReminder::new().thresholds([4, 2]).unwrap().preview_chars(12).unwrap();
    runtime.hook(reminder);
    let scope = runtime.scope();
    let mut reminders = String::new();
    for number in 1..=6 {
        let arguments = Json::parse(r#"{"b": "ä€𝄞!", "a": 1}"#).unwrap();
        for reminder in contexts(&make(&scope, "echo", arguments).await) {
            writeln!(reminders, "{number}: {reminder}").unwrap();
        }
    }
    insta::assert_snapshot!(reminders, @r#"
    2: The same tool was called several times in a row with the same arguments. If the result does not help, change the arguments or try another way.
    4: `echo` was called 4 times in a row with the same arguments: {"a":1,"b":"… (6 more characters)
    Calling it again will hardly change the result. Do something else, or say what is in the way.
    "#);
}

#[tokio::test]
async fn the_whole_arguments_are_compared_even_if_only_their_beginning_is_shown() {
    // POLICY-42
    let runtime = runtime([echo()]);
    runtime.hook(RepeatReminder::new().thresholds([2]).unwrap().preview_chars(1).unwrap());
    let calls = [1, 2, 3].map(|last| ("echo", json!({ "a": "x".repeat(1_000), "z": last })));
    assert_eq!(reminded(&runtime.scope(), &calls).await, [0_usize; 0]);
}

#[tokio::test]
async fn a_reminder_says_where_it_comes_from() {
    // POLICY-43
    let runtime = runtime([plain("look")]);
    runtime.hook(RepeatReminder::new());
    let scope = runtime.scope();
    let mut sources = Vec::new();
    for _ in 0..5 {
        let result = make(&scope, "look", json!({})).await;
        sources.extend(result.additional_contexts().iter().map(|context| context.source.clone()));
    }
    let source = |summary: &str| Source::Plugin {
        plugin: "repeat-tool-reminder".into(),
        form: Some("notice".into()),
        summary: Some(summary.into()),
    };
    assert_eq!(sources, [source("look × 3"), source("look × 5")]);
}

#[tokio::test]
async fn a_message_of_the_user_starts_a_new_count() {
    // POLICY-44
    let rows = [(Source::User, vec![3, 6]), (Source::plugin("tests"), vec![3, 5])];
    for (source, expected) in rows {
        let runtime = runtime([plain("look")]);
        runtime.hook(RepeatReminder::new().thresholds([3, 5]).unwrap());
        let recorder = recorder(&runtime);
        let mut reminded = Vec::new();
        for number in 1..=7 {
            let result =
                recorder.call(CallInput::new(format!("call-{number}"), "look", json!({}))).await;
            if !result.additional_contexts().is_empty() {
                reminded.push(number);
            }
            if number == 3 {
                let message = UserMessage::new(source.clone(), [Content::text("go on")]);
                recorder.session().append(message).unwrap();
            }
        }
        assert_eq!(reminded, expected, "{source:?}");
        // Nothing about it is in the log, but for what the results brought along.
        assert!(events(recorder.session(), "repeat").is_empty());
    }
}

/// Any JSON, and the same with the members of every object turned round.
fn json_and_its_mirror() -> impl Strategy<Value = (Json, Json)> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        "[a-c]{0,2}".prop_map(Json::from),
    ]
    .prop_map(|leaf| (leaf.clone(), leaf));
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| {
                let (one, other): (Vec<Json>, Vec<Json>) = items.into_iter().unzip();
                (Json::from(one), Json::from(other))
            }),
            prop::collection::btree_map("[a-d]", inner, 0..4).prop_map(|members| {
                let object = |members: Vec<(String, Json)>| {
                    let builder = callgate_schema::Object::builder();
                    let built = members
                        .into_iter()
                        .fold(builder, |builder, (name, value)| builder.with(name, value));
                    Json::from(built.build())
                };
                let (one, other) = members
                    .into_iter()
                    .map(|(name, (one, other))| ((name.clone(), one), (name, other)))
                    .unzip::<_, _, Vec<_>, Vec<_>>();
                (object(one), object(other.into_iter().rev().collect()))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(super::cases(64)))]

    #[test]
    fn two_calls_repeat_each_other_exactly_if_their_canonical_texts_are_equal(
        (one, mirror) in json_and_its_mirror(),
        (other, _) in json_and_its_mirror(),
    ) {
        // POLICY-39
        let repeats = |second: &Json| {
            let runtime = runtime([echo()]);
            runtime.hook(RepeatReminder::new().thresholds([2]).unwrap());
            let calls = [("echo", one.clone()), ("echo", second.clone())];
            futures_util::FutureExt::now_or_never(reminded(&runtime.scope(), &calls)).unwrap() == [2]
        };
        prop_assert!(repeats(&mirror));
        prop_assert_eq!(repeats(&other), one.canonical() == other.canonical());
    }
}
