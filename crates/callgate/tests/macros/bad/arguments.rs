//! Parameters that cannot be arguments.

#![allow(unused)]

use callgate::tool;

struct Opaque;

#[derive(serde::Deserialize)]
struct WithoutSchema;

/// Takes what nobody can send.
#[tool]
fn opaque(good: i64, bad: Opaque) {}

/// Takes what has no schema.
#[tool]
fn without_schema(bad: WithoutSchema) {}

/// Takes what it does not own.
#[tool]
fn borrowed(good: String, bad: &str) {}

/// Takes what has no name.
#[tool]
fn patterns((a, b): (i64, i64), _: i64, c @ _: i64, ref d: i64) {}

/// Takes anything.
#[tool]
fn anything(bad: impl ToString) {}

/// Takes what needs a struct.
#[tool]
fn attributes(#[serde(default)] bad: i64) {}

fn main() {}
