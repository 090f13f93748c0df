//! Programs in Python, run by the machine's own `CPython`.
//!
//! The first program of a session starts a parent: an interpreter that has imported everything a
//! program may import, and never runs a program itself. It forks one child for each program, ahead
//! of time; a child has nothing of the host but one socket, and confines itself further before it
//! reads its program: see [`Measure`](crate::worker::Measure). It runs that one program, and is
//! killed on its deadline whatever it does. The host believes nothing it says.
//!
//! What confines is the kernel: a child may open no file, connect to nothing, start nothing, and
//! load no native code. That a program cannot import `subprocess` is only there to say so earlier.
//!
//! This needs Linux, and `CPython` 3.10 or newer with its standard library. Nothing needs to be
//! installed for it, and nothing of the host's program is started a second time.

mod boot;
pub(crate) mod cage;
mod check;
mod child;
mod engine;
mod interpreter;
mod nursery;
mod system_calls;
mod zygote;

pub use engine::{PythonBuilder, PythonEngine};

/// Runs Python programs: see [`Python::worker`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Python;
