//! The outermost two levels: `mcpServers` as clients write it, and our own `callgate` block.

use callgate::Mode;

use super::problem::Problem;
use super::section::Reader;
use super::{Config, policy, timeouts};

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Config, Problem> {
    let root = reader.root();
    let root = reader.section(&root, &["$schema", "mcpServers", "callgate"])?;
    let mut config = Config::default();
    if let Some(servers) = root.get("mcpServers") {
        config.mcp_servers = servers.names()?;
    }
    let Some(own) = root.get("callgate") else { return Ok(config) };
    let own = reader.section(&own, &["mode", "policy", "timeouts", "maxParallelSubCalls"])?;
    if let Some(mode) = own.get("mode") {
        let modes = [Mode::Native, Mode::Code, Mode::Both].map(|mode| (mode.name(), mode));
        config.mode = Some(mode.one_of(&modes)?);
    }
    if let Some(limit) = own.get("maxParallelSubCalls") {
        config.max_parallel_sub_calls = Some(limit.count()?);
    }
    if let Some(block) = own.get("policy") {
        config.policy = policy::read(reader, &block)?;
    }
    if let Some(block) = own.get("timeouts") {
        config.timeouts = timeouts::read(reader, &block)?;
    }
    Ok(config)
}
