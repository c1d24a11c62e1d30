//! The arguments of the commands for running JVMs.

use std::time::Duration;

use clap::Args;

use super::measured::{AgentArguments, hidden_from_start};
use super::values::time;
use super::{MeasurementArgs, RECORDING};

/// Profile a running program
///
/// Makes the JVM load perk's agent, records for some time, shows where the time went on stderr and writes
/// the profile. The program then continues, and nothing of perk runs in it. Ctrl-C or the end of the
/// program ends the recording early.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk attach 4711
  perk attach Main --duration 30s
  perk attach app.jar --duration 1m -o app.html -o app.hprof
  perk attach Main --cpu samples --wall --alloc --lock --duration 30s -o app.pb.gz
  perk attach Main --cpu counts --include 'com.acme.*' --duration 30s

--cpu counts and --cpu times count every call of the methods that --include names, from the next call on. Their
classes have probes only during the recording.

A NAME is a main class or a jar, with or without its package or folder, or a part of that. perk ps lists the
JVMs. perk must run as the JVM's user, or as root. To attach to a JVM in a container, run perk within the
container, or on its host as root. JDK 21 and later print a warning when they load the agent; start the JVM
with -XX:+EnableDynamicAgentLoading to avoid it.")]
#[command(mut_args(hidden_from_start))]
pub(crate) struct AttachArgs {
    /// The JVM: its process id, or the name of its program
    #[arg(value_name = "PID|NAME")]
    pub(crate) jvm: String,
    /// End the recording after this time: 30s, 5m [default: at Ctrl-C, or when the program ends]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) duration: Option<Duration>,
    /// Give up if the JVM has not loaded the agent after this time
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10s")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) measured: MeasurementArgs,
}

/// Begin a recording in a running JVM, or resume a paused one
///
/// The recording continues until perk stop, and the agent in the JVM writes its file. perk attach does
/// both, and shows the result.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk start 4711 cpu=samples,file=/tmp/app.hprof
  perk stop 4711
  perk start Main")]
pub(crate) struct StartArgs {
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// The options of the agent, as on the command line of a JVM, which resolves the paths in them
    /// [default: resume the paused recording]
    #[arg(value_name = "OPTIONS")]
    pub(crate) options: Option<String>,
}

/// Show what a running JVM does now
///
/// Records as perk attach does, and shows the last 10 seconds, the last minute or all of it, newly every
/// second, with the views and keys of perk view. Nothing of perk runs in the JVM after the end.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  perk top 4711\n  perk top shop.jar\n  perk top shop.jar --only cpu"
)]
#[command(mut_args(hidden_from_start))]
pub(crate) struct TopArgs {
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    #[command(flatten, next_help_heading = RECORDING)]
    pub(crate) agent: AgentArguments,
}

/// The JVM that a command is for.
#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    /// The JVM: its process id, or the name of its program
    #[arg(value_name = "PID|NAME")]
    pub(crate) jvm: String,
    /// Give up if the JVM has not loaded the agent, or not answered, after this time
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10s")]
    pub(crate) timeout: Duration,
}
