//! Tests of the first-party tools through a runtime.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod cancellation;
mod catalogue;
mod escapes;
mod glob;
mod grep;
mod read;
mod support;
mod surface;
