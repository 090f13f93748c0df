//! `read`, `glob` and `grep` below one directory.

mod blocking;
mod fault;
mod glob;
mod grep;
mod ignored;
mod pattern;
mod read;
mod root;
#[cfg(test)]
mod tests;
mod walk;
mod window;

use std::path::Path;
use std::sync::Arc;

use callgate::{Error, Json, Layer, Output, ParamSpec, ToolDefinition, ToolError};
use serde::de::DeserializeOwned;

use blocking::Watch;
pub use fault::codes;
use root::Root;
pub use root::RootError;

/// The read-only tools `read`, `glob` and `grep` for one directory and everything below it.
///
/// Their paths are relative to that directory, the root. A path that leads out of it, by `..`,
/// by a leading `/` or through a symbolic link, is refused with [`codes::FS_OUTSIDE_ROOT`], also
/// if somebody swaps links while the call runs: every step is taken from an open directory, and
/// no step follows a link unseen. Links that stay inside are followed where a call names them;
/// searches follow none.
///
/// All three may run concurrently, and again after a failure. They work on tokio's threads for blocking work, so they need
/// a tokio runtime. A cancelled call ends within one chunk of a file.
///
/// ```
/// use callgate::ToolRuntime;
/// use callgate_tools::FileTools;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = ToolRuntime::builder().build()?;
/// let agent = runtime.scope();
/// FileTools::below(".")?.install(&agent)?;
/// assert!(agent.get("grep").is_some());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct FileTools {
    root: Arc<Root>,
}

impl FileTools {
    /// The tools for a directory. Links in its own path are followed now, and only now.
    ///
    /// # Errors
    ///
    /// If there is no such directory, or it cannot be opened.
    pub fn below(root: impl AsRef<Path>) -> Result<Self, RootError> {
        Ok(Self { root: Arc::new(Root::open_at(root.as_ref())?) })
    }

    /// The root, absolute and without links.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The definitions of `read`, `glob` and `grep`, to be registered one by one.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        vec![
            read::definition(&self.root),
            glob::definition(&self.root),
            grep::definition(&self.root),
        ]
    }

    /// Registers all three, or none.
    ///
    /// # Errors
    ///
    /// If the layer has a tool of one of these names already, or was disposed.
    pub fn install(&self, layer: &Layer) -> Result<(), Error> {
        layer.change(|change| {
            for definition in self.definitions() {
                change.register(definition);
            }
        })
    }
}

/// A tool that only reads. Its work blocks: it runs on a thread of its own and is told when to stop.
fn definition<A: DeserializeOwned + Send + 'static>(
    root: &Arc<Root>,
    name: &'static str,
    description: String,
    parameters: ParamSpec,
    output: Output,
    work: fn(&Root, &A, &Watch) -> Result<Json, ToolError>,
) -> ToolDefinition {
    let root = root.clone();
    let body = move |arguments: Json, context| {
        let root = root.clone();
        async move {
            let arguments = arguments
                .decode::<A>()
                .map_err(|error| ToolError::invalid_arguments(error.message()))?;
            blocking::run(&context, move |watch| work(&root, &arguments, watch)).await
        }
    };
    ToolDefinition::new(name, description, parameters, output, body).concurrency_safe().repeatable()
}

/// A count given by the model: at least 1, at most `most`.
fn count(name: &str, given: Option<i64>, default: usize, most: usize) -> Result<usize, ToolError> {
    let Some(given) = given else { return Ok(default) };
    match usize::try_from(given) {
        Ok(count) if (1..=most).contains(&count) => Ok(count),
        _ if most == usize::MAX => {
            Err(ToolError::invalid_arguments(format!("`{name}` is {given}; it counts from 1")))
        }
        _ => {
            let message = format!("`{name}` is {given}; it must be between 1 and {most}");
            Err(ToolError::invalid_arguments(message))
        }
    }
}

/// `1 line`, `2 lines`.
fn plural(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// What a search did not look at, for the end of its text; empty if it looked at everything.
fn skipped_note(value: &Json, why: &str) -> String {
    match number(value, "skipped") {
        0 => String::new(),
        skipped => format!("; {} skipped: {why}", plural(skipped, "entry", "entries")),
    }
}

/// A member of a value of ours.
fn items<'a>(value: &'a Json, name: &str) -> &'a [Json] {
    value[name].as_array().map_or(&[], |items| items)
}

/// A member of a value of ours.
fn number(value: &Json, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_default()
}

/// A member of a value of ours.
fn text<'a>(value: &'a Json, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}
