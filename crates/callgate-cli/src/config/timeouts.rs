//! `callgate.timeouts`: how long things may take.

use std::time::Duration;

use super::problem::Problem;
use super::section::{Reader, Setting};

/// How long things may take, where the configuration says so.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeouts {
    /// A program, from its start to its end.
    pub(crate) run: Option<Duration>,
    /// What a program computes itself, without waiting for its calls.
    pub(crate) compute: Option<Duration>,
    /// What a client of `serve` asks first, while servers start.
    pub(crate) settle: Option<Duration>,
}

pub(super) fn read<'t>(reader: &mut Reader<'t>, block: &Setting<'t>) -> Result<Timeouts, Problem> {
    let block = reader.section(block, &["run", "compute", "settle"])?;
    let seconds = |name| block.get(name).map(|setting| setting.seconds()).transpose();
    Ok(Timeouts { run: seconds("run")?, compute: seconds("compute")?, settle: seconds("settle")? })
}
