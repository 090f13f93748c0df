//! What the pipeline costs: `cargo bench -p callgate`. Allocations are listed beside times.

use callgate::{
    CallInput, Json, Output, ParamSpec, ToolDefinition, ToolRuntime, ValueSpec, json, render,
};
use divan::Bencher;

#[global_allocator]
static ALLOCATOR: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

fn add() -> ToolDefinition {
    ToolDefinition::new(
        "add",
        "Adds two whole numbers.",
        ParamSpec::new().required("a", ValueSpec::integer()).required("b", ValueSpec::integer()),
        Output::new(
            ValueSpec::object().closed().required("sum", ValueSpec::integer()),
            render::json,
        ),
        |arguments: Json, _| async move {
            let number = |name: &str| arguments[name].as_i64().unwrap_or(0);
            Ok(json!({ "sum": number("a") + number("b") }))
        },
    )
    .concurrency_safe()
}

fn tokio() -> tokio::runtime::Runtime {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("no tokio runtime: {error}");
            std::process::exit(1);
        }
    }
}

fn runtime(tools: usize) -> ToolRuntime {
    let mut builder = ToolRuntime::builder().invariants(false).tool(add());
    for index in 1..tools {
        let body = |_: Json, _| async { Ok(Json::Null) };
        let output = Output::new(ValueSpec::null(), render::nothing);
        builder = builder.tool(ToolDefinition::new(
            format!("tool_{index}"),
            "",
            ParamSpec::new(),
            output,
            body,
        ));
    }
    match builder.build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

fn input() -> CallInput {
    CallInput::new("call-1", "add", json!({ "a": 1, "b": 2 }))
}

/// The whole pipeline, without a hook, among 1, 100 and 1,000 tools.
#[divan::bench(args = [1, 100, 1_000])]
fn execute(bencher: Bencher<'_, '_>, tools: usize) {
    let (tokio, runtime) = (tokio(), runtime(tools));
    bencher.with_inputs(input).bench_values(|input| tokio.block_on(runtime.execute(input)));
}

/// Three hooks in each stage and a guard, all passing on.
#[divan::bench]
fn execute_with_hooks(bencher: Bencher<'_, '_>) {
    let (tokio, runtime) = (tokio(), runtime(1));
    for _ in 0..3 {
        runtime.on_pre_execute(|_, next| async move { next.run().await });
        runtime.on_execute(|_, mut next| async move { next.run().await });
        runtime.on_post_execute(|_, next| async move { next.run().await });
    }
    runtime.guard(|_| None);
    bencher.with_inputs(input).bench_values(|input| tokio.block_on(runtime.execute(input)));
}

#[divan::bench(args = [100, 10_000])]
fn schemas(bencher: Bencher<'_, '_>, tools: usize) {
    let runtime = runtime(tools);
    bencher.bench(|| runtime.schemas());
}

#[divan::bench(args = [1_000])]
fn get(bencher: Bencher<'_, '_>, tools: usize) {
    let runtime = runtime(tools);
    bencher.bench(|| runtime.get("tool_500"));
}

/// A view that has to be built anew, after every change.
#[divan::bench(args = [100, 1_000])]
fn view_after_a_change(bencher: Bencher<'_, '_>, tools: usize) {
    let runtime = runtime(tools);
    bencher
        .with_inputs(|| runtime.guard(|_| None).dispose())
        .bench_values(|()| runtime.schemas().len());
}

#[cfg(feature = "typescript")]
mod programs {
    use callgate::engine::TypeScript;
    use callgate::{Mode, RUN_CODE};

    use super::{Bencher, CallInput, ToolRuntime, add, json, tokio};

    /// A whole program in a fresh interpreter in this process.
    #[divan::bench(args = [
        "return 1",
        "return await tools.add({ a: 1, b: 2 })",
        "for (let a = 0; a < 100; a++) await tools.add({ a, b: 2 })",
        "await Promise.all(Array.from({ length: 100 }, (_, a) => tools.add({ a, b: 2 })))",
    ])]
    fn run_code(bencher: Bencher<'_, '_>, code: &str) {
        let engine = TypeScript::in_process().build();
        let runtime = engine.map_err(|error| error.to_string()).and_then(|engine| {
            let builder = ToolRuntime::builder()
                .invariants(false)
                .mode(Mode::Both)
                .engine(engine)
                .tool(add());
            builder.build().map_err(|error| error.to_string())
        });
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => {
                eprintln!("{error}");
                std::process::exit(1);
            }
        };
        let tokio = tokio();
        bencher
            .with_inputs(|| {
                CallInput::new(
                    "run",
                    RUN_CODE,
                    json!({ "code": code, "description": "Benchmarks" }),
                )
            })
            .bench_values(|input| tokio.block_on(runtime.execute(input)));
    }
}
