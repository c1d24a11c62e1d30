//! The arguments of `perk serve STORE`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

use crate::values::Size;

/// Show the services of stores, profiles and heap dumps in a browser
///
/// Prints one address, which only you can use, and serves it until Ctrl-C. Of each service of a store, the page has its
/// numbers over time, the flame graph and the tables of any window, comparisons of windows, versions and labels, and the
/// history of methods.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  perk serve /var/lib/perk
  perk serve --open s3://profiles/shop
  perk serve /var/lib/perk app.hprof

The address ends in a token, which the browser exchanges for a cookie: keep it to yourself. docs/security.md describes who
can ask what.")]
pub(crate) struct ServeArgs {
    /// Stores, profiles, heap dumps, and folders with them
    #[arg(value_name = "STORE|FILE|FOLDER", required = true)]
    pub(super) inputs: Vec<PathBuf>,
    /// The port to listen on [default: any free port]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(super) port: u16,
    /// Open the page in the browser
    #[arg(long)]
    pub(super) open: bool,
    /// The address to listen on; others can reach one that is not 127.0.0.1, so it needs --token-file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(super) host: IpAddr,
    /// The token of the address is in this file, which only you may read: openssl rand -hex 16 > FILE
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// Also show the source files below this folder (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(super) source: Vec<PathBuf>,
    /// The most memory for the numbers of a part of a store [default: a quarter of all]
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<Size>,
}
