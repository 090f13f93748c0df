//! The outermost two levels: `mcpServers` as clients write it, and our own `callgate` block.

use callgate::Mode;

use super::problem::Problem;
use super::section::{Reader, Setting};
use super::{Config, Sdk, engine, policy, servers, timeouts};
use crate::environment::Environment;
use callgate_mcp::SdkDetail;

pub(super) fn read(reader: &mut Reader<'_>, environment: &Environment) -> Result<Config, Problem> {
    let root = reader.root();
    let root = reader.section(&root, &["$schema", "mcpServers", "callgate"])?;
    let mut config = Config::default();
    if let Some(block) = root.get("mcpServers") {
        config.servers = servers::read(reader, &block, environment)?;
    }
    let Some(own) = root.get("callgate") else { return Ok(config) };
    let own = reader.section(
        &own,
        &["mode", "policy", "timeouts", "maxParallelSubCalls", "engine", "sdk", "servers"],
    )?;
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
    if let Some(block) = own.get("engine") {
        config.engine = engine::read(reader, &block)?;
    }
    if let Some(block) = own.get("sdk") {
        config.sdk = read_sdk(reader, &block)?;
    }
    if let Some(block) = own.get("servers") {
        servers::read_own(reader, &block, &mut config.servers)?;
    }
    Ok(config)
}

fn read_sdk<'t>(reader: &mut Reader<'t>, block: &Setting<'t>) -> Result<Sdk, Problem> {
    let block = reader.section(block, &["detail", "inlineBytes"])?;
    let details =
        [("full", SdkDetail::Full), ("catalogue", SdkDetail::Catalogue), ("auto", SdkDetail::Auto)];
    let detail = block.get("detail").map(|detail| detail.one_of(&details)).transpose()?;
    let inline_bytes = block.get("inlineBytes").map(|bytes| bytes.count()).transpose()?;
    Ok(Sdk { detail, inline_bytes })
}
