//! Sets of objects, a bit each.

use crate::space::filled;

/// A set of numbers below a limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    pub(crate) fn new(count: u32) -> Self {
        Self { words: filled(count as usize / 64 + 1, 0) }
    }

    #[inline]
    pub(crate) fn has(&self, index: u32) -> bool {
        self.words[index as usize / 64] >> (index % 64) & 1 == 1
    }

    /// Adds a number. Returns whether it was there.
    #[inline]
    pub(crate) fn put(&mut self, index: u32) -> bool {
        let word = &mut self.words[index as usize / 64];
        let was = *word >> (index % 64) & 1 == 1;
        *word |= 1 << (index % 64);
        was
    }

    /// Adds the numbers of a set with the same limit.
    pub(crate) fn put_all(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Returns the numbers in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.words).flat_map(|(index, &word): (u32, _)| {
            let mut word = word;
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros();
                (word != 0).then(|| {
                    word &= word - 1;
                    index * 64 + bit
                })
            })
        })
    }

    /// Numbers the members in their order.
    pub(crate) fn ranked(self) -> RankedBits {
        let mut sum = 0;
        let ranks = self.words.iter().map(|word| {
            let before = sum;
            sum += word.count_ones();
            before
        });
        let ranks = ranks.collect();
        RankedBits { set: self, ranks, count: sum }
    }
}

/// A set of numbers, and the number of members before each.
#[derive(Debug)]
pub(crate) struct RankedBits {
    set: BitSet,
    ranks: Vec<u32>,
    count: u32,
}

impl RankedBits {
    #[inline]
    pub(crate) fn has(&self, index: u32) -> bool {
        self.set.has(index)
    }

    pub(crate) fn set(&self) -> &BitSet {
        &self.set
    }

    /// Returns the number of members before this member.
    #[inline]
    pub(crate) fn rank(&self, index: u32) -> u32 {
        let before = self.set.words[index as usize / 64] & ((1 << (index % 64)) - 1);
        self.ranks[index as usize / 64] + before.count_ones()
    }

    /// Returns the number of members.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}
