//! How `console` shows values, without running anything of the program.

use rquickjs::promise::PromiseState;
use rquickjs::{Object, Promise, Type, Value};

use super::raw::{self, Descriptor, Exotic, Keys};
use super::realm::{Captured, Realm};
use super::text;

/// Containers deeper than this are only named.
const DEPTH: usize = 4;
/// Items of an array, and members of an object, that are shown.
const ITEMS: usize = 100;
/// Characters of a nested string that are shown.
const CHARACTERS: usize = 10_000;
/// Bytes one shown value may have.
const BYTES: usize = 1 << 20;
/// A container that fits this many columns stays on one line.
const WIDTH: usize = 72;

/// A value as `console.log` shows it. A string is shown as it is, or its first `limit` bytes.
pub(super) fn shown<'js>(realm: &Realm<'js>, value: &Value<'js>, limit: usize) -> String {
    match value.as_string() {
        Some(string) => match text::readable_start(string, limit) {
            Ok((text, _)) => text,
            Err(_) => unreadable(realm),
        },
        None => nested(realm, value),
    }
}

/// A value that was thrown, for a message.
pub(super) fn thrown<'js>(realm: &Realm<'js>, value: &Value<'js>) -> String {
    shown(realm, value, usize::MAX)
}

fn nested<'js>(realm: &Realm<'js>, value: &Value<'js>) -> String {
    let mut inspector = Inspector { realm, around: Vec::new(), left: BYTES };
    inspector.value(value)
}

fn unreadable(realm: &Realm<'_>) -> String {
    realm.ctx.catch();
    "[unreadable]".to_owned()
}

struct Inspector<'a, 'js> {
    realm: &'a Realm<'js>,
    /// The containers around the current value.
    around: Vec<usize>,
    /// Bytes that may still be shown.
    left: usize,
}

impl<'js> Inspector<'_, 'js> {
    fn value(&mut self, value: &Value<'js>) -> String {
        let text = self.value_text(value);
        self.left = self.left.saturating_sub(text.len());
        text
    }

    fn value_text(&mut self, value: &Value<'js>) -> String {
        if value.is_proxy() {
            return "[Proxy]".to_owned();
        }
        match value.type_of() {
            Type::Undefined | Type::Uninitialized => "undefined".to_owned(),
            Type::Null => "null".to_owned(),
            Type::Bool => value.as_bool().unwrap_or_default().to_string(),
            Type::Int => value.as_int().unwrap_or_default().to_string(),
            Type::Float => number(value.as_float().unwrap_or(f64::NAN)),
            Type::String => {
                value.as_string().map_or_else(String::new, |string| self.string(string))
            }
            Type::BigInt => self.called(Captured::BigIntToString, value) + "n",
            Type::Symbol => self.called(Captured::SymbolToString, value),
            _ => value
                .as_object()
                .map_or_else(|| "[unknown]".to_owned(), |object| self.object(object)),
        }
    }

    fn string(&self, string: &rquickjs::String<'js>) -> String {
        let limit = self.left.min(CHARACTERS * 4);
        let Ok((text, cut)) = text::readable_start(string, limit) else {
            return unreadable(self.realm);
        };
        let end = text.char_indices().nth(CHARACTERS).map_or(text.len(), |(at, _)| at);
        let more = if cut || end < text.len() { "... more characters" } else { "" };
        quoted(&text[..end]) + more
    }

    fn date(&self, object: &Object<'js>) -> String {
        let text = self.realm.call(Captured::DateToIso, object, &[]);
        let text = text.ok().and_then(|text| text::readable(text.as_string()?).ok());
        text.unwrap_or_else(|| {
            self.realm.ctx.catch();
            "Invalid Date".to_owned()
        })
    }

    fn promise(&mut self, promise: &Promise<'js>) -> String {
        let state = promise.state();
        if state == PromiseState::Pending {
            return "<pending>".to_owned();
        }
        let Ok(result) = raw::promise_result(promise) else { return unreadable(self.realm) };
        let text = self.value(&result);
        if state == PromiseState::Rejected { format!("<rejected> {text}") } else { text }
    }

    /// The text a captured function makes of a value.
    fn called(&self, place: Captured, value: &Value<'js>) -> String {
        let text = self.realm.call(place, value, &[]);
        let text = text.ok().and_then(|text| text::readable(text.as_string()?).ok());
        text.unwrap_or_else(|| unreadable(self.realm))
    }

    fn object(&mut self, object: &Object<'js>) -> String {
        let identity = raw::identity(object);
        if self.around.contains(&identity) {
            return "[Circular]".to_owned();
        }
        if self.left == 0 || self.realm.watch.poll() {
            return "...".to_owned();
        }
        if object.is_error() {
            return self.error(object);
        }
        let shape = self.shape(object);
        if self.around.len() > DEPTH && !shape.is_short {
            return format!(
                "[{}]",
                if object.is_array() { "Array".to_owned() } else { shape.name }
            );
        }
        self.around.push(identity);
        let mut parts = self.contents(object, &shape);
        let keys = raw::own_keys(object);
        match keys {
            Ok(keys) => self.members(object, &keys, shape.indexed, &mut parts),
            Err(_) => parts.push(unreadable(self.realm)),
        }
        self.around.pop();
        shape.close(&parts, self.around.len())
    }

    fn error(&mut self, error: &Object<'js>) -> String {
        let headline = self.realm.headline(error.as_value());
        let stack = self.realm.stack(error);
        let mut text = format!("{headline}\n{}", stack.trim_end());
        text.truncate(text.trim_end().len());
        if self.around.len() > DEPTH {
            return format!("[{headline}]");
        }
        self.around.push(raw::identity(error));
        let mut parts = Vec::new();
        if let Ok(keys) = raw::own_keys(error) {
            self.members(error, &keys, 0, &mut parts);
        }
        if let Some(cause) = self.realm.data(error, "cause") {
            parts.push(format!("[cause]: {}", self.value(&cause)));
        }
        self.around.pop();
        if parts.is_empty() {
            text
        } else {
            format!("{text} {}", braces("{", &parts, "}", self.around.len()))
        }
    }

    /// What kind of object this is, and how its text begins.
    fn shape(&self, object: &Object<'js>) -> Shape {
        let class = self.realm.class_name(object);
        let name = class.clone().unwrap_or_else(|| "Object".to_owned());
        if object.is_function() {
            return Shape {
                is_short: true,
                ..Shape::named(self.function(object, class.as_deref()))
            };
        }
        if object.is_array() {
            let length = self.length(object, None);
            let prefix = if name == "Array" { String::new() } else { format!("{name}({length}) ") };
            return Shape {
                name,
                prefix,
                open: "[",
                close: "]",
                indexed: length,
                is_short: false,
                is_bare: false,
            };
        }
        if object.is_promise() {
            return Shape { prefix: format!("{name} "), ..Shape::braces(name) };
        }
        match raw::exotic(object) {
            Some(Exotic::Date) => Shape { is_short: true, ..Shape::named(self.date(object)) },
            Some(Exotic::RegExp) => {
                Shape { is_short: true, ..Shape::named(self.called(Captured::RegExpText, object)) }
            }
            Some(Exotic::Map) => self.sized(name, Captured::MapSize, object),
            Some(Exotic::Set) => self.sized(name, Captured::SetSize, object),
            Some(Exotic::TypedArray) => {
                let length = self.length(object, Some(Captured::TypedArrayLength));
                let prefix = format!("{name}({length}) ");
                Shape {
                    name,
                    prefix,
                    open: "[",
                    close: "]",
                    indexed: length,
                    is_short: false,
                    is_bare: false,
                }
            }
            Some(_) => Shape { prefix: format!("{name} "), ..Shape::braces(name) },
            None => {
                let prefix = match (object.get_prototype().is_none(), class.as_deref()) {
                    (true, _) => "[Object: null prototype] ".to_owned(),
                    (false, Some("Object") | None) => String::new(),
                    (false, Some(name)) => format!("{name} "),
                };
                Shape { prefix, ..Shape::braces(name) }
            }
        }
    }

    fn sized(&self, name: String, size: Captured, object: &Object<'js>) -> Shape {
        let prefix = format!("{name}({}) ", self.length(object, Some(size)));
        Shape { prefix, ..Shape::braces(name) }
    }

    fn length(&self, object: &Object<'js>, getter: Option<Captured>) -> usize {
        let length = match getter {
            Some(getter) => self.realm.call(getter, object, &[]).ok(),
            None => self.realm.data(object, "length"),
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a length is a u32"
        )]
        length.and_then(|length| length.as_number()).map_or(0, |length| length as usize)
    }

    fn function(&self, object: &Object<'js>, class: Option<&str>) -> String {
        let name = self.realm.text_of(object, "name").unwrap_or_default();
        let source = self.called(Captured::FunctionToString, object);
        if source.starts_with("class") {
            let name = if name.is_empty() { "(anonymous)" } else { &name };
            return format!("[class {name}]");
        }
        let kind = class.unwrap_or("Function");
        if name.is_empty() { format!("[{kind} (anonymous)]") } else { format!("[{kind}: {name}]") }
    }

    /// What an object holds besides its properties.
    fn contents(&mut self, object: &Object<'js>, shape: &Shape) -> Vec<String> {
        if let Some(promise) = object.as_promise() {
            return vec![self.promise(promise)];
        }
        match raw::exotic(object) {
            Some(Exotic::Map) => self.entries(object, Captured::MapEntries, Captured::MapNext),
            Some(Exotic::Set) => self.entries(object, Captured::SetValues, Captured::SetNext),
            Some(Exotic::WeakMap | Exotic::WeakSet | Exotic::WeakRef) => {
                vec!["<items unknown>".to_owned()]
            }
            _ => self.items(object, shape.indexed),
        }
    }

    /// The entries of a map or a set, through the functions captured before the program ran.
    fn entries(&mut self, object: &Object<'js>, start: Captured, next: Captured) -> Vec<String> {
        let Ok(iterator) = self.realm.call(start, object, &[]) else {
            return vec![unreadable(self.realm)];
        };
        let mut parts = Vec::new();
        while let Some(entry) = self.step(&iterator, next) {
            if parts.len() == ITEMS || self.left == 0 {
                parts.push("... more items".to_owned());
                break;
            }
            parts.push(match (start, entry.as_object()) {
                (Captured::MapEntries, Some(pair)) => {
                    let (key, value) = (raw::element(pair, 0), raw::element(pair, 1));
                    match (key, value) {
                        (Ok(key), Ok(value)) => {
                            format!("{} => {}", self.value(&key), self.value(&value))
                        }
                        _ => unreadable(self.realm),
                    }
                }
                _ => self.value(&entry),
            });
        }
        parts
    }

    fn step(&self, iterator: &Value<'js>, next: Captured) -> Option<Value<'js>> {
        let step = self.realm.call(next, iterator, &[]).ok()?.into_object()?;
        let done = self.realm.data(&step, "done")?.as_bool().unwrap_or(true);
        if done { None } else { self.realm.data(&step, "value") }
    }

    /// The items of an array, with its holes.
    fn items(&mut self, object: &Object<'js>, length: usize) -> Vec<String> {
        let mut parts = Vec::new();
        let mut holes = 0;
        for index in 0..length.min(ITEMS) {
            if self.left == 0 {
                break;
            }
            let part = match raw::own_property(object, &index.to_string()) {
                Ok(None) => {
                    holes += 1;
                    continue;
                }
                Ok(Some(property)) => self.property(&property),
                Err(_) => unreadable(self.realm),
            };
            push_holes(&mut parts, &mut holes);
            parts.push(part);
        }
        push_holes(&mut parts, &mut holes);
        if length > ITEMS {
            parts.push(format!("... {} more items", length - ITEMS));
        }
        parts
    }

    fn property(&mut self, property: &Descriptor<'js>) -> String {
        match property {
            Descriptor::Data(value) => self.value(value),
            Descriptor::Accessor(true, true) => "[Getter/Setter]".to_owned(),
            Descriptor::Accessor(true, false) => "[Getter]".to_owned(),
            Descriptor::Accessor(false, _) => "[Setter]".to_owned(),
        }
    }

    /// The enumerable members, after the first `skipped` indices.
    fn members(
        &mut self,
        object: &Object<'js>,
        keys: &Keys<'js>,
        skipped: usize,
        parts: &mut Vec<String>,
    ) {
        let mut shown = 0;
        let first = skipped.min(keys.len());
        for at in first..keys.len() {
            if !keys.is_enumerable(at) {
                continue;
            }
            if shown == ITEMS || self.left == 0 {
                parts.push("... more members".to_owned());
                break;
            }
            let Ok(Some(property)) = keys.descriptor(object, at) else {
                parts.push(unreadable(self.realm));
                continue;
            };
            shown += 1;
            let key = self.key(keys, at);
            let value = self.property(&property);
            parts.push(format!("{key}: {value}"));
        }
    }

    fn key(&mut self, keys: &Keys<'js>, at: usize) -> String {
        let Ok(key) = keys.value(at) else { return unreadable(self.realm) };
        match key.as_string().map(text::readable) {
            None => format!("[{}]", self.value(&key)),
            Some(Ok(name)) if is_identifier(&name) => name,
            Some(Ok(name)) => quoted(&name),
            Some(Err(_)) => unreadable(self.realm),
        }
    }
}

/// The outer form of a shown object.
struct Shape {
    name: String,
    prefix: String,
    open: &'static str,
    close: &'static str,
    /// How many leading keys are items.
    indexed: usize,
    /// Whether it is shown whatever its depth.
    is_short: bool,
    /// Whether the prefix says everything if there are no members.
    is_bare: bool,
}

impl Shape {
    fn braces(name: String) -> Self {
        Self {
            name,
            prefix: String::new(),
            open: "{",
            close: "}",
            indexed: 0,
            is_short: false,
            is_bare: false,
        }
    }

    fn named(prefix: String) -> Self {
        Self { prefix, is_bare: true, ..Self::braces("Object".to_owned()) }
    }

    fn close(&self, parts: &[String], level: usize) -> String {
        match (self.is_bare, parts.is_empty()) {
            (true, true) => self.prefix.clone(),
            (true, false) => {
                format!("{} {}", self.prefix, braces(self.open, parts, self.close, level))
            }
            (false, _) => format!("{}{}", self.prefix, braces(self.open, parts, self.close, level)),
        }
    }
}

/// Parts between brackets: on one line if they fit.
fn braces(open: &str, parts: &[String], close: &str, level: usize) -> String {
    if parts.is_empty() {
        return format!("{open}{close}");
    }
    let width: usize = parts.iter().map(|part| part.len() + 2).sum();
    if width + level * 2 <= WIDTH && !parts.iter().any(|part| part.contains('\n')) {
        return format!("{open} {} {close}", parts.join(", "));
    }
    let indent = "  ".repeat(level + 1);
    format!(
        "{open}\n{indent}{}\n{}{close}",
        parts.join(&format!(",\n{indent}")),
        "  ".repeat(level)
    )
}

fn push_holes(parts: &mut Vec<String>, holes: &mut usize) {
    match std::mem::take(holes) {
        0 => {}
        1 => parts.push("<1 empty item>".to_owned()),
        many => parts.push(format!("<{many} empty items>")),
    }
}

fn number(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if value == 0.0 && value.is_sign_negative() {
        return "-0".to_owned();
    }
    callgate_schema::json::Number::from_f64(value)
        .map_or_else(|| "NaN".to_owned(), |number| number.to_string())
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_' || first == '$')
        && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

/// A string in the quotes that need the fewest backslashes.
fn quoted(text: &str) -> String {
    let quote = ['\'', '"', '`'].into_iter().find(|quote| !text.contains(*quote)).unwrap_or('\'');
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push(quote);
    for c in text.chars() {
        match c {
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            c if c == quote => quoted.extend(['\\', c]),
            c if (c as u32) < 0x20 || c == '\u{7f}' => {
                let code = format!("\\x{:02X}", c as u32);
                quoted.push_str(&code);
            }
            c => quoted.push(c),
        }
    }
    quoted.push(quote);
    quoted
}
