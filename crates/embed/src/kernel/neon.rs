//! NEON: four lanes, available on every 64-bit ARM processor.

use core::arch::aarch64::*;

use super::simd::{Simd, floats};

/// NEON, without extensions.
#[derive(Clone, Copy)]
pub(super) struct Neon;

impl Simd for Neon {
    const VECTORS: usize = 4;
    const LANES: usize = 4;
    type F = float32x4_t;
    type I = uint32x4_t;

    floats! {
        add(a, b) = vaddq_f32;
        sub(a, b) = vsubq_f32;
        mul(a, b) = vmulq_f32;
        div(a, b) = vdivq_f32;
        max(a, b) = vmaxq_f32;
        min(a, b) = vminq_f32;
        abs(a) = vabsq_f32;
        round(a) = vrndnq_f32;
    }

    // SAFETY (all of this block): the trait's callers guarantee the pointers, and every 64-bit ARM processor has
    // these instructions. They need at most the alignment of one lane, which all pointers to `f32` and `u32` have
    // here because they come from slices.

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> float32x4_t {
        unsafe { vld1q_f32(from) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32, x: float32x4_t) {
        unsafe { vst1q_f32(to, x) }
    }
    #[inline(always)]
    unsafe fn splat(self, x: f32) -> float32x4_t {
        unsafe { vdupq_n_f32(x) }
    }
    #[inline(always)]
    unsafe fn fma(self, a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
        unsafe { vfmaq_f32(c, a, b) }
    }
    #[inline(always)]
    unsafe fn scale(self, a: float32x4_t, n: float32x4_t) -> float32x4_t {
        unsafe {
            let exponent = vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127));
            vmulq_f32(a, vreinterpretq_f32_s32(vshlq_n_s32::<23>(exponent)))
        }
    }
    #[inline(always)]
    unsafe fn sum(self, a: float32x4_t) -> f32 {
        unsafe { vaddvq_f32(a) }
    }
    #[inline(always)]
    unsafe fn greatest(self, a: float32x4_t) -> f32 {
        unsafe { vmaxvq_f32(a) }
    }

    #[inline(always)]
    unsafe fn load_words(self, from: *const u32) -> uint32x4_t {
        unsafe { vld1q_u32(from) }
    }
    #[inline(always)]
    unsafe fn store_words(self, to: *mut u32, x: uint32x4_t) {
        unsafe { vst1q_u32(to, x) }
    }
    #[inline(always)]
    unsafe fn prefetch(self, from: *const u32) {
        unsafe { core::arch::asm!("prfm pldl1keep, [{}]", in(reg) from, options(nostack, readonly, preserves_flags)) }
    }
    #[inline(always)]
    unsafe fn splat_word(self, from: *const u32) -> uint32x4_t {
        unsafe { vdupq_n_u32(from.read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn as_floats(self, a: uint32x4_t) -> float32x4_t {
        unsafe { vreinterpretq_f32_u32(a) }
    }
    #[inline(always)]
    unsafe fn as_words(self, a: float32x4_t) -> uint32x4_t {
        unsafe { vreinterpretq_u32_f32(a) }
    }
    #[inline(always)]
    unsafe fn to_floats(self, a: uint32x4_t) -> float32x4_t {
        unsafe { vcvtq_f32_s32(vreinterpretq_s32_u32(a)) }
    }
    #[inline(always)]
    unsafe fn sub_words(self, a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
        unsafe { vsubq_u32(a, b) }
    }

    #[inline(always)]
    unsafe fn dot_bytes(self, sum: uint32x4_t, a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
        unsafe {
            let (a, b) = (vreinterpretq_u8_u32(a), vreinterpretq_s8_u32(b));
            let low_a = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(a)));
            let high_a = vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(a)));
            let (low_b, high_b) = (vmovl_s8(vget_low_s8(b)), vmovl_s8(vget_high_s8(b)));
            let low = vpaddq_s32(
                vmull_s16(vget_low_s16(low_a), vget_low_s16(low_b)),
                vmull_s16(vget_high_s16(low_a), vget_high_s16(low_b)),
            );
            let high = vpaddq_s32(
                vmull_s16(vget_low_s16(high_a), vget_low_s16(high_b)),
                vmull_s16(vget_high_s16(high_a), vget_high_s16(high_b)),
            );
            vaddq_u32(sum, vreinterpretq_u32_s32(vpaddq_s32(low, high)))
        }
    }

    #[inline(always)]
    unsafe fn store_bytes(self, to: *mut u8, x: float32x4_t) {
        unsafe {
            let halves = vmovn_u32(vreinterpretq_u32_s32(vcvtnq_s32_f32(x)));
            let bytes = vmovn_u16(vcombine_u16(halves, halves));
            to.cast::<u32>().write_unaligned(vget_lane_u32::<0>(vreinterpret_u32_u8(bytes)));
        }
    }
}
