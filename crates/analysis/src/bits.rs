//! A set of small numbers, such as indexes of paths.

use std::iter;

/// A bit for each number below a limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
}

/// A set whose numbers have places, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankedBits {
    bits: Bits,
    /// How many of its numbers are below the first of each 64 numbers.
    before: Vec<u32>,
}

impl Bits {
    /// None of the numbers below `limit`.
    pub(crate) fn new(limit: usize) -> Self {
        Self { words: vec![0; limit.div_ceil(64)] }
    }

    /// Whether its limit is 0.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Adds a number.
    ///
    /// # Panics
    /// If it is not below the limit.
    #[inline]
    pub(crate) fn set(&mut self, number: usize) {
        self.words[number / 64] |= 1 << (number % 64);
    }

    /// Whether a number is in it.
    #[inline]
    pub(crate) fn has(&self, number: usize) -> bool {
        self.words.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 != 0)
    }

    /// The first of its numbers that is `from` or more.
    #[inline]
    pub(crate) fn next_from(&self, from: usize) -> Option<usize> {
        let mut place = from / 64;
        let mut left = self.words.get(place)? & (u64::MAX << (from % 64));
        while left == 0 {
            place += 1;
            left = *self.words.get(place)?;
        }
        Some(64 * place + left.trailing_zeros() as usize)
    }

    /// Its numbers, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.words.iter().enumerate().flat_map(|(place, &word)| {
            let rest = |left: &u64| Some(left & left.wrapping_sub(1));
            let words = iter::successors(Some(word), rest).take_while(|left| *left != 0);
            words.map(move |left| 64 * place + left.trailing_zeros() as usize)
        })
    }
}

impl RankedBits {
    /// Counts the numbers of a set.
    pub(crate) fn new(bits: Bits) -> Self {
        let mut count = 0;
        let before = bits.words.iter().map(|word| {
            count += word.count_ones();
            count - word.count_ones()
        });
        Self { before: before.collect(), bits }
    }

    /// The set.
    pub(crate) fn bits(&self) -> &Bits {
        &self.bits
    }

    /// How many numbers it has.
    pub(crate) fn len(&self) -> usize {
        let last = self.before.last().zip(self.bits.words.last());
        last.map_or(0, |(before, word)| (before + word.count_ones()) as usize)
    }

    /// How many of its numbers are not above a number.
    ///
    /// # Panics
    /// If that is not below the limit.
    #[inline]
    pub(crate) fn count_up_to(&self, number: usize) -> usize {
        let in_word = (self.bits.words[number / 64] << (63 - number % 64)).count_ones();
        (self.before[number / 64] + in_word) as usize
    }

    /// The place of a number among those of the set; `None` if it is not in it.
    #[inline]
    pub(crate) fn place(&self, number: usize) -> Option<usize> {
        self.bits.has(number).then(|| self.count_up_to(number) - 1)
    }

    /// The memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.bits.words) + size_of_val(&*self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_order() {
        let all = [0, 1, 63, 64, 200, 255, 256];
        let mut bits = Bits::new(257);
        all.iter().for_each(|&number| bits.set(number));
        let mut from = 0;
        let found = std::iter::from_fn(|| {
            let next = bits.next_from(from)?;
            from = next + 1;
            Some(next)
        });
        assert_eq!(found.collect::<Vec<_>>(), all);
        assert_eq!(bits.iter().collect::<Vec<_>>(), all);
        assert_eq!(bits.next_from(1_000), None);
        let ranked = RankedBits::new(bits.clone());
        assert_eq!((ranked.before.as_slice(), ranked.len()), (&[0, 3, 4, 4, 6][..], 7));
        for number in 0..257 {
            assert_eq!(bits.has(number), all.contains(&number));
            let up_to = all.iter().filter(|&&it| it <= number).count();
            assert_eq!(ranked.count_up_to(number), up_to);
            assert_eq!(ranked.place(number), all.iter().position(|&it| it == number));
        }
        assert!(!bits.has(257) && !bits.has(1_000));
    }
}
