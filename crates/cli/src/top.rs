//! `perk top`: what a running JVM does now, in the terminal.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use perk_control::options::{CommandLine, Options, OutputFormat};
use perk_files::Access;
use perk_formats::View;
use perk_live::{End, LiveRecording};
use perk_profile::Profile;
use perk_ui::LiveSource;

use crate::args::RemoteArgs;
use crate::attach::control::{Control, PATIENCE};
use crate::attach::{load_agent, may_ask, thread_dump};
use crate::jvms::{Counters, Jvm, find};
use crate::output::{Target, write_file};
use crate::run::complete;
use crate::talk::say;

/// Shows a running JVM until the user leaves.
pub(crate) fn top(args: &RemoteArgs) -> anyhow::Result<ExitCode> {
    if !std::io::stdout().is_terminal() {
        bail!("stdout is not a terminal: perk attach records and writes a file");
    }
    let jvm = find(&args.jvm)?;
    may_ask(&jvm)?;
    let control = match Control::of(&jvm) {
        Some(control) => control,
        None => load_agent(&jvm, args.timeout)?,
    };
    control.check(args.timeout)?;
    let connection = control.watch(options().to_string(), PATIENCE)?;
    let recording = LiveRecording::start(connection.try_clone()?)?;
    let live = WatchedJvm { jvm: &jvm, timeout: args.timeout };
    let shown = perk_ui::watch(&LiveSource { recording: &recording, jvm: &live });
    // The recording ends with the connection.
    let _ = connection.shutdown(std::net::Shutdown::Both);
    match recording.end() {
        Some(End::Ended) if jvm.process.is_gone() => say(format_args!("{} has ended", jvm.title())),
        Some(End::Ended) => say(format_args!("another request ended the recording")),
        Some(End::Lost(reason)) if jvm.process.is_gone() => {
            say(format_args!("{} has ended without its last second: {reason}", jvm.title()));
        }
        Some(End::Lost(reason)) => {
            say(format_args!("the recording of {} is lost: {reason}", jvm.title()))
        }
        None => {}
    }
    shown.map(|()| ExitCode::SUCCESS)
}

/// The options of the recording: those of `perk attach` without arguments.
fn options() -> Options {
    let CommandLine { mut options, .. } = CommandLine::default();
    options.format = OutputFormat::Extended;
    CommandLine::measure_by_default(&mut options);
    complete(&mut options);
    options
}

/// The JVM, for the browser.
struct WatchedJvm<'a> {
    jvm: &'a Jvm,
    timeout: Duration,
}

impl WatchedJvm<'_> {
    /// The first name of a file in the working folder that nobody has.
    fn free_name(&self, ending: &str) -> PathBuf {
        let program = self.jvm.program.rsplit(['/', '.']).find(|part| !["jar"].contains(part));
        let stem = format!("perk-{}-{}", program.unwrap_or("java"), self.jvm.process.pid);
        let names = (1..).map(|number| match number {
            1 => format!("{stem}.{ending}"),
            number => format!("{stem}-{number}.{ending}"),
        });
        names.map(PathBuf::from).find(|name| !name.exists()).unwrap_or_default()
    }
}

impl perk_ui::Jvm for WatchedJvm<'_> {
    fn title(&self) -> String {
        format!("{} · pid {}", self.jvm.program, self.jvm.process.pid)
    }

    fn facts(&self) -> String {
        Counters::of(self.jvm).map_or(String::new(), |counters| counters.line())
    }

    fn is_running(&self) -> bool {
        !self.jvm.process.is_gone()
    }

    fn save(&self, profile: &Profile) -> anyhow::Result<String> {
        let target = Target::of_path(&self.free_name("hprof"))?;
        target.write(&View::new(profile, &perk_ui::Jvm::title(self)))?;
        Ok(target.path.display().to_string())
    }

    fn dump_threads(&self) -> anyhow::Result<String> {
        let text = thread_dump(self.jvm, self.timeout)?;
        let name = self.free_name("threads.txt");
        write_file(&name, Access::Usual, &|out| out.write_all(text.as_bytes()))?;
        Ok(name.display().to_string())
    }
}
