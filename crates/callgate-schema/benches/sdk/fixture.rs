//! A realistic tool: eight arguments, objects nested two deep, lists, enumerations, descriptions.

use callgate_schema::{Json, Object, SdkTool, json};

/// What a [`SdkTool`] borrows, for any number of tools alike but for their names.
pub(crate) struct Fixture {
    pub(crate) names: Vec<String>,
    pub(crate) parameters: Json,
    pub(crate) output: Json,
}

const DESCRIPTION: &str =
    "Search the workspace for items that match a query and return a scored page of results.";

impl Fixture {
    /// Tools whose schemas are of the subset.
    pub(crate) fn new(tools: usize) -> Self {
        let names = (0..tools).map(|index| format!("search_{index:04}")).collect();
        Self { names, parameters: parameters(), output: output() }
    }

    /// The same tools as an MCP server would list them: with `$schema`, so outside the subset.
    pub(crate) fn foreign(tools: usize) -> Self {
        let draft = ("$schema", json!("https://json-schema.org/draft/2020-12/schema"));
        let foreign = |schema: &Json| {
            let object = schema.as_object().cloned().unwrap_or_default();
            Json::Object(object.with(draft.0, draft.1.clone()))
        };
        let fixture = Self::new(tools);
        Self {
            parameters: foreign(&fixture.parameters),
            output: foreign(&fixture.output),
            ..fixture
        }
    }

    pub(crate) fn tools(&self) -> Vec<SdkTool<'_>> {
        let tool = |name| SdkTool::new(name, DESCRIPTION, &self.parameters, &self.output);
        self.names.iter().map(|name| tool(name)).collect()
    }
}

fn parameters() -> Json {
    let size = object(
        [
            ("min", described("integer", "Smallest size in bytes.")),
            ("max", described("integer", "Largest size in bytes.")),
        ],
        &["min"],
        "Size range.",
    );
    let strings =
        |what: &str| json!({ "type": "array", "items": { "type": "string" }, "description": what });
    let filters = object(
        [
            ("include", strings("Patterns to keep.")),
            ("exclude", strings("Patterns to drop.")),
            ("size", size),
        ],
        &["include"],
        "Which items are considered.",
    );
    let labels =
        json!({ "type": "string", "enum": ["bug", "feature", "docs", "chore", "security"] });
    let owner = object(
        [
            ("id", described("string", "Owner id.")),
            ("kind", one_of(&["user", "team", "service"], "Owner kind.")),
        ],
        &["id", "kind"],
        "Who owns the item.",
    );
    object(
        [
            ("query", described("string", "Text or expression to search for.")),
            ("limit", described("integer", "Maximum number of items to return.")),
            (
                "mode",
                one_of(&["exact", "prefix", "regex", "semantic"], "How the query is matched."),
            ),
            ("recursive", described("boolean", "Whether nested folders are searched.")),
            ("filters", filters),
            (
                "tags",
                json!({ "type": "array", "items": labels, "description": "Labels that must be present." }),
            ),
            ("threshold", described("number", "Minimum score between 0 and 1.")),
            ("owner", owner),
        ],
        &["query", "mode", "filters"],
        "",
    )
}

fn output() -> Json {
    let item = object(
        [
            ("id", described("string", "Item id.")),
            ("title", described("string", "Item title.")),
            ("score", described("number", "Match score.")),
            ("state", one_of(&["open", "closed", "merged"], "Item state.")),
        ],
        &["id", "title", "score", "state"],
        "",
    );
    object(
        [
            ("items", json!({ "type": "array", "items": item })),
            ("total", described("integer", "Total number of matches.")),
            ("next", described("string", "Cursor of the next page.")),
        ],
        &["items", "total"],
        "",
    )
}

fn described(kind: &str, what: &str) -> Json {
    json!({ "type": kind, "description": what })
}

fn one_of(values: &[&str], what: &str) -> Json {
    let values: Vec<Json> = values.iter().map(|&value| value.into()).collect();
    json!({ "type": "string", "enum": values, "description": what })
}

fn object<const N: usize>(properties: [(&str, Json); N], required: &[&str], what: &str) -> Json {
    let required: Vec<Json> = required.iter().map(|&name| name.into()).collect();
    let properties: Object = properties.into_iter().collect();
    let object = Object::builder()
        .with("type", "object")
        .with("properties", properties)
        .with("required", required)
        .with("additionalProperties", false);
    Json::Object(object.with_some("description", (!what.is_empty()).then_some(what)).build())
}
