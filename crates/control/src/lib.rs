//! The definitions that the agent and the tools share: the agent's options, the texts of its
//! errors, the commands that it takes over sockets, and the detection of the JVM that a `java`
//! command starts.
//!
//! The agent links this crate, so it has few dependencies and does no work of its own: it converts
//! strings into values and paths into facts.

#![forbid(unsafe_code)]

pub mod commands;
pub mod intrinsics;
pub mod jdk;
pub mod jvmpi;
pub mod messages;
pub mod options;
pub mod remote;

pub use commands::Command;
pub use jdk::{JavaHome, JdkError, Vm};
pub use messages::{DumpPart, FatalError};
pub use options::{
    AgentAction, Classes, Clock, Cpu, OptionError, Options, Output, OutputFormat, TimesForm,
    TimingMethod, options_markdown, resolve_file_name, usage,
};
