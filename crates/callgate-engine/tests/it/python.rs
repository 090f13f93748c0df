//! Programs in Python.
#![cfg(target_os = "linux")]

mod lane;
mod program;
mod support;
