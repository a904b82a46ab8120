//! Instruction sets and precisions.

#[cfg(target_arch = "x86_64")]
use chunkmill_base::value::named;

use super::permission;

named! {
    /// Precision that a network is computed in.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Precision: "a precision" {
        /// 32-bit floats, as the model was trained.
        F32 = "f32",
        /// 16-bit floats. Only on a GPU: the built-in encoder has no kernels for it.
        F16 = "f16",
        /// bfloat16 factors, f32 sums.
        Bf16 = "bf16",
        /// 8-bit factors, exact sums; attention as in [`Precision::Bf16`].
        Int8 = "int8",
    }
}

named! {
    /// An instruction set that kernels are compiled for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Isa: "an instruction set" {
        /// Any processor.
        Portable = "portable",
        /// 64-bit ARM.
        Neon = "neon",
        /// AVX2 and FMA.
        Avx2 = "avx2",
        /// Also AVX-VNNI: dot products of bytes.
        Avx2Vnni = "avx2-vnni",
        /// AVX-512 F, BW, DQ, VL.
        Avx512 = "avx512",
        /// Also AVX-512 VNNI: dot products of bytes.
        Avx512Vnni = "avx512-vnni",
        /// Also AVX-512 BF16: dot products of bf16.
        Avx512Bf16 = "avx512-bf16",
        /// Also AMX-TILE, AMX-BF16 and AMX-INT8: products of tiles.
        Amx = "amx",
    }
}

impl Precision {
    /// The precisions of the built-in encoder.
    pub const ON_CPU: [Self; 3] = [Self::F32, Self::Bf16, Self::Int8];
}

impl Isa {
    /// Returns the best instruction set that this processor supports.
    #[must_use]
    pub fn best() -> Self {
        Self::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Self::Portable)
    }

    /// Returns whether products of bf16 are faster than those of f32.
    pub fn multiplies_bf16(self) -> bool {
        matches!(self, Self::Avx512Bf16 | Self::Amx)
    }

    /// Returns whether there are instructions for products in a precision. Without them, factors are widened first.
    pub fn is_fast_in(self, precision: Precision) -> bool {
        match precision {
            Precision::F32 => true,
            Precision::Bf16 => self.multiplies_bf16(),
            Precision::F16 => false,
            Precision::Int8 => matches!(self, Self::Avx2Vnni | Self::Avx512Vnni | Self::Avx512Bf16 | Self::Amx),
        }
    }

    /// Returns whether pairs of byte products are summed in 16 bits; see `quantize`.
    pub(super) fn saturates(self) -> bool {
        matches!(self, Self::Avx2 | Self::Avx512)
    }

    /// Returns whether this processor supports the instruction set.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            let vnni = avx512 && is_x86_feature_detected!("avx512vnni");
            let bf16 = vnni && is_x86_feature_detected!("avx512bf16");
            match self {
                Self::Portable => true,
                Self::Neon => false,
                Self::Avx2 => avx2,
                Self::Avx2Vnni => avx2 && is_x86_feature_detected!("avxvnni"),
                Self::Avx512 => avx512,
                Self::Avx512Vnni => vnni,
                Self::Avx512Bf16 => bf16,
                Self::Amx => bf16 && permission::is_permitted(),
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            matches!(self, Self::Portable | Self::Neon)
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            self == Self::Portable
        }
    }
}
