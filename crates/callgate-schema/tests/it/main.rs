//! The tests of callgate-schema, one module per family of rules.

#[cfg(test)]
mod json;
