//! First-party tools for callgate.
//!
//! [`FileTools`] has `read`, `glob` and `grep`: what a model needs to find its way through a
//! directory tree, and no way out of that tree.
//!
//! ```
//! use callgate::{CallInput, ToolRuntime, json};
//! use callgate_tools::FileTools;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # std::fs::write(directory.path().join("notes.txt"), "buy milk\n")?;
//! let runtime = ToolRuntime::builder().build()?;
//! FileTools::below(directory.path())?.install(&runtime)?;
//!
//! let result = runtime.execute(CallInput::new("1", "read", json!({ "path": "notes.txt" }))).await;
//! assert_eq!(result.text(), "1: buy milk\n\n(end of file; 1 line)");
//!
//! let result = runtime.execute(CallInput::new("2", "read", json!({ "path": "../secret" }))).await;
//! assert_eq!(result.error().and_then(|error| error.code()), Some("FS_OUTSIDE_ROOT"));
//! # Ok(()) }
//! ```

mod files;

pub use files::{FileTools, RootError, codes};
