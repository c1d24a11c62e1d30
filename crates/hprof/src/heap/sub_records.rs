//! The sub-records of heap dumps: their tags, lengths and contents.

use super::records::{Root, RootKind, number};
use super::{ClassDump, JavaStack};

/// Tags of sub-records.
pub mod sub {
    /// A root for an unknown reason.
    pub const UNKNOWN: u8 = 0xFF;
    /// A root: a global JNI reference.
    pub const JNI_GLOBAL: u8 = 0x01;
    /// A root: a local JNI reference.
    pub const JNI_LOCAL: u8 = 0x02;
    /// A root: a local variable.
    pub const JAVA_FRAME: u8 = 0x03;
    /// A root: native code of a thread.
    pub const NATIVE_STACK: u8 = 0x04;
    /// A root: a class of the JVM's own.
    pub const STICKY_CLASS: u8 = 0x05;
    /// A root: a blocked thread.
    pub const THREAD_BLOCK: u8 = 0x06;
    /// A root: a monitor in use.
    pub const MONITOR: u8 = 0x07;
    /// A root: a living thread.
    pub const THREAD: u8 = 0x08;
    /// CLASS DUMP.
    pub const CLASS: u8 = 0x20;
    /// INSTANCE DUMP.
    pub const INSTANCE: u8 = 0x21;
    /// OBJECT ARRAY DUMP.
    pub const OBJECT_ARRAY: u8 = 0x22;
    /// PRIMITIVE ARRAY DUMP.
    pub const PRIMITIVE_ARRAY: u8 = 0x23;

    /// Android, a root: an interned string.
    pub const INTERNED_STRING: u8 = 0x89;
    /// Android, a root: an object to be finalized.
    pub const FINALIZING: u8 = 0x8A;
    /// Android, a root: a debugger.
    pub const DEBUGGER: u8 = 0x8B;
    /// Android, a root: a reference to be put into a queue.
    pub const REFERENCE_CLEANUP: u8 = 0x8C;
    /// Android, a root: the runtime itself.
    pub const VM_INTERNAL: u8 = 0x8D;
    /// Android, a root: a monitor that native code has entered.
    pub const JNI_MONITOR: u8 = 0x8E;
    /// Android: an unreachable object.
    pub const UNREACHABLE: u8 = 0x90;
    /// Android: a primitive array without its elements.
    pub const PRIMITIVE_ARRAY_NODATA: u8 = 0xC3;
    /// Android: the heap of the objects that follow.
    pub const HEAP_DUMP_INFO: u8 = 0xFE;

    /// Whether sub-records have this tag, but records do not.
    pub(crate) fn is_no_record(tag: u8) -> bool {
        matches!(tag, CLASS..=PRIMITIVE_ARRAY | THREAD | UNKNOWN)
    }
}

/// Returns the size of a root in bytes, including its tag. Android has further kinds.
pub(super) fn root_bytes(tag: u8, id_bytes: usize, is_android: bool) -> Option<usize> {
    let rest = match tag {
        sub::JNI_MONITOR if is_android => 8,
        sub::INTERNED_STRING
        | sub::FINALIZING
        | sub::DEBUGGER
        | sub::REFERENCE_CLEANUP
        | sub::VM_INTERNAL
        | sub::UNREACHABLE
            if is_android =>
        {
            0
        }
        sub::UNKNOWN | sub::STICKY_CLASS | sub::MONITOR => 0,
        sub::JNI_GLOBAL => id_bytes,
        sub::JNI_LOCAL | sub::JAVA_FRAME | sub::THREAD => 8,
        sub::NATIVE_STACK | sub::THREAD_BLOCK => 4,
        _ => return None,
    };
    Some(1 + id_bytes + rest)
}

/// Reads the root with this tag, from its id on.
pub(super) fn root(tag: u8, mut fields: Fields<'_>) -> Root {
    let id = fields.id();
    let mut stack = || JavaStack { thread_serial: fields.u4(), depth: fields.u4() };
    let kind = match tag {
        sub::JNI_LOCAL => RootKind::JniLocal(stack()),
        sub::JAVA_FRAME => RootKind::JavaFrame(stack()),
        sub::JNI_GLOBAL => RootKind::JniGlobal(fields.id()),
        sub::NATIVE_STACK => RootKind::NativeStack(fields.u4()),
        sub::STICKY_CLASS => RootKind::StickyClass,
        sub::THREAD_BLOCK => RootKind::ThreadBlock(fields.u4()),
        sub::MONITOR => RootKind::Monitor,
        sub::INTERNED_STRING => RootKind::InternedString,
        sub::FINALIZING => RootKind::Finalizing,
        sub::DEBUGGER => RootKind::Debugger,
        sub::REFERENCE_CLEANUP => RootKind::ReferenceCleanup,
        sub::VM_INTERNAL => RootKind::VmInternal,
        sub::JNI_MONITOR => RootKind::JniMonitor(stack()),
        sub::UNREACHABLE => RootKind::Unreachable,
        sub::THREAD => RootKind::Thread { serial: fields.u4(), trace: fields.u4() },
        _ => RootKind::Unknown,
    };
    Root { id, kind }
}

/// The ends of the tables of a class, counted from its tag.
pub(super) struct ClassParts {
    pub(super) constants: usize,
    pub(super) statics: usize,
    pub(super) end: usize,
}

/// Reads a class from its bytes, which begin with its tag.
pub(super) fn class(bytes: &[u8], id_bytes: usize, parts: ClassParts) -> ClassDump<'_> {
    let mut fields = Fields { rest: &bytes[1..], id_bytes };
    let (id, trace, superclass, loader) = (fields.id(), fields.u4(), fields.id(), fields.id());
    let (signers, domain, _, _) = (fields.id(), fields.id(), fields.id(), fields.id());
    let instance_bytes = fields.u4();
    let begin = bytes.len() - fields.rest.len();
    ClassDump {
        id,
        trace,
        superclass,
        loader,
        signers,
        domain,
        instance_bytes,
        constants: &bytes[begin + 2..parts.constants],
        statics: &bytes[parts.constants + 2..parts.statics],
        fields: &bytes[parts.statics + 2..parts.end],
        id_bytes,
    }
}

/// The fields of a record whose length has been checked.
pub(super) struct Fields<'a> {
    pub(super) rest: &'a [u8],
    pub(super) id_bytes: usize,
}

impl Fields<'_> {
    #[inline]
    pub(super) fn u4(&mut self) -> u32 {
        let (bytes, rest) = self.rest.split_at(4);
        self.rest = rest;
        number(bytes) as u32
    }

    #[inline]
    pub(super) fn id(&mut self) -> u64 {
        let (bytes, rest) = self.rest.split_at(self.id_bytes);
        self.rest = rest;
        number(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_roots_have_the_tags_that_they_are_read_from() {
        let bytes = [0; 17];
        let is_root = |&tag: &u8| root_bytes(tag, 8, true).is_some();
        let tags: Vec<u8> = (0..=u8::MAX).filter(is_root).collect();
        assert_eq!(tags.len(), 16);
        for tag in tags {
            assert_eq!(root(tag, Fields { rest: &bytes, id_bytes: 8 }).kind.tag(), tag);
        }
    }
}
