//! The behaviour of the registry and the pipeline, through the public API.

mod cancel;
mod four_ways;
mod lane;
mod passing_on;
mod pipeline;
mod prompt;
mod registry;
mod scheduler;
mod stress;
mod support;
