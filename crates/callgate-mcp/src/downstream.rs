//! The side of a client: what it asks, and what it is told.

mod list;
mod log;
mod passage;
mod sdk;
pub(crate) mod stdio;
pub(crate) mod stream;

use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callgate::{
    CallInput, CallResult, Cause, Json, Language, Mode, Object, Recorder, Scope, SdkOptions,
    Signal, Str, json,
};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

use crate::caller::Caller;
use crate::connection::ProgressFn;
use crate::framing::{Frame, NoiseKind};
use crate::gateway::Gateway;
use crate::json_rpc::{Id, Message, Notification, Request, RpcError};
use crate::upstream::ServerEvent;
use crate::{meta, protocol};
use passage::Passage;
use sdk::SdkText;

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the client went, or it was sent away")]
pub enum Ended {
    /// The client closed its side.
    EndOfInput,
    /// The session was stopped from this side.
    Stopped,
}

/// One client's session: a scope of its own, and a log.
pub(crate) struct Session {
    gateway: Arc<Gateway>,
    scope: Scope,
    recorder: Option<Recorder>,
    lines: mpsc::UnboundedSender<String>,
    /// The client's requests that are being answered.
    running: Mutex<HashMap<Id, Signal>>,
    /// What the client was last told about the tools, or could see of them.
    seen: Mutex<Option<Json>>,
    calls: AtomicU64,
    tasks: TaskTracker,
    /// Whether a greeting is being answered: what is asked behind it is answered behind it.
    greeting: watch::Sender<bool>,
    /// Cancels every call of the session.
    signal: Signal,
    is_greeted: AtomicBool,
    sdk: Mutex<Option<Arc<SdkText>>>,
    passage: Passage,
    prompts_changed: Notify,
    resources_changed: Notify,
}

/// Changes that follow each other within this time are announced once.
const CALM: Duration = Duration::from_millis(50);

/// What is kept of the drain for calls that were cancelled.
const LAST_SECOND: Duration = Duration::from_secs(1);

impl Session {
    /// Serves a client until it goes or `stop` is cancelled.
    pub(crate) async fn serve(
        gateway: Arc<Gateway>,
        frames: mpsc::UnboundedReceiver<Frame>,
        lines: mpsc::UnboundedSender<String>,
        stop: &Signal,
    ) -> io::Result<Ended> {
        let scope = gateway.runtime.scope();
        let sdk =
            SdkOptions::new(gateway.options.sdk).inline_bytes(gateway.options.sdk_inline_bytes);
        scope.show_sdk(sdk).map_err(io::Error::other)?;
        let recorder = match &gateway.options.log {
            Some(log) => {
                let recorder = log::start(&gateway, &scope, log()?);
                Some(recorder.map_err(io::Error::other)?)
            }
            None => None,
        };
        let session = Arc::new(Self {
            gateway,
            scope,
            recorder,
            lines,
            running: Mutex::default(),
            seen: Mutex::default(),
            calls: AtomicU64::new(0),
            tasks: TaskTracker::new(),
            greeting: watch::Sender::new(false),
            signal: Signal::new(),
            is_greeted: AtomicBool::new(false),
            sdk: Mutex::default(),
            passage: Passage::default(),
            prompts_changed: Notify::new(),
            resources_changed: Notify::new(),
        });
        let ended = session.clone().listen(frames, stop).await;
        session.drain(ended, stop).await;
        Ok(ended)
    }

    async fn listen(
        self: Arc<Self>,
        mut frames: mpsc::UnboundedReceiver<Frame>,
        stop: &Signal,
    ) -> Ended {
        let changed = Arc::new(Notify::new());
        let observer = changed.clone();
        self.scope.on_change(move || observer.notify_one());
        let reading = async {
            while let Some(frame) = frames.recv().await {
                self.take(frame);
            }
        };
        tokio::select! {
            () = stop.cancelled() => Ended::Stopped,
            () = reading => Ended::EndOfInput,
            () = whenever(&changed, || self.announce_tools()) => Ended::Stopped,
            () = whenever(&self.prompts_changed, || self.announce_prompts()) => Ended::Stopped,
            () = whenever(&self.resources_changed, || self.announce_resources()) => Ended::Stopped,
            () = self.hear_servers() => Ended::Stopped,
        }
    }

    /// Passes on what servers say to everybody.
    async fn hear_servers(&self) {
        let mut events = self.gateway.servers.shared().events.subscribe();
        loop {
            match events.recv().await {
                Ok(event) => self.pass_on(event),
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "the client missed messages of servers");
                    self.pass_on(ServerEvent::PromptsChanged);
                    self.pass_on(ServerEvent::ResourcesChanged);
                }
                Err(RecvError::Closed) => pending::<()>().await,
            }
        }
    }

    /// No new calls; those that run may end, then they are cancelled, and waited for.
    async fn drain(&self, ended: Ended, stop: &Signal) {
        self.tasks.close();
        let drain = self.gateway.options.drain;
        let patience = match ended {
            Ended::EndOfInput => drain.saturating_sub(LAST_SECOND),
            Ended::Stopped => Duration::ZERO,
        };
        if timeout(patience, self.tasks.wait()).await.is_err() {
            let cause = Cause::new("session-ended", "the session ended");
            self.signal.cancel(cause);
            let rest = drain.saturating_sub(patience);
            if timeout(rest, self.tasks.wait()).await.is_err() {
                tracing::warn!("calls did not end after they were cancelled");
            }
        }
        if let Some(recorder) = &self.recorder
            && let Err(error) = recorder
                .close_with(log::reason(ended, stop, &self.signal))
                .map(|()| recorder.session().flush())
        {
            tracing::warn!(%error, "the session log was not closed");
        }
        self.scope.dispose().await;
    }

    fn take(self: &Arc<Self>, frame: Frame) {
        match frame {
            Frame::Message(Message::Request(request)) => self.accept(request),
            Frame::Message(Message::Notification(notification)) => self.hear(&notification),
            Frame::Message(Message::Response(response)) => {
                tracing::debug!(id = ?response.id, "answer to a request that nobody made");
            }
            Frame::Refused { id, error } => self.respond(id.as_ref(), Err(error)),
            Frame::Spoilt { id, reason } => {
                tracing::debug!(%id, %reason, "useless answer to a request that nobody made");
            }
            Frame::Noise(noise) if noise.kind == NoiseKind::Blank => {}
            Frame::Noise(noise) => {
                let code = match noise.kind {
                    NoiseKind::NotRpc | NoiseKind::TooLong => RpcError::INVALID_REQUEST,
                    _ => RpcError::PARSE,
                };
                let reason =
                    format!("this is no JSON-RPC message ({}): {}", noise.kind, noise.sample);
                self.respond(None, Err(RpcError::new(code, reason)));
            }
        }
    }

    /// Starts to answer a request, beside those that are being answered already.
    fn accept(self: &Arc<Self>, request: Request) {
        let signal = self.signal.child();
        let id = request.id.clone();
        if self.running().contains_key(&id) {
            let message = format!("a request with the id {id} is being answered already");
            return self.respond(Some(&id), Err(RpcError::new(RpcError::INVALID_REQUEST, message)));
        }
        self.running().insert(id.clone(), signal.clone());
        let is_greeting = &*request.method == "initialize";
        if is_greeting {
            self.greeting.send_replace(true);
        }
        let session = self.clone();
        self.tasks.spawn(async move {
            if !is_greeting {
                session.greeted().await;
            }
            let outcome = session.answer(request, &signal).await;
            session.running().remove(&id);
            // Nobody waits for the answer to a request that the client took back.
            if signal.cause().is_none_or(|cause| cause.code() != CLIENT_CANCELLED) {
                session.respond(Some(&id), outcome);
            }
            if is_greeting {
                session.greeting.send_replace(false);
            }
        });
    }

    /// Waits until no greeting is being answered.
    async fn greeted(&self) {
        let mut greeting = self.greeting.subscribe();
        // The sender lives as long as the session.
        let _closed = greeting.wait_for(|greeting| !greeting).await.is_err();
    }

    async fn answer(&self, request: Request, signal: &Signal) -> Result<Json, RpcError> {
        let Request { method, params, .. } = request;
        match &*method {
            "initialize" => Ok(self.greet(&params).await),
            "ping" => Ok(json!({})),
            "tools/list" => self.list_tools(&params).await,
            "tools/call" => self.call_tool(&params, signal).await,
            "prompts/list" => self.list_prompts(&params).await,
            "prompts/get" => self.get_prompt(&params, signal).await,
            "resources/list" => self.list_resources(&params).await,
            "resources/templates/list" => self.list_templates(&params).await,
            "resources/read" => self.read_resource(&params, signal).await,
            "resources/subscribe" | "resources/unsubscribe" => {
                self.subscribe(&method, &params).await
            }
            "completion/complete" => self.complete(&params, signal).await,
            "logging/setLevel" => self.set_level(&params),
            other => Err(RpcError::method_not_found(other)),
        }
    }

    fn hear(&self, notification: &Notification) {
        if &*notification.method != "notifications/cancelled" {
            return;
        }
        let request = notification.params.get("requestId").and_then(Id::of);
        let signal = request.and_then(|id| self.running().get(&id).cloned());
        if let Some(signal) = signal {
            let reason = notification.params.get("reason").and_then(Json::as_str);
            signal
                .cancel(Cause::new(CLIENT_CANCELLED, reason.unwrap_or("the client took it back")));
        }
    }

    async fn greet(&self, params: &Json) -> Json {
        self.gateway.settled().await;
        let wanted = params.get("protocolVersion").and_then(Json::as_str);
        let capabilities = json!({
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "completions": {},
            "logging": {},
        });
        self.is_greeted.store(true, Ordering::Release);
        Object::builder()
            .with("protocolVersion", protocol::negotiate(wanted))
            .with("capabilities", capabilities)
            .with("serverInfo", protocol::identity())
            .with_some("instructions", self.instructions())
            .build()
            .into()
    }

    /// How to write programs, where programs are written, and what each server says about itself.
    fn instructions(&self) -> Option<String> {
        let own =
            (self.scope.mode() != Mode::Native).then(|| self.sdk_text().description.to_string());
        let servers = self.gateway.servers.instructions().into_iter();
        let servers = servers.map(|(name, text)| format!("# Server `{name}`\n\n{text}"));
        let parts: Vec<String> = own.into_iter().chain(servers).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    pub(crate) fn is_greeted(&self) -> bool {
        self.is_greeted.load(Ordering::Acquire)
    }

    fn language(&self) -> Language {
        self.scope.language().unwrap_or(Language::TypeScript)
    }

    /// What there is to say about programs with the tools that are there now.
    fn sdk_text(&self) -> Arc<SdkText> {
        let mut known = self.sdk.lock().unwrap_or_else(PoisonError::into_inner);
        let text = SdkText::of(&self.scope, known.as_ref());
        known.insert(text).clone()
    }

    async fn list_tools(&self, params: &Json) -> Result<Json, RpcError> {
        refuse_cursor(params)?;
        self.gateway.settled().await;
        let tools = self.visible_tools();
        *self.seen() = Some(tools.clone());
        Ok(json!({ "tools": tools }))
    }

    /// Tells the client that its tools changed, if what it sees did.
    fn announce_tools(&self) {
        let tools = self.visible_tools();
        let has_changed = {
            let mut seen = self.seen();
            let has_changed = seen.as_ref().is_some_and(|seen| *seen != tools);
            if has_changed {
                *seen = Some(tools);
            }
            has_changed
        };
        if has_changed {
            self.notify("notifications/tools/list_changed", Json::Null);
        }
    }

    async fn call_tool(&self, params: &Json, signal: &Signal) -> Result<Json, RpcError> {
        let Some(Json::String(name)) = params.get("name") else {
            return Err(RpcError::invalid_params("`name` must be the name of a tool"));
        };
        let arguments = match params.get("arguments") {
            None | Some(Json::Null) => Json::Object(Object::default()),
            Some(arguments) => arguments.clone(),
        };
        self.gateway.settled().await;
        let call_id: Str =
            format!("call-{}", self.calls.fetch_add(1, Ordering::Relaxed) + 1).into();
        let callers = &self.gateway.servers.shared().callers;
        let _known = callers.enter(self.scope.id(), call_id.clone(), self.caller(params));
        let input = CallInput::new(call_id, name.clone(), arguments).with_signal(signal.clone());
        let result = match &self.recorder {
            Some(recorder) => recorder.call(input).await,
            None => self.scope.execute(input).await,
        };
        Ok(self.present(name, &result))
    }

    /// What the client sent along with a call.
    fn caller(&self, params: &Json) -> Caller {
        let meta = params.get("_meta").and_then(Json::as_object);
        let rest = meta.map(|meta| meta.without("progressToken")).filter(|rest| !rest.is_empty());
        Caller::new(rest, self.progress_of(params))
    }

    /// Whoever passes progress on to the client, if the client asked for it.
    fn progress_of(&self, params: &Json) -> Option<ProgressFn> {
        let token = params.get("_meta")?.get("progressToken")?.clone();
        let lines = self.lines.clone();
        Some(Arc::new(move |params: &Object| {
            let params = params.with("progressToken", token.clone());
            send(&lines, &Message::notification("notifications/progress", params.into()));
        }))
    }

    /// A result as the client gets it: as the server sent it, with what a loop would deliver
    /// behind its blocks.
    fn present(&self, name: &str, result: &CallResult) -> Json {
        let own = result.content().iter();
        let contexts =
            result.additional_contexts().iter().flat_map(|context| context.content.iter());
        let content: callgate::Array =
            own.chain(contexts).map(callgate::Content::to_json).collect();
        let mut presented = match result.raw() {
            Some(Json::Object(raw)) => raw.clone(),
            _ => self.structured(name, result),
        };
        if !content.is_empty() || presented.is_empty() {
            presented = presented.with("content", Json::Array(content));
        }
        if result.is_error() {
            presented = presented.with("isError", true);
        }
        if result.concludes_turn() {
            presented = meta::with(&presented, meta::CONCLUDES_TURN, true);
        }
        presented.into()
    }

    /// Where clients may check results, a value that a hook put in place is structured too.
    fn structured(&self, name: &str, result: &CallResult) -> Object {
        let tool = self.gateway.servers.shared().tool(name).filter(|tool| tool.lists_output());
        let value = tool.and_then(|_| result.value()).cloned();
        Object::builder().with_some("structuredContent", value).build()
    }

    fn notify(&self, method: &str, params: Json) {
        send(&self.lines, &Message::notification(method, params));
    }

    fn respond(&self, id: Option<&Id>, outcome: Result<Json, RpcError>) {
        send(&self.lines, &Message::response(id, outcome));
    }

    fn running(&self) -> MutexGuard<'_, HashMap<Id, Signal>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, Option<Json>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does something whenever something changed, once for changes that follow each other closely.
async fn whenever(changed: &Notify, react: impl Fn()) {
    loop {
        changed.notified().await;
        sleep(CALM).await;
        react();
    }
}

/// The cause of a call that the client took back.
const CLIENT_CANCELLED: &str = "client";

fn send(lines: &mpsc::UnboundedSender<String>, message: &Json) {
    if lines.send(message.to_string()).is_err() {
        tracing::debug!("the client is gone; it misses a message");
    }
}

/// Our lists have one page.
fn refuse_cursor(params: &Json) -> Result<(), RpcError> {
    match params.get("cursor") {
        None | Some(Json::Null) => Ok(()),
        Some(cursor) => {
            Err(RpcError::invalid_params(format!("there is no page {cursor}; lists have one page")))
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
