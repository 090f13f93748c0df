//! How programs look up tools that are too many to declare: `search` and `describe`.
//!
//! They are no tools. The lane answers them itself, from what its scope sees at that moment; they take no path, are
//! not logged and do not count as calls.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use callgate_schema::{
    Array, Json, ParamSpec, SchemaError, Str, SubsetSchema, ValueSpec, json, nearest_name,
};

use super::dialect::Dialect;
use super::sdk::sdk_tool;
use crate::error::ToolError;
use crate::preflight::ToolSignature;
use crate::program::{Language, ProgramCall};
use crate::registry::Layer;
use crate::tool::ToolDefinition;

/// The two functions of one run.
#[derive(Debug)]
pub(super) struct Lookup {
    layer: Layer,
    language: Language,
    names: LookupNames,
    asked: AtomicU64,
}

/// What the two are called: a tool that has the name already keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LookupNames {
    search: Str,
    describe: Str,
}

/// How often one program may look something up. Nobody needs more, and each time is work on our side of the wall.
const MOST_ASKED: u64 = 1_000;

/// How many tools a search answers, unless it says otherwise.
const FOUND: u64 = 10;

/// What a search shows of a description, in characters.
const SUMMARY: usize = 160;

impl LookupNames {
    /// Names that none of the tools has.
    pub(super) fn beside(is_taken: impl Fn(&str) -> bool) -> Self {
        let free = |word: &str| {
            let first = [word.to_owned(), format!("{word}_tools")].into_iter();
            let mut names = first.chain((2_u64..).map(|number| format!("{word}_tools_{number}")));
            names.find(|name| !is_taken(name)).unwrap_or_default().into()
        };
        Self { search: free("search"), describe: free("describe") }
    }

    /// Fills the names into a text about the two.
    pub(super) fn fill(&self, text: &str) -> String {
        text.replace("{search}", &self.search).replace("{describe}", &self.describe)
    }

    /// Both.
    pub(super) fn all(&self) -> [Str; 2] {
        [self.search.clone(), self.describe.clone()]
    }
}

impl Lookup {
    /// What a program of that language has of it in a scope: nothing, where it is shown all declarations.
    pub(super) fn of(layer: &Layer, language: Language) -> Option<Self> {
        let names = layer.view().lookup_names(language)?;
        Some(Self { layer: layer.clone(), language, names, asked: AtomicU64::new(0) })
    }

    pub(super) fn names(&self) -> &LookupNames {
        &self.names
    }

    /// What programs are checked against.
    pub(super) fn signatures(&self) -> impl Iterator<Item = ToolSignature> {
        let known = [(&self.names.search, &SEARCH), (&self.names.describe, &DESCRIBE)];
        known.into_iter().filter_map(|(name, parameters)| {
            let schema = parameters.as_ref().ok()?.as_json().clone();
            Some(ToolSignature::new(name.clone(), schema))
        })
    }

    /// The answer, if the call is one of the two.
    pub(super) fn answer(&self, call: &ProgramCall) -> Option<Result<Json, ToolError>> {
        let function = if call.member == self.names.search {
            Self::search
        } else if call.member == self.names.describe {
            Self::describe
        } else {
            return None;
        };
        if self.asked.fetch_add(1, Ordering::Relaxed) >= MOST_ASKED {
            return Some(Err(ToolError::failed(format!(
                "a program may look tools up at most {MOST_ASKED} times; describe several at once"
            ))));
        }
        Some(function(self, call))
    }

    fn search(&self, call: &ProgramCall) -> Result<Json, ToolError> {
        check(&SEARCH, call)?;
        let view = self.layer.view();
        let query = call.arguments.get("query").and_then(Json::as_str).unwrap_or_default();
        let limit = call.arguments.get("limit").map_or(Some(FOUND), Json::as_u64);
        let Some(limit) = limit else {
            return Err(ToolError::invalid_arguments(
                "`limit` is below zero; leave it out or give a positive number",
            ));
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(best_matches(view.tools.values(), query, limit))
    }

    fn describe(&self, call: &ProgramCall) -> Result<Json, ToolError> {
        check(&DESCRIBE, call)?;
        let view = self.layer.view();
        let declaration = Dialect::of(self.language).declaration;
        let names = call.arguments.get("names").and_then(Json::as_array);
        let mut seen = BTreeSet::new();
        let mut texts = Vec::new();
        for name in names.into_iter().flatten().filter_map(Json::as_str) {
            let tool = view.tools.get(name).ok_or_else(|| unknown(name, view.tools.keys()))?;
            if seen.insert(name) {
                texts.push(declaration(&sdk_tool(tool)));
            }
        }
        Ok(json!(texts.join("\n\n")))
    }
}

type Parameters = LazyLock<Result<SubsetSchema, SchemaError>>;

static SEARCH: Parameters = LazyLock::new(|| {
    let parameters = ParamSpec::new().required("query", ValueSpec::string());
    parameters.optional("limit", ValueSpec::integer()).compile()
});

static DESCRIBE: Parameters = LazyLock::new(|| {
    ParamSpec::new().required("names", ValueSpec::array_of(ValueSpec::string())).compile()
});

fn check(parameters: &Parameters, call: &ProgramCall) -> Result<(), ToolError> {
    let schema = parameters.as_ref().map_err(|error| ToolError::failed(error.to_string()))?;
    let violations = schema.validate(&call.arguments, "");
    if violations.is_empty() {
        return Ok(());
    }
    Err(ToolError::refused_arguments(&call.member, violations))
}

#[cold]
fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a Str>) -> ToolError {
    ToolError::invalid_arguments(match nearest_name(name, known.map(|known| &**known)) {
        Some(near) => format!("there is no tool `{name}`; did you mean `{near}`?"),
        None => format!("there is no tool `{name}`; search for its name first"),
    })
}

/// Tools that have words of the query: in the name counts more than in the description.
fn best_matches<'a>(
    tools: impl Iterator<Item = &'a ToolDefinition>,
    query: &str,
    limit: usize,
) -> Json {
    let words: BTreeSet<String> = words(query).collect();
    let mut scored: Vec<(usize, &ToolDefinition)> = tools
        .map(|tool| (score(tool, &words), tool))
        .filter(|(score, _)| *score > 0 || words.is_empty())
        .collect();
    scored.sort_by_key(|(score, tool)| (usize::MAX - score, tool.name()));
    let found = scored.into_iter().take(limit);
    found
        .map(|(_, tool)| json!({ "name": tool.name(), "summary": summary(tool.description()) }))
        .collect::<Array>()
        .into()
}

fn score(tool: &ToolDefinition, query: &BTreeSet<String>) -> usize {
    let name: Vec<String> = words(tool.name()).collect();
    let description = tool.description().to_lowercase();
    let of_word = |word: &String| {
        if name.contains(word) {
            8
        } else if name.iter().any(|part| part.contains(&**word)) {
            4
        } else {
            usize::from(description.contains(&**word))
        }
    };
    query.iter().map(of_word).sum()
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_lowercase)
}

fn summary(description: &str) -> String {
    let line = description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut summary: String = line.chars().take(SUMMARY).collect();
    if summary.len() < line.len() {
        summary.push('…');
    }
    summary
}
