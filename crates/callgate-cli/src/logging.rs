//! What goes on inside, on standard error, for whoever looks for the cause of something.

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;

use crate::terminal::Terminal;

/// How much is said.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum LogLevel {
    Off,
    Error,
    #[default]
    Warn,
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    fn filter(self) -> LevelFilter {
        match self {
            Self::Off => LevelFilter::OFF,
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace => LevelFilter::TRACE,
        }
    }
}

/// Has everything of this level and above said on standard error from here on.
pub(crate) fn start(level: LogLevel, terminal: Terminal) {
    let lines = tracing_subscriber::fmt()
        .with_max_level(level.filter())
        .with_writer(std::io::stderr)
        .with_ansi(terminal.error_look.has_color)
        .with_target(false)
        .compact();
    if lines.try_init().is_err() {
        terminal.warning("the log of the inside was started twice");
    }
}
