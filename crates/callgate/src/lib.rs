//! A guarded tool runtime for AI agents.
//!
//! Every tool call, whoever makes it (a model directly, a program the model wrote, another tool),
//! takes one path: policy, guards, hooks around the body, a check of the output, a last word on
//! the content. A rule that stops a direct call stops the same call made inside a program,
//! because there is no second path.
//!
//! ```
//! use callgate::{CallInput, Denial, Output, ParamSpec, ToolDefinition, ToolRuntime, ValueSpec};
//! use callgate::{Json, json, render};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), callgate::Error> {
//! let runtime = ToolRuntime::builder()
//!     .tool(ToolDefinition::new(
//!         "greet",
//!         "Greets somebody.",
//!         ParamSpec::new().required("name", ValueSpec::string()),
//!         Output::new(ValueSpec::string(), render::json),
//!         |arguments: Json, _| async move {
//!             let name = arguments.get("name").and_then(Json::as_str).unwrap_or("you");
//!             Ok(json!(format!("hello, {name}")))
//!         },
//!     ))
//!     .build()?;
//! runtime.guard(|call| {
//!     let is_eve = call.arguments().get("name").and_then(Json::as_str) == Some("eve");
//!     is_eve.then(|| Denial::new("we do not talk to eve").by_rule("no-eve"))
//! });
//! let result = runtime.execute(CallInput::new("1", "greet", json!({ "name": "ada" }))).await;
//! assert_eq!(result.text(), "hello, ada");
//! let result = runtime.execute(CallInput::new("2", "greet", json!({ "name": "eve" }))).await;
//! assert_eq!(result.text(), "Error: we do not talk to eve");
//! # Ok(()) }
//! ```
//!
//! | I want to …                                | look at                                      |
//! |--------------------------------------------|----------------------------------------------|
//! | declare a tool                             | [`ToolDefinition`], [`Output`]               |
//! | give one agent its own tools and rules     | [`Scope`]                                    |
//! | allow, deny, ask, time out, retry, rewrite | [`hook`]                                     |
//! | let a model write programs                 | [`RuntimeBuilder::engine`], [`Mode::Code`]   |
//! | schedule the calls of an agent loop        | [`phase`]                                    |
//! | keep a log                                 | [`Recorder`], [`session`]                    |

pub use callgate_core::*;
#[cfg(feature = "macros")]
pub use callgate_macros::tool;
pub use callgate_schema::{
    Array, Json, Number, Object, ObjectBuilder, ParamSpec, ParseError, SchemaError, Str,
    SubsetSchema, ValueSpec, Violation, Violations, json,
};
pub use callgate_session::{Content, Source, UserMessage};

/// The session log: events, files, the checker, messages derived from a log.
pub mod session {
    pub use callgate_session::*;
}

/// Schemas and generated type text.
pub mod schema {
    pub use callgate_schema::*;
}

/// Program engines.
#[cfg(any(feature = "typescript", feature = "python"))]
pub mod engine {
    pub use callgate_engine::*;
}

/// The guide: longer texts whose code runs as tests.
pub mod guide {
    #[cfg(feature = "macros")]
    #[doc = include_str!("../../../docs/guide/adding-a-tool.md")]
    pub mod adding_a_tool {}
    #[cfg(all(feature = "macros", feature = "typescript"))]
    #[doc = include_str!("../../../docs/guide/code-mode.md")]
    pub mod code_mode {}
    #[doc = include_str!("../../../docs/guide/hooks.md")]
    pub mod hooks {}
    #[doc = include_str!("../../../docs/guide/programs.md")]
    pub mod programs {}
}

/// The code of the README runs as a test.
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../../../README.md")]
mod readme {}
