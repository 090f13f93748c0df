//! Functions that cannot be tools.

#![allow(unused)]

use callgate::tool;

/// Takes any type.
#[tool]
fn generic<T>(value: T) {}

/// Takes any lifetime.
#[tool]
fn lifetimes<'a>(value: std::borrow::Cow<'a, str>) {}

/// Has conditions.
#[tool]
unsafe extern "C" fn foreign(value: i64) {}

struct Counter;

impl Counter {
    /// Has state.
    #[tool]
    fn count(&self) {}
}

/// Is no function.
#[tool]
struct NoFunction;

#[tool]
fn undocumented() {}

fn main() {}
