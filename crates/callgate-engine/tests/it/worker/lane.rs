//! Workers under Code Mode's own lane.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callgate_core::testing::Results;
use callgate_core::{
    CallInput, CallResult, Denial, Mode, Output, RUN_CODE, ToolDefinition, ToolRuntime, render,
};
use callgate_schema::{ParamSpec, ValueSpec, json};

use super::support::worker;
use crate::support::block_on;

/// How many bodies of a tool began, and how many came to their end.
#[derive(Clone, Default)]
struct Bodies(Arc<[AtomicUsize; 2]>);

impl Bodies {
    fn counts(&self) -> [usize; 2] {
        [self.0[0].load(Ordering::SeqCst), self.0[1].load(Ordering::SeqCst)]
    }

    /// A tool that takes a moment.
    fn tool(&self) -> ToolDefinition {
        let bodies = self.clone();
        let output = Output::new(ValueSpec::integer(), render::json);
        let body = move |_, _| {
            let bodies = bodies.clone();
            async move {
                bodies.0[0].fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_micros(300)).await;
                bodies.0[1].fetch_add(1, Ordering::SeqCst);
                Ok(json!(1))
            }
        };
        ToolDefinition::new("work", "Works.", ParamSpec::new(), output, body).concurrency_safe()
    }
}

fn runtime(bodies: &Bodies) -> ToolRuntime {
    let engine = worker().build().unwrap().for_session("lane");
    ToolRuntime::builder().mode(Mode::Both).engine(engine).tool(bodies.tool()).build().unwrap()
}

fn run_code(runtime: &ToolRuntime, id: &str, program: &str) -> CallResult {
    let input = json!({ "code": program, "description": "Runs a program of the tests" });
    block_on(runtime.execute(CallInput::new(id, RUN_CODE, input)))
}

#[test]
fn a_rule_stops_a_call_from_a_worker_as_it_stops_a_direct_one() {
    let bodies = Bodies::default();
    let runtime = runtime(&bodies);
    let program = "return (await Promise.all([1, 2, 3].map(() => tools.work({})))).length";
    let result = run_code(&runtime, "before", program);
    assert_eq!(result.value().and_then(|value| value.get("result").cloned()), Some(json!(3)));
    runtime.guard(|call| (&**call.name() == "work").then(|| Denial::new("not today")));
    let direct = block_on(runtime.execute(CallInput::new("direct", "work", json!({}))));
    assert!(direct.text().contains("not today"));
    let result = run_code(&runtime, "after", program);
    assert!(result.is_error() && result.text().contains("not today"), "{}", result.text());
    assert_eq!(bodies.counts(), [3, 3]);
}

#[test]
fn bodies_that_a_dying_worker_started_come_to_their_end_and_are_published_once() {
    // RUNTIME-29
    let bodies = Bodies::default();
    let runtime = runtime(&bodies);
    let (results, _) = Results::observe(&runtime);
    for calls in 0..50_u64 {
        let run = format!("run-{calls}");
        let result = run_code(&runtime, &run, &format!("// native: frames die after {calls}"));
        assert!(result.is_error() && result.text().contains("status 7"), "{}", result.text());
        let [began, ended] = bodies.counts();
        assert_eq!(began, ended, "after {calls} calls");
        let mut ids: Vec<String> =
            results.all().iter().map(|(call, _)| call.id().to_string()).collect();
        let published = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), published, "after {calls} calls");
    }
    assert!(bodies.counts()[0] > 0);
}
