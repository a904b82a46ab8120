//! AVX-512: sixteen lanes. With the BF16 and VNNI extensions, dot products of bf16 and of bytes are one instruction
//! each.

use core::arch::x86_64::*;

use super::simd::{Simd, SimdBf16, floats};

/// AVX-512 F, BW, DQ and VL. `BF16` and `VNNI` say whether those extensions may be used too. Without VNNI, other
/// instructions compute the dot products of bytes.
#[derive(Clone, Copy)]
pub(super) struct Avx512<const BF16: bool, const VNNI: bool>;

impl<const BF16: bool, const VNNI: bool> Simd for Avx512<BF16, VNNI> {
    const VECTORS: usize = 4;
    const LANES: usize = 16;
    type F = __m512;
    type I = __m512i;

    floats! {
        add(a, b) = _mm512_add_ps;
        sub(a, b) = _mm512_sub_ps;
        mul(a, b) = _mm512_mul_ps;
        div(a, b) = _mm512_div_ps;
        fma(a, b, c) = _mm512_fmadd_ps;
        max(a, b) = _mm512_max_ps;
        min(a, b) = _mm512_min_ps;
        abs(a) = _mm512_abs_ps;
        scale(a, n) = _mm512_scalef_ps;
    }

    // SAFETY (all of this block): the trait's callers guarantee the processor's instructions and the pointers;
    // every load and store below is unaligned and of exactly the stated width.

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> __m512 {
        unsafe { _mm512_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32, x: __m512) {
        unsafe { _mm512_storeu_ps(to, x) }
    }
    #[inline(always)]
    unsafe fn splat(self, x: f32) -> __m512 {
        unsafe { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    unsafe fn round(self, a: __m512) -> __m512 {
        unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }
    #[inline(always)]
    unsafe fn sum(self, a: __m512) -> f32 {
        unsafe { _mm512_reduce_add_ps(a) }
    }
    #[inline(always)]
    unsafe fn greatest(self, a: __m512) -> f32 {
        unsafe { _mm512_reduce_max_ps(a) }
    }

    #[inline(always)]
    unsafe fn load_words(self, from: *const u32) -> __m512i {
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store_words(self, to: *mut u32, x: __m512i) {
        unsafe { _mm512_storeu_si512(to.cast(), x) }
    }
    #[inline(always)]
    unsafe fn prefetch(self, from: *const u32) {
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }
    #[inline(always)]
    unsafe fn splat_word(self, from: *const u32) -> __m512i {
        unsafe { _mm512_set1_epi32(from.cast::<i32>().read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn as_floats(self, a: __m512i) -> __m512 {
        unsafe { _mm512_castsi512_ps(a) }
    }
    #[inline(always)]
    unsafe fn as_words(self, a: __m512) -> __m512i {
        unsafe { _mm512_castps_si512(a) }
    }
    #[inline(always)]
    unsafe fn to_floats(self, a: __m512i) -> __m512 {
        unsafe { _mm512_cvtepi32_ps(a) }
    }
    #[inline(always)]
    unsafe fn sub_words(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_sub_epi32(a, b) }
    }

    #[inline(always)]
    unsafe fn dot_bytes(self, sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        unsafe {
            if VNNI {
                _mm512_dpbusd_epi32(sum, a, b)
            } else {
                // As with AVX2.
                let pairs = _mm512_maddubs_epi16(a, b);
                _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))
            }
        }
    }

    #[inline(always)]
    unsafe fn store_bytes(self, to: *mut u8, x: __m512) {
        unsafe { _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x))) }
    }
}

impl SimdBf16 for Avx512<true, true> {
    // SAFETY (all of this block): as above.

    #[inline(always)]
    unsafe fn dot_bf16(self, sum: __m512, a: __m512i, b: __m512i) -> __m512 {
        unsafe {
            _mm512_dpbf16_ps(
                sum,
                core::mem::transmute::<__m512i, __m512bh>(a),
                core::mem::transmute::<__m512i, __m512bh>(b),
            )
        }
    }
    #[inline(always)]
    unsafe fn pair_bf16(self, first: __m512, second: __m512) -> __m512i {
        unsafe {
            let (one, half) = (_mm512_set1_epi32(1), _mm512_set1_epi32(0x7fff));
            let (first, second) = (_mm512_castps_si512(first), _mm512_castps_si512(second));
            let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(first), one);
            let first = _mm512_add_epi32(first, _mm512_add_epi32(odd, half));
            let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(second), one);
            let second = _mm512_add_epi32(second, _mm512_add_epi32(odd, half));
            let high = _mm512_set1_epi32(0xffff_0000_u32.cast_signed());
            _mm512_or_si512(_mm512_srli_epi32::<16>(first), _mm512_and_si512(second, high))
        }
    }
    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut u16, x: __m512) {
        unsafe {
            let halves = core::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(x));
            _mm256_storeu_si256(to.cast(), halves);
        }
    }
}
