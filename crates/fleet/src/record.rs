//! `perk record`: records all JVMs of a machine, all the time, and delivers the files.
//!
//! A thread looks for JVMs (`jvms.rs`). Each JVM that is recorded has a thread (`recorded.rs`): it has the agent
//! begin, and takes the files that the agent finishes (`parts.rs`, `files.rs`). Each file gets its labels (`identity.rs`) and
//! the form in which each place has it (`packages.rs`): that of a file (`profile_file.rs`), or of requests
//! (`pyroscope.rs`, `otlp.rs`). It waits in the queue of each place, whose thread delivers it (`deliver.rs`).

mod args;
mod cost;
mod deliver;
mod files;
mod identity;
mod jvms;
mod machine;
mod metrics;
mod otlp;
mod packages;
mod parts;
mod processors;
mod profile_file;
mod pyroscope;
mod recorded;
mod settings;
mod state;
mod triggers;

use std::process::ExitCode;

pub(crate) use args::RecordArgs;
use settings::Settings;
use state::Recorder;

/// Records until a signal ends it.
///
/// # Errors
/// The options, in one line; or another perk records here.
pub(crate) fn record(args: &RecordArgs) -> anyhow::Result<ExitCode> {
    let settings = Settings::of(args)?;
    let shared = Recorder::new(settings, args.clone())?;
    jvms::follow(&shared)
}
