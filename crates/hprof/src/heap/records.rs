//! The contents of a file with heap dumps, record by record.

use super::{FieldType, Header, sub};

/// A record, or a sub-record of a heap dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// Another file begins: several were put one after the other.
    Header(Header),
    /// UTF8: a name, in modified UTF-8.
    Utf8 {
        /// The name's id.
        id: u64,
        /// Its bytes.
        bytes: &'a [u8],
    },
    /// LOAD CLASS.
    LoadClass {
        /// The class's serial number.
        serial: u32,
        /// The id of its class object.
        class: u64,
        /// The id of its name.
        name: u64,
    },
    /// STACK FRAME.
    Frame {
        /// The frame's id.
        id: u64,
        /// The id of the method's name.
        method: u64,
        /// The id of its signature.
        signature: u64,
        /// The id of the source file's name.
        source: u64,
        /// The serial number of the class.
        class_serial: u32,
        /// The line: above 0, or -1 unknown, -2 compiled, -3 native.
        line: i32,
    },
    /// STACK TRACE.
    Trace {
        /// The trace's serial number.
        serial: u32,
        /// The serial number of its thread, or 0 for none.
        thread_serial: u32,
        /// Its frames, the innermost first.
        frames: Ids<'a>,
    },
    /// HEAP DUMP or HEAP DUMP SEGMENT begins.
    Segment {
        /// The bytes of its sub-records.
        bytes: u64,
    },
    /// HEAP DUMP END, or the end of a HEAP DUMP.
    DumpEnd,
    /// The objects that follow belong to the heap with this name (Android has several).
    Heap {
        /// The id of its name.
        name: u64,
    },
    /// A root.
    Root(Root),
    /// A class.
    Class(ClassDump<'a>),
    /// An instance.
    Instance {
        /// Its id.
        id: u64,
        /// The serial number of its trace.
        trace: u32,
        /// The id of its class.
        class: u64,
        /// The values of its fields: those that its class declares, then those of the class above,
        /// and so on.
        values: &'a [u8],
    },
    /// An array and its first elements: all of them, unless [`Record::MoreElements`] follow.
    Array {
        /// Its id.
        id: u64,
        /// The serial number of its trace.
        trace: u32,
        /// The type of its elements.
        elements: Elements,
        /// The number of its elements.
        length: u32,
        /// The elements that are given here.
        bytes: &'a [u8],
    },
    /// More elements of the large array that came before.
    MoreElements(&'a [u8]),
    /// A record of another known kind.
    Body {
        /// Its tag.
        tag: u8,
        /// Its time stamp: microseconds from the date in the head, restored if it does not fit the
        /// 32 bits of the record.
        elapsed_us: u64,
        /// Its body.
        bytes: &'a [u8],
    },
    /// A record of an unknown kind, or of a size that its kind does not have, which is skipped.
    Other {
        /// Its tag.
        tag: u8,
        /// The size of its body, in bytes.
        bytes: u64,
    },
}

/// The type of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// References; the id of the array's class.
    Objects(u64),
    /// Values of a primitive type.
    Primitives(FieldType),
}

impl Elements {
    /// Returns the type of an element.
    pub fn field_type(self) -> FieldType {
        match self {
            Self::Objects(_) => FieldType::Object,
            Self::Primitives(element) => element,
        }
    }
}

/// An object that the JVM holds, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The object's id.
    pub id: u64,
    /// The reason why it is held.
    pub kind: RootKind,
}

/// The reason why the JVM holds an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootKind {
    /// For an unknown reason.
    Unknown,
    /// By a global JNI reference with this id.
    JniGlobal(u64),
    /// By a local JNI reference.
    JniLocal(JavaStack),
    /// By a local variable.
    JavaFrame(JavaStack),
    /// By native code of the thread with this serial number.
    NativeStack(u32),
    /// As a class of the JVM's own.
    StickyClass,
    /// By the thread with this serial number, which is blocked.
    ThreadBlock(u32),
    /// As a monitor in use.
    Monitor,
    /// As the `java.lang.Thread` of a living thread.
    Thread {
        /// The thread's serial number.
        serial: u32,
        /// The serial number of the trace that it is at.
        trace: u32,
    },
    /// Android: as an interned string.
    InternedString,
    /// Android: until its finalizer has run.
    Finalizing,
    /// Android: by a debugger.
    Debugger,
    /// Android: until its reference is put into a queue.
    ReferenceCleanup,
    /// Android: by the runtime itself.
    VmInternal,
    /// Android: as a monitor that native code has entered.
    JniMonitor(JavaStack),
    /// Android: not at all. The runtime found the object unreachable.
    Unreachable,
}

impl RootKind {
    /// Returns the tag of the sub-record.
    pub fn tag(self) -> u8 {
        match self {
            Self::Unknown => sub::UNKNOWN,
            Self::JniGlobal(_) => sub::JNI_GLOBAL,
            Self::JniLocal(_) => sub::JNI_LOCAL,
            Self::JavaFrame(_) => sub::JAVA_FRAME,
            Self::NativeStack(_) => sub::NATIVE_STACK,
            Self::StickyClass => sub::STICKY_CLASS,
            Self::ThreadBlock(_) => sub::THREAD_BLOCK,
            Self::Monitor => sub::MONITOR,
            Self::Thread { .. } => sub::THREAD,
            Self::InternedString => sub::INTERNED_STRING,
            Self::Finalizing => sub::FINALIZING,
            Self::Debugger => sub::DEBUGGER,
            Self::ReferenceCleanup => sub::REFERENCE_CLEANUP,
            Self::VmInternal => sub::VM_INTERNAL,
            Self::JniMonitor(_) => sub::JNI_MONITOR,
            Self::Unreachable => sub::UNREACHABLE,
        }
    }

    /// Returns the name of the kind in HPROF's text format, which has none of Android's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::JniGlobal(_) => "JNI global ref",
            Self::JniLocal(_) => "JNI local ref",
            Self::JavaFrame(_) => "Java stack",
            Self::NativeStack(_) => "native stack",
            Self::StickyClass => "system class",
            Self::ThreadBlock(_) => "thread block",
            Self::Monitor => "busy monitor",
            Self::Thread { .. } => "thread",
            Self::InternedString => "interned string",
            Self::Finalizing => "finalizing",
            Self::Debugger => "debugger",
            Self::ReferenceCleanup => "reference cleanup",
            Self::VmInternal => "VM internal",
            Self::JniMonitor(_) => "JNI monitor",
            Self::Unreachable => "unreachable",
        }
    }
}

/// A place on the stack of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JavaStack {
    /// The thread's serial number.
    pub thread_serial: u32,
    /// The number of frames between the innermost one and this one, or `u32::MAX` for none.
    pub depth: u32,
}

/// CLASS DUMP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassDump<'a> {
    /// The id of the class object.
    pub id: u64,
    /// The serial number of its trace.
    pub trace: u32,
    /// The class above; 0 for `java.lang.Object`, and so for all that follow.
    pub superclass: u64,
    /// The class loader.
    pub loader: u64,
    /// The signers.
    pub signers: u64,
    /// The protection domain.
    pub domain: u64,
    /// The size of an instance: the sum of the sizes of its fields in the dumps of HotSpot and
    /// perk.
    pub instance_bytes: u32,
    pub(super) constants: &'a [u8],
    pub(super) statics: &'a [u8],
    pub(super) fields: &'a [u8],
    pub(super) id_bytes: usize,
}

/// A value of a known type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a> {
    /// The type.
    pub field: FieldType,
    /// The bytes, big endian.
    pub bytes: &'a [u8],
}

impl Value<'_> {
    /// Returns the value's bits; for references, the id.
    pub fn bits(self) -> u64 {
        number(self.bytes)
    }
}

/// A static field and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticField<'a> {
    /// The id of its name.
    pub name: u64,
    /// The value.
    pub value: Value<'a>,
}

impl<'a> ClassDump<'a> {
    /// Returns the entries of the constant pool that are listed, by their index.
    pub fn constants(&self) -> impl Iterator<Item = (u16, Value<'a>)> + use<'a> {
        let (mut rest, id_bytes) = (self.constants, self.id_bytes);
        std::iter::from_fn(move || {
            let index = number(take(&mut rest, 2)?) as u16;
            Some((index, value(&mut rest, id_bytes)?))
        })
    }

    /// Returns the static fields that the class declares.
    pub fn statics(&self) -> impl Iterator<Item = StaticField<'a>> + use<'a> {
        let (mut rest, id_bytes) = (self.statics, self.id_bytes);
        std::iter::from_fn(move || {
            let name = number(take(&mut rest, id_bytes)?);
            Some(StaticField { name, value: value(&mut rest, id_bytes)? })
        })
    }

    /// Returns the instance fields that the class declares: the ids of their names, and their
    /// types.
    pub fn fields(&self) -> impl Iterator<Item = (u64, FieldType)> + use<'a> {
        let (mut rest, id_bytes) = (self.fields, self.id_bytes);
        std::iter::from_fn(move || {
            let name = number(take(&mut rest, id_bytes)?);
            Some((name, FieldType::from_hprof(take(&mut rest, 1)?[0])?))
        })
    }
}

/// Ids, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) id_bytes: usize,
}

impl<'a> Ids<'a> {
    /// Returns the ids.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u64> + use<'a> {
        self.bytes.chunks_exact(self.id_bytes).map(number)
    }
}

/// Returns a big-endian number of up to eight bytes.
#[inline]
pub fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        [a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
        _ => bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)),
    }
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    Some(taken)
}

/// Takes a type and a value of it.
fn value<'a>(rest: &mut &'a [u8], id_bytes: usize) -> Option<Value<'a>> {
    let field = FieldType::from_hprof(take(rest, 1)?[0])?;
    Some(Value { field, bytes: take(rest, field.bytes(id_bytes))? })
}
