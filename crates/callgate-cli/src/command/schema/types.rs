//! `callgate schema types`: schemas, and lists of tools, as types of a language.

use std::collections::BTreeSet;

use callgate::schema::{SdkTool, python, typescript};
use callgate::{Json, json};

use super::request::{Given, Refusal, Request, kind_of};
use crate::args::TypeLanguage;

const MEMBERS: &[&str] = &["schema", "schema_text", "tools", "foreign"];

/// Bytes of indentation that one text may have; nested objects need it squared.
const MOST_INDENTATION: usize = 256 * 1024 * 1024;

pub(super) fn answer(request: &Request, language: TypeLanguage) -> Result<Json, Refusal> {
    request.refuse_misspelt(MEMBERS)?;
    let is_foreign = request.flag("foreign")?;
    let schema = match request.given("schema")? {
        None => None,
        Some(Given::Json(schema)) => Some(schema),
        Some(Given::Lossy(path, why)) => {
            let message = format!("{}: {why}", path.display("schema"));
            return Err(Refusal::new("not_lossless", message));
        }
    };
    match (schema, request.get("tools")) {
        (Some(schema), None) => {
            refuse_too_long(indentation_of(&schema))?;
            Ok(json!({ "text": type_text(&schema, language, is_foreign) }))
        }
        (None, Some(Json::Array(tools))) => {
            let tools = read_tools(tools)?;
            Ok(json!({ "sdk": declarations(&tools, language, is_foreign) }))
        }
        (None, Some(other)) => {
            Err(Refusal::unclear(format!("`tools` must be a list, not {}", kind_of(other))))
        }
        (Some(_), Some(_)) => Err(Refusal::unclear("give `schema` or `tools`, not both")),
        (None, None) => Err(Refusal::unclear("nothing to show; give `schema` or `tools`")),
    }
}

fn type_text(schema: &Json, language: TypeLanguage, is_foreign: bool) -> String {
    match (language, is_foreign) {
        (TypeLanguage::Typescript, false) => typescript::type_text(schema, 0),
        (TypeLanguage::Typescript, true) => typescript::foreign_type_text(schema, 0),
        (TypeLanguage::Python, false) => python::type_text(schema),
        (TypeLanguage::Python, true) => python::foreign_type_text(schema),
    }
}

fn declarations(tools: &[SdkTool<'_>], language: TypeLanguage, is_foreign: bool) -> String {
    match (language, is_foreign) {
        (TypeLanguage::Typescript, false) => typescript::strict_declarations(tools),
        (TypeLanguage::Typescript, true) => typescript::declarations(tools),
        (TypeLanguage::Python, false) => python::strict_declarations(tools),
        (TypeLanguage::Python, true) => python::declarations(tools),
    }
}

fn read_tools(tools: &[Json]) -> Result<Vec<SdkTool<'_>>, Refusal> {
    let mut names = BTreeSet::new();
    let mut indentation = 0;
    let mut read = Vec::with_capacity(tools.len());
    for (place, tool) in tools.iter().enumerate() {
        let text = |member: &str| match tool.get(member) {
            Some(Json::String(text)) => Ok(&**text),
            None if member == "description" => Ok(""),
            _ => Err(Refusal::unclear(format!("`tools[{place}].{member}` must be a string"))),
        };
        let schema = |member: &str| {
            tool.get(member).ok_or_else(|| {
                Refusal::unclear(format!("`tools[{place}].{member}` is missing; give its schema"))
            })
        };
        let (parameters, output) = (schema("parameters")?, schema("output")?);
        indentation += indentation_of(parameters) + indentation_of(output);
        let name = text("name")?;
        if !names.insert(name) {
            return Err(Refusal::unclear(format!("two tools are named `{name}`; rename one")));
        }
        read.push(SdkTool::new(name, text("description")?, parameters, output));
    }
    refuse_too_long(indentation)?;
    Ok(read)
}

/// About how many bytes of indentation the text of a schema has.
fn indentation_of(schema: &Json) -> usize {
    let mut open = vec![(schema, 0)];
    let mut indentation = 0;
    while let Some((value, level)) = open.pop() {
        match value {
            Json::Array(items) => open.extend(items.iter().map(|item| (item, level))),
            Json::Object(members) => {
                for (name, member) in members {
                    let is_map = &**name == "properties";
                    let inner = level + usize::from(is_map);
                    let lines =
                        member.as_object().filter(|_| is_map).map_or(0, |map| map.len() + 1);
                    indentation += 2 * inner * lines;
                    open.push((member, inner));
                }
            }
            _ => {}
        }
    }
    indentation
}

fn refuse_too_long(indentation: usize) -> Result<(), Refusal> {
    if indentation <= MOST_INDENTATION {
        return Ok(());
    }
    Err(Refusal::new("too_deep", "the text would be longer than 256 MiB; nest fewer objects"))
}
