//! [`Metrics`]: calls as spans and events, with the names of OpenTelemetry.

use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument, Level, Span};

use crate::call::Call;
use crate::change::{Change, Place};
use crate::error::{HookError, ToolError};
use crate::hook::{Execute, Executed, Hook, Next};
use crate::plugin::Plugin;
use crate::result::CallResult;

/// The target of all spans and events, for filters.
const TARGET: &str = "callgate::metrics";

/// Reports calls through `tracing`, with the attribute names that OpenTelemetry gives to tool
/// executions of generative AI.
///
/// Everything has the level `INFO` and the target `callgate::metrics`:
///
/// - a span `execute_tool` around the execution of every call that is allowed, with
///   `gen_ai.operation.name` (`execute_tool`), `gen_ai.tool.name`, `gen_ai.tool.call.id`,
///   `gen_ai.tool.type`, `gen_ai.conversation.id` where there is a session, and, on failure,
///   `error.type` and `otel.status_code`;
/// - an event inside it with the duration in seconds, as the histogram
///   `gen_ai.execute_tool.duration`;
/// - an event for every result that is published, denied calls too, as the counter
///   `callgate.tool.calls`.
///
/// `error.type` is the code of the failure, or its class where it has no code. The prefixes
/// `histogram.` and `monotonic_counter.` are those that `tracing-opentelemetry` makes metrics of.
/// Where nobody listens to the target, a call costs a few looks at cached levels.
///
/// ```
/// use callgate_core::{ToolRuntime, hooks::Metrics};
/// let runtime = ToolRuntime::builder().build()?;
/// runtime.install(&Metrics::new())?;
/// # Ok::<(), callgate_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Metrics(());

impl Metrics {
    /// Spans and events for every call of the layer it is installed in.
    pub fn new() -> Self {
        Self(())
    }
}

impl Hook<Execute> for Metrics {
    fn call(
        &self,
        call: Call,
        mut next: Next<Execute>,
    ) -> BoxFuture<'_, Result<Executed, HookError>> {
        Box::pin(async move {
            let span = span_of(&call);
            if span.is_disabled() && !tracing::event_enabled!(target: TARGET, Level::INFO) {
                return next.run().await;
            }
            let start = Instant::now();
            let executed = next.run().instrument(span.clone()).await;
            let error = executed.as_ref().map_or_else(Some, Executed::error);
            span.in_scope(|| report(&call, &span, start.elapsed().as_secs_f64(), error));
            executed
        })
    }
}

impl Plugin for Metrics {
    fn name(&self) -> &'static str {
        "metrics"
    }

    /// The hook is outermost, so that it measures all attempts of a call together.
    fn install(&self, change: &mut Change<'_>) {
        change.hook(*self, Place::First);
        change.observe(count);
    }
}

fn span_of(call: &Call) -> Span {
    let span = tracing::info_span!(
        target: TARGET,
        "execute_tool",
        "otel.name" = format_args!("execute_tool {}", call.name()),
        "otel.kind" = "internal",
        "otel.status_code" = Empty,
        "gen_ai.operation.name" = "execute_tool",
        "gen_ai.tool.name" = &**call.name(),
        "gen_ai.tool.call.id" = &**call.id(),
        "gen_ai.tool.type" = "function",
        "gen_ai.conversation.id" = Empty,
        "error.type" = Empty,
    );
    if !span.is_disabled()
        && let Some(session) = call.session()
    {
        span.record("gen_ai.conversation.id", &*session.header().id);
    }
    span
}

fn report(call: &Call, span: &Span, seconds: f64, error: Option<&ToolError>) {
    let error_type = error.map(error_type);
    if let Some(error_type) = error_type {
        span.record("error.type", error_type);
        span.record("otel.status_code", "ERROR");
    }
    tracing::info!(
        target: TARGET,
        {
            "histogram.gen_ai.execute_tool.duration" = seconds,
            "gen_ai.operation.name" = "execute_tool",
            "gen_ai.tool.name" = &**call.name(),
            "gen_ai.tool.type" = "function",
            "error.type" = error_type,
        },
        "tool executed"
    );
}

fn count(call: &Call, result: &CallResult) {
    tracing::info!(
        target: TARGET,
        {
            "monotonic_counter.callgate.tool.calls" = 1_u64,
            "gen_ai.tool.name" = &**call.name(),
            "error.type" = result.error().map(error_type),
        },
        "call finished"
    );
}

/// What kind of failure it is, in few different words.
fn error_type(error: &ToolError) -> &str {
    error.code().unwrap_or_else(|| error.class().word())
}
