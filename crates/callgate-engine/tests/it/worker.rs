//! Programs in worker processes.
#![cfg(unix)]

mod confinement;
mod end;
mod frames;
mod lane;
mod parity;
pub(crate) mod support;
