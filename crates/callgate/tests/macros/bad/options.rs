//! Options that `#[tool]` does not have.

#![allow(unused)]

use callgate::tool;

/// Has an option of another tool.
#[tool(retries = 3)]
fn unknown() {}

/// Has an option twice, and a timeout of zero.
#[tool(repeatable, repeatable, timeout_ms = 0)]
fn twice() {}

/// Has no name.
#[tool(name = "")]
fn nameless() {}

/// Has an option without its value.
#[tool(timeout_ms)]
fn valueless() {}

/// Has values of other kinds.
#[tool(name = 3)]
fn mistyped() {}

/// Has a flag with a value.
#[tool(concurrency_safe = true)]
fn flag() {}

fn main() {}
