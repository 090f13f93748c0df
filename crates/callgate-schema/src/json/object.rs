//! Objects: members in order, found by scanning when few and by hash when many.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Json, Str};

/// An immutable map from strings to [`Json`] values that keeps its order.
///
/// Every string is an ordinary key, `""` and `__proto__` too.
///
/// ```
/// use callgate_schema::{Object, json};
///
/// let object = Object::builder().with("path", "a.txt").with("line", 3).build();
/// assert_eq!(object.get("line"), Some(&json!(3)));
/// assert_eq!(object.keys().map(|key| &**key).collect::<Vec<_>>(), ["path", "line"]);
/// ```
#[derive(Clone, Default)]
pub struct Object(pub(super) Option<Arc<Members>>);

/// The members and, when there are many, where each name is.
#[derive(Clone, Default)]
pub(super) struct Members {
    pub(super) entries: Vec<(Str, Json)>,
    index: Option<HashMap<Str, usize>>,
}

/// Up to here scanning the names is faster than hashing one.
const MOST_SCANNED: usize = 12;

/// An iterator may promise any length; only this much is believed.
const MOST_RESERVED: usize = 1_024;

impl Object {
    /// An object that is still being made.
    pub fn builder() -> ObjectBuilder {
        ObjectBuilder::default()
    }

    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let members = self.0.as_deref()?;
        members.position(name).map(|place| &members.entries[place].1)
    }

    /// Whether there is a member of that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The members in order.
    pub fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&Str, &Json)> + ExactSizeIterator + Clone {
        self.entries().iter().map(|(name, value)| (name, value))
    }

    /// The names of the members in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Str> + ExactSizeIterator + Clone {
        self.entries().iter().map(|(name, _)| name)
    }

    /// The values of the members in order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Json> + ExactSizeIterator + Clone {
        self.entries().iter().map(|(_, value)| value)
    }

    /// As [`Object::get`], with a guess at which place the member is.
    pub(crate) fn get_near(&self, name: &Str, place: usize) -> Option<&Json> {
        let members = self.0.as_deref()?;
        match members.entries.get(place) {
            Some((key, value)) if key == name => Some(value),
            _ => members.position(name).map(|place| &members.entries[place].1),
        }
    }

    /// At which place a member is.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.0.as_deref()?.position(name)
    }

    /// A copy with that member set; the members themselves are shared.
    pub fn with(&self, name: impl Into<Str>, value: impl Into<Json>) -> Self {
        ObjectBuilder::from(self).with(name, value).build()
    }

    /// A copy without that member.
    pub fn without(&self, name: &str) -> Self {
        self.iter()
            .filter(|(key, _)| &***key != name)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    /// From members in the order of the text; of the same name the last wins, in the place of the first.
    pub(super) fn from_members(entries: Vec<(Str, Json)>) -> Self {
        if entries.is_empty() {
            return Self::default();
        }
        Self(Some(Arc::new(Members::from_entries(entries))))
    }

    pub(crate) fn entries(&self) -> &[(Str, Json)] {
        self.0.as_deref().map_or(&[], |members| &members.entries)
    }
}

impl Members {
    fn from_entries(entries: Vec<(Str, Json)>) -> Self {
        let known =
            |place: usize| entries[..place].iter().any(|(name, _)| *name == entries[place].0);
        if entries.len() <= MOST_SCANNED && !(1..entries.len()).any(known) {
            return Self { entries, index: None };
        }
        let mut members = Self { entries: Vec::with_capacity(entries.len()), index: None };
        for (name, value) in entries {
            members.insert(name, value);
        }
        members
    }

    fn position(&self, name: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(name).copied(),
            None => self.entries.iter().position(|(key, _)| &**key == name),
        }
    }

    fn insert(&mut self, name: Str, value: Json) -> Option<Json> {
        if let Some(place) = self.position(&name) {
            return Some(std::mem::replace(&mut self.entries[place].1, value));
        }
        if let Some(index) = &mut self.index {
            index.insert(name.clone(), self.entries.len());
        }
        self.entries.push((name, value));
        if self.index.is_none() && self.entries.len() > MOST_SCANNED {
            let places =
                self.entries.iter().enumerate().map(|(place, (name, _))| (name.clone(), place));
            self.index = Some(places.collect());
        }
        None
    }
}

/// An [`Object`] that is still being made.
///
/// Of members with the same name the last wins, in the place of the first.
#[derive(Clone, Default, Debug)]
pub struct ObjectBuilder(Object);

impl ObjectBuilder {
    /// An empty builder with room for that many members.
    pub fn with_capacity(members: usize) -> Self {
        let mut builder = Self::default();
        builder.members().entries.reserve_exact(members);
        builder
    }

    /// Sets a member and returns the value it had before.
    pub fn insert(&mut self, name: impl Into<Str>, value: impl Into<Json>) -> Option<Json> {
        self.members().insert(name.into(), value.into())
    }

    /// Sets a member.
    pub fn with(mut self, name: impl Into<Str>, value: impl Into<Json>) -> Self {
        self.insert(name, value);
        self
    }

    /// Sets a member if there is a value for it.
    pub fn with_some(self, name: impl Into<Str>, value: Option<impl Into<Json>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The value a member has so far.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.get(name)
    }

    /// The finished object.
    pub fn build(self) -> Object {
        let Self(object) = self;
        if object.entries().is_empty() { Object::default() } else { object }
    }

    /// Copies the members first if somebody else holds them too.
    fn members(&mut self) -> &mut Members {
        Arc::make_mut(self.0.0.get_or_insert_default())
    }
}

impl From<&Object> for ObjectBuilder {
    fn from(object: &Object) -> Self {
        Self(object.clone())
    }
}

impl From<Object> for ObjectBuilder {
    fn from(object: Object) -> Self {
        Self(object)
    }
}

impl<K: Into<Str>, V: Into<Json>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let members = members.into_iter();
        let mut builder = ObjectBuilder::with_capacity(members.size_hint().0.min(MOST_RESERVED));
        for (name, value) in members {
            builder.insert(name, value);
        }
        builder.build()
    }
}

impl<'a> IntoIterator for &'a Object {
    type Item = (&'a Str, &'a Json);
    type IntoIter =
        std::iter::Map<std::slice::Iter<'a, (Str, Json)>, fn(&'a (Str, Json)) -> Self::Item>;
    fn into_iter(self) -> Self::IntoIter {
        self.entries().iter().map(|(name, value)| (name, value))
    }
}
