//! What all threads of the recorder share.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::Instant;

use anyhow::{Context, bail};
use perk_profile::units::plural;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};

use super::RecordArgs;
use super::deliver::Lanes;
use super::files::JvmFiles;
use super::identity::Identity;
use super::metrics::{self, Metrics};
use super::profile_file::ProfileFile;
use super::settings::Settings;
use crate::lock::lock;
use crate::talk::say;

/// The JVMs that load the agent at a time.
const MOST_LOADING: usize = 2;

/// Work of the thread that reads files.
type Job = Box<dyn FnOnce() + Send>;

/// The recorder, as all its threads see it.
#[derive(Debug)]
pub(crate) struct Recorder {
    args: RecordArgs,
    settings: RwLock<Arc<Settings>>,
    pub(crate) metrics: Arc<Metrics>,
    lanes: Lanes,
    /// The thread that reads files: with one, their memory is used again and not that of a thread for each JVM.
    reader: SyncSender<Job>,
    /// The files of JVMs that have ended, which wait in their folders as the spool has no room.
    pub(crate) left: Mutex<Vec<Arc<Mutex<JvmFiles>>>>,
    /// The number of JVMs that load the agent now.
    loading: Mutex<usize>,
    loaded: Condvar,
    /// How the recorder ends, once it does.
    end: Mutex<Option<End>>,
    /// Both ends of a connection: the first is closed when the recorder ends.
    alarm: Mutex<Option<UnixStream>>,
    bell: OwnedFd,
    /// Held while this process records here.
    _lock: File,
}

/// What was given to the places of a file.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// The bytes of all forms.
    pub(crate) bytes: u64,
    /// Why a form of it is lost, if one is.
    pub(crate) fault: Option<String>,
}

/// How the recorder ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The recordings end with it.
    All,
    /// The recordings continue for a time, for the next recorder.
    Recorder,
}

/// What a thread has waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// Its time has come.
    Time,
    /// Its connection was closed.
    Closed,
    /// The recorder ends.
    End(End),
}

/// The right to load the agent into a JVM.
#[derive(Debug)]
pub(crate) struct LoadingPermit<'a>(&'a Recorder);

impl Drop for LoadingPermit<'_> {
    fn drop(&mut self) {
        *lock(&self.0.loading) -= 1;
        self.0.loaded.notify_one();
    }
}

impl Recorder {
    /// Opens the queues and begins to deliver.
    ///
    /// # Errors
    /// A folder cannot be used, or another perk records with it.
    pub(crate) fn new(settings: Settings, args: RecordArgs) -> anyhow::Result<Arc<Self>> {
        let spool = &settings.spool;
        let lock = lock_spool(spool)?;
        let metrics = Arc::new(Metrics::default());
        if let Some(address) = settings.metrics {
            metrics::serve(&metrics, address)?;
        }
        let lanes = Lanes::new(&settings, &metrics)?;
        let (reader, jobs) = sync_channel::<Job>(0);
        let thread = thread::Builder::new().name("perk reader".to_owned());
        thread.spawn(move || {
            for job in jobs {
                // The next file is another one.
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
        })?;
        let (alarm, bell) = UnixStream::pair()?;
        Ok(Arc::new(Self {
            args,
            settings: RwLock::new(Arc::new(settings)),
            metrics,
            lanes,
            reader,
            left: Mutex::default(),
            loading: Mutex::default(),
            loaded: Condvar::new(),
            end: Mutex::default(),
            alarm: Mutex::new(Some(alarm)),
            bell: bell.into(),
            _lock: lock,
        }))
    }

    /// The settings of now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the file of `--config` again. The spool and the address of the metrics stay as they are.
    pub(crate) fn reload(&self) {
        let old = self.settings();
        match Settings::of(&self.args) {
            Err(error) => say(format_args!("the old settings stay: {error:#}")),
            Ok(new) => {
                let is_same = new.spool == old.spool && new.metrics == old.metrics;
                let note =
                    if is_same { "" } else { "; the spool and the metrics change with a restart" };
                if let Err(error) = self.lanes.change(&new) {
                    return say(format_args!("the old settings stay: {error:#}"));
                }
                *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
                say(format_args!("the settings are read again{note}"));
            }
        }
    }

    /// Runs work that reads files on the thread for it, and returns what it returns.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, result) = sync_channel(1);
        let job = move || {
            let _ = sender.send(work());
        };
        self.reader.send(Box::new(job)).ok()?;
        result.recv().ok()
    }

    /// Waits until few enough JVMs load the agent.
    pub(crate) fn may_load(&self) -> LoadingPermit<'_> {
        let mut loading = lock(&self.loading);
        while *loading >= MOST_LOADING {
            loading = self.loaded.wait(loading).unwrap_or_else(PoisonError::into_inner);
        }
        *loading += 1;
        LoadingPermit(self)
    }

    /// Gives a file to all places.
    ///
    /// # Errors
    /// It cannot wait for one of them, or not be written for one, which is lost.
    pub(crate) fn deliver(
        &self,
        file: &ProfileFile,
        identity: &Identity,
        title: &str,
    ) -> anyhow::Result<Delivery> {
        let settings = self.settings();
        let mut delivery = Delivery::default();
        for form in self.lanes.forms(&settings) {
            match file.packages(form, identity, title) {
                Ok(packages) => {
                    for package in &packages {
                        self.lanes.add(form, package, &settings)?;
                        delivery.bytes += package.bytes.len() as u64;
                    }
                }
                Err(error) => delivery.fault = Some(error.to_string()),
            }
        }
        Ok(delivery)
    }

    /// Ends the recorder.
    pub(crate) fn end(&self, end: End) {
        lock(&self.end).get_or_insert(end);
        drop(lock(&self.alarm).take());
    }

    /// How the recorder ends, if it does.
    pub(crate) fn ending(&self) -> Option<End> {
        *lock(&self.end)
    }

    /// Waits until `moment`, the end of `connection` or of the recorder.
    pub(crate) fn wait(&self, connection: Option<&UnixStream>, moment: Instant) -> Woken {
        loop {
            if let Some(end) = self.ending() {
                return Woken::End(end);
            }
            let left = moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Woken::Time;
            }
            let mut files = vec![PollFd::new(&self.bell, PollFlags::IN)];
            files.extend(connection.map(|it| PollFd::new(it, PollFlags::IN)));
            let left = Timespec::try_from(left).ok();
            if poll(&mut files, left.as_ref()).is_err() {
                continue;
            }
            if files.get(1).is_some_and(|it| !it.revents().is_empty()) && self.ending().is_none() {
                return Woken::Closed;
            }
        }
    }

    /// Waits for the last deliveries. What waits then is there for the next recorder. `false` if something waits, or was
    /// refused.
    pub(crate) fn finish(&self) -> bool {
        for files in lock(&self.left).drain(..) {
            let files = lock(&files);
            let count = plural(files.waiting_count() as u64, "file");
            let title = files.title();
            say(format_args!("{count} of {title} in its /tmp: the next perk record takes them"));
        }
        self.lanes.finish()
    }
}

/// Locks the spool, so that one recorder uses it.
fn lock_spool(spool: &Path) -> anyhow::Result<File> {
    let cannot = || format!("cannot use the spool {}", spool.display());
    fs::create_dir_all(spool).with_context(cannot)?;
    let path = spool.join("lock");
    let mut options = File::options();
    options.create(true).truncate(false).read(true).write(true);
    let mut file = options.open(&path).with_context(cannot)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        let pid = fs::read_to_string(&path).unwrap_or_default();
        bail!(
            "another perk record (process {}) runs with the spool {}: end it, or use another --spool",
            pid.trim(),
            spool.display()
        );
    }
    file.set_len(0).with_context(cannot)?;
    file.rewind().with_context(cannot)?;
    writeln!(file, "{}", std::process::id()).with_context(cannot)?;
    Ok(file)
}
