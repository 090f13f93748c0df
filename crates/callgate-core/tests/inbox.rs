//! The inbox of the lane under every interleaving of its threads.

use std::future::poll_fn;
use std::task::Poll;

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

use inbox::{Inbox, Refusal};

mod sync {
    pub(super) use loom::sync::{Mutex, MutexGuard};
    pub(super) use std::sync::PoisonError;
}

#[path = "../src/code/inbox.rs"]
mod inbox;

/// The lane, reduced to its waiting: takes calls until it has had so many.
async fn take(inbox: &Inbox<u64>, calls: u64) -> Vec<(u64, u64)> {
    let mut taken = Vec::new();
    while (taken.len() as u64) < calls {
        let seen = inbox.count();
        if let Some((number, call, ())) = inbox.pop_if(|_, _| Some(())) {
            taken.push((number, call));
            continue;
        }
        poll_fn(
            |task| {
                if inbox.has_new(seen, task.waker()) { Poll::Ready(()) } else { Poll::Pending }
            },
        )
        .await;
    }
    taken
}

/// A call that comes in at whatever moment ends the wait: otherwise loom finds a deadlock.
// BRIDGE-18
#[test]
fn no_call_is_missed() {
    loom::model(|| {
        let inbox = Arc::new(Inbox::new(u64::MAX));
        let program = inbox.clone();
        let program = thread::spawn(move || {
            program.push(10).unwrap();
            program.push(20).unwrap();
        });
        assert_eq!(block_on(take(&inbox, 2)), [(1, 10), (2, 20)]);
        program.join().unwrap();
    });
}

/// Each call is either taken in or refused, also when the inbox closes meanwhile.
#[test]
fn a_call_is_taken_in_or_refused_never_both_and_never_neither() {
    loom::model(|| {
        let inbox = Arc::new(Inbox::new(1));
        let program = inbox.clone();
        let program = thread::spawn(move || {
            [program.push(10), program.push(20)].map(|pushed| pushed.map_err(|(_, why)| why))
        });
        let waiting: Vec<u64> = inbox.close().unwrap().collect();
        assert!(inbox.is_closed() && inbox.close().is_none());
        let outcomes = program.join().unwrap();
        let expected = match *waiting {
            [] => [Err(Refusal::Closed), Err(Refusal::Closed)],
            // The limit is looked at only while the inbox is open.
            [10] if outcomes[1] == Err(Refusal::Closed) => [Ok(()), Err(Refusal::Closed)],
            [10] => [Ok(()), Err(Refusal::Limit(1))],
            _ => unreachable!("{waiting:?}"),
        };
        assert_eq!(outcomes, expected);
    });
}
