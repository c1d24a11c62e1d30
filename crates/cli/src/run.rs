//! `perk run`: starts a program with the agent, waits for its end, shows and writes the profile.

mod command;
mod outcome;
mod signals;

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use anyhow::{Context, bail};

use crate::args::{Cpu, RunArgs};
use crate::form::Form;
use crate::output::{self, Target};
use crate::report::View;
use crate::show::Screen;
use crate::talk::say;
use crate::{ERROR, accounting, agent, talk};
use command::{Plan, Route};
use outcome::{Folder, Jvm, Outcome, short_name};
use signals::Ended;

/// Runs the command under the agent. The exit code is the command's own.
pub(crate) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let targets = targets(&args.output)?;
    let plan = Plan::new(&args.command)?;
    let library = agent::library()?;
    let folder = Folder::new()?;
    if plan.route() == Route::Environment {
        say(format_args!(
            "{} is not java itself: the agent goes to every JVM it starts, by JAVA_TOOL_OPTIONS",
            plan.program()
        ));
    }
    let mut command = plan.command(&library, &agent_options(args, &folder));
    let ended =
        signals::run(&mut command).with_context(|| format!("cannot start {}", plan.program()))?;
    let outcome = folder.collect().with_context(|| {
        format!("cannot read what the agent wrote to {}", folder.path().display())
    })?;
    let mut finish = Finish { args, targets, folder: &folder, keep: false, failed: false };
    finish.report(&outcome, &ended);
    let (keep, failed) = (finish.keep, finish.failed);
    if keep {
        folder.keep();
    }
    Ok(exit_code(ended.status, failed))
}

/// The command's own exit code, as a shell gives it; perk's where only perk failed.
fn exit_code(status: ExitStatus, failed: bool) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    match code.and_then(|code| u8::try_from(code).ok()) {
        Some(0) if failed => ExitCode::from(ERROR),
        Some(code) => ExitCode::from(code),
        None => ExitCode::from(ERROR),
    }
}

/// The files asked for; fails if one of them could not be written.
fn targets(paths: &[PathBuf]) -> anyhow::Result<Vec<Target>> {
    if paths.is_empty() {
        output::check_folder(Path::new("."))
            .context("cannot write to the working folder (name a file with -o)")?;
    }
    let mut seen = BTreeSet::new();
    let mut targets = Vec::new();
    for path in paths {
        let target = Target::of_path(path)?;
        target.check()?;
        if !seen.insert(path) {
            bail!("{}: named twice with -o", path.display());
        }
        targets.push(target);
    }
    Ok(targets)
}

/// Everything the agent is told.
fn agent_options(args: &RunArgs, folder: &Folder) -> String {
    let cpu = match args.cpu {
        Cpu::Samples => "samples",
    };
    let thread = if args.threads { "y" } else { "n" };
    format!(
        "cpu={cpu},interval={},depth={},thread={thread},\
         cutoff=0,classes=used,format=b,verbose=n,file={}",
        args.interval,
        args.depth,
        folder.file_option()
    )
}

/// What is left to do when the command has ended.
struct Finish<'a> {
    args: &'a RunArgs,
    targets: Vec<Target>,
    folder: &'a Folder,
    /// Whether the folder holds something that is still needed.
    keep: bool,
    /// Whether a profile could not be written.
    failed: bool,
}

impl Finish<'_> {
    fn report(&mut self, outcome: &Outcome, ended: &Ended) {
        let (busy, idle): (Vec<&Jvm>, Vec<&Jvm>) =
            outcome.complete.iter().partition(|jvm| jvm.sample_count() > 0);
        let (shown, passed_over) = if busy.is_empty() { (idle, busy) } else { (busy, idle) };
        for jvm in &shown {
            self.show(jvm);
            self.write(jvm, shown.len() > 1);
        }
        for jvm in passed_over {
            say(format_args!(
                "the JVM {} ({}) used too little CPU time for a sample",
                jvm.pid,
                jvm.name()
            ));
        }
        for (pid, error) in &outcome.unreadable {
            let file = self.folder.file_of(*pid);
            say(format_args!(
                "the JVM {pid} left a profile that is kept as {}: {error:#}",
                file.display()
            ));
            (self.keep, self.failed) = (true, true);
        }
        for &pid in &outcome.incomplete {
            let why = if pid == ended.pid { ended.reason() } else { String::new() };
            say(format_args!(
                "the JVM {pid} died before its profile was complete{why}: nothing of it is left"
            ));
        }
        for &pid in &outcome.running {
            let file = self.folder.file_of(pid);
            say(format_args!(
                "the JVM {pid} is still running; its profile comes to {}",
                file.display()
            ));
            self.keep = true;
        }
        if outcome.is_empty() {
            say(format_args!("no JVM started under this command: there is no profile"));
        }
    }

    /// The table and the accounting.
    fn show(&self, jvm: &Jvm) {
        if self.args.quiet {
            return;
        }
        let screen = Screen::of_stderr();
        let view = View::new(&jvm.profile);
        let pid = format!(" (pid {})", jvm.pid);
        let program = screen.cut_end(&jvm.name(), pid.len());
        let mut text = format!("\n{}\n", screen.heading(&(program + &pid)));
        if jvm.sample_count() > 0 {
            text += &view.methods_by_self(self.args.top, &screen);
        } else {
            text += "no samples: it used too little CPU time\n";
        }
        if let Some(accounting) = &jvm.profile.accounting {
            text.push('\n');
            for line in accounting::lines(accounting) {
                text += &format!("{line}\n");
            }
        }
        talk::print(format_args!("{text}"));
    }

    /// The files; where one cannot be written, the agent's own is kept.
    fn write(&mut self, jvm: &Jvm, is_one_of_several: bool) {
        let default = || Target {
            path: PathBuf::from(format!("perk-{}-{}.txt", short_name(jvm.program()), jvm.pid)),
            form: Form::Text,
        };
        let targets = match &self.targets[..] {
            [] => vec![default()],
            targets if is_one_of_several => {
                targets.iter().map(|target| target.with_infix(&jvm.pid.to_string())).collect()
            }
            targets => targets.to_vec(),
        };
        for target in targets {
            let path = target.path.display();
            match target.write(&jvm.profile, &jvm.name()) {
                Ok(()) if self.args.quiet => {}
                Ok(()) => talk::print(format_args!("{:<9} {path}\n", "written")),
                Err(error) => {
                    say(format_args!(
                        "{error:#}; the profile is kept: perk convert {} -o {path}",
                        jvm.file.display()
                    ));
                    (self.keep, self.failed) = (true, true);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    #[track_caller]
    fn check_options(arguments: &[&str], start: &str) {
        let line = ["perk", "run"].iter().chain(arguments).chain(&["--", "java"]);
        let Command::Run(args) = Cli::parse_from(line).command else { panic!("not run") };
        let folder = Folder::new().unwrap();
        let options = agent_options(&args, &folder);
        assert!(options.starts_with(start), "{options}");
        let parsed = perk_control::options::Options::parse(&options, None);
        assert!(parsed.is_ok(), "{options}: {parsed:?}");
    }

    #[test]
    fn the_agent_is_told_everything() {
        check_options(
            &[],
            "cpu=samples,interval=10ms,depth=2048,thread=n,\
             cutoff=0,classes=used,format=b,verbose=n,file=/",
        );
        check_options(
            &["--threads", "--depth", "7", "--interval", "500us"],
            "cpu=samples,interval=500us,depth=7,thread=y,",
        );
    }

    #[test]
    fn exit_codes_are_those_of_the_program() {
        for (raw, failed, code) in [
            (0, false, 0),
            (0, true, 2),
            (3 << 8, true, 3),
            (9, false, 137),
            (143 << 8, false, 143),
        ] {
            let shown = format!("{:?}", exit_code(ExitStatus::from_raw(raw), failed));
            assert_eq!(shown, format!("{:?}", ExitCode::from(code)));
        }
    }
}
