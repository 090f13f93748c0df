//! What Code Mode says to the model, one file for each language.

use callgate_schema::SdkTool;

use super::{python, typescript};
use crate::program::Language;

/// Everything that depends on the language of programs. A new language is one file like its
/// neighbours and one arm in [`Dialect::of`], which the compiler asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    /// The description of `run_code`.
    pub(crate) description: &'static str,
    /// The help text of its `code` parameter.
    pub(crate) code_help: &'static str,
    /// The section that limits direct calls to `run_code`.
    pub(crate) code_only: &'static str,
    /// How to call tools.
    pub(crate) instructions: fn() -> &'static str,
    /// The SDK section: how to call tools, and the declarations of those given.
    pub(crate) section: fn(&[SdkTool<'_>]) -> String,
    /// One line for each tool.
    pub(crate) catalogue: fn(&[SdkTool<'_>]) -> String,
    /// The declaration of one tool.
    pub(crate) declaration: fn(&SdkTool<'_>) -> String,
    /// How to look declarations up, with `{search}` and `{describe}` for what the functions are called.
    pub(crate) look_up: &'static str,
}

impl Dialect {
    pub(crate) fn of(language: Language) -> Self {
        match language {
            Language::TypeScript => typescript::DIALECT,
            Language::Python => python::DIALECT,
        }
    }
}
