//! `#[tool]`: what compiles, what does not and how it is told, and what the tools do.
#![cfg(feature = "macros")]

#[cfg(test)]
#[path = "macros/behaviour.rs"]
mod behaviour;
#[cfg(test)]
#[path = "macros/compile.rs"]
mod compile;
