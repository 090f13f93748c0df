//! The functions a program was told about; a worker may name any.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use callgate_core::program::Namespace;
use callgate_schema::Str;

/// Looks names up. Most programs make few calls, so the index waits for the first one.
#[derive(Debug)]
pub(super) struct Declared {
    namespaces: Vec<Namespace>,
    index: OnceLock<HashMap<Str, HashSet<Str>>>,
}

impl Declared {
    pub(super) fn new(namespaces: &[Namespace]) -> Self {
        Self { namespaces: namespaces.to_vec(), index: OnceLock::new() }
    }

    pub(super) fn has(&self, global: &str, member: &str) -> bool {
        let index = self.index.get_or_init(|| {
            let entry = |namespace: &Namespace| {
                (namespace.global.clone(), namespace.members.iter().cloned().collect())
            };
            self.namespaces.iter().map(entry).collect()
        });
        index.get(global).is_some_and(|members| members.contains(member))
    }
}
