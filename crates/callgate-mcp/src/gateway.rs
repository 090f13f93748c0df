//! The gateway: one MCP server in front of many.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use callgate::session::Session as Log;
use callgate::{SdkDetail, Signal, ToolRuntime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use crate::downstream::stdio::Stdio;
use crate::downstream::{self, Ended, Session};
use crate::upstream::{McpServers, ServerStatus};

/// Makes the log of a client's session.
pub type LogFn = dyn Fn() -> io::Result<Log> + Send + Sync;

/// How a gateway presents itself.
#[derive(Clone)]
#[non_exhaustive]
pub struct GatewayOptions {
    /// How long a client's first questions may wait for servers to start.
    pub settle_within: Duration,
    /// How long running calls may take to end at the end of a session.
    pub drain: Duration,
    /// How much of the SDK the description of `run_code` holds.
    pub sdk: SdkDetail,
    /// Up to how many bytes the SDK is shown whole, where that is decided by its size.
    pub sdk_inline_bytes: usize,
    /// Makes the log of each session. Without, calls are not recorded.
    pub log: Option<Arc<LogFn>>,
}

impl Default for GatewayOptions {
    /// Two and a half seconds for servers to start, five for calls to end, and an SDK that is
    /// shown whole up to 16,384 bytes.
    fn default() -> Self {
        Self {
            settle_within: Duration::from_millis(2_500),
            drain: Duration::from_secs(5),
            sdk: SdkDetail::Auto,
            sdk_inline_bytes: 16_384,
            log: None,
        }
    }
}

impl fmt::Debug for GatewayOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayOptions")
            .field("settle_within", &self.settle_within)
            .field("drain", &self.drain)
            .field("sdk", &self.sdk)
            .field("sdk_inline_bytes", &self.sdk_inline_bytes)
            .finish_non_exhaustive()
    }
}

/// One MCP server in front of many: its clients see the tools of all of them, as functions or as
/// programs to write, and every call takes the runtime's one path.
#[derive(Debug)]
pub struct Gateway {
    pub(crate) runtime: ToolRuntime,
    pub(crate) servers: McpServers,
    pub(crate) options: GatewayOptions,
    /// Until when first questions may wait.
    settled_by: Instant,
}

impl Gateway {
    /// A gateway to these servers, which must be connected to this runtime.
    pub fn new(runtime: ToolRuntime, servers: McpServers, options: GatewayOptions) -> Self {
        let settled_by = Instant::now() + options.settle_within;
        Self { runtime, servers, options, settled_by }
    }

    /// The runtime behind it: rules and hooks of all clients go here.
    pub fn runtime(&self) -> &ToolRuntime {
        &self.runtime
    }

    /// The servers behind it.
    pub fn servers(&self) -> &McpServers {
        &self.servers
    }

    /// How each server is.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.servers.status()
    }

    /// Waits until each server is ready or has failed once, but not for ever.
    pub(crate) async fn settled(&self) {
        self.servers.settled(self.settled_by.saturating_duration_since(Instant::now())).await;
    }

    /// Serves one client on any pair of streams, until it goes or `stop` is cancelled; the servers
    /// stay. For hosts that have their clients in other places than standard input and output.
    ///
    /// # Errors
    ///
    /// If the session's log cannot be made.
    ///
    /// # Cancellation
    ///
    /// Cancel `stop` instead of dropping the future, which would leave calls to end unseen.
    pub async fn serve(
        self: &Arc<Self>,
        reader: impl AsyncRead + Unpin + Send,
        writer: impl AsyncWrite + Unpin + Send,
        stop: &Signal,
    ) -> io::Result<Ended> {
        downstream::stream::serve(self, reader, writer, stop).await
    }

    /// Serves one client on standard input and output, until it goes or `stop` is cancelled. Then
    /// no new calls are taken; at the end of input running ones may end by themselves for a
    /// while, otherwise they are cancelled at once; then all servers are ended.
    ///
    /// From here on standard output carries nothing but the protocol: whatever else is printed
    /// goes to standard error.
    ///
    /// # Errors
    ///
    /// If standard output cannot be taken over, or the session's log cannot be made.
    ///
    /// # Cancellation
    ///
    /// Cancel `stop` instead of dropping the future, which would leave calls to end unseen.
    pub async fn serve_stdio(self: &Arc<Self>, stop: &Signal) -> io::Result<Ended> {
        let stop = stop.child();
        let Stdio { frames, lines, writer } = downstream::stdio::open(stop.clone())?;
        let ended = Session::serve(self.clone(), frames, lines, &stop).await;
        writer.flushed().await;
        self.servers.shutdown().await;
        ended
    }
}
