//! Hash maps whose keys are chosen by a file or by the profiled program.
//!
//! With a hash that everybody can compute, a file of a few megabytes can hold names that all fall
//! into one slot of a table, and the time to read it grows with the square of its size. Here the
//! hash depends on random numbers that are drawn when the process starts.
//!
//! All maps of this crate, and of those that read files, are such maps.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A map that input cannot slow down. The order of its entries differs from run to run.
pub type KeyedMap<K, V> = HashMap<K, V, KeyedState>;

/// A set that input cannot slow down. The order of its entries differs from run to run.
pub type KeyedSet<K> = HashSet<K, KeyedState>;

/// The state that makes the hashers of [`KeyedMap`]: two numbers that differ from process to
/// process.
#[derive(Clone, Copy, Debug)]
pub struct KeyedState {
    start: u64,
    factor: u64,
}

impl Default for KeyedState {
    fn default() -> Self {
        static OF_PROCESS: OnceLock<KeyedState> = OnceLock::new();
        *OF_PROCESS.get_or_init(|| {
            let random = RandomState::new();
            // The factor is odd, so that a multiplication loses no bit.
            KeyedState { start: random.hash_one(0), factor: random.hash_one(1) | 1 }
        })
    }
}

impl KeyedState {
    /// The hash of `text`.
    pub(crate) fn hash_text(self, text: &str) -> u64 {
        let mut hasher = self.build_hasher();
        hasher.write(text.as_bytes());
        hasher.finish()
    }
}

impl BuildHasher for KeyedState {
    type Hasher = KeyedHasher;

    fn build_hasher(&self) -> KeyedHasher {
        KeyedHasher { state: self.start, factor: self.factor }
    }
}

/// A hasher that multiplies each word with a secret, or each pair of words after adding secrets to
/// both, and folds the 128 bits of the product, as wyhash does with public numbers.
#[derive(Clone, Copy, Debug)]
pub struct KeyedHasher {
    state: u64,
    factor: u64,
}

impl KeyedHasher {
    #[inline]
    fn add(&mut self, word: u64) {
        self.state = fold(self.state ^ word, self.factor);
    }

    #[inline]
    fn add_block(&mut self, block: &[u8; 16]) {
        let block = u128::from_le_bytes(*block);
        self.add_pair(block as u64, (block >> 64) as u64);
    }

    #[inline]
    fn add_pair(&mut self, first: u64, second: u64) {
        self.state = fold(self.state ^ first, self.factor ^ second);
    }
}

impl Hasher for KeyedHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        // The length is multiplied by a secret: otherwise another length could have the effect of
        // another first byte.
        self.state = self.state.wrapping_add(self.factor.wrapping_mul(bytes.len() as u64));
        if let Some(last) = bytes.last_chunk::<16>() {
            let (blocks, rest) = bytes.as_chunks::<16>();
            for block in blocks {
                self.add_block(block);
            }
            // The last 16 bytes overlap the previous block.
            if !rest.is_empty() {
                self.add_block(last);
            }
        } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            self.add_pair(u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            self.add_pair(u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into());
        } else {
            self.add(bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        }
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.add(u64::from(number));
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.add(u64::from(number));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.add(u64::from(number));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

/// Folds the product's upper half onto its lower half, so that its middle bits, which depend on all
/// others, reach both ends.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hash;

    use rustc_hash::FxBuildHasher;

    use super::*;
    use crate::Interner;

    const COUNT: u64 = 4096;

    thread_local! {
        static COMPARISONS: Cell<u64> = const { Cell::new(0) };
    }

    /// A number of a file that counts how often it is compared.
    #[derive(Clone, Copy, Eq)]
    struct Number(u64);

    impl Hash for Number {
        fn hash<H: Hasher>(&self, hasher: &mut H) {
            hasher.write_u64(self.0);
        }
    }

    impl PartialEq for Number {
        fn eq(&self, other: &Self) -> bool {
            COMPARISONS.set(COMPARISONS.get() + 1);
            self.0 == other.0
        }
    }

    /// Counts the comparisons while a map is filled.
    fn comparisons<S: BuildHasher + Default>(numbers: impl Iterator<Item = u64>) -> u64 {
        COMPARISONS.set(0);
        let mut map: HashMap<Number, (), S> = HashMap::default();
        numbers.for_each(|number| {
            map.insert(Number(number), ());
        });
        COMPARISONS.get()
    }

    /// Numbers whose hashes agree in the bits that a table uses, if the hash is a product with a
    /// known number.
    fn colliding_numbers() -> impl Iterator<Item = u64> {
        let factor: u64 = 0xf1357aea2e62a9c5;
        // Newton's method gives the inverse modulo 2^64.
        let inverse = (0..6).fold(factor, |inverse, _| {
            inverse.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(inverse)))
        });
        (0..COUNT).map(move |number| number.wrapping_mul(inverse))
    }

    #[test]
    fn chosen_numbers_do_not_slow_a_map_down() {
        let squared = COUNT * COUNT / 4;
        assert!(comparisons::<FxBuildHasher>(colliding_numbers()) > squared, "no attack");
        let comparisons = comparisons::<KeyedState>(colliding_numbers());
        assert!(comparisons < COUNT, "{comparisons} comparisons");
    }

    /// Two blocks of 16 letters to which wyhash with the numbers of `rustc_hash` gives the same
    /// hash, in the state `seed`, and the state after them.
    fn colliding_blocks(seed: u64) -> ([[u8; 16]; 2], u64) {
        const SECRET: u64 = 0xa4093822299f31d0;
        const RATIOS: [(u64, u64); 6] = [(4, 3), (3, 4), (3, 2), (2, 3), (5, 4), (4, 5)];
        let is_text = |word: u64| word.to_le_bytes().iter().all(u8::is_ascii_graphic);
        let mut random = 1_u64;
        let mut words = std::iter::repeat_with(|| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            u64::from_le_bytes((random ^ random >> 32).to_le_bytes().map(|byte| b'0' + byte % 75))
        });
        // The hash takes the product of both words, so one may be larger by the factor by which the
        // other is smaller.
        let mut scaled = |secret: u64, wanted: Option<(u64, u64)>| {
            loop {
                let word = words.next().unwrap();
                for (times, by) in RATIOS.into_iter().filter(|it| wanted.is_none_or(|of| of == *it))
                {
                    let (factor, other) = (word ^ secret, (word ^ secret) / by);
                    let other = other.checked_mul(times).map(|it| it ^ secret);
                    if let Some(other) = other.filter(|&it| factor % by == 0 && is_text(it)) {
                        return (word, other, (times, by));
                    }
                }
            }
        };
        let (first, first_other, (times, by)) = scaled(seed, None);
        let (second, second_other, _) = scaled(SECRET, Some((by, times)));
        let block = |a: u64, b: u64| {
            let bytes: Vec<u8> = [a.to_le_bytes(), b.to_le_bytes()].concat();
            <[u8; 16]>::try_from(bytes).unwrap()
        };
        let state = fold(seed ^ first, SECRET ^ second);
        ([block(first, second), block(first_other, second_other)], state)
    }

    /// Names that have the same hash if the hash has no key.
    fn colliding_names() -> Vec<String> {
        let (mut a, mut b) = (0x243f6a8885a308d3_u64, 0x13198a2e03707344_u64);
        let mut names = vec![String::new()];
        while (names.len() as u64) < COUNT {
            let (blocks, state) = colliding_blocks(a);
            (a, b) = (b, state);
            let longer = |name: &String| {
                blocks.map(|block| format!("{name}{}", std::str::from_utf8(&block).unwrap()))
            };
            names = names.iter().flat_map(longer).collect();
        }
        let _ = b;
        names.iter().map(|name| format!("{name}.theSameEndOfAllNames")).collect()
    }

    #[test]
    fn chosen_names_do_not_slow_the_interner_down() {
        let names = colliding_names();
        let hashes: std::collections::BTreeSet<_> =
            names.iter().map(|name| FxBuildHasher.hash_one(name)).collect();
        assert_eq!(hashes.len(), 1, "no attack");
        let mut strings = Interner::new();
        let mut step_count = 0;
        for name in &names {
            strings.intern(name);
            step_count += strings.step_count(name);
        }
        assert!(step_count < 16 * COUNT, "{step_count} steps");
    }

    #[test]
    fn all_bytes_of_a_text_count() {
        let hashes = KeyedState::default();
        let mut seen = HashSet::new();
        for length in 0..40 {
            let text = "a".repeat(length);
            assert!(seen.insert(hashes.hash_text(&text)), "{length} bytes");
            for place in 0..length {
                let mut other = text.clone();
                other.replace_range(place..=place, "b");
                assert!(seen.insert(hashes.hash_text(&other)), "byte {place} of {length}");
            }
        }
    }
}
