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

mod engine;
mod expand;
mod locate;
mod policy;
mod problem;
mod root;
mod section;
mod servers;
mod text;
mod timeouts;
mod tree;

use callgate::{Mode, SdkDetail, SdkOptions};
use callgate_mcp::ServerConfig;

pub(crate) use engine::Engine;
pub(crate) use locate::{FILE_NAME, Located, Location, PassedOver, locate};
pub(crate) use policy::{DenyRule, Policy};
use problem::Problem;
use section::Reader;
use text::Text;
pub(crate) use timeouts::Timeouts;
use tree::Tree;

use crate::engine::EngineSettings;
use crate::environment::Environment;
use crate::failure::Failure;

/// What the configuration says. The default is what holds without one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    pub(crate) policy: Policy,
    pub(crate) timeouts: Timeouts,
    /// Where programs run and what they may use.
    pub(crate) engine: Engine,
    /// How many sub-calls of one program may run at once.
    pub(crate) max_parallel_sub_calls: Option<usize>,
    /// How models see the tools.
    pub(crate) mode: Option<Mode>,
    /// How much of the SDK a model is shown at once, and up to which size it is shown whole.
    pub(crate) sdk: Sdk,
    /// The declared MCP servers, in the order of the file.
    pub(crate) servers: Vec<ServerConfig>,
}

impl Config {
    /// Everything it says about the engine.
    pub(crate) fn engine(&self) -> EngineSettings {
        let Engine { isolation, require_confinement, memory, max_calls } = self.engine;
        EngineSettings {
            isolation,
            require_confinement,
            memory,
            max_calls,
            wall: self.timeouts.run,
            compute: self.timeouts.compute,
            pool: None,
            ..EngineSettings::default()
        }
    }
}

/// How the SDK is shown to models that call `run_code`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sdk {
    pub(crate) detail: Option<SdkDetail>,
    pub(crate) inline_bytes: Option<usize>,
}

impl Sdk {
    /// What the configuration says, if it says anything.
    pub(crate) fn options(self) -> Option<SdkOptions> {
        let options = match (self.detail, self.inline_bytes) {
            (None, None) => return None,
            (Some(detail), _) => SdkOptions::new(detail),
            (None, Some(_)) => SdkOptions::new(SdkDetail::Auto),
        };
        Some(self.inline_bytes.map_or(options, |bytes| options.inline_bytes(bytes)))
    }
}

/// A configuration, and what its author should know about it.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    pub(crate) warnings: Vec<String>,
}

/// Reads a configuration file.
pub(crate) fn load(location: &Location, environment: &Environment) -> Result<Loaded, Failure> {
    let text = Text::read(location)?;
    let refused = |problem: Problem| Failure::config(problem.in_text(&text));
    let tree = Tree::parse(&text).map_err(refused)?;
    let mut reader = Reader::new(&text, &tree);
    let config = root::read(&mut reader, environment).map_err(refused)?;
    Ok(Loaded { config, warnings: reader.into_warnings() })
}
