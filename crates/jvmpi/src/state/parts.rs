//! The parts of the state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::CString;
use std::ptr::null_mut;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
};
use std::sync::{Arc, Condvar, Mutex, OnceLock, RwLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use perk_jvm::os::Tid;
use perk_jvm::{MethodRef, ObjectField};
use perk_jvmti_sys::jni_sys::JNIInvokeInterface_;
use perk_jvmti_sys::jvmpi::JVMPI_MAX_EVENT_TYPE_VAL;
use rustc_hash::FxBuildHasher;

use super::entries::{
    CHUNKS, Calls, Chunk, CodeChange, FileKey, HandlerThread, InterfaceTable, Notify, Originals,
    Tables,
};
use crate::id::Id;
use crate::raw_monitors::place::{BLOCKS, MonitorSlot};

/// The number of kinds of events, with those that do not exist.
pub(crate) const KINDS: usize = JVMPI_MAX_EVENT_TYPE_VAL as usize + 1;

/// The account.
#[derive(Debug)]
pub(crate) struct AccountState {
    /// The number of hidden classes at the JVM's end.
    pub(crate) hidden_classes: AtomicU64,
    pub(crate) is_printed: AtomicBool,
}

impl AccountState {
    pub(super) const fn new() -> Self {
        Self { hidden_classes: AtomicU64::new(0), is_printed: AtomicBool::new(false) }
    }
}

/// What is perk's own.
#[derive(Debug)]
pub(crate) struct OwnCode {
    /// The methods of perk's own that run on the program's threads. Their frames are left out.
    pub(crate) hidden: OnceLock<Vec<MethodRef>>,
}

impl OwnCode {
    pub(super) const fn new() -> Self {
        Self { hidden: OnceLock::new() }
    }
}

/// Class files.
#[derive(Debug)]
pub(crate) struct ClassFiles {
    /// The files that the agent made of others, by `key`. When a class that is loaded is transformed, the
    /// JVM begins with the file that it had before the agent.
    pub(crate) changed: Mutex<BTreeMap<FileKey, Vec<u8>>>,
}

impl ClassFiles {
    pub(super) const fn new() -> Self {
        Self { changed: Mutex::new(BTreeMap::new()) }
    }
}

/// Compiled methods.
#[derive(Debug)]
pub(crate) struct CompiledMethods {
    pub(crate) queue: Mutex<VecDeque<CodeChange>>,
    /// The addresses of the code that the agent knows, as the JVM may report one twice when it is asked
    /// for what is there.
    pub(crate) known: Mutex<BTreeSet<usize>>,
    pub(crate) is_on: AtomicBool,
    /// The addresses of the code whose COMPILED_METHOD_LOAD was not sent.
    pub(crate) unreported: Mutex<BTreeSet<usize>>,
}

impl CompiledMethods {
    pub(super) const fn new() -> Self {
        Self {
            queue: Mutex::new(VecDeque::new()),
            known: Mutex::new(BTreeSet::new()),
            is_on: AtomicBool::new(false),
            unreported: Mutex::new(BTreeSet::new()),
        }
    }
}

/// Contended monitors.
#[derive(Debug)]
pub(crate) struct Contention {
    /// The number of threads that wait to enter a monitor, by its object.
    pub(crate) waiting: Mutex<Vec<(Id, usize)>>,
    /// The number of objects there.
    pub(crate) objects: AtomicUsize,
}

impl Contention {
    pub(super) const fn new() -> Self {
        Self { waiting: Mutex::new(Vec::new()), objects: AtomicUsize::new(0) }
    }
}

/// The CPU time of the bridge's own work.
#[derive(Debug)]
pub(crate) struct Cpu {
    pub(crate) is_on: AtomicBool,
    pub(crate) own_ns: AtomicI64,
    pub(crate) cost_ns: OnceLock<u64>,
}

impl Cpu {
    pub(super) const fn new() -> Self {
        Self { is_on: AtomicBool::new(false), own_ns: AtomicI64::new(0), cost_ns: OnceLock::new() }
    }
}

/// Collections of garbage.
#[derive(Debug)]
pub(crate) struct Collections {
    /// The number of collections that the JVM has reported, except the bridge's own.
    pub(crate) collections: AtomicU64,
    /// Whether the bridge itself has the JVM collect.
    pub(crate) is_own: AtomicBool,
    /// The ids whose objects are gone, until the next bracket.
    pub(crate) freed: Mutex<Vec<Id>>,
    /// Is held while `RunGC` has the JVM collect, and while the bridge walks the heap for a bracket. A walk while
    /// ZGC or Shenandoah of JDK 17 marks keeps all dead objects alive that have ids: `RunGC` would end none.
    pub(crate) collecting: Mutex<()>,
    /// The number of events of brackets that were sent, as a sign of life.
    pub(crate) steps: AtomicU64,
}

impl Collections {
    pub(super) const fn new() -> Self {
        Self {
            collections: AtomicU64::new(0),
            is_own: AtomicBool::new(false),
            freed: Mutex::new(Vec::new()),
            collecting: Mutex::new(()),
            steps: AtomicU64::new(0),
        }
    }
}

/// One bracket.
#[derive(Debug)]
pub(crate) struct Bracket {
    pub(crate) service: OnceLock<Option<Tid>>,
    /// The last count of objects: when, how long it took, the number.
    pub(crate) count: Mutex<Option<(Instant, Duration, u64)>>,
}

impl Bracket {
    pub(super) const fn new() -> Self {
        Self { service: OnceLock::new(), count: Mutex::new(None) }
    }
}

/// What holds brackets back.
#[derive(Debug)]
pub(crate) struct Hold {
    /// `DisableGC` less `EnableGC`.
    pub(crate) held: AtomicI64,
    /// The number of requests for dumps that are under way.
    pub(crate) dumps: AtomicU32,
    /// Whether a bracket is under way.
    pub(crate) is_open: AtomicBool,
    /// Whether it is in a handler of the agent's.
    pub(crate) is_handled: AtomicBool,
    /// The threads that have been in a handler or have called `DisableGC`.
    pub(crate) threads: Mutex<Vec<Arc<HandlerThread>>>,
}

impl Hold {
    pub(super) const fn new() -> Self {
        Self {
            held: AtomicI64::new(0),
            dumps: AtomicU32::new(0),
            is_open: AtomicBool::new(false),
            is_handled: AtomicBool::new(false),
            threads: Mutex::new(Vec::new()),
        }
    }
}

/// The thread that sends brackets.
#[derive(Debug)]
pub(crate) struct GcThread {
    /// The thread's handle, once it runs.
    pub(crate) handle: OnceLock<Thread>,
    /// The thread's number in the system.
    pub(crate) tid: OnceLock<Tid>,
    pub(crate) is_required: AtomicBool,
    /// Whether a bracket waits for its begin, or is under way.
    pub(crate) is_due: AtomicBool,
    /// Whether it waits for `EnableGC`.
    pub(crate) is_waiting: AtomicBool,
    /// The number of collections whose bracket has ended.
    pub(crate) reported: AtomicU64,
    /// The number of brackets that were asked for by `deliver`.
    pub(crate) asked: AtomicU64,
    /// The number of those that have ended.
    pub(crate) answered: Mutex<u64>,
    pub(crate) changed: Condvar,
}

impl GcThread {
    pub(super) const fn new() -> Self {
        Self {
            handle: OnceLock::new(),
            tid: OnceLock::new(),
            is_required: AtomicBool::new(false),
            is_due: AtomicBool::new(false),
            is_waiting: AtomicBool::new(false),
            reported: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            answered: Mutex::new(0),
            changed: Condvar::new(),
        }
    }
}

/// Instructions.
#[derive(Debug)]
pub(crate) struct Instructions {
    /// The keys of each `lookupswitch` that has a probe.
    pub(crate) keys: Mutex<Vec<Box<[i32]>>>,
    pub(crate) is_said: AtomicBool,
}

impl Instructions {
    pub(super) const fn new() -> Self {
        Self { keys: Mutex::new(Vec::new()), is_said: AtomicBool::new(false) }
    }
}

/// The interface to the agent.
#[derive(Debug)]
pub(crate) struct Interface {
    /// The table of functions, once an agent has asked for it.
    pub(crate) table: OnceLock<InterfaceTable>,
    /// The JVM's own functions.
    pub(crate) original: AtomicPtr<JNIInvokeInterface_>,
    /// The functions that agents had set when `GetEnv` was called again: another agent's, perhaps.
    pub(crate) set_before: Mutex<Vec<Notify>>,
}

impl Interface {
    pub(super) const fn new() -> Self {
        Self {
            table: OnceLock::new(),
            original: AtomicPtr::new(null_mut()),
            set_before: Mutex::new(Vec::new()),
        }
    }
}

/// The lines of methods.
#[derive(Debug)]
pub(crate) struct MethodLines {
    pub(crate) tables: RwLock<Tables>,
    /// How often the tables were forgotten: what was read before is not kept.
    pub(crate) forgotten: AtomicU64,
}

impl MethodLines {
    pub(super) const fn new() -> Self {
        Self {
            tables: RwLock::new(Tables::with_hasher(FxBuildHasher)),
            forgotten: AtomicU64::new(0),
        }
    }
}

/// Calls of methods.
#[derive(Debug)]
pub(crate) struct AllCalls {
    /// Whether the agent has ever enabled an event of entries: it gets the exits of the entries that were sent.
    /// Otherwise it gets all exits.
    pub(crate) wants_pairs: AtomicBool,
    /// The calls of all threads.
    pub(crate) all: Mutex<Vec<Arc<Calls>>>,
    pub(crate) last_serial: AtomicU32,
    /// The numbers of threads that have ended.
    pub(crate) ended_entries: AtomicU64,
    pub(crate) ended_exits: AtomicU64,
    pub(crate) ended_passed: AtomicU64,
}

impl AllCalls {
    pub(super) const fn new() -> Self {
        Self {
            wants_pairs: AtomicBool::new(false),
            all: Mutex::new(Vec::new()),
            last_serial: AtomicU32::new(0),
            ended_entries: AtomicU64::new(0),
            ended_exits: AtomicU64::new(0),
            ended_passed: AtomicU64::new(0),
        }
    }
}

/// The numbers that probes pass for methods.
#[derive(Debug)]
pub(crate) struct Numbers {
    pub(crate) table: [AtomicPtr<Chunk>; CHUNKS],
    pub(crate) next: AtomicU32,
}

impl Numbers {
    pub(super) const fn new() -> Self {
        Self { table: [const { AtomicPtr::new(null_mut()) }; CHUNKS], next: AtomicU32::new(0) }
    }
}

/// Probes.
#[derive(Debug)]
pub(crate) struct ProbeWishes {
    /// The probes that classes get as they are loaded.
    pub(crate) wanted: AtomicU8,
    /// The probes that all classes have.
    pub(crate) given: AtomicU8,
    /// Whether a thread gives probes to older classes now.
    pub(crate) is_preparing: AtomicBool,
    /// Whether the helper class is defined: some classes are loaded.
    pub(crate) has_begun: AtomicBool,
    pub(crate) is_known: AtomicBool,
    pub(crate) is_used: AtomicBool,
}

impl ProbeWishes {
    pub(super) const fn new() -> Self {
        Self {
            wanted: AtomicU8::new(0),
            given: AtomicU8::new(0),
            is_preparing: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
            is_known: AtomicBool::new(false),
            is_used: AtomicBool::new(false),
        }
    }
}

/// The events of methods from the JVM.
#[derive(Debug)]
pub(crate) struct VmMethods {
    /// How many times the events were switched off.
    pub(crate) pauses: AtomicU32,
    /// The last methods that were looked at, by the middle digits of their ids.
    pub(crate) known: OnceLock<Box<[AtomicUsize]>>,
}

impl VmMethods {
    pub(super) const fn new() -> Self {
        Self { pauses: AtomicU32::new(0), known: OnceLock::new() }
    }
}

/// The JVM's own functions of native methods that are exchanged; 0 until they are bound.
#[derive(Debug)]
pub(crate) struct Natives {
    /// The JVM's own, once the method is bound.
    pub(crate) sleep: AtomicUsize,
    pub(crate) redefine: AtomicUsize,
    pub(crate) retransform: AtomicUsize,
}

impl Natives {
    pub(super) const fn new() -> Self {
        Self {
            sleep: AtomicUsize::new(0),
            redefine: AtomicUsize::new(0),
            retransform: AtomicUsize::new(0),
        }
    }
}

/// The delivery of events.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// Announces the classes that the calling thread has prepared for the bridge.
    pub(crate) announce_noted: OnceLock<fn()>,
    pub(crate) phase: AtomicU8,
    /// A bit for each kind of event that the agent has enabled.
    pub(crate) enabled: AtomicU64,
    /// The number of events of each kind that were delivered.
    pub(crate) sent: [AtomicU64; KINDS],
    /// The number of those that were not, as they were the doing of a handler of the same kind.
    pub(crate) nested: [AtomicU64; KINDS],
    /// The number of those that were not, as JVM_SHUT_DOWN was sent or the agent has ended the process.
    pub(crate) late: [AtomicU64; KINDS],
    /// The number of delivered events of virtual threads, if `of_thread` knows of these.
    pub(crate) carried: [AtomicU64; KINDS],
}

impl Delivery {
    pub(super) const fn new() -> Self {
        Self {
            announce_noted: OnceLock::new(),
            phase: AtomicU8::new(0),
            enabled: AtomicU64::new(0),
            sent: [const { AtomicU64::new(0) }; KINDS],
            nested: [const { AtomicU64::new(0) }; KINDS],
            late: [const { AtomicU64::new(0) }; KINDS],
            carried: [const { AtomicU64::new(0) }; KINDS],
        }
    }
}

/// New objects.
#[derive(Debug)]
pub(crate) struct ObjectEvents {
    /// Whether the JVM reports new objects.
    pub(crate) is_on: AtomicBool,
    pub(crate) field: OnceLock<Option<ObjectField>>,
}

impl ObjectEvents {
    pub(super) const fn new() -> Self {
        Self { is_on: AtomicBool::new(false), field: OnceLock::new() }
    }
}

/// Raw monitors.
#[derive(Debug)]
pub(crate) struct RawMonitors {
    pub(crate) places: [OnceLock<Box<[MonitorSlot]>>; BLOCKS],
    /// How many places were ever used.
    pub(crate) used: AtomicU32,
    /// The places that can be used again.
    pub(crate) free: Mutex<Vec<usize>>,
    /// The names, which are kept: a dump or an event that another thread is about to read has them.
    pub(crate) names: Mutex<BTreeSet<CString>>,
}

impl RawMonitors {
    pub(super) const fn new() -> Self {
        Self {
            places: [const { OnceLock::new() }; BLOCKS],
            used: AtomicU32::new(0),
            free: Mutex::new(Vec::new()),
            names: Mutex::new(BTreeSet::new()),
        }
    }
}

/// Global references.
#[derive(Debug)]
pub(crate) struct Refs {
    pub(crate) originals: OnceLock<Originals>,
}

impl Refs {
    pub(super) const fn new() -> Self {
        Self { originals: OnceLock::new() }
    }
}

/// Requests of the agent.
#[derive(Debug)]
pub(crate) struct Requests {
    /// That of a method of `Object`; 0 while it is not known, 1 if the kernel does not copy memory.
    pub(crate) of_methods: AtomicUsize,
}

impl Requests {
    pub(super) const fn new() -> Self {
        Self { of_methods: AtomicUsize::new(0) }
    }
}

/// Suspensions.
#[derive(Debug)]
pub(crate) struct Suspension {
    /// Held while a thread is suspended or resumed.
    pub(crate) changing: Mutex<()>,
    /// The last number of a suspension.
    pub(crate) last: AtomicU64,
}

impl Suspension {
    pub(super) const fn new() -> Self {
        Self { changing: Mutex::new(()), last: AtomicU64::new(0) }
    }
}
