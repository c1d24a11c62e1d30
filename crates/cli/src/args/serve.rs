//! The arguments of `perk serve`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::RECORDING;
use super::measured::{AgentArguments, hidden_from_start};
use super::values::{address, time};

/// Show profiles, heap dumps, running JVMs and stores in a browser
///
/// Prints one address, which only you can use, and serves it until Ctrl-C. The page has the views of perk
/// report, perk diff and perk heap, with the same numbers. A running JVM is recorded as perk attach does: the
/// page shows the last 10 seconds, the last minute or all of it, newly every second. Of a store it shows the services, at any
/// time, with comparisons and the history of methods. With --pyroscope-api, Grafana and other clients of Pyroscope ask a
/// store, and profilers push to it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  perk serve app.hprof
  perk serve --open app.jfr
  perk serve before.hprof after.hprof
  perk serve --source src/main/java app.prof
  perk serve target/profiles
  perk serve shop.jar
  perk serve /var/lib/perk
  perk serve /var/lib/perk --pyroscope-api
  perk serve --open 4711 before.hprof
  ssh -L 4000:localhost:4000 host perk serve --port 4000 app.hprof

A folder shows the files that perk can read, newest first, and those that come later. What is no such file
or folder is a running JVM, as for perk attach; its recording ends with perk. perk writes no file;
only the index of a heap dump of 1 GiB or more is kept beside it, as with perk heap.

The address ends in a token, which the browser exchanges for a cookie: keep it to yourself. docs/security.md
describes who can ask what.")]
#[command(mut_args(hidden_from_start))]
pub(crate) struct ServeArgs {
    /// Profiles, heap dumps, folders with them, stores, and running JVMs
    #[arg(value_name = "FILE|FOLDER|STORE|PID|NAME", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// The port to listen on [default: any free port; 4040 with --pyroscope-api]
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Open the page in the browser
    #[arg(long)]
    pub(crate) open: bool,
    /// The address to listen on; others can reach one that is not 127.0.0.1, so it needs --token-file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = address)]
    pub(crate) host: IpAddr,
    /// The token of the address is in this file, which only you may read: openssl rand -hex 16 > FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Also show the source files below this folder (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) source: Vec<PathBuf>,
    /// Give up if a JVM has not loaded the agent after this time
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10s")]
    pub(crate) timeout: Duration,
    #[command(flatten, next_help_heading = "Stores")]
    pub(crate) stores: StoreServeArgs,
    #[command(flatten, next_help_heading = RECORDING)]
    pub(crate) agent: AgentArguments,
}

/// What is of stores alone: perk-fleet reads the values.
#[derive(Debug, Args)]
pub(crate) struct StoreServeArgs {
    /// Answer Pyroscope's queries of a store, and take pushes for Pyroscope and of OpenTelemetry's profiles, without the page
    #[arg(long)]
    pub(crate) pyroscope_api: bool,
    /// The most memory for the numbers of a part of a store [default: a quarter of all, at most half of what is free]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Let a cluster of perk-fleet add up the numbers of stores
    #[arg(long, value_name = "ballista://HOST:PORT")]
    pub(crate) cluster: Option<String>,
    /// The most pushes in a second [default: 50]
    #[arg(long, value_name = "NUMBER", requires = "pyroscope_api")]
    pub(crate) push_rate: Option<String>,
    /// The most sets of labels that are pushed in an hour [default: 10000]
    #[arg(long, value_name = "NUMBER", requires = "pyroscope_api")]
    pub(crate) label_sets: Option<String>,
}

impl StoreServeArgs {
    /// The options that are given, with their values.
    pub(crate) fn given(&self) -> Vec<(&'static str, Option<&str>)> {
        let Self { pyroscope_api, memory, cluster, push_rate, label_sets } = self;
        let mut given: Vec<_> =
            pyroscope_api.then_some(("--pyroscope-api", None)).into_iter().collect();
        for (name, value) in [
            ("--memory", memory),
            ("--cluster", cluster),
            ("--push-rate", push_rate),
            ("--label-sets", label_sets),
        ] {
            given.extend(value.as_deref().map(|it| (name, Some(it))));
        }
        given
    }
}
