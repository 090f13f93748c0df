//! Runs on threads of this process.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use callgate_core::program::{
    EngineError, FailureKind, Program, ProgramCall, ProgramEnd, ProgramFailure, ProgramHost, Reply,
};
use callgate_core::{Cause, Signal};
use callgate_schema::Json;
use futures_util::future::{self, Either};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::ledger::Ledger;
use crate::limits::Limits;
use crate::quickjs::{Assignment, run_one};
use crate::transport::{Answer, Event, Outgoing, TOO_MANY, Transport};

/// Stack that the host's side of a run needs besides the interpreter.
const HOST_STACK: usize = 1 << 20;
/// Threads that are kept, each with a fresh interpreter, for the next runs.
const SPARE_THREADS: usize = 2;
/// More runs at a time than any machine has room for.
const MOST_RUNS: u32 = 1 << 20;
/// How long a spare thread is kept.
const SPARE_TIME: Duration = Duration::from_secs(10);

/// Runs programs on threads, one program a thread at a time, each in an interpreter of its own.
#[derive(Clone)]
pub(crate) struct Threads(Arc<Pool>);

struct Pool {
    limits: Limits,
    /// Cancelled when the engine is shut down.
    closed: Signal,
    /// One permit a run, until its interpreter is gone.
    runs: Arc<Semaphore>,
    spare: Mutex<Spare>,
}

#[derive(Default)]
struct Spare {
    /// The ways to the threads that wait for a program.
    idle: Vec<(u64, Sender<Job>)>,
    last: u64,
}

/// One program on its way to a thread.
struct Job {
    program: Program,
    host: Arc<dyn ProgramHost>,
    signal: Signal,
    abandoned: Arc<AtomicBool>,
    inbox: (Sender<Message>, Receiver<Message>),
    done: oneshot::Sender<Outcome>,
    permit: OwnedSemaphorePermit,
}

type Outcome = Result<ProgramEnd, EngineError>;

enum Message {
    /// An answer, and what it counts in the backlog.
    Answer(Answer, usize),
    Wake,
}

impl Threads {
    pub(crate) fn new(limits: Limits) -> Self {
        let runs = Arc::new(Semaphore::new(MOST_RUNS as usize));
        Self(Arc::new(Pool { limits, closed: Signal::new(), runs, spare: Mutex::default() }))
    }

    /// Cancels all runs, waits until their interpreters are gone, and takes no more.
    pub(crate) async fn shut_down(&self) {
        self.0.closed.cancel(Cause::new("shut-down", "the engine was shut down"));
        // Fails only for a closed semaphore, and this one never is.
        let _ = self.0.runs.acquire_many(MOST_RUNS).await;
        self.0.spare().idle.clear();
    }

    /// Runs one program.
    ///
    /// # Cancellation
    ///
    /// Dropping the future stops the interpreter as soon as it can be interrupted, and waits for nothing.
    pub(crate) async fn run(
        self,
        program: Program,
        host: Arc<dyn ProgramHost>,
        signal: Signal,
    ) -> Outcome {
        let runs = self.0.runs.clone();
        let permit = runs
            .try_acquire_owned()
            .map_err(|_| EngineError::new("too many programs run at a time"))?;
        if self.0.closed.is_cancelled() {
            return Err(EngineError::new("the engine was shut down"));
        }
        let signal = Signal::either(&self.0.closed, &signal);
        if let Some(cause) = signal.cause() {
            let failure = ProgramFailure::new(FailureKind::Abort, cause.to_string());
            return Ok(Ledger::new(self.0.limits.output).fail(failure));
        }
        let (done, mut outcome) = oneshot::channel();
        let inbox = mpsc::channel();
        let abandoned = Abandoned { flag: Arc::default(), wake: inbox.0.clone() };
        let job = Job {
            program,
            host,
            signal: signal.clone(),
            abandoned: abandoned.flag.clone(),
            inbox,
            done,
            permit,
        };
        self.start(job)?;
        let cancelled = std::pin::pin!(signal.cancelled());
        let outcome = match future::select(&mut outcome, cancelled).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(((), _)) => {
                // The thread may be gone already.
                let _ = abandoned.wake.send(Message::Wake);
                outcome.await
            }
        };
        outcome.unwrap_or_else(|_| Err(EngineError::new("the thread of the program is gone")))
    }

    /// Gives a job to a spare thread, or to a new one.
    fn start(&self, mut job: Job) -> Result<(), EngineError> {
        while let Some((_, thread)) = self.0.spare().idle.pop() {
            match thread.send(job) {
                Ok(()) => return Ok(()),
                Err(mpsc::SendError(returned)) => job = returned,
            }
        }
        let (pool, limits) = (Arc::downgrade(&self.0), self.0.limits.clone());
        let thread = thread::Builder::new().name("callgate-program".to_owned());
        let thread = thread.stack_size(limits.stack.saturating_add(HOST_STACK));
        thread
            .spawn(move || serve(&limits, &pool, job))
            .map(drop)
            .map_err(|error| EngineError::new(format!("no thread for the program: {error}")))
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}

impl Pool {
    fn spare(&self) -> std::sync::MutexGuard<'_, Spare> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the thread of a run that nobody waits for it any more.
struct Abandoned {
    flag: Arc<AtomicBool>,
    wake: Sender<Message>,
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.flag.store(true, Ordering::Release);
        // The thread may be gone already.
        let _ = self.wake.send(Message::Wake);
    }
}

/// The life of a thread: one program, then whatever comes next.
fn serve(limits: &Limits, pool: &Weak<Pool>, first: Job) {
    let mut given = Some(first);
    loop {
        let taken: Mutex<Option<Caller>> = Mutex::default();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            run_one(limits, limits.stack + HOST_STACK / 2, || {
                let job = given.take().or_else(|| next_job(pool))?;
                let (assignment, caller) = job.assignment(limits.memory);
                *taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(caller);
                Some(assignment)
            })
        }));
        let taken = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Some(Caller { done, permit }) = taken else { return };
        let outcome = match ended {
            Ok(Some(end)) => Ok(end),
            Ok(None) => Err(EngineError::new("the program was not run")),
            Err(panic) => {
                Err(EngineError::new(format!("the interpreter failed: {}", text_of(&*panic))))
            }
        };
        // Nobody may be waiting any more.
        let _ = done.send(outcome);
        drop(permit);
    }
}

/// Where the outcome of a program goes, and what says that the program still runs.
struct Caller {
    done: oneshot::Sender<Outcome>,
    permit: OwnedSemaphorePermit,
}

/// Waits for the next program, for a while, unless enough threads wait already.
fn next_job(pool: &Weak<Pool>) -> Option<Job> {
    let (thread, jobs) = mpsc::channel();
    let id = {
        let pool = pool.upgrade()?;
        let mut spare = pool.spare();
        if spare.idle.len() >= SPARE_THREADS {
            return None;
        }
        spare.last += 1;
        let id = spare.last;
        spare.idle.push((id, thread));
        id
    };
    match jobs.recv_timeout(SPARE_TIME) {
        Ok(job) => return Some(job),
        Err(RecvTimeoutError::Disconnected) => return None,
        Err(RecvTimeoutError::Timeout) => {}
    }
    let pool = pool.upgrade()?;
    let mut spare = pool.spare();
    if let Some(at) = spare.idle.iter().position(|(waiting, _)| *waiting == id) {
        spare.idle.remove(at);
        return None;
    }
    // Somebody took the way here in this very moment.
    drop(spare);
    jobs.recv().ok()
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}

impl Job {
    fn assignment(self, memory: usize) -> (Assignment, Caller) {
        let Self { program, host, signal, abandoned, inbox, done, permit } = self;
        let (answers, inbox) = inbox;
        let cancelled = move || {
            let cause = signal.cause().map(ToString::to_string);
            cause.or_else(|| {
                abandoned.load(Ordering::Acquire).then(|| "nobody waits for the run".to_owned())
            })
        };
        let assignment = Assignment {
            source: program.source,
            namespaces: program.namespaces,
            clock: program.clock,
            transport: Box::new(Channel { host, answers, inbox, backlog: Backlog::new(memory) }),
            cancelled: Box::new(cancelled),
        };
        (assignment, Caller { done, permit })
    }
}

/// Answers that wait for a program, in bytes: no more than it could hold.
#[derive(Clone)]
struct Backlog {
    room: usize,
    waiting: Arc<AtomicUsize>,
}

impl Backlog {
    fn new(room: usize) -> Self {
        Self { room, waiting: Arc::default() }
    }

    /// Takes an answer in, or another one in its place; and what that counts. One always has room.
    fn add(&self, answer: Answer) -> (Answer, usize) {
        let weight = match &answer.result {
            Ok(value) => weight(value, self.room),
            Err(message) => message.len(),
        };
        let add = |waiting: usize| {
            let sum = waiting.saturating_add(weight);
            (waiting == 0 || sum <= self.room).then_some(sum)
        };
        let added = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        if added.is_ok() {
            return (answer, weight);
        }
        (Answer { id: answer.id, result: Err(TOO_MANY.to_owned()) }, 0)
    }

    fn remove(&self, weight: usize) {
        self.waiting.fetch_sub(weight, Ordering::Relaxed);
    }
}

/// How many bytes a value takes, about; more than `most` are not counted.
fn weight(value: &Json, most: usize) -> usize {
    let mut sum = 0_usize;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        sum += size_of::<Json>();
        match value {
            Json::String(text) => sum += text.len(),
            Json::Array(items) => open.extend(items.iter()),
            Json::Object(members) => {
                for (name, value) in members.iter() {
                    sum += name.len();
                    open.push(value);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
        if sum > most {
            break;
        }
    }
    sum
}

/// The calls of a run, straight to the host.
struct Channel {
    host: Arc<dyn ProgramHost>,
    answers: Sender<Message>,
    inbox: Receiver<Message>,
    backlog: Backlog,
}

impl Transport for Channel {
    fn call(&mut self, call: Outgoing) {
        let Outgoing { id, global, member, arguments } = call;
        let (answers, backlog) = (self.answers.clone(), self.backlog.clone());
        let reply = Reply::new(move |result| {
            let (answer, weight) = backlog.add(Answer { id, result });
            // The run may be over.
            let _ = answers.send(Message::Answer(answer, weight));
        });
        // A host that panics has dropped the reply, and that is an answer.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            self.host.call(ProgramCall::new(global, member, arguments), reply);
        }));
    }

    fn log(&mut self, _entry: &str) {}

    fn poll(&mut self) -> Option<Answer> {
        loop {
            match self.inbox.try_recv() {
                Ok(Message::Answer(answer, weight)) => {
                    self.backlog.remove(weight);
                    return Some(answer);
                }
                Ok(Message::Wake) => {}
                Err(_) => return None,
            }
        }
    }

    fn wait(&mut self, deadline: Instant) -> Event {
        match self.inbox.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Message::Answer(answer, weight)) => {
                self.backlog.remove(weight);
                Event::Answer(answer)
            }
            Ok(Message::Wake) | Err(_) => Event::Wake,
        }
    }
}
