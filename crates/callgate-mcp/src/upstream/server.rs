//! One server: what is known about it, the connection there is at the moment, its tools.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate::{
    Error, FailureClass, Json, Object, Registration, Returned, Signal, Str, ToolContext, ToolError,
    codes,
};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::listing::{Listing, read_all};
use super::process::LastWords;
use super::status::{ServerState, ServerStatus};
use super::{ServerEvent, Shared};
use crate::config::ServerConfig;
use crate::connection::{Connection, Outgoing, Patience, ProgressFn, RequestError};
use crate::framing::{Noise, NoiseMeter};
use crate::json_rpc::RpcError;
use crate::tool::McpTool;

/// One server.
pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    pub(super) shared: Arc<Shared>,
    pub(super) last_words: LastWords,
    /// Told when the server says that its tools changed.
    pub(super) tools_changed: Notify,
    state: Mutex<State>,
    settled: watch::Sender<bool>,
    starts: AtomicU64,
    mismatches: AtomicU64,
}

#[derive(Default)]
struct State {
    phase: Phase,
    link: Option<Arc<Link>>,
    pid: Option<u32>,
    /// Its registered tools, by the name the server gives them.
    tools: BTreeMap<Str, (Arc<McpTool>, Registration)>,
    warnings: Vec<String>,
    noise: NoiseMeter,
}

#[derive(Clone, Default)]
enum Phase {
    #[default]
    Starting,
    Ready,
    Incomplete(Str),
    Down {
        reason: Str,
        remedy: Option<Str>,
        retry_at: Instant,
    },
    Unusable(Str),
    Stopped,
}

/// Why a server does not run, and what can be done about it.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) reason: Str,
    pub(super) remedy: Option<Str>,
}

/// The other side of an open connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) connection: Connection,
    pub(crate) protocol: Str,
    /// What it answered to `initialize`.
    pub(crate) hello: Json,
}

impl Server {
    pub(super) fn new(config: ServerConfig, shared: Arc<Shared>) -> Self {
        Self {
            config,
            shared,
            last_words: LastWords::default(),
            tools_changed: Notify::new(),
            state: Mutex::default(),
            settled: watch::Sender::new(false),
            starts: AtomicU64::new(0),
            mismatches: AtomicU64::new(0),
        }
    }

    /// Waits until it is known whether the server works.
    pub(super) async fn settled(&self) {
        let mut settled = self.settled.subscribe();
        // The sender lives as long as the server.
        let _closed = settled.wait_for(|settled| *settled).await.is_err();
    }

    fn settle(&self) {
        self.settled.send_replace(true);
    }

    pub(super) fn starting(&self) {
        self.starts.fetch_add(1, Ordering::Relaxed);
        self.lock().phase = Phase::Starting;
    }

    pub(super) fn started(&self, pid: Option<u32>) {
        self.lock().pid = pid;
    }

    pub(super) fn linked(&self, link: Link) {
        self.lock().link = Some(Arc::new(link));
        self.tell_of_lists();
    }

    pub(super) fn unlinked(&self) {
        self.tell_of_lists();
        let mut state = self.lock();
        state.link = None;
        state.pid = None;
    }

    /// Its prompts and resources come and go with it.
    fn tell_of_lists(&self) {
        if self.offers("prompts") {
            self.tell(ServerEvent::PromptsChanged);
        }
        if self.offers("resources") {
            self.tell(ServerEvent::ResourcesChanged);
        }
    }

    /// Tells whoever is there.
    pub(super) fn tell(&self, event: ServerEvent) {
        // Without a client nobody listens.
        let _listeners = self.shared.events.send(event).unwrap_or_default();
    }

    pub(super) fn down(&self, failure: Failure, retry_at: Instant) {
        let Failure { reason, remedy } = failure;
        self.lock().phase = Phase::Down { reason, remedy, retry_at };
        self.settle();
    }

    pub(super) fn unusable(&self, reason: Str) {
        self.lock().phase = Phase::Unusable(reason);
        self.settle();
    }

    /// The end: nothing of the server is left.
    pub(super) fn stopped(&self) {
        let tools = {
            let mut state = self.lock();
            state.phase = Phase::Stopped;
            state.link = None;
            std::mem::take(&mut state.tools)
        };
        self.unregister(tools.values());
        self.settle();
    }

    pub(super) fn noise(&self, noise: &Noise) {
        let due = self.lock().noise.count(noise);
        if let Some(lines) = due {
            let (server, kind, sample) = (&self.config.name, noise.kind, &noise.sample);
            tracing::warn!(%server, lines, "output that is no message ({kind}), such as \"{sample}\"");
        }
    }

    pub(super) fn status(&self) -> ServerStatus {
        let state = self.lock();
        let hello = state.link.as_ref().map(|link| &link.hello);
        ServerStatus {
            name: self.config.name.clone(),
            state: state.phase.describe(),
            remedy: state.phase.remedy(),
            tools: state.tools.len(),
            renamed: state
                .tools
                .values()
                .filter(|(tool, _)| tool.is_renamed())
                .map(|(tool, _)| (tool.raw_name.clone(), tool.name.clone()))
                .collect(),
            product: hello.and_then(product),
            protocol: state.link.as_ref().map(|link| link.protocol.clone()),
            pid: state.pid,
            starts: self.starts.load(Ordering::Relaxed),
            noise: state.noise.total(),
            mismatches: self.mismatches.load(Ordering::Relaxed),
            warnings: state.warnings.clone(),
            last_words: self.last_words.lines(),
        }
    }

    /// The open connection, or why there is none.
    pub(crate) fn link(&self) -> Result<Arc<Link>, String> {
        let state = self.lock();
        let name = &self.config.name;
        match (&state.link, &state.phase) {
            (Some(link), _) => Ok(link.clone()),
            (None, Phase::Down { reason, retry_at, .. }) => {
                let seconds =
                    retry_at.saturating_duration_since(Instant::now()).as_secs_f64().ceil();
                Err(format!(
                    "server `{name}` is not available: {reason}; it is started again in {seconds} s"
                ))
            }
            (None, Phase::Unusable(reason)) => {
                Err(format!("server `{name}` cannot be used: {reason}"))
            }
            (None, Phase::Stopped) => Err(format!("server `{name}` was shut down")),
            (None, _) => Err(format!("server `{name}` is still starting; try again in a moment")),
        }
    }

    /// Whether the connected server says that it has something of that kind.
    pub(crate) fn offers(&self, capability: &str) -> bool {
        let state = self.lock();
        let hello = state.link.as_ref().map(|link| &link.hello);
        let capabilities = hello.and_then(|hello| hello.get("capabilities"));
        capabilities.is_some_and(|capabilities| {
            matches!(capabilities.get(capability), Some(Json::Object(_)))
        })
    }

    pub(crate) fn name(&self) -> &Str {
        &self.config.name
    }

    /// Makes a request of a client's in its place.
    ///
    /// # Errors
    ///
    /// The server's own error, or why there is none.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: Object,
        signal: Option<&Signal>,
        progress: Option<ProgressFn>,
    ) -> Result<Json, RpcError> {
        let internal = |message: String| RpcError::new(RpcError::INTERNAL, message);
        let link = self.link().map_err(internal)?;
        let patience = self.patience();
        let outgoing = Outgoing { method, params, signal, progress, patience };
        link.connection.request(outgoing).await.map_err(|error| match error {
            RequestError::Refused(error) => error,
            other => internal(format!("server `{}`: {other}", self.config.name)),
        })
    }

    /// All pages of a list, as far as they can be read.
    pub(super) async fn list(
        &self,
        method: &str,
        member: &str,
        page_timeout: Duration,
    ) -> Vec<Json> {
        let Ok(link) = self.link() else { return Vec::new() };
        let listing = read_all(&link.connection, method, member, page_timeout).await;
        let (entries, problem) = match listing {
            Ok(listing) => (listing.entries, listing.cut_short),
            // Not everybody who has resources has templates.
            Err(RequestError::Refused(error)) if error.code == RpcError::METHOD_NOT_FOUND => {
                (Vec::new(), None)
            }
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        if let Some(problem) = problem {
            tracing::warn!(server = %self.config.name, method, %problem, "the list is incomplete");
        }
        entries
    }

    /// Tells the server which log messages are wanted, if somebody said so.
    pub(super) async fn apply_log_level(&self) {
        let level = self.shared.log_level.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (Some(level), true) = (level, self.offers("logging")) else { return };
        let params = Object::builder().with("level", level).build();
        if let Err(error) = self.ask("logging/setLevel", params, None, None).await {
            tracing::debug!(server = %self.config.name, %error, "log level not set");
        }
    }

    fn patience(&self) -> Patience {
        let timeouts = &self.config.timeouts;
        Patience { total: Some(timeouts.call), idle: Some(timeouts.idle) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tools.
impl Server {
    /// Brings the registered tools in line with what the server lists, in one change. Tools that
    /// did not change stay as they are; if the list was cut short, so do those it does not name.
    pub(super) fn update(self: &Arc<Self>, listing: Listing) {
        if matches!(self.lock().phase, Phase::Stopped) {
            return;
        }
        let mut warnings = Vec::new();
        let mut listed = self.read(&listing.entries, &mut warnings);
        let known = std::mem::take(&mut self.lock().tools);
        let mut kept = BTreeMap::new();
        let mut gone = Vec::new();
        for (raw_name, (tool, registration)) in known {
            let stays = match listed.get(&raw_name) {
                Some(new) => new.entry == tool.entry,
                None => listing.cut_short.is_some(),
            };
            if stays {
                listed.remove(&raw_name);
                kept.insert(raw_name, (tool, registration));
            } else {
                gone.push((tool, registration));
            }
        }
        let new: Vec<Arc<McpTool>> = listed.into_values().map(Arc::new).collect();
        kept.extend(self.exchange(&gone, new, &mut warnings));
        warnings.extend(kept.values().flat_map(|(tool, _)| tool.warnings.iter().cloned()));
        let mut state = self.lock();
        state.tools = kept;
        state.warnings = warnings;
        state.phase = match listing.cut_short {
            None => Phase::Ready,
            Some(reason) => Phase::Incomplete(reason.into()),
        };
        drop(state);
        self.settle();
    }

    /// The entries that are tools, by name.
    fn read(&self, entries: &[Json], warnings: &mut Vec<String>) -> BTreeMap<Str, McpTool> {
        let mut tools: BTreeMap<Str, McpTool> = BTreeMap::new();
        for entry in entries {
            match McpTool::read(&self.config, entry) {
                Ok(tool) if tools.contains_key(&tool.raw_name) => {
                    warnings.push(format!(
                        "`{}` is listed twice; only the first counts",
                        tool.raw_name
                    ));
                }
                Ok(tool) => drop(tools.insert(tool.raw_name.clone(), tool)),
                Err(warning) => warnings.push(warning),
            }
        }
        for warning in &*warnings {
            tracing::warn!(server = %self.config.name, "{warning}");
        }
        tools
    }

    /// Takes tools out of the registry and puts others in, at once. If that cannot be done, they
    /// are put in one by one, and those that cannot be are left out.
    fn exchange(
        self: &Arc<Self>,
        gone: &[(Arc<McpTool>, Registration)],
        new: Vec<Arc<McpTool>>,
        warnings: &mut Vec<String>,
    ) -> Vec<(Str, (Arc<McpTool>, Registration))> {
        if gone.is_empty() && new.is_empty() {
            return Vec::new();
        }
        let layer = &self.shared.layer;
        {
            let mut tools = self.shared.tools.write().unwrap_or_else(PoisonError::into_inner);
            for (tool, _) in gone {
                tools.remove(&tool.name);
            }
            tools.extend(new.iter().map(|tool| (tool.name.clone(), tool.clone())));
        }
        let definitions = new.iter().map(|tool| tool.definition(self));
        let definitions: Vec<_> = definitions.collect();
        let registrations = layer.change(|change| {
            for (_, registration) in gone {
                change.undo(registration);
            }
            let registrations =
                definitions.iter().map(|definition| change.register(definition.clone()));
            registrations.collect::<Vec<_>>()
        });
        let registrations: Vec<Result<Registration, Error>> = if let Ok(all) = registrations {
            all.into_iter().map(Ok).collect()
        } else {
            for (_, registration) in gone {
                registration.dispose();
            }
            definitions.into_iter().map(|definition| layer.register(definition)).collect()
        };
        let mut registered = Vec::new();
        for (tool, registration) in new.into_iter().zip(registrations) {
            match registration {
                Ok(registration) => registered.push((tool.raw_name.clone(), (tool, registration))),
                Err(error) => {
                    tracing::warn!(server = %self.config.name, tool = %tool.raw_name, %error, "tool not registered");
                    warnings.push(format!("`{}` is left out: {error}", tool.raw_name));
                    self.shared.forget(&tool);
                }
            }
        }
        registered
    }

    fn unregister<'t>(&self, tools: impl Iterator<Item = &'t (Arc<McpTool>, Registration)>) {
        let tools: Vec<_> = tools.collect();
        let undone = self.shared.layer.change(|change| {
            for (_, registration) in &tools {
                change.undo(registration);
            }
        });
        if let Err(error) = undone {
            tracing::debug!(%error, "tools not removed");
        }
        for (tool, _) in tools {
            self.shared.forget(tool);
        }
    }
}

impl Shared {
    fn forget(&self, tool: &Arc<McpTool>) {
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        if tools.get(&tool.name).is_some_and(|known| Arc::ptr_eq(known, tool)) {
            tools.remove(&tool.name);
        }
    }
}

/// Calls.
impl Server {
    /// Makes a call.
    ///
    /// # Errors
    ///
    /// If the arguments do not fit, the server is not there or does not answer, or says that the
    /// call failed.
    pub(crate) async fn call(
        &self,
        tool: &McpTool,
        arguments: Json,
        context: &ToolContext,
    ) -> Result<Returned, ToolError> {
        let arguments = tool.admit(arguments)?;
        if tool.demands_task() {
            let message =
                format!("`{}` runs only as a task, and tasks are not supported", tool.name);
            return Err(ToolError::unavailable(message));
        }
        let link = self.link().map_err(ToolError::unavailable)?;
        let caller = self.shared.callers.of(context.call());
        let meta = caller.as_ref().filter(|_| context.call().is_model_direct());
        let meta = meta.and_then(|caller| caller.meta.clone());
        let params = Object::builder()
            .with("name", tool.raw_name.clone())
            .with("arguments", arguments)
            .with_some("_meta", meta.map(Json::Object));
        let outgoing = Outgoing {
            method: "tools/call",
            params: params.build(),
            signal: Some(context.signal()),
            progress: caller.and_then(|caller| caller.listener(context.call())),
            patience: self.patience(),
        };
        let answer = link.connection.request(outgoing).await;
        let answered = tool.accept(answer.map_err(|error| self.failed(tool, error))?)?;
        if let Some(mismatch) = answered.mismatch {
            self.mismatches.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(server = %self.config.name, tool = %tool.raw_name, %mismatch, "result does not fit the declared schema");
        }
        Ok(answered.returned)
    }

    #[cold]
    fn failed(&self, tool: &McpTool, error: RequestError) -> ToolError {
        let (server, name) = (&self.config.name, &tool.raw_name);
        match error {
            RequestError::Refused(error) => ToolError::failed(error.to_string()),
            RequestError::Spoilt(reason) => tool.unusable(&reason),
            RequestError::TookTooLong(limit) => ToolError::timed_out(format!(
                "server `{server}` did not finish `{name}` within {limit:?}; the call was given up"
            )),
            RequestError::WentSilent(limit) => ToolError::timed_out(format!(
                "server `{server}` gave no answer to `{name}` and no sign of progress for {limit:?}; the call was given up"
            )),
            RequestError::Cancelled(cause) => {
                let message = format!("the call was cancelled while it ran: {cause}");
                ToolError::coded("AbortError", codes::ABORTED, message)
                    .with_class(FailureClass::Aborted)
            }
            RequestError::Closed(reason) => ToolError::unavailable(format!(
                "server `{server}` went away while it ran `{name}`, so whether it was done is unknown: {reason}"
            )),
        }
    }
}

impl Phase {
    fn describe(&self) -> ServerState {
        match self.clone() {
            Self::Starting => ServerState::Starting,
            Self::Ready => ServerState::Ready,
            Self::Incomplete(reason) => ServerState::Incomplete { reason },
            Self::Down { reason, retry_at, .. } => {
                let retry_in = retry_at.saturating_duration_since(Instant::now());
                ServerState::Down { reason, retry_in }
            }
            Self::Unusable(reason) => ServerState::Unusable { reason },
            Self::Stopped => ServerState::Stopped,
        }
    }
}

impl Phase {
    fn remedy(&self) -> Option<Str> {
        match self {
            Self::Down { remedy, .. } => remedy.clone(),
            Self::Incomplete(_) => {
                let remedy =
                    "it is asked again by itself; if that does not help, update the server";
                Some(remedy.into())
            }
            _ => None,
        }
    }
}

/// Name and version of whatever answered `initialize`.
fn product(hello: &Json) -> Option<Str> {
    let info = hello.get("serverInfo")?;
    let name = info.get("name")?.as_str()?;
    let version = info.get("version").and_then(Json::as_str).unwrap_or_default();
    Some(format!("{name} {version}").trim_end().into())
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.config.name).finish_non_exhaustive()
    }
}
