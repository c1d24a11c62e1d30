//! What perk says on stderr, a line for each event. Nobody may be listening: that is no error.

use std::fmt::Arguments;
use std::io::{Write, stderr};

use perk_profile::units::printable;

/// Says a line: `perk: …`. What could harm a terminal is escaped.
pub(crate) fn say(line: Arguments<'_>) {
    let line = format!("perk: {}\n", printable(&line.to_string()));
    let _ = stderr().lock().write_all(line.as_bytes());
}
