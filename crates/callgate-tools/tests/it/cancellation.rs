//! Cancelled calls.

use std::time::{Duration, Instant};

use callgate::{CallInput, Cause, Signal, json};

use crate::support::Tree;

#[test]
fn a_call_cancelled_while_it_reads_ends_as_aborted_and_leaves_nothing_open() {
    let tree = Tree::new([("big.txt", &*"some text\n".repeat(3 << 20))]);
    for (tool, arguments) in
        [("read", json!({ "path": "big.txt" })), ("grep", json!({ "pattern": "nothing|else" }))]
    {
        let signal = Signal::new();
        let input = CallInput::new("1", tool, arguments).with_signal(signal.clone());
        let result = tree.block_on(async {
            let cancel = async {
                await_open(&tree).await;
                signal.cancel(Cause::new("user", "the user pressed stop"));
            };
            tokio::join!(tree.runtime.execute(input), cancel).0
        });
        assert_eq!(open_files(&tree), 0, "{tool}");
        assert_eq!(result.error().unwrap().code(), Some("ABORTED"));
        assert_eq!(
            result.text(),
            "Error: the call was cancelled while it ran: the user pressed stop"
        );
    }
}

/// Waits until the work has opened the file; on systems that do not say, it waits for nothing.
async fn await_open(tree: &Tree) {
    let start = Instant::now();
    while open_files(tree) == 0
        && start.elapsed() < Duration::from_secs(5)
        && cfg!(target_os = "linux")
    {
        tokio::task::yield_now().await;
    }
}

fn open_files(tree: &Tree) -> usize {
    let Ok(descriptors) = std::fs::read_dir("/proc/self/fd") else { return 0 };
    let targets = descriptors.flatten().filter_map(|entry| entry.path().read_link().ok());
    targets.filter(|target| *target == tree.at("big.txt")).count()
}

#[test]
fn a_call_cancelled_before_its_work_gets_a_thread_never_starts_it() {
    let tree = Tree::new([("a.txt", "x\n")]);
    let runtime =
        tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let signal = Signal::new();
    let input = CallInput::new("1", "read", json!({ "path": "a.txt" })).with_signal(signal.clone());
    let result = runtime.block_on(async {
        let busy = tokio::task::spawn_blocking(move || blocked.recv());
        let cancel = async { signal.cancel(Cause::new("user", "stop")) };
        let result = tokio::join!(tree.runtime.execute(input), cancel).0;
        release.send(()).unwrap();
        busy.await.unwrap().unwrap();
        result
    });
    assert_eq!(result.error().unwrap().code(), Some("ABORTED"));
}
