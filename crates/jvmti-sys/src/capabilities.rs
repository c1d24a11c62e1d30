//! The set of capabilities: bit fields in C, bits by number here.

use std::fmt;

use crate::Capability;

/// A set of capabilities, laid out as `jvmtiCapabilities`.
///
/// C packs its bit fields of one bit each from the lowest bit of the first word upwards, so the
/// number of a [`Capability`] is its place among the header's fields.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    words: [u32; 4],
}

impl Capabilities {
    /// This set and one capability more.
    #[must_use]
    pub const fn with(mut self, capability: Capability) -> Self {
        let bit = capability as usize;
        self.words[bit / 32] |= 1 << (bit % 32);
        self
    }

    /// Whether the capability is in the set.
    pub const fn has(self, capability: Capability) -> bool {
        let bit = capability as usize;
        self.words[bit / 32] >> (bit % 32) & 1 == 1
    }

    /// The capabilities of this set that are not in the other: what was wanted and not given.
    #[must_use]
    pub fn difference(self, other: Self) -> Self {
        self.iter().filter(|&it| !other.has(it)).collect()
    }

    /// The capabilities in the set, in the order of their bits.
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        Capability::ALL.into_iter().filter(move |&it| self.has(it))
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Capability>>(capabilities: I) -> Self {
        capabilities.into_iter().fold(Self::default(), Self::with)
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
