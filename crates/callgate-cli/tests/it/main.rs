//! The binary from outside: what it prints, where, and how it ends.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

mod client;
mod config;
#[cfg(target_os = "linux")]
mod ends;
mod engine;
mod examples;
mod failing_tools;
mod help;
mod interrupt;
mod limits;
mod log;
mod output;
mod peers;
mod policy;
mod python;
mod run;
mod sandbox;
mod schema;
mod servers;
mod tools;
mod trust;
mod writer;
