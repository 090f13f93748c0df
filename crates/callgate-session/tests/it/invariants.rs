//! The rules from event to event.

use callgate_schema::{Str, json};
use callgate_session::{
    ApprovalAsked, ApprovalDecided, CodeDispatch, CodeDispatchStart, Draft, Event, EventBody,
    Failure, LogChecker, SurfaceOp, ToolResult, TurnEnd, TurnEndReason,
};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::logs::{
    answer, asked, call, decided, failed, header, log, options, result, result_body, sample,
    session, step_end, step_start, sub_end, sub_start, turn_end, turn_start, user,
};

/// Feeds a log and says what is wrong with its last event; all others must be in order.
#[track_caller]
fn problem(drafts: impl IntoIterator<Item = Draft>) -> String {
    let events = log(drafts);
    let (last, before) = events.split_last().unwrap();
    let mut checker = LogChecker::new();
    for event in before {
        checker.feed(event).unwrap();
    }
    match checker.feed(last) {
        Ok(()) => "ok".to_owned(),
        Err(violation) => {
            assert_eq!((violation.code(), violation.package()), ("INVARIANT", "callgate-session"));
            assert_eq!(violation.seq(), last.seq);
            violation.problem().to_owned()
        }
    }
}

#[test]
fn the_sample_is_a_valid_log() {
    LogChecker::check_all(&sample()).unwrap();
}

#[test]
fn turns_are_numbered_from_one_and_never_nested() {
    // SESSION-13
    assert_eq!(problem([turn_start(2)]), "the next turn is 1, not 2");
    assert_eq!(problem([turn_start(0)]), "the next turn is 1, not 0");
    assert_eq!(problem([turn_end(1)]), "turn 1 is not open");
    assert_eq!(problem([turn_start(1), turn_start(2)]), "turn 1 is still open");
    assert_eq!(problem([turn_start(1), turn_end(2)]), "the open turn is 1, not 2");
    assert_eq!(problem([turn_start(1), turn_end(1), turn_start(1)]), "the next turn is 2, not 1");
    assert_eq!(problem([turn_start(1), turn_end(1), turn_start(2)]), "ok");
}

#[test]
fn steps_are_numbered_from_one_inside_their_turn() {
    // SESSION-13
    assert_eq!(problem([step_start(1, 1)]), "turn 1 is not open");
    assert_eq!(problem([turn_start(1), step_start(1, 2)]), "the next step is 1, not 2");
    assert_eq!(problem([turn_start(1), step_start(2, 1)]), "the open turn is 1, not 2");
    assert_eq!(
        problem([turn_start(1), step_start(1, 1), step_start(1, 2)]),
        "step 1 is still open"
    );
    assert_eq!(problem([turn_start(1), step_start(1, 1), turn_end(1)]), "step 1 is still open");
    assert_eq!(
        problem([turn_start(1), step_start(1, 1), step_end(1, 2)]),
        "the open step is 1, not 2"
    );
    assert_eq!(problem([turn_start(1), step_end(1, 1)]), "step 1 is not open");
    let one = || [turn_start(1), step_start(1, 1), step_end(1, 1)];
    assert_eq!(problem(one().into_iter().chain([step_start(1, 2)])), "ok");
    assert_eq!(problem(one().into_iter().chain([step_start(1, 1)])), "the next step is 2, not 1");
    let two = one().into_iter().chain([turn_end(1), turn_start(2), step_start(2, 1)]);
    assert_eq!(problem(two), "ok");
}

#[test]
fn numbers_are_contiguous() {
    // SESSION-13
    let mut events = log([turn_start(1), turn_end(1)]);
    events[1].seq = 2;
    let violation = LogChecker::check_all(&events).unwrap_err();
    assert_eq!(
        violation.to_string(),
        "event 2 breaks an invariant of callgate-session: `seq` must be 1, not 2"
    );
}

#[test]
fn stream_and_tool_events_name_the_open_step() {
    // SESSION-13
    let chunk = |step| callgate_session::AssistantChunk { turn: 1, step, chunk: json!(1) }.into();
    for draft in [
        chunk as fn(u64) -> Draft,
        |step| answer(step, "x", &[]),
        |step| call(step, "c"),
        |step| result(step, "c", 0),
    ] {
        assert_eq!(problem([turn_start(1), draft(1)]), "step 1 is not open");
        assert_eq!(
            problem([turn_start(1), step_start(1, 1), draft(2)]),
            "the open step is 1, not 2"
        );
    }
}

#[test]
fn a_result_answers_one_unanswered_call_of_its_step_and_cites_it() {
    // SESSION-13
    // LOOP-9
    let open = |more: Vec<Draft>| {
        problem([turn_start(1), step_start(1, 1), call(1, "a")].into_iter().chain(more))
    };
    assert_eq!(open(vec![result(1, "a", 2)]), "ok");
    assert_eq!(open(vec![result(1, "b", 2)]), "no call `b` of this step waits for a result");
    assert_eq!(
        open(vec![result_body(1, "a").into()]),
        "the result of `a` must cite its `tool/call` (event 2)"
    );
    assert_eq!(
        open(vec![result(1, "a", 1)]),
        "the result of `a` must cite its `tool/call` (event 2)"
    );
    assert_eq!(
        open(vec![result(1, "a", 2), result(1, "a", 2)]),
        "no call `a` of this step waits for a result"
    );
    assert_eq!(
        open(vec![step_end(1, 1), step_start(1, 2), result(2, "a", 2)]),
        "no call `a` of this step waits for a result"
    );
    // Calls of a step overlap, even under one id, and are answered in any order.
    assert_eq!(
        open(vec![
            call(1, "b"),
            call(1, "a"),
            result(1, "b", 3),
            result(1, "a", 4),
            result(1, "a", 2)
        ]),
        "ok"
    );
    assert_eq!(
        open(vec![call(1, "a"), result(1, "a", 2), result(1, "a", 2)]),
        "the result of `a` must cite its `tool/call` (event 3)"
    );
    assert_eq!(
        problem([turn_start(1), step_start(1, 1), call(1, "")]),
        "`callId` must not be empty"
    );
}

#[test]
fn only_a_requested_call_can_have_the_result_that_it_was_not_started() {
    // SESSION-13
    let lost = |id: &str| Draft::new(failed(1, id, "TOOL_NOT_STARTED"));
    let requested = |more: Vec<Draft>| {
        problem(
            [turn_start(1), step_start(1, 1), answer(1, "", &["a", "a"])].into_iter().chain(more),
        )
    };
    assert_eq!(requested(vec![lost("a")]), "ok");
    assert_eq!(requested(vec![lost("a"), lost("a")]), "ok");
    assert_eq!(
        requested(vec![lost("a"), lost("a"), lost("a")]),
        "no call `a` of this step waits for a result"
    );
    assert_eq!(
        requested(vec![call(1, "a"), lost("a")]),
        "the result of `a` must cite its `tool/call` (event 3)"
    );
    let answered =
        vec![call(1, "a"), result(1, "a", 3), call(1, "a"), result(1, "a", 5), lost("a")];
    assert_eq!(requested(answered), "no call `a` of this step waits for a result");
    assert_eq!(requested(vec![lost("b")]), "no call `b` of this step waits for a result");
    let unknown = Draft::new(failed(1, "a", "TOOL_OUTCOME_UNKNOWN"));
    assert_eq!(requested(vec![unknown]), "no call `a` of this step waits for a result");
    let success =
        ToolResult { error: failed(1, "a", "TOOL_NOT_STARTED").error, ..result_body(1, "a") };
    assert_eq!(requested(vec![success.into()]), "no call `a` of this step waits for a result");
}

#[test]
fn sub_calls_lie_inside_an_open_turn() {
    // SESSION-11
    // INV-9
    let outside = "a sub-call lies outside of a turn";
    assert_eq!(problem([sub_start("c", "c", "s")]), outside);
    assert_eq!(problem([turn_start(1), turn_end(1), sub_start("c", "c", "s")]), outside);
    assert_eq!(problem([turn_start(1), turn_end(1), sub_end("c", "c", "s")]), outside);
    assert_eq!(problem([turn_start(1), sub_start("c", "c", "s")]), "ok");
}

#[test]
fn sub_calls_have_ids() {
    // SESSION-11
    // INV-10
    let check = |root: &str, parent: &str, id: &str, expected: &str| {
        assert_eq!(problem([turn_start(1), sub_start(root, parent, id)]), expected);
        assert_eq!(problem([turn_start(1), sub_end(root, parent, id)]), expected);
    };
    check("", "c", "s", "`rootCallId` must not be empty");
    check("c", "", "s", "`parentCallId` must not be empty");
    check("c", "c", "", "`subCallId` must not be empty");
}

#[test]
fn a_sub_call_keeps_its_root_and_its_parent_is_known_under_it() {
    // SESSION-12
    // INV-10
    let open = |more: Vec<Draft>| {
        problem([turn_start(1), sub_start("c", "c", "s")].into_iter().chain(more))
    };
    assert_eq!(open(vec![sub_start("c", "s", "t")]), "ok");
    assert_eq!(
        open(vec![sub_start("c", "x", "t")]),
        "parent `x` of sub-call `t` is not known under `c`"
    );
    assert_eq!(
        open(vec![sub_start("d", "s", "t")]),
        "parent `s` of sub-call `t` is not known under `d`"
    );
    assert_eq!(open(vec![sub_start("d", "d", "s")]), "sub-call `s` belongs to `c`, not to `d`");
    assert_eq!(open(vec![sub_end("d", "d", "s")]), "sub-call `s` belongs to `c`, not to `d`");
    // The root is remembered when the sub-call is settled, and when its turn is over.
    assert_eq!(
        open(vec![sub_end("c", "c", "s"), sub_start("d", "d", "s")]),
        "sub-call `s` belongs to `c`, not to `d`"
    );
    let next = [sub_end("c", "c", "s"), turn_end(1), turn_start(2), sub_start("d", "d", "s")];
    assert_eq!(open(next.to_vec()), "sub-call `s` belongs to `c`, not to `d`");
}

#[test]
fn every_start_of_a_sub_call_has_exactly_one_end_in_the_same_turn() {
    // BRIDGE-30
    let open = |more: Vec<Draft>| {
        problem([turn_start(1), sub_start("c", "c", "s")].into_iter().chain(more))
    };
    assert_eq!(open(vec![sub_end("c", "c", "s")]), "ok");
    assert_eq!(open(vec![sub_start("c", "c", "s")]), "sub-call `s` is already started");
    assert_eq!(
        open(vec![sub_end("c", "c", "t")]),
        "sub-call `t` is not started, or settled already"
    );
    let twice = vec![sub_end("c", "c", "s"), sub_end("c", "c", "s")];
    assert_eq!(open(twice), "sub-call `s` is not started, or settled already");
    assert_eq!(open(vec![turn_end(1)]), "sub-call `s` is not settled");
    // A turn that broke down may leave them open.
    let failure = Failure { message: "no disk".into(), code: "UNKNOWN".into() };
    assert_eq!(open(vec![TurnEnd { turn: 1, reason: TurnEndReason::Error(failure) }.into()]), "ok");
    assert_eq!(open(vec![TurnEnd { turn: 1, reason: TurnEndReason::Interrupted }.into()]), "ok");
    // Settled in any order.
    let crossing =
        vec![sub_start("c", "c", "t"), sub_end("c", "c", "t"), sub_end("c", "c", "s"), turn_end(1)];
    assert_eq!(open(crossing), "ok");
}

#[test]
fn start_and_end_of_a_sub_call_carry_the_same_five_members() {
    // BRIDGE-29
    let events = log([sub_start("c", "c", "s"), sub_end("c", "c", "s")]);
    insta::assert_snapshot!(crate::logs::lines(&events), @r#"
    {"type":"tool/code-dispatch-start","seq":0,"time":1000,"data":{"rootCallId":"c","parentCallId":"c","subCallId":"s","name":"read","arguments":{"path":"a"}}}
    {"type":"tool/code-dispatch","seq":1,"time":1001,"data":{"rootCallId":"c","parentCallId":"c","subCallId":"s","name":"read","arguments":{"path":"a"},"isError":false,"content":[{"type":"text","text":"aaa"}]}}
    "#);
    let open = [turn_start(1), sub_start("c", "c", "p"), sub_start("c", "c", "s")];
    let end = |change: fn(&mut CodeDispatch)| {
        let EventBody::CodeDispatch(mut settled) = sub_end("c", "c", "s").body else {
            unreachable!()
        };
        change(&mut settled);
        problem(open.iter().cloned().chain([settled.into()]))
    };
    let other = "sub-call `s` was started with another parent, name or arguments";
    assert_eq!(end(|_| {}), "ok");
    assert_eq!(end(|settled| settled.is_error = true), "ok");
    assert_eq!(end(|settled| settled.content = [].into()), "ok");
    assert_eq!(end(|settled| settled.parent_call_id = "p".into()), other);
    assert_eq!(end(|settled| settled.name = "write".into()), other);
    assert_eq!(end(|settled| settled.arguments = json!({ "path": "b" })), other);
}

#[test]
fn a_refused_event_leaves_no_trace() {
    // INV-11
    // SESSION-13
    let mut checker = LogChecker::new();
    let event = |seq, draft: Draft| Event::new(seq, 0, draft);
    checker.feed(&event(0, sub_start("c", "c", "s"))).unwrap_err();
    checker.feed(&event(0, asked("q"))).unwrap_err();
    checker.feed(&event(0, turn_start(2))).unwrap_err();
    checker.feed(&event(0, turn_start(1))).unwrap();
    checker.feed(&event(1, sub_start("c", "unknown", "s"))).unwrap_err();
    checker.feed(&event(1, sub_start("d", "d", "s"))).unwrap();
    checker.feed(&event(2, asked("q"))).unwrap();
    checker.feed(&event(3, step_start(1, 2))).unwrap_err();
    checker.feed(&event(3, step_start(1, 1))).unwrap();
}

#[test]
fn logs_that_exist_and_seeds_are_replayed_through_the_checks() {
    // INV-12
    // SESSION-13
    let session = session();
    session.append(turn_start(1)).unwrap();
    session.append(sub_start("c", "c", "s")).unwrap();
    session.add_check(LogChecker::new()).unwrap();
    let moved = session.append(sub_start("d", "d", "s")).unwrap_err();
    assert_eq!(moved.code(), "INVARIANT");
    session.append(sub_end("c", "c", "s")).unwrap();

    let seed = log([turn_start(1), sub_start("c", "c", "s"), sub_end("d", "d", "s"), turn_end(1)]);
    let seeded = options().from_events(header("s-2"), seed).unwrap();
    let refused = seeded.add_check(LogChecker::new()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "event 2 breaks an invariant of callgate-session: sub-call `s` belongs to `c`, not to `d`"
    );
}

#[test]
fn approval_questions_are_asked_inside_a_turn_and_answered_once() {
    // INV-14
    // POLICY-12
    assert_eq!(problem([asked("q")]), "an approval question lies outside of a turn");
    let open = |more: Vec<Draft>| problem([turn_start(1), asked("q")].into_iter().chain(more));
    assert_eq!(open(vec![decided("q")]), "ok");
    assert_eq!(open(vec![asked("q")]), "question `q` is already open");
    assert_eq!(open(vec![decided("r")]), "no question `r` is open");
    assert_eq!(open(vec![decided("q"), decided("q")]), "no question `q` is open");
    assert_eq!(open(vec![decided("q"), asked("q")]), "ok");
    assert_eq!(
        open(vec![turn_end(1), decided("q")]),
        "an approval decision lies outside of a turn"
    );
    assert_eq!(open(vec![turn_end(1), turn_start(2), decided("q")]), "ok");
    let nameless =
        ApprovalAsked { id: "q".into(), tool_name: "".into(), call_id: None, reason: None };
    assert_eq!(problem([turn_start(1), nameless.into()]), "`toolName` must not be empty");
}

#[test]
fn the_surface_rules_are_checked_too() {
    // SESSION-6
    assert_eq!(
        problem([turn_start(1).replacing(0..=0)]),
        "`turn/start` must not carry a `surfaceOp`"
    );
    assert_eq!(
        problem([user("a"), user("b").replacing(0..=0), user("c").replacing(0..=1)]),
        "`surfaceOp` replaces 0 to 1, which is no range of the surface"
    );
    assert_eq!(problem([user("a"), user("b").replacing(0..=0), user("c").replacing(1..=1)]), "ok");
}

/// Turns bytes into a valid log: each picks one of the events that are possible next.
fn grow(choices: &[u8]) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for choice in choices {
        let seq = events.len() as u64;
        let possible = candidates(&events).into_iter().map(|draft| Event::new(seq, seq, draft));
        let mut possible: Vec<Event> = possible.filter(|event| is_next(&events, event)).collect();
        events.push(possible.swap_remove(usize::from(*choice) % possible.len()));
    }
    events
}

const IDS: [&str; 3] = ["a", "b", "c"];

/// Events that might come next, right or wrong.
fn candidates(events: &[Event]) -> Vec<Draft> {
    let turns = events.iter().filter(|event| event.kind() == "turn/start").count() as u64;
    let mut drafts = vec![user("x"), turn_start(turns + 1), turn_end(turns)];
    for step in 1..4 {
        drafts.extend([step_start(turns, step), step_end(turns, step)]);
        for id in IDS {
            let EventBody::ToolCall(mut started) = call(step, id).body else { unreachable!() };
            started.turn = turns;
            drafts.push(started.into());
            let calls = events.iter().filter(|event| event.kind() == "tool/call");
            drafts.extend(calls.map(|call| {
                let mut answered = result_body(step, id);
                answered.turn = turns;
                Draft::new(answered).citing([call.seq])
            }));
        }
    }
    for (root, parent) in [("a", "a"), ("b", "b"), ("a", "s1"), ("b", "s2")] {
        for id in ["s1", "s2", "s3"] {
            drafts.extend([sub_start(root, parent, id), sub_end(root, parent, id)]);
        }
    }
    drafts.extend(IDS.iter().flat_map(|id| [asked(id), decided(id)]));
    drafts
}

/// The rules once more, said plainly: each looks back over the whole log.
fn is_next(before: &[Event], event: &Event) -> bool {
    let past = Past(before);
    let sources = event.source_event_seqs.as_deref().unwrap_or_default();
    let fits = event.seq == before.len() as u64
        && sources.iter().all(|seq| *seq < event.seq)
        && event.body.is_on_surface() == (event.surface_op == Some(SurfaceOp::Append));
    fits && past.allows(&event.body, sources)
}

/// What has happened before an event.
struct Past<'a>(&'a [Event]);

impl<'a> Past<'a> {
    fn allows(&self, body: &EventBody, sources: &[u64]) -> bool {
        match body {
            EventBody::TurnStart(start) => self.turn().is_none() && start.turn == self.turns() + 1,
            EventBody::TurnEnd(end) => {
                self.in_turn(end.turn)
                    && self.step().is_none()
                    && self.bodies().all(|body| !self.is_unsettled(body))
            }
            EventBody::StepStart(start) => {
                self.in_turn(start.turn) && self.step().is_none() && start.step == self.steps() + 1
            }
            EventBody::StepEnd(end) => self.in_step(end.turn, end.step),
            EventBody::ToolCall(call) => {
                self.in_step(call.turn, call.step) && !call.call_id.is_empty()
            }
            EventBody::ToolResult(result) => {
                self.in_step(result.turn, result.step)
                    && sources.iter().any(|seq| self.is_open_call(*seq, &result.message.call_id))
            }
            EventBody::CodeDispatchStart(start) => {
                self.owns(&start.root_call_id, &start.parent_call_id, &start.sub_call_id)
                    && self.started(&start.sub_call_id).is_none()
            }
            EventBody::CodeDispatch(settled) => {
                let start = self.started(&settled.sub_call_id);
                self.owns(&settled.root_call_id, &settled.parent_call_id, &settled.sub_call_id)
                    && start.is_some_and(|start| start.parent_call_id == settled.parent_call_id)
            }
            EventBody::ApprovalAsked(asked) => {
                self.turn().is_some()
                    && !asked.tool_name.is_empty()
                    && !self.is_open_question(&asked.id)
            }
            EventBody::ApprovalDecided(decided) => {
                self.turn().is_some() && self.is_open_question(&decided.id)
            }
            _ => true,
        }
    }

    fn bodies(&self) -> impl DoubleEndedIterator<Item = &'a EventBody> + use<'a> {
        self.0.iter().map(|event| &event.body)
    }

    fn turns(&self) -> u64 {
        self.bodies().filter(|body| matches!(body, EventBody::TurnStart(_))).count() as u64
    }

    /// Where the open turn starts.
    fn turn(&self) -> Option<usize> {
        let start = self.0.iter().rposition(|event| event.kind() == "turn/start")?;
        self.0[start..].iter().all(|event| event.kind() != "turn/end").then_some(start)
    }

    fn in_turn(&self, number: u64) -> bool {
        self.turn().is_some() && number == self.turns()
    }

    fn steps(&self) -> u64 {
        let turn = self.turn().unwrap_or(self.0.len());
        self.0[turn..].iter().filter(|event| event.kind() == "step/start").count() as u64
    }

    /// Where the open step starts.
    fn step(&self) -> Option<usize> {
        let turn = self.turn()?;
        let start = self.0.iter().rposition(|event| event.kind() == "step/start")?;
        let is_open = self.0[start..].iter().all(|event| event.kind() != "step/end");
        (is_open && start > turn).then_some(start)
    }

    fn in_step(&self, turn: u64, number: u64) -> bool {
        self.in_turn(turn) && self.step().is_some() && number == self.steps()
    }

    fn is_open_call(&self, seq: u64, id: &Str) -> bool {
        let n = usize::try_from(seq).unwrap();
        let is_call = matches!(&self.0[n].body, EventBody::ToolCall(call) if call.call_id == *id);
        let cites = |event: &Event| {
            event.source_event_seqs.as_deref().is_some_and(|seqs| seqs.contains(&seq))
        };
        is_call && self.step().is_some_and(|step| n > step) && !self.0.iter().any(cites)
    }

    /// The start of a sub-call of the open turn that is not settled.
    fn started(&self, id: &Str) -> Option<&'a CodeDispatchStart> {
        let turn = self.turn().unwrap_or(self.0.len());
        let last = self.0[turn..].iter().rev().find_map(|event| match &event.body {
            EventBody::CodeDispatchStart(start) if start.sub_call_id == *id => Some(Some(start)),
            EventBody::CodeDispatch(settled) if settled.sub_call_id == *id => Some(None),
            _ => None,
        });
        last.flatten()
    }

    fn is_unsettled(&self, body: &EventBody) -> bool {
        matches!(body, EventBody::CodeDispatchStart(start) if self.started(&start.sub_call_id).is_some())
    }

    fn root(&self, id: &Str) -> Option<&'a Str> {
        self.bodies().find_map(|body| match body {
            EventBody::CodeDispatchStart(start) if start.sub_call_id == *id => {
                Some(&start.root_call_id)
            }
            _ => None,
        })
    }

    fn owns(&self, root: &Str, parent: &Str, id: &Str) -> bool {
        self.turn().is_some()
            && [root, parent, id].iter().all(|id| !id.is_empty())
            && self.root(id).is_none_or(|first| first == root)
            && (parent == root || self.root(parent) == Some(root))
    }

    fn is_open_question(&self, id: &Str) -> bool {
        let last = self.bodies().rev().find_map(|body| match body {
            EventBody::ApprovalAsked(asked) if asked.id == *id => Some(true),
            EventBody::ApprovalDecided(decided) if decided.id == *id => Some(false),
            _ => None,
        });
        last == Some(true)
    }
}

fn is_valid(events: &[Event]) -> bool {
    (0..events.len()).all(|n| is_next(&events[..n], &events[n]))
}

/// One change of order or of an id.
#[derive(Clone, Debug)]
enum Mutation {
    Swap(Index, Index),
    Remove(Index),
    Repeat(Index, Index),
    Number(Index, u64),
    Turn(Index, u64),
    Id(Index, Index),
    Source(Index, u64),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    prop_oneof![
        (at(), at()).prop_map(|(a, b)| Mutation::Swap(a, b)),
        at().prop_map(Mutation::Remove),
        (at(), at()).prop_map(|(a, b)| Mutation::Repeat(a, b)),
        (at(), 0..40_u64).prop_map(|(a, seq)| Mutation::Number(a, seq)),
        (at(), 0..4_u64).prop_map(|(a, turn)| Mutation::Turn(a, turn)),
        (at(), at()).prop_map(|(a, id)| Mutation::Id(a, id)),
        (at(), 0..40_u64).prop_map(|(a, seq)| Mutation::Source(a, seq)),
    ]
}

fn mutate(mut events: Vec<Event>, mutation: &Mutation) -> Vec<Event> {
    let length = events.len();
    match mutation {
        Mutation::Swap(a, b) => events.swap(a.index(length), b.index(length)),
        Mutation::Remove(a) => drop(events.remove(a.index(length))),
        Mutation::Repeat(a, b) => {
            let event = events[a.index(length)].clone();
            events.insert(b.index(length), event);
        }
        Mutation::Number(a, seq) => {
            events[a.index(length)].seq = *seq;
            return events;
        }
        Mutation::Turn(a, number) => renumber(&mut events[a.index(length)].body, *number),
        Mutation::Id(a, id) => {
            let ids = ["a", "b", "c", "s1", "s2", "s3", ""];
            rename(&mut events[a.index(length)].body, ids[id.index(ids.len())]);
        }
        Mutation::Source(a, seq) => {
            let event = &mut events[a.index(length)];
            event.source_event_seqs = event.source_event_seqs.as_ref().map(|_| [*seq].into());
        }
    }
    for (seq, event) in (0..).zip(&mut events) {
        event.seq = seq;
    }
    events
}

fn renumber(body: &mut EventBody, number: u64) {
    match body {
        EventBody::TurnStart(start) => start.turn = number,
        EventBody::TurnEnd(end) => end.turn = number,
        EventBody::StepStart(start) => start.step = number,
        EventBody::StepEnd(end) => end.step = number,
        EventBody::ToolCall(call) => call.step = number,
        EventBody::ToolResult(result) => result.turn = number,
        _ => {}
    }
}

fn rename(body: &mut EventBody, id: &str) {
    match body {
        EventBody::ToolCall(call) => call.call_id = id.into(),
        EventBody::ToolResult(result) => result.message.call_id = id.into(),
        EventBody::CodeDispatchStart(start) => start.root_call_id = id.into(),
        EventBody::CodeDispatch(settled) => settled.parent_call_id = id.into(),
        EventBody::ApprovalAsked(ApprovalAsked { tool_name, .. }) => *tool_name = id.into(),
        EventBody::ApprovalDecided(ApprovalDecided { id: question, .. }) => *question = id.into(),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    // SESSION-13
    #[test]
    fn valid_logs_pass_and_every_change_that_breaks_a_rule_is_found(
        choices in proptest::collection::vec(any::<u8>(), 1..40),
        mutations in proptest::collection::vec(mutation(), 8),
    ) {
        let events = grow(&choices);
        LogChecker::check_all(&events).unwrap();
        for mutation in &mutations {
            let changed = mutate(events.clone(), mutation);
            let verdict = LogChecker::check_all(&changed);
            prop_assert_eq!(verdict.is_ok(), is_valid(&changed), "{:?}: {:?}\n{}", mutation, verdict, crate::logs::lines(&changed));
        }
    }

    // SESSION-15
    #[test]
    fn a_log_cut_anywhere_is_repaired_to_a_valid_one(choices in proptest::collection::vec(any::<u8>(), 0..40)) {
        let events = grow(&choices);
        for length in 0..=events.len() {
            let mut cut = events[..length].to_vec();
            cut.extend(callgate_session::repair(&cut));
            LogChecker::check_all(&cut).unwrap();
            prop_assert!(callgate_session::repair(&cut).is_empty());
        }
    }
}
