//! One run as its host sees it: the program goes out, calls come in, answers go back, and whatever
//! happens there is one end.
//!
//! The run is polled in the future of its caller, not on a thread of its own: a call then wakes
//! the task that serves it directly, which halves what a call costs. What must happen in time
//! whatever the caller's executor does, the killing, is done by [`deadline`](super::deadline).

use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use callgate_core::Signal;
use callgate_core::program::{
    EngineError, FailureKind, Isolation, Program, ProgramCall, ProgramEnd, ProgramFailure,
    ProgramHost,
};
use callgate_schema::Str;
use futures_util::future::{self, Either};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::deadline::{Watched, after, watch};
use super::declared::Declared;
use super::failure;
use super::frame::Received;
use super::limit::Limit;
use super::link::{Link, Verdict};
use super::message::{self, Ended, ToHost};
use super::pool::{Pool, Taken, Worker, no_thread};
use crate::ledger::Ledger;
use crate::limits::Limits;
use crate::transport::Outgoing;

/// How long a worker that was asked to stop may take.
const GRACE: Duration = Duration::from_millis(100);
/// Frames that are handled before others of the same task have their turn.
const FRAMES_A_TURN: u32 = 128;

/// One program on its way to a worker.
pub(crate) struct Task {
    pub(crate) program: Program,
    pub(crate) host: Arc<dyn ProgramHost>,
    pub(crate) signal: Signal,
    pub(crate) limits: Limits,
    /// How far the worker must be confined.
    pub(crate) level: Isolation,
    pub(crate) session: Option<Str>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) started: Instant,
}

type Outcome = Result<ProgramEnd, EngineError>;

/// Runs one program to its end.
///
/// # Cancellation
///
/// Dropping the future ends the worker and waits for nothing.
pub(crate) async fn run(task: Task) -> Outcome {
    let worker = match take_worker(&task).await {
        Ok(worker) => worker,
        Err(outcome) => return outcome,
    };
    match attach(&worker) {
        Some(socket) => Run::new(task, worker, socket).drive().await,
        None => elsewhere(task, worker).await,
    }
}

/// Waits for a worker, unless the run is cancelled first.
async fn take_worker(task: &Task) -> Result<Worker, Outcome> {
    let aborted = || {
        let cause = task.signal.cause().map_or_else(String::new, ToString::to_string);
        let failure = ProgramFailure::new(FailureKind::Abort, cause);
        Err(Ok(Ledger::new(task.limits.output).fail(failure)))
    };
    if task.signal.is_cancelled() {
        return aborted();
    }
    let mut starting = match task.pool.take(task.session.as_ref()) {
        Taken::Now(worker) => return Ok(worker),
        Taken::Later(starting) => starting,
    };
    match future::select(&mut starting, pin!(task.signal.cancelled())).await {
        Either::Left((started, _)) => started.unwrap_or_else(|_| Err(no_thread())).map_err(Err),
        Either::Right(((), _)) => aborted(),
    }
}

/// Runs a program where the runtime at hand, if there is one, does not watch sockets.
async fn elsewhere(task: Task, worker: Worker) -> Outcome {
    let (mut done, outcome) = oneshot::channel();
    let here = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let Ok(runtime) = runtime else { return };
        let outcome = runtime.block_on(async {
            let socket = attach(&worker)?;
            let run = pin!(Run::new(task, worker, socket).drive());
            match future::select(run, pin!(done.closed())).await {
                Either::Left((outcome, _)) => Some(outcome),
                Either::Right(((), _)) => None,
            }
        });
        if let Some(outcome) = outcome {
            // Nobody may be waiting any more.
            let _ = done.send(outcome);
        }
    };
    let failed = || EngineError::new("the program could not be run: no thread watches its worker");
    std::thread::Builder::new()
        .name("callgate-run".to_owned())
        .spawn(here)
        .map_err(|_| failed())?;
    outcome.await.unwrap_or_else(|_| Err(failed()))
}

/// Has the socket of a worker watched by the runtime at hand, if that can.
fn attach(worker: &Worker) -> Option<UnixStream> {
    Handle::try_current().ok()?;
    let socket = worker.socket.try_clone().ok()?;
    // Nothing tells whether a runtime watches sockets, but that it panics if it does not.
    let attached = catch_unwind(AssertUnwindSafe(|| UnixStream::from_std(socket)));
    attached.ok()?.ok()
}

struct Run {
    task: Task,
    socket: UnixStream,
    worker: Worker,
    link: Arc<Link>,
    declared: Declared,
    ledger: Ledger,
    /// What the worker said about the end of the program.
    ended: Option<Ended>,
    /// The number of the last call that was served. A number is served once.
    last_call: u64,
    /// Whether the program was sent.
    is_sent: bool,
    cancelled: Pin<Box<dyn Future<Output = ()> + Send>>,
    limit: Arc<Limit>,
    watched: Watched,
    /// Frames handled in this turn.
    frames: u32,
}

/// What the worker is up to.
enum Event {
    Said(ToHost),
    Closed,
    TooLong,
    NoRuntime,
}

impl Run {
    fn new(task: Task, worker: Worker, socket: UnixStream) -> Self {
        let link = Arc::new(Link::new(task.limits.memory));
        let limit = Limit::new(
            link.clone(),
            worker.leash.clone(),
            task.program.clock.clone(),
            task.started,
            &task.limits,
        );
        let limit = Arc::new(limit);
        let watched = watch(limit.first(), limit.clone());
        Self {
            socket,
            link,
            declared: Declared::new(&task.program.namespaces),
            ledger: Ledger::new(task.limits.output),
            ended: None,
            last_call: 0,
            is_sent: false,
            cancelled: Box::pin(task.signal.cancelled()),
            limit,
            watched,
            frames: 0,
            worker,
            task,
        }
    }

    async fn drive(mut self) -> Outcome {
        if self.worker.is_ready {
            self.send_program();
        }
        while self.link.verdict().is_none() {
            match poll_fn(|cx| self.poll(cx)).await {
                Some(Event::Said(message)) => self.serve(message),
                Some(Event::Closed) => self.decide(Verdict::Gone),
                Some(Event::TooLong) => self.decide(Verdict::TooLong),
                Some(Event::NoRuntime) => self.decide(Verdict::NoRuntime),
                None => {}
            }
        }
        let verdict = self.link.verdict().cloned().unwrap_or(Verdict::Gone);
        self.end(verdict).await
    }

    fn decide(&self, verdict: Verdict) {
        // Whatever came first stays.
        let _ = self.link.decide(verdict);
    }

    fn send_program(&mut self) {
        self.is_sent = true;
        self.worker.runs += 1;
        self.limit.begin();
        self.watched.look_by(self.limit.first());
        let Program { source, namespaces, .. } = &self.task.program;
        if self.link.push(|out| message::program(out, source, namespaces)).is_err() {
            let message = "the program is too large to be sent to a worker";
            let failure = ProgramFailure::new(FailureKind::Exception, message);
            self.ended = Some(Err(failure));
            self.decide(Verdict::Ended);
        }
    }

    /// Waits for the next thing that happens; nothing more happens once the run has ended.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.link.wake(cx);
        if self.cancelled.as_mut().poll(cx).is_ready() {
            let cause = self.task.signal.cause().map_or_else(String::new, ToString::to_string);
            self.decide(Verdict::Aborted(cause));
        }
        if self.link.verdict().is_some() {
            return Poll::Ready(None);
        }
        self.poll_flush(cx);
        // Whoever makes calls and lets nobody answer them has to wait.
        let is_full = self.link.held() > self.task.limits.memory;
        self.poll_said(cx, is_full).map(Some)
    }

    fn poll_flush(&self, cx: &mut Context<'_>) {
        // Most of the time there is room, and nothing needs to be asked.
        while !self.link.flush(&self.worker.socket) {
            let Poll::Ready(Ok(())) = self.socket.poll_write_ready(cx) else { return };
            let flush = || {
                let is_done = self.link.flush(&self.worker.socket);
                if is_done { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
            };
            // That it would block is what the socket has to learn.
            let _ = self.socket.try_io(Interest::WRITABLE, flush);
        }
    }

    /// The next frame that makes sense. With `is_full` none is read that did not arrive yet.
    fn poll_said(&mut self, cx: &mut Context<'_>, is_full: bool) -> Poll<Event> {
        loop {
            if self.frames >= FRAMES_A_TURN {
                self.frames = 0;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.frames += 1;
            match self.worker.inbox.next(ToHost::read) {
                Ok(Some(Some(message))) => return Poll::Ready(Event::Said(message)),
                Ok(Some(None)) => continue,
                Ok(None) => {}
                Err(_) => return Poll::Ready(Event::TooLong),
            }
            let readable = if is_full { Poll::Pending } else { self.socket.poll_read_ready(cx) };
            let Poll::Ready(readable) = readable else {
                self.frames = 0;
                return Poll::Pending;
            };
            if readable.is_err() {
                return Poll::Ready(Event::NoRuntime);
            }
            let Worker { inbox, socket, .. } = &mut self.worker;
            let received =
                self.socket.try_io(Interest::READABLE, || match inbox.receive(&*socket, false) {
                    Received::Nothing => Err(io::ErrorKind::WouldBlock.into()),
                    received => Ok(received),
                });
            if matches!(received, Ok(Received::Closed)) {
                return Poll::Ready(Event::Closed);
            }
        }
    }

    fn serve(&mut self, message: ToHost) {
        match message {
            ToHost::Ready(confinement) if !self.worker.is_ready => {
                if confinement.isolation() < self.task.level {
                    self.decide(Verdict::Unconfined);
                    return;
                }
                self.worker.is_ready = true;
                self.send_program();
            }
            // Before it was given a program a worker has nothing else to say, and only once that.
            ToHost::Ready(_) => {}
            _ if !self.is_sent => {}
            ToHost::Call { call, size } => self.call(call, size),
            ToHost::Log(entry) => {
                if self.ledger.log(&entry).is_err() {
                    self.decide(Verdict::Output);
                }
            }
            ToHost::End(ended) => {
                self.ended = Some(ended);
                self.decide(Verdict::Ended);
            }
        }
    }

    fn call(&mut self, call: Outgoing, size: usize) {
        let Outgoing { id, global, member, arguments } = call;
        if id <= self.last_call {
            return;
        }
        self.last_call = id;
        let reply = self.link.reply(id, size);
        if !self.declared.has(&global, &member) {
            let message = format!("unavailable: `{global}` has no function `{member}`");
            reply.send(Err(message));
            return;
        }
        let call = ProgramCall::new(global, member, arguments);
        // A host that panics has dropped the reply, and that is an answer.
        let _ = catch_unwind(AssertUnwindSafe(|| self.task.host.call(call, reply)));
    }

    /// Ends the program, and its worker too unless that can run another one.
    async fn end(mut self, verdict: Verdict) -> Outcome {
        self.link.close();
        let is_done = match verdict {
            Verdict::Ended => true,
            Verdict::Aborted(_) if self.is_sent && !self.worker.serves_one => self.stop().await,
            _ => {
                self.worker.leash.kill();
                self.last_words().await;
                false
            }
        };
        let is_reusable = is_done && self.link.flush(&self.worker.socket);
        let Self { task, socket, worker, ledger, ended, is_sent, limit, watched, .. } = self;
        limit.end();
        drop((socket, watched));
        let worker = if is_reusable {
            task.pool.give_back(task.session.as_ref(), worker, task.started.elapsed())
        } else {
            Err(worker)
        };
        let status = match worker {
            Ok(()) => None,
            // What it had to say is said, and nobody needs to wait for a process that is killed.
            Err(worker) if worker.serves_one && verdict == Verdict::Ended => {
                drop(worker.leash.bury());
                None
            }
            Err(worker) => worker.leash.bury().await,
        };
        match verdict {
            Verdict::Ended => match ended {
                Some(Err(failure)) => Ok(ledger.fail(failure)),
                ended => Ok(ledger.finish(ended.and_then(Result::ok).flatten())),
            },
            Verdict::Output => Ok(ledger.overflow()),
            verdict => failure::of(&verdict, status, &task.limits, is_sent)
                .map(|failure| ledger.fail(failure)),
        }
    }

    /// Asks the worker to stop the program; whether it did in time.
    async fn stop(&mut self) -> bool {
        let by = after(Instant::now(), GRACE);
        self.limit.kill_at(by);
        self.watched.look_by(by);
        // An empty frame always fits.
        let _ = self.link.push(message::stop);
        self.last_words().await
    }

    /// Takes in what the worker still has to say; whether the last of it was that the program is
    /// over.
    async fn last_words(&mut self) -> bool {
        poll_fn(|cx| {
            self.link.wake(cx);
            self.poll_flush(cx);
            loop {
                match ready!(self.poll_said(cx, false)) {
                    Event::Said(ToHost::End(_)) => return Poll::Ready(true),
                    Event::Said(ToHost::Log(entry)) => {
                        // What does not fit is cut where the run ends.
                        let _ = self.ledger.log(&entry);
                    }
                    Event::Said(_) => {}
                    Event::Closed | Event::TooLong | Event::NoRuntime => return Poll::Ready(false),
                }
            }
        })
        .await
    }
}
