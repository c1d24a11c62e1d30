//! `perk-fleet`: records all JVMs of a machine, all the time, keeps recordings in stores, asks them with SQL, and serves
//! them to browsers and Grafana. `perk record`, `perk regressions`, `perk serve` of a store, `perk sql` and `perk store` run
//! it. `perk-fleet scheduler` and `perk-fleet executor` make clusters of several machines.
#![forbid(unsafe_code)]

mod cluster;
mod gzip;
mod limits;
mod lock;
mod pyroscope_api;
mod pyroscope_messages;
mod record;
mod regressions;
mod series;
mod series_names;
mod serve;
mod signals;
mod sql;
mod store;
mod talk;
mod values;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use cluster::{ExecutorArgs, SchedulerArgs};
use record::RecordArgs;
use regressions::RegressionsArgs;
use serve::ServeArgs;
use sql::SqlArgs;
use store::StoreArgs;

/// The exit code after an error.
const ERROR: u8 = 2;

/// Record all JVMs of a machine, all the time, keep recordings in stores, show and compare them, and ask them with SQL
#[derive(Debug, Parser)]
#[command(name = "perk", bin_name = "perk", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Executor(ExecutorArgs),
    Record(Box<RecordArgs>),
    Regressions(RegressionsArgs),
    Scheduler(SchedulerArgs),
    Serve(ServeArgs),
    Sql(SqlArgs),
    Store(StoreArgs),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let ended = match cli.command {
        Command::Executor(args) => cluster::executor(&args),
        Command::Record(args) => record::record(&args),
        Command::Regressions(args) => regressions::regressions(&args),
        Command::Scheduler(args) => cluster::scheduler(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Sql(args) => sql::sql(&args),
        Command::Store(args) => store::store(&args),
    };
    match ended {
        Ok(code) => code,
        Err(error) => {
            talk::say(format_args!("{error:#}"));
            ExitCode::from(ERROR)
        }
    }
}

/// Help goes to stdout; of a wrong command line one line goes to stderr.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ => {
            let text = error.to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            let first: Vec<_> =
                text.lines().map(str::trim).take_while(|it| !it.is_empty()).collect();
            talk::say(format_args!("{}", first.join(" ")));
            ExitCode::from(ERROR)
        }
    }
}
