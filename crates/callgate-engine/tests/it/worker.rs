//! Programs in worker processes.
#![cfg(unix)]

mod confinement;
mod end;
mod frames;
mod lane;
mod parity;
mod support;
