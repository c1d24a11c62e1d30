//! `perk run --jvmpi` and `--xrun`: a profiler of JVMPI runs in the JVM, and writes what it writes.

use std::path::Path;

use anyhow::{Context, bail};
use perk_control::jvmpi::Library;

use crate::args::{Methods, RunArgs};

/// Returns the agent's options; `None` if perk measures itself.
///
/// # Errors
/// An argument that would have no effect, or a library that is not there, in one line.
pub(super) fn agent_options(args: &RunArgs) -> anyhow::Result<Option<String>> {
    let name = match (&args.jvmpi, args.xrun) {
        (None, false) => {
            if args.methods.is_some() || args.instructions {
                bail!("--methods and --instructions work only with --jvmpi or --xrun");
            }
            return Ok(None);
        }
        (Some(_), true) => {
            bail!("with --jvmpi perk loads the library, with --xrun the JVM does: give one of them")
        }
        (Some(_), false) => "--jvmpi",
        (None, true) => "--xrun",
    };
    let measured = &args.measured;
    if let Some(other) = measured.agent.0.first_measurement() {
        bail!("{name} runs another profiler instead of perk's measurements: leave out {other}");
    }
    if !measured.output.is_empty() {
        bail!("{name} runs another profiler, which writes its own files: leave out -o");
    }
    let mut options = Vec::new();
    if args.methods == Some(Methods::Vm) {
        options.push("methods=vm".to_owned());
    }
    if args.instructions {
        options.push("instructions=y".to_owned());
    }
    if !measured.quiet {
        options.push("verbose=y".to_owned());
    }
    options.push(match &args.jvmpi {
        Some(text) => of_library(text)?,
        None => "jvmpi".to_owned(),
    });
    Ok(Some(options.join(",")))
}

/// Returns the option for a library. A path becomes absolute, as the command may change its folder.
fn of_library(text: &str) -> anyhow::Result<String> {
    let library = Library::parse(text)?;
    let name = match library.name.contains('/') {
        false => library.name,
        true => {
            let path = Path::new(&library.name);
            let path = path.canonicalize().with_context(|| format!("--jvmpi {}", library.name))?;
            let path = path.to_str().map(str::to_owned);
            path.filter(|it| !it.contains(['=', ','])).with_context(|| {
                format!(
                    "--jvmpi {}: the path has a character that is not possible in options",
                    library.name
                )
            })?
        }
    };
    Ok(match library.options {
        Some(options) => format!("jvmpi={name}={options}"),
        None => format!("jvmpi={name}"),
    })
}
