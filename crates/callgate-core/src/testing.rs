//! Doubles for tests: programs scripted in Rust, approvers that follow a script, observers that
//! remember.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_schema::{Json, Str};
use futures_util::future::{BoxFuture, Either, select};
use tokio::sync::oneshot;

use crate::approval::{Approval, ApprovalRequest, Approver};
use crate::call::Call;
use crate::error::HookError;
use crate::preflight::{Finding, ToolSignature};
use crate::program::{
    EngineError, FailureKind, Isolation, Language, Program, ProgramCall, ProgramEnd, ProgramEngine,
    ProgramFailure, ProgramHost, Reply,
};
use crate::registry::{Layer, Registration};
use crate::result::CallResult;
use crate::signal::Signal;

type Script =
    dyn Fn(ScriptedTools) -> BoxFuture<'static, Result<Option<Json>, ProgramFailure>> + Send + Sync;

/// A program engine whose programs are async closures: the text of a program is the name of its
/// script. It runs in the task of the lane, so that paused time decides every order.
///
/// ```
/// use callgate_core::testing::ScriptedEngine;
/// use callgate_core::{CallInput, Mode, ToolRuntime};
/// use callgate_schema::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), callgate_core::Error> {
/// let engine = ScriptedEngine::new().program("answer", async |_tools| Ok(Some(json!(42))));
/// let runtime = ToolRuntime::builder().mode(Mode::Code).engine(engine).build()?;
/// let input = json!({ "code": "answer", "description": "Answers the question of questions" });
/// let result = runtime.execute(CallInput::new("1", "run_code", input)).await;
/// assert_eq!(result.text(), "42");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ScriptedEngine {
    scripts: Arc<BTreeMap<Str, Arc<Script>>>,
    findings: Arc<BTreeMap<Str, Vec<Finding>>>,
    language: Language,
}

impl Default for ScriptedEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl ScriptedEngine {
    /// An engine without programs.
    pub fn new() -> Self {
        Self { scripts: Arc::default(), findings: Arc::default(), language: Language::TypeScript }
    }

    /// The same engine under another language.
    #[must_use]
    pub fn in_language(mut self, language: Language) -> Self {
        self.language = language;
        self
    }

    /// Adds something that is wrong with a program before it runs.
    #[must_use]
    pub fn finding(mut self, source: impl Into<Str>, finding: Finding) -> Self {
        Arc::make_mut(&mut self.findings).entry(source.into()).or_default().push(finding);
        self
    }

    /// Adds a program. Its error is the program's uncaught exception.
    #[must_use]
    pub fn program<F>(
        mut self,
        source: impl Into<Str>,
        script: impl Fn(ScriptedTools) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Option<Json>, String>> + Send + 'static,
    {
        let script: Arc<Script> = Arc::new(move |tools| {
            let run = script(tools);
            Box::pin(async move {
                run.await.map_err(|message| ProgramFailure::new(FailureKind::Exception, message))
            })
        });
        Arc::make_mut(&mut self.scripts).insert(source.into(), script);
        self
    }
}

impl ProgramEngine for ScriptedEngine {
    fn language(&self) -> Language {
        self.language
    }

    fn isolation(&self) -> Isolation {
        Isolation::InProcess
    }

    fn check<'a>(
        &'a self,
        program: &'a Program,
        _: &'a [ToolSignature],
    ) -> BoxFuture<'a, Vec<Finding>> {
        let findings = self.findings.get(&program.source).cloned().unwrap_or_default();
        Box::pin(std::future::ready(findings))
    }

    fn run(
        &self,
        program: Program,
        host: Arc<dyn ProgramHost>,
        signal: Signal,
    ) -> BoxFuture<'static, Result<ProgramEnd, EngineError>> {
        let script = self.scripts.get(&program.source).cloned();
        Box::pin(async move {
            let Some(script) = script else {
                let message = format!("there is no script named `{}`", program.source);
                return Err(EngineError::new(message));
            };
            let members = program.namespaces.into_iter().flat_map(|space| space.members).collect();
            let tools = ScriptedTools { host, members, logs: Arc::default() };
            let logs = tools.logs.clone();
            let run = script(tools);
            let outcome = match select(run, Box::pin(signal.cancelled())).await {
                Either::Left((outcome, _)) => outcome,
                Either::Right(((), _)) => {
                    let reason = signal.cause().map(ToString::to_string).unwrap_or_default();
                    Err(ProgramFailure::new(FailureKind::Abort, reason))
                }
            };
            let mut end =
                ProgramEnd { logs: std::mem::take(&mut *lock(&logs)), ..ProgramEnd::default() };
            match outcome {
                Ok(value) => end.value = value,
                Err(failure) => end.failure = Some(failure),
            }
            Ok(end)
        })
    }
}

impl fmt::Debug for ScriptedEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedEngine")
            .field("programs", &self.scripts.keys())
            .finish_non_exhaustive()
    }
}

/// The `tools` object of a scripted program.
#[derive(Clone)]
pub struct ScriptedTools {
    host: Arc<dyn ProgramHost>,
    members: Arc<[Str]>,
    logs: Arc<Mutex<Vec<Str>>>,
}

impl ScriptedTools {
    /// The names the program can call.
    pub fn members(&self) -> &[Str] {
        &self.members
    }

    /// Submits a call at once; the future waits for its answer. Dropping the future changes
    /// nothing about the call.
    pub fn call(
        &self,
        name: impl Into<Str>,
        arguments: impl Into<Json>,
    ) -> BoxFuture<'static, Result<Json, String>> {
        let (send, receive) = oneshot::channel();
        let reply = Reply::new(move |answer| {
            // The program may have lost interest.
            let _unheard = send.send(answer);
        });
        self.host.call(ProgramCall::new("tools", name, arguments.into()), reply);
        Box::pin(async move {
            receive.await.unwrap_or_else(|_| Err("the call was not answered".to_owned()))
        })
    }

    /// Logs a line.
    pub fn log(&self, line: impl Into<Str>) {
        lock(&self.logs).push(line.into());
    }
}

impl fmt::Debug for ScriptedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedTools").field("members", &self.members).finish_non_exhaustive()
    }
}

/// An approver that gives its answers in order, then says that nobody is there.
///
/// ```
/// use callgate_core::{Approval, testing::ScriptedApprover};
/// let approver = ScriptedApprover::answering([Approval::AllowedOnce, Approval::Rejected]);
/// assert!(approver.asked().is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedApprover {
    answers: Arc<Mutex<VecDeque<Approval>>>,
    asked: Arc<Mutex<Vec<ApprovalRequest>>>,
}

impl ScriptedApprover {
    /// An approver with these answers.
    pub fn answering(answers: impl IntoIterator<Item = Approval>) -> Self {
        let answers = Arc::new(Mutex::new(answers.into_iter().collect()));
        Self { answers, asked: Arc::default() }
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<ApprovalRequest> {
        lock(&self.asked).clone()
    }
}

impl Approver for ScriptedApprover {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'static, Result<Approval, HookError>> {
        lock(&self.asked).push(request);
        let answer = lock(&self.answers).pop_front().unwrap_or(Approval::Unavailable);
        Box::pin(std::future::ready(Ok(answer)))
    }
}

/// An observer that remembers every final result of the layer it is installed in.
#[derive(Clone, Debug, Default)]
pub struct Results(Arc<Mutex<Vec<(Call, CallResult)>>>);

impl Results {
    /// Installs it.
    pub fn observe(layer: &Layer) -> (Self, Registration) {
        let results = Self::default();
        let kept = results.clone();
        let registration =
            layer.observe(move |call, result| lock(&kept.0).push((call.clone(), result.clone())));
        (results, registration)
    }

    /// What was published so far, in order.
    pub fn all(&self) -> Vec<(Call, CallResult)> {
        lock(&self.0).clone()
    }

    /// The result of the call with this id, if it was published exactly once.
    pub fn only(&self, id: &str) -> Option<CallResult> {
        let published = self.all();
        let mut of_call = published.into_iter().filter(|(call, _)| &**call.id() == id);
        let first = of_call.next()?;
        of_call.next().is_none().then_some(first.1)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
