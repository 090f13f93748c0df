//! The tool runtime as the configuration wants it: tools, rules, engine.

use std::path::Path;

use callgate::program::{Isolation, ProgramEngine as _};
use callgate::schema::nearest_name;
use callgate::{Layer, Mode, PluginHandle, ToolRuntime};
use callgate_tools::FileTools;

use crate::args::SetupArguments;
use crate::config::{self, Config, DenyRule, Loaded, Located, PassedOver};
use crate::engine::{EngineSettings, LastEnd};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::policy::DenyRules;
use crate::servers::Servers;
use crate::terminal::Terminal;

/// Nobody reads more than this.
const MOST_WARNINGS: usize = 20;

/// Everything that calls need.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) runtime: ToolRuntime,
    /// How the last program ended.
    pub(crate) last_end: LastEnd,
    pub(crate) isolation: Isolation,
    config: Config,
    /// The declared MCP servers, if there are any.
    servers: Option<Servers>,
}

impl Host {
    /// Reads the configuration, builds the runtime with the engine that `choose` makes of what the configuration says
    /// about it, and starts the declared servers. What is to be said about any of them is said on standard error.
    pub(crate) fn open(
        arguments: &SetupArguments,
        choose: impl FnOnce(EngineSettings) -> EngineSettings,
        environment: &Environment,
        terminal: Terminal,
    ) -> Result<Self, Failure> {
        let config = read_config(arguments.config.as_deref(), environment, terminal)?;
        let built = build(&config, Mode::Both, choose(config.engine()), terminal)?;
        let Built { runtime, last_end, isolation, .. } = built;
        let root = arguments.root.as_deref().unwrap_or(Path::new("."));
        install_files(&runtime, root)?;
        let servers = match &*config.servers {
            [] => None,
            declared => Some(Servers::start(&runtime, declared.to_vec(), environment, terminal)?),
        };
        let host = Self { runtime, last_end, isolation, config, servers };
        host.warn_of_idle_rules(terminal);
        Ok(host)
    }

    /// The rule that denies a tool.
    pub(crate) fn denied_by(&self, tool: &str) -> Option<&DenyRule> {
        self.config.policy.deny.iter().find(|rule| rule.applies_to(tool))
    }

    /// Rules that stop nothing are mostly misspelt. Where a server is missing, its tools may be what is meant.
    fn warn_of_idle_rules(&self, terminal: Terminal) {
        if self.servers.as_ref().is_some_and(Servers::is_incomplete) {
            return;
        }
        let tools = tool_names(&self.runtime);
        let is_idle = |rule: &&DenyRule| !tools.iter().any(|tool| rule.applies_to(tool));
        for rule in self.config.policy.deny.iter().filter(is_idle).take(MOST_WARNINGS) {
            let DenyRule { name, pattern, place, .. } = rule;
            let hint = match nearest_name(pattern, tools.iter().map(String::as_str)) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => format!("; the tools are: {}", tools.join(", ")),
            };
            terminal.warning(&format!(
                "{name} in {place} denies nothing: no tool has such a name{hint}"
            ));
        }
    }
}

/// A runtime without tools, within the rules and limits of a configuration.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) runtime: ToolRuntime,
    /// The rules in force.
    pub(crate) policy: PluginHandle,
    last_end: LastEnd,
    pub(crate) isolation: Isolation,
}

/// Builds the runtime that a configuration describes, for models that see its tools in this form.
pub(crate) fn build(
    config: &Config,
    mode: Mode,
    settings: EngineSettings,
    terminal: Terminal,
) -> Result<Built, Failure> {
    let (engine, shortfall) = settings.build()?;
    if let Some(shortfall) = shortfall {
        terminal.warning(&shortfall);
    }
    let (last_end, isolation) = (engine.last_end(), engine.isolation());
    let mut builder = ToolRuntime::builder().mode(mode).engine(engine);
    if let Some(limit) = config.max_parallel_sub_calls {
        builder = builder.max_parallel_sub_calls(limit);
    }
    if let Some(limit) = settings.max_calls {
        builder = builder.max_sub_calls(limit);
    }
    if let Some(options) = config.sdk.options() {
        builder = builder.sdk(options);
    }
    let runtime = builder.build().map_err(|error| defect(&error))?;
    let policy = runtime.install(&DenyRules::of(&config.policy)).map_err(|error| defect(&error))?;
    Ok(Built { runtime, policy, last_end, isolation })
}

/// Gives a runtime the tools that read the files of a directory.
pub(crate) fn install_files(runtime: &ToolRuntime, root: &Path) -> Result<(), Failure> {
    let tools =
        FileTools::below(root).map_err(|error| Failure::usage(format!("`--root`: {error}")))?;
    tools.install(runtime).map_err(|error| defect(&error))?;
    Ok(())
}

/// The names of the tools that programs can call.
fn tool_names(layer: &Layer) -> Vec<String> {
    let schemas = layer.schemas();
    let names = schemas.iter().map(|schema| schema.name.to_string());
    names.filter(|name| name != callgate::RUN_CODE).collect()
}

/// Reads the configuration; what its author should know is said on standard error.
pub(crate) fn read_config(
    named: Option<&Path>,
    environment: &Environment,
    terminal: Terminal,
) -> Result<Config, Failure> {
    let Located { location, passed_over } = config::locate(named, environment)?;
    match passed_over {
        Some(PassedOver::Unknown(message)) => terminal.note(&message),
        Some(PassedOver::NoLonger(message)) => terminal.warning(&message),
        None => {}
    }
    let Loaded { config, warnings } = match &location {
        Some(location) => config::load(location, environment)?,
        None => Loaded::default(),
    };
    for warning in warnings {
        terminal.warning(&warning);
    }
    Ok(config)
}

/// Something that cannot happen with the tools and settings of this binary.
#[cold]
fn defect(error: &dyn std::error::Error) -> Failure {
    Failure::failed("defect", format!("the tools cannot be set up: {error}"))
}
