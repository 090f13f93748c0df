//! The tool runtime as the configuration wants it: tools, rules, engine.

use std::time::Duration;

use callgate::engine::TypeScript;
use callgate::program::{Isolation, ProgramEngine as _};
use callgate::schema::nearest_name;
use callgate::{Layer, Mode, ToolRuntime};
use callgate_tools::FileTools;

use crate::args::SetupArguments;
use crate::config::{self, Config, DenyRule, Loaded};
use crate::engine::{LastEnd, Watched};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::policy::DenyRules;
use crate::terminal::Terminal;

/// Nobody reads more than this.
const MOST_WARNINGS: usize = 20;

/// How far another limit is kept away from the one that is to be reached first.
const SPARE: Duration = Duration::from_secs(1);

/// Everything that calls need.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) runtime: ToolRuntime,
    /// How the last program ended.
    pub(crate) last_end: LastEnd,
    pub(crate) isolation: Isolation,
    config: Config,
}

impl Host {
    /// Reads the configuration and builds the runtime. What is to be said about either is said on standard error.
    pub(crate) fn open(
        arguments: &SetupArguments,
        timeout: Option<Duration>,
        environment: &Environment,
        terminal: Terminal,
    ) -> Result<Self, Failure> {
        let config = read_config(arguments, environment, terminal)?;
        let engine = Watched::new(engine(&config, timeout)?);
        let (last_end, isolation) = (engine.last_end(), engine.isolation());
        let mut builder = ToolRuntime::builder().mode(Mode::Both).engine(engine);
        if let Some(limit) = config.max_parallel_sub_calls {
            builder = builder.max_parallel_sub_calls(limit);
        }
        let runtime = builder.build().map_err(|error| defect(&error))?;
        let root = arguments.root.as_deref().unwrap_or(std::path::Path::new("."));
        let tools =
            FileTools::below(root).map_err(|error| Failure::usage(format!("`--root`: {error}")))?;
        tools.install(&runtime).map_err(|error| defect(&error))?;
        runtime.install(&DenyRules::of(&config.policy)).map_err(|error| defect(&error))?;
        let host = Self { runtime, last_end, isolation, config };
        host.warn_of_idle_rules(terminal);
        Ok(host)
    }

    /// The rule that denies a tool.
    pub(crate) fn denied_by(&self, tool: &str) -> Option<&DenyRule> {
        self.config.policy.deny.iter().find(|rule| rule.applies_to(tool))
    }

    /// Rules that stop nothing are mostly misspelt. With MCP servers declared, their tools may be what is meant.
    fn warn_of_idle_rules(&self, terminal: Terminal) {
        if !self.config.mcp_servers.is_empty() {
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

/// The names of the tools that programs can call.
fn tool_names(layer: &Layer) -> Vec<String> {
    let schemas = layer.schemas();
    let names = schemas.iter().map(|schema| schema.name.to_string());
    names.filter(|name| name != callgate::RUN_CODE).collect()
}

fn read_config(
    arguments: &SetupArguments,
    environment: &Environment,
    terminal: Terminal,
) -> Result<Config, Failure> {
    let location = config::locate(arguments.config.as_deref(), environment)?;
    if let Some(ignored) = config::ignored(location.as_ref()) {
        terminal.note(&ignored);
    }
    let Loaded { config, warnings } = match &location {
        Some(location) => config::load(location)?,
        None => Loaded::default(),
    };
    for warning in warnings {
        terminal.warning(&warning);
    }
    if !config.mcp_servers.is_empty() {
        let servers: Vec<String> =
            config.mcp_servers.iter().map(|name| format!("`{name}`")).collect();
        terminal
            .note(&format!("`mcpServers` ({}) is not used by this command", servers.join(", ")));
    }
    Ok(config)
}

/// The engine within the limits of the configuration. A limit on the command line bounds everything that takes time.
fn engine(config: &Config, timeout: Option<Duration>) -> Result<TypeScript, Failure> {
    let mut engine = TypeScript::in_process();
    if let Some(wall) = timeout.or(config.timeouts.run) {
        engine = engine.wall(wall);
    }
    // With a timeout the program may compute all the time, and the ceiling is what it hears of.
    let compute = timeout.map(|timeout| timeout.saturating_add(SPARE));
    if let Some(compute) = compute.or(config.timeouts.compute) {
        engine = engine.compute(compute);
    }
    engine.build().map_err(|error| defect(&error))
}

/// Something that cannot happen with the tools and settings of this binary.
#[cold]
fn defect(error: &dyn std::error::Error) -> Failure {
    Failure::failed("defect", format!("the tools cannot be set up: {error}"))
}
