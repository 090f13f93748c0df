//! [`NameSet`]: names in the order they came, without repeats.

use std::collections::HashSet;

/// Up to here looking names up one by one is quicker than hashing.
const FEW: usize = 8;

/// Names in the order they came, without repeats.
#[derive(Debug, Default)]
pub(crate) struct NameSet<'a> {
    names: Vec<&'a str>,
    /// The same names once they are many.
    index: HashSet<&'a str>,
}

impl<'a> NameSet<'a> {
    /// Adds a name; `false` if it was there.
    pub(crate) fn insert(&mut self, name: &'a str) -> bool {
        if self.contains(name) {
            return false;
        }
        self.names.push(name);
        match self.names.len() {
            ..=FEW => {}
            len if len == FEW + 1 => self.index.extend(&self.names),
            _ => {
                self.index.insert(name);
            }
        }
        true
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        if self.index.is_empty() { self.names.contains(&name) } else { self.index.contains(name) }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.names.iter().copied()
    }
}
