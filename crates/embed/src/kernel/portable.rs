//! Plain Rust, eight lanes: runs on every processor; the compiler's auto-vectoriser picks the instructions.

#![expect(clippy::cast_possible_truncation, reason = "the trait's contract: whole numbers that fit")]
#![expect(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "as the vector instructions convert")]

use super::simd::Simd;

/// No special instructions.
#[derive(Clone, Copy)]
pub(super) struct Portable;

const LANES: usize = 8;

#[inline(always)]
fn map(f: impl Fn(usize) -> f32) -> [f32; LANES] {
    std::array::from_fn(f)
}

impl Simd for Portable {
    const VECTORS: usize = 1;
    const LANES: usize = LANES;
    type F = [f32; LANES];
    type I = [u32; LANES];

    // SAFETY (all of this block): the trait's callers guarantee the pointers.

    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> Self::F {
        unsafe { from.cast::<Self::F>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32, x: Self::F) {
        unsafe { to.cast::<Self::F>().write_unaligned(x) }
    }
    #[inline(always)]
    unsafe fn splat(self, x: f32) -> Self::F {
        [x; LANES]
    }
    #[inline(always)]
    unsafe fn add(self, a: Self::F, b: Self::F) -> Self::F {
        map(|i| a[i] + b[i])
    }
    #[inline(always)]
    unsafe fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        map(|i| a[i] - b[i])
    }
    #[inline(always)]
    unsafe fn mul(self, a: Self::F, b: Self::F) -> Self::F {
        map(|i| a[i] * b[i])
    }
    #[inline(always)]
    unsafe fn div(self, a: Self::F, b: Self::F) -> Self::F {
        map(|i| a[i] / b[i])
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        // Rounded twice: without the instruction, `mul_add` would be a call to a slow function.
        map(|i| a[i] * b[i] + c[i])
    }
    #[inline(always)]
    unsafe fn max(self, a: Self::F, b: Self::F) -> Self::F {
        map(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    unsafe fn min(self, a: Self::F, b: Self::F) -> Self::F {
        map(|i| if a[i] < b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    unsafe fn abs(self, a: Self::F) -> Self::F {
        map(|i| a[i].abs())
    }
    #[inline(always)]
    unsafe fn round(self, a: Self::F) -> Self::F {
        // Adding 1.5 * 2^23 leaves no bits for a fraction; `round_ties_even` would be a function call here.
        const SHIFT: f32 = 12_582_912.0;
        map(|i| (a[i] + SHIFT) - SHIFT)
    }
    #[inline(always)]
    unsafe fn scale(self, a: Self::F, n: Self::F) -> Self::F {
        map(|i| a[i] * f32::from_bits(((n[i] as i32 + 127) << 23).cast_unsigned()))
    }
    #[inline(always)]
    unsafe fn sum(self, a: Self::F) -> f32 {
        a.iter().sum()
    }
    #[inline(always)]
    unsafe fn greatest(self, a: Self::F) -> f32 {
        a.into_iter().fold(f32::NEG_INFINITY, |x, y| if y > x { y } else { x })
    }

    #[inline(always)]
    unsafe fn load_words(self, from: *const u32) -> Self::I {
        unsafe { from.cast::<Self::I>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store_words(self, to: *mut u32, x: Self::I) {
        unsafe { to.cast::<Self::I>().write_unaligned(x) }
    }
    #[inline(always)]
    unsafe fn prefetch(self, _: *const u32) {}
    #[inline(always)]
    unsafe fn splat_word(self, from: *const u32) -> Self::I {
        [unsafe { from.read_unaligned() }; LANES]
    }
    #[inline(always)]
    unsafe fn as_floats(self, a: Self::I) -> Self::F {
        a.map(f32::from_bits)
    }
    #[inline(always)]
    unsafe fn as_words(self, a: Self::F) -> Self::I {
        a.map(f32::to_bits)
    }
    #[inline(always)]
    unsafe fn to_floats(self, a: Self::I) -> Self::F {
        map(|i| a[i].cast_signed() as f32)
    }
    #[inline(always)]
    unsafe fn sub_words(self, a: Self::I, b: Self::I) -> Self::I {
        std::array::from_fn(|i| a[i].wrapping_sub(b[i]))
    }

    #[inline(always)]
    unsafe fn dot_bytes(self, sum: Self::I, a: Self::I, b: Self::I) -> Self::I {
        std::array::from_fn(|i| {
            let pairs = a[i].to_le_bytes().into_iter().zip(b[i].to_le_bytes());
            let dot: i32 = pairs.map(|(a, b)| i32::from(a) * i32::from(b.cast_signed())).sum();
            sum[i].wrapping_add(dot.cast_unsigned())
        })
    }

    #[inline(always)]
    unsafe fn store_bytes(self, to: *mut u8, x: Self::F) {
        unsafe { to.cast::<[u8; LANES]>().write_unaligned(x.map(|x| x as u8)) }
    }
}
