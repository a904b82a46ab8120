//! The vector instructions that the kernels are written in, once for every instruction set.
//!
//! A value of a type that implements [`Simd`] is proof that the processor has the instructions: it is
//! made only by [`super::Isa::is_available`]'s side of the dispatch. The kernels are generic functions,
//! always inlined into one entry point per instruction set that is compiled with those instructions.

/// Vectors of [`Simd::LANES`] 32-bit lanes: floats, integers, or words that hold 4 bytes.
///
/// # Safety
/// Callers run the methods only on a processor that has the instruction set, and pass pointers
/// that are valid for the stated number of lanes. No alignment is needed.
pub(super) trait Simd: Copy {
    /// Vectors of a register tile's columns: as many as the registers hold beside [`super::ops::MR`] rows.
    const VECTORS: usize;
    /// Lanes in a vector.
    const LANES: usize;
    /// Floats.
    type F: Copy;
    /// 32-bit words.
    type I: Copy;

    /// Reads `LANES` floats.
    unsafe fn load(self, from: *const f32) -> Self::F;
    /// Writes `LANES` floats.
    unsafe fn store(self, to: *mut f32, x: Self::F);
    /// One float in every lane.
    unsafe fn splat(self, x: f32) -> Self::F;
    /// Sum.
    unsafe fn add(self, a: Self::F, b: Self::F) -> Self::F;
    /// Difference.
    unsafe fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// Product.
    unsafe fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// Quotient.
    unsafe fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c`, rounded once.
    unsafe fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// The greater.
    unsafe fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// The smaller.
    unsafe fn min(self, a: Self::F, b: Self::F) -> Self::F;
    /// Without its sign.
    unsafe fn abs(self, a: Self::F) -> Self::F;
    /// The nearest integer, ties to even.
    unsafe fn round(self, a: Self::F) -> Self::F;
    /// `a * 2^n` for whole `n` from -126 to 127.
    unsafe fn scale(self, a: Self::F, n: Self::F) -> Self::F;
    /// Sum of all lanes.
    unsafe fn sum(self, a: Self::F) -> f32;
    /// Greatest of all lanes.
    unsafe fn greatest(self, a: Self::F) -> f32;

    /// Reads `LANES` words.
    unsafe fn load_words(self, from: *const u32) -> Self::I;
    /// Writes `LANES` words.
    unsafe fn store_words(self, to: *mut u32, x: Self::I);
    /// Fetches the line at a pointer, valid or not, to the first-level cache.
    unsafe fn prefetch(self, from: *const u32);
    /// One word in every lane.
    unsafe fn splat_word(self, from: *const u32) -> Self::I;
    /// Words read as floats.
    unsafe fn as_floats(self, a: Self::I) -> Self::F;
    /// Floats read as words.
    unsafe fn as_words(self, a: Self::F) -> Self::I;
    /// Signed integers as floats.
    unsafe fn to_floats(self, a: Self::I) -> Self::F;
    /// Difference of integers, wrapping.
    unsafe fn sub_words(self, a: Self::I, b: Self::I) -> Self::I;

    /// `sum + Σ a.i * b.i` over the four bytes of each word, `a` unsigned and `b` signed, exactly if the two signed bytes of
    /// each half are from -128 to 128 together; some sets do not need that, see [`super::Isa::saturates`].
    unsafe fn dot_bytes(self, sum: Self::I, a: Self::I, b: Self::I) -> Self::I;

    /// Writes `LANES` bytes of floats that are whole and from 0 to 255.
    unsafe fn store_bytes(self, to: *mut u8, x: Self::F);
}

/// Vectors of words that hold two bf16, and their products in one instruction.
///
/// # Safety
/// As of [`Simd`].
pub(super) trait SimdBf16: Simd {
    /// `sum + a.0 * b.0 + a.1 * b.1` over the two bf16 of each word.
    unsafe fn dot_bf16(self, sum: Self::F, a: Self::I, b: Self::I) -> Self::F;
    /// Words of two bf16, rounded to nearest, ties to even: `first` in the lower half, `second` in the upper.
    unsafe fn pair_bf16(self, first: Self::F, second: Self::F) -> Self::I;
    /// Writes `LANES` bf16, rounded to nearest, ties to even.
    unsafe fn store_bf16(self, to: *mut u16, x: Self::F);
}

/// Methods on floats that are one instruction each.
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

/// A float as bf16, rounded to nearest, ties to even; what is not finite stays so.
#[inline(always)]
pub(super) fn bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}
