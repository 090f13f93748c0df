//! A plugin: tools, rules and prompt text that come, are replaced and go as a unit.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use callgate::{
    CallInput, Change, Denial, Error, Output, ParamSpec, Plugin, Section, Signal, ToolDefinition,
    ToolRuntime, ValueSpec, json, render,
};

/// What a configuration file could say.
struct Weather {
    unit: &'static str,
    cities: &'static [&'static str],
}

impl Plugin for Weather {
    fn name(&self) -> &'static str {
        "weather"
    }

    fn install(&self, change: &mut Change<'_>) {
        let (unit, cities) = (self.unit, self.cities);
        change.register(ToolDefinition::new(
            "weather",
            "Tells the temperature.",
            ParamSpec::new().required("city", ValueSpec::string()),
            Output::new(ValueSpec::string(), render::json),
            move |_, _| async move { Ok(json!(format!("21 {unit}"))) },
        ));
        change.guard(move |call| {
            let city = call.arguments()["city"].as_str()?;
            (!cities.contains(&city)).then(|| Denial::new(format!("no station in {city}")))
        });
        let guidance = format!("Stations: {}.", cities.join(", "));
        change.section(Section::text("tool:weather", 100, guidance));
        change.on_dispose(|| async { println!("  (the old stations were closed)") });
    }
}

async fn show(what: &str, runtime: &ToolRuntime) -> Result<(), Error> {
    println!("{what}: {:?}", runtime.assemble(&Signal::new()).await?.system());
    for city in ["Oslo", "Rome"] {
        let input = CallInput::new("1", "weather", json!({ "city": city }));
        println!("  {city}: {}", runtime.execute(input).await.text());
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let runtime = ToolRuntime::builder().build()?;
    let plugin = runtime.install(&Weather { unit: "°C", cities: &["Oslo"] })?;
    show("installed", &runtime).await?;

    // Hot reload: the new one is in force before the old one is gone; there is no gap.
    plugin.replace(&Weather { unit: "°F", cities: &["Oslo", "Rome"] }).await?;
    show("replaced", &runtime).await?;

    plugin.dispose().await;
    show("disposed", &runtime).await
}
