//! Compiles the kernels, which are written once, for each instruction set.

/// Compiles the kernels for an instruction set. `$float` is the format that stores bf16 values: without
/// instructions for products of bf16, they are stored as floats rounded to bf16.
macro_rules! compile {
    ($name:ident, $simd:ty, $value:expr, $float:ident $(, $features:literal)?) => {
        pub(super) mod $name {
            use crate::kernel::attention::Part;
            use crate::kernel::buffer::Scratch;
            use crate::kernel::factors::{Input, Matrix, OUTLIERS, Operand, Then};
            use crate::kernel::isa::{Isa, Precision};
            use crate::kernel::ops::{self, Bytes, F32, Product, $float as Bf16};
            use crate::kernel::simd::Simd;
            use crate::kernel::table::{Attend, Hold, Kernel, Multiply};

            macro_rules! product {
                ($multiply:ident, $hold:ident, $product:ty, $held:expr) => {
                    $(#[target_feature(enable = $features)])?
                    unsafe fn $multiply(a: &Operand, w: &Matrix, then: Then, out: *mut f32, stride: usize) {
                        unsafe { ops::multiply::<_, $product>($value, a, w, then, out, stride) }
                    }
                    $(#[target_feature(enable = $features)])?
                    unsafe fn $hold(from: *mut f32, width: usize, input: &Input, to: &mut Operand) {
                        unsafe { $held($value, from, width, input, to) }
                    }
                };
            }
            product!(multiply_f32, hold_f32, F32, ops::hold::<_, F32>);
            product!(multiply_bf16, hold_bf16, Bf16, ops::hold_bf16::<_, Bf16>);
            product!(multiply_bytes, hold_bytes, Bytes<Bf16>, ops::hold_bytes::<_, Bf16>);

            $(#[target_feature(enable = $features)])?
            unsafe fn layer_norm(
                x: &mut [f32], stride: usize, width: usize, weight: *const f32, bias: *const f32, epsilon: f32,
            ) {
                unsafe { ops::layer_norm($value, x, stride, width, weight, bias, epsilon) }
            }
            $(#[target_feature(enable = $features)])?
            unsafe fn attend_f32(part: &Part<'_>, scratch: &mut Scratch) {
                unsafe { ops::attend::<_, F32>($value, part, scratch) }
            }
            $(#[target_feature(enable = $features)])?
            unsafe fn attend(part: &Part<'_>, scratch: &mut Scratch) {
                unsafe { ops::attend::<_, Bf16>($value, part, scratch) }
            }
            $(#[target_feature(enable = $features)])?
            unsafe fn rotate(x: *mut f32, half: usize, cosines: *const f32, sines: *const f32) {
                unsafe { ops::rotate($value, x, half, cosines, sines) }
            }

            pub(in crate::kernel) fn kernel(isa: Isa, precision: Precision) -> Kernel {
                let (multiply, hold): (Multiply, Hold) = match precision {
                    // There are no kernels for f16; see `Kernel::new`.
                    Precision::F32 | Precision::F16 => (multiply_f32, hold_f32),
                    Precision::Bf16 => (multiply_bf16, hold_bf16),
                    Precision::Int8 => (multiply_bytes, hold_bytes),
                };
                let attend: Attend = if precision == Precision::F32 { attend_f32 } else { attend };
                let panel = <$simd>::VECTORS * <$simd>::LANES;
                let pair = <Bf16 as Product<$simd>>::GROUP;
                let extra = OUTLIERS / pair;
                Kernel { isa, precision, panel, pair, extra, multiply, hold, layer_norm, attend, rotate }
            }
        }
    };
}

compile!(portable_kernels, crate::kernel::portable::Portable, crate::kernel::portable::Portable, F32);
#[cfg(target_arch = "aarch64")]
compile!(neon_kernels, crate::kernel::neon::Neon, crate::kernel::neon::Neon, F32);
#[cfg(target_arch = "x86_64")]
compile!(avx2_kernels, crate::kernel::avx2::Avx2<false>, crate::kernel::avx2::Avx2::<false>, F32, "avx2,fma");
#[cfg(target_arch = "x86_64")]
compile!(
    avx2_vnni_kernels,
    crate::kernel::avx2::Avx2<true>,
    crate::kernel::avx2::Avx2::<true>,
    F32,
    "avx2,fma,avxvnni"
);
#[cfg(target_arch = "x86_64")]
compile!(
    avx512_kernels,
    crate::kernel::avx512::Avx512<false, false>,
    crate::kernel::avx512::Avx512::<false, false>,
    F32,
    "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"
);
#[cfg(target_arch = "x86_64")]
compile!(
    avx512_vnni_kernels,
    crate::kernel::avx512::Avx512<false, true>,
    crate::kernel::avx512::Avx512::<false, true>,
    F32,
    "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"
);
#[cfg(target_arch = "x86_64")]
compile!(
    avx512_bf16_kernels,
    crate::kernel::avx512::Avx512<true, true>,
    crate::kernel::avx512::Avx512::<true, true>,
    Bf16,
    "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16"
);
