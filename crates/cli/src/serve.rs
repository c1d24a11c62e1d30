//! `perk serve`: profiles, heap dumps, running JVMs and stores in a browser.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, bail};
use perk_web::{LiveSource, Options, Server, token_of_file};

use crate::args::ServeArgs;
use crate::fleet;
use crate::store::is_store;
use crate::talk;
use crate::watched::WatchedJvm;
use perk_attach::jvms::{Jvm, find};

/// Serves until Ctrl-C. Stores, and what is served with them, are left to `perk-fleet`.
pub(crate) fn serve(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    // A store is made for the pushes, if there is none.
    if args.stores.pyroscope_api || args.inputs.iter().any(|input| is_store(input)) {
        return serve_stores(args);
    }
    if let Some((name, _)) = args.stores.given().first() {
        bail!("{name} is an option of stores, and no input is a store");
    }
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
        port: args.port.unwrap_or(0),
        token,
        source_folders: args.source.clone(),
        read: perk_open::Options {
            app: args.agent.0.options.app.clone(),
            ..perk_open::Options::default()
        },
        ..Options::default()
    };
    let server = Server::bind(options)?;
    if !args.host.is_loopback() {
        talk::say(format_args!("{}", perk_web::others_can_reach(args.host)));
    }
    let url = server.url();
    let mut out = io::stdout().lock();
    writeln!(out, "{url}").and_then(|()| out.flush()).context("cannot write to stdout")?;
    drop(out);
    let page = args.open.then(|| perk_web::open_page(&url));
    let page =
        page.and_then(|opened| opened.map_err(|error| talk::say(format_args!("{error:#}"))).ok());
    watched.iter().for_each(announce);
    let ended = server.run();
    drop(page);
    for jvm in &watched {
        if !jvm.stop() {
            let title = jvm.jvm.title();
            talk::say(format_args!("the recording of {title} ends when the JVM answers again"));
        }
    }
    ended.map(|()| ExitCode::SUCCESS)
}

/// Becomes `perk-fleet serve`.
fn serve_stores(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    no_options_of_recordings(args)?;
    let ServeArgs { inputs, port, open, host, token_file, source, stores, timeout: _, agent: _ } =
        args;
    let mut arguments: Vec<OsString> = vec![format!("--host={host}").into()];
    arguments.extend(port.map(|it| format!("--port={it}").into()));
    for (name, value) in stores.given() {
        arguments.push(value.map_or(name.into(), |it| format!("{name}={it}").into()));
    }
    if *open {
        arguments.push("--open".into());
    }
    let files = token_file.iter().map(|it| ("--token-file", it));
    for (name, value) in files.chain(source.iter().map(|it| ("--source", it))) {
        arguments.extend([name.into(), value.into()]);
    }
    arguments.push("--".into());
    arguments.extend(inputs.iter().map(Into::into));
    fleet::run("serve", &arguments)
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
    if jvms.is_empty() {
        no_options_of_recordings(args)?;
    }
    Ok(Inputs { files, jvms, places })
}

/// Fails if there are options of a recording.
fn no_options_of_recordings(args: &ServeArgs) -> anyhow::Result<()> {
    let mut names = args.agent.0.names().filter(|name| *name != "app");
    match names.next() {
        Some(name) => bail!("--{name} is an option of a recording, and no input is a running JVM"),
        None => Ok(()),
    }
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
