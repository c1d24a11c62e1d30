//! The program `perk-fleet`, which lies beside `perk` or on `PATH`. It runs `perk record`, `perk regressions`,
//! `perk serve` of a store, `perk sql` and `perk store`.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::anyhow;

/// The name of the program.
const FLEET: &str = "perk-fleet";

/// The program, to be run.
pub(crate) fn command() -> Command {
    let own = env::current_exe().ok().and_then(|own| own.canonicalize().ok());
    let beside = own.and_then(|own| Some(own.parent()?.join(FLEET))).filter(|it| it.is_file());
    Command::new(beside.unwrap_or_else(|| PathBuf::from(FLEET)))
}

/// Why it does not run, in one line.
pub(crate) fn fault(what: &str, error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::NotFound => anyhow!(
            "{what} needs the program {FLEET}, which is not installed: make install in the sources of perk \
             installs both"
        ),
        _ => anyhow!(error).context(format!("cannot run {FLEET}")),
    }
}

/// Becomes `perk-fleet` with a command and its arguments.
///
/// # Errors
/// It is not installed, or cannot be run, in one line.
pub(crate) fn run(name: &str, arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    Err(fault(&format!("perk {name}"), command().arg(name).args(arguments).exec()))
}
