//! What schedulers share: everything that runs while they attend to one call.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;

use crate::error::ToolError;
use crate::phase::Dispatched;
use crate::program::ProgramEnd;

/// What makes progress while a scheduler waits for one thing.
pub(crate) struct Background {
    pub(crate) engine: Option<BoxFuture<'static, Result<ProgramEnd, ToolError>>>,
    pub(crate) end: Option<Result<ProgramEnd, ToolError>>,
    pub(crate) bodies: FuturesUnordered<BoxFuture<'static, (u64, Dispatched)>>,
    pub(crate) settled: Vec<(u64, Dispatched)>,
    numbers: u64,
    pub(crate) log_tasks: FuturesUnordered<BoxFuture<'static, Result<(), ToolError>>>,
    pub(crate) log_failure: Option<ToolError>,
}

impl Background {
    /// A program and the bodies of its calls.
    pub(crate) fn around(engine: BoxFuture<'static, Result<ProgramEnd, ToolError>>) -> Self {
        Self { engine: Some(engine), ..Self::new() }
    }

    /// Bodies alone.
    pub(crate) fn new() -> Self {
        Self {
            engine: None,
            end: None,
            bodies: FuturesUnordered::new(),
            settled: Vec::new(),
            numbers: 0,
            log_tasks: FuturesUnordered::new(),
            log_failure: None,
        }
    }

    /// A number for a call that tells it from all others of this scheduler.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.engine.is_none() && self.bodies.is_empty() && self.log_tasks.is_empty()
    }

    /// Awaits one thing while everything else goes on. `close` is called when the program is over or the log failed,
    /// perhaps several times: the one thing may be waiting for just that.
    pub(crate) async fn attend<T>(
        &mut self,
        future: impl Future<Output = T>,
        mut close: impl FnMut(),
    ) -> T {
        let mut future = pin!(future);
        poll_fn(|task| {
            self.poll(task);
            if self.end.is_some() || self.log_failure.is_some() {
                close();
            }
            future.as_mut().poll(task)
        })
        .await
    }

    /// Polls everything once; answers whether something ended.
    fn poll(&mut self, task: &mut Context<'_>) -> bool {
        let mut has_changed = false;
        if let Some(engine) = &mut self.engine
            && let Poll::Ready(end) = engine.as_mut().poll(task)
        {
            self.engine = None;
            self.end = Some(end);
            has_changed = true;
        }
        while let Poll::Ready(Some(settled)) = self.bodies.poll_next_unpin(task) {
            self.settled.push(settled);
            has_changed = true;
        }
        while let Poll::Ready(Some(logged)) = self.log_tasks.poll_next_unpin(task) {
            has_changed = true;
            if let Err(error) = logged {
                self.log_failure.get_or_insert(error);
            }
        }
        has_changed
    }

    /// Waits until something ends, or `is_due` says that something else is to be done; it is
    /// asked again whenever the task it was given wakes.
    pub(crate) async fn wait_until(&mut self, mut is_due: impl FnMut(&mut Context<'_>) -> bool) {
        poll_fn(|task| {
            let is_due = is_due(task);
            if self.poll(task) || is_due { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
