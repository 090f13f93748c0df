//! The stored form: files, headers, torn tails, reading.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use callgate_schema::{Json, json};
use callgate_session::{
    AppendError, Content, Durability, Event, LogChecker, LogReader, Session, SessionErrorKind,
    SessionHeader, SessionOptions, Source, UserMessage, repair,
};
use proptest::prelude::*;

use crate::logs::{
    call, header, lines, log, options, other, result, sample, step_end, step_start, sub_end,
    sub_start, turn_end, turn_start, user,
};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file with that text.
    fn file(&self, text: &str) -> PathBuf {
        let path = self.path("s.jsonl");
        fs::write(&path, text).unwrap();
        path
    }

    fn names(&self) -> Vec<String> {
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<String> =
            fs::read_dir(self.0.path()).unwrap().map(|entry| name(entry.unwrap())).collect();
        names.sort();
        names
    }
}

fn stored(events: &[Event]) -> String {
    format!("{}\n{}", header("s-1"), lines(events))
}

#[test]
fn a_log_file_is_a_header_and_one_line_per_event() {
    // SESSION-17
    let folder = Folder::new();
    let path = folder.path("a/b/s.jsonl");
    let header = SessionHeader::new("s-1", 1_000)
        .with_cwd("/srv/project")
        .with_parent_session("s-0")
        .with_origin("gateway")
        .with_delegation_depth(1)
        .with_preset("read-only");
    let session = options().create(&path, header).unwrap();
    session.append(turn_start(1)).unwrap();
    session.append(user("hello")).unwrap();
    session.append(turn_end(1)).unwrap();
    insta::assert_snapshot!(fs::read_to_string(&path).unwrap(), @r#"
    {"type":"session","version":0,"id":"s-1","createdAt":1000,"cwd":"/srv/project","parentSession":"s-0","origin":"gateway","delegationDepth":1,"preset":"read-only"}
    {"type":"turn/start","seq":0,"time":5000,"data":{"turn":1}}
    {"type":"user/message","seq":1,"time":5000,"data":{"role":"user","source":{"kind":"user"},"content":[{"type":"text","text":"hello"}]},"surfaceOp":"append"}
    {"type":"turn/end","seq":2,"time":5000,"data":{"turn":1,"reason":{"kind":"completed"}}}
    "#);
}

#[test]
fn every_type_of_event_has_one_line_that_reads_back_as_it_was() {
    // SESSION-1
    // SESSION-3
    let events = sample();
    insta::assert_snapshot!(lines(&events));
    for event in &events {
        let line = event.to_string();
        let read = Event::from_json(&Json::parse(&line).unwrap()).unwrap();
        assert_eq!((&read, read.to_string()), (event, line));
    }
}

#[test]
fn a_log_goes_on_where_it_was_left() {
    let folder = Folder::new();
    let path = folder.file(&stored(&sample()));
    let session = options().open(&path).unwrap();
    assert_eq!(session.events(), sample());
    assert_eq!(session.recovery(), &callgate_session::Recovery::default());
    session.add_check(LogChecker::new()).unwrap();
    let next = session.append(turn_start(3)).unwrap();
    assert_eq!(next.seq, sample().len() as u64);
    drop(session);
    let mut expected = sample();
    expected.push(next);
    assert_eq!(fs::read_to_string(&path).unwrap(), stored(&expected));
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_a_log() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let path = folder.path("new/s.jsonl");
    drop(Session::create(&path, header("s-1")).unwrap());
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"torn").unwrap();
    drop(Session::open(&path).unwrap());
    let mode = |name: &str| fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    let torn = format!("new/s.jsonl.torn-{}", header("s-1").to_string().len() + 1);
    assert_eq!((mode("new"), mode("new/s.jsonl"), mode(&torn)), (0o700, 0o600, 0o600));
}

#[test]
fn a_log_that_exists_is_not_overwritten_and_one_that_does_not_is_not_opened() {
    // SESSION-16
    let folder = Folder::new();
    let path = folder.file("precious");
    let error = Session::create(&path, header("s-1")).unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (SessionErrorKind::AlreadyExists, "SESSION_ALREADY_EXISTS")
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    let error = Session::open(folder.path("nowhere.jsonl")).unwrap_err();
    assert_eq!((error.kind(), error.code()), (SessionErrorKind::NotFound, "SESSION_NOT_FOUND"));
}

#[cfg(unix)]
#[test]
fn what_is_not_a_file_is_no_log_and_is_not_waited_for() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(Session::open(&pipe).unwrap_err().kind(), SessionErrorKind::Unreadable);
    assert_eq!(Session::open(folder.path("")).unwrap_err().kind(), SessionErrorKind::Io);
}

#[test]
fn one_session_at_a_time_writes_to_a_file() {
    let folder = Folder::new();
    let path = folder.path("s.jsonl");
    let session = Session::create(&path, header("s-1")).unwrap();
    assert_eq!(Session::open(&path).unwrap_err().kind(), SessionErrorKind::InUse);
    session.close().unwrap();
    Session::open(&path).unwrap();
}

#[test]
fn a_closed_session_takes_no_events() {
    // SESSION-16
    let session = Session::in_memory(header("s-1"));
    session.close().unwrap();
    session.close().unwrap();
    let error = session.append(turn_start(1)).unwrap_err();
    assert_eq!((error.code(), session.len()), ("SESSION_NOT_LIVE", 0));
    assert_eq!(session.fork(0, header("s-2")).unwrap_err().code(), "SESSION_NOT_LIVE");
}

#[test]
fn logs_that_are_not_understood_whole_are_refused_and_left_as_they_were() {
    let head = header("s-1").to_string();
    let turn = r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}"#;
    let cases = [
        // SESSION-17
        ("", "line 1: the log ends inside its header, so it holds no event"),
        (r#"{"type":"sess"#, "line 1: the log ends inside its header, so it holds no event"),
        (
            r#"{"type":"session","version":1,"id":"s","createdAt":1,"new":true}"#,
            "line 1: `version` is 1, but this version of callgate reads logs of version 0 only",
        ),
        (r#"{"type":"session","id":"s","createdAt":1}"#, "line 1: `version` is missing"),
        (
            r#"{"type":"turn/start"}"#,
            "line 1: is not the header of a session log (`{\"type\":\"session\",…}`)",
        ),
        (
            r#"{"type":"session","version":0,"id":"s","createdAt":1,"cwd":"src"}"#,
            "line 1: `cwd` must be an absolute path, not `src`",
        ),
        (
            r#"{"type":"session","version":0,"id":"s","createdAt":1,"colour":"red"}"#,
            "line 1: `colour` is not a known member; the log may come from a newer version of callgate",
        ),
        // SESSION-5
        (
            &format!("{head}\n{}", r#"{"type":"turn/pause","seq":0,"time":1,"data":{}}"#),
            "line 2: `type` is `turn/pause`, which this version of callgate does not know, and the event is not marked as ignorable",
        ),
        (
            &format!(
                "{head}\n{}",
                r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1,"mood":"good"}}"#
            ),
            "line 2: `data.mood` is not a known member; the log may come from a newer version of callgate",
        ),
        (
            &format!("{head}\n{}", r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":-1}}"#),
            "line 2: `data.turn` must be a whole number of at least 0",
        ),
        (
            &format!("{head}\n{}", r#"{"type":"turn/start","seq":0,"data":{"turn":1}}"#),
            "line 2: `time` is missing",
        ),
        // SESSION-1
        (
            &format!("{head}\n{}", r#"{"type":"turn/start","seq":1,"time":1,"data":{"turn":1}}"#),
            "line 2: `seq` must be 0, not 1",
        ),
        // A line in the middle is damaged, so nothing behind it is cut off.
        (&format!("{head}\n{{\"type\"\n{turn}\n"), "line 2, column "),
        (&format!("{head}\n\n{turn}\n"), ""),
        // The last line is whole JSON that cannot be kept: it was not torn.
        (
            &format!("{head}\n{}\n", r#"{"type":"x","seq":0,"time":1,"data":-0,"ignorable":true}"#),
            "line 2, column ",
        ),
    ];
    for (text, expected) in cases {
        let folder = Folder::new();
        let path = folder.file(text);
        let error = Session::open(&path).unwrap_err();
        assert_eq!(error.kind(), SessionErrorKind::Unreadable, "{text}");
        let message = error.to_string();
        let (_, problem) = message.split_once("`: ").unwrap();
        // What the parser says is the parser's business.
        let problem = if problem.contains("column") { &problem[..expected.len()] } else { problem };
        assert_eq!(problem, expected, "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(folder.names(), ["s.jsonl"]);
    }
}

#[test]
fn words_outside_of_their_vocabulary_are_refused() {
    let check = |kind: &str, data: Json, expected: &str| {
        let event = json!({ "type": kind, "seq": 0, "time": 1, "data": data });
        assert_eq!(Event::from_json(&event).unwrap_err().to_string(), expected);
    };
    // SESSION-4
    check(
        "turn/end",
        json!({ "turn": 1, "reason": { "kind": "bored" } }),
        "`data.reason.kind` is no known reason of a turn's end: `bored`",
    );
    check(
        "turn/end",
        json!({ "turn": 1, "reason": { "kind": "aborted", "cause": { "kind": "cat" } } }),
        "`data.reason.cause.kind` is no known cause of an abort: `cat`",
    );
    check(
        "turn/end",
        json!({ "turn": 1, "reason": { "kind": "error", "error": { "message": "m" } } }),
        "`data.reason.error.code` is missing",
    );
    // SESSION-3
    check(
        "request/header",
        json!({ "header": {}, "reason": "again" }),
        "`data.reason` must be one of `initial`, `resume`, `change`",
    );
    // INV-14
    check(
        "approval/decided",
        json!({ "id": "q", "outcome": "allowed-always" }),
        "`data.outcome` must be one of `allowed-once`, `rejected`, `cancelled`, `unavailable`",
    );
    check(
        "approval/policy",
        json!({ "policy": "sometimes" }),
        "`data.policy` must be one of `ask`, `never`",
    );
}

#[test]
fn the_reasons_of_a_turns_end_have_fixed_words() {
    // SESSION-4
    let reasons = [
        json!({ "kind": "completed" }),
        json!({ "kind": "blocked" }),
        json!({ "kind": "max-tokens" }),
        json!({ "kind": "interrupted" }),
        json!({ "kind": "error", "error": { "message": "no disk", "code": "UNKNOWN" } }),
        json!({ "kind": "aborted", "cause": { "kind": "user" } }),
        json!({ "kind": "aborted", "cause": { "kind": "parent" } }),
        json!({ "kind": "aborted", "cause": { "kind": "hook", "text": "enough" } }),
        json!({ "kind": "aborted", "cause": { "kind": "disposed" } }),
        json!({ "kind": "aborted", "cause": { "kind": "legacy" } }),
    ];
    for reason in reasons {
        let line = json!({ "type": "turn/end", "seq": 0, "time": 1, "data": { "turn": 1, "reason": reason } });
        assert_eq!(Event::from_json(&line).unwrap().to_string(), line.to_string());
    }
}

#[test]
fn an_ignorable_event_of_an_unknown_type_is_kept_verbatim() {
    // SESSION-5
    let folder = Folder::new();
    let line = r#"{"type":"turn/pause","seq":0,"time":1,"data":{"b":[1.5,{"c":null}],"a":"ü"},"ignorable":true}"#;
    let path = folder.file(&format!("{}\n{line}\n", header("s-1")));
    let session = Session::open(&path).unwrap();
    assert_eq!(session.events()[0].to_string(), line);
}

#[test]
fn an_unknown_type_can_only_be_appended_as_ignorable_and_a_known_one_only_as_itself() {
    let session = Session::in_memory(header("s-1"));
    let mut grave = other("vendor/x", json!({}));
    grave.ignorable = false;
    session.append(grave).unwrap_err();
    session.append(other("turn/start", json!({ "turn": "one" }))).unwrap_err();
    assert!(session.append(other("vendor/x", json!({}))).unwrap().ignorable);
}

#[test]
fn a_torn_tail_is_cut_off_at_any_byte_and_every_complete_event_stays() {
    let events = log([
        turn_start(1),
        step_start(1, 1),
        call(1, "c1"),
        sub_start("c1", "c1", "c1:code:1"),
        sub_end("c1", "c1", "c1:code:1"),
        user("schön ⟶ \u{1F600}"),
        result(1, "c1", 2),
        step_end(1, 1),
        turn_end(1),
    ]);
    let text = stored(&events);
    let first = header("s-1").to_string().len();
    let mut ends = vec![first];
    for event in &events {
        ends.push(ends[ends.len() - 1] + 1 + event.to_string().len());
    }
    let folder = Folder::new();
    for length in first..=text.len() {
        let path = folder.path(&format!("s-{length}.jsonl"));
        fs::write(&path, &text.as_bytes()[..length]).unwrap();
        let complete = ends.iter().filter(|end| **end <= length).count() - 1;
        let intact = ends[complete] + 1;

        let session = options().open(&path).unwrap();
        let mut expected = events[..complete].to_vec();
        let added = repair(&expected);
        assert_eq!(session.recovery().added_events, added.len());
        expected.extend(added);
        assert_eq!(session.events(), expected, "torn at byte {length}");
        LogChecker::check_all(&expected).unwrap();

        match &session.recovery().torn {
            None => assert!(length <= intact),
            Some(torn) => {
                assert_eq!((torn.offset, torn.length), (intact as u64, (length - intact) as u64));
                assert_eq!(fs::read(&torn.saved_to).unwrap(), &text.as_bytes()[intact..length]);
            }
        }
        drop(session);
        assert_eq!(fs::read_to_string(&path).unwrap(), stored(&expected));
    }
}

#[test]
fn a_last_line_that_is_not_json_is_cut_off_even_with_its_line_break() {
    let folder = Folder::new();
    let intact = stored(&log([turn_start(1), turn_end(1)]));
    let path = folder.file(&format!("{intact}\0\0\0\0\n"));
    fs::write(folder.path(&format!("s.jsonl.torn-{}", intact.len())), "an older one").unwrap();
    let session = Session::open(&path).unwrap();
    let torn = session.recovery().torn.clone().unwrap();
    assert_eq!((torn.offset, torn.length), (intact.len() as u64, 5));
    assert_eq!(torn.saved_to, folder.path(&format!("s.jsonl.torn-{}-1", intact.len())));
    assert_eq!(fs::read(&torn.saved_to).unwrap(), b"\0\0\0\0\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), intact);
}

#[test]
fn values_of_five_thousand_levels_are_logged_and_read_back_intact() {
    // BRIDGE-31
    let nested = |levels: usize| {
        Json::parse(&format!("{}{}", "[".repeat(levels), "]".repeat(levels))).unwrap()
    };
    let folder = Folder::new();
    let path = folder.path("s.jsonl");
    let session = options().create(&path, header("s-1")).unwrap();
    let block = Content::from_json(&json!({ "type": "tree", "tree": nested(4_999) }));
    let message = UserMessage::new(Source::User, [block]);
    session.append(message).unwrap();
    session.append(other("vendor/tree", nested(5_000))).unwrap();
    let events = session.events();
    drop(session);
    assert_eq!(Session::open(&path).unwrap().events(), events);
}

#[test]
fn a_value_that_no_reader_would_accept_is_refused_before_it_is_written() {
    // SESSION-2
    let mut deep = Json::Null;
    for _ in 0..100_000 {
        deep = json!([deep]);
    }
    let folder = Folder::new();
    let path = folder.path("s.jsonl");
    let session = options().create(&path, header("s-1")).unwrap();
    let error = session.append(other("vendor/tree", deep)).unwrap_err();
    assert!(matches!(error, AppendError::TooDeep));
    // Brackets in a string do not count, wherever it ends.
    let text = format!("\"{}\\\"{}", "[".repeat(10_000), "{".repeat(10_000));
    session.append(other("vendor/text", json!(text))).unwrap();
    assert_eq!(session.len(), 1);
    drop(session);
    assert_eq!(Session::open(&path).unwrap().len(), 1);
}

#[test]
fn a_session_can_keep_the_newest_events_only_and_the_file_has_the_rest() {
    let folder = Folder::new();
    let path = folder.file(&stored(&sample()));
    let count = sample().len() as u64;
    let lines: Vec<usize> = sample().iter().map(|event| event.to_string().len() + 1).collect();
    let last_two = lines[lines.len() - 2..].iter().sum();
    let session = options().keep_bytes(last_two).open(&path).unwrap();
    assert_eq!(session.len(), count);
    assert_eq!(session.events(), sample()[sample().len() - 2..]);
    assert_eq!(session.events_from(count - 1), sample()[sample().len() - 1..]);
    assert_eq!(session.position().turns, 2);

    session.append(other("vendor/big", json!("x".repeat(10_000)))).unwrap();
    assert_eq!(session.events().len(), 1);
    assert_eq!(session.prefix(count).unwrap(), sample());
    session.add_check(LogChecker::new()).unwrap();
    let error = session.append(turn_start(2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "event {} breaks an invariant of callgate-session: the next turn is 3, not 2",
            count + 1
        )
    );
    session.append(turn_start(3)).unwrap();
}

#[test]
fn a_session_in_memory_keeps_everything() {
    let session = options().keep_bytes(1).from_events(header("s-1"), sample()).unwrap();
    assert_eq!(session.events()[..sample().len()], sample());
}

#[test]
fn an_opened_log_with_an_open_turn_is_repaired_whatever_is_kept_in_memory() {
    let folder = Folder::new();
    let events = log([turn_start(1), step_start(1, 1), call(1, "c1"), user("x")]);
    let path = folder.file(&stored(&events));
    let session = options().keep_bytes(1).open(&path).unwrap();
    drop(session);
    let mut expected = events.clone();
    expected.extend(repair(&events));
    assert_eq!(fs::read_to_string(&path).unwrap(), stored(&expected));
}

#[test]
fn a_refused_event_is_not_in_the_file() {
    // SESSION-2
    let folder = Folder::new();
    let path = folder.path("s.jsonl");
    let session =
        SessionOptions::new().durability(Durability::Fsync).create(&path, header("s-1")).unwrap();
    session.append(turn_start(1)).unwrap();
    session.flush().unwrap();
    session.append(turn_start(2).citing([7])).unwrap_err();
    assert_eq!(session.len(), 1);
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
}

/// The name of a variable that tells [`the_disk_is_full`] where to write.
#[cfg(target_os = "linux")]
const FULL_DISK: &str = "CALLGATE_TEST_FULL_DISK";

/// Runs [`the_disk_is_full`] in a process whose files may not grow beyond a few kilobytes.
#[cfg(target_os = "linux")]
#[test]
fn an_event_that_does_not_fit_on_the_disk_leaves_the_log_as_it_was() {
    // SESSION-2
    let folder = Folder::new();
    let path = folder.path("s.jsonl");
    let child = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "stored::the_disk_is_full"])
        .env(FULL_DISK, &path)
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    let session = Session::open(&path).unwrap();
    assert_eq!(session.recovery(), &callgate_session::Recovery::default());
    assert_eq!(session.events().last().unwrap().body, other("vendor/small", json!(1)).body);
}

/// The other half of the test above; by itself it does nothing.
#[cfg(target_os = "linux")]
#[test]
fn the_disk_is_full() {
    let Some(path) = std::env::var_os(FULL_DISK) else { return };
    let session = options().create(&path, header("s-1")).unwrap();
    let big = || other("vendor/big", json!("x".repeat(1_500)));
    let error = (0..100).find_map(|_| session.append(big()).err()).unwrap();
    assert!(matches!(error, AppendError::Io(_)));
    assert_eq!(error.code(), "SESSION_WRITE_FAILED");
    let whole = fs::read_to_string(&path).unwrap();
    assert_eq!(whole, stored(&session.events()));
    session.append(other("vendor/small", json!(1))).unwrap();
}

#[test]
fn a_reader_names_the_line_that_is_wrong_and_can_go_on() {
    let text = stored(&sample()).replace("\"turn\":2}", "\"turn\":\"two\"}");
    let mut reader = LogReader::new(text.as_bytes()).unwrap();
    let (good, bad): (Vec<_>, Vec<_>) = reader.by_ref().partition(Result::is_ok);
    assert_eq!(good.len(), sample().len() - 1);
    let messages: Vec<String> =
        bad.into_iter().map(|error| error.unwrap_err().to_string()).collect();
    assert_eq!(messages, ["line 33: `data.turn` must be a whole number of at least 0"]);
    assert_eq!(reader.torn_tail(), None);
}

#[test]
fn a_reader_follows_a_log_that_grows() {
    let folder = Folder::new();
    let text = stored(&sample());
    let path = folder.path("s.jsonl");
    let mut file = fs::File::create(&path).unwrap();
    let (start, mut read) = (header("s-1").to_string().len() + 1, Vec::new());
    file.write_all(&text.as_bytes()[..start]).unwrap();
    let mut reader = LogReader::open(&path).unwrap();
    for chunk in text.as_bytes()[start..].chunks(7) {
        file.write_all(chunk).unwrap();
        read.extend(reader.by_ref().map(Result::unwrap));
    }
    assert_eq!((read, reader.torn_tail()), (sample(), None));
    assert_eq!(reader.header(), &header("s-1"));
    assert_eq!(reader.offset(), text.len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reading_never_panics_and_never_loses_its_place(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut text = stored(&log([turn_start(1)])).into_bytes();
        text.extend(&bytes);
        let mut reader = LogReader::new(&text[..]).unwrap();
        let _ = reader.by_ref().count();
        let torn = reader.torn_tail().map_or(0, <[u8]>::len);
        prop_assert_eq!(usize::try_from(reader.offset()).unwrap() + torn, text.len());
    }
}
