//! Linux.

pub mod checked;
mod clock;
pub mod event;
mod file;
pub mod futex;
mod library;
mod pages;
mod process;
mod signal;
mod socket;
mod stack;
mod thread;
pub mod timer;

pub use self::clock::{nano_time, process_cpu_ns, raw_ns, thread_cpu_ns, utc_offset_s};
pub use self::file::{Load, Mapping, build_of, open_in_place, release_blocks};
pub use self::library::{Binding, Library, library_of, own_library, symbol};
pub use self::pages::{
    are_resident, ask_for_huge_pages, forget, free_address, map_zeroes, map_zeroes_at, no_memory,
    page_bytes, share_arenas, space_left, unmap,
};
pub use self::process::{at_exit, say, user_id, write_to_stdout};
pub use self::signal::{SignalInfo, keeping_errno, without_signals};
pub use self::socket::{peer_user, peer_window, send_within, unsent_bytes, wait_for_peers};
pub use self::stack::Stack;
pub use self::thread::{ThreadFiles, Tid, own_tids};

/// The list of the memory that is mapped, a line each.
pub const MAPPINGS: &str = "/proc/self/maps";
/// The file with the cgroups of the process.
pub const CGROUPS: &str = "/proc/self/cgroup";
/// The file with the mounts that the process sees.
pub const MOUNTS: &str = "/proc/self/mountinfo";
/// The list of the kernel's functions.
pub const KERNEL_SYMBOLS: &str = "/proc/kallsyms";
