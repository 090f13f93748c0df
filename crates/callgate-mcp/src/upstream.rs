//! The MCP servers behind this process: started, watched, read and called.

mod backoff;
mod listing;
mod process;
mod server;
mod status;
mod supervisor;
mod watchdog;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use callgate::{Error, Json, Layer, Object, Str, ToolRuntime};
use futures_util::future::join_all;
use tokio::sync::broadcast;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use server::Server;
pub use status::{ServerState, ServerStatus};

use crate::caller::Callers;
use crate::config::{ServerConfig, Transport};
use crate::tool::McpTool;
use supervisor::supervise;
use watchdog::Watchdog;

/// What all servers of one set have in common.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The environment of this process; servers get of it what
    /// [`is_inherited`](crate::is_inherited) lets through.
    pub environment: Vec<(OsString, OsString)>,
    /// The longest message that is accepted from a server, in bytes. A longer one fails the call
    /// it answers.
    pub max_message_bytes: usize,
}

impl Default for ClientOptions {
    /// An empty environment, and messages of up to 64 MiB.
    fn default() -> Self {
        Self { environment: Vec::new(), max_message_bytes: 64 * 1024 * 1024 }
    }
}

/// A set of MCP servers whose tools are registered in a layer, and stay up to date there.
///
/// Servers are independent: one that is missing, slow, noisy or dead costs the others nothing. It
/// is started again after a while; calls of its tools fail quickly meanwhile.
///
/// ```
/// use callgate::ToolRuntime;
/// use callgate_mcp::{ClientOptions, McpServers, ServerConfig, ServerState, Stdio};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), callgate::Error> {
/// let runtime = ToolRuntime::builder().build()?;
/// let missing = ServerConfig::stdio("files", Stdio::new("/no/such/server"));
/// let servers = McpServers::connect(&runtime, vec![missing], ClientOptions::default());
/// servers.settled(Duration::from_secs(3)).await;
/// assert!(matches!(servers.status()[0].state, ServerState::Down { .. }));
/// servers.shutdown().await;
/// # Ok(()) }
/// ```
///
/// # Cancellation
///
/// Dropping it, like [`shutdown`](Self::shutdown), ends the servers and removes their tools, but
/// nobody waits for it.
pub struct McpServers {
    shared: Arc<Shared>,
    servers: RwLock<Vec<Supervised>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// A server, and what ends it.
struct Supervised {
    server: Arc<Server>,
    stop: CancellationToken,
}

/// What the servers of one set share.
pub(crate) struct Shared {
    pub(crate) layer: Layer,
    pub(crate) options: ClientOptions,
    pub(crate) callers: Callers,
    /// The registered tools of all servers, by public name.
    pub(crate) tools: RwLock<BTreeMap<Str, Arc<McpTool>>>,
    /// What servers say to everybody.
    pub(crate) events: broadcast::Sender<ServerEvent>,
    /// The least severe log messages that a client wants.
    log_level: Mutex<Option<Str>>,
    watchdog: Arc<Watchdog>,
}

/// What a server says to whoever is there.
#[derive(Clone, Debug)]
pub(crate) enum ServerEvent {
    PromptsChanged,
    ResourcesChanged,
    ResourceUpdated { server: Str, params: Object },
    Log { server: Str, params: Object },
}

/// Events that a slow listener may lag behind before it misses some.
const EVENTS: usize = 1_024;

/// How long lists of prompts and resources are waited for.
const LIST_PATIENCE: Duration = Duration::from_secs(5);

/// Where a tool comes from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolOrigin {
    /// The name of the server in the configuration.
    pub server: Str,
    /// What the server calls the tool.
    pub tool: Str,
    /// What the server says about it: an object, or null if it says nothing.
    pub annotations: Json,
    /// Whether the annotations may be believed.
    pub is_trusted: bool,
}

impl McpServers {
    /// Starts the servers; returns at once. Of two with the same name only the first is used.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn connect(layer: &Layer, servers: Vec<ServerConfig>, options: ClientOptions) -> Self {
        let shared = Arc::new(Shared {
            layer: layer.clone(),
            options,
            callers: Callers::default(),
            tools: RwLock::default(),
            events: broadcast::Sender::new(EVENTS),
            log_level: Mutex::default(),
            watchdog: Arc::new(Watchdog::start()),
        });
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let connected = Self { shared, servers: RwLock::default(), tasks, stop };
        connected.start(servers);
        connected
    }

    /// Ends the servers that are not declared like this any more, and takes their tools away: they are gone when this
    /// returns. Calls of them fail; their processes have as long as in [`shutdown`](Self::shutdown).
    ///
    /// With [`start`](Self::start) it follows a configuration that changes; what has to hold before new tools are there,
    /// such as rules, belongs between the two.
    pub fn retain(&self, declared: &[ServerConfig]) {
        let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut *servers)
            .into_iter()
            .partition(|Supervised { server, .. }| declared.contains(&server.config));
        *servers = kept;
        drop(servers);
        for Supervised { server, stop } in gone {
            stop.cancel();
            server.stopped();
        }
    }

    /// Starts those of the servers that do not run already; returns at once. Of two with the same name only the first is
    /// used.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn start(&self, declared: Vec<ServerConfig>) {
        let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        let mut names = BTreeSet::new();
        for mut config in declared {
            if servers.iter().any(|running| running.server.config == config) {
                names.insert(config.name);
                continue;
            }
            if !names.insert(config.name.clone()) {
                let reason =
                    format!("the name `{}` is used twice; rename this server", config.name);
                config.transport = Transport::Unusable(reason.into());
            }
            let server = Arc::new(Server::new(config, self.shared.clone()));
            let stop = self.stop.child_token();
            self.tasks.spawn(supervise(server.clone(), stop.clone()));
            servers.push(Supervised { server, stop });
        }
    }

    fn all(&self) -> Vec<Arc<Server>> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        servers.iter().map(|running| running.server.clone()).collect()
    }

    /// Waits until each server is ready or has failed once, at most this long.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses nothing.
    pub async fn settled(&self, at_most: Duration) {
        let all = async {
            for server in self.all() {
                server.settled().await;
            }
        };
        if timeout(at_most, all).await.is_err() {
            tracing::info!("not all servers answered in time; their tools appear later");
        }
    }

    /// How each server is, in the order they were started.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.all().iter().map(|server| server.status()).collect()
    }

    /// Starts servers just to see how they are, and ends them again. A server that has not
    /// answered after this time is reported as starting.
    ///
    /// ```
    /// use callgate_mcp::{ClientOptions, McpServers, ServerConfig, Stdio};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), callgate::Error> {
    /// let missing = ServerConfig::stdio("files", Stdio::new("/no/such/server"));
    /// let found = McpServers::check(vec![missing], ClientOptions::default(), Duration::from_secs(3)).await?;
    /// assert!(!found[0].is_fine());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// If no runtime can be built to start them in.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, the servers are ended, but nobody waits for it.
    pub async fn check(
        servers: Vec<ServerConfig>,
        options: ClientOptions,
        at_most: Duration,
    ) -> Result<Vec<ServerStatus>, Error> {
        let runtime = ToolRuntime::builder().build()?;
        let servers = Self::connect(&runtime, servers, options);
        servers.settled(at_most).await;
        let found = servers.status();
        servers.shutdown().await;
        Ok(found)
    }

    /// Reads the tools of a server again, as if it had said that they changed.
    pub fn refresh(&self, server: &str) {
        let named = self.all().into_iter().find(|known| **known.name() == *server);
        if let Some(server) = named {
            server.tools_changed.notify_one();
        }
    }

    /// Where the tool of that name comes from, if it is one of theirs.
    pub fn origin(&self, name: &str) -> Option<ToolOrigin> {
        self.shared.tool(name).map(|tool| ToolOrigin {
            server: tool.server.clone(),
            tool: tool.raw_name.clone(),
            annotations: tool.entry.get("annotations").cloned().unwrap_or_default(),
            is_trusted: tool.is_trusted,
        })
    }

    /// Ends all servers and removes their tools. Each may end by itself, is asked to, and is
    /// killed in the end, with everything it started: three seconds at most.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, the rest still happens, but nobody waits for it.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The connected servers that have something of that kind.
    pub(crate) fn offering(&self, capability: &str) -> Vec<Arc<Server>> {
        self.all().into_iter().filter(|server| server.offers(capability)).collect()
    }

    /// What each of them lists now. One that does not answer has nothing.
    pub(crate) async fn list(
        &self,
        capability: &str,
        method: &str,
        member: &str,
    ) -> Vec<(Arc<Server>, Vec<Json>)> {
        let lists = self.offering(capability).into_iter().map(|server| async move {
            let entries = server.list(method, member, LIST_PATIENCE).await;
            (server, entries)
        });
        join_all(lists).await
    }

    /// What each connected server says about how to use it.
    pub(crate) fn instructions(&self) -> Vec<(Str, Str)> {
        let said = self.all().into_iter().filter_map(|server| {
            let text = server.link().ok()?.hello.get("instructions")?.to_str()?;
            (!text.trim().is_empty()).then(|| (server.name().clone(), text))
        });
        said.collect()
    }

    /// Tells the servers which log messages are wanted, now and when they start again.
    pub(crate) fn set_log_level(&self, level: &str) {
        *self.shared.log_level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level.into());
        for server in self.offering("logging") {
            self.tasks.spawn(async move { server.apply_log_level().await });
        }
    }
}

impl Shared {
    /// The registered tool of that name.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<McpTool>> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

impl Drop for McpServers {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl fmt::Debug for McpServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.all().into_iter().map(|server| server.config.name.clone());
        f.debug_list().entries(names).finish()
    }
}
