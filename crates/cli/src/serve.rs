//! `perk serve`: profiles, heap dumps and running JVMs in a browser.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, thread};

use anyhow::{Context, bail};
use perk_files::PrivateFolder;
use perk_web::{LiveSource, Options, Server, token_of_file};

use crate::args::ServeArgs;
use crate::talk;
use crate::watched::WatchedJvm;
use perk_attach::jvms::{Jvm, find};

/// The program that opens a page in the user's browser.
const OPENER: &str = "xdg-open";

/// Serves until Ctrl-C.
pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<()> {
    if let Some(folder) = args.source.iter().find(|folder| !folder.is_dir()) {
        bail!("--source {} is no folder", folder.display());
    }
    let token = args.token_file.as_deref().map(token_of_file).transpose()?;
    let Inputs { files, jvms, places } = inputs(args)?;
    let begin = |jvm| WatchedJvm::begin(jvm, args.timeout, &args.agent).map(Arc::new);
    let watched = jvms.into_iter().map(begin).collect::<anyhow::Result<Vec<_>>>()?;
    let source = |(it, place): (&Arc<WatchedJvm>, usize)| LiveSource {
        recording: Arc::clone(&it.recording),
        jvm: Arc::clone(it) as Arc<dyn perk_live::Jvm>,
        place,
    };
    let options = Options {
        inputs: files,
        jvms: watched.iter().zip(places).map(source).collect(),
        host: args.host,
        port: args.port,
        token,
        source_folders: args.source.clone(),
        read: perk_open::Options {
            app: args.agent.0.options.app.clone(),
            ..perk_open::Options::default()
        },
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
    watched.iter().for_each(announce);
    let ended = server.run();
    drop(page);
    for jvm in &watched {
        if !jvm.stop() {
            let title = jvm.jvm.title();
            talk::say(format_args!("the recording of {title} ends when the JVM answers again"));
        }
    }
    ended
}

/// What is served.
#[derive(Default)]
struct Inputs {
    /// The files and folders.
    files: Vec<PathBuf>,
    jvms: Vec<Jvm>,
    /// How many files and folders are before each JVM.
    places: Vec<usize>,
}

/// The inputs among the arguments. What perk can read is a file, whatever JVMs have that name.
fn inputs(args: &ServeArgs) -> anyhow::Result<Inputs> {
    let Inputs { mut files, mut jvms, mut places } = Inputs::default();
    for input in &args.inputs {
        let name = input.to_str().filter(|_| !perk_open::is_stream(input));
        let fault = match fs::metadata(input) {
            Ok(facts) if facts.is_file() => perk_open::content(input).err(),
            Ok(_) => None,
            Err(error) => Some(anyhow::Error::from(error)),
        };
        let (Some(name), Some(fault)) = (name, fault) else {
            files.push(input.clone());
            continue;
        };
        let is_number = name.parse::<u32>().is_ok();
        match find(name) {
            Ok(jvm) => {
                jvms.push(jvm);
                places.push(files.len());
            }
            Err(error) if is_number && !input.exists() => return Err(error),
            // The name of a JVM has no slash.
            Err(_) if input.exists() || name.contains('/') => files.push(input.clone()),
            Err(error) => {
                let what = format!("cannot read {}: {fault:#}", perk_open::display_name(input));
                bail!("{what}; {error:#}");
            }
        }
    }
    let mut names = args.agent.0.names().filter(|name| *name != "app");
    if let Some(name) = names.next().filter(|_| jvms.is_empty()) {
        bail!("--{name} is an option of a recording, and no input is a running JVM");
    }
    Ok(Inputs { files, jvms, places })
}

/// Says that a JVM is recorded, and later how its recording has ended.
fn announce(jvm: &Arc<WatchedJvm>) {
    talk::say(format_args!("recording {} until Ctrl-C", jvm.jvm.title()));
    let jvm = Arc::clone(jvm);
    thread::spawn(move || {
        while jvm.recording.wait_for_end(Duration::from_secs(3600)).is_none() {}
        if let Some(line) = jvm.farewell() {
            talk::say(format_args!("{line}; what was recorded is served until Ctrl-C"));
        }
    });
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
