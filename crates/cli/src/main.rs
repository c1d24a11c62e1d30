//! `perk`, a profiler for the JVM: starts programs under its agent or attaches to them, reads, shows and converts
//! profiles. stdout is data, stderr is talk.
#![forbid(unsafe_code)]

mod answer;
mod args;
mod attach;
mod convert;
mod diff;
mod file_format;
mod fleet;
mod heap;
mod input;
mod listen;
mod man;
mod output;
mod packing;
mod progress;
mod ps;
mod remote;
mod report;
mod run;
mod selection;
mod serve;
mod store;
mod talk;
mod top;
mod view;
mod watched;

use std::env;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::ErrorKind;
use perk_attach::agent;
use perk_control::remote::Request;
use perk_render::Colour;
use signal_hook::consts::SIGXFSZ;

use args::{Color, Command};

/// The exit code after an error.
const ERROR: u8 = 2;

fn main() -> ExitCode {
    let cli = match args::help::parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    match cli.color {
        Color::Auto => Colour::Auto,
        Color::Always => Colour::Always,
        Color::Never => Colour::Never,
    }
    .set();
    // At the limit of ulimit -f a write is to fail, and not to end perk. What it starts has the usual
    // effect of the signal.
    if !run::not_ignored(&[SIGXFSZ]).is_empty() {
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    }
    match dispatch(cli.command) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            talk::say(format_args!("{}", one_line(&format!("{error:#}"))));
            ExitCode::from(ERROR)
        }
    }
}

fn dispatch(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Attach(args) => attach::attach(&args),
        Command::Ps => ps::ps(),
        Command::Top(args) => top::top(&args),
        Command::Start(args) => remote::send(&args.remote, &Request::Start(args.options)),
        Command::Stop(args) => remote::send(&args, &Request::Stop),
        Command::Dump(args) => remote::send(&args, &Request::Dump),
        Command::Reset(args) => remote::send(&args, &Request::Reset),
        Command::Status(args) => remote::send(&args, &Request::Status),
        Command::Listen(args) => listen::listen(&args),
        Command::Report(args) => report::report(&args),
        Command::Diff(args) => diff::diff(&args),
        Command::Heap(args) => heap::heap(&args),
        Command::Convert(args) => convert::convert(&args).map(|()| ExitCode::SUCCESS),
        Command::View(args) => view::view(&args).map(|()| ExitCode::SUCCESS),
        Command::Serve(args) => serve::serve(&args),
        Command::Record { arguments } => fleet::run("record", &arguments),
        Command::Regressions { arguments } => fleet::run("regressions", &arguments),
        Command::Sql { arguments } => fleet::run("sql", &arguments),
        Command::Store { arguments } => fleet::run("store", &arguments),
        Command::Formats => print(perk_formats::table().as_bytes()),
        Command::AgentPath(args) => {
            let path = match () {
                () if args.hprof => agent::hprof_folder()?,
                () if args.include => agent::include_folder()?,
                () => agent::library()?,
            };
            let mut line = path.as_os_str().as_bytes().to_vec();
            line.push(b'\n');
            print(&line)
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut args::help::command(), "perk", &mut script);
            print(&script)
        }
        Command::Man(args) => man::man(&args).map(|()| ExitCode::SUCCESS),
    }
}

fn print(data: &[u8]) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    out.write_all(data)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Help goes to stdout; of a wrong command line the first paragraph goes to stderr, as one line.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ => {
            let given: Vec<_> = env::args_os().collect();
            talk::say(format_args!("{}", one_line(&args::help::text(error, &given))));
            ExitCode::from(ERROR)
        }
    }
}

/// `text` with each line break and the blanks around it as one blank.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    perk_profile::units::printable(&lines.collect::<Vec<_>>().join(" "))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind_of = |cause: &(dyn std::error::Error + 'static)| {
        let of_json = || cause.downcast_ref::<serde_json::Error>()?.io_error_kind();
        cause.downcast_ref::<io::Error>().map(io::Error::kind).or_else(of_json)
    };
    error.chain().filter_map(kind_of).any(|kind| kind == io::ErrorKind::BrokenPipe)
}
