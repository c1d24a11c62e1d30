//! `libperk.so`: perk's JVMTI agent, which also answers to the name and options of HPROF.
//!
//! The path of a sample from the JVM to the file:
//! 1. [`load`] parses the options, opens the output, makes the [`analyses`] and asks the JVM for
//!    what they need;
//! 2. [`events`] receives the events, each through [`guard`](perk_jvm::guard), and passes them on: starts and ends
//!    of threads to the [`session`], which keeps the registry of [`threads`], others to the
//!    analyses;
//! 3. the analysis [`polling`](analyses::polling) determines which thread burned CPU time and walks
//!    its stack;
//! 4. [`resolve`] turns the frames into symbols, the [`recorder`] finds the trace, and a [book](recorder::Book) has
//!    the count;
//! 5. at a dump the books write their sections through `perk_hprof` into [`output`]: a file, or a
//!    socket, over which a [`listener`] takes commands.
//!
//! Invariants: the agent ends the program only for the errors that HPROF ends it for, before it
//! starts; no JVM function is called while the recorder or the registry of threads is locked.

mod analyses;
mod api;
mod cgroup;
mod class_sizes;
mod common;
mod cycles;
mod entry;
mod events;
mod intrinsics;
mod launcher;
mod listener;
mod load;
mod names;
mod obey;
mod output;
mod packages;
mod pauses;
mod points;
mod process_cpu;
mod random;
mod rate;
mod recorder;
mod remote;
mod resolve;
mod roster;
mod selection;
mod series;
mod session;
mod threads;
mod worker;

use perk_jvm::memory::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
