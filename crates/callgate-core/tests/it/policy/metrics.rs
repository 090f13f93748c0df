//! Metrics.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use callgate_core::hooks::{Backoff, Metrics, Retry};
use callgate_core::testing::{ScriptedEngine, ScriptedTools};
use callgate_core::{CallInput, Denial, FailureClass, HookError, ToolContext, ToolError};
use callgate_schema::json;
use tokio::time::sleep;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Event, Metadata, Subscriber};

use super::{call, go, ms, recorder, runtime, runtime_for, tool};
use crate::support::plain;

/// Keeps everything of the policy's target, or only the events.
#[derive(Clone, Default)]
struct Listener(Arc<Heard>);

#[derive(Default)]
struct Heard {
    next: AtomicU64,
    is_for_events_only: AtomicBool,
    spans: Mutex<BTreeMap<u64, Line>>,
    entered: Mutex<Vec<u64>>,
    events: Mutex<Vec<Line>>,
}

/// `name{key=value, …}`, keys sorted.
#[derive(Clone, Debug, Default)]
struct Line {
    name: String,
    fields: BTreeMap<String, String>,
}

impl Listener {
    fn start() -> (Self, DefaultGuard) {
        let listener = Self::default();
        let guard = set_default(listener.clone());
        (listener, guard)
    }

    fn spans(&self) -> Vec<String> {
        self.0.spans.lock().unwrap().values().map(ToString::to_string).collect()
    }

    fn events(&self) -> Vec<String> {
        self.0.events.lock().unwrap().iter().map(ToString::to_string).collect()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields: Vec<String> =
            self.fields.iter().map(|(key, value)| format!("{key}={value}")).collect();
        write!(f, "{}{{{}}}", self.name, fields.join(", "))
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name().to_owned(), value.to_owned());
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let is_wanted = metadata.is_event() || !self.0.is_for_events_only.load(Ordering::SeqCst);
        metadata.target() == "callgate::metrics" && is_wanted
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.0.next.fetch_add(1, Ordering::SeqCst) + 1;
        let mut line = Line { name: attributes.metadata().name().to_owned(), ..Line::default() };
        attributes.record(&mut line);
        self.0.spans.lock().unwrap().insert(id, line);
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        values.record(self.0.spans.lock().unwrap().get_mut(&id.into_u64()).unwrap());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let entered = self.0.entered.lock().unwrap().last().copied();
        let mut line = Line { name: format!("in {}: ", entered.unwrap_or(0)), ..Line::default() };
        event.record(&mut line);
        let message = line.fields.remove("message").unwrap();
        line.name.push_str(&message);
        self.0.events.lock().unwrap().push(line);
    }

    fn enter(&self, id: &Id) {
        self.0.entered.lock().unwrap().push(id.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.0.entered.lock().unwrap().pop();
    }
}

#[tokio::test(start_paused = true)]
async fn an_executed_call_is_a_span_with_the_names_of_opentelemetry() {
    let (listener, _listening) = Listener::start();
    let runtime = runtime([tool("nap", |_, _| async {
        sleep(ms(1_500)).await;
        Ok(json!("rested"))
    })]);
    runtime.install(&Metrics::new()).unwrap();
    let recorder = recorder(&runtime);
    recorder.call(CallInput::new("call-1", "nap", json!({}))).await;
    insta::assert_snapshot!(listener.spans().join("\n"), @"execute_tool{gen_ai.conversation.id=session-1, gen_ai.operation.name=execute_tool, gen_ai.tool.call.id=call-1, gen_ai.tool.name=nap, gen_ai.tool.type=function, otel.kind=internal, otel.name=execute_tool nap}");
    insta::assert_snapshot!(listener.events().join("\n"), @"
    in 1: tool executed{gen_ai.operation.name=execute_tool, gen_ai.tool.name=nap, gen_ai.tool.type=function, histogram.gen_ai.execute_tool.duration=1.5}
    in 0: call finished{gen_ai.tool.name=nap, monotonic_counter.callgate.tool.calls=1}
    ");
}

#[tokio::test]
async fn failures_have_an_error_type_and_denied_calls_are_only_counted() {
    let (listener, _listening) = Listener::start();
    let runtime = runtime([
        tool("coded", |_, _| async {
            Err(ToolError::coded("IoError", "ENOSPC", "the disk is full"))
        }),
        tool("plain", |_, _| async { Err(ToolError::of(FailureClass::Unavailable, "gone")) }),
        plain("secret"),
        plain("hooked"),
    ]);
    runtime.guard(|call| (&**call.name() == "secret").then(|| Denial::new("no")));
    runtime.install(&Metrics::new()).unwrap();
    runtime.on_execute(|call, mut next| async move {
        if &**call.name() == "hooked" { Err(HookError::failed("broken")) } else { next.run().await }
    });
    for name in ["coded", "plain", "secret", "hooked", "nobody"] {
        call(&runtime, name).await;
    }
    let error_of = |line: &String| {
        let fields = line.split_once("error.type=").unwrap().1;
        fields.split([',', '}']).next().unwrap().to_owned()
    };
    let spans: Vec<String> = listener.spans().iter().map(error_of).collect();
    assert_eq!(spans, ["ENOSPC", "unavailable", "failed", "UNKNOWN_TOOL"]);
    assert!(listener.spans().iter().all(|span| span.contains("otel.status_code=ERROR")));
    let (ends, durations): (Vec<String>, Vec<String>) =
        listener.events().into_iter().partition(|event| event.contains("call finished"));
    let ends: Vec<String> = ends.iter().map(error_of).collect();
    assert_eq!(ends, ["ENOSPC", "unavailable", "denied", "failed", "UNKNOWN_TOOL"]);
    let durations: Vec<String> = durations.iter().map(error_of).collect();
    assert_eq!(durations, ["ENOSPC", "unavailable", "failed", "UNKNOWN_TOOL"]);
}

#[tokio::test(start_paused = true)]
async fn all_attempts_of_a_call_are_one_span_and_calls_of_a_program_are_inside() {
    let (listener, _listening) = Listener::start();
    let engine = ScriptedEngine::new().program("go", async |tools: ScriptedTools| {
        tools.call("flaky", json!({})).await.unwrap_err();
        Ok(None)
    });
    let runtime = runtime_for(engine);
    let flaky = tool("flaky", |_, _: ToolContext| async { Err(ToolError::failed("broken")) });
    runtime.register(flaky.repeatable()).unwrap();
    runtime.hook(Retry::new(3, Backoff::constant(ms(500))));
    runtime.install(&Metrics::new()).unwrap();
    runtime.scope().execute(go()).await;
    let names: Vec<&str> = vec!["otel.name=execute_tool run_code", "otel.name=execute_tool flaky"];
    let spans = listener.spans();
    assert_eq!(spans.len(), 2);
    assert!(spans.iter().zip(names).all(|(span, name)| span.contains(name)), "{spans:?}");
    let events = listener.events();
    assert!(events[0].starts_with("in 2: tool executed"), "{events:?}");
    assert!(events[0].contains("gen_ai.execute_tool.duration=1.0"), "{events:?}");
    assert!(events[1].starts_with("in 1: call finished"), "{events:?}");
}

#[tokio::test]
async fn durations_are_reported_to_those_who_want_no_spans() {
    let listener = Listener::default();
    listener.0.is_for_events_only.store(true, Ordering::SeqCst);
    let _listening = set_default(listener.clone());
    let runtime = runtime([plain("fine")]);
    runtime.install(&Metrics::new()).unwrap();
    call(&runtime, "fine").await;
    assert_eq!(listener.spans(), Vec::<String>::new());
    let events = listener.events();
    assert!(events[0].contains("gen_ai.execute_tool.duration="), "{events:?}");
    assert_eq!(events.len(), 2);
}

/// Listens to nothing, and fails if it is told anything.
struct Deaf;

impl Subscriber for Deaf {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        false
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        panic!("nobody listens")
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {
        panic!("nobody listens")
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn nothing_is_made_where_nobody_listens() {
    let _listening = set_default(Deaf);
    let runtime = runtime([plain("fine")]);
    runtime.install(&Metrics::new()).unwrap();
    assert_eq!(call(&runtime, "fine").await.text(), "fine");
}
