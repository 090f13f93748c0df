//! Call budgets.

use callgate_core::hooks::CallBudget;
use callgate_core::testing::{ScriptedEngine, ScriptedTools};
use callgate_core::{CallInput, Decision, Denial, FailureClass};
use callgate_schema::json;

use super::{call, events, failure, go, recorder, runtime, runtime_for};
use crate::support::{Counter, counting, delegating, plain};

#[tokio::test]
async fn a_scope_gets_as_many_calls_as_its_budget_and_the_reason_tells() {
    let runs = Counter::default();
    let runtime = runtime([counting("search", &runs)]);
    let budget = CallBudget::new(2);
    runtime.install(&budget).unwrap();
    let recorder = recorder(&runtime);
    let make = async |id: &str| recorder.call(CallInput::new(id, "search", json!({}))).await;
    assert!(!make("1").await.is_error());
    assert!(!make("2").await.is_error());
    let denied = make("3").await;
    let reason = "the budget for tools is used up: 2 calls allowed, 2 made; go on without";
    assert_eq!(failure(&denied), (FailureClass::Denied, None, reason));
    assert!(make("4").await.is_error());
    assert_eq!(runs.get(), 2);
    assert_eq!(budget.allowed(Some(recorder.scope().id())), 2);
    let decision = &events(recorder.session(), "policy/decision")[0]["data"];
    assert_eq!((&decision["rule"], &decision["stage"]), (&json!("call-budget"), &json!("guard")));

    // Every scope is counted for itself, and so is the runtime.
    let child = recorder.scope().scope();
    for _ in 0..2 {
        assert!(!call(&child, "search").await.is_error());
        assert!(!call(&runtime, "search").await.is_error());
    }
    assert!(call(&child, "search").await.is_error());
    assert!(call(&runtime, "search").await.is_error());
    assert_eq!((budget.allowed(Some(child.id())), budget.allowed(None)), (2, 2));
    assert_eq!(budget.allowed(Some(runtime.scope().id())), 0);
}

#[tokio::test]
async fn nested_calls_and_calls_of_programs_count() {
    let engine = ScriptedEngine::new().program("go", async |tools: ScriptedTools| {
        let mut outcomes = Vec::new();
        for name in ["outer", "search", "search"] {
            outcomes.push(tools.call(name, json!({})).await.unwrap_or_else(Into::into));
        }
        Ok(Some(json!(outcomes)))
    });
    let runtime = runtime_for(engine);
    runtime.register(delegating("outer", "search")).unwrap();
    runtime.register(plain("search")).unwrap();
    // run_code, outer, its nested call, and one more.
    runtime.install(&CallBudget::new(4)).unwrap();
    let result = runtime.scope().execute(go()).await;
    let denied = "denied: the budget for tools is used up: 4 calls allowed, 4 made; go on without";
    assert_eq!(result.value().unwrap()["result"], json!(["search", "search", denied]));
}

#[tokio::test]
async fn only_the_named_tools_count_all_of_them_together() {
    let runtime = runtime(["search", "fetch", "fetch_all"].map(plain));
    let scope = runtime.scope();
    scope.install(&CallBudget::new(1).only(["search", "fetch"])).unwrap();
    assert!(!call(&scope, "fetch_all").await.is_error());
    assert!(!call(&scope, "fetch").await.is_error());
    assert!(!call(&scope, "fetch_all").await.is_error());
    let denied = call(&scope, "search").await;
    let reason =
        "the budget for `fetch`, `search` is used up: 1 call allowed, 1 made; go on without";
    assert_eq!(failure(&denied).2, reason);
    assert!(!call(&runtime, "search").await.is_error());
}

#[tokio::test]
async fn a_call_that_is_denied_before_costs_nothing() {
    let runtime = runtime([plain("search")]);
    runtime.on_pre_execute(|call, next| async move {
        if &**call.id() == "gate" { Ok(Decision::deny("no")) } else { next.run().await }
    });
    runtime.guard(|call| (&**call.id() == "guard").then(|| Denial::new("no")));
    let budget = CallBudget::new(1);
    runtime.install(&budget).unwrap();
    for id in ["gate", "guard", "fine"] {
        runtime.execute(CallInput::new(id, "search", json!({}))).await;
    }
    assert_eq!(budget.allowed(None), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_calls_never_get_more_than_the_budget() {
    let runs = Counter::default();
    let runtime = runtime([counting("search", &runs)]);
    runtime.install(&CallBudget::new(100)).unwrap();
    let scope = runtime.scope();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let scope = scope.clone();
        callers.spawn(async move {
            for _ in 0..50 {
                call(&scope, "search").await;
            }
        });
    }
    callers.join_all().await;
    assert_eq!(runs.get(), 100);
}

#[tokio::test]
async fn scopes_that_are_gone_leave_nothing_behind() {
    let runtime = runtime([plain("search")]);
    let budget = CallBudget::new(1);
    runtime.install(&budget).unwrap();
    let first = {
        let scope = runtime.scope();
        call(&scope, "search").await;
        scope.id()
    };
    assert_eq!(budget.allowed(Some(first)), 1);
    let kept = runtime.scope();
    call(&kept, "search").await;
    for _ in 0..100 {
        call(&runtime.scope(), "search").await;
    }
    assert_eq!((budget.allowed(Some(first)), budget.allowed(Some(kept.id()))), (0, 1));
}
