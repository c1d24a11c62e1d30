//! `perk-fleet serve`: a store for clients of Pyroscope.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::bail;
use clap::Args;
use object_store::{ClientOptions, RetryConfig};
use perk_store::Store;
use perk_web::{Listener, token_of_file};

use crate::limits;
use crate::pyroscope_api::{self, Options, PushLimits};
use crate::store::args::StoreArg;
use crate::talk::say;
use crate::values::Size;

/// Serve a store to clients of Pyroscope, such as Grafana, and take what profilers push
///
/// The store is made if there is none. docs/store.md has the limits.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    store: StoreArg,
    /// Answer Pyroscope's queries, and take pushes for Pyroscope and of OpenTelemetry's profiles
    #[arg(long)]
    pyroscope_api: bool,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value_t = Ipv4Addr::LOCALHOST.into())]
    host: IpAddr,
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = 4040)]
    port: u16,
    /// A file with the token that requests must have, as Authorization: Bearer TOKEN
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The most pushes in a second
    #[arg(long, value_name = "NUMBER", default_value_t = PushLimits::default().per_second)]
    push_rate: u32,
    /// The most sets of labels that are pushed in an hour
    #[arg(long, value_name = "NUMBER", default_value_t = PushLimits::default().label_sets)]
    label_sets: usize,
    /// The most memory of a query [default: a quarter of all]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,
}

/// Serves until Ctrl-C.
///
/// # Errors
/// The store cannot be opened or made, or the address cannot be had, in one line.
pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    if !args.pyroscope_api {
        bail!("say what to serve: --pyroscope-api");
    }
    let token = args.token_file.as_deref().map(token_of_file).transpose()?;
    Listener::check(args.host, token.as_deref())?;
    let threads = available_parallelism().map_or(2, usize::from);
    let listener = Listener::bind(args.host, args.port, threads)?;
    let (client, retry) = (ClientOptions::new(), RetryConfig::default());
    let store = listener.wait_for(Store::create(&args.store.store, client, retry))?;
    let (_spill, limits) = limits::of_command(args.memory.map(|it| it.0))?;
    if !args.host.is_loopback() {
        say(format_args!(
            "others can reach {}: the network sees the token and what is sent, as there is no encryption",
            args.host
        ));
    }
    say(format_args!("{store} for clients of Pyroscope: {}", listener.url()));
    let push = PushLimits { per_second: args.push_rate, label_sets: args.label_sets };
    listener.run(pyroscope_api::router(store, limits, Options { token, push }))?;
    Ok(ExitCode::SUCCESS)
}
