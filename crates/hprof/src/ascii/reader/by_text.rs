//! Ids by their text. The lines of a file repeat, and only new ones are parsed.

use std::hash::{BuildHasherDefault, Hasher};

/// Ids by 128 bits of their text. Two texts do not share these bits in practice: with a million
/// texts, once in 10^26 files. So the texts are neither kept nor fetched for comparison.
#[derive(Debug)]
pub(super) struct TextIds<T>(
    std::collections::HashMap<[u64; 2], T, BuildHasherDefault<IdentityHasher>>,
);

impl<T> Default for TextIds<T> {
    fn default() -> Self {
        Self(Default::default())
    }
}

impl<T: Copy> TextIds<T> {
    #[inline]
    pub(super) fn get(&self, text: &[u8]) -> Option<T> {
        self.0.get(&bits(text)).copied()
    }

    pub(super) fn insert(&mut self, text: &[u8], id: T) {
        self.0.insert(bits(text), id);
    }
}

/// Returns the upper and lower halves of products, each mixed into the other, of two sums of the
/// text with different factors (the fractions of square roots).
#[inline]
fn bits(text: &[u8]) -> [u64; 2] {
    const FACTORS: [u64; 2] = [0x6A09_E667_F3BC_C909, 0xBB67_AE85_84CA_A73B];
    let mut sums = [0x3C6E_F372_FE94_F82B ^ text.len() as u64, 0xA54F_F53A_5F1D_36F1];
    let mut add = |word: u64| {
        for (sum, factor) in sums.iter_mut().zip(FACTORS) {
            let product = u128::from(*sum ^ word) * u128::from(factor);
            *sum = (product as u64) ^ (product >> 64) as u64;
        }
    };
    let (words, rest) = text.as_chunks::<8>();
    for word in words {
        add(u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    add(u64::from_le_bytes(last));
    sums
}

/// A hasher that takes the last of the words as the hash.
#[derive(Debug, Default)]
pub(super) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // An array of numbers comes as its bytes.
        if let Some(word) = bytes.last_chunk() {
            self.0 = u64::from_ne_bytes(*word);
        }
    }

    // The length of the array does not matter.
    fn write_usize(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn texts_that_differ_little_are_distinct() {
        let text = *b"java.lang.String.charAt(String.java:12)";
        let mut seen = HashSet::new();
        for end in 0..=text.len() {
            assert!(seen.insert(bits(&text[..end])));
        }
        for bit in 0..text.len() * 8 {
            let mut other = text;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(seen.insert(bits(&other)));
        }
        let halves: HashSet<u64> = seen.iter().map(|bits| bits[1]).collect();
        assert_eq!(halves.len(), seen.len());
        for zeros in [&b""[..], b"\0", b"\0\0\0\0\0\0\0\0", b"\0\0\0\0\0\0\0\0\0"] {
            assert!(seen.insert(bits(zeros)) || zeros.is_empty());
        }
    }

    #[test]
    fn ids_are_found_by_their_text() {
        let mut ids = TextIds::default();
        ids.insert(b"a", 1);
        ids.insert(b"b", 2);
        assert_eq!((ids.get(b"a"), ids.get(b"b"), ids.get(b"c")), (Some(1), Some(2), None));
    }
}
