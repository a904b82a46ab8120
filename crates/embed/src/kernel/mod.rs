//! The arithmetic of the encoder: linear layers with the operations that follow them, layer normalisation,
//! attention.
//!
//! Kernels are written once over `simd::Simd` and compiled for every instruction set. [`Kernel`] contains the ones
//! chosen at run time and is the only entry point. Its methods are safe because they check the lengths of their
//! arguments. All `unsafe` code of chunkmill's encoder is in this folder.
//!
//! Widths (of hidden states, heads, layers) are padded with zeros to multiples of [`PAD`] numbers, so no kernel has
//! to handle a partial vector; zeros add nothing to a sum.

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod buffer;
#[cfg(target_arch = "aarch64")]
mod neon;
mod ops;
mod portable;
mod simd;

use std::ops::Range;

use chunkmill_base::value::named;

use buffer::Words;
pub use buffer::{Floats, Scratch};
pub(crate) use ops::MAX_HEAD;

/// Widths are padded to multiples of this: the size of four of the widest float vectors, or one of bytes.
pub const PAD: usize = 64;

/// Maximum number of keys processed at once: their transposed and paired copies stay in a core's second-level
/// cache. Longer texts are processed in parts of this size, so no buffer grows with the square of their length.
const KEYS: usize = 1024;

/// Number of queries that share a window of keys.
const QUERIES: usize = 128;

/// Rows of an operand are padded to a multiple of this, so register tiles of any height fit.
const ROW_PAD: usize = 96;

/// Precision of the encoder's linear layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit floats, as the model was trained.
    F32,
    /// bfloat16 factors, f32 sums.
    Bf16,
    /// 8-bit factors, exact sums; attention as in [`Precision::Bf16`].
    Int8,
}

impl Precision {
    /// All precisions.
    pub const ALL: [Self; 3] = [Self::F32, Self::Bf16, Self::Int8];

    /// Returns the name used in settings and datasets.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
        }
    }
}

named!(Precision, "a precision");

/// An instruction set that kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Any processor.
    Portable,
    /// 64-bit ARM.
    Neon,
    /// AVX2 and FMA.
    Avx2,
    /// Also AVX-VNNI: dot products of bytes.
    Avx2Vnni,
    /// AVX-512 F, BW, DQ, VL.
    Avx512,
    /// Also AVX-512 VNNI: dot products of bytes.
    Avx512Vnni,
    /// Also AVX-512 BF16: dot products of bf16.
    Avx512Bf16,
    /// Also AMX-TILE, AMX-BF16 and AMX-INT8: products of tiles.
    Amx,
}

impl Isa {
    /// All instruction sets, the best last.
    pub const ALL: [Self; 8] = [
        Self::Portable,
        Self::Neon,
        Self::Avx2,
        Self::Avx2Vnni,
        Self::Avx512,
        Self::Avx512Vnni,
        Self::Avx512Bf16,
        Self::Amx,
    ];

    /// Returns the name used in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx2Vnni => "avx2-vnni",
            Self::Avx512 => "avx512",
            Self::Avx512Vnni => "avx512-vnni",
            Self::Avx512Bf16 => "avx512-bf16",
            Self::Amx => "amx",
        }
    }

    /// Returns the best instruction set that this processor supports.
    #[must_use]
    pub fn best() -> Self {
        Self::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Self::Portable)
    }

    /// Returns whether products of bf16 are faster than those of f32.
    #[must_use]
    pub fn multiplies_bf16(self) -> bool {
        matches!(self, Self::Avx512Bf16 | Self::Amx)
    }

    /// Returns whether there are instructions for products in a precision. Without them, factors are widened first.
    #[must_use]
    pub fn is_fast_in(self, precision: Precision) -> bool {
        match precision {
            Precision::F32 => true,
            Precision::Bf16 => self.multiplies_bf16(),
            Precision::Int8 => matches!(self, Self::Avx2Vnni | Self::Avx512Vnni | Self::Avx512Bf16 | Self::Amx),
        }
    }

    /// Returns whether pairs of byte products are summed in 16 bits; see [`bytes`].
    fn saturates(self) -> bool {
        matches!(self, Self::Avx2 | Self::Avx512)
    }

    /// Returns whether this processor supports the instruction set.
    #[must_use]
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
                Self::Amx => bf16 && amx::is_permitted(),
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

named!(Isa, "an instruction set");

/// An operation applied to a product before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// No operation.
    Store,
    /// The activation GELU with the exact normal distribution (Hendrycks and Gimpel 2016).
    Gelu,
    /// GELU approximated with the hyperbolic tangent (same paper).
    GeluTanh,
    /// The activation `SiLU`, `x / (1 + e^-x)`, also called swish.
    Silu,
    /// The activation `max(x, 0)`.
    Relu,
    /// Addition to the value in the output.
    Add,
    /// Multiplication of the value in the output by the product, which is a gate.
    Times,
}

impl Then {
    /// Returns the smallest possible result, rounded down to two digits, if there is one.
    #[must_use]
    pub fn floor(self) -> Option<f32> {
        match self {
            Self::Gelu | Self::GeluTanh => Some(-0.17),
            Self::Silu => Some(-0.28),
            Self::Relu => Some(0.0),
            Self::Store | Self::Add | Self::Times => None,
        }
    }
}

/// The weights of a linear layer in the layout that a kernel reads.
#[derive(Debug)]
pub struct Matrix {
    /// The kernel that it was prepared for.
    of: (Isa, Precision),
    /// Panels of columns, each stored row by row.
    words: Words,
    /// Number of words in a row of the other factor.
    depth: usize,
    /// Number of outputs, padded.
    columns: usize,
    /// Bias of each output.
    bias: Floats,
    /// Number of words of the depth that are multiplied before the next ones. For bytes, those that share a scale.
    chunk: usize,
    /// For bytes: the scale of each output's sum, for each block.
    scales: Floats,
    /// For bytes: each output's sum for a row of zeros, for each block.
    zeros: Vec<i32>,
    /// For bytes: panels of the weights of outliers, as bf16.
    extra: Words,
}

/// Known properties of a linear layer's inputs, used to quantize them to bytes.
///
/// A few inputs of these networks are many times as large as the others. They would coarsen the scale of all
/// inputs, so they are stored separately (Dettmers et al. 2022). The others share one scale per block.
#[derive(Debug, Clone)]
pub struct Input {
    /// Positions of outliers, at most [`OUTLIERS`].
    outliers: Vec<usize>,
    /// Lower bound of the values, if known; otherwise they are assumed to be symmetric about zero.
    floor: Option<f32>,
    /// Number of inputs that share a scale; divides the padded width.
    block: usize,
}

/// Lower limit for the greatest value of a block: the inverse of a smaller step might be infinite.
const SMALLEST: f32 = 1e-30;

/// Maximum number of inputs that are stored separately from the bytes.
pub const OUTLIERS: usize = 8;

impl Input {
    /// Creates an input about which nothing is known.
    #[must_use]
    pub fn unknown(width: usize) -> Self {
        Self { outliers: Vec::new(), floor: None, block: width.next_multiple_of(PAD) }
    }

    /// Creates an input from observed values: `sizes` contains, for each position, how much it can add to an
    /// output. At most `largest` inputs share a scale, see [`Kernel::largest_block`].
    #[must_use]
    pub fn observed(sizes: &[f32], floor: Option<f32>, largest: usize) -> Self {
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by(|&a, &b| sizes[b].total_cmp(&sizes[a]).then(a.cmp(&b)));
        order.truncate(OUTLIERS);
        order.sort_unstable();
        let width = sizes.len().next_multiple_of(PAD);
        let block =
            (1..=largest / PAD).rev().map(|pads| pads * PAD).find(|block| width.is_multiple_of(*block)).unwrap_or(PAD);
        Self { outliers: order, floor, block }
    }
}

impl Matrix {
    fn words(&self) -> *const u32 {
        self.words.as_ptr()
    }
}

/// Rows of numbers in the layout that a kernel reads.
#[derive(Debug, Default)]
pub struct Operand {
    /// The kernel that it was prepared for.
    of: Option<(Isa, Precision)>,
    /// [`Matrix::chunk`] of the matrices that it can be multiplied by.
    chunk: usize,
    words: Words,
    extra: Words,
    scales: Vec<f32>,
    depth: usize,
    rows: usize,
}

impl Operand {
    fn words(&self) -> *const u32 {
        self.words.as_ptr()
    }

    fn words_mut(&mut self) -> *mut u32 {
        self.words.as_mut_ptr()
    }
}

/// The input of one attention head for one text.
#[derive(Debug, Clone, Copy)]
pub struct Attention<'a> {
    /// Queries from the first on, `stride` floats apart.
    pub queries: &'a [f32],
    /// Keys, laid out like the queries.
    pub keys: &'a [f32],
    /// Values, laid out like the queries.
    pub values: &'a [f32],
    /// Number of floats from one token to the next.
    pub stride: usize,
    /// Number of tokens.
    pub len: usize,
    /// Width of the head, padded to a multiple of 16.
    pub width: usize,
    /// Factor of the scores; above zero.
    pub scale: f32,
    /// Number of tokens to each side that a token attends to.
    reach: usize,
    /// Biases of the scores by the distance between key and query, added before scaling.
    bias: Option<&'a Distances>,
    /// Number of tokens, from the first on, whose result is computed.
    queried: usize,
}

impl<'a> Attention<'a> {
    /// Creates the attention of `len` tokens of one head over themselves. The slices start with the first query,
    /// key and value; the next ones follow `stride` floats later.
    #[must_use]
    pub fn new([queries, keys, values]: [&'a [f32]; 3], stride: usize, len: usize, width: usize, scale: f32) -> Self {
        Self { queries, keys, values, stride, len, width, scale, reach: usize::MAX, bias: None, queried: len }
    }

    /// Limits attention to `reach` tokens on each side.
    #[must_use]
    pub fn within(self, reach: usize) -> Self {
        Self { reach, ..self }
    }

    /// Computes the result of the first token only. It attends to all of them.
    #[must_use]
    pub fn of_first(self) -> Self {
        Self { queried: 1, ..self }
    }

    /// Adds biases to the scores by distance.
    #[must_use]
    pub fn biased(self, bias: &'a Distances) -> Self {
        Self { bias: Some(bias), ..self }
    }
}

/// Biases that are added to the score of a query and a key by their distance.
#[derive(Debug)]
pub struct Distances {
    /// Biases by distance, the most negative distance first, followed by [`PAD`] unused ones.
    values: Floats,
    /// Index of distance 0.
    center: usize,
}

impl Distances {
    /// Creates the biases for texts of up to `len` tokens. `value` returns the bias of a key that is the given
    /// number of tokens after the query.
    #[must_use]
    pub fn new(len: usize, value: impl Fn(isize) -> f32) -> Self {
        let center = len.saturating_sub(1);
        let mut values = Floats::new(2 * center + 1 + PAD);
        for (at, to) in values[..=2 * center].iter_mut().enumerate() {
            *to = value(at.cast_signed() - center.cast_signed());
        }
        Self { values, center }
    }

    /// Returns the maximum number of tokens of a text.
    fn longest(&self) -> usize {
        self.center + 1
    }
}

/// Attention of some queries of a head over some of its keys.
#[derive(Debug, Clone)]
struct Part<'a> {
    head: &'a Attention<'a>,
    queries: Range<usize>,
    keys: Range<usize>,
    /// Destination of the result of the head's first query.
    out: *mut f32,
    out_stride: usize,
    /// Softmax of each query of the head over the keys so far, unless `keys` contains all keys they attend to.
    running: Option<*mut Running>,
}

/// The softmax of one query over the keys so far (Milakov and Gimelshein 2018): its greatest score, as an exponent
/// of two, and the sum of the weights relative to it.
#[derive(Debug, Clone, Copy)]
struct Running {
    greatest: f32,
    total: f32,
}

impl Part<'_> {
    /// Returns whether it covers a whole text, every token attends to every other, and scores have no biases.
    fn is_whole(&self) -> bool {
        self.running.is_none() && self.head.bias.is_none() && self.head.reach >= self.keys.len()
    }

    /// Returns the keys that a query attends to, counted from the first key of the part.
    fn seen(&self, query: usize) -> Range<usize> {
        let Range { start, end } = self.keys;
        let low = query.saturating_sub(self.head.reach).clamp(start, end);
        let high = query.saturating_add(self.head.reach).saturating_add(1).clamp(low, end);
        low - start..high - start
    }

    /// Returns the keys that at least one of the queries attends to, extended to multiples of `align`.
    fn span(&self, queries: Range<usize>, align: usize) -> Range<usize> {
        let low = self.seen(queries.start).start / align * align;
        low..self.seen(queries.end - 1).end.next_multiple_of(align)
    }

    /// Returns the biases of a query's scores from `key` on, which is counted from the first key of the part.
    fn bias(&self, query: usize, key: usize) -> Option<*const f32> {
        let bias = self.head.bias?;
        Some(bias.values.as_ptr().wrapping_add(bias.center + self.keys.start + key - query))
    }
}

/// Rotary position embeddings of a head (Su et al. 2021): each number of its first half is rotated with one of its
/// second half, by an angle that grows with the position.
#[derive(Debug)]
pub struct Rotation {
    /// For each position, the cosine of each angle.
    cosines: Vec<f32>,
    sines: Vec<f32>,
    /// Number of pairs in a head.
    half: usize,
}

impl Rotation {
    /// Computes the rotations of heads of `width` numbers, which must be even, for `positions` positions. Pair `i`
    /// is rotated by the angle `position / base^(2i / width)`, computed in f32 as in the training of models.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "positions and widths are far below 2^24")]
    #[expect(clippy::cast_possible_truncation, reason = "to the precision that models are trained in")]
    pub fn new(width: usize, positions: usize, base: f64) -> Self {
        let half = width / 2;
        let slow = |i: usize| 1.0 / base.powf((2 * i) as f64 / width as f64) as f32;
        let slow: Vec<f32> = (0..half).map(slow).collect();
        let angles = (0..positions).flat_map(|at| slow.iter().map(move |slow| f64::from(at as f32 * slow)));
        let (cosines, sines) = angles.map(|angle| (angle.cos() as f32, angle.sin() as f32)).unzip();
        Self { cosines, sines, half }
    }
}

type Multiply = unsafe fn(&Operand, &Matrix, Then, *mut f32, usize);
type Hold = unsafe fn(*mut f32, usize, &Input, &mut Operand);
type LayerNorm = unsafe fn(&mut [f32], usize, usize, *const f32, *const f32, f32);
type Attend = unsafe fn(&Part<'_>, &mut Scratch);
type Rotate = unsafe fn(*mut f32, usize, *const f32, *const f32);

/// The kernels of one instruction set and precision.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    isa: Isa,
    precision: Precision,
    /// Number of columns of a matrix that are stored together.
    panel: usize,
    /// Number of bf16 values in a word.
    pair: usize,
    /// Number of words of the outliers' weights in a column, including zeros after the [`OUTLIERS`].
    extra: usize,
    multiply: Multiply,
    hold: Hold,
    layer_norm: LayerNorm,
    attend: Attend,
    rotate: Rotate,
}

/// Compiles the kernels for an instruction set. `$float` is the format that stores bf16 values: without
/// instructions for products of bf16, they are stored as floats rounded to bf16.
macro_rules! compile {
    ($name:ident, $simd:ty, $value:expr, $float:ident $(, $features:literal)?) => {
        mod $name {
            use super::ops::{self, Bytes, F32, Product, $float as Bf16};
            use super::simd::Simd;
            use super::{Input, Isa, Kernel, Matrix, Operand, Part, Precision, Scratch, Then};

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

            pub(super) fn kernel(isa: Isa, precision: Precision) -> Kernel {
                let (multiply, hold): (super::Multiply, super::Hold) = match precision {
                    Precision::F32 => (multiply_f32, hold_f32),
                    Precision::Bf16 => (multiply_bf16, hold_bf16),
                    Precision::Int8 => (multiply_bytes, hold_bytes),
                };
                let attend: super::Attend = if precision == Precision::F32 { attend_f32 } else { attend };
                let panel = <$simd>::VECTORS * <$simd>::LANES;
                let pair = <Bf16 as Product<$simd>>::GROUP;
                let extra = super::OUTLIERS / pair;
                Kernel { isa, precision, panel, pair, extra, multiply, hold, layer_norm, attend, rotate }
            }
        }
    };
}

compile!(portable_kernels, super::portable::Portable, super::portable::Portable, F32);
#[cfg(target_arch = "aarch64")]
compile!(neon_kernels, super::neon::Neon, super::neon::Neon, F32);
#[cfg(target_arch = "x86_64")]
compile!(avx2_kernels, super::avx2::Avx2<false>, super::avx2::Avx2::<false>, F32, "avx2,fma");
#[cfg(target_arch = "x86_64")]
compile!(avx2_vnni_kernels, super::avx2::Avx2<true>, super::avx2::Avx2::<true>, F32, "avx2,fma,avxvnni");
#[cfg(target_arch = "x86_64")]
compile!(
    avx512_kernels,
    super::avx512::Avx512<false, false>,
    super::avx512::Avx512::<false, false>,
    F32,
    "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"
);
#[cfg(target_arch = "x86_64")]
compile!(
    avx512_vnni_kernels,
    super::avx512::Avx512<false, true>,
    super::avx512::Avx512::<false, true>,
    F32,
    "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"
);
#[cfg(target_arch = "x86_64")]
compile!(
    avx512_bf16_kernels,
    super::avx512::Avx512<true, true>,
    super::avx512::Avx512::<true, true>,
    Bf16,
    "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16"
);

impl Kernel {
    /// Returns the kernels for an instruction set, if this processor supports it.
    #[must_use]
    pub fn new(isa: Isa, precision: Precision) -> Option<Self> {
        if !isa.is_available() {
            return None;
        }
        let kernel = match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2_kernels::kernel,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2Vnni => avx2_vnni_kernels::kernel,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512_kernels::kernel,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Vnni => avx512_vnni_kernels::kernel,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Bf16 => avx512_bf16_kernels::kernel,
            #[cfg(target_arch = "x86_64")]
            Isa::Amx => amx::kernel,
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => neon_kernels::kernel,
            _ => portable_kernels::kernel,
        };
        Some(kernel(isa, precision))
    }

    /// Returns the precision of the linear layers.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Returns the instruction set.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Returns how many rows to pass through several linear layers together: few enough that the data between the
    /// layers stays in the cache, and enough that reading the weights costs less than multiplying by them.
    #[must_use]
    pub fn rows(&self) -> usize {
        // Tiles multiply so fast that weights must be used for more rows.
        if self.isa == Isa::Amx { 128 } else { 48 }
    }

    /// Returns the maximum number of inputs that should share a scale in [`Precision::Int8`].
    ///
    /// Smaller blocks are more accurate but slower. With all-MiniLM-L6-v2, blocks of 128 keep every golden vector within
    /// a cosine of .9991, blocks of 192 within .9988 and blocks of 384 within .9986. Weights that are limited to avoid
    /// saturation are coarser, and blocks of 64 make up for it: on 400 chunks the least cosine is .9995 instead of .9991,
    /// at 4 % of the speed with AVX2.
    #[must_use]
    pub fn largest_block(&self) -> usize {
        if self.isa.saturates() { 64 } else { 128 }
    }

    /// Returns the kernels of the same instruction set in [`Precision::F32`].
    #[must_use]
    pub fn floats(&self) -> Self {
        Self::new(self.isa, Precision::F32).unwrap_or(*self)
    }

    /// Prepares the weights of a linear layer: `weight` has a row for each output.
    ///
    /// # Panics
    /// If the lengths do not fit.
    #[must_use]
    pub fn matrix(&self, weight: &[f32], bias: &[f32], input: &Input) -> Matrix {
        let fits = !weight.is_empty() && !bias.is_empty() && weight.len().is_multiple_of(bias.len());
        assert!(fits, "a row of weights for each bias");
        let inputs = weight.len() / bias.len();
        let depth = inputs.next_multiple_of(PAD) / self.group();
        let columns = bias.len().next_multiple_of(PAD);
        let mut matrix = Matrix {
            of: (self.isa, self.precision),
            words: Words::new(depth * columns),
            depth,
            columns,
            bias: Floats::new(columns),
            chunk: self.chunk(depth, input),
            scales: Floats::default(),
            zeros: Vec::new(),
            extra: Words::default(),
        };
        matrix.bias[..bias.len()].copy_from_slice(bias);
        let mut held = vec![0_u32; depth];
        if self.precision == Precision::Int8 {
            let blocks = inputs.next_multiple_of(PAD) / input.block;
            matrix.scales.grow(blocks * columns);
            matrix.zeros = vec![0; blocks * columns];
            matrix.extra.grow(self.extra * columns);
        }
        let mut row_left = vec![0.0; inputs];
        for (column, row) in weight.chunks_exact(inputs).enumerate() {
            match self.precision {
                Precision::F32 => held.iter_mut().zip(row).for_each(|(word, x)| *word = x.to_bits()),
                Precision::Bf16 => held.iter_mut().zip(self.bf16(row)).for_each(|(word, x)| *word = x),
                Precision::Int8 => {
                    row_left.copy_from_slice(row);
                    let mut kept = [0.0; OUTLIERS];
                    for (kept, &at) in kept.iter_mut().zip(&input.outliers) {
                        *kept = std::mem::take(&mut row_left[at]);
                    }
                    let mut extra: Vec<u32> = self.bf16(&kept).collect();
                    extra.resize(self.extra, 0);
                    self.place(matrix.extra.as_mut_slice(), column, &extra);
                    for (block, (words, row)) in
                        held.chunks_mut(input.block / 4).zip(row_left.chunks(input.block)).enumerate()
                    {
                        let (scale, sum) = quantize(row, self.isa.saturates(), words);
                        matrix.scales[block * columns + column] = scale;
                        match input.floor {
                            None => matrix.zeros[block * columns + column] = 128 * sum,
                            // The same for every row, so it is added to the bias.
                            #[expect(clippy::cast_precision_loss, reason = "a sum of a few hundred bytes")]
                            Some(floor) => matrix.bias[column] += floor * scale * sum as f32,
                        }
                    }
                }
            }
            self.place(matrix.words.as_mut_slice(), column, &held);
        }
        matrix
    }

    /// Returns how many numbers are in a 32-bit word.
    fn group(&self) -> usize {
        match self.precision {
            Precision::F32 => 1,
            Precision::Bf16 => self.pair,
            Precision::Int8 => 4,
        }
    }

    /// Rounds numbers to bf16 and packs them into words.
    fn bf16(&self, numbers: &[f32]) -> impl Iterator<Item = u32> {
        let half = |x: f32| u32::from(simd::bf16(x));
        let word = move |numbers: &[f32]| match *numbers {
            [first, second] => half(first) | half(second) << 16,
            [last] if self.pair == 2 => half(last),
            _ => half(numbers[0]) << 16,
        };
        numbers.chunks(self.pair).map(word)
    }

    /// Returns how many words of `depth` are multiplied together.
    fn chunk(&self, depth: usize, input: &Input) -> usize {
        if self.precision == Precision::Int8 { input.block / 4 } else { depth }
    }

    /// Writes a column of a matrix into its panel.
    fn place(&self, panels: &mut [u32], column: usize, words: &[u32]) {
        let first = column / self.panel * self.panel * words.len() + column % self.panel;
        for (k, &word) in words.iter().enumerate() {
            panels[first + k * self.panel] = word;
        }
    }

    /// Converts `rows` consecutive rows of `width` floats to the left factor of a product. The floats are unchanged
    /// afterwards.
    ///
    /// # Panics
    /// If the width is not a multiple of [`PAD`], `from` is too short, or `input` was made for another width.
    pub fn hold(&self, from: &mut [f32], width: usize, rows: usize, input: &Input, to: &mut Operand) {
        assert!(width > 0 && width.is_multiple_of(PAD) && from.len() / width >= rows, "rows of padded width");
        assert!(width.is_multiple_of(input.block) && input.block.is_multiple_of(PAD), "blocks of padded width");
        assert!(input.outliers.iter().all(|&at| at < width), "outliers are inputs");
        let padded = rows.next_multiple_of(ROW_PAD);
        to.of = Some((self.isa, self.precision));
        to.depth = width / self.group();
        to.chunk = self.chunk(to.depth, input);
        to.rows = rows;
        to.words.grow(padded * to.depth);
        if self.precision == Precision::Int8 {
            to.extra.grow(padded * ops::EXTRA_ROW);
            let scales = padded * width / input.block;
            if to.scales.len() < scales {
                to.scales.resize(scales, 0.0);
            }
        }
        // SAFETY: the processor has the instructions (`new`); the lengths were checked.
        unsafe { (self.hold)(from.as_mut_ptr(), width, input, to) }
    }

    /// Computes a linear layer and the operation that follows it. `out` has rows of the layer's padded width.
    ///
    /// # Panics
    /// If the factors were prepared for another kernel or for different blocks of an [`Input`], or the lengths do
    /// not fit.
    pub fn multiply(&self, a: &Operand, w: &Matrix, then: Then, out: &mut [f32]) {
        let of = (self.isa, self.precision);
        let alike = w.of == of && a.of == Some(of) && a.chunk == w.chunk && a.depth == w.depth;
        assert!(alike && out.len() >= a.rows * w.columns, "factors and product fit");
        // SAFETY: the processor has the instructions (`new`); the operand has rows for the last tile (`hold`), the
        // matrix has whole panels (`matrix`), and the length of the product was checked.
        unsafe { (self.multiply)(a, w, then, out.as_mut_ptr(), w.columns) }
    }

    /// Applies layer normalisation in place to rows of `width` floats, padded to a multiple of [`PAD`].
    ///
    /// # Panics
    /// If the lengths do not fit.
    pub fn layer_norm(&self, x: &mut [f32], width: usize, weight: &Floats, bias: &Floats, epsilon: f32) {
        let stride = width.next_multiple_of(PAD);
        assert!(x.len().is_multiple_of(stride) && weight.len() >= stride && bias.len() >= stride, "rows of one width");
        // SAFETY: the processor has the instructions (`new`); the lengths were checked.
        unsafe { (self.layer_norm)(x, stride, width, weight.as_ptr(), bias.as_ptr(), epsilon) }
    }

    /// Computes attention; row `i` of the result starts at `out[i * out_stride]`.
    ///
    /// # Panics
    /// If the lengths do not fit, or rows overlap.
    pub fn attend(&self, job: Attention<'_>, out: &mut [f32], out_stride: usize, scratch: &mut Scratch) {
        let Attention { stride, len, width, reach: farthest, queried, .. } = job;
        assert!(width.is_multiple_of(16) && (16..=ops::MAX_HEAD).contains(&width) && len > 0, "a head's width");
        // No multiplication here: an absurd length could make it wrap around to a small number.
        let fits = |floats: usize, stride: usize, rows: usize| {
            floats >= width && stride >= width && (floats - width) / stride >= rows - 1
        };
        assert!([job.queries, job.keys, job.values].iter().all(|x| fits(x.len(), stride, len)), "a row for each token");
        assert!(fits(out.len(), out_stride, queried), "room for the result");
        assert!(job.bias.is_none_or(|bias| len <= bias.longest()), "a bias for each distance");
        let head = &job;
        let pointer = out.as_mut_ptr();
        let mut attend = |queries: Range<usize>, keys: Range<usize>, running: Option<*mut Running>| {
            let part = Part { head, queries, keys, out: pointer, out_stride, running };
            // SAFETY: the processor has the instructions (`new`); the lengths were checked.
            unsafe { (self.attend)(&part, scratch) }
        };
        if farthest < len - 1 {
            for first in (0..queried).step_by(QUERIES) {
                let queries = first..queried.min(first + QUERIES);
                let keys = first.saturating_sub(farthest)..len.min(queries.end.saturating_add(farthest));
                attend(queries, keys, None);
            }
        } else if len <= KEYS {
            attend(0..queried, 0..len, None);
        } else {
            let mut running = vec![Running { greatest: f32::NEG_INFINITY, total: 0.0 }; queried];
            for first in (0..len).step_by(KEYS) {
                attend(0..queried, first..len.min(first + KEYS), Some(running.as_mut_ptr()));
            }
            for (row, Running { total, .. }) in out.chunks_mut(out_stride).zip(&running) {
                row[..width].iter_mut().for_each(|x| *x /= total);
            }
        }
    }

    /// Rotates `heads` heads of `width` numbers, which follow each other from the start of each row, by the angles
    /// of the row's position. Rows are `stride` floats apart; the first is at position 0.
    ///
    /// # Panics
    /// If the lengths do not fit, or there are more rows than positions.
    pub fn rotate(&self, x: &mut [f32], stride: usize, heads: usize, width: usize, rotation: &Rotation) {
        let Rotation { cosines, sines, half } = rotation;
        assert!(2 * half <= width && heads * width <= stride && *half > 0, "heads of one width");
        assert!(x.len().div_ceil(stride) <= cosines.len() / half, "a position for each row");
        for ((row, cosines), sines) in x.chunks_mut(stride).zip(cosines.chunks(*half)).zip(sines.chunks(*half)) {
            for head in row[..heads * width].chunks_exact_mut(width) {
                // SAFETY: the processor has the instructions (`new`); a head contains both halves.
                unsafe { (self.rotate)(head.as_mut_ptr(), *half, cosines.as_ptr(), sines.as_ptr()) }
            }
        }
    }
}

/// Quantizes weights to signed bytes and returns their scale and the sum of the bytes.
///
/// Tries a few scales around the one that fits the largest weight and picks the one with the smallest squared
/// error: clipping a large weight often pays off.
fn quantize(row: &[f32], saturates: bool, words: &mut [u32]) -> (f32, i32) {
    const SHARES: [f32; 9] = [1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6];
    // Larger than the largest weight needs, for when pairs would be clipped; with the last one, none is.
    const MORE: [f32; 7] = [1.1, 1.2, 1.3, 1.45, 1.6, 1.8, 127.0 / 64.0];
    let shares = SHARES.into_iter().chain(MORE.into_iter().filter(|_| saturates));
    let greatest = row.iter().fold(SMALLEST, |max, x| max.max(x.abs()));
    let error = |scale: f32| {
        let bytes = row.chunks(2).flat_map(|pair| bytes(pair, 1.0 / scale, saturates));
        bytes.zip(row).map(|(byte, x)| f64::from(byte * scale - x).powi(2)).sum::<f64>()
    };
    let scales = shares.map(|share| share * greatest / 127.0);
    let errors = scales.map(|scale| (scale, error(scale)));
    let (scale, _) = errors.min_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap_or((greatest / 127.0, 0.0));
    let mut sum = 0;
    words.fill(0);
    for (word, four) in words.iter_mut().zip(row.chunks(4)) {
        let mut held = [0; 4];
        let bytes = four.chunks(2).flat_map(|pair| bytes(pair, 1.0 / scale, saturates));
        for (to, byte) in held.iter_mut().zip(bytes) {
            #[expect(clippy::cast_possible_truncation, reason = "whole, and within a byte")]
            let whole = byte as i8;
            sum += i32::from(whole);
            *to = whole.cast_unsigned();
        }
        *word = u32::from_le_bytes(held);
    }
    (scale, sum)
}

/// Rounds two weights to integers from -127 to 127. If products of two bytes are summed in 16 bits, their sum is
/// limited so even the greatest unsigned bytes do not overflow.
fn bytes(pair: &[f32], inverse: f32, saturates: bool) -> [f32; 2] {
    /// `i16::MAX / 255`, rounded down.
    const MOST: f32 = 128.0;
    let byte = |x: &f32| (x * inverse).round_ties_even().clamp(-127.0, 127.0);
    let [first, second] = [0, 1].map(|at| pair.get(at).map_or(0.0, byte));
    let excess = if saturates { ((first + second).abs() - MOST).max(0.0) } else { 0.0 };
    // Only two weights of the same sign can exceed the limit, so neither changes its sign.
    let half = (excess / 2.0).floor();
    let less = |x: f32, by: f32| x - by.copysign(x);
    if first.abs() > second.abs() {
        [less(first, excess - half), less(second, half)]
    } else {
        [less(first, half), less(second, excess - half)]
    }
}
