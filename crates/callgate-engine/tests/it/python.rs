//! Programs in Python.
#![cfg(target_os = "linux")]

mod corpus;
mod hostile;
mod lane;
mod program;
mod support;
