//! `perk record`, `perk sql` and `perk store`: run by the program `perk-fleet`, which lies beside `perk` or on `PATH`.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};

/// The name of the program.
const FLEET: &str = "perk-fleet";

/// Becomes `perk-fleet` with a command and its arguments.
///
/// # Errors
/// It is not installed, or cannot be run, in one line.
pub(crate) fn run(command: &str, arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    let own = env::current_exe().ok().and_then(|own| own.canonicalize().ok());
    let beside = own.and_then(|own| Some(own.parent()?.join(FLEET))).filter(|it| it.is_file());
    let program = beside.unwrap_or_else(|| PathBuf::from(FLEET));
    let error = Command::new(&program).arg(command).args(arguments).exec();
    if error.kind() == io::ErrorKind::NotFound {
        bail!(
            "perk {command} needs the program {FLEET}, which is not installed: make install in the \
             sources of perk installs both"
        );
    }
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}
