//! The set of capabilities. They are bit fields in C and numbered bits here.

use std::fmt;

use crate::Capability;

/// A set of capabilities with the layout of `jvmtiCapabilities`.
///
/// C packs its bit fields of one bit each from the lowest bit of the first word upwards. So the
/// number of a [`Capability`] is its position among the header's fields.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    words: [u32; 4],
}

impl Capabilities {
    /// Returns this set with an additional capability.
    #[must_use]
    pub const fn with(mut self, capability: Capability) -> Self {
        let bit = capability as usize;
        self.words[bit / 32] |= 1 << (bit % 32);
        self
    }

    /// Whether the set contains a capability.
    pub const fn has(self, capability: Capability) -> bool {
        let bit = capability as usize;
        self.words[bit / 32] >> (bit % 32) & 1 == 1
    }

    /// Returns the capabilities of this set that are not in the other, such as those that were
    /// requested and not granted.
    #[must_use]
    pub fn difference(self, other: Self) -> Self {
        self.iter().filter(|&it| !other.has(it)).collect()
    }

    /// Returns the capabilities in the set, in the order of their bits.
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
