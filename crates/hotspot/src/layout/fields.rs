//! The instance fields of a class: those of its class file, and those that HotSpot adds.

use perk_classfile::{Attributes, ClassFile, ConstantPool, Error, access};

use super::Jvm;
use crate::annotations::annotations;

/// The type of a field or of an array's element, as far as its place depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// `boolean` or `byte`.
    OneByte,
    /// `char` or `short`.
    TwoBytes,
    /// `int` or `float`.
    FourBytes,
    /// `long` or `double`.
    EightBytes,
    /// An object or array.
    Reference,
}

use FieldKind::{EightBytes, FourBytes, OneByte, Reference, TwoBytes};

impl FieldKind {
    /// Returns the kind of a field descriptor (JVM specification 4.3.2), judged by its first byte;
    /// `None` if no field descriptor begins with that byte.
    pub fn of_descriptor(descriptor: &[u8]) -> Option<Self> {
        Some(match descriptor.first()? {
            b'Z' | b'B' => OneByte,
            b'C' | b'S' => TwoBytes,
            b'I' | b'F' => FourBytes,
            b'J' | b'D' => EightBytes,
            b'L' | b'[' => Reference,
            _ => return None,
        })
    }

    /// Returns its size in bytes, which is also its alignment.
    pub fn bytes(self, jvm: &Jvm) -> u64 {
        match self {
            OneByte => 1,
            TwoBytes => 2,
            FourBytes => 4,
            EightBytes => 8,
            Reference => jvm.oop_bytes.into(),
        }
    }
}

/// The instance fields that a class has of its own.
///
/// They are collected from [`FieldKind`]s in the order of the class file, or read from a class
/// file, which includes fields that are not visible otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// The kind of each field, with the number of its contention group, if it has one.
    list: Vec<(FieldKind, Option<usize>)>,
    group_count: usize,
    /// Whether the class as a whole is contended.
    is_contended: bool,
    is_abstract: bool,
    /// Whether it is the root class of the events of Flight Recorder.
    is_event_root: bool,
}

impl FromIterator<FieldKind> for Fields {
    fn from_iter<I: IntoIterator<Item = FieldKind>>(kinds: I) -> Self {
        let list = kinds.into_iter().map(|kind| (kind, None)).collect();
        Self { list, ..Self::default() }
    }
}

impl Fields {
    /// Reads the fields from a class file, as it is before perk adds fields.
    ///
    /// `is_privileged` says whether the bootstrap or the platform class loader defines the class.
    /// HotSpot respects `@Contended` only in such classes, and adds fields to some of them.
    ///
    /// # Errors
    ///
    /// Returns an error if the file does not name the class, a field or a field's descriptor.
    pub fn of_class(class: &ClassFile<'_>, jvm: &Jvm, is_privileged: bool) -> Result<Self, Error> {
        let contention = |attributes| match is_privileged {
            true => Contention::of(attributes, class.pool()),
            false => None,
        };
        let name = class.name()?;
        let mut fields = Self {
            is_contended: contention(class.attributes()).is_some(),
            is_abstract: class.access_flags() & access::ABSTRACT != 0,
            is_event_root: is_privileged && name == b"jdk/internal/event/Event",
            ..Self::default()
        };
        let mut groups: Vec<Contention> = Vec::new();
        for field in class.fields().filter(|it| it.access_flags() & access::STATIC == 0) {
            let Some(kind) = FieldKind::of_descriptor(field.descriptor()?) else { continue };
            let group = contention(field.attributes()).map(|contention| {
                let is_shared = contention != Contention::Alone;
                let known = groups.iter().position(|it| is_shared && *it == contention);
                known.unwrap_or_else(|| {
                    groups.push(contention);
                    groups.len() - 1
                })
            });
            fields.list.push((kind, group));
        }
        fields.group_count = groups.len();
        if is_privileged {
            let added = added_by_hotspot(name, jvm.feature_version);
            fields.list.extend(added.iter().map(|kind| (*kind, None)));
        }
        Ok(fields)
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = FieldKind> {
        self.list.iter().map(|field| field.0)
    }

    /// Adds the fields `startTime` and `duration`, which HotSpot's `jfrEventClassTransformer.cpp`
    /// adds to event classes that are not abstract.
    pub(super) fn with_event_fields(&self) -> Self {
        let mut fields = self.clone();
        fields.list.extend([(EightBytes, None); 2]);
        fields
    }

    pub(super) fn is_abstract(&self) -> bool {
        self.is_abstract
    }

    pub(super) fn is_event_root(&self) -> bool {
        self.is_event_root
    }

    pub(super) fn is_contended(&self) -> bool {
        self.is_contended
    }

    pub(super) fn group_count(&self) -> usize {
        self.group_count
    }

    /// Returns the fields of a contention group, or those in no group, with their indexes, in the
    /// order in which they are placed: the largest first, and references after or before all
    /// others.
    pub(super) fn in_order(
        &self,
        group: Option<usize>,
        jvm: &Jvm,
        references_first: bool,
    ) -> Vec<(usize, FieldKind)> {
        let list = self.list.iter().enumerate().filter(|(_, field)| field.1 == group);
        let mut ordered: Vec<_> = list.map(|(index, field)| (index, field.0)).collect();
        ordered.sort_by_key(|(_, kind)| match kind {
            Reference => (!references_first, 0),
            value => (references_first, u64::MAX - value.bytes(jvm)),
        });
        ordered
    }
}

/// The contention that the annotation `jdk.internal.vm.annotation.Contended` declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contention {
    /// The field does not share a group with others.
    Alone,
    /// The index of the group's name in the constant pool.
    Group(u16),
}

impl Contention {
    /// Returns the contention of a class or field.
    fn of(attributes: Attributes<'_>, pool: &ConstantPool<'_>) -> Option<Self> {
        let mut found = annotations(attributes, pool);
        let contended = found.find(|it| it.jvm_name() == Some(b"Contended"))?;
        let is_named = |group: &u16| pool.utf8(*group).is_ok_and(|name| !name.is_empty());
        Some(contended.value.filter(is_named).map_or(Self::Alone, Self::Group))
    }
}

/// The kind of a pointer of the JVM.
const POINTER: FieldKind = EightBytes;

/// Returns the fields that HotSpot adds after those of a class file: its `*_INJECTED_FIELDS`
/// (`javaClasses.hpp`). They changed between JDK 17, 21 and 25; the versions in between are not
/// tested.
fn added_by_hotspot(class: &[u8], feature_version: u32) -> &'static [FieldKind] {
    match (class, feature_version) {
        // flags
        (b"java/lang/String", 17..) => &[OneByte],
        // klass, array_klass, oop_size, static_oop_field_count, protection_domain, signers,
        // source_file
        (b"java/lang/Class", _) => {
            &[POINTER, POINTER, FourBytes, FourBytes, Reference, Reference, Reference]
        }
        // loader_data, module_entry
        (b"java/lang/ClassLoader" | b"java/lang/Module", _) => &[POINTER],
        // during_unsafe_access
        (b"java/lang/InternalError", 17..) => &[OneByte],
        // version
        (b"java/lang/StackFrameInfo", _) => &[TwoBytes],
        // jvmti_thread_state, jvmti_VTMS_transition_disable_count, jvmti_is_in_VTMS_transition,
        // jfr_epoch
        (b"java/lang/Thread", 21..) => &[POINTER, FourBytes, OneByte, TwoBytes],
        // objectWaiter
        (b"java/lang/VirtualThread", 24..) => &[POINTER],
        // vmindex
        (b"java/lang/invoke/MemberName", _) => &[POINTER],
        // vmtarget; before, vmholder too
        (b"java/lang/invoke/ResolvedMethodName", 25..) => &[POINTER],
        (b"java/lang/invoke/ResolvedMethodName", _) => &[Reference, POINTER],
        // vmdependencies, last_cleanup
        (b"java/lang/invoke/CallSite", 25..) => &[POINTER, EightBytes],
        (b"java/lang/invoke/MethodHandleNatives$CallSiteContext", _) => &[POINTER, EightBytes],
        // cont, flags, pc, maxThawingSize; lockStackSize
        (b"jdk/internal/vm/StackChunk", 24..) => &[Reference, OneByte, POINTER, FourBytes, OneByte],
        (b"jdk/internal/vm/StackChunk", _) => &[Reference, OneByte, POINTER, FourBytes],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors() {
        assert_eq!(FieldKind::of_descriptor(b"Z"), Some(OneByte));
        assert_eq!(FieldKind::of_descriptor(b"D"), Some(EightBytes));
        assert_eq!(FieldKind::of_descriptor(b"[B"), Some(Reference));
        assert_eq!(FieldKind::of_descriptor(b"V"), None);
        assert_eq!(FieldKind::of_descriptor(b""), None);
    }
}
