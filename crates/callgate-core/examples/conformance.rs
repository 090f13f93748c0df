//! The conformance matrix: one tool, every situation, four ways to call it.
//!
//! Prints the page `docs/conformance.md`; the integration tests hold that all columns agree.

#![cfg_attr(
    not(test),
    expect(
        clippy::expect_used,
        clippy::panic,
        clippy::print_stdout,
        reason = "a program that arranges failures and prints a page"
    )
)]

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callgate_core::hooks::{Backoff, Retry, Timeout};
use callgate_core::program::ProgramEngine;
use callgate_core::testing::{Results, ScriptedApprover, ScriptedEngine};
use callgate_core::{
    Approval, Call, CallInput, CallResult, Cause, Decision, Denial, Mode, Outcome, Output,
    PostDecision, RUN_CODE, Registration, Restriction, Scope, ToolContext, ToolDefinition,
    ToolError, ToolRuntime, render,
};
use callgate_schema::{Json, ParamSpec, ValueSpec, json};
use callgate_session::Content;

/// What a situation can arrange before the tool `subject` is called.
#[derive(Debug)]
pub(crate) struct Stage {
    /// The scope all calls go through.
    pub(crate) scope: Scope,
    /// How often the body of `subject` ran.
    pub(crate) body_runs: Arc<AtomicUsize>,
}

/// One row of the matrix.
#[derive(Debug)]
pub(crate) struct Situation {
    /// Its name on the page.
    pub(crate) name: &'static str,
    arrange: fn(&Stage),
}

/// One way to call the tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    /// A model names the tool.
    Direct,
    /// A program awaits the tool.
    Program,
    /// A program calls the tool three times at once.
    Parallel,
    /// The body of another tool calls it.
    Nested,
}

/// The columns of the matrix.
pub(crate) const WAYS: [Way; 4] = [Way::Direct, Way::Program, Way::Parallel, Way::Nested];

/// What came of one call of `subject`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    /// `ok` and the value, or the class of the failure.
    pub(crate) outcome: String,
    /// What a model reads.
    pub(crate) text: String,
    /// The stable code, if there is one.
    pub(crate) code: Option<String>,
    /// How often the body ran for this call.
    pub(crate) body_runs: usize,
}

type Behaviour = fn(ToolContext) -> Result<Json, ToolError>;

impl Stage {
    fn tool(&self, behaviour: Behaviour) -> ToolDefinition {
        let body_runs = self.body_runs.clone();
        ToolDefinition::new(
            "subject",
            "Is called.",
            ParamSpec::new(),
            Output::new(ValueSpec::string(), render::json),
            move |_, context| {
                body_runs.fetch_add(1, Ordering::SeqCst);
                std::future::ready(behaviour(context))
            },
        )
        .concurrency_safe()
        .repeatable()
        .timeout(Duration::from_millis(100))
    }

    fn register(&self, behaviour: Behaviour) -> Registration {
        self.scope.register(self.tool(behaviour)).expect("the name is free")
    }

    fn fine(&self) -> Registration {
        self.register(|_| Ok(json!("fine")))
    }

    /// Answers a question about every call of `subject`.
    fn asking(&self, answers: Option<Approval>) {
        self.fine();
        self.scope.on_pre_execute(async |call: Call, next| {
            if is_subject(&call) { Ok(Decision::ask("really?")) } else { next.run().await }
        });
        if let Some(answer) = answers {
            let approver = ScriptedApprover::answering([answer; 3]);
            self.scope.set_approver(approver).expect("there is no other");
        }
    }

    /// A body that takes 500 ms, or until its signal is cancelled.
    fn slow(&self) {
        let body_runs = self.body_runs.clone();
        let slow = ToolDefinition::new(
            "subject",
            "Is slow.",
            ParamSpec::new(),
            Output::new(ValueSpec::string(), render::json),
            move |_: Json, context: ToolContext| {
                body_runs.fetch_add(1, Ordering::SeqCst);
                async move {
                    tokio::select! {
                        () = tokio::time::sleep(Duration::from_millis(500)) => {}
                        () = context.signal().cancelled() => {}
                    }
                    Ok(json!("slow"))
                }
            },
        );
        let slow = slow.concurrency_safe().timeout(Duration::from_millis(100));
        self.scope.register(slow).expect("the name is free");
    }
}

fn is_subject(call: &Call) -> bool {
    &**call.name() == "subject"
}

fn stop(call: &Call) {
    call.signal().cancel(Cause::new("user", "stop"));
}

/// The rows of the matrix.
pub(crate) const SITUATIONS: &[Situation] = &[
    Situation { name: "allowed", arrange: |stage| drop(stage.fine()) },
    Situation {
        name: "denied by a hook",
        arrange: |stage| {
            stage.fine();
            stage.scope.on_pre_execute(async |call: Call, next| {
                if is_subject(&call) { Ok(Decision::deny("no")) } else { next.run().await }
            });
        },
    },
    Situation {
        name: "asked, granted",
        arrange: |stage| stage.asking(Some(Approval::AllowedOnce)),
    },
    Situation { name: "asked, rejected", arrange: |stage| stage.asking(Some(Approval::Rejected)) },
    Situation {
        name: "asked, withdrawn",
        arrange: |stage| stage.asking(Some(Approval::Cancelled)),
    },
    Situation {
        name: "asked, nobody there",
        arrange: |stage| stage.asking(Some(Approval::Unavailable)),
    },
    Situation { name: "asked, no approver installed", arrange: |stage| stage.asking(None) },
    Situation {
        name: "denied by a guard",
        arrange: |stage| {
            stage.fine();
            stage.scope.guard(|call| is_subject(call).then(|| Denial::new("no")));
        },
    },
    Situation {
        name: "timed out",
        arrange: |stage| {
            stage.slow();
            stage.scope.hook(Timeout::declared());
        },
    },
    Situation {
        name: "retried until it works",
        arrange: |stage| {
            // Every second run fails, so that each call needs two.
            let body_runs = stage.body_runs.clone();
            let flaky = ToolDefinition::new(
                "subject",
                "Works the second time.",
                ParamSpec::new(),
                Output::new(ValueSpec::string(), render::json),
                move |_: Json, _: ToolContext| {
                    let is_first = body_runs.fetch_add(1, Ordering::SeqCst) % 2 == 0;
                    async move {
                        if is_first { Err(ToolError::failed("not yet")) } else { Ok(json!("fine")) }
                    }
                },
            );
            stage.scope.register(flaky.repeatable()).expect("the name is free");
            stage.scope.hook(Retry::new(3, Backoff::none()));
        },
    },
    Situation {
        name: "cancelled before the body",
        arrange: |stage| {
            stage.fine();
            stage.scope.on_pre_execute(async |call: Call, next| {
                if is_subject(&call) {
                    stop(&call);
                }
                next.run().await
            });
        },
    },
    Situation {
        name: "cancelled during the body",
        arrange: |stage| {
            stage.register(|context| {
                stop(context.call());
                Ok(json!("late"))
            });
        },
    },
    Situation {
        name: "cancelled after publication",
        arrange: |stage| {
            stage.fine();
            stage.scope.observe(|call, _| {
                if is_subject(call) {
                    stop(call);
                }
            });
        },
    },
    Situation {
        name: "content replaced",
        arrange: |stage| {
            stage.fine();
            stage.scope.on_post_execute(async |call: Call, next| {
                if is_subject(&call) {
                    return Ok(PostDecision::replace_content([Content::text("***")]));
                }
                next.run().await
            });
        },
    },
    Situation {
        name: "value replaced",
        arrange: |stage| {
            stage.fine();
            stage.scope.on_post_execute(async |call: Call, next| {
                if is_subject(&call) {
                    return Ok(PostDecision::replace_value("better"));
                }
                next.run().await
            });
        },
    },
    Situation {
        name: "blocked",
        arrange: |stage| {
            stage.fine();
            stage.scope.on_post_execute(async |call: Call, next| {
                if is_subject(&call) {
                    return Ok(PostDecision::block([Content::text("not for you")]));
                }
                next.run().await
            });
        },
    },
    Situation { name: "invalid output", arrange: |stage| drop(stage.register(|_| Ok(json!(7)))) },
    Situation {
        name: "the body fails",
        arrange: |stage| {
            stage.register(|_| Err(ToolError::coded("DiskError", "ENOSPC", "the disk is full")));
        },
    },
    Situation {
        name: "the body panics",
        arrange: |stage| drop(stage.register(|_| panic!("out of luck"))),
    },
    Situation {
        name: "hidden by a restriction",
        arrange: |stage| {
            // The root has one under this name.
            let hide = Restriction::deny(["subject"]).including_absent();
            stage.scope.restrict(hide).expect("the scope is alive");
        },
    },
    Situation {
        name: "shadowed in the scope",
        arrange: |stage| drop(stage.register(|_| Ok(json!("shadow")))),
    },
    Situation {
        name: "gone since the start",
        arrange: |stage| {
            let registration = stage.fine();
            stage.scope.on_pre_execute(move |call: Call, next| {
                if is_subject(&call) {
                    registration.dispose();
                }
                async move { next.run().await }
            });
            // What the root has under this name must not come forward.
            let hide = Restriction::deny(["subject"]).including_absent();
            stage.scope.restrict(hide).expect("the scope is alive");
        },
    },
];

fn engine() -> ScriptedEngine {
    ScriptedEngine::new()
        .program("one", async |tools| {
            let _caught = tools.call("subject", json!({})).await;
            Ok(None)
        })
        .program("three", async |tools| {
            let calls = [(); 3].map(|()| tools.call("subject", json!({})));
            for call in calls {
                let _caught = call.await;
            }
            Ok(None)
        })
}

/// An engine, and its programs for the two columns that have one.
#[derive(Debug)]
pub(crate) struct Programs<E> {
    pub(crate) engine: E,
    /// Awaits `subject` and catches what comes.
    pub(crate) one: &'static str,
    /// Calls `subject` three times at once and catches what comes.
    pub(crate) three: &'static str,
}

/// Calls the tool in one way, in one situation; answers what each call of it came to.
pub(crate) async fn observe(situation: &Situation, way: Way) -> Vec<Seen> {
    observe_with(Programs { engine: engine(), one: "one", three: "three" }, situation, way).await
}

/// The same with programs of another engine.
pub(crate) async fn observe_with(
    programs: Programs<impl ProgramEngine>,
    situation: &Situation,
    way: Way,
) -> Vec<Seen> {
    let Programs { engine, one, three } = programs;
    let runtime = ToolRuntime::builder().mode(Mode::Both).engine(engine).build().expect("builds");
    let body_runs = Arc::new(AtomicUsize::new(0));
    let scope = runtime.scope();
    let stage = Stage { scope: scope.clone(), body_runs: body_runs.clone() };
    runtime.register(stage.tool(|_| Ok(json!("root")))).expect("the name is free");
    runtime.register(delegate()).expect("the name is free");
    (situation.arrange)(&stage);
    let (results, _) = Results::observe(&scope);
    let input = match way {
        Way::Direct => CallInput::new("call", "subject", json!({})),
        Way::Nested => CallInput::new("call", "delegate", json!({})),
        Way::Program | Way::Parallel => {
            let program = if way == Way::Program { one } else { three };
            let description = "Calls the subject and catches";
            CallInput::new("call", RUN_CODE, json!({ "code": program, "description": description }))
        }
    };
    scope.execute(input).await;
    let published = results.all();
    let calls: Vec<&CallResult> =
        published.iter().filter(|(call, _)| is_subject(call)).map(|(_, result)| result).collect();
    let runs = body_runs.load(Ordering::SeqCst) / calls.len().max(1);
    calls.into_iter().map(|result| Seen::of(result, runs)).collect()
}

impl Seen {
    fn of(result: &CallResult, body_runs: usize) -> Self {
        let (outcome, code) = match result.outcome() {
            Outcome::Success(value) => (format!("ok {value}"), None),
            Outcome::Failure(error) => {
                (error.class().word().to_owned(), error.code().map(str::to_owned))
            }
        };
        Self { outcome, text: result.text(), code, body_runs }
    }
}

fn delegate() -> ToolDefinition {
    ToolDefinition::new(
        "delegate",
        "Calls the subject.",
        ParamSpec::new(),
        Output::new(ValueSpec::null(), render::nothing),
        |_: Json, context: ToolContext| async move {
            context.execute("call:nested", "subject", json!({})).await;
            Ok(Json::Null)
        },
    )
}

/// The page.
pub(crate) async fn page() -> String {
    let mut page = String::from(
        "# Conformance matrix\n\n\
         One tool, every situation, four ways to call it: a model names it; a program awaits it; a program calls it\n\
         three times at once; the body of another tool calls it. Each cell says what the call came to, its code, and how\n\
         often the tool's body ran; below it stands what a model reads. All columns of a row must agree: `crates/callgate-core/tests/it/conformance.rs`. The\n\
         columns with programs also hold for TypeScript in this process, TypeScript in a worker and Python:\n\
         `crates/callgate-engine/tests/it/conformance.rs`.\n\n\
         | situation | direct | from a program | in parallel from a program | nested in a tool |\n\
         |---|---|---|---|---|\n",
    );
    for situation in SITUATIONS {
        let mut cells = Vec::new();
        for way in WAYS {
            let seen = observe(situation, way).await;
            let Seen { outcome, code, body_runs, text } = &seen[0];
            let code = code.as_ref().map(|code| format!(" `{code}`")).unwrap_or_default();
            cells.push(format!("{outcome}{code}, {body_runs}×<br>{text}"));
        }
        // Writing to a string cannot fail.
        let _written = writeln!(page, "| {} | {} |", situation.name, cells.join(" | "));
    }
    page
}

/// Time is paused: it moves as soon as nothing else can.
fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime starts");
    std::panic::set_hook(Box::new(|_| ()));
    print!("{}", runtime.block_on(page()));
}
