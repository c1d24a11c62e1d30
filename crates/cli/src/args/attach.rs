//! The arguments of the commands for running JVMs.

use std::time::Duration;

use clap::Args;

use super::MeasurementArgs;
use super::measured::hidden_from_start;
use super::values::time;

/// Profile a program that is running
///
/// Has the JVM load perk's agent, records for a time, shows the top methods on stderr and writes the
/// profile. The program goes on, and nothing of perk runs in it then. Ctrl-C ends the recording early;
/// so does the end of the program.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk attach 4711
  perk attach Main --duration 30s
  perk attach app.jar --duration 1m -o app.html -o app.hprof
  perk attach Main --cpu samples --wall --alloc --lock --duration 30s -o app.pb.gz
  perk attach Main --cpu times --include 'com.acme.*' --duration 30s

--cpu times counts every call of the methods that --include names, from the next call on. Their classes get
probes for the recording, and lose them at its end.

A NAME is a main class or a jar, with or without its package or folder, or a part of that. perk ps lists
the JVMs. perk has to run as the JVM's user, or as root. A JVM in a container is attached to from within
the container or from its host, as root. A JVM since 21 prints a warning when it loads the agent; start it
with -XX:+EnableDynamicAgentLoading to have none.")]
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

/// Begin a recording in a running JVM, or go on with one that is paused
///
/// The recording goes on until perk stop, and the JVM's agent writes its file. perk attach does all of
/// this, and shows the result.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk start 4711 cpu=samples,file=/tmp/app.hprof
  perk stop 4711
  perk start Main")]
pub(crate) struct StartArgs {
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// The options of the agent, as on the command line of a JVM; the path of a file is the JVM's
    /// [default: go on with the recording that is paused]
    #[arg(value_name = "OPTIONS")]
    pub(crate) options: Option<String>,
}

/// The JVM that a command is for.
#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    /// The JVM: its process id, or the name of its program
    #[arg(value_name = "PID|NAME")]
    pub(crate) jvm: String,
    /// Give up if the JVM has not loaded the agent, or given its status, after this time
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10s")]
    pub(crate) timeout: Duration,
}
