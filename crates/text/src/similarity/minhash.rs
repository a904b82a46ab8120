//! Signatures by which alike texts are found among many (Broder 1997), with the numbers of `datatrove`: 112 hash functions,
//! in 14 bands of 8. Two texts with a Jaccard similarity s share a band with probability 1 - (1 - s^8)^14: .56 at .7, .92
//! at .8, .9996 at .9.

use std::sync::LazyLock;

use super::random::MersenneTwister;
use super::shingles::Shingles;

/// Number of values in a signature.
pub const SIGNATURE: usize = BANDS * BAND;

/// Number of bands. Texts that share all values of a band may be alike.
pub const BANDS: usize = 14;

/// Number of values in a band.
const BAND: usize = 8;

/// The prime 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;

/// Factors and summands of the hash functions.
static FUNCTIONS: LazyLock<([u64; SIGNATURE], [u64; SIGNATURE])> = LazyLock::new(|| {
    let mut random = MersenneTwister::new(1);
    let factors = std::array::from_fn(|_| 1 + random.below(PRIME - 1));
    (factors, std::array::from_fn(|_| random.below(PRIME)))
});

/// The signature of a text: for each of 112 hash functions, the smallest hash of its shingles. The function i of a shingle
/// x is the low half of `(x a_i + b_i mod 2^64) mod 2^61 - 1`, as `datatrove` 0.10 has it with 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature(pub [u32; SIGNATURE]);

impl Signature {
    /// Returns the signature of a text; `None` if it has no shingles.
    pub fn of(shingles: &Shingles) -> Option<Self> {
        let (factors, summands) = &*FUNCTIONS;
        let mut least = [u32::MAX; SIGNATURE];
        for &shingle in shingles.hashes() {
            for ((least, factor), summand) in least.iter_mut().zip(factors).zip(summands) {
                let hash = u64::from(shingle).wrapping_mul(*factor).wrapping_add(*summand);
                let hash = (hash & PRIME) + (hash >> 61);
                let hash = if hash >= PRIME { hash - PRIME } else { hash };
                #[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
                let hash = hash as u32;
                *least = hash.min(*least);
            }
        }
        (!shingles.is_empty()).then_some(Self(least))
    }

    /// Returns the values of a band.
    pub fn band(&self, band: usize) -> &[u32] {
        &self.0[band * BAND..][..BAND]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signature that datatrove 0.10.1 computes of [`TEXT`], with `HashConfig(precision=32, hash_fc="xxhash")`.
    #[rustfmt::skip]
    const DATATROVE: [[u32; BAND]; BANDS] = [
        [125_697_124, 251_691_115, 78_790_317, 249_827_648, 422_680_586, 339_415_584, 81_445_912, 99_635_522],
        [68_191_045, 362_569_618, 208_158_073, 665_718_448, 31_806_638, 25_686_870, 25_323_700, 7_796_782],
        [501_485_194, 334_485_614, 298_884_938, 78_763_609, 751_379_121, 160_233_208, 582_140_646, 288_870_517],
        [1_378_751, 111_362_009, 4_983_799, 122_669_507, 118_168_735, 280_438_511, 262_081_747, 402_166_478],
        [29_321_190, 501_610_141, 20_009_912, 297_348_499, 54_085_328, 8_767_184, 93_719_483, 89_985_049],
        [17_773_435, 282_664_118, 118_248_129, 15_290_804, 194_291_906, 513_070_688, 372_009_029, 701_217_968],
        [94_246_917, 400_308_695, 173_256_783, 145_227_496, 154_021_917, 1_638_065, 310_890_133, 75_352_584],
        [140_785_523, 5_193_701, 189_458_623, 1_047_997_439, 550_943_773, 539_386_406, 24_127_445, 196_095_688],
        [84_269_289, 101_566_502, 57_514_972, 584_887_316, 77_629_396, 480_167_500, 103_889_023, 121_972_949],
        [508_618_157, 48_296_180, 82_556_687, 108_130_829, 123_861_972, 104_768_953, 14_327_607, 477_989_851],
        [89_807_704, 22_086_996, 20_645_702, 232_315_795, 212_566_704, 296_032_510, 115_289_809, 42_905_237],
        [321_013_877, 27_686_759, 115_245_141, 225_933_411, 428_576_535, 507_915_862, 144_945_998, 216_094_690],
        [446_938_744, 196_667_077, 417_926_118, 258_292_561, 237_554_145, 46_339_404, 185_912_483, 121_096_780],
        [375_783_278, 313_163_750, 88_097_238, 297_318_976, 61_965_611, 54_412_224, 380_316_960, 358_915_490],
    ];

    const TEXT: &str = "The quick brown fox jumps over the lazy dog, while seven sly wizards vex a quiet judge and pack \
                        my box with five dozen liquor jugs.";

    #[test]
    fn a_signature_is_that_of_datatrove() {
        let signature = Signature::of(&Shingles::of(TEXT)).expect("it has enough words");
        for (band, expected) in DATATROVE.iter().enumerate() {
            assert_eq!(signature.band(band), expected, "band {band}");
        }
    }

    #[test]
    fn a_text_of_less_than_five_words_has_no_signature() {
        assert_eq!(Signature::of(&Shingles::of("one two three four")), None);
    }
}
