//! [`Distinct`]: which texts a union has printed already.

use std::collections::HashSet;
use std::ops::Range;

/// Up to here comparing one by one is quicker than hashing.
const FEW: usize = 8;

/// The branches of a union in the text it is printed to.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    few: Vec<Range<usize>>,
    many: HashSet<Box<str>>,
}

impl Distinct {
    /// Remembers what stands in `text` from `start` on; `false` if an equal branch came before.
    pub(crate) fn insert(&mut self, text: &str, start: usize) -> bool {
        if self.few.len() < FEW {
            let new = self.few.iter().all(|branch| text[branch.clone()] != text[start..]);
            if new {
                self.few.push(start..text.len());
            }
            return new;
        }
        if self.many.is_empty() {
            self.many.extend(self.few.iter().map(|branch| Box::from(&text[branch.clone()])));
        }
        !self.many.contains(&text[start..]) && self.many.insert(Box::from(&text[start..]))
    }
}
