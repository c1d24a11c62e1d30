//! The identity hashes that perk chooses. `java/helper/java/lang/PerkHeaders.java` makes the same.

/// The bits of an identity hash.
pub const HASH_MASK: u32 = 0x7fff_ffff;
const FACTOR: u32 = 0x2E37_79B9;
/// The inverse of the factor, modulo 2^31.
const INVERSE: u32 = inverse(FACTOR) & HASH_MASK;

/// Returns the seed that a hash was made from.
pub fn seed_of(hash: u32) -> u32 {
    let mixed = hash ^ hash >> 15 ^ hash >> 30;
    let seed = mixed.wrapping_mul(INVERSE) & HASH_MASK;
    seed ^ seed >> 16
}

/// Returns the inverse of an odd number modulo 2^32, by Newton's method.
const fn inverse(odd: u32) -> u32 {
    let (mut inverse, mut round) = (odd, 0);
    while round < 4 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
}

/// Returns the hash of a seed, as PerkHeaders makes it.
pub fn hash_of(seed: u32) -> u32 {
    let mixed = (seed ^ seed >> 16).wrapping_mul(FACTOR) & HASH_MASK;
    mixed ^ mixed >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_found_by_their_hashes() {
        for seed in (0..=HASH_MASK).step_by(1009).chain([1, 63, 64, HASH_MASK]) {
            assert_eq!(seed_of(hash_of(seed)), seed);
            assert!(seed == 0 || hash_of(seed) != 0);
        }
    }
}
