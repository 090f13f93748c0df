//! Paths for walkers with an explicit stack: a step costs one entry, a whole path is only made for a message.

use crate::json::{JsonPath, Step, Str};

/// Every place a walk has been to.
#[derive(Debug)]
pub(crate) struct Trail(Vec<(Place, Crumb)>);

/// One place of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(usize);

/// The last step to a place.
#[derive(Clone, Debug)]
pub(crate) enum Crumb {
    Keyword(&'static str),
    Name(Str),
    Index(usize),
}

impl Trail {
    pub(crate) const ROOT: Place = Place(usize::MAX);

    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn below(&mut self, place: Place, crumb: Crumb) -> Place {
        self.0.push((place, crumb));
        Place(self.0.len() - 1)
    }

    pub(crate) fn path(&self, place: Place) -> JsonPath {
        let mut steps = Vec::new();
        let mut at = place;
        while let Some((parent, crumb)) = self.0.get(at.0) {
            steps.push(match crumb {
                Crumb::Keyword(name) => Step::Name((*name).into()),
                Crumb::Name(name) => Step::Name(name.clone()),
                Crumb::Index(index) => Step::Index(*index),
            });
            at = *parent;
        }
        steps.reverse();
        steps.into()
    }
}
