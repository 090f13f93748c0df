//! Presentation: what a model is shown, for each agent, without changing what the tools do.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use callgate::testing::ScriptedEngine;
use callgate::{
    CallInput, Content, Error, Json, Layer, Mode, Output, ParamSpec, Section, Signal,
    ToolDefinition, ToolRuntime, ValueSpec, Variable, json,
};

/// A tool with a value for programs, a table for models, and metadata for user interfaces.
fn list() -> ToolDefinition {
    let row = ValueSpec::object()
        .closed()
        .required("name", ValueSpec::string())
        .required("bytes", ValueSpec::integer());
    let table = |_: &Json, value: &Json| {
        let rows = value.as_array().into_iter().flat_map(|rows| rows.iter());
        let lines: Vec<String> = rows
            .map(|row| {
                format!("{:<10}{:>6}", row["name"].as_str().unwrap_or_default(), row["bytes"])
            })
            .collect();
        vec![Content::text(lines.join("\n"))]
    };
    let output = Output::new(ValueSpec::array_of(row), table)
        .with_meta(|_, value| Ok(json!({ "rows": value.as_array().map_or(0, |rows| rows.len()) })));
    ToolDefinition::new("list", "Lists files.", ParamSpec::new(), output, |_, _| async {
        Ok(json!([{ "name": "a.txt", "bytes": 12 }, { "name": "notes.md", "bytes": 4096 }]))
    })
}

async fn show(who: &str, layer: &Layer) -> Result<(), Error> {
    let prompt = layer.assemble(&Signal::new()).await?;
    let tools: Vec<&str> = prompt.tools.iter().map(|tool| &*tool.name).collect();
    let sections: Vec<&str> = prompt.sections.iter().map(|section| &*section.name).collect();
    println!("{who}: tools {tools:?}, sections {sections:?}");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let runtime = ToolRuntime::builder().engine(ScriptedEngine::new()).tool(list()).build()?;
    runtime.add_variable(Variable::new("cwd", |_| Some("/srv/site".to_owned())))?;
    runtime.add_section(Section::text("deployment:persona", 0, "You work on {{cwd}}."))?;

    let result = runtime.execute(CallInput::new("1", "list", json!({}))).await;
    println!("for the model:\n{}", result.text());
    println!("for programs: {}", result.value().cloned().unwrap_or_default());
    println!("for user interfaces: {}", result.meta().cloned().unwrap_or_default());

    let coder = runtime.scope();
    coder.present_as(Mode::Code)?;
    let both = runtime.scope();
    both.present_as(Mode::Both)?;
    show("native", &runtime).await?;
    show("code", &coder).await?;
    show("both", &both).await?;

    // The catalogue stays the same; only the model's way to it differs.
    let direct = coder.execute(CallInput::new("2", "list", json!({}))).await;
    println!("a direct call in mode code: {}", direct.text());
    Ok(())
}
