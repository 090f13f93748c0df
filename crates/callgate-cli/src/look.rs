//! How text is dressed for whoever reads it: a terminal or not, colours or not, how wide.

use std::io;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colors {
    /// On a terminal, unless `$NO_COLOR` is set
    #[default]
    Auto,
    /// Also into files and pipes
    Always,
    /// Not at all
    Never,
}

/// How text is dressed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    /// Whether a person reads it as it comes: then long lines are cut and signs may be pretty.
    pub(crate) is_terminal: bool,
    pub(crate) has_color: bool,
    /// How many columns there are, on a terminal.
    width: Option<usize>,
}

impl Look {
    pub(crate) fn of_stdout(colors: Colors) -> Self {
        let stdout = io::stdout();
        let width = terminal_size::terminal_size_of(&stdout);
        Self::new(&stdout, width, colors)
    }

    pub(crate) fn of_stderr(colors: Colors) -> Self {
        let stderr = io::stderr();
        let width = terminal_size::terminal_size_of(&stderr);
        Self::new(&stderr, width, colors)
    }

    fn new(
        stream: &impl RawStream,
        size: Option<(terminal_size::Width, terminal_size::Height)>,
        colors: Colors,
    ) -> Self {
        let has_color = match colors {
            Colors::Auto => AutoStream::choice(stream) != ColorChoice::Never,
            Colors::Always => true,
            Colors::Never => false,
        };
        let is_terminal = stream.is_terminal();
        let width = size.map(|(width, _)| usize::from(width.0)).filter(|_| is_terminal);
        Self { is_terminal, has_color, width }
    }

    /// A terminal of that width without colours.
    #[cfg(test)]
    pub(crate) fn terminal(width: usize) -> Self {
        Self { is_terminal: true, has_color: false, width: Some(width) }
    }

    /// How many columns a line may have; none where lines are not cut.
    pub(crate) fn width(self) -> Option<usize> {
        self.width
    }

    /// The text in a style, where there are colours.
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.has_color || text.is_empty() {
            return text.to_owned();
        }
        let style = paint.style();
        format!("{style}{text}{style:#}")
    }
}

/// What a piece of text is, as far as it shows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Paint {
    Good,
    Bad,
    Warning,
    Heading,
    Quiet,
}

impl Paint {
    fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Warning => AnsiColor::Yellow.on_default().bold(),
            Self::Heading => Style::new().bold(),
            Self::Quiet => Style::new().dimmed(),
        }
    }
}
