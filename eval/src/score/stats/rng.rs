//! Random numbers that are always the same, on every platform.
//!
//! `SplitMix64` (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators") passes `BigCrush`,
//! accepts any seed, and is so small that no library is needed.

/// The step of the counter: 2^64 divided by the golden ratio, made odd.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A stream of random numbers.
pub(super) struct SplitMix(u64);

impl SplitMix {
    /// Returns the stream with this number. The streams of one seed start at scattered places of one period of
    /// 2^64.
    pub(super) fn stream(seed: u64, number: usize) -> Self {
        let mut seeds = Self(seed);
        let start = seeds.next();
        Self(mix(start.wrapping_add((number as u64).wrapping_mul(STEP))))
    }

    /// Returns 64 random bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// Returns a number below `end`, the upper half of a product (Lemire 2019). Its bias is less than `end` /
    /// 2^64, far below what any number of samples here could show.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let product = u128::from(self.next()) * (end as u128);
        usize::try_from(product >> 64).unwrap_or_default()
    }
}

fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
