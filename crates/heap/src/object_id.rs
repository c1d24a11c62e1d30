//! The numbers of objects, and how objects are reachable.

use serde::{Deserialize, Serialize};

use crate::RootKind;

/// The unit of shallow sizes, in bytes.
pub(crate) const UNIT_BYTES: u64 = 8;

/// The number of an object, in the order of addresses.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct ObjectId(pub u32);

/// How an object is reachable, and from which kind of root, as one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reachability(pub(crate) u8);

impl Reachability {
    pub(crate) const NOT: Self = Self(0);
    pub(crate) const SOFTLY: Self = Self(1);
    pub(crate) const WEAKLY: Self = Self(2);
    pub(crate) const FINALIZABLE: Self = Self(3);
    const FIRST_HELD: u8 = 4;
    /// Not determined yet.
    pub(crate) const UNKNOWN: Self = Self(u8::MAX);

    /// Held by a root of this kind.
    pub(crate) fn held(kind: RootKind) -> Self {
        Self(Self::FIRST_HELD + kind as u8)
    }

    pub(crate) fn is_held(self) -> bool {
        self.0 >= Self::FIRST_HELD
    }
}
