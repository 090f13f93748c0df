//! Writes generated type text into a folder, for the checkers of the languages to accept.
//!
//! `cargo run -p callgate-schema --example emit_type_texts -- DIR` writes `DIR/ts/*.ts`, which pass
//! `tsc --strict --noEmit --target es2022 --moduleDetection force`, and `DIR/py/*.py`, which pass
//! `mypy --strict`: the text of every vector, tool sets of 1,000 tools, and programs against
//! generated declarations. A program that has to be refused marks the line with
//! `@ts-expect-error` or `type: ignore[…]`, which the checkers report if nothing is wrong there.

#[path = "../../benches/sdk/fixture.rs"]
mod fixture;
mod generated;
mod programs;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use callgate_schema::{Json, SdkTool, json, public_name, python, typescript};

use fixture::Fixture;

const JSON_VALUE: &str = "type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue }\n";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: emit_type_texts DIR")?;
    let out = Out::new(Path::new(&folder))?;
    emit_vectors(&out)?;
    emit_tool_sets(&out)?;
    emit_servers(&out)?;
    programs::emit(&out)
}

/// The folder that is written.
struct Out {
    typescript: PathBuf,
    python: PathBuf,
}

impl Out {
    fn new(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let out = Self { typescript: folder.join("ts"), python: folder.join("py") };
        fs::create_dir_all(&out.typescript)?;
        fs::create_dir_all(&out.python)?;
        Ok(out)
    }

    fn typescript(&self, name: &str, text: &str) -> Result<(), Box<dyn Error>> {
        Ok(fs::write(self.typescript.join(format!("{name}.ts")), text)?)
    }

    fn python(&self, name: &str, text: &str) -> Result<(), Box<dyn Error>> {
        // A module's name.
        Ok(fs::write(self.python.join(format!("{}.py", name.replace('-', "_"))), text)?)
    }

    /// Declarations of tools in both languages.
    fn tools(&self, name: &str, tools: &[SdkTool<'_>]) -> Result<(), Box<dyn Error>> {
        self.typescript(name, &typescript::declarations(tools))?;
        self.python(name, &python::declarations(tools))
    }

    /// The declaration of one tool alone.
    fn tool(&self, name: &str, tool: &SdkTool<'_>) -> Result<(), Box<dyn Error>> {
        self.typescript(name, &format!("{JSON_VALUE}{}\n", typescript::declaration_of(tool)))?;
        let imports =
            "from typing import Any, Literal, Never, NotRequired, Protocol, TypedDict\n\n";
        self.python(name, &format!("{imports}{}", python::declaration_of(tool)))
    }

    /// The types of one schema alone.
    fn schema(&self, name: &str, schema: &Json) -> Result<(), Box<dyn Error>> {
        let text = typescript::foreign_type_text(schema, 0);
        self.typescript(name, &format!("{JSON_VALUE}export type X = {text};\n"))?;
        let text = python::type_text(schema);
        self.python(name, &format!("from typing import Any, Literal\n\nx: {text}\n"))
    }
}

fn emit_vectors(out: &Out) -> Result<(), Box<dyn Error>> {
    let text = json!({ "type": "string" });
    for file in ["ts-types", "py-types", "foreign-types"] {
        let path = format!("{}/tests/vectors/{file}.json", env!("CARGO_MANIFEST_DIR"));
        let vectors = Json::parse(&fs::read_to_string(path)?)?;
        for vector in vectors.as_array().into_iter().flatten() {
            let name = vector["id"].as_str().ok_or("a vector without id")?;
            let schema = match vector["schema_text"].as_str() {
                Some(text) => Some(Json::parse(text)?),
                None => vector.get("schema").cloned(),
            };
            if let Some(schema) = schema {
                out.schema(name, &schema)?;
                let tool = SdkTool::new("t", "", &schema, &text);
                out.tools(&format!("{name}-tool"), &[tool])?;
                out.tool(&format!("{name}-alone"), &tool)?;
            }
            if let Some(tools) = vector.get("tools").and_then(Json::as_array) {
                let tools: Vec<_> = tools.iter().filter_map(tool).collect();
                out.tools(name, &tools)?;
                out.typescript(
                    &format!("{name}-strict"),
                    &typescript::strict_declarations(&tools),
                )?;
                out.python(&format!("{name}-strict"), &python::strict_declarations(&tools))?;
            }
        }
    }
    Ok(())
}

fn tool(tool: &Json) -> Option<SdkTool<'_>> {
    let text = |member: &str| tool.get(member)?.as_str();
    Some(SdkTool::new(
        text("name")?,
        text("description")?,
        tool.get("parameters")?,
        tool.get("output")?,
    ))
}

fn emit_tool_sets(out: &Out) -> Result<(), Box<dyn Error>> {
    out.tools("thousand", &Fixture::new(1_000).tools())?;
    out.tools("thousand-foreign", &Fixture::foreign(1_000).tools())?;
    for seed in 1..=3 {
        let generated = generated::Tools::new(seed, 1_000);
        out.tools(&format!("generated-{seed}"), &generated.tools())?;
    }
    Ok(())
}

/// The tools of public MCP servers.
fn emit_servers(out: &Out) -> Result<(), Box<dyn Error>> {
    let any = json!({});
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers"))? {
        let path = entry?.path();
        let server =
            path.file_stem().and_then(|name| name.to_str()).ok_or("a file without name")?;
        let captured = Json::parse(&fs::read_to_string(&path)?)?;
        let listed = captured["tools"].as_array().ok_or("no list of tools")?;
        let names: Vec<String> = listed
            .iter()
            .map(|tool| public_name(server, tool["name"].as_str().unwrap_or_default()))
            .collect();
        let tools: Vec<_> = names
            .iter()
            .zip(&**listed)
            .map(|(name, tool)| {
                let description = tool["description"].as_str().unwrap_or_default();
                let output = tool.get("outputSchema").unwrap_or(&any);
                SdkTool::new(name, description, &tool["inputSchema"], output)
            })
            .collect();
        out.tools(&format!("server-{server}"), &tools)?;
    }
    Ok(())
}
