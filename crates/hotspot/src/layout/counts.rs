//! Layouts of classes of which only the number and types of the fields are known.

use super::{
    CONTENDED_PADDING_BYTES, FieldKind, Jvm, Layout, PACKED_FIELDS_SINCE, Placement, align,
};

use FieldKind::{EightBytes, FourBytes, OneByte, Reference, TwoBytes};

/// Primitive fields, in the order in which they are placed.
const PRIMITIVES: [FieldKind; 4] = [EightBytes, FourBytes, TwoBytes, OneByte];

/// The number of fields that a class declares, by their types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldCounts {
    references: u32,
    /// The number of primitive fields, in the order of [`PRIMITIVES`].
    primitives: [u32; 4],
}

impl FromIterator<FieldKind> for FieldCounts {
    fn from_iter<I: IntoIterator<Item = FieldKind>>(kinds: I) -> Self {
        let mut counts = Self::default();
        counts.extend(kinds);
        counts
    }
}

impl Extend<FieldKind> for FieldCounts {
    fn extend<I: IntoIterator<Item = FieldKind>>(&mut self, kinds: I) {
        for kind in kinds {
            match PRIMITIVES.iter().position(|it| *it == kind) {
                Some(index) => self.primitives[index] += 1,
                None => self.references += 1,
            }
        }
    }
}

impl FieldCounts {
    fn primitives(&self) -> impl Iterator<Item = (FieldKind, u32)> {
        PRIMITIVES.into_iter().zip(self.primitives)
    }
}

impl Jvm {
    /// Returns the size of the object that represents a class with such static fields, in bytes.
    /// The static fields are after the fields of `java.lang.Class`, which end at `own_bytes`, and
    /// do not fill gaps.
    pub fn class_bytes(&self, own_bytes: u64, statics: &FieldCounts) -> u64 {
        let mut places = Placement { next: own_bytes, keeps_gaps: true, ..Placement::default() };
        places.add(Reference, statics.references, self);
        statics.primitives().for_each(|(kind, count)| places.add(kind, count, self));
        self.object_bytes(places.next)
    }
}

impl Layout {
    /// Returns the layout of a class with this superclass and these numbers of own fields.
    #[must_use]
    pub fn with_counts(&self, jvm: &Jvm, fields: &FieldCounts) -> Self {
        let mut places = Placement::of(self);
        let is_packed = jvm.feature_version >= PACKED_FIELDS_SINCE;
        if !is_packed {
            // Only the gap before the first field of eight bytes may be filled.
            places.gaps.clear();
            places.next = align(places.next, jvm.oop_bytes.into());
        }
        for (kind, count) in fields.primitives() {
            places.add(kind, count, jvm);
        }
        places.add(Reference, fields.references, jvm);
        if !is_packed {
            places.next = align(places.next, jvm.oop_bytes.into());
        }
        Self {
            instance_bytes: jvm.object_bytes(places.next),
            gaps: places.gaps,
            end: places.next,
            ..Self::object(jvm)
        }
    }

    /// Corrects the size of instances to the size that was found, which accounts for unknown
    /// fields. It may be smaller, or larger by at most `most_bytes`; any other size is ignored.
    pub fn correct(&mut self, jvm: &Jvm, found_bytes: u64, most_bytes: u64) {
        let bytes = self.instance_bytes;
        if found_bytes == bytes || found_bytes > bytes.saturating_add(most_bytes) {
            return;
        }
        let hidden_bytes = found_bytes.saturating_sub(bytes);
        self.end = if hidden_bytes == 0 || hidden_bytes >= CONTENDED_PADDING_BYTES {
            // Fields of subclasses do not fit into the gaps.
            self.gaps.clear();
            found_bytes
        } else {
            self.end + hidden_bytes
        };
        self.instance_bytes = jvm.object_bytes(self.end);
    }
}

impl Placement {
    /// Places fields of a kind.
    fn add(&mut self, kind: FieldKind, count: u32, jvm: &Jvm) {
        let bytes = kind.bytes(jvm);
        let left =
            (0..count).find(|_| self.fill(bytes).is_none()).map_or(0, |placed| count - placed);
        if left > 0 {
            self.append(kind, bytes, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the size of an instance of the last of these classes.
    fn size(version: u32, header: u32, reference: u32, classes: &[&[FieldKind]]) -> u64 {
        let jvm = Jvm::new(version, header, reference, 8);
        let layout = classes.iter().fold(Layout::object(&jvm), |above, fields| {
            above.with_counts(&jvm, &fields.iter().copied().collect())
        });
        layout.instance_bytes()
    }

    /// The sizes are those that `jcmd PID GC.class_histogram` of JDK 8, 17 and 25 shows.
    #[test]
    fn instances_are_laid_out_as_hotspot_does() {
        let string = [Reference, FourBytes, OneByte, OneByte];
        for version in [8, 17, 25] {
            assert_eq!(size(version, 12, 4, &[&[]]), 16);
            assert_eq!(size(version, 12, 4, &[&[], &string]), 24);
            assert_eq!(size(version, 16, 8, &[&[], &string]), 32);
            assert_eq!(size(version, 12, 4, &[&[EightBytes]]), 24);
            assert_eq!(size(version, 12, 4, &[&[EightBytes, FourBytes]]), 24);
        }
        // The gap in the superclass is filled since JDK 15.
        assert_eq!(size(17, 12, 4, &[&[EightBytes], &[FourBytes]]), 24);
        assert_eq!(size(14, 12, 4, &[&[EightBytes], &[FourBytes]]), 32);
        // With compact headers.
        assert_eq!(size(25, 8, 4, &[&[], &string]), 24);
        assert_eq!(size(25, 8, 4, &[&[], &[FourBytes, Reference]]), 16);
    }
}
