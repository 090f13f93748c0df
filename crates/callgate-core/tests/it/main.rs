//! The behaviour of the registry and the pipeline, through the public API.

mod four_ways;
mod lane;
mod pipeline;
mod stress;
mod support;
