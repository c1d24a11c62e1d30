//! Facts about HotSpot beyond the specifications: its layout of objects ([`layout`]), the
//! annotations that it respects ([`annotations`]), the walk of its stacks by its exported tables
//! ([`vm`]), and the differences between versions.
//!
//! This crate does not query a JVM. The agent does so and passes the results, or, for walks, the
//! means to read memory.
#![forbid(unsafe_code)]

pub mod annotations;
pub mod layout;
pub mod vm;

use std::ffi::CStr;

/// The classes of the fillers, with which the JVM fills gaps of the heap, from
/// [`since::FILLER_CLASSES`] on. They are not allocated by the program. In the JVM's heap dumps,
/// filler arrays do not have a class: they are written as `int[]`.
pub const FILLER_CLASSES: [&str; 3] = [
    "jdk.internal.vm.FillerObject",
    "jdk.internal.vm.FillerElement[]",
    // In JDK 19 and 20.
    "jdk.internal.vm.FillerArray",
];

/// The classes of fillers in older versions. Programs use these classes, too.
pub const SHARED_FILLER_CLASSES: [&CStr; 2] = [c"[I", c"java/lang/Object"];

/// The classes whose instances are larger than their fields. In an instance of `java.lang.Class`,
/// the fields are followed by the static fields of the class that it represents; in a `StackChunk`,
/// by stack frames.
pub const CLASSES_WITH_OWN_SIZES: [&str; 2] = ["java.lang.Class", "jdk.internal.vm.StackChunk"];

/// The classes, in some version, whose instances are larger than the fields that heap dumps give, and
/// so are those of the classes below them: HotSpot adds fields of its own, or keeps contended fields
/// apart from others.
pub const CLASSES_WITH_HIDDEN_BYTES: [&str; 19] = [
    "java.lang.Class",
    "java.lang.ClassLoader",
    "java.lang.InternalError",
    "java.lang.Module",
    "java.lang.StackFrameInfo",
    "java.lang.String",
    "java.lang.Thread",
    "java.lang.VirtualThread",
    "java.lang.invoke.CallSite",
    "java.lang.invoke.MemberName",
    "java.lang.invoke.MethodHandleNatives$CallSiteContext",
    "java.lang.invoke.ResolvedMethodName",
    "java.util.concurrent.ConcurrentHashMap$CounterCell",
    "java.util.concurrent.Exchanger$Node",
    "java.util.concurrent.ForkJoinPool",
    "java.util.concurrent.ForkJoinPool$WorkQueue",
    "java.util.concurrent.SubmissionPublisher$BufferedSubscription",
    "java.util.concurrent.atomic.Striped64$Cell",
    "jdk.internal.vm.StackChunk",
];

/// Of these the class that has one pointer more in all versions. It has no instances itself.
pub const CLASS_WITH_HIDDEN_POINTER: &str = "java.lang.ClassLoader";

/// The flags of the collectors whose references are plain addresses.
pub const PLAIN_ADDRESS_FLAGS: [&CStr; 3] = [c"UseSerialGC", c"UseParallelGC", c"UseG1GC"];

/// The beginnings of the names of the threads that collect garbage and do nothing else, with all
/// collectors of JDK 17 to 25. The operating system has 15 bytes of each name.
pub const GC_THREADS: [&str; 12] = [
    "GC Thread#",
    "G1 ",
    "Shenandoah",
    "ZDirector",
    "ZDriver",
    "ZStat",
    "ZUn",
    "ZWorker",
    "XDirector",
    "XDriver",
    "XStat",
    "XWorker",
];

/// The name of the thread that executes the JVM's operations. With the serial collector it collects
/// garbage.
pub const VM_THREAD: &str = "VM Thread";

/// The first feature versions with certain behaviours of the JVM.
pub mod since {
    /// Fillers of the heap have classes of their own.
    pub const FILLER_CLASSES: u32 = 19;
    /// Heap dumps have roots for the objects that parked virtual threads refer to.
    pub const PARKED_FRAMES_IN_DUMPS: u32 = 22;
    /// JVMTI reports the monitors of virtual threads. JDK 21 and 22 return references of the
    /// carrier instead of the calling thread, which are not valid there.
    pub const MONITORS_OF_VIRTUAL_THREADS: u32 = 23;
    /// `GetObjectMonitorUsage` looks at the object of each thread, which one that attaches does not have.
    pub const THREADS_IN_MONITOR_USAGE: u32 = 23;
}
