//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use callgate::{Language, Mode};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

use crate::logging::LogLevel;
use crate::look::Colors;

/// A guarded tool runtime for AI agents.
///
/// Every tool call, whoever makes it, takes one path: rules, guards, hooks around the tool, a check of its output. What
/// stops a direct call stops the same call made by a program.
#[derive(Debug, Parser)]
#[command(
    name = "callgate",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "See `callgate --help` for examples, exit codes and files.",
    after_long_help = AFTER_HELP
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colours: auto, always or never
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "WHEN", hide_possible_values = true)]
    #[arg(value_enum, default_value_t)]
    pub(crate) color: Colors,

    /// Show no progress and no notes; errors and warnings remain
    #[arg(long, short, global = true, help_heading = EVERYWHERE)]
    pub(crate) quiet: bool,
}

/// The heading of options that every command has.
const EVERYWHERE: &str = "Common options";

const AFTER_HELP: &str = "\
Examples:
  callgate run examples/programs/largest-files.ts
  callgate run -e 'return await tools.glob({ pattern: \"**/*.md\" })'
  callgate tools list
  callgate log

Exit codes:
  0    everything was done
  1    the program or the call failed
  2    the command line or the configuration is wrong; nothing was run
  130  interrupted by Ctrl-C
  141  whoever read standard output stopped reading
  143  ended by SIGTERM

Files:
  Configuration  `--config FILE`, else `$CALLGATE_CONFIG`, else `callgate.json` in the working
                 directory if `callgate trust` was told so, else `callgate/callgate.json` in
                 `$XDG_CONFIG_HOME` (~/.config); JSON with comments
  Session logs   `callgate/` in `$XDG_STATE_HOME` (~/.local/state), readable by you alone";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunArguments),
    /// Show and call the tools that programs can use
    #[command(subcommand)]
    Tools(ToolsCommand),
    Sdk(SdkArguments),
    Serve(ServeArguments),
    Check(CheckArguments),
    Trust(TrustArguments),
    Log(LogArguments),
    /// Judge schemas and values, and show schemas as types; for authors of tools
    #[command(subcommand)]
    Schema(SchemaCommand),
}

/// Run a program that calls tools
///
/// The program is the inside of an async function in TypeScript: it calls `await tools.name(args)`, logs with
/// `console.log`, and returns its result. Types are erased, not checked. A file that ends in `.py` is the inside of an
/// async function in Python, which prints with `print`. What it returns is shown, a list of flat objects as a table, and
/// below it every call it made.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("program").required(true), after_help = "\
Examples:
  callgate run examples/programs/largest-files.ts
  callgate run -e 'return (await tools.glob({ pattern: \"**/*.rs\" })).length'
  echo 'return 6 * 7' | callgate run -
  callgate run --json --timeout 10 program.ts | jq .result
  callgate run --memory 64M --max-calls 100 program.ts
  callgate run --check program.ts
  callgate run program.py
  callgate run --lang python -e 'return await tools.read(path=\"README.md\")'")]
pub(crate) struct RunArguments {
    /// A file with the program; `-` reads it from standard input
    #[arg(group = "program")]
    pub(crate) file: Option<PathBuf>,

    /// The program itself
    #[arg(long, short, group = "program", value_name = "CODE", allow_hyphen_values = true)]
    pub(crate) eval: Option<String>,

    /// The language of the program; unless given, Python for a file that ends in `.py`, else TypeScript
    #[arg(long, value_name = "LANGUAGE", value_enum)]
    pub(crate) lang: Option<ProgramLanguage>,

    /// Print one JSON object: `ok`, `result`, `logs`, `error` and `calls`
    #[arg(long)]
    pub(crate) json: bool,

    /// Say what is certainly wrong with the program, and do not run it; exit code 1 if anything is. With --json one
    /// object: `ok`, `findings` and `error`
    #[arg(long)]
    pub(crate) check: bool,

    /// End the program after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,

    /// Let the program allocate so many bytes at most, such as 64M
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<usize>,

    /// Deny the calls of the program after so many
    #[arg(long, value_name = "N")]
    pub(crate) max_calls: Option<u64>,

    /// Where the program runs; the best there is unless given
    #[arg(long, value_name = "WHERE", value_enum)]
    pub(crate) isolation: Option<WantedIsolation>,

    /// Run a Python program with your own rights, files and network
    #[arg(long, conflicts_with = "isolation")]
    pub(crate) unconfined: bool,

    /// Write the session log to this new file
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) setup: SetupArguments,
}

/// Where programs are to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WantedIsolation {
    /// In a process of its own, confined as far as the system can
    Worker,
    /// On a thread of this process
    InProcess,
}

impl RunArguments {
    /// The language that was asked for, or that the name of the file tells.
    pub(crate) fn language(&self) -> Language {
        let is_python = |file: &PathBuf| file.extension().is_some_and(|name| name == "py");
        match self.lang {
            Some(language) => language.into(),
            None if self.file.as_ref().is_some_and(is_python) => Language::Python,
            None => Language::TypeScript,
        }
    }
}

/// What every command needs that works with tools.
#[derive(Debug, Args)]
pub(crate) struct SetupArguments {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// The directory that tools may read; the working directory unless given
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools
    #[command(after_help = "Example:\n  callgate tools list --json | jq '.[].name'")]
    List {
        /// Print a JSON list: `name`, `description`, `parameters`, `output` and `deniedBy`
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        setup: SetupArguments,
    },
    /// Describe one tool: what it does, its arguments, what it returns
    #[command(after_help = "Example:\n  callgate tools describe grep")]
    Describe {
        /// The tool
        name: String,
        /// Print a JSON object, as in the list
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        setup: SetupArguments,
    },
    /// Call one tool
    ///
    /// The call takes the same path as one made by a program, and is logged as a session of its own.
    #[command(after_help = "\
Examples:
  callgate tools call read '{\"path\": \"README.md\"}'
  callgate tools call glob '{\"pattern\": \"**/*.toml\"}' --json
  generate-arguments | callgate tools call grep -")]
    Call(CallArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CallArguments {
    /// The tool
    pub(crate) name: String,

    /// Its arguments, a JSON object; `-` reads them from standard input
    #[arg(value_name = "JSON", default_value = "{}")]
    pub(crate) arguments: String,

    /// Print one JSON object: `ok`, `result`, `content`, `error` and `ms`
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the session log to this new file
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) setup: SetupArguments,
}

/// Print what a model is told about writing programs: how to call tools, and their types
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  callgate sdk --lang typescript > sdk.md")]
pub(crate) struct SdkArguments {
    /// The language of the programs
    #[arg(long, value_name = "LANGUAGE", value_enum, default_value_t)]
    pub(crate) lang: ProgramLanguage,

    #[command(flatten)]
    pub(crate) setup: SetupArguments,
}

/// The languages that programs can be written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgramLanguage {
    #[default]
    Typescript,
    Python,
}

impl From<ProgramLanguage> for Language {
    fn from(language: ProgramLanguage) -> Self {
        match language {
            ProgramLanguage::Typescript => Self::TypeScript,
            ProgramLanguage::Python => Self::Python,
        }
    }
}

/// Be one MCP server in front of those that the configuration declares
///
/// Speaks the Model Context Protocol on standard input and output. Its client sees the tools of all declared servers,
/// as functions to call or as programs to write, and every call is judged by the rules of the configuration and logged.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  callgate serve --config callgate.json
  callgate serve --mode code
  callgate serve --mode code --lang python

In the configuration of an MCP client:
  { \"mcpServers\": { \"callgate\": { \"command\": \"callgate\", \"args\": [\"serve\"] } } }

Exit codes: 0 when the client is gone or after SIGTERM, 130 after Ctrl-C")]
pub(crate) struct ServeArguments {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// How the client sees the tools: as functions, as programs to write, or both
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) mode: Option<ServeMode>,

    /// The language of the programs that the client writes
    #[arg(long, value_name = "LANGUAGE", value_enum, default_value_t)]
    pub(crate) lang: ProgramLanguage,

    /// Run Python programs with your own rights, files and network
    #[arg(long)]
    pub(crate) unconfined: bool,

    /// Also serve tools that read the files of this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// How much of what goes on is said on standard error
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t)]
    pub(crate) log_level: LogLevel,
}

/// How a client sees the tools.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ServeMode {
    Native,
    Code,
    Both,
}

impl From<ServeMode> for Mode {
    fn from(mode: ServeMode) -> Self {
        match mode {
            ServeMode::Native => Self::Native,
            ServeMode::Code => Self::Code,
            ServeMode::Both => Self::Both,
        }
    }
}

/// Start every declared MCP server and say what is wrong with it, and how to mend it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  callgate check
  callgate check --json | jq -r '.[] | select(.ok | not) | .name'

Exit codes: 0 when every server works, 1 when one does not, 2 when the configuration is wrong")]
pub(crate) struct CheckArguments {
    /// Print a JSON list: `name`, `ok`, `state`, `reason`, `remedy`, `tools`, `warnings` and more
    #[arg(long)]
    pub(crate) json: bool,

    /// The configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Use the `callgate.json` of this directory from now on, as it is now
///
/// A configuration starts programs, and whoever wrote the directory wrote it. So it is used only after you have read it
/// and said so here; when it changes, you are asked again. A file named by `--config` or `$CALLGATE_CONFIG` needs no trust.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  callgate trust
  callgate trust --revoke

Exit codes: 0 when it is done, 2 when there is no file or it cannot be used")]
pub(crate) struct TrustArguments {
    /// Do not use it any more
    #[arg(long)]
    pub(crate) revoke: bool,
}

/// Show the log of a session: its calls, how they ended, and what rules said about them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  callgate log
  callgate log --list
  callgate log 20261201-150405.678-4711
  callgate log session.jsonl --json | jq -c 'select(.type == \"policy/decision\")'")]
pub(crate) struct LogArguments {
    /// A log file or the id of a session; the newest one unless given
    pub(crate) file: Option<PathBuf>,

    /// Print the events as they are, one JSON object a line; the first line is the header
    #[arg(long)]
    pub(crate) json: bool,

    /// List the sessions, the newest last
    #[arg(long, conflicts_with = "file")]
    pub(crate) list: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    /// Say what is wrong with schemas, with values, and with schemas in the short form for authors
    ///
    /// Reads one JSON object a line and answers each with one, in order; empty lines have no answer.
    #[command(after_help = SCHEMA_CHECK_HELP)]
    Check {
        /// A file with the lines; without it, and for `-`, standard input
        file: Option<PathBuf>,
        /// Also say in words what is wrong: a `message` in each violation
        #[arg(long)]
        messages: bool,
    },
    /// Show schemas, and lists of tools, as types of a language
    ///
    /// Reads one JSON object a line and answers each with one, in order; empty lines have no answer.
    #[command(after_help = SCHEMA_TYPES_HELP)]
    Types {
        /// The language of the types
        #[arg(long, value_name = "LANGUAGE", value_enum)]
        lang: TypeLanguage,
        /// A file with the lines; without it, and for `-`, standard input
        file: Option<PathBuf>,
    },
}

/// The languages that types can be shown in.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TypeLanguage {
    Typescript,
    Python,
}

const SCHEMA_CHECK_HELP: &str = "\
Lines and their answers:
  {\"schema\": …}                {\"accepted\": …, \"violations\": [{\"path\", \"kind\"}]}
  {\"schema\": …, \"value\": …}    {\"valid\": …, \"violations\": […]}, or the above if it is not accepted
  {\"mode\": …, \"spec\": …}       {\"schema\": …} or {\"violations\": […]}; mode is value or parameters
  a line that is none of these {\"error\": {\"line\", \"kind\", \"message\"}}
A violated union also tells how many branches `matched`.

Further members of a line:
  root         what paths into the value start with, `value` unless given
  object_root  true: the schema must say `type: \"object\"` at its root
  foreign      true: the full draft counts, as for schemas of MCP servers, not the enforced subset
  schema_text, value_text, spec_text
               JSON as text, where the spelling matters, in place of schema, value and spec
Members of other names are left alone.

Examples:
  echo '{\"schema\": {\"type\": \"string\", \"minLength\": 1}}' | callgate schema check --messages
  callgate schema check requests.jsonl | jq -c 'select(.valid == false)'

Exit codes: 0 when every line was answered, whatever the answers, 1 when one had an error, 2 when there is no such file";

const SCHEMA_TYPES_HELP: &str = "\
Lines and their answers:
  {\"schema\": …}                {\"text\": …}, the type of its values
  {\"tools\": […]}               {\"sdk\": …}, the declarations in the SDK; each tool is
                               {\"name\", \"description\", \"parameters\", \"output\"}
  a line that is none of these {\"error\": {\"line\", \"kind\", \"message\"}}

Further members of a line:
  foreign      true: schemas outside the enforced subset are shown as well as types can, as sessions
               show them; otherwise they are `unknown` or `Any`
  schema_text  JSON as text, where the spelling matters, in place of schema
Members of other names are left alone.

Examples:
  echo '{\"schema\": {\"type\": \"array\"}}' | callgate schema types --lang python
  callgate schema types --lang typescript tools.jsonl | jq -r .sdk > tools.d.ts

Exit codes: 0 when every line was answered, 1 when one had an error, 2 when there is no such file";

/// A number of bytes, in units of 1,024 where a letter says so.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&text[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let bytes = digits.parse().ok().and_then(|count: usize| count.checked_mul(unit));
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "give a number of bytes above 0, such as 65536, 64K, 256M or 1G".to_owned())
}

/// A positive number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    const LONGEST: u64 = i32::MAX as u64 / 1_000;
    let seconds: Option<f64> = text.parse().ok();
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.filter(|duration| !duration.is_zero() && duration.as_secs() <= LONGEST).ok_or_else(
        || format!("give a number of seconds above 0 and at most {LONGEST}, such as 10 or 0.5"),
    )
}
