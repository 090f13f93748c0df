//! One connection: requests go out, answers find whoever waits for them.

use std::collections::HashMap;
use std::fmt;
use std::future::{pending, poll_fn};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use callgate::{Cause, Json, Object, Signal, Str, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use crate::framing::{Frame, Framer};
use crate::json_rpc::{Id, Message, Response, RpcError};

/// Lines that may wait for a slow reader on the other side before senders wait too.
const OUTBOX: usize = 256;

/// What is read at once.
const CHUNK: usize = 64 * 1024;

/// The sending side of a connection, and everybody who waits for an answer on it.
#[derive(Clone)]
pub(crate) struct Connection(Arc<Inner>);

struct Inner {
    outbox: mpsc::Sender<String>,
    waiting: Mutex<Waiting>,
    next: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    requests: HashMap<u64, Entry>,
    /// Why no answer will come any more.
    closed: Option<Str>,
}

struct Entry {
    answer: oneshot::Sender<Result<Json, RequestError>>,
    progress: Option<ProgressFn>,
    /// Told whenever the other side shows that it works on the request.
    activity: Arc<Notify>,
}

/// Hears of progress: the parameters as the other side sent them.
pub(crate) type ProgressFn = Arc<dyn Fn(&Object) + Send + Sync>;

/// A request to make.
pub(crate) struct Outgoing<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Object,
    /// Whoever cancels it.
    pub(crate) signal: Option<&'a Signal>,
    pub(crate) progress: Option<ProgressFn>,
    pub(crate) patience: Patience,
}

/// How long an answer may take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience {
    /// In all.
    pub(crate) total: Option<Duration>,
    /// Since the request or the last sign of progress.
    pub(crate) idle: Option<Duration>,
}

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RequestError {
    /// The other side answered with an error.
    Refused(RpcError),
    /// The other side answered something that cannot be used.
    Spoilt(String),
    /// It took longer than this in all.
    TookTooLong(Duration),
    /// Nothing was heard for this long.
    WentSilent(Duration),
    /// Whoever asked does not want it any more.
    Cancelled(Cause),
    /// The connection ended.
    Closed(Str),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => fmt::Display::fmt(error, f),
            Self::Spoilt(reason) => write!(f, "the answer cannot be used: {reason}"),
            Self::TookTooLong(limit) => write!(f, "no answer within {limit:?}"),
            Self::WentSilent(limit) => write!(f, "no answer and no progress for {limit:?}"),
            Self::Cancelled(cause) => write!(f, "cancelled: {cause}"),
            Self::Closed(reason) => f.write_str(reason),
        }
    }
}

impl<'a> Outgoing<'a> {
    pub(crate) fn new(method: &'a str, params: Object) -> Self {
        Self { method, params, signal: None, progress: None, patience: Patience::default() }
    }

    pub(crate) fn within(mut self, total: Duration) -> Self {
        self.patience.total = Some(total);
        self
    }
}

impl Connection {
    /// A connection, and the lines to be written for it.
    pub(crate) fn new() -> (Self, mpsc::Receiver<String>) {
        let (outbox, lines) = mpsc::channel(OUTBOX);
        let inner = Inner { outbox, waiting: Mutex::default(), next: AtomicU64::new(1) };
        (Self(Arc::new(inner)), lines)
    }

    /// Makes a request and waits for its answer.
    ///
    /// # Cancellation
    ///
    /// Dropping the future tells the other side that nobody waits any more.
    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Json, RequestError> {
        let Outgoing { method, params, signal, progress, patience } = outgoing;
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let activity = Arc::new(Notify::new());
        let params = if progress.is_some() { with_token(&params, number) } else { params };
        self.expect(number, Entry { answer, progress, activity: activity.clone() })?;
        let mut open = OpenRequest::new(self, number, method);
        let exchange = async {
            self.send(Message::request(&Id::number(number), method, params.into())).await;
            answered
                .await
                .unwrap_or_else(|_| Err(RequestError::Closed("the connection ended".into())))
        };
        tokio::select! {
            biased;
            outcome = exchange => {
                open.settle();
                outcome
            }
            cause = cancelled(signal) => {
                open.reason = cause.message().into();
                Err(RequestError::Cancelled(cause))
            }
            error = overdue(patience, &activity) => {
                open.reason = error.to_string().into();
                Err(error)
            }
        }
    }

    /// Says something that needs no answer. If too much is waiting to be written already, it is
    /// not said.
    pub(crate) fn notify(&self, method: &str, params: Json) {
        let line = Message::notification(method, params).to_string();
        if let Err(error) = self.0.outbox.try_send(line) {
            tracing::debug!(method, %error, "notification not sent");
        }
    }

    /// Sends a message, waiting for room. If nobody writes any more, the connection is closing.
    pub(crate) async fn send(&self, message: Json) {
        let _closing = self.0.outbox.send(message.to_string()).await;
    }

    /// Answers a request of the other side. If too much is waiting to be written already, the
    /// answer is not given.
    pub(crate) fn reply(&self, id: Option<&Id>, outcome: Result<Json, RpcError>) {
        let line = Message::response(id, outcome).to_string();
        if let Err(error) = self.0.outbox.try_send(line) {
            tracing::warn!(%error, "a request was not answered: the other side does not read");
        }
    }

    /// Hands an answer to whoever waits for it.
    pub(crate) fn answer(&self, response: Response) {
        let Response { id, outcome } = response;
        match (id, outcome) {
            (Some(id), outcome) => self.settle(&id, outcome.map_err(RequestError::Refused)),
            (None, Err(error)) => tracing::warn!(%error, "error that answers no request"),
            (None, Ok(_)) => {}
        }
    }

    /// Fails the request that a useless answer belongs to.
    pub(crate) fn spoil(&self, id: &Id, reason: String) {
        self.settle(id, Err(RequestError::Spoilt(reason)));
    }

    fn settle(&self, id: &Id, outcome: Result<Json, RequestError>) {
        let entry =
            id.as_json().as_u64().and_then(|number| self.waiting().requests.remove(&number));
        let delivered = entry.is_some_and(|entry| entry.answer.send(outcome).is_ok());
        if !delivered {
            tracing::debug!(%id, "answer to a request that nobody waits for");
        }
    }

    /// Hands a progress notification to the request it belongs to.
    pub(crate) fn progress(&self, params: &Json) {
        let Some(params) = params.as_object() else { return };
        let number = params.get("progressToken").and_then(Json::as_u64);
        let listener = number.and_then(|number| {
            let waiting = self.waiting();
            let entry = waiting.requests.get(&number)?;
            entry.activity.notify_one();
            entry.progress.clone()
        });
        if let Some(listener) = listener {
            listener(params);
        }
    }

    /// Fails everything that waits, and every later request.
    pub(crate) fn close(&self, reason: &Str) {
        let abandoned: Vec<Entry> = {
            let mut waiting = self.waiting();
            waiting.closed.get_or_insert_with(|| reason.clone());
            waiting.requests.drain().map(|(_, entry)| entry).collect()
        };
        for entry in abandoned {
            let _left = entry.answer.send(Err(RequestError::Closed(reason.clone())));
        }
    }

    fn expect(&self, number: u64, entry: Entry) -> Result<(), RequestError> {
        let mut waiting = self.waiting();
        if let Some(reason) = &waiting.closed {
            return Err(RequestError::Closed(reason.clone()));
        }
        waiting.requests.insert(number, entry);
        Ok(())
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// Parameters that ask for progress under this number.
fn with_token(params: &Object, number: u64) -> Object {
    let meta = params.get("_meta").and_then(Json::as_object).cloned().unwrap_or_default();
    params.with("_meta", Json::Object(meta.with("progressToken", number)))
}

async fn cancelled(signal: Option<&Signal>) -> Cause {
    let Some(signal) = signal else { return pending().await };
    signal.cancelled().await;
    signal.cause().cloned().unwrap_or_else(|| Cause::new("cancelled", "cancelled"))
}

/// Waits until the answer is overdue.
async fn overdue(patience: Patience, activity: &Notify) -> RequestError {
    let start = Instant::now();
    let mut last_sign = start;
    loop {
        let total = patience.total.map(|limit| (start + limit, RequestError::TookTooLong(limit)));
        let idle = patience.idle.map(|limit| (last_sign + limit, RequestError::WentSilent(limit)));
        let first = [total, idle].into_iter().flatten().min_by_key(|(deadline, _)| *deadline);
        let Some((deadline, error)) = first else { return pending().await };
        tokio::select! {
            () = sleep_until(deadline) => return error,
            () = activity.notified() => last_sign = Instant::now(),
        }
    }
}

/// A request that was made and has no answer yet. Dropped like that, the other side is told.
struct OpenRequest<'a> {
    connection: &'a Connection,
    number: u64,
    is_open: bool,
    /// The handshake must not be cancelled.
    is_cancellable: bool,
    reason: Str,
}

impl<'a> OpenRequest<'a> {
    fn new(connection: &'a Connection, number: u64, method: &str) -> Self {
        let reason = "nobody waits for the answer any more".into();
        Self { connection, number, is_open: true, is_cancellable: method != "initialize", reason }
    }

    fn settle(&mut self) {
        self.is_open = false;
    }
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        let entry = self.connection.waiting().requests.remove(&self.number);
        if entry.is_some() && self.is_cancellable {
            let params = json!({ "requestId": self.number, "reason": self.reason.clone() });
            self.connection.notify("notifications/cancelled", params);
        }
    }
}

/// Writes the lines that `poll` gives until there are no more.
pub(crate) async fn write_lines(
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<Option<String>>,
    mut writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    while let Some(mut line) = poll_fn(&mut poll).await {
        line.push('\n');
        writer.write_all(line.as_bytes()).await?;
        writer.flush().await?;
    }
    writer.shutdown().await
}

/// Reads frames of at most `limit` bytes until the stream ends.
pub(crate) async fn read_frames(
    mut reader: impl AsyncRead + Unpin,
    limit: usize,
    mut take: impl FnMut(Frame),
) -> io::Result<()> {
    let mut framer = Framer::new(limit);
    let mut chunk = vec![0; CHUNK];
    loop {
        let length = reader.read(&mut chunk).await?;
        if length == 0 {
            framer.finish(&mut take);
            return Ok(());
        }
        framer.feed(&chunk[..length], &mut take);
    }
}
