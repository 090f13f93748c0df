//! A worker that was taken over says what it likes: it gains nothing by it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgate_core::program::{FailureKind, ProgramEnd};
use callgate_schema::Json;

use super::support::{run, value, worker};
use crate::support::{Host, MEMBERS};

/// Runs one forgery: how it ended, and the calls that reached the host.
fn forge(frames: &str) -> (ProgramEnd, Vec<(String, Json)>) {
    let engine = worker()
        .pool(0)
        .memory(64 << 20)
        .max_output_bytes(1 << 10)
        .compute(Duration::from_secs(2))
        .wall(Duration::from_secs(2))
        .build()
        .unwrap();
    let host = Arc::new(Host::default());
    let started = Instant::now();
    let end = run(&engine, &format!("native: frames {frames}"), &host);
    assert!(started.elapsed() < Duration::from_secs(7), "{frames}");
    assert_eq!(value(&engine, "return 1"), Some(1.into()), "after {frames}");
    let calls = host.calls.lock().unwrap().clone();
    (end, calls)
}

fn kind(end: &ProgramEnd) -> Option<FailureKind> {
    end.failure.as_ref().map(|failure| failure.kind)
}

#[test]
fn frames_that_make_no_sense_have_no_effect() {
    // RUNTIME-31
    let (end, calls) = forge("noise");
    assert_eq!((end.value, end.failure), (Some("said".into()), None));
    assert_eq!((end.logs, calls), (vec![], vec![]));
}

#[test]
fn a_call_is_served_once_and_only_if_it_was_declared() {
    // RUNTIME-32
    let (end, calls) = forge("twice");
    assert_eq!((end.value, end.failure), (Some("said".into()), None));
    let expected = [("echo".to_owned(), 1.into()), ("echo".to_owned(), 3.into())];
    assert_eq!(calls, expected);
}

#[test]
fn an_end_with_a_value_and_a_failure_is_a_failure() {
    // RUNTIME-32
    let (end, _) = forge("both");
    let failure = end.failure.unwrap();
    assert_eq!(
        (end.value, failure.kind, &*failure.message),
        (None, FailureKind::Exception, "both")
    );
    assert_eq!(failure.position, None, "there is no line 0");
}

#[test]
fn what_a_worker_hands_back_is_metered_by_its_host() {
    // RUNTIME-32
    let (end, _) = forge("logs");
    assert_eq!(kind(&end), Some(FailureKind::OutputLimit));
    assert!(end.logs.len() < 1 << 8 && end.logs.iter().all(|entry| &**entry == "four"));
    let (end, _) = forge("value");
    assert_eq!((kind(&end), end.value), (Some(FailureKind::OutputLimit), None));
}

#[test]
fn a_frame_longer_than_allowed_ends_the_worker() {
    // RUNTIME-31
    let (end, _) = forge("endless");
    assert_eq!(kind(&end), Some(FailureKind::WorkerExit));
}

#[test]
fn half_a_frame_is_waited_for_until_the_deadline() {
    // RUNTIME-23
    let (end, _) = forge("half");
    // The honest end that follows completes it to something that makes no sense.
    assert!(matches!(kind(&end), Some(FailureKind::Timeout | FailureKind::WorkerExit)), "{end:?}");
}

#[test]
fn a_worker_that_only_talks_is_killed_on_its_deadline() {
    // RUNTIME-32
    let (end, calls) = forge("calls");
    assert_eq!(kind(&end), Some(FailureKind::Timeout));
    assert_eq!(calls.len(), 1, "one number is served once");
}

#[test]
fn answers_nobody_listens_to_do_not_pile_up() {
    // RUNTIME-32
    let (end, calls) = forge("flood");
    assert_eq!(kind(&end), Some(FailureKind::Timeout));
    // Each answer is as long as its call, and 64 MiB of them may wait.
    assert!(calls.len() < 1_000, "{} calls were served", calls.len());
}

#[test]
fn whatever_a_worker_says_its_host_is_not_harmed() {
    // RUNTIME-31
    let long = std::env::var_os("CALLGATE_TEST_LONG").is_some();
    let wall = Duration::from_millis(400);
    let engine = worker()
        .pool(1)
        .memory(16 << 20)
        .max_output_bytes(1 << 10)
        .compute(wall / 2)
        .wall(wall)
        .build()
        .unwrap();
    for seed in 0..if long { 5_000 } else { 60 } {
        let (host, started) = (Arc::new(Host::default()), Instant::now());
        let end = run(&engine, &format!("native: frames random {seed}"), &host);
        assert!(started.elapsed() < wall + Duration::from_secs(5), "seed {seed}");
        // It handed no more back than it may, cancelled nothing, and called what there is.
        let logged: usize = end.logs.iter().map(|entry| entry.len() + 2).sum();
        let value = end.value.as_ref().map_or(0, |value| value.to_string().len());
        assert!(logged + value <= 1 << 10, "seed {seed}: {end:?}");
        assert!(kind(&end) != Some(FailureKind::Abort), "seed {seed}: {end:?}");
        let calls = host.calls.lock().unwrap();
        assert!(calls.iter().all(|(name, _)| MEMBERS.contains(&&**name)), "seed {seed}: {calls:?}");
        if seed % 8 == 0 {
            assert_eq!(super::support::value(&engine, "return 1"), Some(1.into()), "seed {seed}");
        }
    }
}
