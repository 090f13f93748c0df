//! Tables with aligned columns.

use super::cell::{fit, one_line, padding, width};
use crate::look::{Look, Paint};

/// Between two columns.
const GAP: &str = "  ";
/// Columns are not made narrower than this to fit a terminal.
const NARROWEST: usize = 8;

/// On which side the cells of a column begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Align {
    #[default]
    Left,
    /// For numbers.
    Right,
}

/// A table in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: impl IntoIterator<Item = (String, Align)>) -> Self {
        let columns = columns.into_iter().map(|(name, align)| (one_line(&name), align)).collect();
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| one_line(&cell)).collect());
    }

    /// The lines of the table. On a terminal long cells are cut so that every row fits on a line.
    pub(crate) fn render(&self, look: Look) -> String {
        let widths = self.widths(look);
        let names: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let mut text = self.line(&names, &widths, |cell| look.paint(Paint::Heading, cell));
        for row in &self.rows {
            text += &self.line(row, &widths, str::to_owned);
        }
        text
    }

    fn line(&self, cells: &[String], widths: &[usize], paint: impl Fn(&str) -> String) -> String {
        let cells =
            cells.iter().zip(&self.columns).zip(widths).map(|((cell, (_, align)), columns)| {
                let cell = fit(cell, *columns);
                let padding = padding(&cell, *columns);
                match align {
                    Align::Right => format!("{padding}{}", paint(&cell)),
                    Align::Left => format!("{}{padding}", paint(&cell)),
                }
            });
        let line = cells.collect::<Vec<String>>().join(GAP);
        format!("{}\n", line.trim_end())
    }

    fn widths(&self, look: Look) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|(name, _)| width(name)).collect();
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = width(cell).max(*widest);
            }
        }
        if let Some(screen) = look.width() {
            let gaps = GAP.len() * widths.len().saturating_sub(1);
            narrow(&mut widths, screen.saturating_sub(gaps));
        }
        widths
    }
}

/// Takes from the widest columns until all fit, or none may become narrower.
fn narrow(widths: &mut [usize], room: usize) {
    let mut excess = widths.iter().sum::<usize>().saturating_sub(room);
    while excess > 0 {
        let Some(widest) = widths.iter().copied().max().filter(|widest| *widest > NARROWEST) else {
            return;
        };
        let second = widths.iter().copied().filter(|width| *width < widest).max().unwrap_or(0);
        let count = widths.iter().filter(|width| **width == widest).count();
        // All of the widest shrink to the next width together, or as far as it takes.
        let step = (widest - second.max(NARROWEST)).min(excess.div_ceil(count)).max(1);
        for width in widths.iter_mut().filter(|width| **width == widest) {
            *width -= step.min(excess);
            excess -= step.min(excess);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let columns = [("path", Align::Left), ("lines", Align::Right), ("note", Align::Left)];
        let mut table = Table::new(columns.map(|(name, align)| (name.to_owned(), align)));
        table.row(["crates/callgate-core/src/pipeline.rs", "636", "long"].map(str::to_owned));
        table.row(["größe/日本語.rs", "7", "two\nlines and \u{1b}[31m"].map(str::to_owned));
        table
    }

    #[test]
    fn a_table_in_a_file_is_aligned_and_never_cut() {
        insta::assert_snapshot!(table().render(Look::default()), @r"
        path                                  lines  note
        crates/callgate-core/src/pipeline.rs    636  long
        größe/日本語.rs                           7  two\nlines and \u{1b}[31m
        ");
    }

    #[test]
    fn a_table_on_a_terminal_is_cut_to_its_width() {
        let shown = table().render(Look::terminal(40));
        insta::assert_snapshot!(shown, @r"
        path             lines  note
        crates/callgat…    636  long
        größe/日本語.rs      7  two\nlines and …
        ");
        assert!(shown.lines().all(|line| width(line) <= 40));
    }

    #[test]
    fn columns_shrink_evenly_and_not_below_the_narrowest() {
        let shrunk = |mut widths: Vec<usize>, room| {
            narrow(&mut widths, room);
            widths
        };
        assert_eq!(shrunk(vec![10, 30, 30], 40), [10, 15, 15]);
        assert_eq!(shrunk(vec![10, 31, 30], 40), [10, 15, 15]);
        assert_eq!(shrunk(vec![3, 100, 12], 80), [3, 65, 12]);
        assert_eq!(shrunk(vec![5, 50, 50], 1), [5, 8, 8]);
        assert_eq!(shrunk(vec![], 0), [0; 0]);
    }
}
