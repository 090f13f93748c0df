//! Registry, scopes, hooks and the guarded call pipeline of callgate.

pub mod program;
pub mod signal;

pub use signal::{Cause, Signal};
