//! Programs in Python.
#![cfg(target_os = "linux")]

mod bootstrap;
mod corpus;
mod hostile;
mod lane;
mod limit;
mod preflight;
mod program;
pub(crate) mod support;
