//! HotSpot's attach protocol: has a running JVM load a library.
//!
//! A JVM makes its socket `/tmp/.java_pidN` at the first request: by a file
//! `.attach_pidN` in its working folder or in `/tmp`, and SIGQUIT. N is its process id in its own
//! namespace. The file has to belong to the JVM's user or to root, and so has whoever connects. A
//! request consists of strings that end in NUL: the version of the protocol, the command, and three
//! arguments. The answer is a line with a number and a text, up to the end of the stream.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::fs::StatVfsMountFlags;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use signal_hook::consts::SIGQUIT;

use crate::inside::JvmFolder;
use crate::jvms::Jvm;
use crate::socket::{self, Deadline, TimedStream};
use crate::user::User;

/// The folder of the JVM's socket, whatever `java.io.tmpdir` is.
const FOLDER: &str = "/tmp";
/// The longest argument.
const LONGEST_ARGUMENT: usize = 1024;
/// The longest answer that is read: a thread dump of 100,000 threads.
const LONGEST_ANSWER: u64 = 256 << 20;
/// The thread that a JVM starts last. Some versions crash if a library is loaded before.
const LAST_THREAD: &str = "VM Periodic Tas";
/// What a JVM that is starting answers.
const STARTING: &str = "only permitted in the live phase";
/// The age at which a JVM counts as started without that thread.
const STARTED_AFTER: Duration = Duration::from_secs(5);
/// The time for another tool to get the socket that it requested; after this time the tool counts as gone.
const RIVALS_TIME: Duration = Duration::from_secs(1);

/// Makes the JVM load the library at `path`, with these options.
///
/// # Errors
/// The JVM cannot be reached, does not answer in time or refuses, in one line.
pub(crate) fn load(
    jvm: &Jvm,
    path: &Path,
    options: &str,
    deadline: Deadline,
) -> anyhow::Result<()> {
    let path = path.to_str().context("the library's path is not UTF-8")?;
    if path.len() > LONGEST_ARGUMENT || options.len() > LONGEST_ARGUMENT {
        bail!("{path}: the JVM takes no path of more than {LONGEST_ARGUMENT} bytes");
    }
    let folder = JvmFolder::open(jvm, Path::new(FOLDER));
    let folder = folder.with_context(|| format!("cannot reach {FOLDER} of {}", jvm.title()))?;
    loop {
        let answer = ask(jvm, &folder, ["load", path, "true", options], deadline)?;
        if answer.contains(STARTING) && deadline.pause() {
            continue;
        }
        return outcome(&answer).with_context(|| format!("{} did not load the agent", jvm.title()));
    }
}

/// Has the JVM print its threads, with the locks that they hold.
///
/// # Errors
/// As those of [`load`].
pub(crate) fn thread_dump(jvm: &Jvm, deadline: Deadline) -> anyhow::Result<String> {
    let folder = JvmFolder::open(jvm, Path::new(FOLDER));
    let folder = folder.with_context(|| format!("cannot reach {FOLDER} of {}", jvm.title()))?;
    let answer = ask(jvm, &folder, ["threaddump", "-l", "", ""], deadline)?;
    match answer.split_once('\n') {
        Some(("0", text)) => Ok(text.to_owned()),
        _ => bail!("{} gave no thread dump: {}", jvm.title(), answer.trim_end()),
    }
}

/// Sends a command with its arguments. Returns the JVM's answer.
fn ask(
    jvm: &Jvm,
    folder: &JvmFolder,
    words: [&str; 4],
    deadline: Deadline,
) -> anyhow::Result<String> {
    let stream = connect(jvm, folder, deadline)?;
    let request = [&["1"], &words[..]].concat().join("\0") + "\0";
    let mut stream = TimedStream { stream, deadline };
    let mut answer = Vec::new();
    let mut talk = || {
        stream.write_all(request.as_bytes())?;
        (&mut stream).take(LONGEST_ANSWER).read_to_end(&mut answer)
    };
    match talk() {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::TimedOut => bail!("{}", silence(jvm)),
        // It closes the connection of a user that it does not trust without an answer.
        Err(error)
            if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {}
        Err(error) => {
            return Err(error).with_context(|| format!("no answer from {}", jvm.title()));
        }
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Connects to the JVM's socket, for which it is asked if it has none.
fn connect(jvm: &Jvm, folder: &JvmFolder, deadline: Deadline) -> anyhow::Result<UnixStream> {
    let name = format!(".java_pid{}", jvm.status.inner_pid);
    let cannot = || format!("cannot attach to {}", jvm.title());
    let attempt = || socket::to(jvm, folder, &name, deadline).with_context(cannot);
    if let Some(stream) = attempt()? {
        return Ok(stream);
    }
    if jvm.has_flag("DisableAttachMechanism") == Some(true) {
        bail!(
            "{} was started with -XX:+DisableAttachMechanism: start it without this option, or with \
             -agentpath:$(perk agent-path)",
            jvm.title()
        );
    }
    if folder.is_mounted(StatVfsMountFlags::RDONLY) {
        bail!(
            "{FOLDER} of {} is read-only, so it cannot make the socket for attaching there: \
             mount a writable {FOLDER}, or start it with -agentpath:$(perk agent-path)",
            jvm.title()
        );
    }
    wait_for_start(jvm, deadline)?;
    let mut trigger = Trigger::new(jvm, folder).with_context(cannot)?;
    // Another tool may have asked for the socket. SIGQUIT prints the JVM's threads once it is there.
    let mut ask_at = Instant::now() + if trigger.is_new { Duration::ZERO } else { RIVALS_TIME };
    let mut is_asked = false;
    loop {
        if let Some(stream) = attempt()? {
            return Ok(stream);
        }
        if jvm.process.is_gone() {
            bail!("{} has ended", jvm.title());
        }
        if Instant::now() >= ask_at {
            // The other tool may have removed the file before the JVM looked for it.
            if trigger.renew(jvm, folder).with_context(cannot)? || !is_asked {
                quit(jvm).with_context(cannot)?;
            }
            is_asked = true;
            ask_at = Instant::now() + RIVALS_TIME;
        }
        if !deadline.pause() {
            bail!("{}", silence(jvm));
        }
    }
}

/// Waits until SIGQUIT does not end the JVM, and until it can load a library.
fn wait_for_start(jvm: &Jvm, deadline: Deadline) -> anyhow::Result<()> {
    let is_young = || jvm.process.age().is_some_and(|age| age < STARTED_AFTER);
    loop {
        let status = jvm.process.status();
        let status = status.with_context(|| format!("{} has ended", jvm.title()))?;
        let handles = status.catches(SIGQUIT);
        if handles && (!is_young() || jvm.process.has_thread(LAST_THREAD)) {
            return Ok(());
        }
        if !handles && !is_young() {
            bail!(
                "{} has lost its socket {FOLDER}/.java_pid{}, and does not handle SIGQUIT, which \
                 asks for one (-Xrs): restart it, or start it with -agentpath:$(perk agent-path)",
                jvm.title(),
                status.inner_pid
            );
        }
        if !deadline.pause() {
            bail!("{}", silence(jvm));
        }
    }
}

/// The reason for which nothing came, and what to do.
fn silence(jvm: &Jvm) -> String {
    let title = jvm.title();
    match jvm.process.status().map(|status| status.state) {
        Ok('T' | 't') => format!(
            "{title} is stopped, by SIGSTOP or a debugger: continue it (kill -CONT {})",
            jvm.process.pid
        ),
        _ => format!(
            "{title} does not answer: it may wait for a thread that reaches no safepoint, collect \
             garbage, have the attach mechanism disabled or be frozen; try again with a longer --timeout"
        ),
    }
}

/// Sends SIGQUIT to the JVM, and to no other process that may have its id by now.
fn quit(jvm: &Jvm) -> anyhow::Result<()> {
    let pid =
        i32::try_from(jvm.process.pid).ok().and_then(Pid::from_raw).context("no process id")?;
    let handle = pidfd_open(pid, PidfdFlags::empty());
    // If the process is there after the opening, the handle is that of this process.
    if jvm.process.is_gone() {
        bail!("it has ended");
    }
    // Root without CAP_KILL may not send it, but the JVM's user may.
    let sent = User::of(jvm).act(|| match handle {
        Ok(handle) => pidfd_send_signal(handle, Signal::QUIT),
        // An old kernel.
        Err(_) => kill_process(pid, Signal::QUIT),
    });
    Ok(sent??)
}

/// The file that shows the JVM the purpose of a SIGQUIT. It is removed when it is dropped.
struct Trigger {
    folder: JvmFolder,
    name: String,
    is_new: bool,
}

impl Trigger {
    fn new(jvm: &Jvm, temporary: &JvmFolder) -> anyhow::Result<Self> {
        let name = format!(".attach_pid{}", jvm.status.inner_pid);
        let mut refusals = Vec::new();
        let again = JvmFolder::open(jvm, &temporary.seen);
        for folder in [JvmFolder::working_folder(jvm), again] {
            let made = folder.and_then(|folder| {
                let made = folder.act(|| make(jvm.status.uid, &folder, &name)).flatten();
                let is_new = made.map_err(|error| {
                    io::Error::other(format!("{}: {error}", folder.seen.display()))
                })?;
                Ok(Self { folder, name: name.clone(), is_new })
            });
            match made {
                Ok(trigger) => return Ok(trigger),
                Err(error) => refusals.push(error.to_string()),
            }
        }
        bail!("no file {name} can be made: {}", refusals.join("; "))
    }

    /// Makes the file again if somebody else has removed it. Returns whether that was so.
    fn renew(&mut self, jvm: &Jvm, temporary: &JvmFolder) -> anyhow::Result<bool> {
        let made = Self::new(jvm, temporary)?;
        let is_new = made.is_new;
        if is_new {
            // The old one must not remove the file.
            self.is_new = false;
            *self = made;
        }
        Ok(is_new)
    }
}

impl Drop for Trigger {
    fn drop(&mut self) {
        if self.is_new {
            let _ = self.folder.act(|| fs::remove_file(self.folder.path(&self.name)));
        }
    }
}

/// Makes the file. `false` if there is one of another attempt.
fn make(user: u32, folder: &JvmFolder, name: &str) -> io::Result<bool> {
    let path = folder.path(name);
    let made = File::options().write(true).create_new(true).mode(0o600).open(&path);
    let is_new = match made {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    // Some file systems decide about the owner themselves.
    let uid = fs::symlink_metadata(&path)?.uid();
    if uid == user || uid == 0 {
        return Ok(is_new);
    }
    if is_new {
        fs::remove_file(&path)?;
    }
    Err(io::Error::other("the file would belong to another user"))
}

/// What the JVM says about the loading.
fn outcome(answer: &str) -> anyhow::Result<()> {
    let (code, text) = answer.split_once('\n').unwrap_or((answer, ""));
    if code.is_empty() {
        bail!("it closed the connection without an answer");
    }
    if text.contains("agent loading is not enabled") {
        bail!(
            "it was started with -XX:-EnableDynamicAgentLoading: start it without this option, or with \
             -agentpath:$(perk agent-path)"
        );
    }
    let returned = text.lines().find_map(|line| line.trim().strip_prefix("return code: "));
    match (code.trim(), returned.map(str::trim)) {
        ("0", Some("0")) => Ok(()),
        ("0", Some(code)) => {
            bail!("the agent refused with {code}; the JVM's stderr has the reason")
        }
        (code, _) => {
            let lines: Vec<_> =
                text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            match lines.is_empty() {
                true => bail!("it gave the error {code}"),
                false => bail!("{}", lines.join(" ")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_distinguished() {
        assert!(outcome("0\nreturn code: 0\n").is_ok());
        for (answer, message) in [
            ("", "it closed the connection without an answer"),
            ("0\nreturn code: -1\n", "the agent refused with -1; the JVM's stderr has the reason"),
            ("0\n/x.so was not loaded.\n/x.so: bad\n", "/x.so was not loaded. /x.so: bad"),
            ("101\n", "it gave the error 101"),
            (
                "-1\nDynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to \
                 launch target VM.\n",
                "it was started with -XX:-EnableDynamicAgentLoading: start it without this \
                 option, or with -agentpath:$(perk agent-path)",
            ),
        ] {
            assert_eq!(outcome(answer).unwrap_err().to_string(), message);
        }
    }
}
