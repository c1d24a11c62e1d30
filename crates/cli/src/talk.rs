//! What perk says on stderr. Nobody may be listening: that is no error.

use std::fmt::Arguments;
use std::io::{Write, stderr};

use perk_profile::units::printable;

/// Says a line that is meant for a person: `perk: …`. What could harm a terminal, as it may stand in
/// the name of a file, is escaped.
pub(crate) fn say(line: Arguments<'_>) {
    print(format_args!("perk: {}\n", printable(&line.to_string())));
}

/// Prints on stderr without changes.
pub(crate) fn print(text: Arguments<'_>) {
    // One write, so that lines do not mix with those of the profiled program.
    let _ = stderr().lock().write_all(text.to_string().as_bytes());
}
