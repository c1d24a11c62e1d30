//! What the agent and the tools must agree on: the agent's options, the texts of its errors, the
//! commands that it takes over a socket, and what kind of JVM a `java` command starts.
//!
//! The agent links this crate, so it depends on next to nothing and does no work of its own: it
//! turns strings into values and paths into facts.

#![forbid(unsafe_code)]

pub mod commands;
pub mod jdk;
pub mod messages;
pub mod options;

pub use commands::Command;
pub use jdk::{JavaHome, JdkError, Vm};
pub use messages::{DumpPart, Fatal};
pub use options::{
    Classes, Clock, Cpu, Format, OptionError, Options, Output, Parsed, TimesForm, TimingMethod,
    options_markdown, resolve_file_name, usage,
};
