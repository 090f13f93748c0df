//! The life of a worker process: told its limits, cut off, then one program after the other.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::Stdin;
use std::process::exit;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use callgate_core::program::{FailureKind, ProgramEnd, ProgramFailure, RunClock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_type;

use super::NativeProgram;
use super::confine::{Allowance, confine};
use super::frame::{Inbox, Outbox, Received, TooLong};
use super::message::{self, Boot, STOP, ToWorker};
use super::raw;
use crate::quickjs::{Assignment, run_one};
use crate::transport::{Answer, Event, Outgoing, Transport};

/// Stack that a run needs besides the interpreter.
const HOST_STACK: usize = 2 << 20;
/// Calls leave together, at the latest when they are that many bytes.
const BATCH: usize = 64 << 10;
/// How often a program that computes looks for what its host has to say.
const LOOK: Duration = Duration::from_millis(1);
/// A wait that is longer than this is one without an end.
const LONG: Duration = Duration::from_hours(24);
/// The descriptor of the socket to the host: the standard input.
const SOCKET: i32 = 0;

/// Runs programs until the host is gone.
pub(super) fn serve(native: Option<NativeProgram>) -> ! {
    let Some((wire, boot)) = Wire::open() else {
        eprintln!("callgate starts its workers this way; nobody else can");
        exit(2)
    };
    raw::keep_memory();
    name_process();
    let stack = boot.limits.stack.saturating_add(HOST_STACK);
    let confinement = confine(Allowance {
        address_space: boot.address_space,
        cpu_seconds: boot.cpu_seconds,
        stack: stack as u64,
        socket: SOCKET,
    });
    let wire = Rc::new(wire);
    let mut greeting = Some(confinement);
    loop {
        let ended = run_one(&boot.limits, stack - HOST_STACK / 2, || {
            // By now there is an interpreter.
            if let Some(confinement) = greeting.take() {
                // That frame has no cap.
                let _ = wire.tell(|out, _| message::ready(out, &confinement));
            }
            Some(wire.next_program(native))
        });
        wire.tell_end(&ended.unwrap_or_default());
    }
}

/// Tells people who look at the processes of their machine what this one is.
fn name_process() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"callgate-worker");
}

/// The worker's end of the socket.
struct Wire {
    socket: Stdin,
    inbox: RefCell<Inbox>,
    outbox: RefCell<Outbox>,
    /// The longest frame the host takes.
    cap: usize,
    /// Answers that no host had to give.
    refused: RefCell<VecDeque<Answer>>,
    /// When the socket was last looked at.
    looked: Cell<Instant>,
    /// Whether the host wants the program to stop.
    stop: Cell<bool>,
}

impl Wire {
    /// Waits for the first frame; none if there is no host.
    fn open() -> Option<(Self, Boot)> {
        let socket = std::io::stdin();
        socket_type(&socket).ok()?;
        let wire = Self {
            socket,
            inbox: RefCell::new(Inbox::new(usize::MAX / 2)),
            outbox: RefCell::default(),
            cap: 0,
            refused: RefCell::default(),
            looked: Cell::new(Instant::now()),
            stop: Cell::new(false),
        };
        match wire.next_message()? {
            ToWorker::Boot(boot) => Some((Self { cap: boot.frame_cap, ..wire }, boot)),
            _ => None,
        }
    }

    /// Waits for the next message; none if it makes no sense.
    fn next_message(&self) -> Option<ToWorker> {
        loop {
            match self.arrived() {
                Poll::Ready(message) => return message,
                Poll::Pending => self.receive(true),
            }
        }
    }

    /// The next message, if it arrived; none if it makes no sense.
    fn arrived(&self) -> Poll<Option<ToWorker>> {
        match self.inbox.borrow_mut().next(ToWorker::read) {
            Ok(Some(message)) => Poll::Ready(message),
            Ok(None) => Poll::Pending,
            Err(TooLong) => Poll::Ready(None),
        }
    }

    /// Waits for the next program. Answers to calls of the last one are of no use any more.
    fn next_program(self: &Rc<Self>, native: Option<NativeProgram>) -> Assignment {
        loop {
            let Some(ToWorker::Program { source, namespaces }) = self.next_message() else {
                continue;
            };
            self.stop.set(false);
            self.refused.borrow_mut().clear();
            if let Some(value) = native.and_then(|native| native(&source)) {
                let mut end = ProgramEnd::default();
                end.value = Some(value.into());
                self.tell_end(&end);
                continue;
            }
            let wire = self.clone();
            return Assignment {
                source,
                namespaces,
                clock: RunClock::default(),
                transport: Box::new(Calls(self.clone())),
                cancelled: Box::new(move || wire.look().then(|| "stopped by the host".to_owned())),
            };
        }
    }

    /// Reads what is there. Without a host there is nothing left to do.
    fn receive(&self, wait: bool) {
        let received = self.inbox.borrow_mut().receive(&self.socket, wait);
        self.looked.set(Instant::now());
        match received {
            Received::Some if self.inbox.borrow().holds(STOP) => self.stop.set(true),
            Received::Some | Received::Nothing => {}
            Received::Closed => exit(0),
        }
    }

    /// Whether the host wants the program to stop. Cheap: it is asked all the time.
    fn look(&self) -> bool {
        if self.looked.get().elapsed() >= LOOK {
            self.flush();
            self.receive(false);
        }
        self.stop.get()
    }

    /// Sends everything. While the host takes nothing, what it has to say is taken in, so that two
    /// full buffers never wait for each other.
    fn flush(&self) {
        loop {
            match self.outbox.borrow_mut().flush(&self.socket) {
                Ok(true) => return,
                Ok(false) => {}
                Err(_) => exit(0),
            }
            if self.wait_for(PollFlags::IN | PollFlags::OUT, None).contains(PollFlags::IN) {
                self.receive(false);
            }
        }
    }

    /// Waits for the socket, at most that long.
    fn wait_for(&self, flags: PollFlags, timeout: Option<Duration>) -> PollFlags {
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut sockets = [PollFd::new(&self.socket, flags)];
        match poll(&mut sockets, timeout.as_ref()) {
            Ok(_) => sockets[0].revents(),
            Err(_) => PollFlags::empty(),
        }
    }

    fn tell(
        &self,
        write: impl FnOnce(&mut Outbox, usize) -> Result<(), TooLong>,
    ) -> Result<(), TooLong> {
        write(&mut self.outbox.borrow_mut(), self.cap)?;
        self.flush();
        Ok(())
    }

    fn tell_end(&self, end: &ProgramEnd) {
        if self.tell(|out, cap| message::end(out, cap, end)).is_ok() {
            return;
        }
        let message = "the returned value is too large to leave the worker process: return less";
        let mut end = ProgramEnd::default();
        end.failure = Some(ProgramFailure::new(FailureKind::WorkerExit, message));
        // Its own short failure always fits.
        let _ = self.tell(|out, cap| message::end(out, cap, &end));
    }

    /// The next answer, if it arrived.
    fn answer(&self) -> Option<Answer> {
        if let Some(answer) = self.refused.borrow_mut().pop_front() {
            return Some(answer);
        }
        loop {
            match self.arrived() {
                Poll::Ready(Some(ToWorker::Answer(answer))) => return Some(answer),
                // The word to stop was heard when it came in.
                Poll::Ready(_) => {}
                Poll::Pending => return None,
            }
        }
    }
}

/// The calls of one program.
struct Calls(Rc<Wire>);

impl Transport for Calls {
    fn call(&mut self, call: Outgoing) {
        let wire = &self.0;
        let pushed = message::call(&mut wire.outbox.borrow_mut(), wire.cap, &call);
        if pushed.is_err() {
            let why = "invalid arguments: they are too large to leave the worker process";
            let answer = Answer { id: call.id, result: Err(why.to_owned()) };
            wire.refused.borrow_mut().push_back(answer);
        }
        if wire.outbox.borrow().len() >= BATCH {
            wire.flush();
        }
    }

    /// Entries leave at once: what was printed before a crash is what helps most.
    fn log(&mut self, entry: &str) {
        // Longer than any frame is also longer than any output may be.
        let end = entry.floor_char_boundary(self.0.cap.saturating_sub(1));
        let _ = self.0.tell(|out, cap| message::log(out, cap, &entry[..end]));
    }

    fn poll(&mut self) -> Option<Answer> {
        let wire = &self.0;
        wire.answer().or_else(|| {
            if wire.looked.get().elapsed() < LOOK {
                return None;
            }
            wire.receive(false);
            wire.answer()
        })
    }

    fn wait(&mut self, deadline: Instant) -> Event {
        let wire = &self.0;
        wire.flush();
        loop {
            if let Some(answer) = wire.answer() {
                return Event::Answer(answer);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if wire.stop.get() || left.is_zero() {
                return Event::Wake;
            }
            if left >= LONG {
                wire.receive(true);
            } else if wire.wait_for(PollFlags::IN, Some(left)).is_empty() {
                return Event::Wake;
            } else {
                wire.receive(false);
            }
        }
    }
}
