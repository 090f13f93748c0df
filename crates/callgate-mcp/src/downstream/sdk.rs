//! What a client's model is told about `run_code` where nobody assembles a prompt: how programs
//! call tools, and which tools there are.

use std::sync::Arc;

use callgate::{Language, RUN_CODE, Scope, Str, ToolSchema};

/// The text for one set of tools.
#[derive(Debug)]
pub(super) struct SdkText {
    /// The set it was made for.
    schemas: Arc<[ToolSchema]>,
    /// The description of `run_code`.
    pub(super) description: Str,
    /// Every declaration, whatever the description holds.
    pub(super) whole: Str,
}

impl SdkText {
    /// The text for the tools of a scope.
    pub(super) fn of(scope: &Scope, known: Option<&Arc<Self>>) -> Arc<Self> {
        let schemas = scope.schemas();
        if let Some(known) = known.filter(|known| Arc::ptr_eq(&known.schemas, &schemas)) {
            return known.clone();
        }
        let language = scope.language().unwrap_or(Language::TypeScript);
        let whole = scope.whole_sdk(language);
        let mut description = flavour(&schemas);
        if scope.shows_whole_sdk(language) {
            let lines = scope.sdk_lines(language);
            description.extend(["\n\n", lines.trim_end(), "\n\n", &*whole]);
        } else {
            description.extend(["\n\n", &*scope.sdk(language)]);
        }
        Arc::new(Self { schemas, description: description.into(), whole: whole.into() })
    }
}

/// The registry's own description of `run_code`.
fn flavour(schemas: &[ToolSchema]) -> String {
    let run_code = schemas.iter().find(|schema| &*schema.name == RUN_CODE);
    run_code.map(|schema| schema.description.to_string()).unwrap_or_default()
}
