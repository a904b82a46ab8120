//! AVX2 and FMA: eight lanes, available on nearly every x86-64 processor since 2013.

use core::arch::x86_64::*;

use super::simd::{Simd, floats};

/// AVX2 and FMA. `VNNI` says whether AVX-VNNI may be used too.
#[derive(Clone, Copy)]
pub(super) struct Avx2<const VNNI: bool>;

impl<const VNNI: bool> Simd for Avx2<VNNI> {
    const VECTORS: usize = 2;
    const LANES: usize = 8;
    type F = __m256;
    type I = __m256i;

    floats! {
        add(a, b) = _mm256_add_ps;
        sub(a, b) = _mm256_sub_ps;
        mul(a, b) = _mm256_mul_ps;
        div(a, b) = _mm256_div_ps;
        fma(a, b, c) = _mm256_fmadd_ps;
        max(a, b) = _mm256_max_ps;
        min(a, b) = _mm256_min_ps;
    }

    // SAFETY (all of this block): the trait's callers guarantee the processor's instructions and the pointers;
    // every load and store below is unaligned and of exactly the stated width.

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> __m256 {
        unsafe { _mm256_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32, x: __m256) {
        unsafe { _mm256_storeu_ps(to, x) }
    }
    #[inline(always)]
    unsafe fn splat(self, x: f32) -> __m256 {
        unsafe { _mm256_set1_ps(x) }
    }
    #[inline(always)]
    unsafe fn abs(self, a: __m256) -> __m256 {
        unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), a) }
    }
    #[inline(always)]
    unsafe fn round(self, a: __m256) -> __m256 {
        unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }
    #[inline(always)]
    unsafe fn scale(self, a: __m256, n: __m256) -> __m256 {
        unsafe {
            let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
            _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent)))
        }
    }
    #[inline(always)]
    unsafe fn sum(self, a: __m256) -> f32 {
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }
    #[inline(always)]
    unsafe fn greatest(self, a: __m256) -> f32 {
        unsafe {
            let four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        }
    }

    #[inline(always)]
    unsafe fn load_words(self, from: *const u32) -> __m256i {
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store_words(self, to: *mut u32, x: __m256i) {
        unsafe { _mm256_storeu_si256(to.cast(), x) }
    }
    #[inline(always)]
    unsafe fn prefetch(self, from: *const u32) {
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }
    #[inline(always)]
    unsafe fn splat_word(self, from: *const u32) -> __m256i {
        unsafe { _mm256_set1_epi32(from.cast::<i32>().read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn as_floats(self, a: __m256i) -> __m256 {
        unsafe { _mm256_castsi256_ps(a) }
    }
    #[inline(always)]
    unsafe fn as_words(self, a: __m256) -> __m256i {
        unsafe { _mm256_castps_si256(a) }
    }
    #[inline(always)]
    unsafe fn to_floats(self, a: __m256i) -> __m256 {
        unsafe { _mm256_cvtepi32_ps(a) }
    }
    #[inline(always)]
    unsafe fn sub_words(self, a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_sub_epi32(a, b) }
    }

    #[inline(always)]
    unsafe fn dot_bytes(self, sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        unsafe {
            if VNNI {
                _mm256_dpbusd_avx_epi32(sum, a, b)
            } else {
                // Quantization limits the weights, so the sum of a pair of products fits in 16 bits.
                let pairs = _mm256_maddubs_epi16(a, b);
                _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
            }
        }
    }

    #[inline(always)]
    unsafe fn store_bytes(self, to: *mut u8, x: __m256) {
        unsafe {
            let words = _mm256_cvtps_epi32(x);
            let halves = _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            _mm_storel_epi64(to.cast(), _mm_packus_epi16(halves, halves));
        }
    }
}
