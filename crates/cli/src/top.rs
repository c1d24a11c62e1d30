//! `perk top`: what a running JVM does now, in the terminal.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use perk_files::Access;
use perk_formats::View;
use perk_live::Jvm as _;
use perk_profile::Profile;
use perk_ui::LiveSource;

use crate::args::TopArgs;
use crate::output::{Target, write_file};
use crate::talk::say;
use crate::watched::WatchedJvm;
use perk_attach::jvms::find;

/// Shows a running JVM until the user leaves.
pub(crate) fn top(args: &TopArgs) -> anyhow::Result<ExitCode> {
    if !std::io::stdout().is_terminal() {
        bail!("stdout is not a terminal: perk attach records and writes a file");
    }
    let watched = WatchedJvm::begin(find(&args.remote.jvm)?, args.remote.timeout, &args.agent)?;
    let shown = perk_ui::watch(&LiveSource { recording: &watched.recording, jvm: &watched });
    if let Some(line) = watched.farewell() {
        say(format_args!("{line}"));
    }
    shown.map(|()| ExitCode::SUCCESS)
}

impl WatchedJvm {
    /// The first name of a file in the working folder that nobody has.
    fn free_name(&self, ending: &str) -> PathBuf {
        let program = self.program().rsplit(['/', '.']).find(|part| !["jar"].contains(part));
        let stem = format!("perk-{}-{}", program.unwrap_or("java"), self.pid());
        let names = (1..).map(|number| match number {
            1 => format!("{stem}.{ending}"),
            number => format!("{stem}-{number}.{ending}"),
        });
        names.map(PathBuf::from).find(|name| !name.exists()).unwrap_or_default()
    }
}

impl perk_ui::Jvm for WatchedJvm {
    fn save(&self, profile: &Profile) -> anyhow::Result<String> {
        let target = Target::of_path(&self.free_name("hprof"))?;
        target.write(&View::new(profile, &self.title()))?;
        Ok(target.path.display().to_string())
    }

    fn dump_threads(&self) -> anyhow::Result<String> {
        let text = self.thread_dump()?;
        let name = self.free_name("threads.txt");
        write_file(&name, Access::Usual, &|out| out.write_all(text.as_bytes()))?;
        Ok(name.display().to_string())
    }
}
