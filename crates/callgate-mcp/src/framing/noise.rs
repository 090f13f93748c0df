//! Lines that are no messages: counted, sampled, reported now and then.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

/// A line that is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Noise {
    pub(crate) kind: NoiseKind,
    /// The start of the line, with everything escaped that could disturb a terminal or a log.
    pub(crate) sample: String,
}

/// What a line that is no message looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NoiseKind {
    Blank,
    Text,
    NotUtf8,
    NotRpc,
    Broken,
    TooLong,
}

impl NoiseKind {
    pub(super) fn of_text(line: &[u8]) -> Self {
        if line.is_empty() {
            Self::Blank
        } else if std::str::from_utf8(line).is_err() {
            Self::NotUtf8
        } else {
            Self::Text
        }
    }
}

impl fmt::Display for NoiseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blank => "blank",
            Self::Text => "no JSON",
            Self::NotUtf8 => "no UTF-8",
            Self::NotRpc => "JSON, but no JSON-RPC",
            Self::Broken => "a broken message",
            Self::TooLong => "too long",
        })
    }
}

/// What is looked at of a line, in bytes.
pub(super) const SAMPLE_BYTES: usize = 80;

impl Noise {
    pub(super) fn new(kind: NoiseKind, line: &[u8]) -> Self {
        let start = &line[..line.len().min(SAMPLE_BYTES)];
        let mut sample: String = String::from_utf8_lossy(start).escape_debug().collect();
        if start.len() < line.len() {
            sample.push('…');
        }
        Self { kind, sample }
    }
}

/// Counts the noise of one server and says when to report it: the first at once, then at most
/// once in a while.
#[derive(Debug, Default)]
pub(crate) struct NoiseMeter {
    total: u64,
    unreported: u64,
    last_report: Option<Instant>,
}

/// How long further noise is only counted.
const QUIET: Duration = Duration::from_secs(10);

impl NoiseMeter {
    /// Counts a line; answers how many there were since the last report, if one is due.
    /// Blank lines are not worth one.
    pub(crate) fn count(&mut self, noise: &Noise) -> Option<u64> {
        self.total += 1;
        if noise.kind == NoiseKind::Blank {
            return None;
        }
        self.unreported += 1;
        if self.last_report.is_some_and(|last| last.elapsed() < QUIET) {
            return None;
        }
        self.last_report = Some(Instant::now());
        Some(std::mem::take(&mut self.unreported))
    }

    /// How many lines there were.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }
}
