//! The files that an agent finishes, in a folder of the JVM's own.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use anyhow::{Context, bail};
use perk_attach::jvms::Jvm;
use perk_attach::{JvmFolder, bases, checked_path, first, has_ended, literal_text};
use rustix::fs::StatVfsMountFlags;

/// The begin of the names of folders.
const PREFIX: &str = "record-";
/// The files with the JVM's labels, and with its main class or jar.
const LABELS: &str = "labels";
const PROGRAM: &str = "program";
/// The ending of the files.
const ENDING: &str = ".hprof";
/// The begin of the names of files that wait from an earlier recording.
const ASIDE: &str = "aside-";
/// The ending of a file that is not finished.
const PART: &str = ".part";
/// The largest file that is read.
const MOST_BYTES: u64 = 256 << 20;

/// The folder of a JVM's files.
#[derive(Debug)]
pub(crate) struct PartsFolder {
    base: JvmFolder,
    folder: JvmFolder,
    name: OsString,
}

/// A file of the agent.
#[derive(Debug)]
pub(crate) struct Part {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// The place of a file of an earlier recording among those that were set aside.
    pub(crate) aside: Option<u64>,
    /// Whether the agent has finished it.
    pub(crate) is_finished: bool,
    name: OsString,
}

/// What distinguishes a process from all others of the machine, as its folder has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessName {
    /// Its id in its own namespace.
    pub(crate) pid: u32,
    /// The time of its start, in ticks.
    pub(crate) start_ticks: u64,
}

impl ProcessName {
    pub(crate) fn of(jvm: &Jvm) -> Self {
        let start_ticks = jvm.process.start_ticks().unwrap_or_default();
        Self { pid: jvm.status.inner_pid, start_ticks }
    }

    fn folder(self) -> OsString {
        format!("{PREFIX}{}-{}", self.pid, self.start_ticks).into()
    }

    fn of_folder(name: &OsStr) -> Option<Self> {
        let (pid, start) = name.to_str()?.strip_prefix(PREFIX)?.split_once('-')?;
        Some(Self { pid: pid.parse().ok()?, start_ticks: start.parse().ok()? })
    }
}

impl PartsFolder {
    /// Makes the folder, or opens that of an earlier recorder.
    ///
    /// # Errors
    /// None of perk's folders in the JVM can be used, in one line.
    pub(crate) fn of(jvm: &Jvm, process: ProcessName) -> anyhow::Result<Self> {
        let name = process.folder();
        let opened = first(jvm, &bases(jvm), |base| {
            if base.is_mounted(StatVfsMountFlags::RDONLY) {
                bail!("read-only");
            }
            let folder = base.child(&name)?;
            // Others that look for files of JVMs which have ended leave it alone.
            let is_locked = folder.lock();
            Ok((Self { base, folder, name: name.clone() }, is_locked))
        });
        let opened = opened.with_context(|| format!("{} has no folder for its files", jvm.title()));
        match opened? {
            (folder, true) => Ok(folder),
            _ => bail!("another perk record has the files of {}", jvm.title()),
        }
    }

    /// The folders that JVMs of the same user and namespace have left which have ended.
    pub(crate) fn left(jvm: &Jvm) -> Vec<(ProcessName, Self)> {
        let mut left = Vec::new();
        for path in bases(jvm) {
            let open = || JvmFolder::open(jvm, &path).ok();
            let Some(base) = open().filter(|base| base.check_owner().is_ok()) else { continue };
            let entries = fs::read_dir(base.path(".")).into_iter().flatten().flatten();
            let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
            for name in names {
                let Some(process) = ProcessName::of_folder(&name) else { continue };
                if process == ProcessName::of(jvm)
                    || !has_ended(jvm, process.pid, Some(process.start_ticks))
                {
                    continue;
                }
                if let (Some(base), Ok(folder)) = (open(), base.existing_child(&name))
                    && folder.lock()
                {
                    left.push((process, Self { base, folder, name }));
                }
            }
        }
        left
    }

    /// Keeps beside the files what a later recorder has to know of the JVM.
    pub(crate) fn keep(&self, labels: &str, program: &str) {
        for (name, text) in [(LABELS, labels), (PROGRAM, program)] {
            let path = self.folder.path(name);
            let _ = self.folder.act(|| fs::write(path, text));
        }
    }

    /// The labels that were kept.
    pub(crate) fn labels(&self) -> Option<String> {
        self.kept(LABELS)
    }

    /// The main class or jar that was kept.
    pub(crate) fn program(&self) -> Option<String> {
        self.kept(PROGRAM)
    }

    fn kept(&self, name: &str) -> Option<String> {
        let mut text = String::new();
        self.folder.open_file(name).ok()?.take(MOST_BYTES).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// What distinguishes the folder from those of other namespaces: its file system, and its number there.
    pub(crate) fn place(&self) -> [u64; 2] {
        self.folder.metadata().map_or([0; 2], |its| [its.dev(), its.ino()])
    }

    /// The value of the agent's option `file`.
    ///
    /// # Errors
    /// Options cannot have the path.
    pub(crate) fn file_option(&self) -> anyhow::Result<String> {
        let folder = literal_text(checked_path(&self.folder.seen)?);
        Ok(format!("{folder}/%n{ENDING}"))
    }

    fn names(&self) -> Vec<OsString> {
        let list =
            || fs::read_dir(self.folder.path(".")).map(|it| it.flatten().collect::<Vec<_>>());
        let entries = self.folder.act(list).ok().and_then(Result::ok).unwrap_or_default();
        entries.into_iter().map(|it| it.file_name()).collect()
    }

    /// Whether the agent has begun a file that it did not finish.
    pub(crate) fn has_unfinished(&self) -> bool {
        self.names().iter().any(|name| name.to_string_lossy().ends_with(PART))
    }

    /// The files, by number.
    pub(crate) fn list(&self) -> Vec<Part> {
        let names = self.names();
        let is_growing = |name: &str| {
            names.iter().filter_map(|it| it.to_str()).any(|it| {
                it.ends_with(PART) && it.strip_prefix(name).is_some_and(|it| it.starts_with('.'))
            })
        };
        let part = |name: &OsString| {
            let text = name.to_str()?;
            let (aside, number) = numbers(text)?;
            Some(Part { number, aside, is_finished: !is_growing(text), name: name.clone() })
        };
        let mut parts: Vec<_> = names.iter().filter_map(part).collect();
        parts.sort_unstable_by_key(|part| (part.aside.unwrap_or(u64::MAX), part.number));
        parts
    }

    /// Gives the files that wait other names: a recording begins, whose numbers begin at 1.
    pub(crate) fn set_aside(&self) {
        let parts = self.list();
        let first = parts.iter().filter_map(|part| part.aside).max().map_or(0, |it| it + 1);
        for (place, part) in (first..).zip(parts.iter().filter(|part| part.aside.is_none())) {
            let name = format!("{ASIDE}{place}-{}{ENDING}", part.number);
            let (from, to) = (self.folder.path(&part.name), self.folder.path(name));
            let _ = self.folder.act(|| fs::rename(from, to));
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, in one line.
    pub(crate) fn read(&self, part: &Part) -> anyhow::Result<Vec<u8>> {
        let file = self.folder.open_file(&part.name)?;
        let its = file.metadata()?;
        if its.len() > MOST_BYTES {
            bail!("it is larger than {MOST_BYTES} bytes");
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Removes a file that was taken.
    pub(crate) fn remove(&self, part: &Part) {
        let path = self.folder.path(&part.name);
        let _ = self.folder.act(|| fs::remove_file(path));
    }

    /// Removes the folder of a recording that has ended, unless files wait in it. Returns their number.
    pub(crate) fn remove_if_empty(&self) -> usize {
        let count = self.list().len();
        if count == 0 {
            let _ = self.base.act(|| fs::remove_dir_all(self.base.path(&self.name)));
        }
        count
    }
}

/// The place among the files that were set aside, and the number, of the name of a file.
fn numbers(name: &str) -> Option<(Option<u64>, u64)> {
    let name = name.strip_suffix(ENDING)?;
    let Some(aside) = name.strip_prefix(ASIDE) else { return Some((None, name.parse().ok()?)) };
    let (place, number) = aside.split_once('-')?;
    Some((Some(place.parse().ok()?), number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_numbers() {
        for (name, of_name) in [
            ("12.hprof", Some((None, 12))),
            ("aside-3-7.hprof", Some((Some(3), 7))),
            ("aside-3.hprof", None),
            ("12.hprof.perk-a.part", None),
        ] {
            assert_eq!(numbers(name), of_name, "{name}");
        }
    }

    #[test]
    fn folders_have_names_of_processes() {
        let process = ProcessName { pid: 12, start_ticks: 345 };
        assert_eq!(process.folder(), "record-12-345");
        assert_eq!(ProcessName::of_folder(&process.folder()), Some(process));
        for name in ["record-12", "recording-12-1", "record-x-1", "12.sock"] {
            assert_eq!(ProcessName::of_folder(OsStr::new(name)), None, "{name}");
        }
    }
}
