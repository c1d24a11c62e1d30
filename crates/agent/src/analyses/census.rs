//! The census of the program (`jamaica=y`): its threads, the objects that it can reach, and the
//! classes that it uses by reflection.

mod heap;
mod reflection;
mod shares;
mod threads;

use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock};

use perk_jamaica::metric;
use perk_jvm::guard::Feature;
use perk_jvm::os;
use perk_jvm::sync::lock;
use perk_jvm::{Jni, MethodRef, ObjectRef};
use perk_jvmti_sys::Capability;
use perk_profile::{Allocations, TraceId, Unit, names};
use rustc_hash::FxHashMap;

use self::heap::HeapCensus;
use self::reflection::ReflectionCensus;
use self::shares::Shares;
use self::threads::ThreadCensus;
use super::books::jamaica::JamaicaBook;
use super::{Analysis, Event, Needs};
use crate::common::Common;
use crate::threads::LiveThread;

/// The analysis; see the module.
#[derive(Debug)]
pub(crate) struct Census {
    common: &'static Common,
    book: &'static JamaicaBook,
    threads: ThreadCensus,
    shares: Shares,
    heap: OnceLock<Option<Mutex<HeapCensus>>>,
    reflection: ReflectionCensus,
    /// The traces that represent threads, by name.
    traces: Mutex<FxHashMap<String, TraceId>>,
}

impl Census {
    pub(crate) fn new(common: &'static Common, book: &'static JamaicaBook) -> Self {
        Self {
            common,
            book,
            threads: ThreadCensus::default(),
            shares: Shares::new(common),
            heap: OnceLock::new(),
            reflection: ReflectionCensus::new(common),
            traces: Mutex::default(),
        }
    }

    /// Books the objects that can be reached now.
    fn book_heap(&self, jni: Jni<'_>) -> Result<(), String> {
        let heap = self.heap.get().and_then(Option::as_ref);
        let heap = heap.ok_or("this JVM has no histogram that perk knows")?;
        let found = lock(heap).take(self.common, jni)?;
        let (recorder, book) = (&mut lock(self.common.recorder), self.book);
        let system = recorder.profile.system_trace();
        book.book_live(found.classes.into_iter().map(|it| {
            let (live_count, live_bytes) = (it.count, it.bytes);
            (it.class, system, Allocations { live_count, live_bytes, ..Allocations::default() })
        }));
        for (class, loader) in found.loaders {
            book.book_loader(recorder, &class, &loader);
        }
        book.set(metric::HEAP_REFERENCES, Unit::Count, system, found.reference_count);
        book.set(metric::HEAP_WORDS, Unit::Count, system, found.word_count);
        Ok(())
    }

    /// Books the classes that the program uses by reflection.
    fn book_reflection(&self, jni: Jni<'_>) {
        for trace in self.reflection.classes(jni) {
            self.book.set(metric::REFLECTION, Unit::Count, trace, 1);
        }
    }

    /// Books the methods of which the JVM has compiled code.
    fn book_compiled(&self, jni: Jni<'_>) {
        let jvmti = self.common.jvmti;
        let name = |method| {
            let class = jvmti.declaring_class(jni, method).ok()?;
            let class = names::from_signature(&jvmti.class_signature(&class).ok()?);
            let (name, descriptor) = jvmti.method_name(method).ok()?;
            Some(format!("{class}.{name}{descriptor}"))
        };
        let compiled = self.shares.compiled_methods().into_iter().filter_map(name).collect();
        self.book.set_compiled(compiled);
    }

    /// Books the threads up to now.
    fn book_threads(&self, jni: Jni<'_>) {
        let (most_alive, threads) = self.threads.take(self.common, jni);
        let rate = self.common.cycles.rate();
        let mut recorder = lock(self.common.recorder);
        let system = recorder.profile.system_trace();
        self.book.set(metric::THREADS, Unit::Count, system, most_alive as u64);
        for (name, it) in threads {
            let mut traces = lock(&self.traces);
            let trace =
                *traces.entry(name).or_insert_with_key(|name| recorder.new_trace_of_threads(name));
            self.book.add(metric::THREAD_CYCLES, Unit::Count, trace, rate.cycles(it.cpu_ns));
            let set = |name, unit, number| self.book.set(name, unit, trace, number);
            set(metric::THREAD_PRIORITY, Unit::Count, it.priority.into());
            set(metric::C_STACK, Unit::Bytes, it.stack_bytes as u64);
            for (name, share) in metric::THREAD_SHARES.into_iter().zip(it.shares()) {
                set(name, Unit::Count, share);
            }
        }
    }
}

impl Analysis for Census {
    fn name(&self) -> Option<&'static str> {
        None
    }

    fn feature(&self) -> Feature {
        Feature::Dumping
    }

    fn task(&self) -> &'static str {
        "count threads and live objects"
    }

    fn needs(&self) -> Needs {
        Needs {
            events: vec![Event::NativeBind, Event::Compiled, Event::CodeDropped],
            capabilities: vec![Capability::CanGetBytecodes, Capability::CanGetConstantPool],
            ..Needs::default()
        }
    }

    fn prepare(&'static self, jni: Jni<'_>) {
        let _ = self.heap.set(HeapCensus::new(self.common, jni).map(Mutex::new));
    }

    fn thread_began(&self, thread: &Arc<LiveThread>) {
        self.threads.began(thread);
    }

    fn thread_ended(&self, jni: Jni<'_>, thread: ObjectRef<'_>, known: Option<&LiveThread>) {
        if let Some(known) = known {
            self.threads.ended(self.common, jni, thread, known);
        }
    }

    fn begin(&'static self, jni: Jni<'_>) -> Result<(), String> {
        self.reflection.begin(jni);
        self.shares.start(self, jni)
    }

    fn compiled(&self, method: MethodRef) {
        self.shares.compiled(method);
    }

    fn code_dropped(&self, method: MethodRef) {
        self.shares.dropped(method);
    }

    fn stop(&self) {
        self.shares.stop();
    }

    fn native_bound(
        &'static self,
        jni: Jni<'_>,
        method: MethodRef,
        function: *mut c_void,
    ) -> Option<*mut c_void> {
        self.reflection.native_bound(jni, method, function)
    }

    fn dump(&self, jni: Option<Jni<'_>>, _: bool) {
        let Some(jni) = jni else { return };
        self.book_compiled(jni);
        self.book_threads(jni);
        self.book_reflection(jni);
        if let Err(reason) = self.book_heap(jni) {
            os::say(&format!("HPROF ERROR: the live objects cannot be counted: {reason}\n"));
        }
    }
}
