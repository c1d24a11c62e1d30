//! Heap dumps: the JVM writes its own dump, and a thread of the agent rewrites it record by record
//! at the same time, so that no part of the heap is held in memory.
//!
//! The JVM writes into a file that loses its name as soon as the thread has opened it, and whose
//! blocks are given back to the file system once they are read. (A pipe would not need a file, but
//! the JVM does not write to pipes. If the thread failed, the JVM, which stands still, would wait
//! for ever.)

mod context;
mod growing;
mod sizes;

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::Release};
use std::thread;
use std::{fs, io};

use perk_control::messages;
use perk_control::options::OutputFormat;
use perk_files::PrivateFolder;
use perk_hprof::heap::{HeapOptions, InjectedFields};
use perk_instrument::fields;
use perk_jvm::guard::{Feature, guard, unheard};
use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_jvm::{HeapDumper, Image, Jni};
use perk_profile::{ClassId, TraceId};
use rustc_hash::FxHashMap;

use self::context::{ObjectFacts, ThreadList};
use self::growing::GrowingFile;
use self::sizes::DumpSizes;
use super::{Analysis, Event, Needs, Order};
use crate::common::Common;

/// The class and trace of a record, as far as they are known.
pub(crate) type RecordSite = Option<(ClassId, TraceId)>;

/// The source of the records of objects.
pub(crate) trait ObjectRecords: Sync {
    /// Returns the records of arrays by address, as long as the JVM does not collect garbage.
    fn array_records(&self, jni: Jni<'_>) -> FxHashMap<u64, u32>;

    /// Runs `body` with the class and trace of each record, by its index.
    fn with_sites(&self, body: &mut dyn FnMut(&[RecordSite]));
}

/// The writer of heap dumps; see the module.
pub(crate) struct HeapDumps {
    common: &'static Common,
    records: Option<&'static dyn ObjectRecords>,
    dumper: OnceLock<HeapDumper>,
    heap_options: HeapOptions,
    sizes: OnceLock<DumpSizes>,
    /// The number of garbage collections that have begun; they may move objects.
    collections: AtomicU64,
}

impl HeapDumps {
    /// Makes the analysis; its temporary files go to `folder`.
    pub(crate) fn new(
        common: &'static Common,
        records: Option<&'static dyn ObjectRecords>,
        folder: &Path,
    ) -> Self {
        let options = &common.options;
        let heap_options = HeapOptions {
            with_traces: options.heap_sites && options.live && options.heap_sample_bytes.is_none(),
            primitive_fields: options.prim_fields,
            primitive_arrays: options.prim_arrays,
            lines: options.lineno,
            native_lines: options.format != OutputFormat::Ascii,
            folder: folder.to_owned(),
            own_fields: InjectedFields { prefix: fields::PREFIX, record: fields::OBJECT_RECORD },
        };
        Self {
            common,
            records,
            dumper: OnceLock::new(),
            heap_options,
            sizes: OnceLock::new(),
            collections: AtomicU64::new(0),
        }
    }

    /// Dumps the heap with the current threads.
    fn dump_with_threads(&self, jni: Jni<'_>) {
        let Common { jvmti, recorder, .. } = self.common;
        let turnover = lock(recorder).thread_turnover();
        let threads = jvmti.all_threads(jni).unwrap_or_default();
        let tids = threads.iter().map(|thread| jvmti.java_id(jni, thread)).collect();
        if let Err(reason) = self.write(jni, ThreadList { tids, turnover }) {
            os::say(&format!("HPROF ERROR: the heap cannot be dumped: {reason}\n"));
        }
    }

    /// Makes the JVM dump its heap, and a thread write it at the same time.
    fn write(&self, jni: Jni<'_>, threads: ThreadList) -> Result<(), String> {
        let dumper = *self.dumper.get().ok_or("this JVM has no writer of dumps that perk knows")?;
        let sizes = self.sizes.get().ok_or("the JVM does not report its layout of objects")?;
        let options = &self.heap_options;
        // The JVM creates the file by its name, so nobody else may have put anything under that
        // name.
        let temporary = PrivateFolder::create(&options.folder, ".perk-");
        let temporary = temporary.map_err(|error| {
            format!("no folder can be made in {}: {error}", options.folder.display())
        })?;
        let progress = |read_bytes: u64| {
            if self.common.options.verbose {
                os::say(&messages::heap_progress(read_bytes));
            }
        };
        let before = self.collections.load(Relaxed);
        let arrays = self.records.map(|records| records.array_records(jni));
        let body = |file: &mut GrowingFile<'_>| {
            if !file.begins().map_err(|error| error.to_string())? {
                return Err("it is empty".to_owned());
            }
            // The addresses are different before and after a move. The JVM stands still now.
            let has_moved = self.collections.load(Relaxed) != before;
            let arrays = arrays.filter(|_| !has_moved).unwrap_or_default();
            let recorder = &mut lock(self.common.recorder);
            let mut write = |sites: &[_], threads, arrays| {
                let objects = ObjectFacts { sites, arrays, sizes };
                context::write(recorder, file, options, threads, objects)
            };
            let Some(records) = self.records else { return write(&[], threads, arrays) };
            let (mut facts, mut written) = (Some((threads, arrays)), Ok(()));
            records.with_sites(&mut |sites| {
                if let Some((threads, arrays)) = facts.take() {
                    written = write(sites, threads, arrays);
                }
            });
            written
        };
        run(dumper, jni, &temporary.path().join("heap"), &progress, body)
    }
}

impl Analysis for HeapDumps {
    fn name(&self) -> Option<&'static str> {
        None
    }

    fn feature(&self) -> Feature {
        Feature::Dumping
    }

    fn task(&self) -> &'static str {
        "dump the heap"
    }

    fn needs(&self) -> Needs {
        let collections = self.records.map(|_| Event::CollectionStart);
        Needs { events: collections.into_iter().collect(), ..Needs::default() }
    }

    /// Determines how this JVM dumps its heap and lays out objects. (Only a thread of the JVM may
    /// ask.)
    fn prepare(&'static self, jni: Jni<'_>) {
        if let Some(dumper) = HeapDumper::find(jni) {
            let _ = self.dumper.set(dumper);
        }
        let jvmti = self.common.jvmti;
        if let Some(jvm) = jvmti.object_layout(jni) {
            let _ = self.sizes.set(DumpSizes::new(jvm, Image::of(jvmti)));
        }
    }

    fn collection_started(&self) {
        self.collections.fetch_add(1, Relaxed);
    }

    fn obey(&'static self, jni: Jni<'_>, order: Order) -> Result<(), String> {
        if let Order::DumpHeap = order {
            self.dump_with_threads(jni);
        }
        Ok(())
    }

    fn dump(&self, jni: Option<Jni<'_>>, _: bool) {
        if let Some(jni) = jni.filter(|_| self.common.options.heap_dump) {
            self.dump_with_threads(jni);
        }
    }
}

/// Makes the JVM dump its heap into a file, and another thread read it at the same time.
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
            // If the reader gave up before the end, the file must not fill the disk.
            let _ = io::copy(&mut growing, &mut io::sink());
            answer
        };
        let reader = os::without_signals(|| {
            thread::Builder::new().name("perk heap dump".to_owned()).spawn_scoped(scope, read)
        });
        let reader = reader.map_err(|error| format!("no thread can be started: {error}"))?;
        // The reader holds the recorder's lock, and an exception of the JVM loads classes.
        let written = unheard(|| dumper.dump(jni, file));
        is_complete.store(true, Release);
        let read = reader.join().unwrap_or_else(|_| Err("perk's thread has failed".to_owned()));
        // The file still exists if the reader has not opened it.
        let _ = fs::remove_file(file);
        written.and(read)
    })
}
