//! A call comes to the same, whoever makes it.

#[expect(dead_code, reason = "the page is printed by the example, not by the tests")]
#[path = "../../examples/conformance.rs"]
mod matrix;

use matrix::{SITUATIONS, WAYS, Way, observe};

// BOUND-8 VIS-14 PIPE-46
#[tokio::test(start_paused = true)]
async fn decision_code_and_body_run_are_the_same_in_every_column() {
    assert!(SITUATIONS.len() >= 20);
    for situation in SITUATIONS {
        let direct = observe(situation, Way::Direct).await;
        assert_eq!(direct.len(), 1, "{}", situation.name);
        for way in WAYS {
            let seen = observe(situation, way).await;
            let expected = if way == Way::Parallel { 3 } else { 1 };
            // A tool that is gone after the first call is gone for the others too.
            assert_eq!(seen.len(), expected, "{} {way:?}", situation.name);
            for call in &seen {
                assert_eq!(*call, direct[0], "{} {way:?}", situation.name);
            }
        }
    }
}
