//! Scopes: one runtime, several agents, each with its own tools and masks.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use callgate::{
    CallInput, Error, Layer, Output, ParamSpec, Restriction, ToolDefinition, ToolRuntime,
    ValueSpec, json, render,
};

fn tool(name: &'static str, answer: &'static str) -> ToolDefinition {
    ToolDefinition::new(
        name,
        "Answers.",
        ParamSpec::new(),
        Output::new(ValueSpec::string(), render::json),
        move |_, _| async move { Ok(json!(answer)) },
    )
}

async fn show(who: &str, layer: &Layer) {
    let schemas = layer.schemas();
    let names: Vec<&str> = schemas.iter().map(|schema| &*schema.name).collect();
    let search = layer.execute(CallInput::new("1", "search", json!({}))).await;
    println!("{who}: {} | search: {}", names.join(" "), search.text());
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let runtime = ToolRuntime::builder()
        .tool(tool("read", "text"))
        .tool(tool("write", "written"))
        .tool(tool("search", "from the web"))
        .build()?;

    // A reviewer only reads; what is registered later is hidden from it too.
    let reviewer = runtime.scope();
    let mask = reviewer.restrict(Restriction::allow(["read"]))?;

    // A librarian has its own search, in the place of everybody's.
    let librarian = runtime.scope();
    librarian.register(tool("search", "from the shelves"))?;

    // Its assistant inherits that, but must not write; its own report tool is nobody's business.
    let assistant = librarian.scope();
    assistant.restrict(Restriction::deny(["write"]))?;
    assistant.register(tool("report", "reported"))?;

    runtime.register(tool("translate", "translated"))?;
    show("runtime", &runtime).await;
    show("reviewer", &reviewer).await;
    show("librarian", &librarian).await;
    show("assistant", &assistant).await;

    // Masks are live: lifted, everything is back; a disposed scope calls nothing.
    mask.dispose();
    show("reviewer, unmasked", &reviewer).await;
    librarian.dispose().await;
    show("assistant, librarian gone", &assistant).await;
    Ok(())
}
