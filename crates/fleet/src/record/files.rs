//! The files of a JVM, from its agent to the queues.

use std::hash::Hasher;
use std::sync::{Arc, Mutex};

use perk_attach::jvms::Jvm;
use perk_profile::units::plural;
use perk_profile::{Accounting, Metric};
use rustc_hash::FxHasher;

use super::identity::Identity;
use super::machine;
use super::metrics::add;
use super::parts::{Part, PartsFolder, ProcessName};
use super::profile_file::ProfileFile;
use super::state::{Recorder, lock};
use crate::talk::say;

/// The most files of a JVM that wait in its folder as the spool has no room.
const MOST_WAITING: usize = 60;

/// The files; see the module.
#[derive(Debug)]
pub(crate) struct JvmFiles {
    shared: Arc<Recorder>,
    folder: PartsFolder,
    identity: Identity,
    /// The JVM, for messages.
    title: String,
    process: ProcessName,
    /// The number of the next file, once that is known.
    next_number: Option<u64>,
    /// Why the files are not the usual ones.
    reason: Option<String>,
}

/// A file that was taken.
#[derive(Debug)]
pub(crate) struct TakenFile {
    pub(crate) accounting: Accounting,
    /// The time for which threads waited for locks.
    pub(crate) blocked_ns: u64,
    /// Whether it has what is recorded usually.
    pub(crate) is_usual: bool,
}

impl JvmFiles {
    /// The files of a JVM that runs.
    ///
    /// # Errors
    /// It has no folder for them, in one line.
    pub(crate) fn of(jvm: &Jvm, shared: &Arc<Recorder>) -> anyhow::Result<Self> {
        let identity = Identity::of(jvm, &shared.settings());
        let process = ProcessName::of(jvm);
        let folder = PartsFolder::of(jvm, process)?;
        folder.keep_labels(&identity.text());
        let (shared, title) = (Arc::clone(shared), jvm.title());
        Ok(Self { shared, folder, identity, title, process, next_number: None, reason: None })
    }

    /// The name of the JVM's service.
    pub(crate) fn service(&self) -> &str {
        self.identity.service()
    }

    /// The value of the agent's option `file`.
    ///
    /// # Errors
    /// Options cannot have the path.
    pub(crate) fn option(&self) -> anyhow::Result<String> {
        self.folder.file_option()
    }

    /// Notes that a recording begins, whose first file has the number 1.
    pub(crate) fn begin(&mut self) {
        self.next_number = Some(1);
    }

    /// Gives the files to come a label with the reason why they are not the usual ones.
    pub(crate) fn set_reason(&mut self, reason: Option<String>) {
        self.reason = reason;
    }

    /// Takes the files that are finished, and with `is_last` also what is left of one that is not. Returns the
    /// last one.
    fn collect(&mut self, is_last: bool) -> Option<TakenFile> {
        let parts = self.folder.list();
        let mut waiting = parts.iter().filter(|part| part.is_finished).count();
        let mut last = None;
        for part in parts.iter().filter(|part| part.is_finished || is_last) {
            match self.take(part) {
                Ok(taken) => last = taken.or(last),
                Err(error) if waiting > MOST_WAITING => {
                    self.lose(1, &format!("{error:#}"));
                    self.folder.remove(part);
                }
                // It stays where it is, and is tried again.
                Err(error) => say(format_args!("{error:#}")),
            }
            waiting = waiting.saturating_sub(1);
        }
        if is_last && self.folder.has_unfinished() {
            say(format_args!("{} was killed: its last seconds may be missing", self.title));
        }
        last
    }

    /// Removes the folder: no file comes.
    pub(crate) fn remove(&self) {
        self.folder.remove_all();
    }

    /// Takes a file, and returns what it says.
    ///
    /// # Errors
    /// It has no room, and is still there.
    fn take(&mut self, part: &Part) -> anyhow::Result<Option<TakenFile>> {
        let read = self.folder.read(part).and_then(|bytes| self.read(&bytes));
        let mut taken = None;
        match read {
            Ok(file) => {
                let delivery = self.shared.deliver(&file, &self.identity, &self.title)?;
                taken = self.account(&file, delivery.bytes);
                if let Some(fault) = delivery.fault {
                    self.lose(1, &fault);
                }
            }
            Err(error) => self.lose(1, &format!("{error:#}")),
        }
        let missing = self.next_number.map_or(0, |next| part.number.saturating_sub(next));
        if missing > 0 {
            self.lose(missing, "the JVM could not write them");
        }
        self.next_number = Some(part.number + 1);
        self.folder.remove(part);
        Ok(taken)
    }

    fn read(&self, bytes: &[u8]) -> anyhow::Result<ProfileFile> {
        ProfileFile::read(bytes, &self.identity, self.reason.as_deref(), |created| {
            let mut hasher = FxHasher::default();
            hasher.write(machine::boot_id().as_bytes());
            hasher.write_u64(self.process.start_ticks);
            hasher.write_u64(created.unix_ms);
            format!("{}-{}-{:08x}", machine::host(), self.process.pid, hasher.finish() as u32)
        })
    }

    fn account(&self, file: &ProfileFile, bytes: u64) -> Option<TakenFile> {
        let metrics = &self.shared.metrics;
        add(&metrics.file_count, 1);
        add(&metrics.file_bytes, bytes);
        let accounting = file.accounting()?;
        add(&metrics.agent_cpu_ns, accounting.perk_cpu_ns);
        add(&metrics.jvm_cpu_ns, accounting.process_cpu_ns);
        Some(TakenFile {
            accounting: accounting.clone(),
            blocked_ns: Metric::BlockedTime.rows(&file.profile).total,
            is_usual: self.reason.is_none(),
        })
    }

    fn lose(&self, count: u64, reason: &str) {
        add(&self.shared.metrics.lost_count, count);
        say(format_args!("{} of {} lost: {reason}", plural(count, "file"), self.title));
    }
}

/// Takes files on the thread that reads: see [`JvmFiles::collect`].
pub(crate) fn collect(files: &Arc<Mutex<JvmFiles>>, is_last: bool) -> Option<TakenFile> {
    let shared = Arc::clone(&lock(files).shared);
    let files = Arc::clone(files);
    shared.read(move || lock(&files).collect(is_last)).flatten()
}

/// Takes the files of JVMs that ended while there was no recorder, from the folders of a JVM's user.
pub(crate) fn collect_left(jvm: &Jvm, shared: &Arc<Recorder>) {
    for (process, folder) in PartsFolder::left(jvm) {
        let labels = folder.labels();
        let identity = labels.map(|text| Identity::of_text(&text)).unwrap_or_default();
        let title = format!("the JVM {} ({})", process.pid, identity.service());
        let shared = Arc::clone(shared);
        let files =
            JvmFiles { shared, folder, identity, title, process, next_number: None, reason: None };
        let files = Arc::new(Mutex::new(files));
        collect(&files, true);
        lock(&files).remove();
    }
}
