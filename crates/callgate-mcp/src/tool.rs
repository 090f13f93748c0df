//! A server's tool as a tool of the runtime: its own name on the wire, its own schema for the
//! model, its own blocks for the client, and a value for programs.

mod listed;
mod result;

use std::sync::Arc;

use callgate::{
    Json, Object, Output, OutputSchema, Str, ToolDefinition, ToolError, json, render, schema,
};

use crate::config::{Parallel, ResultForm, ServerConfig, Validation};
use crate::schema::{ForeignSchema, describe};
use crate::upstream::Server;

/// One tool of a server.
#[derive(Debug)]
pub(crate) struct McpTool {
    pub(crate) server: Str,
    /// Its name on the wire.
    pub(crate) raw_name: Str,
    /// Its name everywhere else.
    pub(crate) name: Str,
    /// The entry of the server's list, verbatim.
    pub(crate) entry: Json,
    pub(crate) is_trusted: bool,
    is_parallel: bool,
    validate_arguments: Validation,
    validate_results: Validation,
    form: ResultForm,
    input: Option<ForeignSchema>,
    output: Option<ForeignSchema>,
    /// What people should know about it.
    pub(crate) warnings: Vec<String>,
}

impl McpTool {
    /// Reads an entry of a server's list.
    ///
    /// # Errors
    ///
    /// Why it is no tool that could be called.
    pub(crate) fn read(config: &ServerConfig, entry: &Json) -> Result<Self, String> {
        let Some(Json::String(raw_name)) = entry.get("name") else {
            return Err(format!("an entry without a name: {}", shorten(&entry.to_string())));
        };
        check_root(raw_name, entry.get("inputSchema"))?;
        let mut warnings = Vec::new();
        let input =
            compile(raw_name, entry, "inputSchema", config.validate_arguments, &mut warnings);
        let output =
            compile(raw_name, entry, "outputSchema", config.validate_results, &mut warnings);
        Ok(Self {
            server: config.name.clone(),
            raw_name: raw_name.clone(),
            name: schema::public_name(&config.name, raw_name).into(),
            entry: entry.clone(),
            is_trusted: config.is_trusted,
            is_parallel: is_parallel(&config.parallel, raw_name, entry),
            validate_arguments: config.validate_arguments,
            validate_results: config.validate_results,
            form: config.result,
            input,
            output,
            warnings,
        })
    }

    /// The tool for the registry.
    pub(crate) fn definition(self: &Arc<Self>, server: &Arc<Server>) -> ToolDefinition {
        let (tool, server) = (self.clone(), server.clone());
        let definition = ToolDefinition::new(
            self.name.clone(),
            self.entry.get("description").and_then(Json::as_str).unwrap_or_default(),
            self.entry.get("inputSchema").cloned().unwrap_or_else(|| json!({ "type": "object" })),
            Output::new(self.output_schema(), render::json),
            move |arguments, context| {
                let (tool, server) = (tool.clone(), server.clone());
                async move { server.call(&tool, arguments, &context).await }
            },
        );
        let is_enforced = self.validate_arguments == Validation::Enforce && self.input.is_some();
        let definition = if is_enforced { definition.enforces_parameters() } else { definition };
        if self.is_parallel { definition.concurrency_safe() } else { definition }
    }

    /// The arguments as they go to the server: only missing ones become an empty object.
    ///
    /// # Errors
    ///
    /// If they are no object, or do not fit the schema and that matters.
    pub(crate) fn admit(&self, arguments: Json) -> Result<Json, ToolError> {
        let arguments = match arguments {
            Json::Null => Json::Object(Object::default()),
            Json::Object(_) => arguments,
            other => {
                let kind = other.kind().as_str();
                return Err(self.unfit(&format!(
                    "arguments: expected an object, got {kind}; send the arguments by name"
                )));
            }
        };
        let Some(schema) = &self.input else { return Ok(arguments) };
        let violations = schema.validate(&arguments);
        if violations.is_empty() {
            return Ok(arguments);
        }
        let violations = describe(&violations, "");
        if self.validate_arguments == Validation::Enforce {
            return Err(self.unfit(&violations));
        }
        tracing::warn!(server = %self.server, tool = %self.raw_name, %violations, "arguments do not fit the schema");
        Ok(arguments)
    }

    #[cold]
    fn unfit(&self, violations: &str) -> ToolError {
        ToolError::invalid_arguments(format!("invalid arguments for `{}`: {violations}", self.name))
    }

    /// Whether its public name is another than that of the server and its own, joined.
    pub(crate) fn is_renamed(&self) -> bool {
        *self.name != *format!("{}__{}", self.server, self.raw_name)
    }

    /// Whether the server says that it runs only as a task, which is not supported.
    pub(crate) fn demands_task(&self) -> bool {
        let support =
            self.entry.get("execution").and_then(|execution| execution.get("taskSupport"));
        support.and_then(Json::as_str) == Some("required")
    }

    /// The schema of the value for programs, and its check: values of hooks must fit as well.
    fn output_schema(&self) -> OutputSchema {
        let declared = self.entry.get("outputSchema").filter(|schema| !schema.is_null()).cloned();
        let shown = match (self.form, declared) {
            (ResultForm::Value, declared) => declared.unwrap_or_else(|| json!({})),
            (ResultForm::Envelope, declared) => envelope_schema(declared),
        };
        let is_checked =
            self.validate_results == Validation::Enforce && self.form == ResultForm::Value;
        let output = self.output.clone().filter(|_| is_checked);
        OutputSchema::foreign(shown, move |value| {
            let violations = output.iter().flat_map(|output| output.validate(value));
            let violations: Vec<_> =
                violations.map(|violation| violation.to_violation("value")).collect();
            violations.into()
        })
    }
}

/// A tool without a schema takes anything; one whose schema wants something else than an object
/// cannot be called at all.
fn check_root(name: &str, schema: Option<&Json>) -> Result<(), String> {
    let refuse = |what: &str| {
        Err(format!("`{name}` is skipped: {what}, and arguments are always an object"))
    };
    let schema = match schema {
        None | Some(Json::Null) => return Ok(()),
        Some(Json::Object(schema)) => schema,
        Some(other) => {
            return refuse(&format!("its `inputSchema` is {}", shorten(&other.to_string())));
        }
    };
    let is_object = |kind: &Json| kind.as_str() == Some("object");
    match schema.get("type") {
        None => Ok(()),
        Some(Json::Array(kinds)) if kinds.iter().any(is_object) => Ok(()),
        Some(kind) if is_object(kind) => Ok(()),
        Some(kind) => refuse(&format!("its `inputSchema` has type {kind}")),
    }
}

/// A schema that cannot be enforced takes no tool away.
fn compile(
    name: &str,
    entry: &Json,
    member: &str,
    validation: Validation,
    warnings: &mut Vec<String>,
) -> Option<ForeignSchema> {
    let schema = entry.get(member).filter(|schema| !schema.is_null())?;
    if validation == Validation::Off {
        return None;
    }
    match ForeignSchema::compile(schema) {
        Ok(compiled) => {
            let open = compiled.open_references().iter();
            warnings.extend(open.map(|reference| {
                format!("`{name}`: `{reference}` in its `{member}` leads nowhere, so everything fits there")
            }));
            Some(compiled)
        }
        Err(error) => {
            warnings.push(format!("`{name}`: its `{member}` is not enforced: {error}"));
            None
        }
    }
}

fn is_parallel(parallel: &Parallel, name: &str, entry: &Json) -> bool {
    match parallel {
        Parallel::All => true,
        Parallel::None => false,
        Parallel::Matching(names) => names.is_match(name),
        Parallel::ReadOnly => {
            let hint = entry.get("annotations").and_then(|hints| hints.get("readOnlyHint"));
            hint.and_then(Json::as_bool) == Some(true)
        }
    }
}

/// The object around every result, for those who want it.
fn envelope_schema(declared: Option<Json>) -> Json {
    let mut required = vec![Json::from("content")];
    let mut properties = Object::builder().with("content", json!({ "type": "array", "items": {} }));
    let mut schema = Object::builder().with("type", "object");
    match declared {
        Some(declared) => {
            required.push("structuredContent".into());
            // References of the declared schema start at what is now inside.
            for definitions in ["$defs", "definitions"] {
                schema = schema.with_some(definitions, declared.get(definitions).cloned());
            }
            properties.insert("structuredContent", declared);
        }
        None => drop(properties.insert("structuredContent", json!({}))),
    }
    let schema = schema.with("properties", properties.build()).with("required", required);
    schema.with("additionalProperties", false).build().into()
}

/// The longest piece of somebody else's text that a message repeats, in characters.
const LONGEST_SHOWN: usize = 120;

fn shorten(text: &str) -> String {
    let mut shortened: String = text.chars().take(LONGEST_SHOWN).collect();
    if shortened.len() < text.len() {
        shortened.push('…');
    }
    shortened
}
