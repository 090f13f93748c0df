//! The life of one program: compile, run until it settles, say how it ended.

use std::rc::Rc;
use std::time::Instant;

use callgate_core::program::{FailureKind, Lines, Namespace, ProgramEnd, ProgramFailure, RunClock};
use callgate_schema::{Json, Str};
use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Promise, Runtime, Value};

use super::failure::{self, Author};
use super::raw::{self, Memory, Metered};
use super::read::{self, Refused, Room};
use super::realm::{Captured, Realm};
use super::rejections::Rejections;
use super::session::Session;
use super::watch::{Stop, Watch};
use crate::ledger::Ledger;
use crate::limits::Limits;
use crate::strip::strip_within;
use crate::transport::{Answer, Event, Transport};

/// The name of the program in stack traces.
pub(super) const FILE: &str = "program.ts";
/// What stands in front of the program: two lines, so that its own first line can be the first.
const HEAD: &str = "export default (0, async function () {\n\n";
const TAIL: &str = "\n})";
/// The number of the first line of [`HEAD`].
const FIRST_LINE: i32 = -1;

/// A program, and what it runs with.
pub(crate) struct Assignment {
    pub(crate) source: Str,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) clock: RunClock,
    pub(crate) transport: Box<dyn Transport>,
    /// Says why the run was cancelled, once it was.
    pub(crate) cancelled: Box<dyn Fn() -> Option<String>>,
}

/// Makes a fresh interpreter, takes one program, runs it to its end and destroys the interpreter.
///
/// `stack` is how much stack of this thread is left. Whoever gives no program gets nothing back.
pub(crate) fn run_one(
    limits: &Limits,
    stack: usize,
    next: impl FnOnce() -> Option<Assignment>,
) -> Option<ProgramEnd> {
    let memory = Memory::unlimited();
    let watch = Rc::new(Watch::new(limits.clone(), memory.clone()));
    let rejections = Rc::new(Rejections::default());
    let Ok(context) = interpreter(limits, memory, &watch, &rejections) else {
        return next().map(|_| no_interpreter(limits));
    };
    context.with(|ctx| {
        let Ok(session) = Session::new(&ctx, watch, limits.memory) else {
            return next().map(|_| no_interpreter(limits));
        };
        let cleared = Cleared { session, rejections: &rejections };
        let assignment = next()?;
        let realm = cleared.session.realm();
        let run = Run {
            ctx,
            session: &cleared.session,
            realm: &realm,
            rejections: &rejections,
            limits,
            stack,
        };
        Some(run.run(assignment))
    })
}

fn interpreter(
    limits: &Limits,
    memory: Rc<Memory>,
    watch: &Rc<Watch>,
    rejections: &Rc<Rejections>,
) -> rquickjs::Result<Context> {
    let runtime = Runtime::new_with_alloc(Metered(memory))?;
    runtime.set_max_stack_size(limits.stack);
    let (interrupted, rejected) = (watch.clone(), rejections.clone());
    runtime.set_interrupt_handler(Some(Box::new(move || interrupted.poll())));
    runtime.set_host_promise_rejection_tracker(Some(Box::new(
        move |ctx, promise, reason, handled| rejected.track(&ctx, promise, reason, handled),
    )));
    Context::full(&runtime)
}

fn no_interpreter(limits: &Limits) -> ProgramEnd {
    let message = format!("no interpreter fits into {} bytes of memory: allow more", limits.memory);
    Ledger::new(limits.output).fail(ProgramFailure::new(FailureKind::WorkerExit, message))
}

/// Takes every value of the interpreter back before the interpreter goes, even after a panic.
struct Cleared<'a, 'js> {
    session: Rc<Session<'js>>,
    rejections: &'a Rejections,
}

impl Drop for Cleared<'_, '_> {
    fn drop(&mut self) {
        self.rejections.clear();
        self.session.clear();
    }
}

struct Run<'a, 'js> {
    ctx: Ctx<'js>,
    session: &'a Rc<Session<'js>>,
    realm: &'a Realm<'js>,
    rejections: &'a Rejections,
    limits: &'a Limits,
    stack: usize,
}

/// How a program ended by itself.
type Settled<'js> = Result<Value<'js>, ProgramFailure>;

impl<'js> Run<'_, 'js> {
    fn run(&self, assignment: Assignment) -> ProgramEnd {
        let Assignment { source, namespaces, clock, transport, cancelled } = assignment;
        let author = Author { lines: Lines::new(&source), namespaces: &namespaces };
        let watch = &self.realm.watch;
        watch.arm(clock, cancelled);
        watch.resume();
        let ledger = Ledger::new(self.limits.output);
        let opened = self.session.open(&self.ctx, &namespaces, transport, ledger);
        let settled = opened.map_err(|_| self.defect()).and_then(|()| {
            let promise = self.start(&source, &author)?;
            let value = self.drive(&promise, &author)?;
            self.check_rejections(&author)?;
            self.returned(value)
        });
        let ledger = self.session.close().unwrap_or_else(|| Ledger::new(self.limits.output));
        match (watch.stopped(), settled) {
            (Some(Stop::Output), _) => ledger.overflow(),
            (Some(stop), _) => ledger.fail(watch.failure(stop)),
            (None, Err(failure)) => ledger.fail(failure),
            (None, Ok(value)) => ledger.finish(value),
        }
    }

    /// What the program returned, if it returned something.
    fn returned(&self, value: Value<'js>) -> Result<Option<Json>, ProgramFailure> {
        if value.is_undefined() {
            return Ok(None);
        }
        let text = usize::try_from(self.session.output_left()).unwrap_or(usize::MAX);
        let room = Room { text, memory: self.limits.memory };
        match read::read(self.realm, value, "value", room) {
            Ok((value, _)) => Ok(Some(value)),
            Err(Refused::Value(why)) => {
                let message = format!("the returned value must be lossless JSON; {why}");
                Err(ProgramFailure::new(FailureKind::InvalidOutput, message))
            }
            Err(Refused::TooLarge) => {
                self.realm.watch.stop(Stop::Output);
                Err(self.defect())
            }
            Err(Refused::Stopped) => Err(self.defect()),
        }
    }

    /// Compiles the program and runs it up to its first `await`.
    fn start(&self, source: &str, author: &Author<'_>) -> Result<Promise<'js>, ProgramFailure> {
        let javascript = strip_within(source, self.stack).map_err(|error| {
            let failure = ProgramFailure::new(FailureKind::Exception, error.to_string());
            match error.problems().first() {
                Some(problem) => failure.at(problem.position),
                None => failure,
            }
        })?;
        let wrapped = [HEAD, &javascript, TAIL].concat();
        let function = raw::compile(&self.ctx, &wrapped, FILE, FIRST_LINE).map_err(|_| {
            let thrown = self.ctx.catch();
            failure::syntax(self.realm, &thrown, author)
        })?;
        self.realm.watch.limit_memory();
        if self.realm.watch.tripped() {
            return Err(self.defect());
        }
        function.call(()).map_err(|_| self.thrown(author))
    }

    /// Runs jobs, answers and timers until the program settles.
    fn drive(&self, promise: &Promise<'js>, author: &Author<'_>) -> Settled<'js> {
        loop {
            while promise.state() == PromiseState::Pending && !self.realm.watch.tripped() {
                if !self.ctx.execute_pending_job() {
                    self.next_event(author)?;
                }
            }
            if self.realm.watch.stopped().is_some() {
                return Err(self.defect());
            }
            match promise.result() {
                Some(Ok(value)) => return Ok(value),
                Some(Err(_)) => return Err(self.thrown(author)),
                None => {}
            }
        }
    }

    /// Handles one answer or one timer, waiting for it if need be.
    fn next_event(&self, author: &Author<'_>) -> Result<(), ProgramFailure> {
        loop {
            if let Some(answer) =
                self.session.with_transport(|transport| transport.poll()).flatten()
            {
                return self.answer(answer);
            }
            let due = self.session.timers().take_due();
            if let Some((callback, arguments)) = due {
                let undefined = Value::new_undefined(self.ctx.clone());
                let call = [callback.into_value(), undefined.clone(), arguments];
                return match self.realm.call(Captured::Apply, &undefined, &call) {
                    Ok(_) => Ok(()),
                    Err(_) => Err(self.thrown(author)),
                };
            }
            if self.session.is_idle() {
                self.check_rejections(author)?;
                return Err(ProgramFailure::new(FailureKind::Exception, NEVER_FINISHES));
            }
            if let Some(answer) = self.wait() {
                return self.answer(answer);
            }
            if self.realm.watch.poll() {
                return Ok(());
            }
        }
    }

    fn answer(&self, answer: Answer) -> Result<(), ProgramFailure> {
        self.session.answer(&self.ctx, answer).map_err(|_| self.defect())
    }

    /// Sleeps until an answer arrives, a timer is due, or the run has to stop.
    fn wait(&self) -> Option<Answer> {
        let watch = &self.realm.watch;
        watch.pause();
        let ceiling = Instant::now() + watch.wall_left();
        let next = self.session.timers().next();
        let deadline = next.map_or(ceiling, |next| next.min(ceiling));
        let event = self.session.with_transport(|transport| transport.wait(deadline));
        watch.resume();
        match event {
            Some(Event::Answer(answer)) => Some(answer),
            _ => None,
        }
    }

    /// Fails if a rejected promise was never handled.
    fn check_rejections(&self, author: &Author<'_>) -> Result<(), ProgramFailure> {
        match self.rejections.first(&self.ctx) {
            None => Ok(()),
            Some(Ok(reason)) => Err(failure::unhandled(self.realm, &reason, author)),
            Some(Err(_)) => Err(self.defect()),
        }
    }

    /// The failure of a program that threw.
    fn thrown(&self, author: &Author<'_>) -> ProgramFailure {
        let thrown = self.ctx.catch();
        failure::uncaught(self.realm, &thrown, author)
    }

    /// What is reported if the engine fails without a reason: it was stopped, or it is broken.
    fn defect(&self) -> ProgramFailure {
        self.ctx.catch();
        match self.realm.watch.stopped() {
            Some(stop) => self.realm.watch.failure(stop),
            None => ProgramFailure::new(FailureKind::WorkerExit, "the interpreter failed"),
        }
    }
}

const NEVER_FINISHES: &str =
    "the program will never finish: it awaits a promise that nothing can settle any more";
