//! The running JVMs, found and described by `/proc` alone.

mod counters;
mod find;
mod machine;
mod process;
mod program;
mod user;

use std::io;

use rustix::process::geteuid;

pub use counters::Counters;
pub use find::{JvmList, find, visible};
pub use machine::{Libc, Machine};
pub use process::{Process, Status, path_in};
pub use program::WITH_VALUE;
pub use user::{inner_id, name_of_user};

/// A process that runs a JVM.
#[derive(Debug)]
pub struct Jvm {
    /// A handle of it.
    pub process: Process,
    /// Its state when it was found.
    pub status: Status,
    /// Its main class or jar.
    pub program: String,
    /// Its virtual machine.
    pub machine: Machine,
    /// What it runs in, if its namespaces are not perk's.
    pub container: Option<Container>,
}

/// Namespaces of a process that are not perk's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The begin of the id that the runtime gave it, if its control group has one.
    pub id: Option<String>,
}

/// A process, as far as it can be seen.
#[derive(Debug)]
pub enum ProcessView {
    /// It runs a JVM.
    Jvm(Jvm),
    /// It is called as a JVM is, but what it runs cannot be seen.
    Hidden(HiddenJvm),
    /// It runs no JVM.
    Other,
}

/// A process that is called `java`, and that the kernel does not let perk look into.
#[derive(Debug)]
pub struct HiddenJvm {
    /// Its id.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its main class or jar.
    pub program: String,
}

/// The name of a JVM's program: its main class, jar or module.
pub fn program_of(process: &Process) -> String {
    program::name(&process.command_line())
}

impl ProcessView {
    /// Looks at a process.
    ///
    /// # Errors
    /// The process has ended meanwhile.
    pub fn of(process: Process) -> io::Result<Self> {
        let status = process.status()?;
        let command_line = process.command_line();
        let program = program::name(&command_line);
        let maps = match process.read("maps") {
            Ok(maps) => maps,
            // A process that is ending has none.
            Err(_) if process.is_gone() => return Ok(Self::Other),
            Err(_) => {
                let command = command_line.first().map_or("", |it| it.as_str());
                let is_java = command == "java" || command.ends_with("/java");
                let (uid, gid) = (status.uid, status.gid);
                let hidden = HiddenJvm { pid: process.pid, uid, gid, program };
                return Ok(if is_java { Self::Hidden(hidden) } else { Self::Other });
            }
        };
        let Some(machine) = Machine::of(&process, &maps) else { return Ok(Self::Other) };
        let container = Container::of(&process);
        Ok(Self::Jvm(Jvm { process, status, program, machine, container }))
    }
}

impl HiddenJvm {
    /// Why it cannot be looked into, and what to do.
    pub fn reason(&self) -> String {
        let Self { pid, uid, gid, .. } = self;
        let own = geteuid().as_raw();
        if own != 0 && own != *uid {
            let user = name_of_user(*uid);
            return format!(
                "the process {pid} is of the user {user}: run perk as that user or as root"
            );
        }
        // The kernel's rule for files such as `/proc/PID/maps` and `/proc/PID/root`.
        format!(
            "the kernel does not let perk look into the process {pid}: run perk with its user {uid}, \
             its group {gid} and no fewer capabilities than it has, or as root with CAP_SYS_PTRACE"
        )
    }
}

/// Whether `wanted` means a main class or jar: its name, or a part of it.
pub fn is_name_of(wanted: &str, program: &str) -> bool {
    program::likeness(program, wanted).is_some()
}

impl Jvm {
    /// The JVM, for messages: `the JVM 12 (org.acme.Main)`.
    pub fn title(&self) -> String {
        format!("the JVM {} ({})", self.process.pid, self.program)
    }

    /// Whether a name means this JVM: its process id, or its main class or jar or a part of that.
    pub fn is_meant(&self, wanted: &str) -> bool {
        let of_pid = wanted.parse() == Ok(self.process.pid);
        of_pid || is_name_of(wanted, &self.program)
    }

    /// Whether an option `-XX:+NAME` is in effect, by the command line and the variables from which a
    /// JVM takes options. The last one counts.
    pub fn has_flag(&self, name: &str) -> Option<bool> {
        let variable = |name| self.process.variable(name).unwrap_or_default();
        let before = [variable("JAVA_TOOL_OPTIONS"), variable("JDK_JAVA_OPTIONS")];
        let after = variable("_JAVA_OPTIONS");
        let words = |text: &std::ffi::OsString| {
            let text = text.to_string_lossy();
            text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let all = before.iter().flat_map(words).chain(self.process.command_line());
        let all = all.chain(words(&after));
        let of_word = |word: String| match word.strip_prefix("-XX:")?.split_at_checked(1)? {
            ("+", it) if it == name => Some(true),
            ("-", it) if it == name => Some(false),
            _ => None,
        };
        all.filter_map(of_word).next_back()
    }
}

impl Container {
    /// The container of a process; `None` if it shares perk's namespaces.
    fn of(process: &Process) -> Option<Self> {
        let is_apart = ["pid", "mnt"].iter().any(|kind| process.shares(kind) == Some(false));
        is_apart.then(|| {
            let groups = process.read("cgroup").unwrap_or_default();
            Self { id: container_id(&String::from_utf8_lossy(&groups)) }
        })
    }
}

/// The first 12 digits of the last id of 64 hexadecimal digits, as container runtimes name control
/// groups.
fn container_id(groups: &str) -> Option<String> {
    let mut words = groups.split(|c: char| !c.is_ascii_hexdigit());
    words.rfind(|word| word.len() == 64).map(|id| id[..12].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_are_named_by_their_control_group() {
        let id = "0123456789ab".to_owned() + &"c".repeat(52);
        for groups in [
            format!("0::/system.slice/docker-{id}.scope\n"),
            format!("12:cpu:/docker/{id}\n1:name=systemd:/docker/{id}\n"),
            format!("0::/kubepods.slice/kubepods-pod1_2.slice/cri-containerd-{id}.scope\n"),
            format!("0::/user.slice/libpod-{id}.scope/container\n"),
        ] {
            assert_eq!(container_id(&groups).as_deref(), Some("0123456789ab"), "{groups}");
        }
        assert_eq!(container_id("0::/\n"), None);
        assert_eq!(container_id(&format!("0::/{id}0\n")), None);
    }

    #[test]
    fn this_process_is_no_jvm() {
        let process = Process::open(std::process::id()).unwrap().unwrap();
        assert!(matches!(ProcessView::of(process), Ok(ProcessView::Other)));
    }
}
