use callgate::{Json, json};
use proptest::prelude::*;

use super::{Frame, Framer, Noise, NoiseKind, NoiseMeter};
use crate::json_rpc::{Id, Message, Notification, Request, Response, RpcError};

const LIMIT: usize = 200;

/// The frames of bytes that arrive in pieces of this length.
fn frames_in_pieces(bytes: &[u8], piece: usize) -> Vec<Frame> {
    let mut reader = Framer::new(LIMIT);
    let mut frames = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        reader.feed(piece, &mut |frame| frames.push(frame));
    }
    reader.finish(&mut |frame| frames.push(frame));
    frames
}

fn frames(bytes: &[u8]) -> Vec<Frame> {
    frames_in_pieces(bytes, bytes.len())
}

fn frame(line: &str) -> Frame {
    let mut all = frames(line.as_bytes());
    assert_eq!(all.len(), 1, "{line}");
    all.remove(0)
}

fn id(id: impl Into<Json>) -> Id {
    Id::of(&id.into()).unwrap()
}

#[test]
fn messages_are_read_whole() {
    let cases = [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            Message::Request(Request { id: id(1), method: "ping".into(), params: Json::Null }),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"a b","method":"x","params":{"n":18446744073709551615}}"#,
            Message::Request(Request {
                id: id("a b"),
                method: "x".into(),
                params: json!({ "n": u64::MAX }),
            }),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"n","params":{}}"#,
            Message::Notification(Notification { method: "n".into(), params: json!({}) }),
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"result":null}"#,
            Message::Response(Response { id: Some(id(2)), outcome: Ok(Json::Null) }),
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"result":{"a":1},"error":null}"#,
            Message::Response(Response { id: Some(id(2)), outcome: Ok(json!({ "a": 1 })) }),
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":[1]}}"#,
            Message::Response(Response {
                id: None,
                outcome: Err(RpcError {
                    code: -32_700,
                    message: "m".into(),
                    data: Some(json!([1])),
                }),
            }),
        ),
    ];
    for (line, message) in cases {
        assert_eq!(frame(line), Frame::Message(message), "{line}");
    }
}

#[test]
fn what_is_no_message_is_noise_of_its_kind() {
    let cases: [(&[u8], NoiseKind, &str); 10] = [
        (b"\n", NoiseKind::Blank, ""),
        (b" \t\r\n", NoiseKind::Blank, ""),
        (b"Server \x1b[1mready\x1b[0m", NoiseKind::Text, r"Server \u{1b}[1mready\u{1b}[0m"),
        (b"{ not JSON", NoiseKind::Text, "{ not JSON"),
        (b"\xff\xfe", NoiseKind::NotUtf8, "\u{fffd}\u{fffd}"),
        (b"{\"level\":\"info\"}", NoiseKind::NotRpc, r#"{\"level\":\"info\"}"#),
        (b"[]", NoiseKind::NotRpc, "[]"),
        (b"42", NoiseKind::Text, "42"),
        (
            b"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"n\":-0}}",
            NoiseKind::Broken,
            r#"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"n\":-0}}"#,
        ),
        (&[b'x'; LIMIT + 1], NoiseKind::TooLong, &("x".repeat(80) + "…")),
    ];
    for (line, kind, sample) in cases {
        let expected = [Frame::Noise(Noise { kind, sample: sample.to_owned() })];
        assert_eq!(frames(line), expected, "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn what_cannot_be_used_fails_whoever_waits_for_it() {
    let long = format!(r#"{{"result":"{}","jsonrpc":"2.0","id":"late"}}"#, "x".repeat(LIMIT));
    let half = r#"{"jsonrpc":"2.0","id":4,"result":"\ud800"}"#;
    let spoilt = [
        (r#"{"jsonrpc":"2.0","id":1,"result":[0,-0]}"#, id(1)),
        (r#"{"jsonrpc":"2.0","id":2,"result":{"id":9,"n":1e999}}"#, id(2)),
        (r#"{"jsonrpc":"2.0","id":"x\"y","result":{"#, id("x\"y")),
        (half, id(4)),
        (r#"{"jsonrpc":"2.0","id":5}"#, id(5)),
        (&*long, id("late")),
    ];
    for (line, expected) in spoilt {
        let Frame::Spoilt { id, .. } = frame(line) else { panic!("{line}") };
        assert_eq!(id, expected, "{line}");
    }
    let refused = [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"n":-0}}"#,
            Some(id(1)),
            RpcError::INVALID_PARAMS,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#,
            Some(id(1)),
            RpcError::INVALID_REQUEST,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, Some(id(1)), RpcError::INVALID_REQUEST),
        (r#"{"id":1,"method":"m"}"#, Some(id(1)), RpcError::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","id":[],"method":"m"}"#, None, RpcError::INVALID_REQUEST),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"#, Some(id(1)), RpcError::PARSE),
    ];
    for (line, expected, code) in refused {
        let Frame::Refused { id, error } = frame(line) else { panic!("{line}") };
        assert_eq!((id, error.code), (expected, code), "{line}");
    }
}

#[test]
fn the_reason_says_where() {
    let Frame::Spoilt { reason, .. } = frame(r#"{"jsonrpc":"2.0","id":1,"result":{"n":-0}}"#)
    else {
        panic!()
    };
    assert!(reason.starts_with("value.result.n: `-0` is negative zero"), "{reason}");
    let Frame::Spoilt { reason, .. } =
        frame(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{}"}}"#, "x".repeat(LIMIT)))
    else {
        panic!()
    };
    assert_eq!(reason, "the message has 236 bytes, and at most 200 are accepted");
}

#[test]
fn a_batch_is_its_messages() {
    let line = r#"[{"jsonrpc":"2.0","id":1,"method":"a"},7,{"jsonrpc":"2.0","method":"b"}]"#;
    let kinds: Vec<_> = frames(line.as_bytes())
        .into_iter()
        .map(|frame| match frame {
            Frame::Message(Message::Request(_)) => "request",
            Frame::Message(Message::Notification(_)) => "notification",
            Frame::Noise(_) => "noise",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["request", "noise", "notification"]);
}

#[test]
fn a_million_brackets_are_refused_without_a_crash() {
    let line = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}"#, "[".repeat(1_000_000));
    let mut reader = Framer::new(usize::MAX);
    let mut frames = Vec::new();
    reader.feed(line.as_bytes(), &mut |frame| frames.push(frame));
    reader.finish(&mut |frame| frames.push(frame));
    assert!(matches!(&frames[..], [Frame::Spoilt { .. }]));
}

#[tokio::test(start_paused = true)]
async fn noise_is_reported_at_once_and_then_now_and_then() {
    let (mut meter, noise) = (NoiseMeter::default(), Noise::new(NoiseKind::Text, b"x"));
    let reports: Vec<_> = (0..5).map(|_| meter.count(&noise)).collect();
    assert_eq!(reports, [Some(1), None, None, None, None]);
    assert_eq!(meter.count(&Noise::new(NoiseKind::Blank, b"")), None);
    tokio::time::advance(std::time::Duration::from_secs(11)).await;
    assert_eq!(meter.count(&noise), Some(5));
    assert_eq!(meter.total(), 7);
}

/// Bytes that look like what servers write, or not at all.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop_oneof![
        Just(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_vec()),
        Just(br#"{"jsonrpc":"2.0","id":"\"","method":"#.to_vec()),
        Just(br#"[{"jsonrpc":"2.0","method":"a"},"#.to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        Just(vec![b'x'; 150]),
        proptest::collection::vec(any::<u8>(), 0..20),
        "[\\[\\]{}\",:\\\\0-9a-z]{0,20}".prop_map(String::into_bytes),
    ];
    proptest::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_does_not_matter_in_which_pieces_bytes_arrive(bytes in bytes(), piece in 1_usize..40) {
        prop_assert_eq!(frames_in_pieces(&bytes, piece), frames(&bytes));
    }
}
