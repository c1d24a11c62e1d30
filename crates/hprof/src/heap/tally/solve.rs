//! The sizes of a dump, solved from the distances of its objects.

use perk_hotspot::layout::{FieldKind, Layout};
use perk_hotspot::{CLASS_WITH_HIDDEN_POINTER, CLASSES_WITH_HIDDEN_BYTES};
use perk_profile::Profile;

use super::{ClassTally, LEAST_ALIGNMENT_BYTES, Tally};
use crate::heap::FieldType;
use crate::heap::sizes::Sizes;

/// The sizes of HotSpot's headers, in bytes: those before the elements of an array of bytes, and
/// those before the fields of instances. From the last to the first: with compact headers (or of 32
/// bits), with and without compressed class pointers, and the latter before JDK 23.
const HEADERS: [(u32, u32); 4] = [(24, 16), (20, 16), (16, 12), (12, 8)];
/// The most bytes that the JVM adds to a class beyond the fields that it gives: fields that it does
/// not give, and padding around isolated fields, of 128 bytes on either side.
const HIDDEN_BYTES: u64 = 512;
/// The share of instances with nothing between them and the next object from which on distances
/// give sizes, and the share from which on a single instance gives the size of its class.
const DENSE: f64 = 0.5;
const VERY_DENSE: f64 = 0.95;
/// The address from which on references are never compressed. ZGC's heaps lie above it.
const WIDE_FROM: u64 = 1 << 42;

impl Tally {
    /// Returns the share of instances that are followed by the least distance of their class.
    pub(super) fn density(&self) -> f64 {
        let sum =
            |of: fn(&ClassTally) -> u64| self.classes.iter().map(of).fold(0, u64::saturating_add);
        sum(|class| class.gap_count) as f64 / sum(|class| class.count).max(1) as f64
    }

    /// Infers the JVM's rules from the addresses.
    pub(super) fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::assumed();
        let slack = self.primitive_slack[usize::from(FieldType::Byte.to_hprof())];
        let alignment_bytes = match self.id_bits {
            0 => 1,
            bits => 1 << bits.trailing_zeros().min(8),
        };
        // If ids are numbers, distances mean nothing.
        let header = HEADERS.iter().find(|(array_header, _)| u64::from(*array_header) <= slack);
        let (true, Some(&(array_header_bytes, header_bytes))) =
            (alignment_bytes >= LEAST_ALIGNMENT_BYTES && slack < u64::MAX, header)
        else {
            return sizes;
        };
        let jvm = &mut sizes.jvm;
        (jvm.array_header_bytes, jvm.header_bytes) = (array_header_bytes, header_bytes);
        jvm.alignment_bytes = alignment_bytes;
        let slack = self.reference_slack;
        let mut is_wide = slack < i64::MAX && slack >= i64::from(array_header_bytes);
        sizes.is_inferred = self.density() >= DENSE;
        if !sizes.is_inferred {
            // The addresses still rule out larger headers.
            let most = Sizes::assumed().jvm;
            jvm.array_header_bytes = array_header_bytes.min(most.array_header_bytes);
            jvm.header_bytes = header_bytes.min(most.header_bytes);
            is_wide &= self.id_bits >= WIDE_FROM;
        }
        sizes.jvm.oop_bytes = if is_wide { 8 } else { 4 };
        self.packed_or_stacked(sizes)
    }

    /// Returns the rules of the versions that explain more distances.
    pub(super) fn packed_or_stacked(&self, sizes: Sizes) -> Sizes {
        let stacked = sizes.stacking();
        if self.agreeing(&stacked) > self.agreeing(&sizes) { stacked } else { sizes }
    }

    /// Returns the number of classes whose instances have the size that the rules give.
    pub(super) fn agreeing(&self, sizes: &Sizes) -> usize {
        let layouts = self.layouts(sizes, u64::MAX, None);
        let agrees = |(class, layout): &(&ClassTally, &Option<Layout>)| {
            layout.as_ref().is_some_and(|layout| layout.instance_bytes() == class.gap)
        };
        self.classes.iter().zip(&layouts).filter(agrees).count()
    }

    /// Returns the number of times that the least distance after instances must have been found to
    /// give their size, if it is more than their fields take.
    pub(super) fn trusted_gap_count(&self, is_of_jvm: bool) -> u64 {
        match self.density() {
            _ if !is_of_jvm => u64::MAX,
            VERY_DENSE.. if !self.is_by_address => 1,
            _ => 2,
        }
    }

    /// Returns the layout of each class, or `None` if its CLASS DUMP, or that of a class above it,
    /// has not come. Distances found at least `trusted` times show fields that the JVM does not
    /// give. `named` has the names of classes: where holes are many, only classes that can have such
    /// fields are corrected.
    pub(super) fn layouts(
        &self,
        sizes: &Sizes,
        trusted: u64,
        named: Option<&Profile>,
    ) -> Vec<Option<Layout>> {
        let name = |class: &ClassTally| {
            let class = class.class.zip(named);
            class.map(|(class, profile)| profile.symbols.class_name(class))
        };
        let can_hide = |class: &ClassTally| {
            !self.is_by_address
                || name(class).is_some_and(|name| CLASSES_WITH_HIDDEN_BYTES.contains(&name))
        };
        let mut layouts: Vec<Option<Layout>> = vec![None; self.classes.len()];
        // The classes that were looked up already. If no layout was found for a class, none is
        // found below it.
        let mut is_seen = vec![false; self.classes.len()];
        let mut chain: Vec<usize> = Vec::new();
        for index in 0..self.classes.len() {
            chain.clear();
            let mut at = Some(index);
            let mut above = None;
            while let Some(index) = at {
                if let Some(layout) = &layouts[index] {
                    above = Some(layout.clone());
                    break;
                }
                let Some(dump) = &self.classes[index].dump else { break };
                if std::mem::replace(&mut is_seen[index], true) {
                    break;
                }
                chain.push(index);
                if dump.superclass == 0 {
                    above = Some(Layout::object(&sizes.jvm));
                    break;
                }
                at = self.by_id.get(&dump.superclass).map(|&index| index as usize);
            }
            let Some(mut above) = above else { continue };
            for &index in chain.iter().rev() {
                let Some(dump) = &self.classes[index].dump else { break };
                let class = &self.classes[index];
                let mut fields = dump.fields;
                if trusted < u64::MAX && name(class) == Some(CLASS_WITH_HIDDEN_POINTER) {
                    fields.extend([FieldKind::EightBytes]);
                }
                above = above.with_counts(&sizes.jvm, &fields);
                if trusted < u64::MAX && sizes.is_inferred {
                    let is_seen = class.gap_count >= trusted && can_hide(class);
                    let most = if is_seen { HIDDEN_BYTES } else { 0 };
                    above.correct(&sizes.jvm, class.gap, most);
                }
                layouts[index] = Some(above.clone());
            }
        }
        layouts
    }
}
