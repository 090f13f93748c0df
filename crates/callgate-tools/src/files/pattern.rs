//! Patterns for paths.

use callgate::ToolError;
use globset::{GlobBuilder, GlobMatcher};

use super::fault;

/// As long as a path can be, in bytes.
const LONGEST: usize = 4_096;

/// A glob for paths with `/` between names: `*` and `?` stay within a name, `**` crosses names,
/// and only a literal dot matches the dot that hides a name.
#[derive(Debug)]
pub(super) struct PathPattern {
    glob: GlobMatcher,
    names_hidden: bool,
}

impl PathPattern {
    /// A pattern for whole paths.
    pub(super) fn for_paths(parameter: &str, pattern: &str) -> Result<Self, ToolError> {
        let invalid = |why: &dyn std::fmt::Display| {
            ToolError::invalid_arguments(format!("`{parameter}` is no valid glob: {why}"))
        };
        if pattern.trim().is_empty() {
            return Err(invalid(&"it is blank; `**/*` matches every file"));
        }
        if pattern.len() > LONGEST {
            return Err(invalid(&format!("it is longer than {LONGEST} bytes")));
        }
        let relative = pattern.strip_prefix("./").unwrap_or(pattern);
        if relative.starts_with('/') || relative.split('/').any(|name| name == "..") {
            return Err(fault::outside(format!(
                "`{parameter}` is `{pattern}`, but matches only paths below the directory that is searched; leave out the leading `/` or `..`, or choose another directory with `path`"
            )));
        }
        let glob = GlobBuilder::new(relative)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| invalid(&error.kind()))?
            .compile_matcher();
        Ok(Self { glob, names_hidden: may_name_hidden(relative) })
    }

    /// A pattern for whole paths, or, if it has no slash, for the names of files anywhere.
    pub(super) fn for_names(parameter: &str, pattern: &str) -> Result<Self, ToolError> {
        if pattern.contains('/') || pattern.trim().is_empty() {
            return Self::for_paths(parameter, pattern);
        }
        Self::for_paths(parameter, &format!("**/{pattern}"))
    }

    /// Whether hidden directories have to be searched.
    pub(super) fn names_hidden(&self) -> bool {
        self.names_hidden
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        self.glob.is_match(path) && (!self.names_hidden || self.spells_every_hiding_dot(path))
    }

    /// Whether no dot at the start of a name was matched by a wildcard. A wildcard would match
    /// any other character in its place as well.
    fn spells_every_hiding_dot(&self, path: &str) -> bool {
        let mut start = 0;
        path.split('/').all(|name| {
            let dot = start;
            start += name.len() + 1;
            if !name.starts_with('.') {
                return true;
            }
            let other = format!("{}\u{e000}{}", &path[..dot], &path[dot + 1..]);
            !self.glob.is_match(other)
        })
    }
}

/// Whether a name in the pattern may begin with a literal dot.
fn may_name_hidden(pattern: &str) -> bool {
    let mut before = '/';
    for character in pattern.chars() {
        if character == '.' && matches!(before, '/' | '{' | ',' | '[' | '\\') {
            return true;
        }
        before = character;
    }
    false
}
