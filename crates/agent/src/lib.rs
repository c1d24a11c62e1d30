//! `libperk.so`: perk's JVMTI agent, which also answers to the name and options of HPROF.
//!
//! How a sample gets from the JVM to the file:
//! 1. [`load`] parses the options, opens the output and asks the JVM for events;
//! 2. [`callbacks`] receives the events, each through [`guard`], and tells the [`session`];
//! 3. an [`engine`] finds out which thread burned CPU time and walks its stack;
//! 4. [`resolve`] turns the frames into symbols, [`recorder`] books the sample on the profile;
//! 5. at a dump the recorder writes the profile through `perk_hprof` into [`output`]: a file, or a
//!    socket, over which a [`listener`] takes commands.
//!
//! Invariants: nothing in here ends the program but the errors HPROF ends it with, before it
//! starts; no JVM function is called while the recorder or the table of threads is locked.

mod callbacks;
mod engine;
mod exact;
mod guard;
mod heap_dump;
mod jvm;
mod listener;
mod load;
mod memory;
mod os;
mod output;
mod recorder;
mod resolve;
mod roster;
mod session;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;
