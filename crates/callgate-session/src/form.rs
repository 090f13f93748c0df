//! The JSON form of everything in a log: strict reading with paths, printing without detours.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use callgate_schema::{Json, Object, Str};

/// Why a JSON value is not what the log format asks for at that place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError {
    path: String,
    problem: String,
}

impl FormError {
    #[cold]
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self { path: String::new(), problem: problem.into() }
    }

    /// The member that is wrong, such as `data.turn`; empty for the value itself.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The same error, seen from the object around it.
    #[cold]
    pub(crate) fn within(mut self, name: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.problem)
        } else {
            write!(f, "`{}` {}", self.path, self.problem)
        }
    }
}

impl std::error::Error for FormError {}

/// A type with one exact JSON form.
pub(crate) trait Field: Sized {
    fn read(json: &Json) -> Result<Self, FormError>;

    fn print(&self, out: &mut String);

    /// Reads a member of an object, which may be missing.
    fn read_member(json: Option<&Json>) -> Result<Self, FormError> {
        json.map_or_else(|| Err(FormError::new("is missing")), Self::read)
    }

    /// Whether the member is left out of its object.
    fn is_absent(&self) -> bool {
        false
    }
}

impl<T: Field> Field for Option<T> {
    fn read(json: &Json) -> Result<Self, FormError> {
        T::read(json).map(Some)
    }

    fn print(&self, out: &mut String) {
        if let Some(value) = self {
            value.print(out);
        }
    }

    fn read_member(json: Option<&Json>) -> Result<Self, FormError> {
        json.map(T::read).transpose()
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Field> Field for Arc<[T]> {
    fn read(json: &Json) -> Result<Self, FormError> {
        let items = json.as_array().ok_or_else(|| FormError::new("must be a list"))?;
        let read = |(n, item)| T::read(item).map_err(|error| error.within(&format!("[{n}]")));
        items.iter().enumerate().map(read).collect()
    }

    fn print(&self, out: &mut String) {
        out.push('[');
        for (n, item) in self.iter().enumerate() {
            if n > 0 {
                out.push(',');
            }
            item.print(out);
        }
        out.push(']');
    }
}

impl Field for Json {
    fn read(json: &Json) -> Result<Self, FormError> {
        Ok(json.clone())
    }

    fn print(&self, out: &mut String) {
        put(out, self);
    }
}

impl Field for Str {
    fn read(json: &Json) -> Result<Self, FormError> {
        match json {
            Json::String(text) => Ok(text.clone()),
            _ => Err(FormError::new("must be a string")),
        }
    }

    fn print(&self, out: &mut String) {
        put(out, &Json::String(self.clone()));
    }
}

impl Field for bool {
    fn read(json: &Json) -> Result<Self, FormError> {
        json.as_bool().ok_or_else(|| FormError::new("must be true or false"))
    }

    fn print(&self, out: &mut String) {
        out.push_str(if *self { "true" } else { "false" });
    }
}

impl Field for u64 {
    fn read(json: &Json) -> Result<Self, FormError> {
        json.as_u64().ok_or_else(|| FormError::new("must be a whole number of at least 0"))
    }

    fn print(&self, out: &mut String) {
        put(out, self);
    }
}

/// Prints what cannot fail to print: a `String` takes everything.
fn put(out: &mut String, value: &impl fmt::Display) {
    let printed = write!(out, "{value}");
    debug_assert!(printed.is_ok());
}

/// Prints one object, member by member.
pub(crate) struct Members<'a> {
    out: &'a mut String,
    empty: bool,
}

impl<'a> Members<'a> {
    pub(crate) fn open(out: &'a mut String) -> Self {
        out.push('{');
        Self { out, empty: true }
    }

    /// Prints a member, unless its value is an absent one.
    pub(crate) fn put<T: Field>(&mut self, name: &str, value: &T) {
        if !value.is_absent() {
            value.print(self.name(name));
        }
    }

    /// Prints a member that is a fixed word.
    pub(crate) fn word(&mut self, name: &str, word: &str) {
        let out = self.name(name);
        out.push('"');
        out.push_str(word);
        out.push('"');
    }

    /// Prints a member that is left out when it is false.
    pub(crate) fn flag(&mut self, name: &str, value: bool) {
        if value {
            self.put(name, &true);
        }
    }

    /// Prints the name of a member whose value the caller prints.
    pub(crate) fn name(&mut self, name: &str) -> &mut String {
        if !std::mem::take(&mut self.empty) {
            self.out.push(',');
        }
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
        self.out
    }

    pub(crate) fn close(self) {
        self.out.push('}');
    }
}

/// Reads one object whose members are all known.
pub(crate) struct Fields<'a>(&'a Object);

impl<'a> Fields<'a> {
    /// # Errors
    ///
    /// If `json` is no object or has a member that is not in `names`.
    pub(crate) fn of(json: &'a Json, names: &[&str]) -> Result<Self, FormError> {
        let object = json.as_object().ok_or_else(|| FormError::new("must be an object"))?;
        match object.iter().find(|(name, _)| !names.contains(&&***name)) {
            Some((name, _)) => Err(FormError::new(
                "is not a known member; the log may come from a newer version of callgate",
            )
            .within(name)),
            None => Ok(Self(object)),
        }
    }

    pub(crate) fn take<T: Field>(&self, name: &str) -> Result<T, FormError> {
        T::read_member(self.0.get(name)).map_err(|error| error.within(name))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, FormError> {
        self.take::<Option<bool>>(name).map(Option::unwrap_or_default)
    }

    /// Refuses an object whose fixed member `name` is not `word`.
    pub(crate) fn expect(&self, name: &str, word: &str) -> Result<(), FormError> {
        let found: Str = self.take(name)?;
        if &*found == word {
            return Ok(());
        }
        Err(FormError::new(format!("must be `{word}`, not `{found}`")).within(name))
    }
}

/// Whether an object has exactly these members.
pub(crate) fn has_exactly(object: &Object, names: &[&str]) -> bool {
    object.len() == names.len() && names.iter().all(|name| object.get(name).is_some())
}

/// An enum of fixed words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$word_doc])* $variant,)* }

        impl $name {
            /// The word as it stands in the log.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The value of a word, if it is in the vocabulary.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::form::Field for $name {
            fn read(json: &callgate_schema::Json) -> Result<Self, $crate::form::FormError> {
                let word = json.as_str().unwrap_or_default();
                Self::from_word(word).ok_or_else(|| {
                    let known = [$(concat!("`", $word, "`"),)*].join(", ");
                    $crate::form::FormError::new(format!("must be one of {known}"))
                })
            }

            fn print(&self, out: &mut String) {
                out.push('"');
                out.push_str(self.as_str());
                out.push('"');
            }
        }
    };
}

/// Structs that are JSON objects with fixed members, in the order given.
macro_rules! records {
    ($($(#[$doc:meta])* $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $member:literal,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

        impl $crate::form::Field for $name {
            fn read(json: &callgate_schema::Json) -> Result<Self, $crate::form::FormError> {
                let _fields = $crate::form::Fields::of(json, &[$($member),*])?;
                Ok(Self { $($field: _fields.take($member)?,)* })
            }

            fn print(&self, out: &mut String) {
                let mut members = $crate::form::Members::open(out);
                $(members.put($member, &self.$field);)*
                members.close();
            }
        }
    )*};
}

pub(crate) use {records, words};
