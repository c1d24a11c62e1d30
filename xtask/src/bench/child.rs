//! One measured run. A separate process starts the program and waits for it, so the kernel's
//! account of its children covers only the program, and is exact.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, io};

use anyhow::{Context, Result, ensure};
use clap::Args;
use nix::sys::resource::{UsageWho, getrusage};

/// The name of the command of `xtask bench` that measures one run.
const CHILD: &str = "child";

/// The arguments of the measuring process.
#[derive(Args, Debug)]
pub(crate) struct ChildArguments {
    program: OsString,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// The variables from which a JVM takes options, which would be measured too.
const REMOVED_VARIABLES: [&str; 4] =
    ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "_JAVA_HPROF_OPTIONS"];

/// The resources that a program used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    /// The CPU time in user and system mode.
    pub(super) cpu_s: f64,
    /// The time from the program's start to its end.
    pub(super) wall_s: f64,
    /// The most memory that the program held at once.
    pub(super) peak_rss_bytes: f64,
}

impl Usage {
    /// Returns the line that the measuring process prints.
    fn to_text(self) -> String {
        format!("{} {} {}", self.cpu_s, self.wall_s, self.peak_rss_bytes)
    }

    fn from_text(text: &str) -> Option<Self> {
        let numbers: Vec<f64> = text.split_whitespace().map_while(|it| it.parse().ok()).collect();
        let &[cpu_s, wall_s, peak_rss_bytes] = numbers.as_slice() else { return None };
        Some(Self { cpu_s, wall_s, peak_rss_bytes })
    }
}

/// Runs a command in a measuring process.
pub(super) fn measure(command: &[impl AsRef<OsStr>]) -> Result<Usage> {
    let mut measuring = Command::new(env::current_exe().context("cannot find this program")?);
    measuring.args(["bench", CHILD]).args(command).stdin(Stdio::null());
    for variable in REMOVED_VARIABLES {
        measuring.env_remove(variable);
    }
    let output = measuring.output().context("cannot start the measuring process")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "a measured run failed:\n{}", stderr.trim());
    Usage::from_text(&String::from_utf8_lossy(&output.stdout))
        .context("the measuring process printed no numbers")
}

/// Runs a command as the measuring process, and prints the resources that it used.
pub(super) fn run(ChildArguments { program, arguments }: &ChildArguments) -> Result<()> {
    let start = Instant::now();
    let status = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let wall_s = start.elapsed().as_secs_f64();
    ensure!(status.success(), "{}: {status}", program.display());
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).context("getrusage")?;
    let cpu_us: i64 = [used.user_time(), used.system_time()]
        .map(|it| it.tv_sec() * 1_000_000 + it.tv_usec())
        .iter()
        .sum();
    let usage = Usage {
        cpu_s: cpu_us as f64 / 1e6,
        wall_s,
        peak_rss_bytes: used.max_rss() as f64 * 1024.0,
    };
    writeln!(io::stdout(), "{}", usage.to_text()).context("cannot write to stdout")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_survives_its_text_form() {
        let usage = Usage { cpu_s: 1.25, wall_s: 0.5, peak_rss_bytes: 4096.0 };
        assert_eq!(Usage::from_text(&usage.to_text()), Some(usage));
        assert_eq!(Usage::from_text("1 2"), None);
        assert_eq!(Usage::from_text("1 2 x"), None);
    }
}
