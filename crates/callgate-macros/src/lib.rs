//! The attribute `#[tool]` of callgate. Name it through the facade: `callgate::tool`.

mod function;
mod options;
mod write;

use proc_macro::TokenStream;

use function::ToolFunction;
use options::Options;

/// Makes a tool of a function, which stays callable as it is.
///
/// Beside `fn add` stands `add::tool()`, which returns its `ToolDefinition`. The same code runs as
/// tests in the guide of the crate `callgate`, on which this crate cannot depend.
///
/// ```text
/// use callgate::{CallInput, ToolRuntime, json, tool};
///
/// /// Adds two whole numbers.
/// #[tool]
/// async fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), callgate::Error> {
/// let runtime = ToolRuntime::builder().tool(add::tool()).build()?;
/// let result = runtime.execute(CallInput::new("1", "add", json!({ "a": 2, "b": 3 }))).await;
/// assert_eq!(result.text(), "5");
/// assert_eq!(add(2, 3).await, 5);
/// # Ok(()) }
/// ```
///
/// - **Description**: the doc comment of the function; it must have one. Doc comments on
///   parameters describe them.
/// - **Parameters**: types that implement `Deserialize` and `JsonSchema`; those that can be left
///   out (`Option`) are optional. One of type `ToolContext`, anywhere, gets the context of the
///   call and is not shown to the model. Types decide, not their spelling.
/// - **Return type**: a type that implements `Serialize` and `JsonSchema`, or a `Result` of one
///   with an error that converts into `ToolError`, as every error does.
/// - **Functions** are free and without generics, `async` or not. One that is not `async` should
///   not block for long.
///
/// | option | meaning |
/// |---|---|
/// | `name = "…"` | the name for the model, instead of the function's |
/// | `concurrency_safe` | calls may overlap: the tool changes no state that its caller could see |
/// | `repeatable` | a failed call may be made again |
/// | `timeout_ms = 5_000` | the time budget, enforced by the timeout policy |
/// | `crate = path` | where `callgate` is, if the crate was renamed |
///
/// ```text
/// use callgate::{ToolContext, ToolError, tool};
///
/// /// Counts the lines of a text.
/// #[tool(name = "count_lines", concurrency_safe, timeout_ms = 1_000)]
/// fn count(
///     cx: ToolContext,
///     /// The text.
///     text: String,
///     /// Whether empty lines count.
///     empty: Option<bool>,
/// ) -> Result<usize, ToolError> {
///     cx.check_cancelled()?;
///     Ok(text.lines().filter(|line| empty == Some(true) || !line.is_empty()).count())
/// }
///
/// assert_eq!(count::tool().name(), "count_lines");
/// ```
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand(attribute.into(), item.into()).into()
}

/// The item as it is, and either the tool or what is wrong.
fn expand(
    attribute: proc_macro2::TokenStream,
    item: proc_macro2::TokenStream,
) -> proc_macro2::TokenStream {
    let mut problems = Problems::default();
    let options = problems.note(Options::parse(attribute));
    let function = problems.note(ToolFunction::parse(item.clone()));
    match (problems.0, options, function) {
        (None, Some(options), Some(function)) => write::tool(&function, &options),
        (problems, _, function) => {
            let errors = problems.map(|error| error.to_compile_error());
            let item = function.map_or_else(
                || function::without_parameter_attributes(item),
                |function| function.kept(),
            );
            quote::quote!(#item #errors)
        }
    }
}

/// Everything that is wrong, reported at once.
#[derive(Default)]
struct Problems(Option<syn::Error>);

impl Problems {
    fn add(&mut self, problem: syn::Error) {
        match &mut self.0 {
            Some(first) => first.combine(problem),
            none => *none = Some(problem),
        }
    }

    fn note<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|problem| self.add(problem)).ok()
    }

    fn or<T>(self, value: T) -> syn::Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
