//! The lines of the account.

/// The lines of the account.
#[derive(Debug, Default)]
pub(crate) struct AccountText(pub(super) String);

impl AccountText {
    /// Begins a part.
    pub(crate) fn title(&mut self, title: &str) {
        self.0.push_str(&format!("perk: {title}\n"));
    }

    /// Adds a number and the name of what it counts, unless the number is 0.
    pub(crate) fn number(&mut self, number: u64, what: &str) {
        if number > 0 {
            self.0.push_str(&format!("perk:   {number:>12} {what}\n"));
        }
    }

    /// Adds lines that name some of what was counted, and how many more there are.
    pub(crate) fn names<'a>(&mut self, names: impl ExactSizeIterator<Item = &'a String>) {
        const MOST: usize = 5;
        let more = names.len().saturating_sub(MOST);
        for name in names.take(MOST) {
            self.0.push_str(&format!("perk:                  {name}\n"));
        }
        if more > 0 {
            self.0.push_str(&format!("perk:                  and {more} more\n"));
        }
    }
}
