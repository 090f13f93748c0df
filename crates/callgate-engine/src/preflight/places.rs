//! Byte offsets as lines and columns, cheap for offsets that mostly grow.

use callgate_core::program::Position;

/// Where the offset last asked for is.
pub(super) struct Places<'s> {
    source: &'s str,
    offset: usize,
    position: Position,
}

impl<'s> Places<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self { source, offset: 0, position: Position { line: 1, column: 1 } }
    }

    /// The place of a byte offset of the text.
    pub(super) fn at(&mut self, offset: u32) -> Position {
        let offset = self.source.floor_char_boundary(offset as usize);
        if offset < self.offset {
            self.go_back_to_line_of(offset);
        }
        for character in self.source[self.offset..offset].chars() {
            let Position { line, column } = self.position;
            self.position = match character {
                '\n' => Position { line: line.saturating_add(1), column: 1 },
                _ => Position { line, column: column.saturating_add(1) },
            };
        }
        self.offset = offset;
        self.position
    }

    fn go_back_to_line_of(&mut self, offset: usize) {
        let start = self.source[..offset].rfind('\n').map_or(0, |at| at + 1);
        let passed = self.source[start..self.offset].matches('\n').count();
        let line = self.position.line - u32::try_from(passed).unwrap_or(0);
        self.position = Position { line, column: 1 };
        self.offset = start;
    }
}
