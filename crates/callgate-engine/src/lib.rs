//! Program engines for callgate's Code Mode.

pub mod strip;

pub use strip::{StripError, strip};
