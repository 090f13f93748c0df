//! What a log derives to.

use callgate_schema::{Json, json};
use callgate_session::{
    Content, Draft, Event, Message, Session, Source, SurfaceOp, UserMessage, derive_messages,
};
use proptest::prelude::*;

use crate::logs::{
    answer, call, header, log, other, result, sample, step_end, step_start, sub_end, sub_start,
    turn_end, turn_start, user,
};

fn derived(events: &[Event]) -> String {
    derive_messages(events)
        .iter()
        .fold(String::new(), |text, message| text + &message.to_string() + "\n")
}

fn conversation() -> Vec<Event> {
    log([
        turn_start(1),
        step_start(1, 1),
        user("go"),
        answer(1, "looking", &["a"]),
        call(1, "a"),
        sub_start("a", "a", "a:code:1"),
        sub_end("a", "a", "a:code:1"),
        result(1, "a", 4),
        step_end(1, 1),
        step_start(1, 2),
        answer(2, "", &[]),
        user("more"),
        answer(2, "done", &[]),
        step_end(1, 2),
        turn_end(1),
    ])
}

#[test]
fn messages_are_the_surface_in_its_order_without_empty_answers_and_without_sub_calls() {
    // SESSION-7
    // SESSION-8
    insta::assert_snapshot!(derived(&conversation()), @r#"
    {"role":"user","source":{"kind":"user"},"content":[{"type":"text","text":"go"}]}
    {"role":"assistant","content":[{"type":"text","text":"looking"},{"type":"tool-call","toolCallId":"a","name":"read","arguments":"{}"}]}
    {"role":"user","source":{"kind":"tool","callId":"a"},"content":[{"type":"tool-result","toolCallId":"a","content":[{"type":"text","text":"done"}],"isError":false}]}
    {"role":"user","source":{"kind":"user"},"content":[{"type":"text","text":"more"}]}
    {"role":"assistant","content":[{"type":"text","text":"done"}]}
    "#);
}

#[test]
fn a_result_is_a_user_role_message_with_one_block_that_cites_its_call_and_holds_no_value() {
    // SESSION-9
    // LOOP-9
    let event = &conversation()[7];
    insta::assert_snapshot!(event, @r#"{"type":"tool/result","seq":7,"time":1007,"data":{"turn":1,"step":1,"message":{"role":"user","source":{"kind":"tool","callId":"a"},"content":[{"type":"tool-result","toolCallId":"a","content":[{"type":"text","text":"done"}],"isError":false}]}},"surfaceOp":"append","sourceEventSeqs":[4]}"#);
    let coded = sample()
        .into_iter()
        .find(|event| event.source_event_seqs.as_deref() == Some(&[19]))
        .unwrap();
    insta::assert_snapshot!(coded, @r#"{"type":"tool/result","seq":20,"time":1020,"data":{"turn":1,"step":1,"message":{"role":"user","source":{"kind":"tool","callId":"c2"},"content":[{"type":"tool-result","toolCallId":"c2","content":[{"type":"text","text":"done"}],"isError":true}]},"error":{"name":"SomeError","code":"INVALID_ARGS"},"meta":null},"surfaceOp":"append","sourceEventSeqs":[19]}"#);
}

#[test]
fn a_result_message_that_is_not_exactly_that_is_refused() {
    // SESSION-9
    let event = |message: Json| {
        let data = json!({ "turn": 1, "step": 1, "message": message });
        json!({ "type": "tool/result", "seq": 0, "time": 1, "data": data, "surfaceOp": "append" })
    };
    let block =
        || json!({ "type": "tool-result", "toolCallId": "c", "content": [], "isError": false });
    let source = || json!({ "kind": "tool", "callId": "c" });
    let check = |message: Json, expected: &str| {
        assert_eq!(Event::from_json(&event(message)).unwrap_err().to_string(), expected);
    };
    Event::from_json(&event(json!({ "role": "user", "source": source(), "content": [block()] })))
        .unwrap();
    check(
        json!({ "role": "tool", "source": source(), "content": [block()] }),
        "`data.message.role` must be `user`, not `tool`",
    );
    check(
        json!({ "role": "user", "source": { "kind": "tool", "callId": "d" }, "content": [block()] }),
        "`data.message.source` must be of kind `tool` and name the same call",
    );
    check(
        json!({ "role": "user", "source": source(), "content": [block(), block()] }),
        "`data.message.content` must be a list of exactly one tool-result block",
    );
    let text = json!({ "type": "text", "toolCallId": "c", "content": [], "isError": false });
    check(
        json!({ "role": "user", "source": source(), "content": [text] }),
        "`data.message.content.type` must be `tool-result`, not `text`",
    );
    check(
        json!({ "role": "user", "source": source(), "content": [{ "type": "text", "text": "x" }] }),
        "`data.message.content.text` is not a known member; the log may come from a newer version of callgate",
    );
}

#[test]
fn a_replacement_takes_the_place_of_its_range() {
    // SESSION-7
    let events = log([
        user("zero"),
        user("one"),
        user("two"),
        user("three"),
        user("one and two").replacing(1..=2),
        user("four"),
        user("all up to three").replacing(0..=3),
        user("last").replacing(5..=5),
    ]);
    let texts: Vec<String> = derive_messages(&events)
        .iter()
        .map(|message| match message {
            Message::User(message) => message.content[0].as_text().unwrap().to_owned(),
            _ => unreachable!(),
        })
        .collect();
    assert_eq!(texts, ["all up to three", "last"]);
}

#[test]
fn the_sample_derives_to_its_summary() {
    let summary = UserMessage::new(Source::User, ["all of the above, in short".into()]);
    assert_eq!(derive_messages(&sample()), [Message::User(summary)]);
}

#[test]
fn a_seed_derives_to_the_same_messages() {
    // SESSION-7
    let session = Session::from_events(header("s-2"), conversation()).unwrap();
    assert_eq!(derive_messages(&session.events()), derive_messages(&conversation()));
}

#[test]
fn content_blocks_have_one_exact_form_and_keep_what_they_do_not_know() {
    // BRIDGE-31
    let cases = [
        (json!({ "type": "text", "text": "a\u{2028}\"" }), Content::text("a\u{2028}\"")),
        (json!({ "type": "reasoning", "text": "" }), Content::reasoning("")),
        (
            json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" }),
            Content::image("aGk=", "image/png"),
        ),
    ];
    for (json, block) in cases {
        assert_eq!(
            (Content::from_json(&json), block.to_json(), block.to_string()),
            (block, json.clone(), json.to_string())
        );
    }
    let verbatim = [
        json!({ "type": "text", "text": "a", "annotations": { "priority": 1 } }),
        json!({ "type": "text", "text": 5 }),
        json!({ "type": "image", "data": "aGk=", "mimeType": "image/png", "_meta": {} }),
        json!({ "type": "image", "url": "http://a", "alt": "b" }),
        json!({ "type": "audio", "data": "", "mimeType": "audio/wav" }),
        json!({ "type": 3 }),
        json!({}),
        json!([1]),
        Json::Null,
    ];
    for json in verbatim {
        let block = Content::from_json(&json);
        assert_eq!(
            (&block, block.to_json(), block.to_string()),
            (&Content::Other(json.clone()), json.clone(), json.to_string())
        );
    }
    let annotated = Content::from_json(&json!({ "type": "text", "text": "a", "annotations": {} }));
    assert_eq!(
        (annotated.as_text(), annotated.kind(), annotated.is_image()),
        (Some("a"), "text", false)
    );
    let picture = Content::from_json(&json!({ "type": "image", "url": "http://a" }));
    assert_eq!((picture.as_text(), picture.kind(), picture.is_image()), (None, "image", true));
    assert_eq!(Content::from_json(&json!(7)).kind(), "unknown");
}

#[test]
fn sources_have_one_exact_form_and_keep_what_they_do_not_know() {
    let plugin = |form: Option<&str>, summary: Option<&str>| Source::Plugin {
        plugin: "p".into(),
        form: form.map(Into::into),
        summary: summary.map(Into::into),
    };
    let cases = [
        (json!({ "kind": "user" }), Source::User),
        (json!({ "kind": "tool", "callId": "c" }), Source::Tool { call_id: "c".into() }),
        (json!({ "kind": "plugin", "plugin": "p" }), plugin(None, None)),
        (
            json!({ "kind": "plugin", "plugin": "p", "form": "notice" }),
            plugin(Some("notice"), None),
        ),
        (json!({ "kind": "plugin", "plugin": "p", "summary": "s" }), plugin(None, Some("s"))),
    ];
    for (json, source) in cases {
        assert_eq!(Source::from_json(&json), source);
        check_source(&json);
    }
    let verbatim = [
        json!({ "kind": "user", "name": "me" }),
        json!({ "kind": "tool", "callId": "c", "n": 1 }),
        json!({ "kind": "tool", "callId": 1 }),
        json!({ "kind": "plugin", "plugin": "p", "n": 1 }),
        json!({ "kind": "plugin" }),
        json!({ "kind": "mail" }),
        json!("user"),
    ];
    for json in verbatim {
        assert_eq!(Source::from_json(&json), Source::Other(json.clone()));
        check_source(&json);
    }
}

/// A message keeps its id, its source and its content in the log.
fn check_source(source: &Json) {
    let message = UserMessage::new(Source::from_json(source), ["x".into()]).with_id("m");
    let event = Event::new(0, 1, message);
    let data = json!({
        "id": "m",
        "role": "user",
        "source": source.clone(),
        "content": [{ "type": "text", "text": "x" }],
    });
    let line =
        json!({ "type": "user/message", "seq": 0, "time": 1, "data": data, "surfaceOp": "append" });
    assert_eq!(event.to_string(), line.to_string());
    assert_eq!(Event::from_json(&line).unwrap(), event);
}

/// An event that is not on the surface.
fn log_only() -> impl Strategy<Value = Draft> {
    prop_oneof![
        Just(turn_start(7)),
        Just(step_end(3, 9)),
        Just(call(1, "z")),
        Just(sub_start("a", "a", "a:code:9")),
        Just(sub_end("a", "a", "a:code:9")),
        Just(other("vendor/x", json!({ "message": { "role": "user" } }))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    // SESSION-7
    // SESSION-8
    #[test]
    fn events_that_are_not_on_the_surface_change_no_message(
        inserted in proptest::collection::vec((0..20_usize, log_only()), 0..12),
    ) {
        let mut events = conversation();
        events.push(Event::new(15, 1_015, user("in short").replacing(3..=7)));
        let expected = derive_messages(&events);
        for (place, draft) in inserted {
            insert(&mut events, place, draft);
        }
        prop_assert_eq!(derive_messages(&events), expected.clone());
        prop_assert_eq!(derive_messages(&events), expected);
    }
}

/// Puts an event somewhere and renumbers what comes after it.
fn insert(events: &mut Vec<Event>, place: usize, draft: Draft) {
    let place = place.min(events.len());
    let at = place as u64;
    let moved = |seq: u64| if seq >= at { seq + 1 } else { seq };
    for event in events.iter_mut() {
        event.seq = moved(event.seq);
        if let Some(SurfaceOp::Replace { first, last }) = &mut event.surface_op {
            (*first, *last) = (moved(*first), moved(*last));
        }
    }
    events.insert(place, Event::new(at, 0, draft));
}
