//! `perk attach`: has a running JVM load the agent, records for a time, shows and writes the profile.

pub(crate) mod control;
mod hotspot;
mod inside;
mod library;
pub(crate) mod litter;
mod recording;
mod socket;
mod user;
mod wait;

use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use perk_control::jdk::{OLDEST_VERSION, Vm};
use perk_control::remote::{Request, attach_options, folders, socket_name};
use rustix::process::{getegid, geteuid};

use crate::ERROR;
use crate::args::AttachArgs;
use crate::jvms::{Jvm, Libc, find, inner_id, name_of_user};
use crate::run::{Analyses, Finish, Folder, targets};
use crate::talk::say;
use control::{Control, PATIENCE};
use inside::{bases, first};
use recording::Recording;
use socket::Deadline;
use user::User;
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

/// Has the JVM print its threads.
///
/// # Errors
/// It does not, in one line.
pub(crate) fn thread_dump(jvm: &Jvm, timeout: Duration) -> anyhow::Result<String> {
    hotspot::thread_dump(jvm, Deadline::after(timeout))
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
    if REFUSALS.iter().any(|begin| text.contains(begin)) {
        for (name, others) in analyses.each_left_out() {
            if let Ok(connection) = ask(&others) {
                say(format_args!("no {name} are measured: {text}"));
                return Ok((others, connection));
            }
        }
    }
    Err(refusal)
}

/// How the agent begins to say that the JVM lacks what a measurement needs.
const REFUSALS: [&str; 3] = [": the JVM refused ", ": this JVM ", ": this JDK"];

/// Fails if the JVM does not talk to this user.
pub(crate) fn may_ask(jvm: &Jvm) -> anyhow::Result<()> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let title = jvm.title();
    if uid != 0 && uid != jvm.status.uid {
        let user = name_of_user(jvm.status.uid);
        bail!(
            "{title} is of the user {user}: run perk as that user (sudo -u {user} perk …) or as root"
        );
    }
    if User::of(jvm).act(|| ()).is_err() {
        bail!(
            "{title} is of the user {}, and perk may not switch to that user: run perk as that \
             user, or as root with CAP_SETUID and CAP_SETGID",
            name_of_user(jvm.status.uid)
        );
    }
    if uid != 0 && gid != jvm.status.gid {
        let group = jvm.status.gid;
        bail!("{title} runs with the group {group}, and listens to no other: use sg or newgrp");
    }
    Ok(())
}

/// Makes the JVM load the agent, and returns the agent's socket.
pub(crate) fn load_agent(jvm: &Jvm, timeout: Duration) -> anyhow::Result<Control<'_>> {
    can_load(jvm)?;
    let deadline = Deadline::after(timeout);
    let library = library::place(jvm)?;
    let folder = first(jvm, &bases(jvm), |base| Ok(base.seen))
        .with_context(|| format!("{} has no folder for the agent's socket", jvm.title()))?;
    let uid = inner_id(&jvm.process, jvm.status.uid).unwrap_or(jvm.status.uid);
    let runtime_folder = jvm.process.variable("XDG_RUNTIME_DIR");
    let is_its_own = folders(runtime_folder.as_deref(), uid).contains(&folder);
    let socket = folder.join(socket_name(jvm.status.inner_pid));
    let socket = (!is_its_own).then(|| socket.to_string_lossy().into_owned());
    hotspot::load(jvm, &library, &attach_options(socket.as_deref()), deadline)?;
    loop {
        if let Some(control) = Control::of(jvm) {
            return Ok(control);
        }
        if !deadline.pause() {
            bail!("{} loaded the agent, which opened no control socket", jvm.title());
        }
    }
}

/// Fails if the JVM cannot load this agent.
fn can_load(jvm: &Jvm) -> anyhow::Result<()> {
    let (title, machine) = (jvm.title(), &jvm.machine);
    if machine.vm == Vm::OpenJ9 {
        bail!("{title} is an OpenJ9 JVM: perk needs HotSpot (OpenJDK's own JVM)");
    }
    if let Some(version) = machine.feature_version.filter(|&version| version < OLDEST_VERSION) {
        bail!("{title} is Java {version}: perk needs Java {OLDEST_VERSION} or later");
    }
    if machine.is_foreign {
        bail!(
            "{title} runs on another processor architecture than this perk: use a perk that was built for it"
        );
    }
    if let Some(libc) = machine.libc.filter(|&libc| libc != Libc::OWN) {
        let (its, own) = (libc.name(), Libc::OWN.name());
        bail!(
            "{title} runs on {its}, and this perk needs {own}: use an image of the program with {own}"
        );
    }
    Ok(())
}
