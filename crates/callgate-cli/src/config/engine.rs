//! `callgate.engine`: where programs run, and what they may use.

use super::problem::Problem;
use super::section::{Reader, Setting};
use crate::args::{WantedIsolation, size};

/// Where programs run and what they may use, where the configuration says so.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Engine {
    pub(crate) isolation: Option<WantedIsolation>,
    /// Whether less than a confined worker is refused.
    pub(crate) require_confinement: bool,
    /// Bytes that a program may allocate.
    pub(crate) memory: Option<usize>,
    /// How many calls a program may make in all.
    pub(crate) max_calls: Option<u64>,
}

pub(super) fn read<'t>(reader: &mut Reader<'t>, block: &Setting<'t>) -> Result<Engine, Problem> {
    let block =
        reader.section(block, &["isolation", "requireConfinement", "memory", "maxCalls"])?;
    let levels = [("worker", WantedIsolation::Worker), ("in-process", WantedIsolation::InProcess)];
    let isolation = block.get("isolation").map(|level| level.one_of(&levels)).transpose()?;
    let required = block.get("requireConfinement").map(|flag| flag.flag()).transpose()?;
    let memory = block.get("memory").map(|memory| read_size(&memory)).transpose()?;
    let max_calls = block.get("maxCalls").map(|count| count.count()).transpose()?;
    Ok(Engine {
        isolation,
        require_confinement: required.unwrap_or(false),
        memory,
        max_calls: max_calls.map(|count| count as u64),
    })
}

/// A number of bytes, or a text such as `64M`.
fn read_size(setting: &Setting<'_>) -> Result<usize, Problem> {
    match setting.as_string() {
        Some(text) => {
            size(text).map_err(|what| setting.problem(format_args!("is `{text}`; {what}")))
        }
        None => setting.count(),
    }
}
