//! Functions whose results nobody can read.

#![allow(unused)]

use callgate::tool;

struct Opaque;

#[derive(serde::Serialize)]
struct WithoutSchema;

/// Returns what has no text.
#[tool]
fn opaque() -> Opaque {
    Opaque
}

/// Returns what has no schema.
#[tool]
async fn without_schema() -> Result<WithoutSchema, std::fmt::Error> {
    Ok(WithoutSchema)
}

/// Fails with what is no error.
#[tool]
fn fails() -> Result<i64, String> {
    Err("no".to_owned())
}

/// Returns something.
#[tool]
fn something() -> impl serde::Serialize {
    1
}

/// Cannot move between threads.
#[tool]
async fn stays() {
    let here = std::rc::Rc::new(1);
    std::future::ready(()).await;
    drop(here);
}

fn main() {}
