//! The behaviour of the registry and the pipeline, through the public API.

#[cfg(test)]
mod borders;
#[cfg(test)]
mod bridge;
#[cfg(test)]
mod cancel;
#[cfg(test)]
mod catalogue;
#[cfg(test)]
mod code_mode;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod edges;
#[cfg(test)]
mod four_ways;
#[cfg(test)]
mod invariants;
#[cfg(test)]
mod lane;
#[cfg(test)]
mod model;
#[cfg(test)]
mod passing_on;
#[cfg(test)]
mod pipeline;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod preflight;
#[cfg(test)]
mod prompt;
#[cfg(test)]
mod record;
#[cfg(test)]
mod registry;
#[cfg(test)]
mod results;
#[cfg(test)]
mod scheduler;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod stress;
#[cfg(test)]
mod support;
#[cfg(test)]
mod typed;
