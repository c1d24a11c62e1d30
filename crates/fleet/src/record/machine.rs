//! This machine: its name, its boot, and the user.

use std::fs;

use rustix::process::geteuid;

/// The name of the machine.
pub(crate) fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// The name of the folder of a user without a home.
pub(super) fn user() -> String {
    format!("perk-{}", geteuid().as_raw())
}

/// The id of the system's current run, which the ids of processes are unique in; empty if it is not known.
pub(crate) fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}
