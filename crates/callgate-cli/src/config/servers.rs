//! `mcpServers` as clients write it, and what `callgate.servers` says about the same servers.
//!
//! A declaration that cannot be used makes its server unusable and no other: the rest of the file stays in force.

use callgate::Str;
use callgate_mcp::{Parallel, ResultForm, ServerConfig, Stdio, Validation};

use super::expand::{Unset, expand};
use super::problem::Problem;
use super::section::{Reader, Section, Setting};
use crate::environment::Environment;

/// What a declaration may hold. Some of it means something to other clients only.
const DECLARED: &[&str] = &[
    "command",
    "args",
    "env",
    "cwd",
    "type",
    "transport",
    "url",
    "headers",
    "disabled",
    "description",
    "timeout",
    "autoApprove",
    "alwaysAllow",
];

/// Reads the declarations. Disabled servers are left out.
pub(super) fn read<'t>(
    reader: &mut Reader<'t>,
    block: &Setting<'t>,
    environment: &Environment,
) -> Result<Vec<ServerConfig>, Problem> {
    let mut servers: Vec<ServerConfig> = Vec::new();
    for (name, declaration) in block.entries()? {
        let server = match read_one(reader, name, &declaration, environment) {
            Ok(Some(server)) => server,
            Ok(None) => continue,
            Err(problem) => ServerConfig::unusable(name.clone(), reader.describe(&problem)),
        };
        // Of keys that stand twice the last one counts.
        servers.retain(|known| known.name != *name);
        servers.push(server);
    }
    Ok(servers)
}

fn read_one<'t>(
    reader: &mut Reader<'t>,
    name: &Str,
    declaration: &Setting<'t>,
    environment: &Environment,
) -> Result<Option<ServerConfig>, Problem> {
    let block = reader.section(declaration, DECLARED)?;
    if block.get("disabled").map(|disabled| disabled.flag()).transpose()? == Some(true) {
        return Ok(None);
    }
    if let Some(url) = block.get("url") {
        return Err(url.problem(
            "is an HTTP server, and this version speaks with servers that it starts itself",
        ));
    }
    let command = block.get("command");
    let command =
        command.ok_or_else(|| declaration.problem("needs `command`, the program to start"))?;
    let process = read_process(&block, &command, environment);
    Ok(Some(match process? {
        Ok(process) => ServerConfig::stdio(name.clone(), process),
        Err(reason) => ServerConfig::unusable(name.clone(), reason),
    }))
}

/// The process, or which field needs a variable that is not set.
fn read_process<'t>(
    block: &Section<'t>,
    command: &Setting<'t>,
    environment: &Environment,
) -> Result<Result<Stdio, String>, Problem> {
    let fill = |setting: &Setting<'t>| -> Result<Result<String, String>, Problem> {
        let text = setting.string()?;
        Ok(expand(text, |name| environment.variable(name)).map_err(|Unset(name)| {
            let field = setting.path();
            format!("the variable `{name}` in `{field}` is not set; set it, or give a default: `${{{name}:-…}}`")
        }))
    };
    let mut process = match fill(command)? {
        Ok(command) => Stdio::new(command),
        Err(reason) => return Ok(Err(reason)),
    };
    let args = block.get("args").map(|args| args.list()).transpose()?;
    for arg in args.unwrap_or_default() {
        match fill(&arg)? {
            Ok(arg) => process = process.arg(arg),
            Err(reason) => return Ok(Err(reason)),
        }
    }
    let variables = block.get("env").map(|variables| variables.entries()).transpose()?;
    for (name, value) in variables.unwrap_or_default() {
        match fill(&value)? {
            Ok(value) => process = process.env(&**name, value),
            Err(reason) => return Ok(Err(reason)),
        }
    }
    match block.get("cwd").map(|cwd| fill(&cwd)).transpose()? {
        Some(Ok(cwd)) => process = process.cwd(cwd),
        Some(Err(reason)) => return Ok(Err(reason)),
        None => {}
    }
    Ok(Ok(process))
}

const OWN: &[&str] =
    &["parallel", "trusted", "validateArguments", "validateResults", "result", "timeouts"];

/// Reads what our own block says about declared servers.
pub(super) fn read_own<'t>(
    reader: &mut Reader<'t>,
    block: &Setting<'t>,
    servers: &mut [ServerConfig],
) -> Result<(), Problem> {
    for (name, settings) in block.entries()? {
        let Some(server) = servers.iter_mut().find(|server| server.name == *name) else {
            reader.report(settings.problem("is about a server that `mcpServers` does not declare"));
            continue;
        };
        read_settings(reader, &settings, server)?;
    }
    Ok(())
}

fn read_settings<'t>(
    reader: &mut Reader<'t>,
    settings: &Setting<'t>,
    server: &mut ServerConfig,
) -> Result<(), Problem> {
    let block = reader.section(settings, OWN)?;
    if let Some(parallel) = block.get("parallel") {
        server.parallel = read_parallel(&parallel)?;
    }
    if let Some(trusted) = block.get("trusted") {
        server.is_trusted = trusted.flag()?;
    }
    let validations =
        [("enforce", Validation::Enforce), ("warn", Validation::Warn), ("off", Validation::Off)];
    if let Some(validation) = block.get("validateArguments") {
        server.validate_arguments = validation.one_of(&validations)?;
    }
    if let Some(validation) = block.get("validateResults") {
        server.validate_results = validation.one_of(&validations)?;
    }
    if let Some(form) = block.get("result") {
        server.result =
            form.one_of(&[("value", ResultForm::Value), ("envelope", ResultForm::Envelope)])?;
    }
    let Some(timeouts) = block.get("timeouts") else { return Ok(()) };
    let timeouts = reader.section(&timeouts, &["start", "call", "idle"])?;
    for (name, limit) in [
        ("start", &mut server.timeouts.start),
        ("call", &mut server.timeouts.call),
        ("idle", &mut server.timeouts.idle),
    ] {
        if let Some(setting) = timeouts.get(name) {
            *limit = setting.seconds()?;
        }
    }
    Ok(())
}

/// `true`, `false`, or the patterns of tools.
fn read_parallel(setting: &Setting<'_>) -> Result<Parallel, Problem> {
    if let Ok(all) = setting.flag() {
        return Ok(if all { Parallel::All } else { Parallel::None });
    }
    let patterns = setting
        .list()
        .map_err(|_| setting.problem("must be true, false, or a list of patterns"))?;
    let patterns = patterns.iter().map(|pattern| pattern.string().map(|text| &**text));
    let patterns = patterns.collect::<Result<Vec<&str>, Problem>>()?;
    Parallel::matching(patterns)
        .map_err(|error| setting.problem(format_args!("holds a wrong pattern: {error}")))
}
