//! What the host knows about the objects of one interpreter, safe from anything the program does to them.

use std::rc::Rc;
use std::sync::OnceLock;

use rquickjs::{Ctx, Error, Function, IntoJs, Object, Result, Value};

use super::raw::{self, Descriptor};
use super::text;
use super::watch::Watch;

/// The prototypes and functions that were captured before the program could touch them.
pub(super) struct Realm<'js> {
    pub(super) ctx: Ctx<'js>,
    pub(super) watch: Rc<Watch>,
    pub(super) object_prototype: Object<'js>,
    pub(super) array_prototype: Object<'js>,
    /// An error like those the engine makes.
    pub(super) error: Object<'js>,
    /// Everything captured, by [`Captured`].
    captured: Object<'js>,
}

/// Places in the list the prelude returns.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(super) enum Captured {
    ObjectPrototype,
    ArrayPrototype,
    Error,
    ErrorStack,
    ErrorClass,
    DateToIso,
    RegExpText,
    SymbolToString,
    BigIntToString,
    FunctionToString,
    MapEntries,
    MapNext,
    SetValues,
    SetNext,
    MapSize,
    SetSize,
    TypedArrayLength,
    Apply,
}

/// The functions of the host that the prelude makes reachable.
pub(super) struct Natives<'js> {
    pub(super) load: Function<'js>,
    pub(super) log: Function<'js>,
    pub(super) schedule: Function<'js>,
    pub(super) cancel: Function<'js>,
}

impl<'js> Realm<'js> {
    /// Prepares a fresh context for a program.
    pub(super) fn new(ctx: &Ctx<'js>, watch: Rc<Watch>, natives: Natives<'js>) -> Result<Self> {
        static PRELUDE: OnceLock<Vec<u8>> = OnceLock::new();
        let prelude = script(ctx, &PRELUDE, include_str!("prelude.js"))?;
        let Natives { load, log, schedule, cancel } = natives;
        let captured: Object<'js> = prelude.call((load, log, schedule, cancel))?;
        let object = |place: Captured| {
            raw::element(&captured, place as u32)?.into_object().ok_or(Error::Unknown)
        };
        Ok(Self {
            ctx: ctx.clone(),
            watch,
            object_prototype: object(Captured::ObjectPrototype)?,
            array_prototype: object(Captured::ArrayPrototype)?,
            error: object(Captured::Error)?,
            captured,
        })
    }

    /// Calls a captured function.
    pub(super) fn call(
        &self,
        place: Captured,
        this: &Value<'js>,
        args: &[Value<'js>],
    ) -> Result<Value<'js>> {
        let function =
            raw::element(&self.captured, place as u32)?.into_function().ok_or(Error::Unknown)?;
        let mut list = rquickjs::function::Args::new(self.ctx.clone(), args.len());
        list.this(this.clone())?;
        list.push_args(args.iter().cloned())?;
        function.call_arg(list)
    }

    /// The error class of a namespace.
    pub(super) fn error_class(&self, name: &str, property: &str) -> Result<Object<'js>> {
        let args = [name.into_js(&self.ctx)?, property.into_js(&self.ctx)?];
        let class =
            self.call(Captured::ErrorClass, &Value::new_undefined(self.ctx.clone()), &args)?;
        class.into_object().ok_or(Error::Unknown)
    }

    /// A data property of an object or of its prototypes, found without running anything.
    pub(super) fn data(&self, object: &Object<'js>, name: &str) -> Option<Value<'js>> {
        let mut object = Some(object.clone());
        for _ in 0..32 {
            let current = object.filter(|object| !object.is_proxy())?;
            match raw::own_property(&current, name) {
                Ok(Some(Descriptor::Data(value))) => return Some(value),
                Ok(Some(Descriptor::Accessor(..))) => return None,
                Ok(None) => object = current.get_prototype(),
                Err(_) => {
                    self.ctx.catch();
                    return None;
                }
            }
        }
        None
    }

    /// A data property that is text.
    pub(super) fn text_of(&self, object: &Object<'js>, name: &str) -> Option<String> {
        text::readable(self.data(object, name)?.as_string()?).ok()
    }

    /// The name of the class of an object, as its prototypes tell it.
    pub(super) fn class_name(&self, object: &Object<'js>) -> Option<String> {
        let constructor = self.data(object, "constructor")?;
        let constructor =
            constructor.as_object().filter(|object| object.is_function() && !object.is_proxy())?;
        self.text_of(constructor, "name").filter(|name| !name.is_empty())
    }

    /// What an object is, for a message.
    pub(super) fn kind_of(&self, object: &Object<'js>) -> String {
        self.class_name(object).map_or_else(
            || "an object of another class".to_owned(),
            |name| format!("an instance of {name}"),
        )
    }

    /// The first line of a thrown value: `TypeError: x is not a function`.
    pub(super) fn headline(&self, thrown: &Value<'js>) -> String {
        match thrown.as_object().filter(|object| object.is_error()) {
            Some(error) => self.error_headline(error),
            None => super::inspect::thrown(self, thrown),
        }
    }

    fn error_headline(&self, error: &Object<'js>) -> String {
        let name = self.text_of(error, "name").unwrap_or_else(|| "Error".to_owned());
        match self.text_of(error, "message") {
            Some(message) if name.is_empty() => message,
            Some(message) if !message.is_empty() => format!("{name}: {message}"),
            _ => name,
        }
    }

    /// The frames of an error, one a line, without the headline.
    pub(super) fn stack(&self, error: &Object<'js>) -> String {
        let own = match raw::own_property(error, "stack") {
            Ok(Some(Descriptor::Data(value))) => Some(value),
            _ => self.call(Captured::ErrorStack, error, &[]).ok(),
        };
        let own =
            own.as_ref().and_then(Value::as_string).and_then(|stack| text::readable(stack).ok());
        own.unwrap_or_default()
    }
}

/// Runs a script that evaluates to a function. The compiled form is kept for the next interpreters.
pub(super) fn script<'js>(
    ctx: &Ctx<'js>,
    kept: &OnceLock<Vec<u8>>,
    source: &str,
) -> Result<Function<'js>> {
    let bytes = if let Some(bytes) = kept.get() {
        bytes
    } else {
        let bytes = raw::compile_script(ctx, source)?;
        kept.get_or_init(|| bytes)
    };
    raw::run_compiled(ctx, bytes)?.into_function().ok_or(Error::Unknown)
}
