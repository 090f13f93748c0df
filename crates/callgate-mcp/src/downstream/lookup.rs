//! How programs look up tools that are too many to declare.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use callgate::schema::nearest_name;
use callgate::{
    Array, Json, Output, ParamSpec, RUN_CODE, Registration, Scope, ToolDefinition, ToolError,
    ValueSpec, json, render,
};

use super::sdk::{Dialect, sdk_tools};

/// The tools `search` and `describe`, which a scope has as long as its catalogue is too long.
#[derive(Debug, Default)]
pub(super) struct Lookup(Mutex<Option<Provided>>);

#[derive(Debug)]
struct Provided {
    names: Names,
    registrations: Vec<Registration>,
}

/// What the two are called: a tool that has the name already keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    search: &'static str,
    describe: &'static str,
}

/// How many tools a search answers, unless it says otherwise.
const FOUND: u64 = 10;

/// What a search shows of a description, in characters.
const SUMMARY: usize = 160;

impl Names {
    /// Fills the names into a text about the two.
    pub(super) fn fill(&self, text: &str) -> String {
        text.replace("{search}", self.search).replace("{describe}", self.describe)
    }

    fn contain(&self, name: &str) -> bool {
        name == self.search || name == self.describe
    }
}

impl Lookup {
    /// The tools of a scope but `run_code` and these.
    pub(super) fn tools(&self, scope: &Scope) -> Vec<ToolDefinition> {
        let is_own = |name: &str| name == RUN_CODE || self.has(name);
        let schemas = scope.schemas();
        let others = schemas.iter().filter(|schema| !is_own(&schema.name));
        others.filter_map(|schema| scope.get(&schema.name)).collect()
    }

    /// Whether a tool of that name is one of these.
    pub(super) fn has(&self, name: &str) -> bool {
        self.lock().as_ref().is_some_and(|provided| provided.names.contain(name))
    }

    /// Gives programs of the scope the means to look tools up.
    pub(super) fn provide(&self, scope: &Scope, dialect: Dialect) -> Names {
        if let Some(provided) = &*self.lock() {
            return provided.names.clone();
        }
        let free = |name: &'static str, other: &'static str| {
            if scope.get(name).is_none() { name } else { other }
        };
        let names = Names {
            search: free("search", "search_tools"),
            describe: free("describe", "describe_tools"),
        };
        // The scope holds the tools, and they hold the scope: `remove` breaks the ring.
        let tools = [search(names.clone(), scope), describe(names.clone(), scope, dialect)];
        let provided = scope.change(|change| tools.map(|tool| change.register(tool)));
        match provided {
            Ok(registrations) => {
                let registrations = registrations.to_vec();
                *self.lock() = Some(Provided { names: names.clone(), registrations });
            }
            Err(error) => tracing::warn!(%error, "programs cannot look tools up"),
        }
        names
    }

    /// Takes it back.
    pub(super) fn remove(&self) {
        let provided = self.lock().take();
        for registration in provided.into_iter().flat_map(|provided| provided.registrations) {
            registration.dispose();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Provided>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lookup {
    fn drop(&mut self) {
        self.remove();
    }
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialect").field("language", &self.language).finish_non_exhaustive()
    }
}

/// The definitions a program of the scope can call, without the two themselves.
fn callable(scope: &Scope, names: &Names) -> Vec<ToolDefinition> {
    let schemas = scope.schemas();
    let others =
        schemas.iter().filter(|schema| &*schema.name != RUN_CODE && !names.contain(&schema.name));
    others.filter_map(|schema| scope.get(&schema.name)).collect()
}

fn search(names: Names, scope: &Scope) -> ToolDefinition {
    let scope = scope.clone();
    let found = ValueSpec::object().closed();
    let found =
        found.required("name", ValueSpec::string()).required("summary", ValueSpec::string());
    ToolDefinition::new(
        names.search,
        "Finds tools by words of their names and descriptions, best match first.",
        ParamSpec::new()
            .required("query", ValueSpec::string().description("Words, such as \"issue labels\"."))
            .optional(
                "limit",
                ValueSpec::integer().description("How many at most; 10 unless given."),
            ),
        Output::new(ValueSpec::array_of(found), render::json),
        move |arguments: Json, _| {
            let (scope, names) = (scope.clone(), names.clone());
            async move {
                let query = arguments.get("query").and_then(Json::as_str).unwrap_or_default();
                let limit = arguments.get("limit").and_then(Json::as_u64).unwrap_or(FOUND);
                let limit = usize::try_from(limit).unwrap_or(usize::MAX);
                Ok(best_matches(&callable(&scope, &names), query, limit))
            }
        },
    )
    .concurrency_safe()
}

fn describe(names: Names, scope: &Scope, dialect: Dialect) -> ToolDefinition {
    let scope = scope.clone();
    ToolDefinition::new(
        names.describe,
        "Gives the declarations of tools, to write programs by.",
        ParamSpec::new().required("names", ValueSpec::array_of(ValueSpec::string())),
        Output::new(ValueSpec::string(), render::json),
        move |arguments: Json, _| {
            let (scope, names) = (scope.clone(), names.clone());
            async move {
                let definitions = callable(&scope, &names);
                let wanted =
                    arguments.get("names").and_then(Json::as_array).cloned().unwrap_or_default();
                let texts = wanted.iter().filter_map(Json::as_str).map(|name| {
                    match definitions.iter().position(|tool| tool.name() == name) {
                        Some(place) => {
                            let tool = sdk_tools(&definitions[place..=place]);
                            Ok(tool.iter().map(dialect.declaration).collect::<String>())
                        }
                        None => Err(unknown(name, &definitions)),
                    }
                });
                let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
                Ok(json!(texts.join("\n\n")))
            }
        },
    )
    .concurrency_safe()
}

#[cold]
fn unknown(name: &str, definitions: &[ToolDefinition]) -> ToolError {
    let names = definitions.iter().map(ToolDefinition::name);
    ToolError::invalid_arguments(match nearest_name(name, names) {
        Some(near) => format!("there is no tool `{name}`; did you mean `{near}`?"),
        None => format!("there is no tool `{name}`; search for its name first"),
    })
}

/// Tools that have words of the query: in the name counts more than in the description.
fn best_matches(definitions: &[ToolDefinition], query: &str, limit: usize) -> Json {
    let words: Vec<String> = words(query).collect();
    let mut scored: Vec<(usize, &ToolDefinition)> = definitions
        .iter()
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

fn score(tool: &ToolDefinition, query: &[String]) -> usize {
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
