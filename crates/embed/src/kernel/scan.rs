//! Dot products of one question with very many stored vectors, in floats, bytes and bits.
//!
//! A search reads more than it computes, if the processor multiplies bytes many at a time. Sums of bytes and bits are whole numbers,
//! and those of floats are added in one order, so they are the same with every instruction set.

use std::sync::OnceLock;

use super::isa::Isa;

/// Products of one question with rows of stored values.
#[derive(Debug, Clone, Copy)]
pub struct Scan {
    floats: unsafe fn(&[f32], &[f32], &mut [f32]),
    bytes: unsafe fn(&[i8], &[i16], &mut [i32]),
    bits: unsafe fn(&[u8], &BitQuestion, &mut [i32]),
}

/// A question for rows of bits: bytes in the order of the bits.
#[derive(Debug, Clone)]
pub struct BitQuestion {
    /// Bytes of a row.
    width: usize,
    /// The question's numbers by bits of words of eight bytes, the least significant first; zeros after the last dimension.
    values: Vec<[i8; WORD]>,
    /// The sum of all numbers.
    total: i32,
    /// For each byte of a row, the sum of the numbers at the bits that are 1, by the byte; without vector instructions.
    of_bytes: OnceLock<Vec<[i16; 256]>>,
}

/// Bits of a word.
const WORD: usize = 64;

impl BitQuestion {
    /// Creates a question of whole numbers from -127 to 127, one for each dimension.
    #[must_use]
    pub fn new(numbers: &[i8]) -> Self {
        let width = numbers.len().div_ceil(8);
        let mut values = vec![[0; WORD]; width.div_ceil(8)];
        for (at, &number) in numbers.iter().enumerate() {
            // The most significant bit of a byte comes first.
            values[at / WORD][at % WORD / 8 * 8 + 7 - at % 8] = number;
        }
        let total = numbers.iter().map(|&number| i32::from(number)).sum();
        Self { width, values, total, of_bytes: OnceLock::new() }
    }
}

impl Scan {
    /// Returns the products of an instruction set, if this processor supports it.
    #[must_use]
    pub fn new(isa: Isa) -> Option<Self> {
        if !isa.is_available() {
            return None;
        }
        Some(match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 | Isa::Avx2Vnni => {
                Self { floats: x86::floats_avx2, bytes: x86::bytes_avx2, bits: x86::bits_avx2 }
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Self { floats: x86::floats_avx512, bytes: x86::bytes_avx512, bits: x86::bits_avx512 },
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Vnni | Isa::Avx512Bf16 | Isa::Amx => {
                Self { floats: x86::floats_avx512, bytes: x86::bytes_avx512, bits: x86::bits_avx512_vnni }
            }
            _ => Self { floats, bytes, bits },
        })
    }

    /// Returns the fastest products that this processor has.
    #[must_use]
    pub fn best() -> Self {
        Self::new(Isa::best()).unwrap_or(Self { floats, bytes, bits })
    }

    /// Computes the product of each row of floats with a question of as many, without fused multiplication.
    ///
    /// # Panics
    /// If there are not as many rows as places for sums.
    pub fn floats(&self, rows: &[f32], question: &[f32], sums: &mut [f32]) {
        assert!(Some(rows.len()) == sums.len().checked_mul(question.len()), "a sum for each row");
        // SAFETY: the processor has the instructions (`new`); slices are read within their lengths.
        unsafe { (self.floats)(rows, question, sums) }
    }

    /// Computes the product of each row of bytes, -127 to 127, with a question of as many numbers. The sum of a row must fit in
    /// 32 bits.
    ///
    /// # Panics
    /// If there are not as many rows as places for sums.
    pub fn bytes(&self, rows: &[i8], question: &[i16], sums: &mut [i32]) {
        assert!(Some(rows.len()) == sums.len().checked_mul(question.len()), "a sum for each row");
        // SAFETY: the processor has the instructions (`new`); slices are read within their lengths.
        unsafe { (self.bytes)(rows, question, sums) }
    }

    /// Computes for each row of bits the sum of the question's numbers, less those at bits that are 0 twice: the product with
    /// 1 and -1.
    ///
    /// # Panics
    /// If there are not as many rows as places for sums.
    pub fn bits(&self, rows: &[u8], question: &BitQuestion, sums: &mut [i32]) {
        assert!(Some(rows.len()) == sums.len().checked_mul(question.width), "a sum for each row");
        // SAFETY: the processor has the instructions (`new`); slices are read within their lengths.
        unsafe { (self.bits)(rows, question, sums) }
        for sum in sums {
            *sum = 2 * *sum - question.total;
        }
    }
}

/// Number of partial sums of floats: enough that the processor does not wait for any of them.
const LANES: usize = 16;

/// Written for the compiler, which takes the widest instructions that the caller is compiled for.
#[inline(always)]
fn floats(rows: &[f32], question: &[f32], sums: &mut [f32]) {
    let (question_lanes, question_rest) = question.as_chunks::<LANES>();
    for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(question.len().max(1))) {
        let mut lanes = [0.0f32; LANES];
        let (row_lanes, row_rest) = row.as_chunks::<LANES>();
        for (x, y) in row_lanes.iter().zip(question_lanes) {
            for lane in 0..LANES {
                lanes[lane] += x[lane] * y[lane];
            }
        }
        let rest: f32 = row_rest.iter().zip(question_rest).map(|(x, y)| x * y).sum();
        *sum = lanes.iter().sum::<f32>() + rest;
    }
}

/// Written for the compiler, as [`floats`].
#[inline(always)]
fn bytes(rows: &[i8], question: &[i16], sums: &mut [i32]) {
    for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(question.len().max(1))) {
        *sum = row.iter().zip(question).map(|(&x, &y)| i32::from(i16::from(x)) * i32::from(y)).sum();
    }
}

/// Returns the words of a row, the last one filled with zeros.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn words(row: &[u8]) -> impl Iterator<Item = u64> {
    let (words, rest) = row.as_chunks::<8>();
    let last = (!rest.is_empty()).then(|| {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        word
    });
    words.iter().copied().chain(last).map(u64::from_le_bytes)
}

fn bits(rows: &[u8], question: &BitQuestion, sums: &mut [i32]) {
    let of_bytes = question.of_bytes.get_or_init(|| {
        let sum_of = |numbers: &[i8], byte: usize| -> i16 {
            (0..8).filter(|bit| byte >> bit & 1 == 1).map(|bit| i16::from(numbers[bit])).sum()
        };
        let numbers = question.values.as_flattened().chunks(8);
        numbers.map(|numbers| std::array::from_fn(|byte| sum_of(numbers, byte))).collect()
    });
    for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(question.width.max(1))) {
        *sum = row.iter().zip(of_bytes).map(|(&byte, sums)| i32::from(sums[usize::from(byte)])).sum();
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    use crate::kernel::scan::{BitQuestion, WORD, bytes, floats, words};

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn floats_avx2(rows: &[f32], question: &[f32], sums: &mut [f32]) {
        floats(rows, question, sums);
    }

    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) unsafe fn floats_avx512(rows: &[f32], question: &[f32], sums: &mut [f32]) {
        floats(rows, question, sums);
    }

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn bytes_avx2(rows: &[i8], question: &[i16], sums: &mut [i32]) {
        bytes(rows, question, sums);
    }

    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) unsafe fn bytes_avx512(rows: &[i8], question: &[i16], sums: &mut [i32]) {
        // Half a row's products at a time: 32 bytes become 32 words.
        let (whole, _) = question.as_chunks::<32>();
        let split = whole.len() * 32;
        for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(question.len().max(1))) {
            let (mut even, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
            let (blocks, _) = row.as_chunks::<32>();
            for (at, (x, y)) in blocks.iter().zip(whole).enumerate() {
                // SAFETY: both are 32 values long.
                let (x, y) = unsafe { (_mm256_loadu_si256(x.as_ptr().cast()), _mm512_loadu_si512(y.as_ptr().cast())) };
                let products = _mm512_madd_epi16(_mm512_cvtepi8_epi16(x), y);
                if at % 2 == 0 {
                    even = _mm512_add_epi32(even, products);
                } else {
                    odd = _mm512_add_epi32(odd, products);
                }
            }
            let rest: i32 =
                row[split..].iter().zip(&question[split..]).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum();
            *sum = _mm512_reduce_add_epi32(_mm512_add_epi32(even, odd)) + rest;
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn bits_avx2(rows: &[u8], question: &BitQuestion, sums: &mut [i32]) {
        let bytes_of_word = _mm256_setr_epi8(
            0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3,
        );
        let bit_of_byte = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
        let (ones, one) = (_mm256_set1_epi8(1), _mm256_set1_epi16(1));
        for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(question.width.max(1))) {
            let mut total = _mm256_setzero_si256();
            for (word, values) in words(row).zip(&question.values) {
                for half in 0..2 {
                    #[expect(clippy::cast_possible_truncation, reason = "half of the word")]
                    let bits = _mm256_set1_epi32(((word >> (32 * half)) as u32).cast_signed());
                    let spread = _mm256_and_si256(_mm256_shuffle_epi8(bits, bytes_of_word), bit_of_byte);
                    let mask = _mm256_cmpeq_epi8(spread, bit_of_byte);
                    // SAFETY: there are 64 values.
                    let values = unsafe { _mm256_loadu_si256(values.as_ptr().add(32 * half).cast()) };
                    let pairs = _mm256_maddubs_epi16(ones, _mm256_and_si256(mask, values));
                    total = _mm256_add_epi32(total, _mm256_madd_epi16(pairs, one));
                }
            }
            let four = _mm_add_epi32(_mm256_castsi256_si128(total), _mm256_extracti128_si256::<1>(total));
            let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
            *sum = _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two)));
        }
    }

    /// Defines a function that adds to a total of 16 sums the values of a word at the bits that are 1.
    macro_rules! bits_avx512 {
        ($name:ident, $features:literal, $add:expr) => {
            #[target_feature(enable = $features)]
            pub(super) unsafe fn $name(rows: &[u8], question: &BitQuestion, sums: &mut [i32]) {
                // SAFETY: there are 64 values.
                let load = |values: &[i8; WORD]| unsafe { _mm512_loadu_si512(values.as_ptr().cast()) };
                let add = |total, word, values| $add(total, _mm512_maskz_mov_epi8(word, load(values)));
                let total = |row: &[u8]| {
                    let zero = _mm512_setzero_si512();
                    words(row).zip(&question.values).fold(zero, |total, (word, values)| add(total, word, values))
                };
                let width = question.width.max(1);
                let (fours, last) = sums.as_chunks_mut::<4>();
                let (of_fours, of_last) = rows.split_at(fours.len() * 4 * width);
                for (sums, rows) in fours.iter_mut().zip(of_fours.chunks_exact(4 * width)) {
                    let (first, last) = rows.split_at(2 * width);
                    let (a, b) = first.split_at(width);
                    let (c, d) = last.split_at(width);
                    let rows = [a, b, c, d];
                    // Side by side, because each sum waits for the one before it.
                    let (a, b, c, d) = (a.as_chunks().0, b.as_chunks().0, c.as_chunks().0, d.as_chunks().0);
                    let mut totals = [_mm512_setzero_si512(); 4];
                    for ((((values, a), b), c), d) in question.values.iter().zip(a).zip(b).zip(c).zip(d) {
                        for (total, word) in totals.iter_mut().zip([a, b, c, d]) {
                            *total = add(*total, u64::from_le_bytes(*word), values);
                        }
                    }
                    if let Some(values) = question.values.get(width / 8) {
                        for (total, row) in totals.iter_mut().zip(rows) {
                            *total = words(&row[width / 8 * 8..]).fold(*total, |total, word| add(total, word, values));
                        }
                    }
                    *sums = sums_of_four(totals);
                }
                for (sum, row) in last.iter_mut().zip(of_last.chunks_exact(width)) {
                    *sum = _mm512_reduce_add_epi32(total(row));
                }
            }
        };
    }

    bits_avx512!(bits_avx512, "avx2,avx512f,avx512bw,avx512dq,avx512vl", |total, values| {
        // A sum of two bytes fits in 16 bits.
        let pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), values);
        _mm512_add_epi32(total, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))
    });
    bits_avx512!(bits_avx512_vnni, "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni", |total, values| {
        _mm512_dpbusd_epi32(total, _mm512_set1_epi8(1), values)
    });

    /// Returns the sums of four vectors: together, they need fewer steps than one by one.
    #[target_feature(enable = "avx2,avx512f")]
    fn sums_of_four([a, b, c, d]: [__m512i; 4]) -> [i32; 4] {
        let pair = |x, y| _mm512_add_epi32(_mm512_unpacklo_epi32(x, y), _mm512_unpackhi_epi32(x, y));
        let (ab, cd) = (pair(a, b), pair(c, d));
        let all = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
        let half = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64::<1>(all));
        let sums = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half));
        let mut of = [0; 4];
        // SAFETY: there are four numbers.
        unsafe { _mm_storeu_si128(of.as_mut_ptr().cast(), sums) };
        of
    }
}
