//! Appending, checks, observers, seeds, forks, repair.

use std::ops::RangeInclusive;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};
use std::thread;

use callgate_schema::json;
use callgate_session::{
    AppendError, ApprovalMode, ApprovalPolicy, Check, Draft, EndSeed, Event, EventBody, LogChecker,
    NOT_STARTED, OUTCOME_UNKNOWN, Position, Session, SessionErrorKind, SurfaceOp, TurnStart,
    Violation, repair,
};

use crate::logs::{
    answer, asked, call, failed, header, lines, log, options, other, result, sample, session,
    step_end, step_start, sub_end, sub_start, turn_end, turn_start, user,
};

/// Runs a closure as a check.
struct Judge<F>(F);

impl<F: FnMut(&Event) -> Result<(), Violation> + Send + 'static> Check for Judge<F> {
    fn check(&mut self, event: &Event) -> Result<(), Violation> {
        (self.0)(event)
    }
}

#[test]
fn an_append_returns_the_event_with_its_number_and_time() {
    // SESSION-1
    let session = session();
    let first = session.append(TurnStart { turn: 1 }).unwrap();
    let second = session.append(user("hello")).unwrap();
    assert_eq!((first.seq, first.time, first.surface_op), (0, 5_000, None));
    assert_eq!((second.seq, second.time, second.surface_op), (1, 5_000, Some(SurfaceOp::Append)));
    assert_eq!(session.events(), [first, second.clone()]);
    assert_eq!(session.events_from(1), [second]);
    assert_eq!(session.events_from(9), []);
    assert_eq!(session.len(), 2);
}

#[test]
fn a_check_that_refuses_or_panics_leaves_the_log_and_all_other_checks_as_they_were() {
    // SESSION-2
    // SESSION-13
    let session = session();
    session.add_check(LogChecker::new()).unwrap();
    let verdicts = Arc::new(Mutex::new(vec!["refuse", "panic"]));
    let judge = move |event: &Event| {
        let verdict = verdicts.lock().unwrap().pop();
        match verdict {
            Some("refuse") => Err(Violation::new("judge", event.seq, "not today")),
            Some(_) => resume_unwind(Box::new("a bug")),
            None => Ok(()),
        }
    };
    session.add_check(Judge(judge)).unwrap();
    let seen = Arc::new(Mutex::new(0));
    let count = seen.clone();
    session.observe(move |_| *count.lock().unwrap() += 1);

    assert!(matches!(session.append(turn_start(1)), Err(AppendError::CheckPanicked)));
    let refused = session.append(turn_start(1)).unwrap_err();
    assert_eq!(refused.to_string(), "event 0 breaks an invariant of judge: not today");
    assert_eq!((refused.code(), session.len(), *seen.lock().unwrap()), ("INVARIANT", 0, 0));
    // The log checker, asked first both times, has not taken the turn over.
    session.append(turn_start(1)).unwrap();
    assert_eq!(*seen.lock().unwrap(), 1);
}

#[test]
fn an_observer_that_panics_neither_undoes_the_event_nor_starves_the_others() {
    // SESSION-2
    let session = session();
    let seen = Arc::new(Mutex::new(Vec::new()));
    session.observe(|_| resume_unwind(Box::new("a bug")));
    let (log, other) = (seen.clone(), session.clone());
    let observation =
        session.observe(move |event| log.lock().unwrap().push((event.seq, other.len())));
    session.append(turn_start(1)).unwrap();
    session.append(turn_end(1)).unwrap();
    // Each was in the log when its observers heard of it.
    assert_eq!(*seen.lock().unwrap(), [(0, 1), (1, 2)]);
    observation.dispose();
    observation.dispose();
    session.append(turn_start(2)).unwrap();
    assert_eq!(seen.lock().unwrap().len(), 2);
}

#[test]
fn appending_from_inside_a_check_or_an_observer_of_the_same_log_is_refused() {
    // SESSION-2
    let (session, elsewhere) = (session(), session_named("s-2"));
    let errors = Arc::new(Mutex::new(Vec::new()));
    let attempt = |place: &'static str| {
        let (session, elsewhere, errors) = (session.clone(), elsewhere.clone(), errors.clone());
        move || {
            let attempts = [
                session.append(turn_start(2)).map(drop),
                session.add_check(LogChecker::new()),
                session.flush(),
                session.close(),
                elsewhere.append(other("vendor/seen", json!(place))).map(drop),
            ];
            errors
                .lock()
                .unwrap()
                .push((place, attempts.map(|done| done.err().map(|error| error.code()))));
        }
    };
    let (in_check, in_observer) = (attempt("check"), attempt("observer"));
    session
        .add_check(Judge(move |_: &Event| {
            in_check();
            Ok(())
        }))
        .unwrap();
    session.observe(move |_| in_observer());
    session.append(turn_start(1)).unwrap();
    let inside = Some("REENTRANT_APPEND");
    let refused = [inside, inside, inside, inside, None];
    assert_eq!(*errors.lock().unwrap(), [("check", refused), ("observer", refused)]);
    assert_eq!((session.len(), elsewhere.len()), (1, 2));
}

fn session_named(id: &str) -> Session {
    options().in_memory(header(id))
}

#[test]
fn appends_of_many_threads_have_one_order_that_observers_see_too() {
    let session = session();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    session.observe(move |event| log.lock().unwrap().push(event.clone()));
    thread::scope(|scope| {
        for worker in 0..4 {
            let session = &session;
            scope.spawn(move || {
                for _ in 0..100 {
                    session.append(other("vendor/tick", json!(worker))).unwrap();
                }
            });
        }
    });
    let events = session.events();
    assert_eq!(*seen.lock().unwrap(), events);
    LogChecker::check_all(&events).unwrap();
    assert_eq!(events.len(), 400);
}

#[test]
fn a_check_judges_what_is_already_in_the_log() {
    // SESSION-13
    let session = session();
    session.append(turn_start(1)).unwrap();
    session.append(turn_start(2)).unwrap();
    let refused = session.add_check(LogChecker::new()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "event 1 breaks an invariant of callgate-session: turn 1 is still open"
    );
    // It was not installed.
    session.append(turn_start(3)).unwrap();
}

#[test]
fn surface_operations_and_sources_must_fit_the_log() {
    // SESSION-6
    let check = |draft: Draft, expected: &str| {
        let session = session();
        session.append(user("zero")).unwrap();
        session.append(turn_start(1)).unwrap();
        session.append(user("two")).unwrap();
        let result = session.append(draft).map(|_| "ok".to_owned());
        let problem = result.unwrap_or_else(|error| match error {
            AppendError::Invalid(violation) => violation.problem().to_owned(),
            error => error.to_string(),
        });
        assert_eq!(problem, expected);
    };
    let bare = |draft: Draft| {
        let mut bare = draft;
        bare.surface_op = None;
        bare
    };
    check(bare(user("x")), "`user/message` must carry a `surfaceOp`");
    check(bare(answer(1, "x", &[])), "`assistant/message` must carry a `surfaceOp`");
    check(bare(result(1, "c", 1)), "`tool/result` must carry a `surfaceOp`");
    check(turn_end(1).replacing(0..=0), "`turn/end` must not carry a `surfaceOp`");
    check(other("vendor/x", json!(1)).replacing(0..=0), "`vendor/x` must not carry a `surfaceOp`");
    check(user("x").replacing(0..=2), "ok");
    check(user("x").replacing(2..=2), "ok");
    check(
        user("x").replacing(RangeInclusive::new(2, 0)),
        "`surfaceOp` replaces 2 to 0, which is no range of the surface",
    );
    check(
        user("x").replacing(0..=1),
        "`surfaceOp` replaces 0 to 1, which is no range of the surface",
    );
    check(
        user("x").replacing(0..=3),
        "`surfaceOp` replaces 0 to 3, which is no range of the surface",
    );
    check(turn_end(1).citing([1, 0]), "ok");
    check(turn_end(1).citing([]), "`sourceEventSeqs` must not be empty");
    check(answer(1, "x", &[]).citing([]), "ok");
    check(turn_end(1).citing([3]), "`sourceEventSeqs` names 3, which is not an earlier event");
    check(turn_end(1).citing([2, 0, 2]), "`sourceEventSeqs` names 2 twice");
}

#[test]
fn a_session_knows_what_is_open_and_which_approval_policy_holds() {
    // POLICY-16
    let session = session();
    let position = |turns, turn, step| {
        let mut position = Position::default();
        (position.turns, position.turn, position.step) = (turns, turn, step);
        position
    };
    assert_eq!((session.position(), session.approval_policy()), (position(0, None, None), None));
    session.append(ApprovalPolicy { policy: ApprovalMode::Never, source: None }).unwrap();
    session.append(turn_start(1)).unwrap();
    session.append(step_start(1, 1)).unwrap();
    assert_eq!(session.position(), position(1, Some(1), Some(1)));
    assert_eq!(session.approval_policy(), Some(ApprovalMode::Never));
    session.append(step_end(1, 1)).unwrap();
    session.append(ApprovalPolicy { policy: ApprovalMode::Ask, source: None }).unwrap();
    assert_eq!(session.position(), position(1, Some(1), None));
    assert_eq!(session.approval_policy(), Some(ApprovalMode::Ask));
    session.append(turn_end(1)).unwrap();
    assert_eq!(session.position(), position(1, None, None));
}

#[test]
fn a_seed_gets_one_end_mark_and_its_length_into_the_header() {
    // SESSION-16
    let seed = log([turn_start(1), turn_end(1)]);
    let session = options().from_events(header("s-2"), seed.clone()).unwrap();
    assert_eq!(session.header().seed_length, Some(2));
    let events = session.events();
    assert_eq!(events[..2], seed);
    assert_eq!(events[2], Event::new(2, 5_000, EndSeed));

    let again = options().from_events(header("s-3"), events.clone()).unwrap();
    assert_eq!((again.events(), again.header().seed_length), (events, Some(3)));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let stored = options().create_from_events(&path, header("s-4"), seed).unwrap();
    assert_eq!(stored.events(), again.events());
    drop(stored);
    let text = std::fs::read_to_string(&path).unwrap();
    insta::assert_snapshot!(text, @r#"
    {"type":"session","version":0,"id":"s-4","createdAt":1000,"seedLength":2}
    {"type":"turn/start","seq":0,"time":1000,"data":{"turn":1}}
    {"type":"turn/end","seq":1,"time":1001,"data":{"turn":1,"reason":{"kind":"completed"}}}
    {"type":"session/end-seed","seq":2,"time":5000,"data":{}}
    "#);
}

#[test]
fn events_that_are_no_log_are_no_seed_and_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let gap = &log([turn_start(1), turn_end(1)])[1..];
    let error = options().create_from_events(&path, header("s-2"), gap.to_vec()).unwrap_err();
    assert_eq!((error.kind(), path.exists()), (SessionErrorKind::Invalid, false));
    assert_eq!(
        Session::from_events(header("s-2"), gap.to_vec()).unwrap_err().kind(),
        SessionErrorKind::Invalid
    );
}

#[test]
fn a_log_can_be_forked_between_its_turns_only() {
    // SESSION-16
    let seed = log([turn_start(1), step_start(1, 1), step_end(1, 1), turn_end(1), turn_start(2)]);
    let session = session();
    for event in &seed {
        session.append(event.body.clone()).unwrap();
    }
    let code = |boundary| match session.fork(boundary, header("fork")) {
        Ok(_) => "ok",
        Err(error) => error.code(),
    };
    let codes: Vec<&str> = (0..=6).map(code).collect();
    assert_eq!(
        codes,
        ["ok", "OPEN_TURN", "OPEN_TURN", "OPEN_TURN", "ok", "OPEN_TURN", "INVALID_BOUNDARY"]
    );

    let fork = session.fork(4, header("fork")).unwrap();
    assert_eq!(fork.events()[..4], session.events()[..4]);
    assert_eq!(fork.events()[4].kind(), "session/end-seed");
    assert_eq!(
        (fork.header().parent_session.as_deref(), fork.header().seed_length),
        (Some("s-1"), Some(4))
    );
    assert_eq!(fork.append(turn_start(2)).unwrap().seq, 5);
    assert_eq!(session.len(), 5);
}

/// What repair adds to a log, one line an event, without its number and time.
fn added(drafts: impl IntoIterator<Item = Draft>) -> String {
    let events = log(drafts);
    let added = repair(&events);
    assert_eq!(added, repair(&events));
    let last = events.last().map_or(0, |event| event.time);
    let mut whole = events.clone();
    for event in &added {
        assert_eq!((event.seq, event.time), (whole.len() as u64, last));
        whole.push(event.clone());
    }
    if LogChecker::check_all(&events).is_ok() {
        LogChecker::check_all(&whole).unwrap();
    }
    assert_eq!(repair(&whole), []);
    lines(&added)
}

#[test]
fn repair_answers_open_calls_in_the_order_of_their_requests_and_closes_step_and_turn() {
    // SESSION-15
    // LOOP-18
    let text = added([
        turn_start(1),
        step_start(1, 1),
        user("go"),
        answer(1, "", &["a", "b", "c", "d"]),
        call(1, "a"),
        result(1, "a", 4),
        call(1, "b"),
        sub_start("b", "b", "b:code:1"),
        call(1, "c"),
    ]);
    insta::assert_snapshot!(text);
    assert!(text.contains(NOT_STARTED) && text.contains(OUTCOME_UNKNOWN));
}

#[test]
fn repair_answers_the_calls_of_a_gateway_which_no_model_requested() {
    // LOOP-18
    let text =
        added([turn_start(1), step_start(1, 1), call(1, "b"), call(1, "a"), result(1, "a", 3)]);
    insta::assert_snapshot!(text);
}

#[test]
fn repair_tells_calls_of_one_id_apart_by_what_their_results_cite() {
    // SESSION-15
    let events = log([
        turn_start(1),
        step_start(1, 1),
        answer(1, "", &["a", "a", "b", "a"]),
        call(1, "a"),
        call(1, "a"),
        result(1, "a", 4),
        failed(1, "b", NOT_STARTED).into(),
    ]);
    LogChecker::check_all(&events).unwrap();
    let kinds = repair(&events).into_iter().map(|event| match event.body {
        EventBody::ToolResult(result) => {
            (result.error.unwrap().code.to_string(), event.source_event_seqs)
        }
        body => (body.kind().to_owned(), None),
    });
    let expected = [
        (OUTCOME_UNKNOWN, Some([3].into())),
        (NOT_STARTED, None),
        ("step/end", None),
        ("turn/end", None),
    ];
    let expected = expected.map(|(code, cited)| (code.to_owned(), cited));
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
}

#[test]
fn repair_adds_no_more_than_what_is_open() {
    // SESSION-15
    let end = r#"{"kind":"interrupted"}"#;
    assert_eq!(added([]), "");
    assert_eq!(added([turn_start(1), turn_end(1)]), "");
    let sample: Vec<Draft> = sample().into_iter().map(|event| Draft::new(event.body)).collect();
    assert_eq!(added(sample), "");
    assert_eq!(
        added([turn_start(1)]),
        format!(
            "{{\"type\":\"turn/end\",\"seq\":1,\"time\":1000,\"data\":{{\"turn\":1,\"reason\":{end}}}}}\n"
        )
    );
    // After the end of the step no results are invented any more.
    assert_eq!(
        added([
            turn_start(1),
            step_start(1, 1),
            answer(1, "", &["a"]),
            call(1, "a"),
            step_end(1, 1)
        ]),
        format!(
            "{{\"type\":\"turn/end\",\"seq\":5,\"time\":1004,\"data\":{{\"turn\":1,\"reason\":{end}}}}}\n"
        )
    );
}

#[test]
fn repair_and_position_survive_absurd_numbers() {
    let absurd = Event::new(u64::MAX, u64::MAX, TurnStart { turn: u64::MAX });
    let added = repair(&[absurd]);
    assert_eq!((added.len(), added[0].seq, added[0].time), (1, u64::MAX, u64::MAX));
    let session = session();
    session.append(turn_start(u64::MAX)).unwrap();
    assert_eq!((session.position().turns, session.position().turn), (1, Some(u64::MAX)));
}

#[test]
fn a_start_of_a_sub_call_without_its_end_is_accepted_in_a_log_that_was_cut_off() {
    // SESSION-15
    let mut events =
        log([turn_start(1), step_start(1, 1), call(1, "c"), sub_start("c", "c", "c:code:1")]);
    events.extend(repair(&events));
    LogChecker::check_all(&events).unwrap();
    assert_eq!(events.iter().filter(|event| event.kind() == "tool/code-dispatch").count(), 0);
    // It is not waited for in later turns.
    let mut next = log([turn_start(2), sub_end("c", "c", "c:code:1")]);
    for event in &mut next {
        event.seq += events.len() as u64;
    }
    events.push(next.remove(0));
    LogChecker::check_all(&events).unwrap();
    events.push(next.remove(0));
    LogChecker::check_all(&events).unwrap_err();
}

#[test]
fn an_open_question_survives_a_crash_and_may_still_be_answered() {
    // INV-14
    let events = log([turn_start(1), asked("q")]);
    let session = options().from_events(header("s-2"), events).unwrap();
    session.add_check(LogChecker::new()).unwrap();
    session.append(crate::logs::decided("q")).unwrap_err();
    session.append(turn_start(2)).unwrap();
    session.append(crate::logs::decided("q")).unwrap();
    session.append(crate::logs::decided("q")).unwrap_err();
}
