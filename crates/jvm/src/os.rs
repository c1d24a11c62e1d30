//! Requests to the operating system: clocks, threads, memory, signals, files. Another system is one more folder
//! with the same functions.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use self::linux::*;
