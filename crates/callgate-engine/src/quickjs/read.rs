//! Values out of a program: lossless JSON or a refusal that names the place.

use std::collections::HashSet;
use std::fmt;

use callgate_schema::json::{DEPTH_LIMIT, JsonPath, Number, ObjectBuilder, Step};
use callgate_schema::{Json, Str};
use rquickjs::{Object, Type, Value};

use super::Realm;
use super::raw::{self, Exotic, Keys, Wide};

/// Paths longer than this are looked up instead of searched.
const SHORT_PATH: usize = 16;
/// How many nodes are read between two looks at the clock.
const NODES_A_LOOK: usize = 1_024;
/// The largest double below which every whole number is exact.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// Why a value did not come out.
#[derive(Debug)]
pub(super) enum Refused {
    /// It is not lossless JSON; the message names the place.
    Value(String),
    /// It is larger than allowed.
    TooLarge,
    /// The run was stopped on the way.
    Stopped,
}

/// How much a value may take.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// Bytes as JSON text. A little more may pass.
    pub(super) text: usize,
    /// Bytes on this side of the border.
    pub(super) memory: usize,
}

impl Room {
    fn take(&mut self, text: usize, memory: usize) -> Result<(), Refused> {
        self.text = self.text.checked_sub(text).ok_or(Refused::TooLarge)?;
        self.memory = self.memory.checked_sub(memory).ok_or(Refused::TooLarge)?;
        Ok(())
    }
}

/// Bytes that a value takes in its container, and a name next to it.
const NODE: usize = size_of::<Json>();

/// Reads a whole value that fits into `space`, and says how much memory it took.
///
/// Getters of the program run, each once; nothing else of the program does.
pub(super) fn read<'js>(
    realm: &Realm<'js>,
    value: Value<'js>,
    root: &str,
    space: Room,
) -> Result<(Json, usize), Refused> {
    let mut reader =
        Reader { realm, root, room: space, nodes: 0, frames: Vec::new(), open: HashSet::new() };
    let json = reader.read(value)?;
    Ok((json, space.memory - reader.room.memory))
}

struct Reader<'a, 'js> {
    realm: &'a Realm<'js>,
    root: &'a str,
    room: Room,
    nodes: usize,
    /// The containers around the current value, outermost first.
    frames: Vec<Frame<'js>>,
    /// The identities of the containers beyond the first few.
    open: HashSet<usize>,
}

enum Frame<'js> {
    Array { object: Object<'js>, length: u32, items: Vec<Json> },
    Object { object: Object<'js>, keys: Keys<'js>, next: usize, name: Str, members: ObjectBuilder },
}

/// What reading the next part of a container came to.
enum Next<'js> {
    Part(Value<'js>),
    Whole(Json),
}

impl<'js> Reader<'_, 'js> {
    fn read(&mut self, value: Value<'js>) -> Result<Json, Refused> {
        let mut done = self.enter(value)?;
        loop {
            if let Some(json) = done.take() {
                match self.frames.last_mut() {
                    None => return Ok(json),
                    Some(Frame::Array { items, .. }) => items.push(json),
                    Some(Frame::Object { name, members, .. }) => {
                        members.insert(name.clone(), json);
                    }
                }
            }
            done = match self.next()? {
                Next::Part(value) => self.enter(value)?,
                Next::Whole(json) => {
                    self.leave();
                    Some(json)
                }
            };
        }
    }

    /// Converts a scalar at once; a container becomes the innermost frame.
    fn enter(&mut self, value: Value<'js>) -> Result<Option<Json>, Refused> {
        self.room.take(1, NODE)?;
        if value.is_proxy() {
            return Err(self.refuse("a proxy is not JSON: pass a copy, `{ ...x }`"));
        }
        Ok(Some(match value.type_of() {
            Type::Null => Json::Null,
            Type::Bool => Json::Bool(value.as_bool().unwrap_or_default()),
            Type::Int => Json::from(i64::from(value.as_int().unwrap_or_default())),
            Type::Float => self.number(value.as_float().unwrap_or(f64::NAN))?,
            Type::String => Json::String(self.text(&value)?),
            Type::BigInt => self.bigint(&value)?,
            Type::Array => return self.enter_array(value).map(|()| None),
            Type::Object => return self.enter_object(value).map(|()| None),
            other => return Err(self.refuse(self.why_not(other, &value))),
        }))
    }

    fn number(&self, value: f64) -> Result<Json, Refused> {
        Number::from_f64(value).map(Json::from).ok_or_else(|| {
            self.refuse(match value {
                0.0 => "-0 is not JSON: add 0 to it",
                nan if nan.is_nan() => "NaN is not JSON: use null",
                _ => "Infinity is not JSON: use null or a finite number",
            })
        })
    }

    fn bigint(&self, value: &Value<'js>) -> Result<Json, Refused> {
        match raw::bigint(value).map_err(|error| self.failed(&error))? {
            Some(Wide::Signed(value)) if value.unsigned_abs() > MAX_SAFE => Ok(value.into()),
            Some(Wide::Unsigned(value)) if value > MAX_SAFE => Ok(value.into()),
            Some(_) => Err(self.refuse("a bigint that a number can hold: write Number(x)")),
            None => Err(self.refuse("a bigint beyond 64 bits is not JSON: pass String(x)")),
        }
    }

    fn text(&mut self, value: &Value<'js>) -> Result<Str, Refused> {
        let string = value.as_string().ok_or(Refused::Stopped)?;
        let left = self.room.text.min(self.room.memory);
        let text = raw::with_string_bytes(string, |bytes| {
            if bytes.len() > left {
                return Err(None);
            }
            std::str::from_utf8(bytes).map(Str::from).map_err(|_| Some(LONE_SURROGATE))
        });
        match text.map_err(|error| self.failed(&error))? {
            Ok(text) => {
                self.room.take(text.len(), text.len())?;
                Ok(text)
            }
            Err(None) => Err(Refused::TooLarge),
            Err(Some(why)) => Err(self.refuse(why)),
        }
    }

    fn enter_array(&mut self, value: Value<'js>) -> Result<(), Refused> {
        let object = self.container(value)?;
        let prototype = object.get_prototype();
        if prototype.as_ref() != Some(&self.realm.array_prototype) {
            return Err(self.refuse(format!(
                "{} is not JSON: use a plain array",
                self.realm.kind_of(&object)
            )));
        }
        let keys = raw::own_keys(&object).map_err(|error| self.failed(&error))?;
        let length: f64 = object.get("length").map_err(|error| self.failed(&error))?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the length of an array is a u32"
        )]
        let length = length as u32;
        self.check_dense(&keys, length)?;
        self.push(Frame::Array {
            object,
            length,
            items: Vec::with_capacity((length as usize).min(1 << 16)),
        });
        Ok(())
    }

    /// A dense array has its indices, its length, and nothing else.
    fn check_dense(&self, keys: &Keys<'js>, length: u32) -> Result<(), Refused> {
        let count = length as usize;
        let dense = keys.len() > count
            && count.checked_sub(1).is_none_or(|last| keys.is_index(last, length - 1));
        if !dense {
            return Err(
                self.refuse("an array with holes is not JSON: use null for what is missing")
            );
        }
        if keys.len() > count + 1 {
            return Err(self.refuse("an array with extra properties is not JSON: use an object"));
        }
        if (0..count).any(|at| !keys.is_enumerable(at)) {
            return Err(self.refuse("an array with hidden items is not JSON"));
        }
        Ok(())
    }

    fn enter_object(&mut self, value: Value<'js>) -> Result<(), Refused> {
        let object = self.container(value)?;
        let prototype = object.get_prototype();
        let is_plain =
            prototype.as_ref().is_none_or(|prototype| *prototype == self.realm.object_prototype);
        if !is_plain || !raw::same_class(&object, &self.realm.object_prototype) {
            let why = raw::exotic(&object).map(|kind| why_not_exotic(kind).to_owned());
            return Err(self.refuse(why.unwrap_or_else(|| {
                let kind = self.realm.kind_of(&object);
                format!("{kind} is not JSON: pass the fields you need, `{{ ...x }}`")
            })));
        }
        let keys = raw::own_keys(&object).map_err(|error| self.failed(&error))?;
        let last = keys.len().checked_sub(1).map(|last| keys.value(last)).transpose();
        if last.map_err(|error| self.failed(&error))?.is_some_and(|key| key.is_symbol()) {
            return Err(self.refuse("a member whose key is a symbol is not JSON"));
        }
        let members = ObjectBuilder::with_capacity(keys.len().min(1 << 16));
        self.push(Frame::Object { object, keys, next: 0, name: Str::from(""), members });
        Ok(())
    }

    /// Checks that a container is not inside itself, and not too deep.
    fn container(&self, value: Value<'js>) -> Result<Object<'js>, Refused> {
        let identity = raw::identity(&value);
        let near =
            self.frames.iter().take(SHORT_PATH).position(|frame| frame.identity() == identity);
        if near.is_some() || self.open.contains(&identity) {
            let at = self
                .frames
                .iter()
                .position(|frame| frame.identity() == identity)
                .unwrap_or_default();
            let outer = self.path(at);
            return Err(self.refuse(format!(
                "a cycle is not JSON: this is {} again",
                outer.display(self.root)
            )));
        }
        if self.frames.len() == DEPTH_LIMIT {
            return Err(self.refuse(format!("more than {DEPTH_LIMIT} levels deep")));
        }
        value.into_object().ok_or(Refused::Stopped)
    }

    fn push(&mut self, frame: Frame<'js>) {
        if self.frames.len() >= SHORT_PATH {
            self.open.insert(frame.identity());
        }
        self.frames.push(frame);
    }

    fn leave(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        if self.frames.len() >= SHORT_PATH {
            self.open.remove(&frame.identity());
        }
    }

    /// The next part of the innermost container, or the container once it is complete.
    fn next(&mut self) -> Result<Next<'js>, Refused> {
        loop {
            self.look()?;
            let Some(frame) = self.frames.last_mut() else { return Err(Refused::Stopped) };
            let value = match frame {
                Frame::Array { length, items, .. } if items.len() == *length as usize => {
                    return Ok(Next::Whole(Json::from(std::mem::take(items))));
                }
                Frame::Array { object, items, .. } => {
                    let index = u32::try_from(items.len()).unwrap_or(u32::MAX);
                    raw::element(object, index)
                }
                Frame::Object { keys, next, members, .. } if *next == keys.len() => {
                    return Ok(Next::Whole(Json::from(std::mem::take(members).build())));
                }
                Frame::Object { .. } => match self.next_member()? {
                    Some(value) => Ok(value),
                    None => continue,
                },
            };
            return match value {
                Ok(value) if value.is_undefined() => {
                    Err(self.refuse("undefined is not JSON: use null, or leave the item out"))
                }
                Ok(value) => Ok(Next::Part(value)),
                Err(error) => Err(self.failed(&error)),
            };
        }
    }

    /// The value of the next member; none if it is undefined, which is the same as absent.
    fn next_member(&mut self) -> Result<Option<Value<'js>>, Refused> {
        let Some(Frame::Object { object, keys, next, name, .. }) = self.frames.last_mut() else {
            return Err(Refused::Stopped);
        };
        let at = *next;
        *next += 1;
        let text = keys.with_bytes(at, |bytes| std::str::from_utf8(bytes).map(Str::from).ok());
        let hidden = !keys.is_enumerable(at);
        match text {
            Ok(Some(text)) => *name = text,
            Ok(None) => {
                *name = Str::from("");
                return Err(self.refuse(format!("a key with {LONE_SURROGATE}")));
            }
            Err(error) => return Err(self.failed(&error)),
        }
        let len = name.len();
        let value = if hidden { None } else { Some(keys.get(object, at)) };
        match value {
            None => Err(self.refuse("a member that is not enumerable is not JSON")),
            Some(Err(error)) => Err(self.failed(&error)),
            Some(Ok(value)) if value.is_undefined() => Ok(None),
            Some(Ok(value)) => {
                self.room.take(len, len + NODE)?;
                Ok(Some(value))
            }
        }
    }

    /// Looks at the clock now and then.
    fn look(&mut self) -> Result<(), Refused> {
        self.nodes += 1;
        if self.nodes.is_multiple_of(NODES_A_LOOK) && self.realm.watch.poll() {
            return Err(Refused::Stopped);
        }
        Ok(())
    }

    fn why_not(&self, kind: Type, value: &Value<'js>) -> String {
        match kind {
            Type::Undefined | Type::Uninitialized => "undefined is not JSON: use null".to_owned(),
            Type::Function | Type::Constructor => "a function is not JSON".to_owned(),
            Type::Symbol => "a symbol is not JSON".to_owned(),
            Type::Promise => "a promise is not JSON: `await` it first".to_owned(),
            Type::Exception => match value.as_object() {
                Some(error) => {
                    format!("{} is not JSON: pass its message", self.realm.kind_of(error))
                }
                None => "an error is not JSON: pass its message".to_owned(),
            },
            _ => "a value of this kind is not JSON".to_owned(),
        }
    }

    /// An exception on the way: a getter threw, or the run is being stopped.
    fn failed(&self, error: &rquickjs::Error) -> Refused {
        let thrown = self.realm.ctx.catch();
        if !error.is_exception() || self.realm.watch.poll() {
            return Refused::Stopped;
        }
        self.refuse(format!("reading it threw {}", self.realm.headline(&thrown)))
    }

    fn refuse(&self, why: impl fmt::Display) -> Refused {
        let path = self.path(self.frames.len());
        Refused::Value(format!("{}: {why}", path.display(self.root)))
    }

    /// The path into the first `depth` containers.
    fn path(&self, depth: usize) -> JsonPath {
        let steps = self.frames[..depth].iter().map(|frame| match frame {
            Frame::Array { items, .. } => Step::Index(items.len()),
            Frame::Object { name, .. } => Step::Name(name.clone()),
        });
        JsonPath::from(steps.collect::<Vec<_>>())
    }
}

const LONE_SURROGATE: &str = "half of a surrogate pair is not text: use toWellFormed()";

fn why_not_exotic(kind: Exotic) -> &'static str {
    match kind {
        Exotic::Date => "a Date is not JSON: pass x.toISOString()",
        Exotic::RegExp => "a RegExp is not JSON: pass x.source",
        Exotic::Map => "a Map is not JSON: pass Object.fromEntries(x)",
        Exotic::Set => "a Set is not JSON: pass [...x]",
        Exotic::TypedArray => "a typed array is not JSON: pass Array.from(x)",
        Exotic::ArrayBuffer | Exotic::DataView => {
            "raw bytes are not JSON: pass a string or an array of numbers"
        }
        Exotic::WeakMap | Exotic::WeakSet | Exotic::WeakRef => "a weak reference is not JSON",
    }
}

impl Frame<'_> {
    fn identity(&self) -> usize {
        match self {
            Self::Array { object, .. } | Self::Object { object, .. } => raw::identity(object),
        }
    }
}
