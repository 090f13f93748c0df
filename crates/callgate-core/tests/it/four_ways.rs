//! The headline: a rule that stops a direct call stops the same call wherever it is made.

use callgate_core::testing::{Results, ScriptedEngine};
use callgate_core::{Call, CallInput, Decision, Denial, FailureClass, Recorder, Scope};
use callgate_schema::{Json, json};
use callgate_session::{EventBody, PolicyStage, Session, SessionHeader};
use futures_util::future::join_all;

use crate::support::{Counter, counting, delegating, plain, runtime_with};

const REASON: &str = "`secret` is off limits";
const RULE: &str = "policy.deny[0]";

fn programs() -> ScriptedEngine {
    ScriptedEngine::new()
        .program("one", async |tools| {
            let caught = tools.call("secret", json!({})).await.unwrap_err();
            let fine = tools.call("fine", json!({})).await?;
            Ok(Some(json!([caught, fine])))
        })
        .program("all", async |tools| {
            let calls =
                ["fine", "secret", "fine", "secret"].map(|name| tools.call(name, json!({})));
            let settled: Vec<Json> = join_all(calls)
                .await
                .into_iter()
                .map(|outcome| outcome.unwrap_or_else(Json::from))
                .collect();
            Ok(Some(settled.into()))
        })
        .program("nested", async |tools| {
            Ok(Some(tools.call("outer", json!({})).await.unwrap_err().into()))
        })
}

/// Where a rule can stand; it must not matter.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    Gate,
    Guard,
}

fn install(rule: Rule, scope: &Scope) {
    let denial =
        |call: &Call| (&**call.name() == "secret").then(|| Denial::new(REASON).by_rule(RULE));
    match rule {
        Rule::Guard => scope.guard(denial),
        Rule::Gate => scope.on_pre_execute(move |call, next| async move {
            match denial(&call) {
                Some(denial) => Ok(Decision::Deny(denial)),
                None => next.run().await,
            }
        }),
    };
}

// VIS-14, PIPE-12, PIPE-19, PIPE-43, BRIDGE-22
#[tokio::test]
async fn a_rule_stops_a_call_whoever_makes_it() {
    for rule in [Rule::Gate, Rule::Guard] {
        let runtime = runtime_with(programs());
        let body_runs = Counter::default();
        runtime.register(counting("secret", &body_runs)).unwrap();
        runtime.register(plain("fine")).unwrap();
        runtime.register(delegating("outer", "secret")).unwrap();
        let scope = runtime.scope();
        install(rule, &scope);
        let (results, _) = Results::observe(&scope);
        let session = Session::in_memory(SessionHeader::new("s", 0));
        let recorder = Recorder::new(scope, session.clone()).unwrap();

        let direct = recorder.call(CallInput::new("direct", "secret", json!({}))).await;
        let direct_nested = recorder.call(CallInput::new("outer", "outer", json!({}))).await;
        let one = recorder.call(program("one")).await;
        let all = recorder.call(program("all")).await;
        let nested = recorder.call(program("nested")).await;
        recorder.close().unwrap();

        // The same decision and code everywhere, and the body never ran.
        let denied = results.all();
        let denied: Vec<_> = denied.iter().filter(|(call, _)| &**call.name() == "secret").collect();
        let ids: Vec<&str> = denied.iter().map(|(call, _)| &**call.id()).collect();
        assert_eq!(
            ids,
            [
                "direct",
                "outer:nested",
                "one:code:1",
                "all:code:2",
                "all:code:4",
                "nested:code:1:nested"
            ],
            "{rule:?}"
        );
        for (call, result) in &denied {
            let error = result.error().unwrap_or_else(|| panic!("{call:?} was not stopped"));
            assert_eq!((error.class(), error.message()), (FailureClass::Denied, REASON));
            assert_eq!(error.code(), None);
        }
        assert_eq!(body_runs.get(), 0);

        // What each caller makes of it.
        assert_eq!(direct.text(), format!("Error: {REASON}"));
        assert_eq!(direct_nested.text(), format!("Error: {REASON}"));
        let caught = format!("denied: {REASON}");
        assert_eq!(one.value().unwrap().get("result").unwrap(), &json!([caught.clone(), "fine"]));
        assert_eq!(
            all.value().unwrap().get("result").unwrap(),
            &json!(["fine", caught.clone(), "fine", caught.clone()])
        );
        assert_eq!(nested.value().unwrap().get("result").unwrap(), &json!(caught));

        // The log names the rule, once for each denied call.
        let decisions: Vec<_> = session
            .events()
            .into_iter()
            .filter_map(|event| match event.body {
                EventBody::PolicyDecision(decision) => {
                    Some((decision.call_id.to_string(), decision.rule, decision.stage))
                }
                _ => None,
            })
            .collect();
        let stage = if rule == Rule::Gate { PolicyStage::Gate } else { PolicyStage::Guard };
        let expected: Vec<_> =
            ids.iter().map(|id| ((*id).to_owned(), Some(RULE.into()), stage)).collect();
        assert_eq!(decisions, expected);
        callgate_session::LogChecker::check_all(&session.events()).unwrap();
    }
}

fn program(name: &str) -> CallInput {
    let arguments = json!({ "code": name, "description": "Tries the forbidden tool" });
    CallInput::new(name, "run_code", arguments)
}
