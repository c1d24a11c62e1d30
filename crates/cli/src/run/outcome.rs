//! What the agents left behind: one file for each JVM, in a folder of their own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs, fs::File, io, io::Write};

use anyhow::{Context, anyhow};
use perk_files::PrivateFolder;
use perk_formats::jamaica::JAMAICA;
use perk_formats::shared_fields::ALIKE;
use perk_formats::xprof::XPROF;
use perk_open::Options;
use perk_profile::units::printable;
use perk_profile::{Event, NAME_SEPARATOR, Process as Part, Profile};
use perk_render::Screen;

use super::abandoned;
use crate::input;
use perk_attach::jvms::Process;
use perk_attach::{checked_path, literal_text};

/// The folder the agents write to. It goes when it is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    folder: PrivateFolder,
    /// Its lock: an empty folder without one is of a perk that was killed.
    _lock: Option<File>,
    /// The ending of the agents' files. The agent packs a file whose name says so.
    ending: &'static str,
}

/// The CPU time of Java code from which a JVM without the name of a program was started for its work.
const LONG_WITHOUT_PROGRAM_NS: u64 = 1_000_000_000;
/// The JVMs beside the first that are named in a heading.
const MOST_NAMED: usize = 3;
/// The begin of the names of such folders.
const BEGIN: &str = "perk-";
const PLAIN: &str = "hprof";
const PACKED: &str = "hprof.gz";
const OF_JAMAICA: &str = "prof";
const OF_XPROF: &str = "xprof";

/// The agents' files, by what became of them.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Whole profiles, most CPU time first.
    pub(crate) complete: Vec<JvmOutcome>,
    /// Whole profiles that cannot be read, with the reason.
    pub(crate) unreadable: Vec<(u32, anyhow::Error)>,
    /// JVMs that are gone and left no whole profile.
    pub(crate) incomplete: Vec<u32>,
    /// JVMs that are still running.
    pub(crate) running: Vec<u32>,
}

/// A JVM that ran to its end, or several whose profiles are one.
#[derive(Debug)]
pub(crate) struct JvmOutcome {
    pub(crate) pid: u32,
    pub(crate) file: PathBuf,
    pub(crate) profile: Profile,
    /// When the profile was shown, if the JVM has left no later one.
    pub(crate) flushed: Option<SystemTime>,
    /// The others, if there are several.
    others: Vec<MergedJvm>,
}

/// The agent's files of a process.
#[derive(Clone, Copy, Debug, Default)]
struct AgentFiles {
    /// One under its final name: the whole profile, or that of the last flush.
    has_whole: bool,
    /// One that the agent has not finished.
    has_part: bool,
}

/// The reason why an agent could not continue to write.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) error: io::Error,
    /// The file that it had begun, if there is something in it.
    pub(crate) part: Option<PathBuf>,
}

/// A JVM whose numbers are in the profile of another.
#[derive(Debug)]
struct MergedJvm {
    label: String,
    file: PathBuf,
}

impl Folder {
    /// A new folder, whose path the agent's options can carry.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let parent = env::temp_dir();
        abandoned::remove(&parent, BEGIN);
        checked_path(&parent).context("set TMPDIR to another folder")?;
        Self::inside(&parent).map_err(|error| {
            let parent = parent.display();
            anyhow!("cannot make a folder in {parent}: {error:#}; set TMPDIR to a writable one")
        })
    }

    /// As [`Folder::new`], in the folder of the output file, so that large data need not be copied.
    pub(crate) fn beside(target: &Path) -> anyhow::Result<Self> {
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or_else(|| Path::new("."));
        let cannot = || format!("cannot write to {}", parent.display());
        let absolute = fs::canonicalize(parent).with_context(cannot)?;
        checked_path(&absolute).with_context(cannot)?;
        Self::inside(&absolute).with_context(cannot)
    }

    fn inside(parent: &Path) -> anyhow::Result<Self> {
        let folder = PrivateFolder::create(parent, BEGIN)?;
        let _lock = abandoned::hold(folder.path());
        Ok(Self { folder, _lock, ending: PLAIN })
    }

    /// The same folder, for packed files.
    pub(crate) fn packed(self) -> Self {
        Self { ending: PACKED, ..self }
    }

    /// The same folder, for files of JamaicaVM's format.
    pub(crate) fn of_jamaica(self) -> Self {
        Self { ending: OF_JAMAICA, ..self }
    }

    /// The same folder, for tables of `-Xprof`.
    pub(crate) fn of_xprof(self) -> Self {
        Self { ending: OF_XPROF, ..self }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The value of the agent's option `file`.
    pub(crate) fn file_option(&self) -> String {
        literal_text(&self.path().display().to_string()) + "/perk-%p." + self.ending
    }

    /// The file that the JVM's agent will have written.
    pub(crate) fn file_of(&self, pid: u32) -> PathBuf {
        self.path().join(format!("perk-{pid}.{}", self.ending))
    }

    /// The reason why the agent of a JVM that has ended could not continue to write its file, if perk cannot
    /// either: no room, or a limit that both have.
    pub(crate) fn fault_of(&self, pid: u32) -> Option<Fault> {
        let is_part = |name: &OsStr| parse_name(name) == Some((pid, false));
        let mut entries = fs::read_dir(self.path()).ok()?.flatten();
        let part = entries.find(|entry| is_part(&entry.file_name()))?.path();
        let error = can_grow(&part).err()?;
        let has_content = fs::metadata(&part).is_ok_and(|it| it.len() > 0);
        Some(Fault { error, part: has_content.then_some(part) })
    }

    /// Leaves the folder where it is.
    pub(crate) fn keep(self) {
        self.folder.keep();
    }

    /// The files that are there, by process.
    fn files(&self) -> io::Result<BTreeMap<u32, AgentFiles>> {
        let mut all: BTreeMap<u32, AgentFiles> = BTreeMap::new();
        for entry in fs::read_dir(self.path())? {
            let name = entry?.file_name();
            if let Some((pid, is_whole)) = parse_name(&name) {
                let files = all.entry(pid).or_default();
                *(if is_whole { &mut files.has_whole } else { &mut files.has_part }) = true;
            }
        }
        Ok(all)
    }

    /// The JVMs whose recording has ended.
    pub(crate) fn finished(&self) -> io::Result<BTreeSet<u32>> {
        let files = self.files()?.into_iter();
        Ok(files.filter(|(_, it)| it.has_whole && !it.has_part).map(|(pid, _)| pid).collect())
    }

    /// The JVMs that have loaded the agent.
    pub(crate) fn processes(&self) -> io::Result<BTreeSet<u32>> {
        Ok(self.files()?.into_keys().collect())
    }

    /// Reads the existing files.
    pub(crate) fn collect(&self) -> io::Result<Outcome> {
        let mut outcome = Outcome::default();
        for (pid, files) in self.files()? {
            if files.has_part && (!files.has_whole || is_alive(pid)) {
                let gone =
                    if is_alive(pid) { &mut outcome.running } else { &mut outcome.incomplete };
                gone.push(pid);
                continue;
            }
            let file = self.file_of(pid);
            let flushed = match files.has_part {
                true => fs::metadata(&file).and_then(|it| it.modified()).ok(),
                false => None,
            };
            let format = match self.ending {
                PACKED => Some(ALIKE),
                OF_JAMAICA => Some(JAMAICA),
                OF_XPROF => Some(XPROF),
                _ => None,
            };
            // What was to be masked, the agent has masked. The file is perk's own: it is small, and its
            // packed data is none to do harm.
            let options = Options {
                format,
                keep_secrets: true,
                max_memory_bytes: Some(u64::MAX),
                ..Options::default()
            };
            match input::open(&file, &options) {
                Ok(input) => {
                    let (profile, others) = (input.profile, Vec::new());
                    outcome.complete.push(JvmOutcome { pid, file, profile, flushed, others });
                }
                Err(error) => outcome.unreadable.push((pid, error)),
            }
        }
        outcome.complete.sort_by_key(|jvm| (Reverse(jvm.cpu_ns()), jvm.pid));
        outcome.unreadable.sort_by_key(|&(pid, _)| pid);
        Ok(outcome)
    }
}

impl Outcome {
    /// Whether no JVM loaded the agent.
    pub(crate) fn is_empty(&self) -> bool {
        self.complete.is_empty()
            && self.unreadable.is_empty()
            && self.incomplete.is_empty()
            && self.running.is_empty()
    }
}

impl JvmOutcome {
    fn cpu_ns(&self) -> u64 {
        self.profile.accounting.as_ref().map_or(0, |accounting| accounting.process_cpu_ns)
    }

    /// The JVMs as one with one profile: that of the first, to which the others' numbers are added.
    pub(crate) fn merged(jvms: Vec<Self>) -> Option<Self> {
        let mut jvms = jvms.into_iter();
        let first = jvms.next()?;
        let (pid, file) = (first.pid, first.file.clone());
        let mut others = Vec::new();
        let mut processes = vec![first.into_process()];
        for jvm in jvms {
            let file = jvm.file.clone();
            let process = jvm.into_process();
            others.push(MergedJvm { label: process.name.clone(), file });
            processes.push(process);
        }
        Some(Self { pid, file, profile: Profile::of_processes(processes), flushed: None, others })
    }

    fn into_process(self) -> Part {
        Part { name: self.label(), profile: self.profile }
    }

    /// The name that tells the JVM from others: `Main (pid 12)`.
    pub(crate) fn label(&self) -> String {
        format!("{} (pid {})", short_name(self.program()), self.pid)
    }

    /// The number of JVMs.
    pub(crate) fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// The agents' files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&*self.file).chain(self.others.iter().map(|other| &*other.file))
    }

    /// Whether it started no program of its own, as `java -version` does, or did nothing that was
    /// measured.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_empty() || self.started_no_program()
    }

    fn started_no_program(&self) -> bool {
        let accounting = self.profile.accounting.as_ref();
        accounting
            .is_some_and(|it| it.program.is_empty() && it.java_cpu_ns < LONG_WITHOUT_PROGRAM_NS)
    }

    /// Whether nothing was measured.
    pub(crate) fn is_empty(&self) -> bool {
        self.profile.events.iter().all(|event| match event {
            Event::ThreadStart(_) | Event::ThreadEnd(_) | Event::ClassUnload(_) => true,
            Event::Pauses(_) | Event::TimeSeries(_) => true,
            Event::Timeline(timeline) => timeline.rows.is_empty(),
            Event::HeapSummary(_) => false,
            Event::Section(section) => {
                section.is_empty() && section.head.columns.iter().all(|column| column.total == 0)
            }
            Event::FieldAccesses(accesses) => accesses.object_count() == 0,
            Event::Wait(_) => false,
            // Some thread of the JDK always waits.
            Event::MonitorDump(dump) => dump.monitors.iter().all(|it| it.blocked.is_empty()),
            Event::Heap(heap) => heap.rows.is_empty(),
        })
    }

    /// The program, for people; of several the first, and how many there are.
    pub(crate) fn name(&self) -> String {
        if !self.others.is_empty() {
            let first = short_name(self.program().split(NAME_SEPARATOR).next().unwrap_or(""));
            let labels = self.others.iter().map(|other| other.label.as_str());
            let labels: Vec<_> = labels.take(MOST_NAMED).collect();
            let more = self.others.len() - labels.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let count = self.count();
            let labels = labels.join(", ");
            return format!("{count} JVMs: {first} (pid {}), {labels}{more}", self.pid);
        }
        let name = Screen::default().cut_end(&printable(self.program()), 0);
        if name.is_empty() { "unknown program".to_owned() } else { name }
    }

    /// The known part of the program's command line.
    pub(crate) fn program(&self) -> &str {
        self.profile.accounting.as_ref().map_or("", |accounting| &accounting.program)
    }
}

/// `perk-12.hprof` is of process 12 and whole, `perk-12.hprof.perk-k3f9a2.part` is not.
fn parse_name(name: &OsStr) -> Option<(u32, bool)> {
    let name = name.to_str()?.strip_prefix("perk-")?;
    let (pid, ending) = name.split_once('.')?;
    let pid = pid.parse().ok()?;
    match [PACKED, PLAIN, OF_JAMAICA, OF_XPROF].iter().find_map(|it| ending.strip_prefix(it))? {
        "" => Some((pid, true)),
        more => more.ends_with(".part").then_some((pid, false)),
    }
}

/// Fails if the file cannot grow by what an agent writes at once. Its content stays.
fn can_grow(path: &Path) -> io::Result<()> {
    /// More than an agent takes back of its last write.
    const MORE_BYTES: usize = 1 << 20;
    let mut file = File::options().append(true).open(path)?;
    let bytes = file.metadata()?.len();
    let written = file.write_all(&vec![0; MORE_BYTES]).and_then(|()| file.sync_data());
    file.set_len(bytes)?;
    written
}

fn is_alive(pid: u32) -> bool {
    let process = Process::open(pid);
    process.is_ok_and(|process| process.is_some_and(|process| !process.is_gone()))
}

/// A name for the files of a program: its main class without the package, or its jar without the
/// ending; letters and digits only.
pub(crate) fn short_name(program: &str) -> String {
    const LONGEST: usize = 60;
    let jar = program.split_inclusive(".jar").next().and_then(|path| path.strip_suffix(".jar"));
    let name = match jar {
        Some(path) => path.rsplit('/').next(),
        // A class in a module is `module/package.Class`.
        None => program.split(' ').next().and_then(|class| class.rsplit(['.', '/']).next()),
    };
    let is_plain = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = name.unwrap_or("").chars().filter(is_plain).take(LONGEST).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "java".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_tell_pid_and_state() {
        assert_eq!(parse_name(OsStr::new("perk-12.hprof")), Some((12, true)));
        assert_eq!(parse_name(OsStr::new("perk-12.hprof.gz")), Some((12, true)));
        assert_eq!(parse_name(OsStr::new("perk-12.prof")), Some((12, true)));
        assert_eq!(parse_name(OsStr::new("perk-12.xprof")), Some((12, true)));
        assert_eq!(parse_name(OsStr::new("perk-12.hprof.gz.perk-k3f9a2.part")), Some((12, false)));
        assert_eq!(parse_name(OsStr::new("perk-12.hprof.perk-k3f9a2.part")), Some((12, false)));
        for name in ["perk-x.hprof", "perk-12", "other", "perk-12.txt"] {
            assert_eq!(parse_name(OsStr::new(name)), None, "{name}");
        }
    }

    #[test]
    fn programs_have_short_names() {
        for (program, name) in [
            ("org.example.Main a.b c", "Main"),
            ("/opt/my app/app-1.2.jar --x=/y", "app-1.2"),
            ("jdk.compiler/com.sun.tools.javac.Main -d x", "Main"),
            ("Main$Inner", "MainInner"),
            ("../../etc/passwd", "passwd"),
            ("Größe", "Größe"),
            ("", "java"),
            ("$", "java"),
        ] {
            assert_eq!(short_name(program), name);
        }
    }

    #[test]
    fn the_option_keeps_percent_signs() {
        let folder = Folder::new().unwrap();
        assert!(folder.file_option().ends_with("/perk-%p.hprof"));
        assert!(folder.packed().file_option().ends_with("/perk-%p.hprof.gz"));
    }
}
