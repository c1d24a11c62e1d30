//! What holds objects from outside the heap.

use serde::{Deserialize, Serialize};

use crate::ObjectId;

/// A root: an object that the JVM itself holds. An object held by several kinds has a root for
/// each, once per kind and thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The object.
    pub object: ObjectId,
    /// The reason.
    pub kind: RootKind,
    /// The number of the thread in [`Heap::threads`](crate::Heap::threads), for the kinds that have
    /// one. Where the dump has the thread's object, that object holds these roots.
    pub thread: Option<usize>,
}

/// The kinds of roots, the most telling first: an object below several is counted with the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RootKind {
    /// As the `java.lang.Thread` of a living thread; also what its frames hold, where the dump has
    /// that object.
    Thread,
    /// By a local variable of a frame.
    JavaFrame,
    /// By a local JNI reference.
    JniLocal,
    /// By native code of a thread.
    NativeStack,
    /// By a thread that is blocked.
    ThreadBlock,
    /// As a class of the JVM's own; also the classes of primitive arrays, which files do not list.
    StickyClass,
    /// By a global JNI reference.
    JniGlobal,
    /// As a monitor in use.
    Monitor,
    /// As a monitor that native code has entered (Android).
    JniMonitor,
    /// Until its finalizer has run (Android).
    Finalizing,
    /// Until its reference is put into a queue (Android).
    ReferenceCleanup,
    /// By a debugger (Android).
    Debugger,
    /// By the runtime itself (Android).
    VmInternal,
    /// As an interned string (Android).
    InternedString,
    /// For an unknown reason.
    Unknown,
    /// As the root of a tree of unreachable objects
    /// ([`Options::keep_unreachable`](crate::Options::keep_unreachable)).
    Unreachable,
}

impl RootKind {
    /// All kinds, in their order.
    pub const ALL: [Self; 16] = [
        Self::Thread,
        Self::JavaFrame,
        Self::JniLocal,
        Self::NativeStack,
        Self::ThreadBlock,
        Self::StickyClass,
        Self::JniGlobal,
        Self::Monitor,
        Self::JniMonitor,
        Self::Finalizing,
        Self::ReferenceCleanup,
        Self::Debugger,
        Self::VmInternal,
        Self::InternedString,
        Self::Unknown,
        Self::Unreachable,
    ];

    /// Returns the name of the kind, as HPROF's text has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::JavaFrame => "Java stack",
            Self::JniLocal => "JNI local ref",
            Self::NativeStack => "native stack",
            Self::ThreadBlock => "thread block",
            Self::StickyClass => "system class",
            Self::JniGlobal => "JNI global ref",
            Self::Monitor => "busy monitor",
            Self::JniMonitor => "JNI monitor",
            Self::Finalizing => "finalizing",
            Self::ReferenceCleanup => "reference cleanup",
            Self::Debugger => "debugger",
            Self::VmInternal => "VM internal",
            Self::InternedString => "interned string",
            Self::Unknown => "unknown",
            Self::Unreachable => "tree of garbage",
        }
    }

    /// Returns the kind of a root of a file, if it holds its object.
    pub(crate) fn of_file(kind: perk_hprof::heap::RootKind) -> Option<Self> {
        use perk_hprof::heap::RootKind as Kind;
        Some(match kind {
            Kind::Unknown => Self::Unknown,
            Kind::JniGlobal(_) => Self::JniGlobal,
            Kind::JniLocal(_) => Self::JniLocal,
            Kind::JavaFrame(_) => Self::JavaFrame,
            Kind::NativeStack(_) => Self::NativeStack,
            Kind::StickyClass => Self::StickyClass,
            Kind::ThreadBlock(_) => Self::ThreadBlock,
            Kind::Monitor => Self::Monitor,
            Kind::Thread { .. } => Self::Thread,
            Kind::InternedString => Self::InternedString,
            Kind::Finalizing => Self::Finalizing,
            Kind::Debugger => Self::Debugger,
            Kind::ReferenceCleanup => Self::ReferenceCleanup,
            Kind::VmInternal => Self::VmInternal,
            Kind::JniMonitor(_) => Self::JniMonitor,
            Kind::Unreachable => return None,
        })
    }
}
