//! A tool, a runtime, a call.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use callgate::{
    CallInput, Error, Json, Output, ParamSpec, ToolDefinition, ToolRuntime, ValueSpec, json, render,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let greet = ToolDefinition::new(
        "greet",
        "Greets somebody.",
        ParamSpec::new().required("name", ValueSpec::string().description("Whom to greet.")),
        Output::new(ValueSpec::string(), render::json),
        |arguments: Json, _| async move {
            Ok(json!(format!("hello, {}", arguments["name"].as_str().unwrap_or_default())))
        },
    );
    let runtime = ToolRuntime::builder().tool(greet).build()?;

    // What a model is told.
    for schema in &*runtime.schemas() {
        println!("{}: {} {}", schema.name, schema.description, schema.parameters);
    }

    // Arguments as a model writes them, good and bad; a failed call is a result too.
    for text in [r#"{"name": "ada"}"#, r#"{"nmae": "ada"}"#, r#"{"name": "#] {
        println!("{}", runtime.execute(CallInput::from_text("call-1", "greet", text)).await.text());
    }
    println!("{}", runtime.execute(CallInput::new("call-2", "great", json!({}))).await.text());
    Ok(())
}
