//! How a server is, for people.

use std::time::Duration;

use callgate::Str;

/// How one server is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerStatus {
    /// Its name in the configuration.
    pub name: Str,
    /// What it is doing.
    pub state: ServerState,
    /// What can be done about it, if something is wrong.
    pub remedy: Option<Str>,
    /// How many tools it has.
    pub tools: usize,
    /// The tools whose public names are not the server's and their own, because model APIs would
    /// refuse those: what the server calls each, and what everybody else does.
    pub renamed: Vec<(Str, Str)>,
    /// What it calls itself, with its version.
    pub product: Option<Str>,
    /// The version of the protocol that is spoken with it.
    pub protocol: Option<Str>,
    /// Its process.
    pub pid: Option<u32>,
    /// How often it was started.
    pub starts: u64,
    /// How many lines of its output were no messages.
    pub noise: u64,
    /// How many results did not fit the schema that their tool declares.
    pub mismatches: u64,
    /// What should be known about its tools.
    pub warnings: Vec<String>,
    /// The last lines of its standard error, oldest first.
    pub last_words: Vec<String>,
}

impl ServerStatus {
    /// Whether everything about it works.
    pub fn is_fine(&self) -> bool {
        self.state == ServerState::Ready
    }
}

/// What a server is doing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ServerState {
    /// It was started and has not answered yet.
    Starting,
    /// Its tools can be called.
    Ready,
    /// Its tools can be called, but there may be more; it is asked again.
    Incomplete {
        /// Why its list could not be read to the end.
        reason: Str,
    },
    /// It does not run. It is started again.
    Down {
        /// Why.
        reason: Str,
        /// When it is started again.
        retry_in: Duration,
    },
    /// It cannot be used as it is declared.
    Unusable {
        /// Why.
        reason: Str,
    },
    /// It was ended on purpose.
    Stopped,
}
