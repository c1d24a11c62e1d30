//! How large objects are, and where their fields are, in a HotSpot JVM without perk.
//!
//! perk adds a field to `java/lang/Object`, which makes some objects larger than they would be;
//! reports tell the sizes of the JVM as it is without that. HotSpot places the fields of a class
//! behind and between those of its superclass: a [`Layout`] is what must be known of the latter.
//!
//! The rules are those of HotSpot's `fieldLayoutBuilder.cpp` from JDK 15 on, with its options
//! `EnableContended`, `RestrictContended`, `ContendedPaddingWidth` and `UseEmptySlotsInSupers` at
//! their defaults, in a JVM that has Flight Recorder, started or not.
//!
//! Two classes have larger instances than a layout says: behind the fields of `java/lang/Class`
//! are the static fields of the class that an instance stands for, and behind those of
//! `jdk/internal/vm/StackChunk` are stack frames.

mod fields;

use std::borrow::Cow;

pub use fields::{FieldKind, Fields};

/// HotSpot aligns the ends of fields to this before it aligns objects.
const WORD_BYTES: u64 = 8;

/// The bytes between contended fields and all others (`ContendedPaddingWidth`).
const CONTENDED_PADDING_BYTES: u64 = 128;

/// From this version on a class whose superclass ends with a reference begins with its references.
const REFERENCES_FIRST_SINCE: u32 = 25;

/// From this version on the elements of an array need not begin at a multiple of eight bytes.
const PACKED_ARRAYS_SINCE: u32 = 23;

/// What the layout of objects depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jvm {
    /// The feature version, 15 or higher. 17, 21 and 25 are tested.
    pub feature_version: u32,
    /// The header of an object that is no array: 12, 16 with `-XX:-UseCompressedClassPointers`,
    /// 8 with `-XX:+UseCompactObjectHeaders`.
    pub header_bytes: u32,
    /// A reference: 4, or 8 with `-XX:-UseCompressedOops`.
    pub oop_bytes: u32,
    /// What the sizes of objects are multiples of (`ObjectAlignmentInBytes`): a power of 2, at
    /// least 8.
    pub alignment_bytes: u32,
}

impl Jvm {
    /// Where the elements of an array begin.
    pub fn array_base_bytes(&self, element: FieldKind) -> u64 {
        let header_bytes = u64::from(self.header_bytes) + 4;
        if self.feature_version < PACKED_ARRAYS_SINCE {
            align(header_bytes, WORD_BYTES)
        } else {
            align(header_bytes, element.bytes(self))
        }
    }

    /// The size of an array.
    pub fn array_bytes(&self, element: FieldKind, length: u32) -> u64 {
        let elements_bytes = u64::from(length) * element.bytes(self);
        self.object_bytes(self.array_base_bytes(element) + elements_bytes)
    }

    /// The size of an object whose last byte in use is before `end`.
    fn object_bytes(&self, end: u64) -> u64 {
        align(align(end, WORD_BYTES), self.alignment_bytes.into())
    }
}

/// Where the fields of a class's instances are, as far as subclasses must know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The bytes between the fields that fields of subclasses may use, in the order of their
    /// offsets.
    gaps: Vec<Gap>,
    /// The first byte behind the last field.
    end: u64,
    instance_bytes: u64,
    has_fields: bool,
    ends_with_reference: bool,
    /// Whether the class, a field that it declares or a superclass is contended.
    is_contended: bool,
    /// Whether it is `jdk/internal/event/Event` or a subclass of that.
    is_event: bool,
}

/// Bytes that no field uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    start: u64,
    end: u64,
}

impl Layout {
    /// The layout of `java/lang/Object`.
    pub fn object(jvm: &Jvm) -> Self {
        let end = u64::from(jvm.header_bytes);
        Self {
            gaps: Vec::new(),
            end,
            instance_bytes: jvm.object_bytes(end),
            has_fields: false,
            ends_with_reference: false,
            is_contended: false,
            is_event: false,
        }
    }

    /// The layout of a class with this superclass and the fields of its own.
    pub fn subclass(&self, jvm: &Jvm, fields: &Fields) -> Self {
        self.place(jvm, &self.with_event_fields(fields), |_, _| {})
    }

    /// The offsets of the class's own fields in its instances, in bytes and in the order of
    /// `fields`: those of the class file, and behind them those that the JVM adds.
    ///
    /// The order of fields of the same size is that of the class file, which HotSpot does not
    /// promise.
    pub fn offsets(&self, jvm: &Jvm, fields: &Fields) -> Vec<u64> {
        let fields = self.with_event_fields(fields);
        let mut offsets = vec![0; fields.len()];
        self.place(jvm, &fields, |index, offset| offsets[index] = offset);
        offsets
    }

    /// The size of an instance.
    pub fn instance_bytes(&self) -> u64 {
        self.instance_bytes
    }

    /// The fields of a subclass, with those that Flight Recorder adds to classes of events.
    fn with_event_fields<'f>(&self, fields: &'f Fields) -> Cow<'f, Fields> {
        match self.is_event && !fields.is_abstract() {
            true => Cow::Owned(fields.with_event_fields()),
            false => Cow::Borrowed(fields),
        }
    }

    /// Calls `placed` with each field's index and offset.
    fn place(&self, jvm: &Jvm, fields: &Fields, mut placed: impl FnMut(usize, u64)) -> Self {
        let mut places = Places::of(self);
        if fields.is_contended() {
            places.begin_contended();
        }
        let references_first =
            self.ends_with_reference && jvm.feature_version >= REFERENCES_FIRST_SINCE;
        for (index, kind) in fields.in_order(None, jvm, references_first) {
            placed(index, places.take(kind, jvm));
        }
        for group in 0..fields.group_count() {
            places.begin_contended();
            for (index, kind) in fields.in_order(Some(group), jvm, false) {
                placed(index, places.take(kind, jvm));
            }
        }
        let has_contended = fields.is_contended() || fields.group_count() > 0;
        if has_contended {
            places.begin_contended();
        }
        Self {
            instance_bytes: jvm.object_bytes(places.next),
            gaps: places.gaps,
            end: places.end,
            has_fields: self.has_fields || !fields.is_empty(),
            ends_with_reference: places.ends_with_reference,
            is_contended: self.is_contended || has_contended,
            is_event: self.is_event || fields.is_event_root(),
        }
    }
}

/// The places for the fields of a class, some of them taken.
#[derive(Debug)]
struct Places {
    /// Where fields may go, in the order of their offsets.
    gaps: Vec<Gap>,
    /// Where a field goes that fits into no gap.
    next: u64,
    /// The first byte behind the last field.
    end: u64,
    ends_with_reference: bool,
    /// Whether gaps stay empty.
    keeps_gaps: bool,
}

impl Places {
    /// Those that a superclass leaves.
    fn of(superclass: &Layout) -> Self {
        let mut places = Self {
            gaps: superclass.gaps.clone(),
            next: superclass.end,
            end: superclass.end,
            ends_with_reference: superclass.ends_with_reference,
            keeps_gaps: false,
        };
        if superclass.is_contended {
            places.begin_contended();
            places.keeps_gaps = superclass.has_fields;
        }
        places
    }

    /// Leaves a padding free: what is behind it is not near to what is before it.
    fn begin_contended(&mut self) {
        self.gaps.clear();
        self.keeps_gaps = true;
        self.next += CONTENDED_PADDING_BYTES;
    }

    /// Puts a field into the smallest gap that it fits into, the last of several, or at the end.
    fn take(&mut self, kind: FieldKind, jvm: &Jvm) -> u64 {
        let bytes = kind.bytes(jvm);
        let fitting = self.gaps.iter().enumerate().rev();
        let fitting = fitting.filter(|(_, gap)| align(gap.start, bytes) + bytes <= gap.end);
        let Some((index, &gap)) = fitting.min_by_key(|(_, gap)| gap.end - gap.start) else {
            return self.append(kind, bytes);
        };
        let offset = align(gap.start, bytes);
        let before = Gap { start: gap.start, end: offset };
        let behind = Gap { start: offset + bytes, end: gap.end };
        let left = [before, behind].into_iter().filter(|gap| gap.start < gap.end);
        self.gaps.splice(index..=index, left);
        offset
    }

    /// Puts a field at the end.
    fn append(&mut self, kind: FieldKind, bytes: u64) -> u64 {
        let offset = align(self.next, bytes);
        if offset > self.next && !self.keeps_gaps {
            self.gaps.push(Gap { start: self.next, end: offset });
        }
        self.next = offset + bytes;
        self.end = self.next;
        self.ends_with_reference = kind == FieldKind::Reference;
        offset
    }
}

/// The next multiple of a power of 2.
fn align(value: u64, alignment: u64) -> u64 {
    (value + alignment - 1) & !(alignment - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use FieldKind::{EightBytes, FourBytes, OneByte, Reference};

    const JVM: Jvm =
        Jvm { feature_version: 21, header_bytes: 12, oop_bytes: 4, alignment_bytes: 8 };

    #[test]
    fn gaps_are_filled_by_subclasses() {
        let object = Layout::object(&JVM);
        assert_eq!(object.instance_bytes(), 16);
        let fields = Fields::from_iter([OneByte, EightBytes, Reference]);
        assert_eq!(object.offsets(&JVM, &fields), [12, 16, 24]);
        let class = object.subclass(&JVM, &fields);
        assert_eq!(class.instance_bytes(), 32);
        let fields = Fields::from_iter([FourBytes, OneByte, OneByte]);
        assert_eq!(class.offsets(&JVM, &fields), [28, 13, 14]);
        let subclass = class.subclass(&JVM, &fields);
        assert_eq!(subclass.instance_bytes(), 32);
        assert_eq!(subclass.subclass(&JVM, &Fields::from_iter([OneByte; 2])).instance_bytes(), 40);
    }

    #[test]
    fn from_jdk_25_on_references_follow_references() {
        let fields = Fields::from_iter([Reference]);
        let class = Layout::object(&JVM).subclass(&JVM, &fields);
        let fields = Fields::from_iter([FourBytes, Reference]);
        assert_eq!(class.offsets(&JVM, &fields), [16, 20]);
        assert_eq!(class.offsets(&Jvm { feature_version: 25, ..JVM }, &fields), [20, 16]);
    }

    #[test]
    fn arrays() {
        assert_eq!(JVM.array_bytes(OneByte, 0), 16);
        assert_eq!(JVM.array_bytes(Reference, 5), 40);
        assert_eq!(JVM.array_bytes(EightBytes, u32::MAX), 16 + 8 * u64::from(u32::MAX));
        let compact = Jvm { feature_version: 25, header_bytes: 8, ..JVM };
        assert_eq!(compact.array_bytes(OneByte, 4), 16);
        assert_eq!(compact.array_base_bytes(EightBytes), 16);
    }
}
