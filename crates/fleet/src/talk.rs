//! What perk says on stderr, a line for each event. Nobody may be listening: that is no error.

use std::fmt::Arguments;
use std::io::{Write, stderr};
use std::time::{Duration, Instant};

use perk_profile::units::printable;

/// Says a line: `perk: …`. What could harm a terminal is escaped.
pub(crate) fn say(line: Arguments<'_>) {
    let line = format!("perk: {}\n", printable(&line.to_string()));
    let _ = stderr().lock().write_all(line.as_bytes());
}

/// The time after which more of what happens often is said.
const OFTEN: Duration = Duration::from_secs(60);

/// A count of what can happen often: it is said at once, and then once a minute.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    unsaid: u64,
    said_at: Option<Instant>,
}

impl Tally {
    /// Counts more, and returns the number that is to be said now.
    pub(crate) fn add(&mut self, more: u64) -> Option<u64> {
        self.unsaid += more;
        if self.said_at.is_some_and(|at| at.elapsed() < OFTEN) {
            return None;
        }
        self.rest()
    }

    /// The number that was not said, if there is one.
    pub(crate) fn rest(&mut self) -> Option<u64> {
        self.said_at = Some(Instant::now());
        Some(std::mem::take(&mut self.unsaid)).filter(|&it| it > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_often_is_said_at_once_and_then_rarely() {
        let mut tally = Tally::default();
        assert_eq!([1, 2, 3].map(|more| tally.add(more)), [Some(1), None, None]);
        assert_eq!([tally.rest(), tally.rest()], [Some(5), None]);
    }
}
