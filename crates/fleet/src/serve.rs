//! `perk serve STORE`: the services of stores in a browser, or a store for clients of Pyroscope.

mod args;
mod recordings;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::available_parallelism;

use anyhow::{Context, bail};
use object_store::{ClientOptions, RetryConfig};
use perk_store::{Store, StoreAddress};
use perk_web::{Listener, RecordingStore, Server, token_of_file};

use crate::limits;
use crate::pyroscope_api::{self, Options, PushLimits};
use crate::talk::say;
pub(crate) use args::ServeArgs;
use recordings::ServedStore;

/// The port that clients of Pyroscope use.
const PYROSCOPE_PORT: u16 = 4040;

/// Serves until Ctrl-C.
///
/// # Errors
/// A store or a file cannot be read, or the address cannot be had, in one line.
pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    match args.pyroscope_api {
        true => serve_api(args),
        false => serve_page(args),
    }
}

fn serve_page(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    if let Some(folder) = args.source.iter().find(|folder| !folder.is_dir()) {
        bail!("--source {} is no folder", folder.display());
    }
    let token = args.token_file.as_deref().map(token_of_file).transpose()?;
    let (_spill, limits) = limits::of_command(args.memory.map(|it| it.0))?;
    let (mut stores, mut inputs) = (Vec::new(), Vec::new());
    for input in &args.inputs {
        match StoreAddress::of_input(input)? {
            Some(address) => {
                let store = ServedStore::open(&address, &args.cluster, limits.clone())?;
                stores.push(Arc::new(store) as Arc<dyn RecordingStore>);
            }
            None => inputs.push(input.clone()),
        }
    }
    let server = Server::bind(perk_web::Options {
        inputs,
        stores,
        host: args.host,
        port: args.port.unwrap_or(0),
        token,
        source_folders: args.source.clone(),
        ..perk_web::Options::default()
    })?;
    if !args.host.is_loopback() {
        say(format_args!("{}", perk_web::others_can_reach(args.host)));
    }
    let url = server.url();
    let mut out = io::stdout().lock();
    writeln!(out, "{url}").and_then(|()| out.flush()).context("cannot write to stdout")?;
    drop(out);
    let page = args.open.then(|| perk_web::open_page(&url));
    let page = page.and_then(|opened| opened.map_err(|error| say(format_args!("{error:#}"))).ok());
    let ended = server.run();
    drop(page);
    ended.map(|()| ExitCode::SUCCESS)
}

/// Serves a store, which is made if there is none, to clients of Pyroscope.
fn serve_api(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let [input] = &args.inputs[..] else {
        bail!("--pyroscope-api serves one store: name it alone")
    };
    if args.open || !args.source.is_empty() {
        bail!("--open and --source are of the page, which --pyroscope-api does not serve");
    }
    let address = StoreAddress::parse(&input.to_string_lossy())?;
    let token = args.token_file.as_deref().map(token_of_file).transpose()?;
    Listener::check(args.host, token.as_deref())?;
    let threads = available_parallelism().map_or(2, usize::from);
    let listener = Listener::bind(args.host, args.port.unwrap_or(PYROSCOPE_PORT), threads)?;
    let (client, retry) = (ClientOptions::new(), RetryConfig::default());
    let (_spill, limits) = limits::of_command(args.memory.map(|it| it.0))?;
    let store = listener.wait_for(Store::create(&address, client, retry))?;
    let store = args.cluster.of_store(store, &limits)?;
    if !args.host.is_loopback() {
        say(format_args!("{}", perk_web::others_can_reach(args.host)));
    }
    say(format_args!("{store} for clients of Pyroscope: {}", listener.url()));
    let push = PushLimits { per_second: args.push_rate, label_sets: args.label_sets };
    listener.run(pyroscope_api::router(store, limits, Options { token, push }))?;
    Ok(ExitCode::SUCCESS)
}
