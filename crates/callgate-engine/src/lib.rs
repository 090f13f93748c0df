//! Program engines for callgate's Code Mode.

mod in_process;
mod ledger;
mod limits;
mod names;
mod preflight;
#[cfg(all(target_os = "linux", feature = "python"))]
pub mod python;
mod quickjs;
pub mod strip;
mod transport;
mod typescript;
#[cfg(unix)]
pub mod worker;

#[cfg(all(target_os = "linux", feature = "python"))]
pub use python::{Python, PythonBuilder, PythonEngine};
pub use strip::{StripError, strip};
pub use typescript::{TypeScript, TypeScriptBuilder};
#[cfg(unix)]
pub use worker::{WorkerBuilder, WorkerEngine};
