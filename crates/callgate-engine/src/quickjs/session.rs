//! One program's connection to its host: the functions it can call, and what waits for an answer.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::OnceLock;

use callgate_core::program::Namespace;
use rquickjs::function::Rest;
use rquickjs::{Ctx, Exception, Function, Object, Result, Value};

use super::raw::{self, Access};
use super::read::{self, Refused, Room};
use super::realm::{self, Natives, Realm};
use super::timers::Timers;
use super::watch::{Stop, Watch};
use super::{inspect, write};
use crate::ledger::{Full, Ledger};
use crate::transport::{Answer, Outgoing, Transport};

/// The state that the functions of a program share.
///
/// It holds values of the interpreter, and the interpreter holds it: [`clear`](Self::clear) must run before the
/// interpreter goes.
pub(super) struct Session<'js> {
    realm: RefCell<Option<Rc<Realm<'js>>>>,
    link: RefCell<Option<Link>>,
    namespaces: RefCell<Vec<Served<'js>>>,
    pending: RefCell<HashMap<u64, Pending<'js>>>,
    calls: Cell<u64>,
    /// Bytes of the arguments that the host still holds.
    waiting_bytes: Cell<usize>,
    memory: usize,
    timers: RefCell<Timers<'js>>,
    parts: RefCell<Option<Object<'js>>>,
}

/// The way out of one run.
struct Link {
    transport: Box<dyn Transport>,
    ledger: Ledger,
}

/// A namespace the program can reach.
struct Served<'js> {
    names: Namespace,
    class: Option<Object<'js>>,
}

/// A call that was not answered yet.
struct Pending<'js> {
    resolve: Function<'js>,
    reject: Function<'js>,
    namespace: usize,
    member: usize,
    bytes: usize,
}

impl<'js> Session<'js> {
    /// A session in a fresh context, ready for a program.
    pub(super) fn new(ctx: &Ctx<'js>, watch: Rc<Watch>, memory: usize) -> Result<Rc<Self>> {
        let session = Rc::new(Self {
            realm: RefCell::default(),
            link: RefCell::default(),
            namespaces: RefCell::default(),
            pending: RefCell::default(),
            calls: Cell::default(),
            waiting_bytes: Cell::default(),
            memory,
            timers: RefCell::default(),
            parts: RefCell::default(),
        });
        let natives = session.natives(ctx)?;
        let realm = Realm::new(ctx, watch, natives)?;
        session.realm.replace(Some(Rc::new(realm)));
        Ok(session)
    }

    fn natives(self: &Rc<Self>, ctx: &Ctx<'js>) -> Result<Natives<'js>> {
        let (load, log, schedule, cancel) =
            (self.clone(), self.clone(), self.clone(), self.clone());
        Ok(Natives {
            load: Function::new(ctx.clone(), move |ctx: Ctx<'js>| load.load(&ctx))?,
            log: Function::new(ctx.clone(), move |ctx: Ctx<'js>, values: Rest<Value<'js>>| {
                log.log(&ctx, &values)
            })?
            .with_name("log")?,
            schedule: Function::new(
                ctx.clone(),
                move |ctx: Ctx<'js>, callback, delay, arguments, repeat| {
                    schedule.schedule(&ctx, callback, delay, arguments, repeat)
                },
            )?,
            cancel: Function::new(ctx.clone(), move |id: f64| {
                cancel.timers.borrow_mut().remove(id);
            })?,
        })
    }

    /// What the host knows about this interpreter.
    pub(super) fn realm(&self) -> Rc<Realm<'js>> {
        let realm = self.realm.borrow();
        #[expect(
            clippy::expect_used,
            reason = "only the end of the run takes it away, and then nothing runs"
        )]
        realm.clone().expect("the realm lives as long as the run")
    }

    /// Lets go of everything that belongs to the interpreter.
    pub(super) fn clear(&self) {
        self.pending.borrow_mut().clear();
        self.timers.borrow_mut().clear();
        self.parts.take();
        self.namespaces.borrow_mut().clear();
        self.realm.take();
    }

    /// Connects the run, and makes its namespaces global.
    pub(super) fn open(
        self: &Rc<Self>,
        ctx: &Ctx<'js>,
        namespaces: &[Namespace],
        transport: Box<dyn Transport>,
        ledger: Ledger,
    ) -> Result<()> {
        self.link.replace(Some(Link { transport, ledger }));
        let realm = self.realm();
        for (at, names) in namespaces.iter().enumerate() {
            let class = match &names.error_class {
                Some(class) => {
                    let object = realm.error_class(&class.name, &class.member_property)?;
                    raw::define(&ctx.globals(), &class.name, object.as_value(), Access::Hidden)?;
                    Some(object)
                }
                None => None,
            };
            let object = Object::new_proto(ctx.clone(), None)?;
            for (member, name) in names.members.iter().enumerate() {
                let session = self.clone();
                let function = Function::new(
                    ctx.clone(),
                    move |ctx: Ctx<'js>, arguments: Rest<Value<'js>>| {
                        session.call(&ctx, at, member, arguments.0.into_iter().next())
                    },
                )?;
                raw::define(&object, name, function.with_name(&**name)?.as_value(), Access::Fixed)?;
            }
            raw::freeze(&object)?;
            raw::define(&ctx.globals(), &names.global, object.as_value(), Access::Fixed)?;
            self.namespaces.borrow_mut().push(Served { names: names.clone(), class });
        }
        Ok(())
    }

    /// Ends the connection and gives the ledger back.
    pub(super) fn close(&self) -> Option<Ledger> {
        self.link.take().map(|link| link.ledger)
    }

    /// How many bytes the run may still hand back.
    pub(super) fn output_left(&self) -> u64 {
        self.link.borrow().as_ref().map_or(0, |link| link.ledger.left())
    }

    /// Uses the transport, if the run is still connected.
    pub(super) fn with_transport<R>(
        &self,
        then: impl FnOnce(&mut dyn Transport) -> R,
    ) -> Option<R> {
        self.link.borrow_mut().as_mut().map(|link| then(&mut *link.transport))
    }

    /// Whether nothing will ever wake the program up again.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.borrow().is_empty() && self.timers.borrow().next().is_none()
    }

    pub(super) fn timers(&self) -> std::cell::RefMut<'_, Timers<'js>> {
        self.timers.borrow_mut()
    }

    // What the program calls.

    /// `tools.member(arguments)`.
    fn call(
        &self,
        ctx: &Ctx<'js>,
        namespace: usize,
        member: usize,
        arguments: Option<Value<'js>>,
    ) -> Result<Value<'js>> {
        let realm = self.realm();
        if realm.watch.poll() {
            return Err(raw::throw_uncatchable(ctx));
        }
        let (promise, resolve, reject) = ctx.promise()?;
        match self.arguments(&realm, arguments) {
            Ok((arguments, bytes)) => {
                let id = self.calls.get() + 1;
                self.calls.set(id);
                self.waiting_bytes.set(self.waiting_bytes.get().saturating_add(bytes));
                self.pending
                    .borrow_mut()
                    .insert(id, Pending { resolve, reject, namespace, member, bytes });
                let (global, member) = {
                    let namespaces = self.namespaces.borrow();
                    let names = &namespaces[namespace].names;
                    (names.global.clone(), names.members[member].clone())
                };
                let call = Outgoing { id, global, member, arguments };
                self.with_transport(|transport| transport.call(call));
            }
            Err(Refused::Stopped) => return Err(raw::throw_uncatchable(ctx)),
            Err(refused) => {
                let why = match refused {
                    Refused::Value(why) => why,
                    _ => "arguments: more data than the run's memory is waiting in calls: await some first".to_owned(),
                };
                let message = format!("invalid arguments: arguments must be lossless JSON; {why}");
                let error = self.error(ctx, namespace, member, &message)?;
                reject.call::<_, ()>((error,))?;
            }
        }
        Ok(promise.into_value())
    }

    fn arguments(
        &self,
        realm: &Realm<'js>,
        arguments: Option<Value<'js>>,
    ) -> std::result::Result<(callgate_schema::Json, usize), Refused> {
        let Some(arguments) = arguments else {
            return Err(Refused::Value(
                "arguments: there are none: pass an object, `{}` if it needs nothing".to_owned(),
            ));
        };
        let memory = self.memory.saturating_sub(self.waiting_bytes.get());
        read::read(realm, arguments, "arguments", Room { text: usize::MAX, memory })
    }

    /// An instance of the error class of a namespace, or a plain error.
    fn error(
        &self,
        ctx: &Ctx<'js>,
        namespace: usize,
        member: usize,
        message: &str,
    ) -> Result<Object<'js>> {
        let realm = self.realm();
        let namespaces = self.namespaces.borrow();
        let served = &namespaces[namespace];
        let text = |text: &str| {
            rquickjs::String::from_str(ctx.clone(), text).map(rquickjs::String::into_value)
        };
        let prototype = match &served.class {
            Some(class) => realm.data(class, "prototype").and_then(Value::into_object),
            None => None,
        };
        let fallback = || realm.error.get_prototype().ok_or(rquickjs::Error::Unknown);
        let error = raw::new_error(&realm.error, &prototype.map_or_else(fallback, Ok)?)?;
        raw::define(&error, "message", &text(message)?, Access::Hidden)?;
        if let Some(class) = &served.names.error_class {
            raw::define(&error, "name", &text(&class.name)?, Access::Hidden)?;
            raw::define(
                &error,
                &class.member_property,
                &text(&served.names.members[member])?,
                Access::Open,
            )?;
        }
        Ok(error)
    }

    /// Settles the promise of a call.
    pub(super) fn answer(&self, ctx: &Ctx<'js>, answer: Answer) -> Result<()> {
        let Some(pending) = self.pending.borrow_mut().remove(&answer.id) else { return Ok(()) };
        self.waiting_bytes.set(self.waiting_bytes.get().saturating_sub(pending.bytes));
        match answer.result {
            Ok(value) => {
                let value = write::write(ctx, &value)?;
                pending.resolve.call((value,))
            }
            Err(message) => {
                let error = self.error(ctx, pending.namespace, pending.member, &message)?;
                pending.reject.call((error,))
            }
        }
    }

    /// `console.log(values)`.
    fn log(&self, ctx: &Ctx<'js>, values: &[Value<'js>]) -> Result<()> {
        let realm = self.realm();
        if realm.watch.poll() {
            return Err(raw::throw_uncatchable(ctx));
        }
        let left = usize::try_from(self.output_left()).unwrap_or(usize::MAX);
        let mut entry = String::new();
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                entry.push(' ');
            }
            if entry.len() <= left {
                entry += &inspect::shown(&realm, value, left - entry.len() + 1);
            }
        }
        let taken = self.link.borrow_mut().as_mut().map_or(Err(Full), |link| {
            link.transport.log(&entry);
            link.ledger.log(&entry)
        });
        taken.map_err(|Full| {
            realm.watch.stop(Stop::Output);
            raw::throw_uncatchable(ctx)
        })
    }

    fn schedule(
        &self,
        ctx: &Ctx<'js>,
        callback: Function<'js>,
        delay: f64,
        arguments: Value<'js>,
        repeat: bool,
    ) -> Result<u32> {
        let id = self.timers.borrow_mut().add(callback, arguments, delay, repeat);
        id.ok_or_else(|| Exception::throw_range(ctx, "too many timers: await what you wait for"))
    }

    /// The larger parts of the environment.
    fn load(&self, ctx: &Ctx<'js>) -> Result<Object<'js>> {
        static EXTRAS: OnceLock<Vec<u8>> = OnceLock::new();
        if let Some(parts) = self.parts.borrow().as_ref() {
            return Ok(parts.clone());
        }
        let parts: Object<'js> = realm::script(ctx, &EXTRAS, include_str!("extras.js"))?.call(())?;
        self.parts.replace(Some(parts.clone()));
        Ok(parts)
    }
}
