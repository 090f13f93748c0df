//! MCP servers behind callgate, and callgate in front of MCP clients.

mod caller;
mod config;
mod connection;
mod downstream;
mod framing;
mod gateway;
mod json_rpc;
mod meta;
mod protocol;
mod schema;
mod tool;
mod upstream;

pub use callgate::SdkDetail;
pub use config::{
    Parallel, Patterns, ResultForm, ServerConfig, Stdio, Timeouts, Transport, Validation,
    is_inherited,
};
pub use downstream::Ended;
pub use gateway::{Gateway, GatewayOptions, LogFn};
pub use schema::{ForeignSchema, ForeignViolation, Uncompilable};
pub use upstream::{ClientOptions, McpServers, ServerState, ServerStatus, ToolOrigin};
