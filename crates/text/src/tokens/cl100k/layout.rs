//! The layout of the table of tokens, which the build script writes and `ranks` reads.
//!
//! The table is a hash table with open addressing: [`SLOTS`] numbers, then where the bytes of each token start, then
//! the bytes of all tokens in the order of their ranks. All numbers are `u32` in little endian, so the table is used
//! where the program was loaded, without being read first.

/// Number of slots, a power of two; there are 100,256 tokens.
pub(crate) const SLOTS: usize = 1 << 18;

/// Number of bits of a slot that hold the rank of its token, plus one; the others hold a part of the hash. An empty
/// slot is zero.
pub(crate) const RANK_BITS: u32 = 18;

/// Number of zeros that must follow the bytes given to [`hash`].
pub(crate) const PADDING: usize = 8;

/// Returns the hash of the bytes `start..end` of a text that ends at least [`PADDING`] bytes later. The high bits are
/// the good ones.
#[inline]
pub(crate) fn hash(padded: &[u8], start: usize, end: usize) -> u64 {
    // The golden ratio, as in Knuth's multiplicative hashing.
    let mix = |hash: u64, word: u64| (hash.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let word = |at: usize| padded[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    let (mut hash, mut at) = ((end - start) as u64, start);
    while end - at > 8 {
        hash = mix(hash, word(at));
        at += 8;
    }
    let hash = mix(hash, word(at) & (u64::MAX >> (64 - 8 * (end - at))));
    hash ^ hash >> 32
}

/// Returns the first slot of a hash, and the part of it that is stored there.
#[inline]
pub(crate) fn place(hash: u64) -> (usize, u32) {
    let slot = hash >> (u64::BITS - SLOTS.ilog2());
    let [a, b, c, d, ..] = hash.to_le_bytes();
    (usize::try_from(slot).unwrap_or(0), u32::from_le_bytes([a, b, c, d]) << RANK_BITS)
}
