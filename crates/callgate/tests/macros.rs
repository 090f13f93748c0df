//! The tools that `#[tool]` makes.
#![cfg(feature = "macros")]

#[path = "macros/behaviour.rs"]
mod behaviour;
