//! `callgate.json`: which file it is, and what it says.
//!
//! ```text
//! locate ─▶ Text ─▶ Tree ─▶ Section … ─▶ Config
//!  which    lines   JSON     one reader     values, with the place
//!  file             with     for each       of every rule
//!                   places   block
//! ```
//!
//! What is wrong becomes a [`Problem`] at a place in the text. A problem in a value ends the reading: nothing runs under
//! half a configuration. Unknown keys are problems too, but only reported, so that a file may serve several versions.

mod locate;
mod policy;
mod problem;
mod root;
mod section;
mod text;
mod timeouts;
mod tree;

use callgate::{Mode, Str};

pub(crate) use locate::{Location, ignored, locate};
pub(crate) use policy::{DenyRule, Policy};
use problem::Problem;
use section::Reader;
use text::Text;
pub(crate) use timeouts::Timeouts;
use tree::Tree;

use crate::failure::Failure;

/// What the configuration says. The default is what holds without one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    pub(crate) policy: Policy,
    pub(crate) timeouts: Timeouts,
    /// How many sub-calls of one program may run at once.
    pub(crate) max_parallel_sub_calls: Option<usize>,
    /// How models see the tools.
    pub(crate) mode: Option<Mode>,
    /// The names of the declared MCP servers.
    pub(crate) mcp_servers: Vec<Str>,
}

/// A configuration, and what its author should know about it.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    pub(crate) warnings: Vec<String>,
}

/// Reads a configuration file.
pub(crate) fn load(location: &Location) -> Result<Loaded, Failure> {
    let text = Text::read(location)?;
    let refused = |problem: Problem| Failure::config(problem.in_text(&text));
    let tree = Tree::parse(&text).map_err(refused)?;
    let mut reader = Reader::new(&text, &tree);
    let config = root::read(&mut reader).map_err(refused)?;
    Ok(Loaded { config, warnings: reader.into_warnings() })
}
