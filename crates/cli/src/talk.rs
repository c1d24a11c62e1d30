//! What perk says on stderr. Nobody may be listening: that is no error.

use std::fmt::Arguments;
use std::io::{Write, stderr};

/// Says a line that is meant for a person: `perk: …`.
pub(crate) fn say(line: Arguments<'_>) {
    print(format_args!("perk: {line}\n"));
}

/// Prints on stderr as it is.
pub(crate) fn print(text: Arguments<'_>) {
    // One write, so that lines do not mix with those of the profiled program.
    let _ = stderr().lock().write_all(text.to_string().as_bytes());
}
