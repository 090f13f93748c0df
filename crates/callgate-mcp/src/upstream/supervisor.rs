//! The life of a server: started, greeted, read, watched, ended, started again.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use callgate::{Json, Str, json};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::ServerEvent;
use super::backoff::Backoff;
use super::listing::{Listing, read_all};
use super::process::{Process, describe_exit, log_stderr};
use super::server::{Failure, Link, Server};
use crate::config::{Stdio, Transport};
use crate::connection::{Connection, Outgoing, RequestError, read_frames, write_lines};
use crate::framing::Frame;
use crate::json_rpc::{Message, Notification, RpcError};
use crate::protocol;

/// Notifications that arrive within this time of each other lead to one reading.
const CALM: Duration = Duration::from_millis(100);

/// Lists are not read more often than this.
const READING_INTERVAL: Duration = Duration::from_millis(500);

/// Runs a server until `stop`, starting it again whenever it ends.
pub(super) async fn supervise(server: Arc<Server>, stop: CancellationToken) {
    match server.config.transport.clone() {
        Transport::Unusable(reason) => {
            tracing::warn!(server = %server.config.name, %reason, "server cannot be used");
            server.unusable(reason);
            stop.cancelled().await;
        }
        Transport::Stdio(process) => restart(&server, &process, &stop).await,
    }
    server.stopped();
}

async fn restart(server: &Arc<Server>, process: &Stdio, stop: &CancellationToken) {
    let mut backoff = Backoff::default();
    while !stop.is_cancelled() {
        server.starting();
        let start = Instant::now();
        let failure = run(server, process, stop).await;
        if stop.is_cancelled() {
            return;
        }
        let delay = backoff.after(start.elapsed());
        let reason = &failure.reason;
        tracing::warn!(server = %server.config.name, %reason, ?delay, "server is down");
        server.down(failure, Instant::now() + delay);
        tokio::select! {
            () = sleep(delay) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// One life of a server; answers why it ended.
async fn run(server: &Arc<Server>, config: &Stdio, stop: &CancellationToken) -> Failure {
    let (name, options) = (&server.config.name, &server.shared.options);
    let started = Process::start(config, &options.environment, &server.shared.watchdog);
    let (mut process, pipes) = match started {
        Ok(started) => started,
        // The reason says what to do.
        Err(reason) => return Failure { reason: reason.into(), remedy: None },
    };
    server.started(process.id());
    let stderr = log_stderr(name.clone(), pipes.stderr, server.last_words.clone());
    let tasks = tokio::runtime::Handle::current();
    let stderr = AbortOnDropHandle::new(tasks.spawn(stderr));
    let (connection, mut lines) = Connection::new();
    let end = {
        let writing = write_lines(|task| lines.poll_recv(task), pipes.stdin);
        let reading = read_frames(pipes.stdout, options.max_message_bytes, |frame| {
            take(server, &connection, frame);
        });
        let working = work(server, &connection);
        tokio::select! {
            () = stop.cancelled() => End::Stopped,
            given_up = working => given_up,
            _ended = reading => End::Closed("it closed its output"),
            _ended = writing => End::Closed("it closed its input"),
        }
    };
    server.unlinked();
    let (reason, remedy) = match end {
        End::Stopped => ("it was shut down".to_owned(), None),
        End::Silent(reason) => (reason, Some(remedy_for_silence(config))),
        End::GivenUp(reason) => (reason, Some("update the server".to_owned())),
        End::Closed(reason) => match process.last_breath().await {
            Some(status) => (describe_exit(status), Some(remedy_for_exit(config))),
            None => (reason.to_owned(), Some(remedy_for_exit(config))),
        },
    };
    let reason: Str = with_last_words(reason, server).into();
    connection.close(&reason);
    process.stop().await;
    drop(stderr);
    Failure { reason, remedy: remedy.map(Str::from) }
}

fn remedy_for_silence(config: &Stdio) -> String {
    format!(
        "run `{}` in a terminal: a server that expects something else than JSON-RPC on its input never answers; if it \
         only needs longer, raise its start timeout",
        command_line(config)
    )
}

fn remedy_for_exit(config: &Stdio) -> String {
    format!("run `{}` in a terminal to see what it complains about", command_line(config))
}

fn command_line(config: &Stdio) -> String {
    let words = std::iter::once(&config.command).chain(&config.args);
    let words: Vec<String> = words.map(|word| word.display().to_string()).collect();
    words.join(" ")
}

/// What ended the life of a server.
enum End {
    /// It was ended on purpose.
    Stopped,
    /// It did not answer.
    Silent(String),
    /// It behaved so that it is of no use.
    GivenUp(String),
    /// One of its pipes closed, most likely because it died.
    Closed(&'static str),
}

/// The last line a server wrote to its standard error often says it all.
fn with_last_words(reason: String, server: &Server) -> String {
    match server.last_words.lines().last() {
        Some(line) => format!("{reason} (its last line on standard error: {line})"),
        None => reason,
    }
}

/// Takes what came from the server.
fn take(server: &Server, connection: &Connection, frame: Frame) {
    match frame {
        Frame::Message(Message::Response(response)) => connection.answer(response),
        Frame::Spoilt { id, reason } => connection.spoil(&id, reason),
        Frame::Noise(noise) => server.noise(&noise),
        Frame::Refused { id, error } => connection.reply(id.as_ref(), Err(error)),
        Frame::Message(Message::Request(request)) => {
            let outcome = match &*request.method {
                "ping" => Ok(json!({})),
                other => Err(RpcError::method_not_found(other)),
            };
            connection.reply(Some(&request.id), outcome);
        }
        Frame::Message(Message::Notification(notification)) => {
            take_notification(server, connection, &notification);
        }
    }
}

fn take_notification(server: &Server, connection: &Connection, notification: &Notification) {
    match &*notification.method {
        "notifications/progress" => connection.progress(&notification.params),
        "notifications/tools/list_changed" => server.tools_changed.notify_one(),
        "notifications/message" => log_message(server, &notification.params),
        "notifications/prompts/list_changed" => server.tell(ServerEvent::PromptsChanged),
        "notifications/resources/list_changed" => server.tell(ServerEvent::ResourcesChanged),
        "notifications/resources/updated" => {
            if let Json::Object(params) = notification.params.clone() {
                server.tell(ServerEvent::ResourceUpdated { server: server.name().clone(), params });
            }
        }
        other => tracing::trace!(server = %server.config.name, method = other, "notification"),
    }
}

/// A line for the log that the server sent as a message.
fn log_message(server: &Server, params: &Json) {
    let Some(object) = params.as_object() else { return };
    let level = params.get("level").and_then(Json::as_str).unwrap_or("info");
    let text = match params.get("data") {
        Some(Json::String(text)) => text.to_string(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    tracing::info!(server = %server.name(), level, "{}", text.escape_debug());
    server.tell(ServerEvent::Log { server: server.name().clone(), params: object.clone() });
}

/// Greets the server, reads its tools, and reads them again whenever they may have changed.
async fn work(server: &Arc<Server>, connection: &Connection) -> End {
    match greet(server, connection).await {
        Ok(link) => server.linked(link),
        Err(end) => return end,
    }
    server.apply_log_level().await;
    let mut retries = Backoff::default();
    loop {
        let start = Instant::now();
        let is_complete = match read_tools(server, connection).await {
            Ok(is_complete) => is_complete,
            Err(reason) => return End::GivenUp(reason),
        };
        let retry = async {
            if is_complete {
                pending::<()>().await;
            } else {
                sleep(retries.after(Duration::ZERO)).await;
            }
        };
        tokio::select! {
            () = retry => {}
            () = server.tools_changed.notified() => calm(server, start).await,
        }
        if is_complete {
            retries = Backoff::default();
        }
    }
}

/// Waits until the notifications stop coming, and for the next time that lists may be read.
async fn calm(server: &Server, last_reading: Instant) {
    let next = last_reading + READING_INTERVAL;
    let mut quiet = pin!(sleep(CALM));
    loop {
        tokio::select! {
            () = &mut quiet => break,
            () = server.tools_changed.notified(), if Instant::now() < next => {
                quiet.as_mut().reset(Instant::now() + CALM);
            }
        }
    }
    sleep_until(next).await;
}

async fn greet(server: &Arc<Server>, connection: &Connection) -> Result<Link, End> {
    let greeting =
        Outgoing::new("initialize", protocol::hello()).within(server.config.timeouts.start);
    let hello = connection.request(greeting).await.map_err(|error| {
        let reason = format!("the handshake failed: {error}");
        match error {
            RequestError::TookTooLong(_) => End::Silent(reason),
            _ => End::GivenUp(reason),
        }
    })?;
    let protocol = hello.get("protocolVersion").and_then(Json::to_str).unwrap_or_default();
    if !protocol::is_known(&protocol) {
        return Err(End::GivenUp(format!(
            "it speaks version `{protocol}` of the protocol; known are {}",
            protocol::VERSIONS.join(", ")
        )));
    }
    connection.send(Message::notification("notifications/initialized", Json::Null)).await;
    Ok(Link { connection: connection.clone(), protocol, hello })
}

/// Reads the tools; answers whether all of them could be read.
async fn read_tools(server: &Arc<Server>, connection: &Connection) -> Result<bool, String> {
    if !server.offers("tools") {
        server.update(Listing::default());
        return Ok(true);
    }
    let limit = server.config.timeouts.start;
    let listing = match read_all(connection, "tools/list", "tools", limit).await {
        Ok(listing) => listing,
        Err(RequestError::Closed(reason)) => return Err(reason.to_string()),
        Err(error) => {
            let reason = format!("its tools could not be listed: {error}");
            Listing { cut_short: Some(reason), ..Listing::default() }
        }
    };
    let is_complete = listing.cut_short.is_none();
    if let Some(reason) = &listing.cut_short {
        tracing::warn!(server = %server.config.name, %reason, "the list of tools is incomplete");
    }
    server.update(listing);
    Ok(is_complete)
}
