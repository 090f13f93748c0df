//! The rules of `.gitignore` files, from the root down to the directory at hand.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::BorrowedFd;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::root::{Entered, enter};

/// Larger than any such file that people write; a limit for those that they do not.
const LARGEST: u64 = 1 << 20;

/// The rules of one directory after the other, outermost first.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    layers: Vec<Layer>,
}

/// The rules of one directory.
#[derive(Debug)]
struct Layer {
    /// How much of a path leads to the directory, in bytes, with the slash after it.
    depth: usize,
    rules: Option<Gitignore>,
}

impl Ignored {
    /// Goes down into a directory. Fails if it has rules that cannot be read; then it counts as
    /// having none.
    pub(super) fn enter(&mut self, dir: BorrowedFd<'_>, depth: usize) -> Result<(), Unusable> {
        let (rules, outcome) = match read(dir) {
            Ok(rules) => (rules, Ok(())),
            Err(unusable) => (None, Err(unusable)),
        };
        self.layers.push(Layer { depth, rules });
        outcome
    }

    /// Goes back up.
    pub(super) fn leave(&mut self) {
        self.layers.pop();
    }

    /// Whether an entry is ignored: the rule nearest to it decides.
    pub(super) fn covers(&self, path: &str, is_directory: bool) -> bool {
        for layer in self.layers.iter().rev() {
            let Some(rules) = &layer.rules else { continue };
            match rules.matched(&path[layer.depth..], is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// Rules that cannot be read or are too large.
#[derive(Debug)]
pub(super) struct Unusable;

/// The rules a directory declares. A link is no declaration, as for git.
fn read(dir: BorrowedFd<'_>) -> Result<Option<Gitignore>, Unusable> {
    let file = match enter(dir, OsStr::new(".gitignore")) {
        Ok(Entered::File(file)) => file,
        Ok(_) | Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(_) => return Err(Unusable),
    };
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|_| Unusable)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Unusable);
    }
    let mut builder = GitignoreBuilder::new(".");
    for line in String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').lines() {
        // A line that is no pattern ignores nothing, as for git.
        let _not_a_pattern = builder.add_line(None, line).is_err();
    }
    builder.build().map(Some).map_err(|_| Unusable)
}
