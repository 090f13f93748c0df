//! What a function under `#[tool]` may look like.

#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub)]

use callgate::{Str, Tool, ToolContext, ToolDefinition, ToolError, tool};

type Aliased = ToolContext;
type Result<T> = core::result::Result<T, ToolError>;

/// A module with public tools.
mod tools {
    use super::{Aliased, Result, tool};

    /// Adds.
    #[tool]
    pub(crate) async fn add(a: i64, #[expect(unused)] cx: Aliased, b: Option<i64>) -> Result<i64> {
        Ok(a + b.unwrap_or_default())
    }

    /// Says something with a word of the language.
    #[tool(name = "say", concurrency_safe, repeatable, timeout_ms = 1_000,)]
    pub(super) fn r#move(
        /// What to say.
        r#type: String,
        mut times: u32,
    ) -> &'static str {
        times += 1;
        if times == 1 { "once" } else { r#type.leak() }
    }
}

/// A word that the macro itself could use for its variables.
#[tool]
fn input(tool: u8, ending: u8, input: u8, slot_0: u8) -> u8 {
    tool + ending + input + slot_0
}

/// Exists only where its function does.
#[tool]
#[cfg(any())]
fn absent(of: NoType) {}

/// A tool by hand.
struct ByHand;

impl Tool for ByHand {
    type Args = std::collections::BTreeMap<String, i64>;
    type Output = usize;
    const NAME: &'static str = "by_hand";

    fn description(&self) -> Str {
        "Counts its arguments.".into()
    }

    async fn call(&self, args: Self::Args, _: ToolContext) -> Result<usize> {
        Ok(args.len())
    }
}

fn main() {
    let tools: [ToolDefinition; 4] = [
        tools::add::tool(),
        tools::r#move::tool(),
        input::tool(),
        ToolDefinition::from_tool(ByHand),
    ];
    let names: Vec<_> = tools.iter().map(ToolDefinition::name).collect();
    assert_eq!(names, ["add", "say", "input", "by_hand"]);
    assert_eq!(tools::r#move("twice".to_owned(), 1), "twice");
}
