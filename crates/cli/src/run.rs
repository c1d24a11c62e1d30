//! `perk run`: starts a program with the agent, waits for its end, shows and writes the profile.

mod append;
mod command;
mod finish;
mod jvmpi;
mod options;
mod outcome;
mod signals;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, bail};
use perk_control::intrinsics::Counted;
use perk_formats::hprof::BINARY;

use crate::args::RunArgs;
use crate::talk::say;
use crate::{ERROR, agent};
use command::{Plan, Route};
pub(crate) use finish::{Finish, targets};
pub(crate) use options::Analyses;
pub(crate) use outcome::{Folder, option_of_file};
use signals::Ended;
pub(crate) use signals::not_ignored;

/// Runs the command under the agent. The exit code is the command's own.
pub(crate) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    if let Some(options) = jvmpi::agent_options(args)? {
        let plan = Plan::new(&args.command)?;
        let mut command = plan.command(&agent::library()?, &options, &[]);
        return Ok(exit_code(start(&plan, &mut command)?.status, false));
    }
    let measured = &args.measured;
    let analyses = Analyses::of(measured)?.collecting();
    let targets = match analyses.are_of_jamaica() {
        true => append::targets(&measured.output, measured.force)?,
        false => targets(&measured.output, &analyses.sketch())?,
    };
    if !analyses.have_profile()
        && let Some(target) = targets.iter().find(|target| target.form != BINARY)
    {
        bail!("{}: a heap dump is written as .hprof", target.path.display());
    }
    let plan = Plan::new(&args.command)?;
    let library = agent::library()?;
    let folder = match targets.iter().find(|target| target.form == BINARY) {
        Some(target) if analyses.dump_heap() => Folder::beside(&target.path)?,
        None if analyses.dump_heap() && targets.is_empty() => Folder::beside(Path::new("."))?,
        _ if analyses.have_fields() => Folder::new()?.packed(),
        _ if analyses.are_of_jamaica() => Folder::new()?.of_jamaica(),
        _ if analyses.are_xprof() => Folder::new()?.of_xprof(),
        _ => Folder::new()?,
    };
    let mut options = analyses.agent_options(folder.file_option());
    options.start = !args.paused;
    let counted = match () {
        () if options.extended_accesses => Some(Counted::Accesses),
        () if options.jamaica.is_some() => Some(Counted::Bytecodes),
        () => None,
    };
    let jvm_options = counted.map_or_else(Vec::new, |counted| plan.without_intrinsics(counted));
    let mut command = plan.command(&library, &options.to_string(), &jvm_options);
    let ended = start(&plan, &mut command)?;
    if analyses.are_printed() {
        return Ok(exit_code(ended.status, false));
    }
    let outcome = folder.collect().with_context(|| {
        format!("cannot read the agent's output in {}", folder.path().display())
    })?;
    let words: Vec<_> = args.command.iter().map(|it| it.to_string_lossy()).collect();
    let finish = Finish::new(measured, analyses, targets, &folder, words.join(" "));
    let mut finish = finish.of_command(args.per_process, no_jvm(&plan, ended.status));
    finish.report(outcome, &|pid| if pid == ended.pid { ended.reason() } else { String::new() });
    let (keep, failed) = (finish.keep, finish.failed);
    if keep {
        folder.keep();
    }
    Ok(exit_code(ended.status, failed))
}

/// Starts the command, and waits for its end.
fn start(plan: &Plan<'_>, command: &mut Command) -> anyhow::Result<Ended> {
    if plan.route() == Route::Environment {
        say(format_args!(
            "{} is not java itself: JAVA_TOOL_OPTIONS loads the agent into every JVM that it starts",
            plan.program()
        ));
    }
    signals::run(command).with_context(|| format!("cannot start {}", plan.program()))
}

/// What happened where no JVM has loaded the agent.
fn no_jvm(plan: &Plan<'_>, status: ExitStatus) -> String {
    match (plan.route(), status.code()) {
        (Route::Environment, _) => "no JVM started under this command".to_owned(),
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
