//! Rules that change while calls run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use callgate_core::{Call, CallInput, Denial, Registration, ToolRuntime};
use callgate_schema::json;

use crate::support::{Counter, counting};

/// Two guards take turns; at every moment one of them is in force, so no call may pass.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replacing_a_rule_leaves_no_moment_without_one() {
    let runtime = ToolRuntime::builder().build().unwrap();
    let body_runs = Counter::default();
    runtime.register(counting("secret", &body_runs)).unwrap();
    let scope = runtime.scope();
    let deny = |version: usize| move |_: &Call| Some(Denial::new(format!("rule {version}")));
    let mut current: Registration = scope.guard(deny(0));

    let is_over = Arc::new(AtomicBool::new(false));
    let calls = Arc::new(AtomicUsize::new(0));
    let mut callers = tokio::task::JoinSet::new();
    for task in 0..64 {
        let (scope, is_over, calls) = (scope.clone(), is_over.clone(), calls.clone());
        callers.spawn(async move {
            while !is_over.load(Ordering::Acquire) {
                let input = CallInput::new(format!("task-{task}"), "secret", json!({}));
                let result = scope.execute(input).await;
                assert!(result.is_error(), "a denied call passed");
                calls.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
    }
    for version in 1.. {
        if version > 1_000 && calls.load(Ordering::Relaxed) >= 6_400 {
            break;
        }
        current = scope
            .change(|change| {
                change.undo(&current);
                change.guard(deny(version))
            })
            .unwrap();
        tokio::task::yield_now().await;
    }
    is_over.store(true, Ordering::Release);
    callers.join_all().await;
    assert_eq!(body_runs.get(), 0);
}
