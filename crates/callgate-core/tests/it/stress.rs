//! Rules that change while calls run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use callgate_core::program::{
    EngineError, Isolation, Language, Program, ProgramCall, ProgramEnd, ProgramEngine, ProgramHost,
    Reply,
};
use callgate_core::{Call, CallInput, Denial, Mode, Registration, Signal, ToolRuntime};
use callgate_schema::json;
use futures_util::future::BoxFuture;

use crate::support::{Counter, counting, run_program};

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

/// A program on a thread of its own, which makes its next call as soon as the last is answered.
#[derive(Debug)]
struct Racing {
    calls: u32,
}

impl ProgramEngine for Racing {
    fn language(&self) -> Language {
        Language::TypeScript
    }

    fn isolation(&self) -> Isolation {
        Isolation::InProcess
    }

    fn run(
        &self,
        _program: Program,
        host: Arc<dyn ProgramHost>,
        _signal: Signal,
    ) -> BoxFuture<'static, Result<ProgramEnd, EngineError>> {
        let calls = self.calls;
        let (done, ended) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            for number in 0..calls {
                let answered = Arc::new(AtomicBool::new(false));
                let reply = Reply::new({
                    let answered = answered.clone();
                    move |_| answered.store(true, Ordering::Release)
                });
                host.call(ProgramCall::new("tools", "quick", json!({})), reply);
                while !answered.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                // Each time a little later, so that every moment of the lane is met.
                for _ in 0..number % 1_000 {
                    std::hint::spin_loop();
                }
            }
            let _ = done.send(ProgramEnd::default());
        });
        Box::pin(async move { Ok(ended.await.unwrap()) })
    }
}

/// A call that comes in while the lane decides that there is nothing to do is not forgotten.
// BRIDGE-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_comes_at_any_moment_is_served() {
    let calls = 100_000;
    let runtime = ToolRuntime::builder().mode(Mode::Code).engine(Racing { calls }).build().unwrap();
    let body_runs = Counter::default();
    runtime.register(counting("quick", &body_runs)).unwrap();
    let scope = runtime.scope();
    let run = run_program(&scope, "run", "go");
    tokio::time::timeout(Duration::from_mins(1), run).await.expect("a call was lost");
    assert_eq!(body_runs.get(), calls as usize);
}
