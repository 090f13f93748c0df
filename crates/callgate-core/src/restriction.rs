//! Masks over the tools a scope inherits.

use std::collections::BTreeSet;

use callgate_schema::Str;

use crate::code::RUN_CODE;
use crate::error::{Error, ErrorKind};
use crate::registry::sorted_list;

/// Hides inherited tools from one scope and all below it. Judged anew on every view.
///
/// Several restrictions intersect. A restriction is a composition aid, not a security border:
/// use a guard to keep a call from happening.
///
/// ```
/// use callgate_core::Restriction;
/// let read_only = Restriction::allow(["read", "grep"]);
/// let no_shell = Restriction::deny(["bash"]);
/// # let _ = (read_only, no_shell);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restriction {
    allow: Option<Vec<Str>>,
    deny: Option<Vec<Str>>,
    including_absent: bool,
}

impl Restriction {
    /// Keeps only these tools. An empty list hides everything inherited.
    pub fn allow(names: impl IntoIterator<Item = impl Into<Str>>) -> Self {
        let allow = names.into_iter().map(Into::into).collect();
        Self { allow: Some(allow), deny: None, including_absent: false }
    }

    /// Removes these tools. An empty list hides nothing.
    pub fn deny(names: impl IntoIterator<Item = impl Into<Str>>) -> Self {
        let deny = names.into_iter().map(Into::into).collect();
        Self { allow: None, deny: Some(deny), including_absent: false }
    }

    /// Also removes these tools.
    #[must_use]
    pub fn and_deny(mut self, names: impl IntoIterator<Item = impl Into<Str>>) -> Self {
        self.deny.get_or_insert_default().extend(names.into_iter().map(Into::into));
        self
    }

    /// Accepts names that no tool has yet.
    #[must_use]
    pub fn including_absent(mut self) -> Self {
        self.including_absent = true;
        self
    }

    pub(crate) fn admits(&self, name: &str) -> bool {
        let lists = |names: &Vec<Str>| names.iter().any(|listed| &**listed == name);
        self.allow.as_ref().is_none_or(lists) && !self.deny.as_ref().is_some_and(lists)
    }

    pub(crate) fn check(&self, inherited: &BTreeSet<&str>) -> Result<(), Error> {
        let listed = || self.allow.iter().chain(&self.deny).flatten();
        if listed().any(|name| &**name == RUN_CODE) {
            let message = format!(
                "`{RUN_CODE}` cannot be restricted; choose the presentation mode of the scope instead"
            );
            return Err(Error::new(ErrorKind::ReservedName, message));
        }
        let unknown: Vec<String> = listed()
            .filter(|name| !self.including_absent && !inherited.contains(&***name))
            .map(|name| format!("`{name}`"))
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let known = if inherited.is_empty() {
            "nothing is inherited here".to_owned()
        } else {
            format!("inherited are {}", sorted_list(inherited.iter().copied()))
        };
        let message = format!(
            "a restriction names tools that this scope does not inherit: {}; {known}",
            unknown.join(", ")
        );
        Err(Error::new(ErrorKind::InvalidRestriction, message))
    }
}
