//! Numbers of a fixed size, and parts of ranges.

use std::fmt::Debug;
use std::ops::Range;

use crate::object_id::{ObjectId, Reachability};

/// A value of a fixed size.
pub(crate) trait Number: Copy + Debug + Send + Sync + 'static {
    /// The size in bytes, a power of 2.
    const BYTES: usize;
    /// Writes the value to the first bytes.
    fn put(self, to: &mut [u8]);
    /// Reads the value from the first bytes.
    fn take(from: &[u8]) -> Self;
}

/// A number of an object, a node, or an edge. Wider ones are for more of them.
pub(crate) trait Width: Number + Ord {
    /// The largest number.
    const MOST: Self;
    const ZERO: Self;
    /// The number with this value, which is not above the largest one.
    fn of(value: usize) -> Self;
    /// The number as a place in an array.
    fn at(self) -> usize;
}

macro_rules! widths {
    ($($number:ty),*) => {$(
        impl Number for $number {
            const BYTES: usize = size_of::<Self>();

            #[inline]
            fn put(self, to: &mut [u8]) {
                to[..Self::BYTES].copy_from_slice(&self.to_ne_bytes());
            }

            #[inline]
            fn take(from: &[u8]) -> Self {
                let mut bytes = [0; Self::BYTES];
                bytes.copy_from_slice(&from[..Self::BYTES]);
                Self::from_ne_bytes(bytes)
            }
        }

        impl Width for $number {
            const MOST: Self = Self::MAX;
            const ZERO: Self = 0;

            #[inline]
            fn of(value: usize) -> Self {
                debug_assert!(Self::try_from(value).is_ok(), "{value}");
                value as Self
            }

            #[inline]
            fn at(self) -> usize {
                self as usize
            }
        }
    )*};
}

widths!(u8, u16, u32, u64);

macro_rules! wrapped {
    ($($outer:ident: $inner:ty),*) => {$(
        impl Number for $outer {
            const BYTES: usize = <$inner>::BYTES;

            #[inline]
            fn put(self, to: &mut [u8]) {
                self.0.put(to);
            }

            #[inline]
            fn take(from: &[u8]) -> Self {
                Self(<$inner>::take(from))
            }
        }
    )*};
}

wrapped!(ObjectId: u32, Reachability: u8);

/// Returns ranges of about equal size that together have all numbers below `count`.
pub(crate) fn split(count: usize, part_count: usize) -> Vec<Range<usize>> {
    let part_count = part_count.max(1);
    let bound = |part: usize| (count as u128 * part as u128 / part_count as u128) as usize;
    (0..part_count).map(|part| bound(part)..bound(part + 1)).collect()
}

/// Returns equal values, all of them written. If the system gave zeros for 0, it would first show one
/// page of zeros to all that read, and give each page later, when it must notify all processors.
#[inline(never)]
pub(crate) fn filled<T: Clone>(count: usize, value: T) -> Vec<T> {
    let mut values = Vec::with_capacity(count);
    values.resize(count, value);
    values
}
