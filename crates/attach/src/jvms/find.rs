//! The JVM that a person means by a process id or a name.

use std::{fs, io};

use anyhow::{Context, bail};
use perk_analysis::near;
use perk_profile::secrets;
use perk_report::words::did_you_mean;

use super::{HiddenJvm, Jvm, Process, ProcessView, program};

/// The most JVMs that a message lists.
const LISTED: usize = 10;
/// The characters of a command line that a message shows.
const COMMAND_LINE: usize = 80;

/// The JVMs on this machine that can be seen, and those that are hidden; each by process id.
#[derive(Debug, Default)]
pub struct JvmList {
    /// Those that can be seen.
    pub jvms: Vec<Jvm>,
    /// Those that perk may not look into.
    pub hidden: Vec<HiddenJvm>,
}

/// Looks at all processes.
///
/// # Errors
/// `/proc` cannot be read.
pub fn visible() -> anyhow::Result<JvmList> {
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

/// The JVM with this process id, main class or jar; otherwise that whose name without its package or folder is
/// this; otherwise that whose name contains it.
///
/// # Errors
/// There is none or more than one, in one line.
pub fn find(wanted: &str) -> anyhow::Result<Jvm> {
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
    let JvmList { mut jvms, hidden } = visible()?;
    let likeness = |jvm: &Jvm| program::likeness(&jvm.program, wanted);
    let best = jvms.iter().filter_map(likeness).min();
    let names: Vec<_> =
        jvms.iter().map(|jvm| program::short_name(&jvm.program).to_owned()).collect();
    jvms.retain(|jvm| best.is_some() && likeness(jvm) == best);
    if jvms.len() > 1 {
        let mut listed: Vec<_> = jvms.iter().take(LISTED).map(in_list).collect();
        if jvms.len() > LISTED {
            listed.push("…".to_owned());
        }
        bail!(
            "{wanted}: {} JVMs have this name; give the process id, or the whole name if only one has it: {}",
            jvms.len(),
            listed.join(", ")
        );
    }
    match (jvms.pop(), hidden.iter().find(|it| it.program.contains(wanted))) {
        (Some(jvm), _) => Ok(jvm),
        (None, Some(hidden)) => bail!("{wanted}: {}", hidden.reason()),
        (None, None) => {
            let near = did_you_mean(&near::texts(wanted, names.iter().map(String::as_str)));
            bail!("{wanted}: no JVM has this name (perk ps lists them){near}")
        }
    }
}

/// The process id of a JVM, its program, and its command line without secrets.
fn in_list(jvm: &Jvm) -> String {
    let line = secrets::mask(&jvm.process.command_line().join(" "));
    let line: Vec<char> = line.chars().collect();
    // The path of the JDK is at the beginning; what distinguishes two of one program is at the end.
    let line = match line.len().checked_sub(COMMAND_LINE) {
        Some(more) if more > 0 => format!("…{}", line[more + 1..].iter().collect::<String>()),
        _ => line.iter().collect(),
    };
    format!("{} {} ({line})", jvm.process.pid, jvm.program)
}
