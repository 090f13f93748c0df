//! What a client's model is told about `run_code` where nobody assembles a prompt: how programs
//! call tools, and which tools there are.

use std::fmt::Write as _;
use std::sync::Arc;

use callgate::schema::{SdkTool, python, typescript};
use callgate::{Language, RUN_CODE, Scope, Str, ToolDefinition, ToolSchema};

use super::lookup::Lookup;
use crate::gateway::{GatewayOptions, SdkDetail};

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

/// What depends on the language of programs. A new language is one value and one arm in
/// [`Dialect::of`], which the compiler asks for.
#[derive(Clone, Copy)]
pub(super) struct Dialect {
    pub(super) language: Language,
    instructions: fn() -> &'static str,
    section: fn(&[SdkTool<'_>]) -> String,
    catalogue: fn(&[SdkTool<'_>]) -> String,
    pub(super) declaration: fn(&SdkTool<'_>) -> String,
    look_up: &'static str,
}

impl Dialect {
    pub(super) fn of(language: Language) -> Self {
        match language {
            Language::TypeScript => TYPESCRIPT,
            Language::Python => PYTHON,
        }
    }
}

const TYPESCRIPT: Dialect = Dialect {
    language: Language::TypeScript,
    instructions: typescript::instructions,
    section: typescript::section,
    catalogue: typescript::catalogue,
    declaration: typescript::declaration_of,
    look_up: "\
There are too many tools to declare here. Look up what you need before you use it: \
`await tools.{search}({ query: \"issue labels\" })` resolves to a list of `{ name, summary }`, best match first, and \
`await tools.{describe}({ names: [\"name\"] })` resolves to the declarations of those tools as text. Return the \
declarations from a first program, and write the second program by them.",
};

const PYTHON: Dialect = Dialect {
    language: Language::Python,
    instructions: python::instructions,
    section: python::section,
    catalogue: python::catalogue,
    declaration: python::declaration_of,
    look_up: "\
There are too many tools to declare here. Look up what you need before you use it: \
`await tools.{search}({\"query\": \"issue labels\"})` returns a list of `{\"name\", \"summary\"}`, best match first, and \
`await tools.{describe}({\"names\": [\"name\"]})` returns the declarations of those tools as text. Return the \
declarations from a first program, and write the second program by them.",
};

impl SdkText {
    /// The text for the tools of a scope. Where it shows only a catalogue, programs of the scope
    /// get the means to look declarations up; where it does not, they have none.
    pub(super) fn of(
        scope: &Scope,
        lookup: &Lookup,
        options: &GatewayOptions,
        known: Option<&Arc<Self>>,
    ) -> Arc<Self> {
        let schemas = scope.schemas();
        if let Some(known) = known.filter(|known| Arc::ptr_eq(&known.schemas, &schemas)) {
            return known.clone();
        }
        let dialect = Dialect::of(scope.language().unwrap_or(Language::TypeScript));
        let definitions = lookup.tools(scope);
        let tools = sdk_tools(&definitions);
        let whole = (dialect.section)(&tools);
        let is_whole = match options.sdk {
            SdkDetail::Full => true,
            SdkDetail::Catalogue => false,
            SdkDetail::Auto => whole.len() <= options.sdk_inline_bytes,
        };
        let mut description = flavour(&schemas);
        description.push_str("\n\n");
        let catalogue = (dialect.catalogue)(&tools);
        if is_whole {
            lookup.remove();
            description.extend([catalogue.trim_end(), "\n\n", &*whole]);
        } else {
            let names = lookup.provide(scope, dialect);
            description.push_str((dialect.instructions)());
            description.push_str("\n\n");
            push_lines(&mut description, &catalogue, options.sdk_inline_bytes);
            description.extend(["\n", &*names.fill(dialect.look_up)]);
        }
        Arc::new(Self {
            // What was just provided or removed is another set already.
            schemas: scope.schemas(),
            description: description.into(),
            whole: whole.into(),
        })
    }
}

pub(super) fn sdk_tools(definitions: &[ToolDefinition]) -> Vec<SdkTool<'_>> {
    definitions
        .iter()
        .map(|tool| {
            SdkTool::new(tool.name(), tool.description(), tool.parameters(), tool.output_schema())
        })
        .collect()
}

/// The registry's own description of `run_code`.
fn flavour(schemas: &[ToolSchema]) -> String {
    let run_code = schemas.iter().find(|schema| &*schema.name == RUN_CODE);
    run_code.map(|schema| schema.description.to_string()).unwrap_or_default()
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
        _ = writeln!(text, "- … and {hidden} more, which you find by searching");
    }
}
