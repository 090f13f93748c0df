//! What is known about each server before it is started.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use callgate::Str;
use globset::{Glob, GlobSet, GlobSetBuilder};

/// One MCP server, as the `mcpServers` block of a configuration declares it.
///
/// ```
/// use callgate_mcp::{ServerConfig, Stdio, Validation};
///
/// let mut server = ServerConfig::stdio("files", Stdio::new("mcp-server-filesystem").arg("."));
/// server.validate_results = Validation::Enforce;
/// assert_eq!(&*server.name, "files");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Its name: the first part of its tools' names.
    pub name: Str,
    /// How to reach it.
    pub transport: Transport,
    /// Which of its tools may run beside other calls.
    pub parallel: Parallel,
    /// Whether policies may believe the annotations of its tools.
    pub is_trusted: bool,
    /// What happens to arguments that do not fit a tool's input schema.
    pub validate_arguments: Validation,
    /// What happens to results that do not fit a tool's output schema.
    pub validate_results: Validation,
    /// What programs get of a result.
    pub result: ResultForm,
    /// How long things may take.
    pub timeouts: Timeouts,
}

impl ServerConfig {
    /// A server that is a child process.
    pub fn stdio(name: impl Into<Str>, process: Stdio) -> Self {
        Self::new(name, Transport::Stdio(process))
    }

    /// A server that cannot be used as it is declared, and why: it is listed with the others.
    pub fn unusable(name: impl Into<Str>, reason: impl Into<Str>) -> Self {
        Self::new(name, Transport::Unusable(reason.into()))
    }

    fn new(name: impl Into<Str>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            parallel: Parallel::default(),
            is_trusted: false,
            validate_arguments: Validation::Enforce,
            validate_results: Validation::Warn,
            result: ResultForm::default(),
            timeouts: Timeouts::default(),
        }
    }
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Transport {
    /// A child process that speaks on its standard input and output.
    Stdio(Stdio),
    /// Not at all, for this reason.
    Unusable(Str),
}

/// The child process of a server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stdio {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub command: OsString,
    /// Its arguments. No shell looks at them.
    pub args: Vec<OsString>,
    /// Variables it gets besides the few that every server gets.
    pub env: Vec<(OsString, OsString)>,
    /// Where it runs; in the gateway's own directory unless set.
    pub cwd: Option<PathBuf>,
}

impl Stdio {
    /// A process without arguments.
    pub fn new(command: impl Into<OsString>) -> Self {
        Self { command: command.into(), args: Vec::new(), env: Vec::new(), cwd: None }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Declares a variable.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Where it runs.
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }
}

/// Which tools of a server may run beside other calls.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Parallel {
    /// Those that say they only read.
    #[default]
    ReadOnly,
    /// All.
    All,
    /// None.
    None,
    /// Those whose names, as the server calls them, match one of the patterns.
    Matching(Patterns),
}

/// Patterns of names. Made by [`Parallel::matching`].
#[derive(Clone, Debug)]
pub struct Patterns {
    texts: Vec<String>,
    set: GlobSet,
}

impl Patterns {
    pub(crate) fn is_match(&self, name: &str) -> bool {
        self.set.is_match(name)
    }
}

impl PartialEq for Patterns {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl Parallel {
    /// The tools whose names match one of these patterns.
    ///
    /// # Errors
    ///
    /// The first pattern that is none.
    pub fn matching<'p>(
        patterns: impl IntoIterator<Item = &'p str>,
    ) -> Result<Self, globset::Error> {
        let (mut texts, mut set) = (Vec::new(), GlobSetBuilder::new());
        for pattern in patterns {
            texts.push(pattern.to_owned());
            set.add(Glob::new(pattern)?);
        }
        Ok(Self::Matching(Patterns { texts, set: set.build()? }))
    }
}

/// What happens to a value that does not fit a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a value is refused, reported or not looked at")]
pub enum Validation {
    /// It is refused.
    Enforce,
    /// It passes, and the log says what is wrong with it.
    Warn,
    /// It is not looked at.
    Off,
}

/// What programs get of a tool's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultForm {
    /// The useful value: structured content, else what a single text block says.
    #[default]
    Value,
    /// An object with `content` and `structuredContent`.
    Envelope,
}

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// From the start of a server to the end of its handshake, and for each page of its lists.
    pub start: Duration,
    /// A call, in all.
    pub call: Duration,
    /// A call, since it was made or since the server last reported progress.
    pub idle: Duration,
}

impl Default for Timeouts {
    /// One minute to start, since `npx` may have to download; ten minutes for a call, one of them
    /// without a sign of life.
    fn default() -> Self {
        Self {
            start: Duration::from_mins(1),
            call: Duration::from_mins(10),
            idle: Duration::from_mins(1),
        }
    }
}

/// Variables of the gateway's own environment that every server gets.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "TMPDIR",
    "TERM",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// Whether every server gets this variable of the gateway's own environment: `PATH`, `HOME`,
/// `USER`, `LANG` and `LC_*`, `TMPDIR`, `TERM`, and where proxies and certificates are.
///
/// ```
/// use callgate_mcp::is_inherited;
/// assert!(is_inherited("PATH") && is_inherited("LC_ALL"));
/// assert!(!is_inherited("AWS_SECRET_ACCESS_KEY"));
/// ```
pub fn is_inherited(name: impl AsRef<OsStr>) -> bool {
    let Some(name) = name.as_ref().to_str() else { return false };
    INHERITED.contains(&name) || name.starts_with("LC_")
}
