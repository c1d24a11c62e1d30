//! `perk serve`: profiles and heap dumps in a browser.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::{env, fs};

use anyhow::{Context, bail};
use perk_files::PrivateFolder;
use perk_web::{Options, Server, token_of_file};

use crate::args::ServeArgs;
use crate::talk;

/// The program that opens a page in the user's browser.
const OPENER: &str = "xdg-open";

/// Serves until Ctrl-C.
pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<()> {
    if let Some(folder) = args.source.iter().find(|folder| !folder.is_dir()) {
        bail!("--source {} is no folder", folder.display());
    }
    let token = args.token_file.as_deref().map(token_of_file).transpose()?;
    let options = Options {
        inputs: args.inputs.clone(),
        host: args.host,
        port: args.port,
        token,
        source_folders: args.source.clone(),
        read: perk_open::Options { app: args.app.clone(), ..perk_open::Options::default() },
    };
    let server = Server::bind(options)?;
    if !args.host.is_loopback() {
        talk::say(format_args!(
            "others can reach {}: whoever has the token sees everything that is served, and the network sees it, \
             too, as it is not encrypted",
            args.host
        ));
    }
    let url = server.url();
    let mut out = io::stdout().lock();
    writeln!(out, "{url}").and_then(|()| out.flush()).context("cannot write to stdout")?;
    drop(out);
    let page = if args.open { open(&url) } else { None };
    let ended = server.run();
    drop(page);
    ended
}

/// Opens the page in the browser. All users see the arguments of a process, so the browser gets the name of a file
/// with the address, which only its owner can read. The file goes with the folder that is returned.
fn open(url: &str) -> Option<PrivateFolder> {
    let opened = redirection(url).and_then(|(folder, file)| {
        let mut opener = Command::new(OPENER);
        opener.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok((folder, opener.spawn().with_context(|| format!("cannot start {OPENER}"))?))
    });
    match opened {
        Ok((folder, mut opener)) => {
            thread::spawn(move || opener.wait());
            Some(folder)
        }
        Err(error) => {
            talk::say(format_args!("cannot open a browser ({error:#}): open the address yourself"));
            None
        }
    }
}

/// A file that leads to the address.
fn redirection(url: &str) -> anyhow::Result<(PrivateFolder, PathBuf)> {
    let folder = PrivateFolder::create(&env::temp_dir(), "perk-serve-")?;
    let file = folder.path().join("perk.html");
    // The address has digits, letters and signs that mean nothing in HTML.
    let text = format!(
        "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>perk</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<a href=\"{url}\">perk</a>\n"
    );
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok((folder, file))
}
