use callgate_session::{
    Event, LogChecker, Session, SessionHeader, StepEnd, StepStart, ToolCall, TurnStart,
};

#[test]
fn a_stored_log_opens_with_its_turn_closed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b/s.jsonl");
    let session = Session::create(&path, SessionHeader::new("s-1", 0)).unwrap();
    session.add_check(LogChecker::new()).unwrap();
    session.append(TurnStart { turn: 1 }).unwrap();
    session.append(StepStart { turn: 1, step: 1 }).unwrap();
    session
        .append(ToolCall {
            turn: 1,
            step: 1,
            call_id: "c".into(),
            name: "read".into(),
            arguments: "{}".into(),
        })
        .unwrap();
    session.append(StepEnd { turn: 1, step: 2 }).unwrap_err();
    drop(session);
    let session = Session::open(&path).unwrap();
    session.add_check(LogChecker::new()).unwrap();
    let lines: Vec<String> = session.events().iter().map(Event::to_string).collect();
    eprintln!("{}", std::fs::read_to_string(&path).unwrap());
    assert_eq!(lines.len(), 6);
}
