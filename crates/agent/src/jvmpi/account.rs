//! The account of what was sent, with `verbose=y`.

use perk_jvmti_sys::jvmpi::table::CONSTANTS;

use super::{Bridge, methods, notify};
use crate::os;

/// Prints the number of events of each kind on stderr.
pub(super) fn print(bridge: &Bridge) {
    const PREFIX: &str = "JVMPI_EVENT_";
    let mut text = String::from("perk: JVMPI events sent\n");
    let mut last = 0;
    for (name, kind) in CONSTANTS.iter().flat_map(|group| group.constants) {
        let Some(name) = name.strip_prefix(PREFIX).filter(|_| *kind > last) else { continue };
        last = *kind;
        let (sent, nested) = notify::counts(*kind as i32);
        if sent > 0 {
            text.push_str(&format!("perk:   {sent:>12} {name}\n"));
        }
        if nested > 0 {
            text.push_str(&format!(
                "perk:   {nested:>12} {name} not sent: inside a handler of it\n"
            ));
        }
    }
    methods::account(bridge, &mut text);
    os::say(&text);
}
