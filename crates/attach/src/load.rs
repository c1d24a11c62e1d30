//! The agent in a JVM: who may ask for it, and how the JVM loads it.

use std::time::Duration;

use anyhow::{Context, bail};
use perk_control::jdk::{OLDEST_VERSION, Vm};
use perk_control::remote::{attach_options, folders, socket_name};
use rustix::process::{getegid, geteuid};

use crate::control::Control;
use crate::inside::{bases, first};
use crate::jvms::{Jvm, Libc, inner_id, name_of_user};
use crate::socket::Deadline;
use crate::user::User;
use crate::{hotspot, library};

/// Has the JVM print its threads.
///
/// # Errors
/// It does not, in one line.
pub fn thread_dump(jvm: &Jvm, timeout: Duration) -> anyhow::Result<String> {
    hotspot::thread_dump(jvm, Deadline::after(timeout))
}

/// Fails if the JVM does not talk to this user.
pub fn may_ask(jvm: &Jvm) -> anyhow::Result<()> {
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
pub fn load_agent(jvm: &Jvm, timeout: Duration) -> anyhow::Result<Control<'_>> {
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

/// How the agent begins to say that the JVM lacks what a measurement needs.
const REFUSALS: [&str; 3] = [": the JVM refused ", ": this JVM ", ": this JDK"];

/// Whether an error says that the JVM refuses what a measurement needs, such as a capability that another agent
/// has: other measurements may begin.
pub fn is_refusal_of_jvm(error: &str) -> bool {
    REFUSALS.iter().any(|begin| error.contains(begin))
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
