//! What schedulers and executors have in common.

use std::net::IpAddr;

/// The most bytes of a message, such as a plan with the names of all files that it reads.
pub(super) const MOST_MESSAGE_BYTES: u32 = 256 << 20;

/// A host as addresses have it.
pub(super) fn host_text(host: IpAddr) -> String {
    match host {
        IpAddr::V4(host) => host.to_string(),
        IpAddr::V6(host) => format!("[{host}]"),
    }
}
