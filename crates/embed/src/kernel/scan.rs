//! Dot products of one question with very many stored vectors, in floats, bytes and bits.
//!
//! A search reads more than it computes, if the processor multiplies bytes many at a time. Sums of bytes and bits are whole numbers,
//! and those of floats are added in one order, so they are the same with every instruction set.

use super::bits::{self, BitQuestion};
use super::isa::Isa;

/// Products of one question with rows of stored values.
#[derive(Debug, Clone, Copy)]
pub struct Scan {
    floats: unsafe fn(&[f32], &[f32], &mut [f32]),
    bytes: unsafe fn(&[i8], &[i16], &mut [i32]),
    bits: unsafe fn(&[u8], &BitQuestion, &mut [i32]),
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
                Self { floats: x86::floats_avx2, bytes: x86::bytes_avx2, bits: bits::x86::avx2 }
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 | Isa::Avx512Vnni | Isa::Avx512Bf16 | Isa::Amx => {
                Self { floats: x86::floats_avx512, bytes: x86::bytes_avx512, bits: bits::x86::avx512 }
            }
            _ => Self { floats, bytes, bits: bits::portable },
        })
    }

    /// Returns the fastest products that this processor has.
    #[must_use]
    pub fn best() -> Self {
        Self::new(Isa::best()).unwrap_or(Self { floats, bytes, bits: bits::portable })
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

    /// Computes the product of each row of bits with a question, by blocks of a [`BitLayout`](super::BitLayout).
    ///
    /// # Panics
    /// If there are not as many rows as places for sums.
    pub fn bits(&self, blocks: &[u8], question: &BitQuestion, sums: &mut [i32]) {
        let has_all = sums.len().is_multiple_of(bits::ROWS)
            && Some(blocks.len()) == (sums.len() / bits::ROWS).checked_mul(question.block());
        assert!(has_all, "a sum for each row");
        // SAFETY: the processor has the instructions (`new`); slices are read within their lengths.
        unsafe { (self.bits)(blocks, question, sums) }
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

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    use crate::kernel::scan::{bytes, floats};

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
}
