//! `perk run`: starts a program with the agent, waits for its end, shows and writes the profile.

mod abandoned;
mod append;
mod archives;
mod children;
mod command;
mod finish;
mod jvm_options;
mod jvmpi;
mod options;
mod outcome;
mod signals;
mod unmatched;

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Instant;

use anyhow::{Context, bail};
use perk_control::intrinsics::CodeMetric;
use perk_formats::hprof::BINARY;

use crate::args::RunArgs;
use crate::talk::say;
use crate::{ERROR, agent};
use children::Children;
use command::{Plan, Route};
use finish::JvmEnd;
pub(crate) use finish::{Finish, targets};
pub(crate) use options::Analyses;
pub(crate) use outcome::Folder;
use outcome::Outcome;
use signals::ProgramEnd;
pub(crate) use signals::not_ignored;

/// Runs the command under the agent. The exit code is the command's own.
pub(crate) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    if let Some(options) = jvmpi::agent_options(args)? {
        let plan = Plan::new(&args.command)?;
        plan.check_probes()?;
        let mut command = plan.command(&agent::library()?, &options, &[]);
        return Ok(exit_code(start(&plan, &mut command, &mut |_| ())?.status, false));
    }
    let measured = &args.measured;
    let analyses = Analyses::of(measured)?.collecting().of_part(args)?;
    let are_printed = analyses.are_printed();
    let plan = Plan::new(&args.command)?.with_children(args.children);
    if analyses.agent_options(String::new()).changes_classes() {
        plan.check_probes()?;
    }
    let targets = match analyses.are_of_jamaica() {
        true => append::targets(&measured.output, measured.agent.0.has("force"))?,
        false => targets(&measured.output, &analyses.sketch())?,
    };
    if !analyses.have_profile()
        && let Some(target) = targets.iter().find(|target| target.format != BINARY)
    {
        bail!("{}: a heap dump is written as .hprof", target.path.display());
    }
    if analyses.dump_heap()
        && let Some(target) = targets.first()
        && targets.iter().all(|target| target.format != BINARY)
    {
        bail!(
            "{}: it has no place for the heap dump of --heap all; name a .hprof file with a second -o, \
             or use --heap sites",
            target.path.display()
        );
    }
    let library = agent::library()?;
    let folder = match targets.iter().find(|target| target.format == BINARY) {
        Some(target) if analyses.dump_heap() => Folder::beside(&target.path)?,
        None if analyses.dump_heap() && targets.is_empty() => Folder::beside(Path::new("."))?,
        _ if analyses.have_fields() => Folder::new()?.packed(),
        _ if analyses.are_of_jamaica() => Folder::new()?.of_jamaica(),
        _ if analyses.are_xprof() => Folder::new()?.of_xprof(),
        _ => Folder::new()?,
    };
    let options = analyses.agent_options(folder.file_option());
    let counted = match () {
        () if options.extended_accesses => Some(CodeMetric::Accesses),
        () if options.jamaica.is_some() => Some(CodeMetric::Bytecodes),
        () => None,
    };
    let jvm_options = counted.map_or_else(Vec::new, |counted| plan.without_intrinsics(counted));
    let mut command = plan.command(&library, &options.to_string(), &jvm_options);
    let words: Vec<_> = args.command.iter().map(|it| it.to_string_lossy()).collect();
    let finish = Finish::new(measured, analyses, targets, &folder, words.join(" "));
    let mut finish = finish.of_command(args.per_process, args.delay);
    let begin = Instant::now();
    let end = args.duration.map(|duration| args.delay.unwrap_or_default() + duration);
    let mut shown = BTreeSet::new();
    let mut children = Children::default();
    let ended = start(&plan, &mut command, &mut |pid| {
        if plan.leaves_out_children() {
            children.look(pid);
        }
        if shown.is_empty() && end.is_some_and(|end| begin.elapsed() >= end) {
            shown = show_finished(&folder, &mut finish);
            if !shown.is_empty() && !measured.quiet {
                say(format_args!("the recording has ended; the program continues"));
            }
        }
    })?;
    if are_printed {
        return Ok(exit_code(ended.status, false));
    }
    let processes = folder.processes();
    if shown.is_empty() || processes.is_ok_and(|processes| processes != shown) {
        let gone = |pid| (pid == ended.pid).then(|| ended.gone());
        finish.report(collect(&folder)?, &gone, &no_jvm(&plan, ended.status));
    }
    if !measured.quiet {
        children.report();
    }
    let (keep, failed) = (finish.keep, finish.failed);
    if keep {
        folder.keep();
    }
    Ok(exit_code(ended.status, failed))
}

fn collect(folder: &Folder) -> anyhow::Result<Outcome> {
    folder
        .collect()
        .with_context(|| format!("cannot read the agent's output in {}", folder.path().display()))
}

/// Shows and writes the profiles of recordings that have ended, while the program continues. Returns their
/// processes.
fn show_finished(folder: &Folder, finish: &mut Finish<'_>) -> BTreeSet<u32> {
    let finished = folder.finished().unwrap_or_default();
    if finished.is_empty() {
        return finished;
    }
    match collect(folder) {
        Ok(outcome) => {
            // The others are shown at the end.
            let outcome = Outcome { running: Vec::new(), incomplete: Vec::new(), ..outcome };
            finish.report(outcome, &|_| None, "");
        }
        Err(error) => {
            say(format_args!("{error:#}"));
            finish.failed = true;
        }
    }
    finished
}

/// Starts the command, and waits for its end.
fn start(
    plan: &Plan<'_>,
    command: &mut Command,
    look: &mut (dyn FnMut(u32) + Send),
) -> anyhow::Result<ProgramEnd> {
    if plan.route() == Route::Environment {
        let line = match plan.is_java() {
            true => ": JAVA_TOOL_OPTIONS loads the agent into it and into every JVM that it starts",
            false => {
                " is not java itself: JAVA_TOOL_OPTIONS loads the agent into every JVM that it starts"
            }
        };
        say(format_args!("{}{line}", plan.program()));
    }
    if let Some(line) = plan.change() {
        say(format_args!("{line}"));
    }
    signals::run(command, look).with_context(|| format!("cannot start {}", plan.program()))
}

impl ProgramEnd {
    fn gone(&self) -> JvmEnd {
        JvmEnd { signal: self.status.signal(), code: self.status.code(), at: self.at }
    }
}

/// What happened where no JVM has loaded the agent.
fn no_jvm(plan: &Plan<'_>, status: ExitStatus) -> String {
    match (plan.route(), status.code()) {
        (Route::Environment, _) => {
            "no JVM started under this command, or none with its JAVA_TOOL_OPTIONS".to_owned()
        }
        (Route::Argument { .. }, Some(code)) => {
            format!("{} ended with exit code {code} before its JVM ran a program", plan.program())
        }
        (Route::Argument { .. }, None) => {
            format!("{} was killed before its JVM ran a program", plan.program())
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
