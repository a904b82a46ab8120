//! The vector operations that the kernels are written in, implemented for every instruction set.
//!
//! A value of a type that implements [`Simd`] is proof that the processor has the instructions: it is only used
//! after [`super::Isa::is_available`] has returned true. The kernels are generic functions, always inlined into one
//! entry point per instruction set that is compiled with those instructions.

/// Vectors of [`Simd::LANES`] 32-bit lanes: floats, integers, or words of 4 bytes.
///
/// # Safety
/// Callers run the methods only on a processor that has the instruction set, and pass pointers
/// that are valid for the stated number of lanes. No alignment is needed.
pub(super) trait Simd: Copy {
    /// Number of vectors in a row of a register tile: as many as fit in the registers with [`super::ops::MR`] rows.
    const VECTORS: usize;
    /// Number of lanes in a vector.
    const LANES: usize;
    /// A vector of floats.
    type F: Copy;
    /// A vector of 32-bit words.
    type I: Copy;

    /// Reads `LANES` floats.
    unsafe fn load(self, from: *const f32) -> Self::F;
    /// Writes `LANES` floats.
    unsafe fn store(self, to: *mut f32, x: Self::F);
    /// Copies one float to every lane.
    unsafe fn splat(self, x: f32) -> Self::F;
    /// Returns the sums.
    unsafe fn add(self, a: Self::F, b: Self::F) -> Self::F;
    /// Returns the differences.
    unsafe fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// Returns the products.
    unsafe fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// Returns the quotients.
    unsafe fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// Returns `a * b + c`, rounded once if the processor can.
    unsafe fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// Returns the greater values.
    unsafe fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// Returns the smaller values.
    unsafe fn min(self, a: Self::F, b: Self::F) -> Self::F;
    /// Returns the absolute values.
    unsafe fn abs(self, a: Self::F) -> Self::F;
    /// Returns the nearest integers, ties to even.
    unsafe fn round(self, a: Self::F) -> Self::F;
    /// Returns `a * 2^n` for integers `n` from -126 to 127.
    unsafe fn scale(self, a: Self::F, n: Self::F) -> Self::F;
    /// Returns the sum of all lanes.
    unsafe fn sum(self, a: Self::F) -> f32;
    /// Returns the greatest value of all lanes.
    unsafe fn greatest(self, a: Self::F) -> f32;

    /// Reads `LANES` words.
    unsafe fn load_words(self, from: *const u32) -> Self::I;
    /// Writes `LANES` words.
    unsafe fn store_words(self, to: *mut u32, x: Self::I);
    /// Prefetches the line at a pointer, valid or not, into the first-level cache.
    unsafe fn prefetch(self, from: *const u32);
    /// Copies one word to every lane.
    unsafe fn splat_word(self, from: *const u32) -> Self::I;
    /// Reinterprets words as floats.
    unsafe fn as_floats(self, a: Self::I) -> Self::F;
    /// Reinterprets floats as words.
    unsafe fn as_words(self, a: Self::F) -> Self::I;
    /// Converts signed integers to floats.
    unsafe fn to_floats(self, a: Self::I) -> Self::F;
    /// Returns the differences of integers, wrapping.
    unsafe fn sub_words(self, a: Self::I, b: Self::I) -> Self::I;

    /// Returns `sum + Σ a.i * b.i` over the four bytes of each word, `a` unsigned and `b` signed. It is exact if
    /// the two signed bytes of each half add up to a number from -128 to 128. Some instruction sets do not need
    /// that; see [`super::Isa::saturates`].
    unsafe fn dot_bytes(self, sum: Self::I, a: Self::I, b: Self::I) -> Self::I;

    /// Converts floats, which are integers from 0 to 255, to bytes and writes `LANES` of them.
    unsafe fn store_bytes(self, to: *mut u8, x: Self::F);
}

/// Vectors of words of two bf16, with dot products in one instruction.
///
/// # Safety
/// As for [`Simd`].
pub(super) trait SimdBf16: Simd {
    /// Returns `sum + a.0 * b.0 + a.1 * b.1` over the two bf16 of each word.
    unsafe fn dot_bf16(self, sum: Self::F, a: Self::I, b: Self::I) -> Self::F;
    /// Packs floats into words of two bf16, rounded to nearest, ties to even: `first` in the lower half, `second`
    /// in the upper.
    unsafe fn pair_bf16(self, first: Self::F, second: Self::F) -> Self::I;
    /// Writes `LANES` bf16, rounded to nearest, ties to even.
    unsafe fn store_bf16(self, to: *mut u16, x: Self::F);
}

/// Defines methods on floats that are one instruction each.
macro_rules! floats {
    ($($name:ident($($arg:ident),+) = $instruction:ident;)+) => {
        $(
            #[inline(always)]
            unsafe fn $name(self, $($arg: Self::F),+) -> Self::F {
                // SAFETY: the caller guarantees the processor's instructions; no memory is touched.
                unsafe { $instruction($($arg),+) }
            }
        )+
    };
}
pub(super) use floats;

/// Rounds a float to bf16, to nearest, ties to even; infinities and NaN are kept.
#[inline(always)]
pub(super) fn bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}
