//! Methods that should have probes but do not.

use perk_profile::{Accounting, NAME_SEPARATOR};

/// The number of methods without probes that are named.
const MOST_NAMES: usize = 100;

/// The methods; see the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct SkippedMethods {
    count: u64,
    /// The names of the first ones, each with the reason.
    names: Vec<String>,
}

impl SkippedMethods {
    /// Adds a method, given with the reason.
    pub(crate) fn add(&mut self, method: String) {
        self.count += 1;
        if self.names.len() < MOST_NAMES {
            self.names.push(method);
        }
    }

    /// Adds them to the account.
    pub(crate) fn account(&self, accounting: &mut Accounting) {
        accounting.skipped_method_count = self.count;
        accounting.skipped_methods = self.names.join(NAME_SEPARATOR);
    }
}
