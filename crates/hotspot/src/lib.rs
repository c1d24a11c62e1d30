//! What is known of HotSpot beyond the specifications: how it lays out objects ([`layout`]), which
//! annotations it heeds ([`annotations`]), and what differs from version to version.
//!
//! Nothing in here asks a JVM: the agent does, and passes what it has found.
#![forbid(unsafe_code)]

pub mod annotations;
pub mod layout;

use std::ffi::CStr;

/// The classes of what the JVM fills gaps of the heap with, from [`since::FILLER_CLASSES`] on. No
/// program has allocated it. In the JVM's heap dumps its arrays have no class: it writes them as
/// `int[]`.
pub const FILLER_CLASSES: [&str; 3] = [
    "jdk.internal.vm.FillerObject",
    "jdk.internal.vm.FillerElement[]",
    // JDK 19 and 20.
    "jdk.internal.vm.FillerArray",
];

/// The classes of fillers before, which programs use, too.
pub const SHARED_FILLER_CLASSES: [&CStr; 2] = [c"[I", c"java/lang/Object"];

/// Instances of these are larger than their fields: after the fields of `java.lang.Class` are the
/// static fields of the class that an instance stands for, and after those of `StackChunk` are stack
/// frames.
pub const CLASSES_WITH_OWN_SIZES: [&str; 2] = ["java.lang.Class", "jdk.internal.vm.StackChunk"];

/// The flags of the collectors whose references are plain addresses.
pub const PLAIN_ADDRESS_FLAGS: [&CStr; 3] = [c"UseSerialGC", c"UseParallelGC", c"UseG1GC"];

/// The feature versions from which on the JVM does something.
pub mod since {
    /// Fillers of the heap have classes of their own.
    pub const FILLER_CLASSES: u32 = 19;
    /// Heap dumps have roots for what parked virtual threads refer to.
    pub const PARKED_FRAMES_IN_DUMPS: u32 = 22;
    /// JVMTI reports the monitors of virtual threads. JDK 21 and 22 answer with references of the
    /// carrier and not of the thread that asks, which are not valid there.
    pub const MONITORS_OF_VIRTUAL_THREADS: u32 = 23;
}
