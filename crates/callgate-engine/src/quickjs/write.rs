//! Values into a program: every whole number exact, every key an own key.

use callgate_schema::json::Number;
use callgate_schema::{Json, Str};
use rquickjs::{Ctx, Error, Object, Result, String as JsString, Value};

use super::raw::{self, Access, Wide};

/// The largest double below which every whole number is exact.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// A copy of a value, made without running anything of the program and without recursion.
pub(super) fn write<'js>(ctx: &Ctx<'js>, json: &Json) -> Result<Value<'js>> {
    let mut frames: Vec<Frame<'_, 'js>> = Vec::new();
    let mut current = Some(json);
    loop {
        let mut done = match current.take() {
            Some(Json::Array(items)) => {
                frames.push(Frame::Array {
                    rest: items.iter(),
                    items: Vec::with_capacity(items.len()),
                });
                None
            }
            Some(Json::Object(members)) => {
                frames.push(Frame::Object {
                    rest: Box::new(members.iter()),
                    object: Object::new(ctx.clone())?,
                    name: None,
                });
                None
            }
            Some(scalar) => Some(write_scalar(ctx, scalar)?),
            None => None,
        };
        while current.is_none() {
            let Some(frame) = frames.last_mut() else { return done.ok_or(Error::Unknown) };
            if let Some(value) = done.take() {
                frame.put(value)?;
            }
            current = frame.next();
            if current.is_none() {
                done = frames.pop().map(|frame| frame.finish(ctx)).transpose()?;
            }
        }
    }
}

fn write_scalar<'js>(ctx: &Ctx<'js>, json: &Json) -> Result<Value<'js>> {
    Ok(match json {
        Json::Bool(value) => Value::new_bool(ctx.clone(), *value),
        Json::Number(value) => write_number(ctx, *value)?,
        Json::String(text) => JsString::from_str(ctx.clone(), text)?.into_value(),
        _ => Value::new_null(ctx.clone()),
    })
}

fn write_number<'js>(ctx: &Ctx<'js>, number: Number) -> Result<Value<'js>> {
    match (number.as_i64(), number.as_u64()) {
        (Some(value), _) if value.unsigned_abs() > MAX_SAFE => {
            raw::new_bigint(ctx, Wide::Signed(value))
        }
        (None, Some(value)) => raw::new_bigint(ctx, Wide::Unsigned(value)),
        _ => Ok(raw::new_number(ctx, number.as_f64())),
    }
}

enum Frame<'a, 'js> {
    Array {
        rest: std::slice::Iter<'a, Json>,
        items: Vec<Value<'js>>,
    },
    Object {
        rest: Box<dyn Iterator<Item = (&'a Str, &'a Json)> + 'a>,
        object: Object<'js>,
        name: Option<&'a Str>,
    },
}

impl<'a, 'js> Frame<'a, 'js> {
    fn next(&mut self) -> Option<&'a Json> {
        match self {
            Self::Array { rest, .. } => rest.next(),
            Self::Object { rest, name, .. } => {
                let (next, value) = rest.next()?;
                *name = Some(next);
                Some(value)
            }
        }
    }

    fn put(&mut self, value: Value<'js>) -> Result<()> {
        match self {
            Self::Array { items, .. } => items.push(value),
            Self::Object { object, name, .. } => {
                let name = name.take().ok_or(Error::Unknown)?;
                raw::define(object, name, &value, Access::Open)?;
            }
        }
        Ok(())
    }

    fn finish(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        match self {
            Self::Array { items, .. } => raw::new_array(ctx, &items),
            Self::Object { object, .. } => Ok(object.into_value()),
        }
    }
}
