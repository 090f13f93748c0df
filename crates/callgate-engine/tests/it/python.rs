//! Programs in Python.
#![cfg(target_os = "linux")]

mod corpus;
mod hostile;
mod lane;
mod limit;
mod program;
mod support;
