//! `perk serve STORE`: the services of stores in a browser.

mod args;
mod recordings;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use perk_store::StoreAddress;
use perk_web::{Options, RecordingStore, Server, token_of_file};

use crate::limits;
use crate::talk::say;
pub(crate) use args::ServeArgs;
use recordings::ServedStore;

/// Serves until Ctrl-C.
///
/// # Errors
/// A store or a file cannot be read, or the address cannot be had, in one line.
pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    if let Some(folder) = args.source.iter().find(|folder| !folder.is_dir()) {
        bail!("--source {} is no folder", folder.display());
    }
    let token = args.token_file.as_deref().map(token_of_file).transpose()?;
    let (_spill, limits) = limits::of_command(args.memory.map(|it| it.0))?;
    let (mut stores, mut inputs) = (Vec::new(), Vec::new());
    for input in &args.inputs {
        match StoreAddress::of_input(input)? {
            Some(address) => {
                let store = ServedStore::open(&address, limits.clone())?;
                stores.push(Arc::new(store) as Arc<dyn RecordingStore>);
            }
            None => inputs.push(input.clone()),
        }
    }
    let server = Server::bind(Options {
        inputs,
        stores,
        host: args.host,
        port: args.port,
        token,
        source_folders: args.source.clone(),
        ..Options::default()
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
