//! To and from `serde_json::Value`, without recursion.

use serde_json::Value;

use super::{DEPTH_LIMIT, Json, JsonPath, Number, Object, Step, Str, ValueError, ValueErrorKind};

/// Checks every number; takes any depth.
///
/// ```
/// use callgate_schema::{Json, json};
///
/// let value = serde_json::json!({ "n": [1.0, "x"] });
/// assert_eq!(Json::try_from(value), Ok(json!({ "n": [1, "x"] })));
/// assert!(Json::try_from(serde_json::json!(-0.0)).is_err());
/// ```
impl TryFrom<Value> for Json {
    type Error = ValueError;
    fn try_from(value: Value) -> Result<Self, ValueError> {
        let json = Json::try_from(&value);
        dismantle(value);
        json
    }
}

/// Checks every number; takes any depth.
impl TryFrom<&Value> for Json {
    type Error = ValueError;
    fn try_from(value: &Value) -> Result<Self, ValueError> {
        let mut open = Vec::new();
        let mut next = Some(value);
        loop {
            let mut done = match next.take() {
                Some(Value::Array(items)) => {
                    open.push(Reading::Items {
                        rest: items.iter(),
                        done: Vec::with_capacity(items.len()),
                    });
                    None
                }
                Some(Value::Object(members)) => {
                    open.push(Reading::Members {
                        rest: members.iter(),
                        name: None,
                        done: Vec::with_capacity(members.len()),
                    });
                    None
                }
                Some(scalar) => {
                    Some(read_scalar(scalar).map_err(|error| error.at(reading_path(&open)))?)
                }
                None => None,
            };
            let Some(container) = open.last_mut() else { return Ok(done.unwrap_or_default()) };
            if let Some(done) = done.take() {
                container.push(done);
            }
            next = container.next();
            if next.is_none()
                && let Some(json) = open.pop().map(Reading::finish)
            {
                match open.last_mut() {
                    Some(outer) => outer.push(json),
                    None => return Ok(json),
                }
            }
        }
    }
}

/// A container of which some parts are read.
enum Reading<'a> {
    Items { rest: std::slice::Iter<'a, Value>, done: Vec<Json> },
    Members { rest: serde_json::map::Iter<'a>, name: Option<&'a String>, done: Vec<(Str, Json)> },
}

impl<'a> Reading<'a> {
    fn next(&mut self) -> Option<&'a Value> {
        match self {
            Self::Items { rest, .. } => rest.next(),
            Self::Members { rest, name, .. } => {
                let (key, value) = rest.next()?;
                *name = Some(key);
                Some(value)
            }
        }
    }

    fn push(&mut self, json: Json) {
        match self {
            Self::Items { done, .. } => done.push(json),
            Self::Members { name, done, .. } => {
                done.push((name.map_or_else(Str::default, |name| name.as_str().into()), json));
            }
        }
    }

    fn finish(self) -> Json {
        match self {
            Self::Items { done, .. } => Json::Array(done.into()),
            Self::Members { done, .. } => Json::Object(Object::from_members(done)),
        }
    }
}

fn reading_path(open: &[Reading<'_>]) -> JsonPath {
    let step = |container: &Reading<'_>| match container {
        Reading::Items { done, .. } => Step::Index(done.len()),
        Reading::Members { name, .. } => {
            Step::Name(name.map_or_else(Str::default, |name| name.as_str().into()))
        }
    };
    open.iter().map(step).collect::<Vec<_>>().into()
}

fn read_scalar(value: &Value) -> Result<Json, ValueError> {
    Ok(match value {
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => Json::Number(read_number(number)?),
        Value::String(text) => text.into(),
        Value::Null | Value::Array(_) | Value::Object(_) => Json::Null,
    })
}

/// Goes by the token where `serde_json` may have kept or rounded more than its accessors tell.
fn read_number(number: &serde_json::Number) -> Result<Number, ValueError> {
    if let Some(value) = number.as_i64()
        && value != 0
    {
        return Ok(value.into());
    }
    if let Some(value) = number.as_u64()
        && value != 0
    {
        return Ok(value.into());
    }
    let token = number.to_string();
    Number::from_token(&token)
        .map_err(|fault| ValueError::new(ValueErrorKind::Number, fault.message(&token)))
}

/// Drops a value of any depth.
fn dismantle(value: Value) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(members) => pending.extend(members.into_values()),
            _ => {}
        }
    }
}

impl Json {
    /// This value as `serde_json::Value`.
    ///
    /// # Errors
    ///
    /// If it is nested deeper than [`DEPTH_LIMIT`]: dropping a `Value` recurses, and a stack overflow cannot be caught.
    pub fn to_serde(&self) -> Result<Value, ValueError> {
        let mut open: Vec<Writing<'_>> = Vec::new();
        let mut next = Some(self);
        loop {
            let mut done = None;
            match next.take() {
                Some(Json::Array(_) | Json::Object(_)) if open.len() >= DEPTH_LIMIT => {
                    let message =
                        format!("nested deeper than {DEPTH_LIMIT} levels; keep it as `Json`");
                    let path = writing_path(&open);
                    open.into_iter().for_each(Writing::dismantle);
                    return Err(ValueError::new(ValueErrorKind::Depth, message).at(path));
                }
                Some(Json::Array(items)) => {
                    open.push(Writing::Items {
                        rest: items.iter(),
                        done: Vec::with_capacity(items.len()),
                    });
                }
                Some(Json::Object(members)) => {
                    open.push(Writing::Members {
                        rest: members.entries().iter(),
                        name: None,
                        done: serde_json::Map::new(),
                    });
                }
                Some(scalar) => done = Some(write_scalar(scalar)),
                None => {}
            }
            let Some(container) = open.last_mut() else { return Ok(done.unwrap_or_default()) };
            if let Some(done) = done {
                container.push(done);
            }
            next = container.next();
            if next.is_none()
                && let Some(value) = open.pop().map(Writing::finish)
            {
                match open.last_mut() {
                    Some(outer) => outer.push(value),
                    None => return Ok(value),
                }
            }
        }
    }
}

impl TryFrom<&Json> for Value {
    type Error = ValueError;
    fn try_from(json: &Json) -> Result<Self, ValueError> {
        json.to_serde()
    }
}

/// A container of which some parts are written.
enum Writing<'a> {
    Items {
        rest: std::slice::Iter<'a, Json>,
        done: Vec<Value>,
    },
    Members {
        rest: std::slice::Iter<'a, (Str, Json)>,
        name: Option<&'a Str>,
        done: serde_json::Map<String, Value>,
    },
}

impl<'a> Writing<'a> {
    fn next(&mut self) -> Option<&'a Json> {
        match self {
            Self::Items { rest, .. } => rest.next(),
            Self::Members { rest, name, .. } => {
                let (key, value) = rest.next()?;
                *name = Some(key);
                Some(value)
            }
        }
    }

    fn push(&mut self, value: Value) {
        match self {
            Self::Items { done, .. } => done.push(value),
            Self::Members { name, done, .. } => {
                done.insert(name.map_or_else(String::new, |name| name.as_ref().to_owned()), value);
            }
        }
    }

    fn finish(self) -> Value {
        match self {
            Self::Items { done, .. } => Value::Array(done),
            Self::Members { done, .. } => Value::Object(done),
        }
    }

    fn dismantle(self) {
        dismantle(self.finish());
    }
}

fn writing_path(open: &[Writing<'_>]) -> JsonPath {
    let step = |container: &Writing<'_>| match container {
        Writing::Items { done, .. } => Step::Index(done.len()),
        Writing::Members { name, .. } => Step::Name(name.cloned().unwrap_or_default()),
    };
    open.iter().map(step).collect::<Vec<_>>().into()
}

fn write_scalar(json: &Json) -> Value {
    match json {
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => write_number(*number),
        Json::String(text) => Value::String(text.as_ref().to_owned()),
        Json::Null | Json::Array(_) | Json::Object(_) => Value::Null,
    }
}

fn write_number(number: Number) -> Value {
    match (number.as_i64(), number.as_u64()) {
        (Some(value), _) => value.into(),
        (None, Some(value)) => value.into(),
        (None, None) => number.as_f64().into(),
    }
}
