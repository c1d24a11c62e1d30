//! The sizes of objects and the offsets of their fields in a HotSpot JVM without perk.
//!
//! perk adds fields to classes, which makes some objects larger. Reports show the sizes of a JVM
//! without these fields. HotSpot places the fields of a class after and between those of its
//! superclass. A [`Layout`] holds the data about the superclass that this requires.
//!
//! The rules are those of HotSpot's `fieldLayoutBuilder.cpp` from JDK 15 on, with its options
//! `EnableContended`, `RestrictContended`, `ContendedPaddingWidth` and `UseEmptySlotsInSupers` at
//! their defaults, in a JVM that has Flight Recorder, started or not. For classes of which only the
//! number and types of the fields are known ([`FieldCounts`]), the rules of older JVMs are known,
//! too.
//!
//! Two classes have larger instances than a layout says:
//! [`CLASSES_WITH_OWN_SIZES`](crate::CLASSES_WITH_OWN_SIZES).

mod counts;
mod fields;

use std::borrow::Cow;

pub use counts::FieldCounts;
pub use fields::{FieldKind, Fields};

/// The alignment of the ends of fields. HotSpot applies it before it aligns objects.
const WORD_BYTES: u64 = 8;

/// The bytes between contended fields and all others (`ContendedPaddingWidth`).
pub const CONTENDED_PADDING_BYTES: u64 = 128;

/// The first version in which a class begins with its references if its superclass ends with one.
const REFERENCES_FIRST_SINCE: u32 = 25;

/// The first version in which the elements of an array need not begin at a multiple of eight bytes.
const PACKED_ARRAYS_SINCE: u32 = 23;

/// The first version in which fields of a class fill gaps between those of its superclasses.
const PACKED_FIELDS_SINCE: u32 = 15;

/// The properties of a JVM that the layout of objects depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jvm {
    /// The feature version. 17, 21 and 25 are tested.
    pub feature_version: u32,
    /// The size of the header of an object that is not an array: 12, 16 with
    /// `-XX:-UseCompressedClassPointers`, 8 with `-XX:+UseCompactObjectHeaders`.
    pub header_bytes: u32,
    /// The offset of the elements of an array of bytes.
    pub array_header_bytes: u32,
    /// The size of a reference: 4, or 8 with `-XX:-UseCompressedOops`.
    pub oop_bytes: u32,
    /// The alignment of objects (`ObjectAlignmentInBytes`): a power of 2, at least 8. The sizes of
    /// objects are multiples of it.
    pub alignment_bytes: u32,
}

impl Jvm {
    /// Describes a JVM of 64 bits.
    pub fn new(
        feature_version: u32,
        header_bytes: u32,
        oop_bytes: u32,
        alignment_bytes: u32,
    ) -> Self {
        let packed_bytes = header_bytes + 4;
        let array_header_bytes = match feature_version {
            PACKED_ARRAYS_SINCE.. => packed_bytes,
            _ => packed_bytes.next_multiple_of(WORD_BYTES as u32),
        };
        Self { feature_version, header_bytes, array_header_bytes, oop_bytes, alignment_bytes }
    }

    /// Describes the JVM whose arrays have these sizes; `None` if an array cannot be measured.
    ///
    /// `byte_array` returns the size of a `byte[]` of a length, `object_array` that of an
    /// `Object[]`.
    pub fn measured(
        feature_version: u32,
        byte_array: impl Fn(i32) -> Option<u32>,
        object_array: impl Fn(i32) -> Option<u32>,
    ) -> Option<Self> {
        /// The largest alignment that the JVM can use.
        const MOST_ALIGNMENT_BYTES: i32 = 256;
        let least_bytes = byte_array(0)?;
        // The number of elements that fit into the space after the length.
        let fitting =
            (1..=MOST_ALIGNMENT_BYTES).find(|&it| byte_array(it) != Some(least_bytes))? - 1;
        let next_bytes = byte_array(fitting + 1)?;
        let references_bytes = object_array(MOST_ALIGNMENT_BYTES)?.checked_sub(object_array(0)?)?;
        let array_header_bytes = least_bytes.checked_sub(fitting.unsigned_abs())?;
        Some(Self {
            feature_version,
            // Between the header and the elements are the length, of four bytes, and before JDK 23
            // also the rest of a word.
            header_bytes: match array_header_bytes {
                20.. => 16,
                16.. => 12,
                _ => 8,
            },
            array_header_bytes,
            oop_bytes: references_bytes / MOST_ALIGNMENT_BYTES.unsigned_abs(),
            alignment_bytes: next_bytes - least_bytes,
        })
    }

    /// Returns the offset of the elements of an array.
    pub fn array_base_bytes(&self, element: FieldKind) -> u64 {
        align(self.array_header_bytes.into(), element.bytes(self))
    }

    /// Returns the size of an array.
    pub fn array_bytes(&self, element: FieldKind, length: u32) -> u64 {
        let elements_bytes = u64::from(length) * element.bytes(self);
        self.object_bytes(self.array_base_bytes(element) + elements_bytes)
    }

    /// Returns the size of an object whose last byte in use is before `end`.
    pub fn object_bytes(&self, end: u64) -> u64 {
        align(align(end, WORD_BYTES), self.alignment_bytes.into())
    }
}

/// The places of the fields in a class's instances, as far as subclasses depend on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The gaps between the fields, which fields of subclasses may use, in the order of their
    /// offsets.
    gaps: Vec<Gap>,
    /// The first byte after the last field.
    end: u64,
    instance_bytes: u64,
    field_bytes: u64,
    reference_count: u64,
    has_fields: bool,
    ends_with_reference: bool,
    /// Whether the class, a field that it declares or a superclass is contended.
    is_contended: bool,
    /// Whether the class is `jdk/internal/event/Event` or a subclass of it.
    is_event: bool,
}

/// Bytes that no field uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    start: u64,
    end: u64,
}

impl Layout {
    /// Returns the layout of `java/lang/Object`.
    pub fn object(jvm: &Jvm) -> Self {
        let end = u64::from(jvm.header_bytes);
        Self {
            gaps: Vec::new(),
            end,
            instance_bytes: jvm.object_bytes(end),
            field_bytes: 0,
            reference_count: 0,
            has_fields: false,
            ends_with_reference: false,
            is_contended: false,
            is_event: false,
        }
    }

    /// Returns the layout of a class with this superclass and the fields of its own.
    pub fn subclass(&self, jvm: &Jvm, fields: &Fields) -> Self {
        self.place(jvm, &self.with_event_fields(fields), |_, _| {})
    }

    /// Returns the offsets of the class's own fields in its instances, in bytes and in the order of
    /// `fields`: those of the class file, followed by those that the JVM adds.
    ///
    /// Fields of the same size are in the order of the class file, which HotSpot does not
    /// guarantee.
    pub fn offsets(&self, jvm: &Jvm, fields: &Fields) -> Vec<u64> {
        let fields = self.with_event_fields(fields);
        let mut offsets = vec![0; fields.len()];
        self.place(jvm, &fields, |index, offset| offsets[index] = offset);
        offsets
    }

    /// Returns the size of an instance.
    pub fn instance_bytes(&self) -> u64 {
        self.instance_bytes
    }

    /// Returns the sum of the sizes of all fields, without the gaps between them.
    pub fn field_bytes(&self) -> u64 {
        self.field_bytes
    }

    /// Returns the number of fields that hold references.
    pub fn reference_count(&self) -> u64 {
        self.reference_count
    }

    /// Returns the fields of a subclass, with those that Flight Recorder adds to event classes.
    fn with_event_fields<'f>(&self, fields: &'f Fields) -> Cow<'f, Fields> {
        match self.is_event && !fields.is_abstract() {
            true => Cow::Owned(fields.with_event_fields()),
            false => Cow::Borrowed(fields),
        }
    }

    /// Places the fields, and calls `placed` with each field's index and offset.
    fn place(&self, jvm: &Jvm, fields: &Fields, mut placed: impl FnMut(usize, u64)) -> Self {
        let mut places = Placement::of(self);
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
        let field_bytes: u64 = fields.kinds().map(|kind| kind.bytes(jvm)).sum();
        let reference_count = fields.kinds().filter(|&kind| kind == FieldKind::Reference).count();
        Self {
            field_bytes: self.field_bytes + field_bytes,
            reference_count: self.reference_count + reference_count as u64,
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

/// The free places for the fields of a class.
#[derive(Debug, Default)]
struct Placement {
    /// The gaps that fields may fill, in the order of their offsets.
    gaps: Vec<Gap>,
    /// The offset for a field that does not fit into a gap.
    next: u64,
    /// The first byte after the last field.
    end: u64,
    ends_with_reference: bool,
    /// Whether gaps remain empty.
    keeps_gaps: bool,
}

impl Placement {
    /// Returns the places that a superclass leaves.
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

    /// Leaves a padding free, so that the fields after it are not near the fields before it.
    fn begin_contended(&mut self) {
        self.gaps.clear();
        self.keeps_gaps = true;
        self.next += CONTENDED_PADDING_BYTES;
    }

    /// Puts a field into the smallest gap that it fits into, or at the end; of equal gaps into the
    /// last. Returns its offset.
    fn take(&mut self, kind: FieldKind, jvm: &Jvm) -> u64 {
        let bytes = kind.bytes(jvm);
        self.fill(bytes).unwrap_or_else(|| self.append(kind, bytes, 1))
    }

    /// Puts a field into the smallest gap that it fits into, of equal gaps into the last. Returns
    /// its offset.
    fn fill(&mut self, bytes: u64) -> Option<u64> {
        let fitting = self.gaps.iter().enumerate().rev();
        let fitting = fitting.filter(|(_, gap)| align(gap.start, bytes) + bytes <= gap.end);
        let (index, &gap) = fitting.min_by_key(|(_, gap)| gap.end - gap.start)?;
        let offset = align(gap.start, bytes);
        let before = Gap { start: gap.start, end: offset };
        let after = Gap { start: offset + bytes, end: gap.end };
        let left = [before, after].into_iter().filter(|gap| gap.start < gap.end);
        self.gaps.splice(index..=index, left);
        Some(offset)
    }

    /// Puts a number of fields at the end and returns the offset of the first.
    fn append(&mut self, kind: FieldKind, bytes: u64, count: u32) -> u64 {
        let offset = align(self.next, bytes);
        if offset > self.next && !self.keeps_gaps {
            self.gaps.push(Gap { start: self.next, end: offset });
        }
        self.next = offset + bytes * u64::from(count);
        self.end = self.next;
        self.ends_with_reference = kind == FieldKind::Reference;
        offset
    }
}

/// Returns the next multiple of a power of 2.
fn align(value: u64, alignment: u64) -> u64 {
    (value + alignment - 1) & !(alignment - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use FieldKind::{EightBytes, FourBytes, OneByte, Reference};

    const JVM: Jvm = Jvm {
        feature_version: 21,
        header_bytes: 12,
        array_header_bytes: 16,
        oop_bytes: 4,
        alignment_bytes: 8,
    };

    #[test]
    fn gaps_are_filled_by_subclasses() {
        let object = Layout::object(&JVM);
        assert_eq!(object.instance_bytes(), 16);
        let fields = Fields::from_iter([OneByte, EightBytes, Reference]);
        assert_eq!(object.offsets(&JVM, &fields), [12, 16, 24]);
        let class = object.subclass(&JVM, &fields);
        assert_eq!(class.instance_bytes(), 32);
        assert_eq!((class.field_bytes(), class.reference_count()), (13, 1));
        let fields = Fields::from_iter([FourBytes, OneByte, OneByte]);
        assert_eq!(class.offsets(&JVM, &fields), [28, 13, 14]);
        let subclass = class.subclass(&JVM, &fields);
        assert_eq!(subclass.instance_bytes(), 32);
        assert_eq!((subclass.field_bytes(), subclass.reference_count()), (19, 1));
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
        assert_eq!(Jvm::new(21, 12, 4, 8), JVM);
        assert_eq!(JVM.array_bytes(OneByte, 0), 16);
        assert_eq!(JVM.array_bytes(Reference, 5), 40);
        assert_eq!(JVM.array_bytes(EightBytes, u32::MAX), 16 + 8 * u64::from(u32::MAX));
        let compact = Jvm::new(25, 8, 4, 8);
        assert_eq!(compact.array_bytes(OneByte, 4), 16);
        assert_eq!(compact.array_base_bytes(EightBytes), 16);
    }

    #[test]
    fn a_jvm_is_known_by_the_sizes_of_its_arrays() {
        for (version, header) in [(17, 12), (17, 16), (25, 12), (25, 16), (25, 8)] {
            for (oop, alignment) in [(4, 8), (8, 8), (4, 16), (4, 256)] {
                let jvm = Jvm::new(version, header, oop, alignment);
                let bytes = |element, length: i32| {
                    u32::try_from(jvm.array_bytes(element, length.unsigned_abs())).ok()
                };
                let found = |length| bytes(OneByte, length);
                assert_eq!(Jvm::measured(version, found, |it| bytes(Reference, it)), Some(jvm));
            }
        }
        assert_eq!(Jvm::measured(17, |_| None, |_| Some(16)), None);
    }
}
