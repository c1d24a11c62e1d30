//! A cursor in lines of which a window is visible.

/// The line of the cursor, and the line on top of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) at: usize,
    pub(crate) top: usize,
}

impl Cursor {
    /// Moves by `by` lines, at most to the first or last of `count` lines.
    pub(crate) fn step(&mut self, by: isize, count: usize) {
        self.set(self.at.saturating_add_signed(by), count);
    }

    /// Moves to a line, at most to the last.
    pub(crate) fn set(&mut self, at: usize, count: usize) {
        self.at = at.min(count.saturating_sub(1));
    }

    /// Moves the window so that the cursor is in it.
    pub(crate) fn show(&mut self, count: usize, height: usize) {
        self.set(self.at, count);
        let height = height.max(1);
        self.top = self.top.min(self.at).max((self.at + 1).saturating_sub(height));
        self.top = self.top.min(count.saturating_sub(height));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_follows() {
        let mut cursor = Cursor::default();
        cursor.step(7, 20);
        cursor.show(20, 5);
        assert_eq!(cursor, Cursor { at: 7, top: 3 });
        cursor.step(-6, 20);
        cursor.show(20, 5);
        assert_eq!(cursor, Cursor { at: 1, top: 1 });
        cursor.step(100, 20);
        cursor.show(20, 5);
        assert_eq!(cursor, Cursor { at: 19, top: 15 });
        cursor.show(3, 5);
        assert_eq!(cursor, Cursor { at: 2, top: 0 });
        cursor.show(0, 0);
        assert_eq!(cursor, Cursor { at: 0, top: 0 });
    }
}
