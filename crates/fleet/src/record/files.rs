//! The files of a JVM, from its agent to the queues.

use std::hash::Hasher;
use std::sync::{Arc, Mutex};

use perk_attach::jvms::{Jvm, is_name_of};
use perk_profile::units::plural;
use perk_profile::{Accounting, Metric};
use rustc_hash::FxHasher;

use super::identity::Identity;
use super::machine;
use super::metrics::add;
use super::parts::{Part, PartsFolder, ProcessName};
use super::profile_file::ProfileFile;
use super::state::Recorder;
use crate::lock::lock;
use crate::talk::{Tally, say};

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
    /// Why files stay in the folder, if they do.
    stuck: Option<String>,
    lost: Tally,
    /// Whether it was said that the JVM was killed.
    is_killed: bool,
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
        folder.keep(&identity.text(), &jvm.program);
        Ok(Self::new(shared, folder, identity, jvm.title(), process))
    }

    fn new(
        shared: &Arc<Recorder>,
        folder: PartsFolder,
        identity: Identity,
        title: String,
        process: ProcessName,
    ) -> Self {
        let (shared, lost) = (Arc::clone(shared), Tally::default());
        Self {
            shared,
            folder,
            identity,
            title,
            process,
            next_number: None,
            reason: None,
            stuck: None,
            lost,
            is_killed: false,
        }
    }

    /// The JVM, for messages.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// The number of files in the folder.
    pub(crate) fn waiting_count(&self) -> usize {
        self.folder.list().len()
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
        self.folder.set_aside();
        self.next_number = Some(1);
    }

    /// Gives the files to come a label with the reason why they are not the usual ones.
    pub(crate) fn set_reason(&mut self, reason: Option<String>) {
        self.reason = reason;
    }

    /// Takes the files that are finished, and with `is_last` also what is left of one that is not. Returns the
    /// last one.
    fn collect(&mut self, is_last: bool) -> Option<TakenFile> {
        let mut parts = self.folder.list();
        parts.retain(|part| part.is_finished || is_last);
        let mut last = None;
        for (at, part) in parts.iter().enumerate() {
            match self.take(part) {
                Ok(taken) => {
                    last = taken.or(last);
                    if self.stuck.take().is_some() {
                        say(format_args!("the files of {} are taken again", self.title));
                    }
                }
                // It stays where it is with those that follow, and is tried again.
                Err(error) => {
                    self.wait_in_folder(&parts[at..], &format!("{error:#}"));
                    break;
                }
            }
        }
        if is_last && self.folder.has_unfinished() && !self.is_killed {
            self.is_killed = true;
            say(format_args!("{} was killed: its last seconds may be missing", self.title));
        }
        last
    }

    /// Leaves files where they are, as many as may wait there.
    fn wait_in_folder(&mut self, parts: &[Part], reason: &str) {
        if self.stuck.as_deref() != Some(reason) {
            let title = &self.title;
            say(format_args!("{reason}; up to {MOST_WAITING} files of {title} wait in its /tmp"));
            self.stuck = Some(reason.to_owned());
        }
        for part in &parts[..parts.len().saturating_sub(MOST_WAITING)] {
            self.lose(1, reason);
            self.count(part);
            self.folder.remove(part);
        }
    }

    /// Removes the folder, as no file comes. `false` if some wait in it.
    fn remove(&mut self) -> bool {
        if let Some(count) = self.lost.rest() {
            self.say_lost(count, "as before");
        }
        self.folder.remove_if_empty() == 0
    }

    /// Takes a file, and returns what it says.
    ///
    /// # Errors
    /// It has no room, and is still there.
    fn take(&mut self, part: &Part) -> anyhow::Result<Option<TakenFile>> {
        let read = self.folder.read(part).and_then(|bytes| self.read(&bytes, part.number));
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
        self.count(part);
        self.folder.remove(part);
        Ok(taken)
    }

    /// Counts the files that are missing before one.
    fn count(&mut self, part: &Part) {
        if part.aside.is_some() {
            return;
        }
        let missing = self.next_number.map_or(0, |next| part.number.saturating_sub(next));
        if missing > 0 {
            self.lose(missing, "the JVM could not write them");
        }
        self.next_number = Some(part.number + 1);
    }

    fn read(&self, bytes: &[u8], number: u64) -> anyhow::Result<ProfileFile> {
        ProfileFile::read(bytes, &self.identity, self.reason.as_deref(), |created| {
            let mut hasher = FxHasher::default();
            hasher.write(machine::boot_id().as_bytes());
            hasher.write_u64(self.process.start_ticks);
            self.folder.place().into_iter().for_each(|it| hasher.write_u64(it));
            // The clock can be set back to the same moment.
            hasher.write_u64(number);
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

    fn lose(&mut self, count: u64, reason: &str) {
        add(&self.shared.metrics.lost_count, count);
        if let Some(count) = self.lost.add(count) {
            self.say_lost(count, reason);
        }
    }

    fn say_lost(&self, count: u64, reason: &str) {
        say(format_args!("{} of {} lost: {reason}", plural(count, "file"), self.title));
    }
}

/// Takes files on the thread that reads: see [`JvmFiles::collect`].
pub(crate) fn collect(files: &Arc<Mutex<JvmFiles>>, is_last: bool) -> Option<TakenFile> {
    let shared = Arc::clone(&lock(files).shared);
    let files = Arc::clone(files);
    shared.read(move || lock(&files).collect(is_last)).flatten()
}

/// Takes the last files, and removes the folder. If files have to wait in it, the recorder tries again.
pub(crate) fn finish(files: Arc<Mutex<JvmFiles>>) {
    collect(&files, true);
    if !lock(&files).remove() {
        let shared = Arc::clone(&lock(&files).shared);
        lock(&shared.left).push(files);
    }
}

/// Tries again to take the files of JVMs that have ended.
pub(crate) fn retry_left(shared: &Arc<Recorder>) {
    let left = std::mem::take(&mut *lock(&shared.left));
    left.into_iter().for_each(finish);
}

/// Takes the files of JVMs that ended while there was no recorder, from the folders of a JVM's user. With names,
/// those of such JVMs.
pub(crate) fn collect_left(jvm: &Jvm, shared: &Arc<Recorder>) {
    let wanted = &shared.settings().jvms;
    for (process, folder) in PartsFolder::left(jvm) {
        let program = folder.program().unwrap_or_default();
        if !wanted.is_empty() && !wanted.iter().any(|wanted| is_name_of(wanted, &program)) {
            continue;
        }
        let labels = folder.labels();
        let identity = labels.map(|text| Identity::of_text(&text)).unwrap_or_default();
        let title = format!("the JVM {} ({})", process.pid, identity.service());
        let files = JvmFiles::new(shared, folder, identity, title, process);
        finish(Arc::new(Mutex::new(files)));
    }
}
