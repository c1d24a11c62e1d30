//! `perk attach`: has a running JVM load the agent, records for a time, shows and writes the profile.

mod wait;

use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use anyhow::{Context, bail};
use perk_attach::jvms::find;
use perk_attach::{Control, PATIENCE, Recording, is_refusal_of_jvm, litter, load_agent, may_ask};
use perk_control::remote::Request;

use crate::ERROR;
use crate::args::AttachArgs;
use crate::run::{Analyses, Finish, Folder, targets};
use crate::talk::say;
use wait::{Interrupt, RecordingEnd};

/// Records a running JVM.
pub(crate) fn attach(args: &AttachArgs) -> anyhow::Result<ExitCode> {
    let measured = &args.measured;
    let analyses = Analyses::of_running(measured)?;
    let jvm = find(&args.jvm)?;
    may_ask(&jvm)?;
    let targets = targets(&measured.output, &analyses.sketch())?;
    let local = Folder::new()?;
    let interrupt = Interrupt::new()?;
    let control = match Control::of(&jvm) {
        Some(control) => control,
        None => load_agent(&jvm, args.timeout)?,
    };
    control.check(args.timeout)?;
    let recording = Recording::new(&jvm)?;
    let file = recording.file_option()?;
    let lease = |analyses: &Analyses<'_>| {
        control.lease(analyses.agent_options(file.clone()).to_string(), PATIENCE)
    };
    let (analyses, lease) = begin(analyses, &lease)?;
    if !measured.quiet {
        let end = match args.duration {
            Some(time) => format!("for {time:?}; Ctrl-C ends it"),
            None => "until Ctrl-C".to_owned(),
        };
        say(format_args!("recording {} {end}", jvm.title()));
    }
    litter::remove(&jvm);
    let mut why = interrupt.wait(&lease, &jvm.process, args.duration)?;
    if why == RecordingEnd::Ended && control.ask(&Request::Status, args.timeout).is_ok() {
        why = RecordingEnd::Stopped;
    }
    let mut fault = None;
    if matches!(why, RecordingEnd::Time | RecordingEnd::Signal) {
        match control.ask(&Request::Stop, PATIENCE) {
            Ok(answer) => fault = answer.result.err(),
            Err(error) if !jvm.process.is_gone() => {
                let file = recording.keep();
                return Err(error).with_context(|| {
                    format!("the recording ends when the JVM answers again, in {}", file.display())
                });
            }
            Err(_) => {}
        }
    }
    if !recording.take(&local.file_of(jvm.process.pid))? {
        let title = jvm.title();
        match fault {
            Some(fault) => bail!("{title} has no profile: {fault}; no part of it is left"),
            // Its connections are closed before the kernel has ended it.
            None if why == RecordingEnd::Ended || jvm.process.is_gone() => bail!(
                "{title} ended before its profile was complete: no part of it is left (it was killed, \
                 or its own messages have the reason)"
            ),
            None => {
                bail!(
                    "the recording of {title} has no profile: the messages of the JVM have the reason"
                )
            }
        }
    }
    if recording.is_unfinished() {
        let title = jvm.title();
        say(format_args!(
            "{title} was killed: the profile is that of its last flush; its last seconds may be missing"
        ));
    }
    drop(recording);
    if !measured.quiet {
        match why {
            RecordingEnd::Ended => say(format_args!("{} has ended", jvm.title())),
            RecordingEnd::Stopped => say(format_args!("another request ended the recording")),
            RecordingEnd::Time | RecordingEnd::Signal => {}
        }
    }
    let outcome = local
        .collect()
        .with_context(|| format!("cannot read the agent's output in {}", local.path().display()))?;
    let mut finish = Finish::new(measured, analyses, targets, &local, jvm.program.clone());
    finish.report(outcome, &|_| None, "");
    let (keep, failed) = (finish.keep, finish.failed);
    if keep {
        local.keep();
    }
    Ok(if failed { ExitCode::from(ERROR) } else { ExitCode::SUCCESS })
}

/// Begins a recording, as `ask` asks the JVM for it. If the JVM refuses what one of the default measurements
/// needs, such as a capability that another agent has, the others continue.
pub(crate) fn begin<'a>(
    analyses: Analyses<'a>,
    ask: &dyn Fn(&Analyses<'_>) -> anyhow::Result<UnixStream>,
) -> anyhow::Result<(Analyses<'a>, UnixStream)> {
    let refusal = match ask(&analyses) {
        Ok(connection) => return Ok((analyses, connection)),
        Err(refusal) => refusal,
    };
    let text = format!("{refusal:#}");
    if is_refusal_of_jvm(&text) {
        for (name, others) in analyses.each_left_out() {
            if let Ok(connection) = ask(&others) {
                say(format_args!("no {name} are measured: {text}"));
                return Ok((others, connection));
            }
        }
    }
    Err(refusal)
}
