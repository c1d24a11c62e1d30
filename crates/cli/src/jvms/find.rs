//! The JVM that a person means by a process id or a name.

use std::{fs, io};

use anyhow::{Context, bail};

use super::{HiddenJvm, Jvm, Process, ProcessView, program};

/// The most JVMs that a message lists.
const LISTED: usize = 10;

/// The JVMs on this machine that can be seen, and those that are hidden; each by process id.
#[derive(Debug, Default)]
pub(crate) struct JvmList {
    pub(crate) jvms: Vec<Jvm>,
    pub(crate) hidden: Vec<HiddenJvm>,
}

/// Looks at all processes.
///
/// # Errors
/// `/proc` cannot be read.
pub(crate) fn visible() -> anyhow::Result<JvmList> {
    let entries = fs::read_dir("/proc").context("cannot read /proc")?.flatten();
    let mut pids: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    let mut visible = JvmList::default();
    for pid in pids {
        let Ok(Some(process)) = Process::open(pid) else { continue };
        match ProcessView::of(process) {
            Ok(ProcessView::Jvm(jvm)) => visible.jvms.push(jvm),
            Ok(ProcessView::Hidden(hidden)) => visible.hidden.push(hidden),
            Ok(ProcessView::Other) | Err(_) => {}
        }
    }
    Ok(visible)
}

/// The JVM with this process id, main class or jar, or with a name that contains this.
///
/// # Errors
/// There is none or more than one, in one line.
pub(crate) fn find(wanted: &str) -> anyhow::Result<Jvm> {
    match wanted.parse() {
        Ok(pid) => of_pid(pid),
        Err(_) => of_name(wanted),
    }
}

fn of_pid(pid: u32) -> anyhow::Result<Jvm> {
    let no_process = || format!("there is no process {pid}");
    let process =
        Process::open(pid).with_context(|| format!("cannot look at the process {pid}"))?;
    if process.as_ref().is_some_and(Process::is_gone) {
        bail!("the process {pid} has ended");
    }
    let seen = process.map(ProcessView::of).transpose().unwrap_or_else(|_: io::Error| None);
    match seen.with_context(no_process)? {
        ProcessView::Jvm(jvm) => Ok(jvm),
        ProcessView::Hidden(hidden) => bail!("{}", hidden.reason()),
        ProcessView::Other => {
            bail!("the process {pid} is no JVM, or perk cannot see it (perk ps lists the JVMs)")
        }
    }
}

fn of_name(wanted: &str) -> anyhow::Result<Jvm> {
    let JvmList { jvms, hidden } = visible()?;
    let (named, others): (Vec<_>, Vec<_>) =
        jvms.into_iter().partition(|jvm| program::is_named(&jvm.program, wanted));
    let mut found = match named.is_empty() {
        true => others.into_iter().filter(|jvm| jvm.program.contains(wanted)).collect(),
        false => named,
    };
    match (found.pop(), found.len()) {
        (Some(jvm), 0) => Ok(jvm),
        (Some(last), _) => {
            found.push(last);
            let listed = found.iter().take(LISTED);
            let mut names: Vec<_> =
                listed.map(|jvm| format!("{} {}", jvm.process.pid, jvm.program)).collect();
            if found.len() > LISTED {
                names.push("…".to_owned());
            }
            bail!(
                "{wanted}: {} JVMs have this name; give the process id: {}",
                found.len(),
                names.join(", ")
            )
        }
        (None, _) => match hidden.iter().find(|it| it.program.contains(wanted)) {
            Some(hidden) => bail!("{wanted}: {}", hidden.reason()),
            None => bail!("{wanted}: no JVM has this name (perk ps lists them)"),
        },
    }
}
