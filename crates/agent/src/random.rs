//! Random numbers of no cryptographic worth.

use std::hash::{BuildHasher, Hasher, RandomState};

use perk_instrument::Names;
use perk_jvm::os;

/// Returns names for perk's additions to the JVM that a program cannot foresee: the standard library's
/// hash maps use a random secret.
pub(crate) fn names() -> Names {
    Names::numbered(RandomState::new().build_hasher().finish())
}

/// A source of random numbers (Marsaglia's xorshift64).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Random(u64);

impl Default for Random {
    /// Makes a source that begins elsewhere in each process and at each time.
    fn default() -> Self {
        // A state of 0 would stay.
        Self(os::nano_time() ^ u64::from(std::process::id()) << 20 | 1)
    }
}

impl Random {
    /// Returns another source, whose numbers have nothing to do with this one's.
    pub(crate) fn another(&mut self) -> Self {
        Self(self.below(u64::MAX).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns what [`Random::of_state`] continues with.
    pub(crate) fn state(self) -> u64 {
        self.0
    }

    /// Returns the source of such a state.
    pub(crate) fn of_state(state: u64) -> Self {
        Self(state)
    }

    /// Returns a number below `limit`; 0 if that is 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.checked_rem(limit).unwrap_or(0)
    }

    /// Returns half to one and a half of `period_ns`, so that sampling does not fall into step with a
    /// periodic program.
    pub(crate) fn around(&mut self, period_ns: u64) -> u64 {
        period_ns / 2 + self.below(period_ns)
    }
}
