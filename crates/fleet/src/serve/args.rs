//! The arguments of `perk serve STORE`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

use crate::cluster::ClusterArg;
use crate::pyroscope_api::PushLimits;
use crate::values::Size;

/// Show the services of stores, profiles and heap dumps in a browser, or serve a store to clients of Pyroscope
///
/// Prints one address, which only you can use, and serves it until Ctrl-C. Of each service of a store, the page has its
/// numbers over time, the flame graph and the tables of any window, comparisons of windows, versions and labels, and the
/// history of methods. With --pyroscope-api, Grafana and other clients of Pyroscope ask a store, and profilers push to it;
/// the store is made if there is none, and there is no page.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  perk serve /var/lib/perk
  perk serve --open s3://profiles/shop
  perk serve /var/lib/perk app.hprof
  perk serve /var/lib/perk --pyroscope-api

The address ends in a token, which the browser exchanges for a cookie: keep it to yourself. docs/security.md describes who
can ask what.")]
pub(crate) struct ServeArgs {
    /// Stores, profiles, heap dumps, and folders with them
    #[arg(value_name = "STORE|FILE|FOLDER", required = true)]
    pub(super) inputs: Vec<PathBuf>,
    /// Answer Pyroscope's queries, and take pushes for Pyroscope and of OpenTelemetry's profiles: docs/store.md has the limits
    #[arg(long)]
    pub(super) pyroscope_api: bool,
    /// The port to listen on; 0 takes a free one [default: a free one; 4040 with --pyroscope-api]
    #[arg(long, value_name = "N")]
    pub(super) port: Option<u16>,
    /// Open the page in the browser
    #[arg(long)]
    pub(super) open: bool,
    /// The address to listen on; others can reach one that is not 127.0.0.1, so it needs --token-file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(super) host: IpAddr,
    /// The token of the address is in this file, which only you may read: openssl rand -hex 16 > FILE. Clients of Pyroscope
    /// send it as Authorization: Bearer TOKEN
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// Also show the source files below this folder (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(super) source: Vec<PathBuf>,
    /// The most memory for the numbers of a part of a store [default: a quarter of all, at most half of what is free]
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<Size>,
    #[command(flatten)]
    pub(super) cluster: ClusterArg,
    /// The most pushes in a second
    #[arg(long, value_name = "NUMBER", default_value_t = PushLimits::default().per_second, requires = "pyroscope_api")]
    pub(super) push_rate: u32,
    /// The most sets of labels that are pushed in an hour
    #[arg(long, value_name = "NUMBER", default_value_t = PushLimits::default().label_sets, requires = "pyroscope_api")]
    pub(super) label_sets: usize,
}
