//! The SDK as a model is shown it: whole, or as a catalogue whose declarations programs look up.

use std::fmt::Write as _;

use callgate_schema::SdkTool;

use super::dialect::Dialect;
use super::lookup::LookupNames;
use crate::program::Language;
use crate::registry::Layer;
use crate::tool::ToolDefinition;
use crate::view::View;

/// How much of the SDK a model is shown at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "whole, in part, or by size")]
pub enum SdkDetail {
    /// Every declaration.
    #[default]
    Full,
    /// One line for each tool; programs look declarations up, with `tools.search` and `tools.describe`.
    Catalogue,
    /// Whole if it is short enough, otherwise the catalogue.
    Auto,
}

/// How the SDK is shown. Whole, unless something else is said.
///
/// ```
/// use callgate_core::{SdkDetail, SdkOptions};
///
/// let options = SdkOptions::new(SdkDetail::Auto).inline_bytes(8_192);
/// assert_eq!(SdkOptions::from(SdkDetail::Full), SdkOptions::default());
/// # let _ = options;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SdkOptions {
    detail: SdkDetail,
    inline_bytes: usize,
}

impl SdkOptions {
    /// So much at once, where size decides up to 16,384 bytes.
    pub fn new(detail: SdkDetail) -> Self {
        Self { detail, inline_bytes: 16_384 }
    }

    /// Up to how many bytes the SDK is whole where its size decides, and the lines of a catalogue are shown.
    #[must_use]
    pub fn inline_bytes(mut self, bytes: usize) -> Self {
        self.inline_bytes = bytes;
        self
    }
}

impl Default for SdkOptions {
    fn default() -> Self {
        Self::new(SdkDetail::default())
    }
}

impl From<SdkDetail> for SdkOptions {
    fn from(detail: SdkDetail) -> Self {
        Self::new(detail)
    }
}

impl Layer {
    /// What Code Mode tells a model in this language: how programs call tools, and which tools there are, as much at
    /// once as [is declared](crate::Scope::show_sdk) here. Byte-stable as long as the tools stay the same.
    pub fn sdk(&self, language: Language) -> String {
        let view = self.view();
        let dialect = Dialect::of(language);
        let Some(names) = view.lookup_names(language) else {
            return (dialect.section)(&view.sdk_tools());
        };
        let mut text = format!("{}\n\n", (dialect.instructions)());
        push_lines(&mut text, &(dialect.catalogue)(&view.sdk_tools()), view.sdk.inline_bytes);
        text.extend(["\n", &*names.fill(dialect.look_up)]);
        text
    }

    /// As [`sdk`](Self::sdk), with the declarations of all tools, whatever is declared here.
    pub fn whole_sdk(&self, language: Language) -> String {
        (Dialect::of(language).section)(&self.view().sdk_tools())
    }

    /// One line for each tool that programs of this scope can call: how, and the first sentence of what it does.
    pub fn sdk_lines(&self, language: Language) -> String {
        (Dialect::of(language).catalogue)(&self.view().sdk_tools())
    }

    /// Whether [`sdk`](Self::sdk) has all declarations. Otherwise programs find `search` and `describe` among their
    /// tools.
    pub fn shows_whole_sdk(&self, language: Language) -> bool {
        self.view().shows_whole_sdk(language)
    }
}

impl View {
    /// What the functions are called with which programs look tools up, if they need any.
    pub(super) fn lookup_names(&self, language: Language) -> Option<LookupNames> {
        let has = |name: &str| self.tools.contains_key(name);
        (!self.shows_whole_sdk(language)).then(|| LookupNames::beside(has))
    }

    fn shows_whole_sdk(&self, language: Language) -> bool {
        let SdkOptions { detail, inline_bytes } = self.sdk;
        match detail {
            SdkDetail::Full => true,
            SdkDetail::Catalogue => false,
            SdkDetail::Auto => {
                *self
                    .sdk_bytes
                    .of(language, || (Dialect::of(language).section)(&self.sdk_tools()).len())
                    <= inline_bytes
            }
        }
    }

    fn sdk_tools(&self) -> Vec<SdkTool<'_>> {
        self.tools.values().map(sdk_tool).collect()
    }
}

pub(super) fn sdk_tool(tool: &ToolDefinition) -> SdkTool<'_> {
    SdkTool::new(tool.name(), tool.description(), tool.parameters(), tool.output_schema())
}

/// The lines of a catalogue, as many as fit.
fn push_lines(text: &mut String, catalogue: &str, limit: usize) {
    let mut left = limit;
    let mut hidden = 0;
    for line in catalogue.lines() {
        if hidden == 0 && line.len() < left {
            left -= line.len() + 1;
            text.extend([line, "\n"]);
        } else {
            hidden += 1;
        }
    }
    if hidden > 0 {
        // Writing to a string cannot fail.
        _ = writeln!(text, "- … and {hidden} more, which you find by searching");
    }
}
