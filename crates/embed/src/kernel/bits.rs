//! Products of one question with rows of bits, each of which stands for 1 or -1.
//!
//! Four bits have 16 values, so the product with four numbers of a question is one of 16 sums. A processor looks up many bytes at a
//! time in a table of 16, if all of them belong to the same four numbers: rows lie in blocks, one place of all rows after the
//! other (André, Kermarrec and Le Scouarnec, Cache Locality Is Not Enough, PVLDB 9, 2015). A sum is looked up as two numbers
//! below 32, eight of which can be added in a byte.

/// Number of rows of a block.
pub(super) const ROWS: usize = 32;

/// Number of places that are looked up together.
const PAIR: usize = 2;

/// Numbers of a question in each half of a byte.
const HALF: usize = 4;

/// The bytes of two places of all rows in a block.
type Pair = [[u8; ROWS]; PAIR];

/// How rows of bits lie in memory.
#[derive(Debug, Clone, Copy)]
pub struct BitLayout {
    /// Bytes of a row.
    width: usize,
}

impl BitLayout {
    /// Number of rows of a block.
    pub const ROWS: usize = ROWS;

    /// Returns the layout of rows with a bit for each dimension, the first one the most significant of its byte.
    #[must_use]
    pub fn new(dim: usize) -> Self {
        Self { width: dim.div_ceil(8) }
    }

    /// Returns the number of bytes of a block.
    #[must_use]
    pub fn block(self) -> usize {
        self.width.next_multiple_of(PAIR) * ROWS
    }

    /// Returns the number of bytes that rows have in blocks, the last one of which may not be full.
    #[must_use]
    pub fn bytes(self, rows: usize) -> usize {
        rows.div_ceil(ROWS) * self.block()
    }

    /// Returns rows in blocks. `rows` has one after the other.
    #[must_use]
    pub fn blocks(self, rows: &[u8]) -> Vec<u8> {
        let width = self.width.max(1);
        let mut blocks = vec![0; self.bytes(rows.len() / width)];
        for (rows, block) in rows.chunks(ROWS * width).zip(blocks.chunks_exact_mut(self.block().max(1))) {
            for (at, row) in rows.chunks_exact(width).enumerate() {
                row.iter().zip(block.chunks_exact_mut(ROWS)).for_each(|(byte, place)| place[at] = *byte);
            }
        }
        blocks
    }

    /// Returns a row of blocks.
    ///
    /// # Panics
    /// If there are not as many rows.
    #[must_use]
    pub fn row(self, blocks: &[u8], row: usize) -> Vec<u8> {
        let block = &blocks[row / ROWS * self.block()..][..self.block()];
        block.chunks_exact(ROWS).take(self.width).map(|place| place[row % ROWS]).collect()
    }
}

/// A question for rows of bits.
#[derive(Debug, Clone)]
pub struct BitQuestion {
    layout: BitLayout,
    /// For both halves of the bytes of each place, the first dimensions first: the products of all values.
    products: Vec<[[i16; 16]; 2]>,
    #[cfg(target_arch = "x86_64")]
    tables: x86::Tables,
}

impl BitQuestion {
    /// Creates a question of whole numbers, one for each dimension; -128 counts as -127.
    #[must_use]
    pub fn new(numbers: &[i8]) -> Self {
        let layout = BitLayout::new(numbers.len());
        let mut products = vec![[[0; 16]; 2]; layout.width];
        for (half, numbers) in products.as_flattened_mut().iter_mut().zip(numbers.chunks(HALF)) {
            for (value, product) in half.iter_mut().enumerate() {
                let is_one = |at: usize| value >> (HALF - 1 - at) & 1 == 1;
                let sign = |at: usize, number: i16| if is_one(at) { number } else { -number };
                *product = numbers.iter().enumerate().map(|(at, number)| sign(at, i16::from(*number).max(-127))).sum();
            }
        }
        Self {
            layout,
            #[cfg(target_arch = "x86_64")]
            tables: x86::Tables::new(&products),
            products,
        }
    }

    pub(super) fn block(&self) -> usize {
        self.layout.block()
    }

    /// Passes each block with its sums to `product`.
    #[inline(always)]
    fn each<'b>(&self, blocks: &'b [u8], sums: &mut [i32], mut product: impl FnMut(&'b [Pair], &mut [i32; ROWS])) {
        let blocks = blocks.chunks_exact(self.block().max(1));
        for (block, sums) in blocks.zip(sums.as_chunks_mut().0) {
            product(block.as_chunks().0.as_chunks().0, sums);
        }
    }
}

/// The products on any processor.
pub(super) fn portable(blocks: &[u8], question: &BitQuestion, sums: &mut [i32]) {
    question.each(blocks, sums, |block, sums| {
        sums.fill(0);
        for (place, [first, last]) in block.as_flattened().iter().zip(&question.products) {
            for (sum, byte) in sums.iter_mut().zip(place) {
                *sum += i32::from(first[usize::from(byte >> 4)] + last[usize::from(byte & 15)]);
            }
        }
    });
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use core::arch::x86_64::*;

    use crate::kernel::bits::{BitQuestion, PAIR, Pair, ROWS};

    /// Number of pairs of places whose sums fit in 16 bits with a sign.
    const PAIRS: usize = 256;

    /// Number of bytes after those that are looked up which a processor is asked to fetch.
    const AHEAD: usize = 4096;

    /// Largest product of four bits.
    const MOST: i16 = 4 * 127;

    /// Weight of the larger of the two numbers of a sum.
    const STEP: i16 = 32;

    /// The products of a question in the form in which they are looked up.
    #[derive(Debug, Clone)]
    pub(super) struct Tables {
        /// The products, increased by [`MOST`], for each pair of places: the smaller and the larger number of the first half, and
        /// those of the second one; for each place once for each 16 rows.
        of_pairs: Vec<[Pair; 4]>,
        /// The sum of what the products were increased by.
        increase: i32,
    }

    impl Tables {
        /// Creates the tables of the products of both halves of each place.
        pub(super) fn new(products: &[[[i16; 16]; 2]]) -> Self {
            let mut of_pairs = vec![[[[0; ROWS]; PAIR]; 4]; products.len().div_ceil(PAIR)];
            let mut increase = 0;
            for (place, halves) in products.iter().enumerate() {
                for (half, products) in halves.iter().enumerate() {
                    increase += i32::from(MOST);
                    for at in 0..ROWS {
                        let sum = products[at % 16] + MOST;
                        for (part, number) in [sum % STEP, sum / STEP].into_iter().enumerate() {
                            of_pairs[place / PAIR][2 * half + part][place % PAIR][at] =
                                u8::try_from(number).unwrap_or_default();
                        }
                    }
                }
            }
            Self { of_pairs, increase }
        }
    }

    #[target_feature(enable = "avx2")]
    pub(in super::super) unsafe fn avx2(blocks: &[u8], question: &BitQuestion, sums: &mut [i32]) {
        // SAFETY: there are 32 bytes.
        let load = |bytes: &[u8; ROWS]| unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
        let (half, byte) = (_mm256_set1_epi8(15), _mm256_set1_epi16(255));
        question.each(blocks, sums, |block, sums| {
            sums.fill(-question.tables.increase);
            for (pairs, tables) in block.chunks(PAIRS).zip(question.tables.of_pairs.chunks(PAIRS)) {
                let mut wide = [_mm256_setzero_si256(); 4];
                // Eight numbers, four of each pair.
                for (pairs, tables) in pairs.chunks(2).zip(tables.chunks(2)) {
                    let mut narrow = [_mm256_setzero_si256(); 2];
                    for (places, tables) in pairs.iter().zip(tables) {
                        ahead(places);
                        for (at, place) in places.iter().enumerate() {
                            let bytes = load(place);
                            let first = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half);
                            let last = _mm256_and_si256(bytes, half);
                            for (part, narrow) in narrow.iter_mut().enumerate() {
                                let first = _mm256_shuffle_epi8(load(&tables[part][at]), first);
                                let last = _mm256_shuffle_epi8(load(&tables[part + 2][at]), last);
                                *narrow = _mm256_add_epi8(*narrow, _mm256_add_epi8(first, last));
                            }
                        }
                    }
                    for (wide, narrow) in wide.as_chunks_mut::<2>().0.iter_mut().zip(narrow) {
                        wide[0] = _mm256_add_epi16(wide[0], _mm256_and_si256(narrow, byte));
                        wide[1] = _mm256_add_epi16(wide[1], _mm256_srli_epi16::<8>(narrow));
                    }
                }
                add(wide, sums);
            }
        });
    }

    #[target_feature(enable = "avx2,avx512f,avx512bw")]
    pub(in super::super) unsafe fn avx512(blocks: &[u8], question: &BitQuestion, sums: &mut [i32]) {
        // SAFETY: there are 64 bytes.
        let load = |pair: &Pair| unsafe { _mm512_loadu_si512(pair.as_ptr().cast()) };
        let (half, byte) = (_mm512_set1_epi8(15), _mm512_set1_epi16(255));
        question.each(blocks, sums, |block, sums| {
            sums.fill(-question.tables.increase);
            for (pairs, tables) in block.chunks(PAIRS).zip(question.tables.of_pairs.chunks(PAIRS)) {
                let mut wide = [_mm512_setzero_si512(); 4];
                // Eight numbers, two of each pair.
                for (pairs, tables) in pairs.chunks(4).zip(tables.chunks(4)) {
                    let mut narrow = [_mm512_setzero_si512(); 2];
                    for (places, tables) in pairs.iter().zip(tables) {
                        ahead(places);
                        let bytes = load(places);
                        let first = _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), half);
                        let last = _mm512_and_si512(bytes, half);
                        for (part, narrow) in narrow.iter_mut().enumerate() {
                            let first = _mm512_shuffle_epi8(load(&tables[part]), first);
                            let last = _mm512_shuffle_epi8(load(&tables[part + 2]), last);
                            *narrow = _mm512_add_epi8(*narrow, _mm512_add_epi8(first, last));
                        }
                    }
                    for (wide, narrow) in wide.as_chunks_mut::<2>().0.iter_mut().zip(narrow) {
                        wide[0] = _mm512_add_epi16(wide[0], _mm512_and_si512(narrow, byte));
                        wide[1] = _mm512_add_epi16(wide[1], _mm512_srli_epi16::<8>(narrow));
                    }
                }
                let both = |sum| _mm256_add_epi16(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum));
                add(wide.map(both), sums);
            }
        });
    }

    /// Asks for the bytes that will be needed soon: a processor does not see so far ahead by itself.
    #[inline(always)]
    fn ahead(places: &Pair) {
        let soon = places.as_ptr().cast::<i8>().wrapping_add(AHEAD);
        // SAFETY: nothing is read, and an address that is not mapped is ignored.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(soon) };
    }

    /// Adds to the sum of each row what was looked up: the smaller numbers of even and odd rows, and the larger ones.
    #[target_feature(enable = "avx2")]
    fn add([small_even, small_odd, large_even, large_odd]: [__m256i; 4], sums: &mut [i32; ROWS]) {
        let weights = _mm256_set1_epi32(i32::from(STEP) << 16 | 1);
        let first = |small, large| _mm256_madd_epi16(_mm256_unpacklo_epi16(small, large), weights);
        let last = |small, large| _mm256_madd_epi16(_mm256_unpackhi_epi16(small, large), weights);
        let (even, odd) = (first(small_even, large_even), first(small_odd, large_odd));
        // Four rows of the first half of the block and four of the second one.
        let (a, b) = (_mm256_unpacklo_epi32(even, odd), _mm256_unpackhi_epi32(even, odd));
        let (even, odd) = (last(small_even, large_even), last(small_odd, large_odd));
        let (c, d) = (_mm256_unpacklo_epi32(even, odd), _mm256_unpackhi_epi32(even, odd));
        let in_order = [
            _mm256_permute2x128_si256::<0x20>(a, b),
            _mm256_permute2x128_si256::<0x20>(c, d),
            _mm256_permute2x128_si256::<0x31>(a, b),
            _mm256_permute2x128_si256::<0x31>(c, d),
        ];
        for (sums, more) in sums.as_chunks_mut::<8>().0.iter_mut().zip(in_order) {
            // SAFETY: there are eight numbers.
            unsafe {
                let sum = _mm256_add_epi32(_mm256_loadu_si256(sums.as_ptr().cast()), more);
                _mm256_storeu_si256(sums.as_mut_ptr().cast(), sum);
            }
        }
    }
}
