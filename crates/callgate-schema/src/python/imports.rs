//! [`Imports`]: what generated Python takes from `typing`.

/// A name of `typing`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Import {
    Any,
    Literal,
    Never,
    NotRequired,
    Protocol,
    TypedDict,
}

/// The names that were printed, in the order of the import line.
#[derive(Debug, Default)]
pub(super) struct Imports {
    used: [bool; 6],
}

impl Import {
    /// In the order of the import line.
    const ALL: [Self; 6] =
        [Self::Any, Self::Literal, Self::Never, Self::NotRequired, Self::Protocol, Self::TypedDict];

    fn name(self) -> &'static str {
        match self {
            Self::Any => "Any",
            Self::Literal => "Literal",
            Self::Never => "Never",
            Self::NotRequired => "NotRequired",
            Self::Protocol => "Protocol",
            Self::TypedDict => "TypedDict",
        }
    }
}

impl Imports {
    pub(super) fn add(&mut self, import: Import) {
        self.used[import as usize] = true;
    }

    /// The import line, without its end.
    pub(super) fn line(&self) -> String {
        let used = Import::ALL.into_iter().filter(|&import| self.used[import as usize]);
        let names: Vec<_> = used.map(Import::name).collect();
        format!("from typing import {}", names.join(", "))
    }
}
