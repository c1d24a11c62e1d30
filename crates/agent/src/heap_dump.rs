//! Heap dumps: the JVM writes its own, and a thread of the agent's rewrites it record by record
//! while it comes, so that no part of the heap is held in memory.
//!
//! The JVM writes into a file that has no name any more as soon as the thread has opened it, and
//! whose blocks are given back to the file system once they are read. (A pipe would do without a
//! file, but the JVM writes to none; and should the thread fail, the JVM, which stands still, would
//! wait for ever.)

mod growing;
mod sizes;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::Release};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::{fs, io};

use perk_control::messages;
use perk_control::options::{Format, Options, Output};
use perk_files::PrivateFolder;
use perk_hprof::heap::{HeapOptions, OwnFields};
use perk_instrument::fields;
use rustc_hash::FxHashMap;

use self::growing::GrowingFile;
pub(crate) use self::sizes::Sizes;
use crate::guard::{Feature, guard, unheard};
use crate::jvm::{HeapDumper, Image, Jni, Jvmti};
use crate::os;
use crate::recorder::Recorder;
use crate::session::lock;

static COLLECTIONS: AtomicU64 = AtomicU64::new(0);

/// A collection of garbage begins; it may move objects.
pub(crate) fn collection_started() {
    COLLECTIONS.fetch_add(1, Relaxed);
}

/// The platform threads, in the order in which the JVM keeps them, right before a dump.
#[derive(Debug, Default)]
pub(crate) struct ThreadList {
    /// What the JVM's dump tells them by.
    pub(crate) tids: Vec<u64>,
    /// The recorder's count of starts and ends before they were listed.
    pub(crate) turnover: u64,
}

/// What heap dumps of this JVM are made with.
#[derive(Debug)]
pub(crate) struct HeapDumps {
    dumper: OnceLock<HeapDumper>,
    options: HeapOptions,
    is_verbose: bool,
    sizes: OnceLock<Sizes>,
}

impl HeapDumps {
    /// Those that the options ask for, if they do, or that a peer may ask for; temporary files go to
    /// `folder`.
    pub(crate) fn new(options: &Options, folder: &Path) -> Option<Self> {
        if !options.heap_dump && !matches!(options.output, Output::Net { .. }) {
            return None;
        }
        let is_verbose = options.verbose;
        let options = HeapOptions {
            with_traces: options.heap_sites && options.heap_sample_bytes.is_none(),
            primitive_fields: options.prim_fields,
            primitive_arrays: options.prim_arrays,
            lines: options.lineno,
            native_lines: options.format != Format::Ascii,
            folder: folder.to_owned(),
            own_fields: OwnFields { prefix: fields::PREFIX, record: fields::OBJECT_RECORD },
        };
        let (dumper, sizes) = (OnceLock::new(), OnceLock::new());
        Some(Self { dumper, options, is_verbose, sizes })
    }

    /// Looks how this JVM dumps its heap and lays out objects. (Only a thread of the JVM's may ask.)
    pub(crate) fn vm_init(&self, jvmti: Jvmti, jni: Jni<'_>) {
        if let Some(dumper) = HeapDumper::find(jni) {
            let _ = self.dumper.set(dumper);
        }
        if let Some(jvm) = jvmti.object_layout(jni) {
            let _ = self.sizes.set(Sizes::new(jvm, Image::of(jvmti)));
        }
    }

    /// Has the JVM dump its heap, and a thread write it meanwhile. `threads` are those of now; `arrays`
    /// is asked for the records
    /// of arrays, by address, while the JVM stands still.
    ///
    /// # Errors
    /// Why there is no dump, or only a part of one, for one line.
    pub(crate) fn write(
        &self,
        jni: Jni<'_>,
        recorder: &Mutex<Recorder>,
        threads: ThreadList,
        arrays: impl FnOnce() -> FxHashMap<u64, u32> + Send,
    ) -> Result<(), String> {
        let dumper = *self.dumper.get().ok_or("this JVM has no writer of dumps that perk knows")?;
        let sizes = self.sizes.get().ok_or("the JVM does not report its layout of objects")?;
        // The JVM creates it by its name, which nobody else may have put anything under.
        let temporary = PrivateFolder::create(&self.options.folder, ".perk-");
        let temporary = temporary.map_err(|error| {
            format!("no folder can be made in {}: {error}", self.options.folder.display())
        })?;
        let progress = |read_bytes: u64| {
            if self.is_verbose {
                os::say(&messages::heap_progress(read_bytes));
            }
        };
        let before = COLLECTIONS.load(Relaxed);
        let body = |file: &mut GrowingFile<'_>| {
            if !file.begins().map_err(|error| error.to_string())? {
                return Err("it is empty".to_owned());
            }
            let arrays = arrays();
            // Addresses of before or after are others.
            let has_moved = COLLECTIONS.load(Relaxed) != before;
            let arrays = if has_moved { FxHashMap::default() } else { arrays };
            lock(recorder).write_heap(file, &self.options, sizes, threads, arrays).map(drop)
        };
        run(dumper, jni, &temporary.path().join("heap"), &progress, body)
    }
}

/// Has the JVM dump its heap into a file, and another thread read it meanwhile.
fn run(
    dumper: HeapDumper,
    jni: Jni<'_>,
    file: &Path,
    progress: &(dyn Fn(u64) + Sync),
    body: impl FnOnce(&mut GrowingFile<'_>) -> Result<(), String> + Send,
) -> Result<(), String> {
    let is_complete = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut growing = GrowingFile::new(file, &is_complete, progress);
        let read = move || {
            let mut answer = Err("perk's thread that writes it has failed".to_owned());
            guard(Feature::Dumping, || answer = body(&mut growing));
            // Where it gave up before the end: the file must not fill the disk.
            let _ = io::copy(&mut growing, &mut io::sink());
            answer
        };
        let reader = os::without_signals(|| {
            thread::Builder::new().name("perk heap dump".to_owned()).spawn_scoped(scope, read)
        });
        let reader = reader.map_err(|error| format!("no thread can be started: {error}"))?;
        // The reader holds the recorder, and an exception of the JVM's loads classes.
        let written = unheard(|| dumper.dump(jni, file));
        is_complete.store(true, Release);
        let read = reader.join().unwrap_or_else(|_| Err("perk's thread has failed".to_owned()));
        // If nobody has opened it.
        let _ = fs::remove_file(file);
        written.and(read)
    })
}
