//! What Code Mode asks of a program engine, and what an engine asks of Code Mode.

mod lines;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate_schema::{Json, Str};
use futures_util::future::BoxFuture;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::preflight::{Finding, ToolSignature};
use crate::signal::Signal;

pub use lines::Lines;

/// The languages a program may be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new language must be answered wherever one is matched"
)]
pub enum Language {
    /// TypeScript whose types are erased before it runs.
    TypeScript,
    /// Python.
    Python,
}

impl Language {
    /// Every language, in the order they are listed to people.
    pub const ALL: [Self; 2] = [Self::TypeScript, Self::Python];

    /// Its name in configuration and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::TypeScript => "typescript",
            Self::Python => "python",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How far a program is kept from the host. Reported, never assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Isolation {
    /// An interpreter in this process: limits hold where the interpreter can be interrupted.
    InProcess,
    /// A process of its own: limits, and a kill on the deadline.
    Worker,
    /// A process without files, network, processes and environment.
    WorkerConfined,
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InProcess => "in-process",
            Self::Worker => "worker",
            Self::WorkerConfined => "worker, confined",
        })
    }
}

/// Runs programs of one language.
///
/// # Cancellation
///
/// Dropping the future of [`run`](Self::run) stops the interpreter as soon as it can be stopped;
/// Code Mode itself never does that, it cancels the signal and waits.
pub trait ProgramEngine: Send + Sync + fmt::Debug + 'static {
    /// The language of its programs.
    fn language(&self) -> Language;

    /// How far its programs are kept from the host.
    fn isolation(&self) -> Isolation;

    /// Runs one program to its end. A program that fails is an `Ok` with a
    /// [`failure`](ProgramEnd::failure).
    ///
    /// # Errors
    ///
    /// Only for misuse (malformed namespaces, an engine that was shut down) or a defect inside.
    fn run(
        &self,
        program: Program,
        host: Arc<dyn ProgramHost>,
        signal: Signal,
    ) -> BoxFuture<'static, Result<ProgramEnd, EngineError>>;

    /// Says what is certainly wrong with a program, without running any of it. `tools` are the signatures it was
    /// shown. Code Mode asks before each run, and starts no program of which something is found. An engine that cannot
    /// look into its programs finds nothing; that is the default.
    ///
    /// What it finds must be certain: see [`preflight`](crate::preflight).
    ///
    /// # Cancellation
    ///
    /// Dropping the future stops the check; nothing of it stays.
    fn check<'a>(
        &'a self,
        program: &'a Program,
        tools: &'a [ToolSignature],
    ) -> BoxFuture<'a, Vec<Finding>> {
        let _ = (program, tools);
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// One program and what it can reach.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Program {
    /// The program text, as its author wrote it.
    pub source: Str,
    /// The objects it finds in its global scope.
    pub namespaces: Vec<Namespace>,
    /// The clock of the run: time spent waiting for people does not count.
    pub clock: RunClock,
    /// What tells the programs of one session from those of all others in this process, if it
    /// belongs to a session. Engines that keep something for the next program keep it for the same
    /// session only.
    pub session: Option<Str>,
}

impl Program {
    /// A program with a fresh clock, and of no session.
    pub fn new(source: impl Into<Str>, namespaces: Vec<Namespace>) -> Self {
        Self { source: source.into(), namespaces, clock: RunClock::default(), session: None }
    }
}

/// A global object of a program whose members are functions of the host.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Namespace {
    /// The name of the object.
    pub global: Str,
    /// The names of its functions: any strings.
    pub members: Vec<Str>,
    /// The class of the errors its functions reject with.
    pub error_class: Option<ErrorClass>,
}

impl Namespace {
    /// A namespace with the given functions.
    pub fn new(global: impl Into<Str>, members: Vec<Str>, error_class: Option<ErrorClass>) -> Self {
        Self { global: global.into(), members, error_class }
    }
}

/// The error class of a [`Namespace`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ErrorClass {
    /// The name of the class in the program.
    pub name: Str,
    /// The property that names the function which failed.
    pub member_property: Str,
}

impl ErrorClass {
    /// An error class.
    pub fn new(name: impl Into<Str>, member_property: impl Into<Str>) -> Self {
        Self { name: name.into(), member_property: member_property.into() }
    }
}

/// The side of a run that serves its calls.
pub trait ProgramHost: Send + Sync {
    /// One call of the program. Calls arrive in the order the program submitted them, from one
    /// thread at a time, and must not block it; the answer goes through `reply`.
    fn call(&self, call: ProgramCall, reply: Reply);
}

/// A call that a program made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProgramCall {
    /// The namespace it went to.
    pub global: Str,
    /// The function it named.
    pub member: Str,
    /// What it passed.
    pub arguments: Json,
}

impl ProgramCall {
    /// A call of `global.member(arguments)`.
    pub fn new(global: impl Into<Str>, member: impl Into<Str>, arguments: Json) -> Self {
        Self { global: global.into(), member: member.into(), arguments }
    }
}

type ReplyFn = dyn FnOnce(Result<Json, String>) + Send;

/// Answers one call. Dropped unsent, it answers with a failure.
pub struct Reply(Option<Box<ReplyFn>>);

impl Reply {
    /// A reply that hands its answer to `send`, which must not block.
    pub fn new(send: impl FnOnce(Result<Json, String>) + Send + 'static) -> Self {
        Self(Some(Box::new(send)))
    }

    /// Answers: the value, or the message of the failure.
    pub fn send(mut self, answer: Result<Json, String>) {
        if let Some(send) = self.0.take() {
            send(answer);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(send) = self.0.take() {
            send(Err("failed: the run is over, the call was not made".to_owned()));
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}

/// How a program ended.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ProgramEnd {
    /// What it returned, if it returned something and did not fail.
    pub value: Option<Json>,
    /// What it logged, one entry a call, in order.
    pub logs: Vec<Str>,
    /// Why it failed.
    pub failure: Option<ProgramFailure>,
}

/// Why a program failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProgramFailure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What happened, for the author of the program.
    pub message: String,
    /// Where in the author's text, if known.
    pub position: Option<Position>,
}

impl ProgramFailure {
    /// A failure without a position.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), position: None }
    }

    /// The same failure at a place in the author's text.
    pub fn at(mut self, position: Position) -> Self {
        self.position = Some(position);
        self
    }

    /// The message, and the lines of the program around the place of the failure, unless the message shows them
    /// already.
    ///
    /// ```
    /// use callgate_core::program::{FailureKind, Position, ProgramFailure};
    ///
    /// let failure = ProgramFailure::new(FailureKind::Exception, "Error: no").at(Position { line: 1, column: 1 });
    /// assert_eq!(failure.in_source("throw new Error('no')"), "Error: no\n> 1 | throw new Error('no')\n    | ^");
    /// ```
    pub fn in_source(&self, source: &str) -> String {
        let Some(position) = self.position else { return self.message.clone() };
        let frame = Lines::new(source).frame(position);
        let frame = frame.trim_end();
        if self.message.contains(frame) {
            return self.message.clone();
        }
        format!("{}\n{frame}", self.message)
    }
}

/// A place in a program's text. Both count from 1; columns count Unicode scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a place in a text has a line and a column")]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// The kinds of failure a run can end with; exactly one applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// The program threw, or could not be parsed.
    Exception,
    /// It used up its compute budget or its wall time.
    Timeout,
    /// It was cancelled.
    Abort,
    /// Its interpreter died or ran out of memory.
    WorkerExit,
    /// It returned something that is not lossless JSON.
    InvalidOutput,
    /// It printed or returned more than is allowed.
    OutputLimit,
}

impl FailureKind {
    /// The stable name, as the log and the model see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exception => "exception",
            Self::Timeout => "timeout",
            Self::Abort => "abort",
            Self::WorkerExit => "worker-exit",
            Self::InvalidOutput => "invalid-output",
            Self::OutputLimit => "output-limit",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An engine that could not run a program at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError(Arc<str>);

impl EngineError {
    /// An error with a message that says what to do.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EngineError {}

/// Keeps the time a run, or a call, spent waiting for people, which counts against none of its
/// limits.
#[derive(Clone, Default)]
pub struct RunClock(Arc<ClockState>);

#[derive(Default)]
struct ClockState {
    parent: Option<RunClock>,
    times: Mutex<Times>,
    resumed: Notify,
}

#[derive(Default)]
struct Times {
    /// How many pauses are open.
    pauses: usize,
    /// Since when it stands still.
    since: Option<Instant>,
    /// How long it stood still before.
    waited: Duration,
}

impl RunClock {
    /// A clock for a part of the work: it stands still for its own pauses only, which stop this
    /// clock too.
    pub fn child(&self) -> Self {
        Self(Arc::new(ClockState { parent: Some(self.clone()), ..ClockState::default() }))
    }

    /// Stops the clock until the returned guard is dropped. Pauses may overlap.
    #[must_use]
    pub fn pause(&self) -> ClockPause {
        let now = Instant::now();
        for clock in self.upwards() {
            let mut times = clock.times();
            times.pauses += 1;
            times.since.get_or_insert(now);
        }
        ClockPause(self.clone())
    }

    /// How long it stood still so far.
    pub fn waited(&self) -> Duration {
        let times = self.times();
        times.waited.saturating_add(times.since.map_or(Duration::ZERO, |since| since.elapsed()))
    }

    /// Waits until this much time has passed, not counting the time the clock stands still.
    ///
    /// # Panics
    ///
    /// When polled outside a tokio runtime with its timer enabled, as all of tokio's timers do.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses nothing.
    ///
    /// ```
    /// use callgate_core::program::RunClock;
    /// use std::time::Duration;
    /// use tokio::time::{Instant, sleep};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let (clock, start) = (RunClock::default(), Instant::now());
    /// let asking = async {
    ///     let _pause = clock.pause();
    ///     sleep(Duration::from_secs(60)).await;
    /// };
    /// tokio::join!(asking, clock.sleep(Duration::from_secs(1)));
    /// assert_eq!(start.elapsed().as_secs(), 61);
    /// # }
    /// ```
    pub async fn sleep(&self, duration: Duration) {
        let (start, before) = (Instant::now(), self.waited());
        loop {
            let waited = self.waited().saturating_sub(before);
            let left = duration.saturating_sub(start.elapsed().saturating_sub(waited));
            if left.is_zero() {
                return;
            }
            if !self.resume().await {
                tokio::time::sleep(left).await;
            }
        }
    }

    /// Waits while the clock stands still; answers whether it did.
    async fn resume(&self) -> bool {
        let mut did_wait = false;
        loop {
            let resumed = self.0.resumed.notified();
            if self.times().pauses == 0 {
                return did_wait;
            }
            resumed.await;
            did_wait = true;
        }
    }

    /// This clock and those it is a part of.
    fn upwards(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |clock| clock.0.parent.as_ref())
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.0.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RunClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunClock").field("waited", &self.waited()).finish()
    }
}

/// A [`RunClock`] that stands still as long as this lives.
#[derive(Debug)]
pub struct ClockPause(RunClock);

impl Drop for ClockPause {
    fn drop(&mut self) {
        for clock in self.0.upwards() {
            let mut times = clock.times();
            times.pauses -= 1;
            if times.pauses == 0
                && let Some(since) = times.since.take()
            {
                times.waited = times.waited.saturating_add(since.elapsed());
                drop(times);
                clock.0.resumed.notify_waiters();
            }
        }
    }
}
