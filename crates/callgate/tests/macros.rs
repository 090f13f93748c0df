//! `#[tool]`: what compiles, what does not and how it is told, and what the tools do.
#![cfg(feature = "macros")]

#[path = "macros/behaviour.rs"]
mod behaviour;
#[path = "macros/compile.rs"]
mod compile;
