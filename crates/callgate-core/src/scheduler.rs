//! The scheduler of an agent loop: the calls of one step, in the order the model made them.

use std::collections::VecDeque;

use callgate_schema::Str;
use callgate_session::Event;

use crate::call::CallInput;
use crate::error::{Error, ErrorKind, ToolError};
use crate::ordered::Background;
use crate::phase::{Admitted, Dispatched};
use crate::pipeline::aborted_before_dispatch;
use crate::record::SessionStep;
use crate::registry::Layer;
use crate::result::{CallResult, Draft};
use crate::scope::{ExecutionMode, Scope};
use crate::signal::Signal;

/// Runs the tool calls of one step of an agent loop.
///
/// Policy and results follow the order of the model; only execute hooks and bodies overlap, and
/// only those of calls that declare themselves safe. A call that is not runs alone. Before each
/// start the call is classified anew, because earlier calls may have changed what it is.
///
/// ```
/// use callgate_core::{CallInput, Scheduler, Signal, ToolRuntime};
/// use callgate_schema::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), callgate_core::Error> {
/// let runtime = ToolRuntime::builder().build()?;
/// let scope = runtime.scope();
/// let calls = vec![CallInput::new("1", "a", json!({})), CallInput::new("2", "b", json!({}))];
/// let step = Scheduler::new(&scope).run(calls, &Signal::new()).await;
/// assert_eq!(step.results.len(), 2);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Scheduler {
    layer: Layer,
    limit: usize,
    log: Option<SessionStep>,
}

/// What the calls of a step came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepResults {
    /// One result for each call, in the order of the model. Fewer only after a
    /// [`failure`](Self::failure).
    pub results: Vec<CallResult>,
    /// Whether a call asked to end the turn.
    pub concludes_turn: bool,
    /// The first failure of the scheduler itself (the log could not be written). Then nothing new
    /// was started, what ran was waited for, and no result was invented.
    pub failure: Option<ToolError>,
}

impl Scheduler {
    /// A scheduler for the calls of one scope, of which at most 10 run at once.
    pub fn new(scope: &Scope) -> Self {
        Self { layer: (**scope).clone(), limit: 10, log: None }
    }

    /// How many bodies may run at once; 1 makes the step strictly serial.
    ///
    /// # Errors
    ///
    /// If it is zero.
    pub fn max_parallel(mut self, limit: usize) -> Result<Self, Error> {
        if limit == 0 {
            let message = "max_parallel must be at least 1; 1 makes the step serial";
            return Err(Error::new(ErrorKind::InvalidConfig, message));
        }
        self.limit = limit;
        Ok(self)
    }

    /// Records every call and its result in an open step of a session log.
    #[must_use]
    pub fn log(mut self, step: SessionStep) -> Self {
        self.log = Some(step);
        self
    }

    /// Runs the calls. When the signal is cancelled, nothing new starts, what runs is waited for,
    /// and each call that did not start gets a result of code `ABORTED_BEFORE_DISPATCH` without
    /// entering the pipeline.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels the running calls; their bodies are driven to their end, but
    /// nothing is recorded any more. Cancel the signal instead.
    pub async fn run(&self, calls: Vec<CallInput>, signal: &Signal) -> StepResults {
        let queue = calls.into_iter().map(|call| call.with_signal(signal.clone())).collect();
        let step = Step {
            scheduler: self,
            signal,
            queue,
            started: VecDeque::new(),
            group: None,
            background: Background::new(),
            done: StepResults { results: Vec::new(), concludes_turn: false, failure: None },
        };
        step.run().await
    }
}

struct Step<'a> {
    scheduler: &'a Scheduler,
    signal: &'a Signal,
    /// Not started yet, in model order.
    queue: VecDeque<CallInput>,
    /// Started and not committed yet, in model order.
    started: VecDeque<Started>,
    /// How the calls that run now may run.
    group: Option<ExecutionMode>,
    background: Background,
    done: StepResults,
}

struct Started {
    number: u64,
    id: Str,
    logged: Option<Event>,
    settled: Option<Dispatched>,
}

impl Step<'_> {
    async fn run(mut self) -> StepResults {
        loop {
            self.take_settled();
            if self.started.front().is_some_and(|oldest| oldest.settled.is_some()) {
                self.commit().await;
            } else if self.may_start() {
                self.start().await;
            } else if self.started.is_empty() {
                break;
            } else {
                let signal = self.signal.clone();
                let was_cancelled = signal.is_cancelled();
                let mut cancelled = std::pin::pin!(signal.cancelled());
                self.background
                    .wait_until(|task| !was_cancelled && cancelled.as_mut().poll(task).is_ready())
                    .await;
            }
        }
        self.skip_rest();
        self.done
    }

    fn take_settled(&mut self) {
        for (number, dispatched) in self.background.settled.drain(..) {
            if let Some(call) = self.started.iter_mut().find(|call| call.number == number) {
                call.settled = Some(dispatched);
            }
        }
    }

    /// Whether the next call may start now. It is classified anew each time.
    fn may_start(&mut self) -> bool {
        if self.signal.is_cancelled() || self.done.failure.is_some() {
            return false;
        }
        let Some(next) = self.queue.front() else { return false };
        if self.started.is_empty() {
            self.group = Some(self.scheduler.layer.execution_mode(next));
            return true;
        }
        self.group == Some(ExecutionMode::Parallel)
            && self.background.bodies.len() < self.scheduler.limit
            && self.scheduler.layer.execution_mode(next) == ExecutionMode::Parallel
    }

    async fn start(&mut self) {
        let Some(input) = self.queue.pop_front() else { return };
        let logged = match self.scheduler.log.as_ref().map(|log| log.call(&input)).transpose() {
            Ok(logged) => logged,
            Err(error) => {
                self.done.failure = Some(error);
                return;
            }
        };
        let number = self.background.next_number();
        let id = input.id.clone();
        let admitted = Admitted::new(self.scheduler.layer.clone(), input);
        let prepared = self.background.attend(admitted.prepare(), || ()).await;
        let settled = if prepared.is_ready() {
            let body = async move { (number, prepared.dispatch().await) };
            self.background.bodies.push(Box::pin(body));
            None
        } else {
            Some(prepared.dispatch().await)
        };
        self.started.push_back(Started { number, id, logged, settled });
    }

    async fn commit(&mut self) {
        let Some(call) = self.started.front_mut() else { return };
        let Some(dispatched) = call.settled.take() else { return };
        let finalized = self.background.attend(dispatched.finalize(), || ()).await;
        let result = finalized.publish();
        if let Some(call) = self.started.pop_front() {
            self.record(call.logged.as_ref(), call.id, result);
        }
    }

    fn record(&mut self, logged: Option<&Event>, id: Str, result: CallResult) {
        if let (Some(log), Some(call)) = (&self.scheduler.log, logged)
            && let Err(error) = log.result(call, id, &result)
        {
            self.done.failure.get_or_insert(error);
            return;
        }
        self.done.concludes_turn |= result.concludes_turn();
        self.done.results.push(result);
    }

    /// Records a result for every call that was not started because the signal was cancelled.
    fn skip_rest(&mut self) {
        while self.done.failure.is_none()
            && let Some(input) = self.queue.pop_front()
        {
            let result = Draft::failure(aborted_before_dispatch(self.signal)).freeze();
            match self.scheduler.log.as_ref().map(|log| log.call(&input)).transpose() {
                Ok(logged) => self.record(logged.as_ref(), input.id, result),
                Err(error) => self.done.failure = Some(error),
            }
        }
    }
}
