//! The arithmetic of the encoder: linear layers with what follows them, layer normalisation, attention.
//!
//! Kernels are written once over `simd::Simd` and compiled for every instruction set; [`Kernel`]
//! holds the set chosen at run time and is the only way in. Its methods are safe: they check the
//! lengths of what they are given, and the rest follows. All `unsafe` code of chunkmill's encoder is in
//! this folder.
//!
//! Widths (of hidden states, heads, layers) are padded with zeros to multiples of [`PAD`] numbers, so
//! that no kernel has a ragged edge; zeros add nothing to a sum.

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

use crate::value::named;
use buffer::Words;
pub use buffer::{Floats, Scratch};
pub(crate) use ops::MAX_HEAD;

/// What widths are multiples of: the numbers in four of the widest vectors of floats, or one of bytes.
pub const PAD: usize = 64;

/// Most keys that queries look at together: what is made of them stays in a core's second-level cache. A longer text's
/// are taken one such part after another, so that no memory grows with the square of its length.
const KEYS: usize = 1024;

/// Queries that look at a window of keys together.
const QUERIES: usize = 128;

/// Rows of an operand are made up to a multiple of this, so that register tiles of any height fit.
const ROW_PAD: usize = 96;

/// What the encoder's linear layers are computed in.
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
    /// Every precision.
    pub const ALL: [Self; 3] = [Self::F32, Self::Bf16, Self::Int8];

    /// The name used in settings and datasets.
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

/// A set of instructions that kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Any processor.
    Portable,
    /// 64-bit ARM.
    Neon,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-VNNI besides: products of bytes.
    Avx2Vnni,
    /// AVX-512 F, BW, DQ, VL.
    Avx512,
    /// AVX-512 VNNI besides: products of bytes.
    Avx512Vnni,
    /// AVX-512 BF16 besides: products of bf16.
    Avx512Bf16,
    /// AMX-TILE, AMX-BF16 and AMX-INT8 besides: products of tiles.
    Amx,
}

impl Isa {
    /// Every set, the best last.
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

    /// The name used in settings.
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

    /// The best that this processor has.
    #[must_use]
    pub fn best() -> Self {
        Self::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Self::Portable)
    }

    /// Whether products of bf16 are faster than those of f32.
    #[must_use]
    pub fn multiplies_bf16(self) -> bool {
        matches!(self, Self::Avx512Bf16 | Self::Amx)
    }

    /// Whether it has instructions of its own for products in a precision. Without them, factors are widened first.
    #[must_use]
    pub(crate) fn is_fast_in(self, precision: Precision) -> bool {
        match precision {
            Precision::F32 => true,
            Precision::Bf16 => self.multiplies_bf16(),
            Precision::Int8 => matches!(self, Self::Avx2Vnni | Self::Avx512Vnni | Self::Avx512Bf16 | Self::Amx),
        }
    }

    /// Whether it sums products of bytes in pairs of 16 bits, see [`bytes`].
    fn saturates(self) -> bool {
        matches!(self, Self::Avx2 | Self::Avx512)
    }

    /// Whether this processor has it.
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

/// What is done to a product before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    Store,
    /// The activation GELU, with the exact normal distribution (Hendrycks and Gimpel 2016).
    Gelu,
    /// Its approximation by the hyperbolic tangent (there, too).
    GeluTanh,
    /// The activation `SiLU`, `x / (1 + e^-x)`, also called swish.
    Silu,
    /// The activation `max(x, 0)`.
    Relu,
    /// It is added to what is there.
    Add,
    /// What is there is multiplied by it: it is a gate.
    Times,
}

impl Then {
    /// The least value that comes of it, if there is one: rounded down to two digits.
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

/// The weights of a linear layer as a kernel reads them.
#[derive(Debug)]
pub struct Matrix {
    /// The kernel it was made for.
    of: (Isa, Precision),
    /// Panels of columns, each row by row.
    words: Words,
    /// Words in a row of the other factor.
    depth: usize,
    /// Outputs, padded.
    columns: usize,
    /// Added to each output.
    bias: Floats,
    /// Words of the depth that are multiplied together, before the next: of bytes those that share a scale.
    chunk: usize,
    /// Of bytes: for each block, what each output's sum is multiplied by.
    scales: Floats,
    /// Of bytes: for each block, what each output's sum is for a row of zeros.
    zeros: Vec<i32>,
    /// Of bytes: panels of the weights of outliers, as bf16.
    extra: Words,
}

/// What is known of the numbers that a linear layer reads, for holding them as bytes.
///
/// A few inputs of such networks are many times as large as the others. They would coarsen the
/// scale of all, so they are held apart (Dettmers et al. 2022), and the rest share a scale per block.
#[derive(Debug, Clone)]
pub struct Input {
    /// Positions of outliers, [`OUTLIERS`] at most.
    outliers: Vec<usize>,
    /// The least value, if it is known; otherwise values are taken to lie about zero.
    floor: Option<f32>,
    /// Numbers that share a scale; divides the width.
    block: usize,
}

/// Most numbers that share a scale. Smaller blocks are more exact and slower: of all-MiniLM-L6-v2, blocks
/// of 128 keep every golden vector within a cosine of .9991, of 192 of .9988 and of 384 of .9986.
pub const LARGEST_BLOCK: usize = 128;

/// What is smaller becomes zero where all of a block is: the inverse of a smaller step might be infinite.
const SMALLEST: f32 = 1e-30;

/// Inputs that are held apart from bytes.
pub const OUTLIERS: usize = 8;

impl Input {
    /// Nothing is known.
    #[must_use]
    pub fn unknown(width: usize) -> Self {
        Self { outliers: Vec::new(), floor: None, block: width.next_multiple_of(PAD) }
    }

    /// What was seen: `sizes` holds, for each input, how much it can add to an output.
    #[must_use]
    pub fn observed(sizes: &[f32], floor: Option<f32>) -> Self {
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by(|&a, &b| sizes[b].total_cmp(&sizes[a]).then(a.cmp(&b)));
        order.truncate(OUTLIERS);
        order.sort_unstable();
        let width = sizes.len().next_multiple_of(PAD);
        let block = (1..=LARGEST_BLOCK / PAD)
            .rev()
            .map(|pads| pads * PAD)
            .find(|block| width.is_multiple_of(*block))
            .unwrap_or(PAD);
        Self { outliers: order, floor, block }
    }
}

impl Matrix {
    fn words(&self) -> *const u32 {
        self.words.as_ptr()
    }
}

/// Rows of numbers as a kernel reads them.
#[derive(Debug, Default)]
pub struct Operand {
    /// The kernel it was made for.
    of: Option<(Isa, Precision)>,
    /// [`Matrix::chunk`] of the matrices that it fits.
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

/// One head of one text.
#[derive(Debug, Clone, Copy)]
pub struct Attention<'a> {
    /// First query, the others `stride` floats apart.
    pub queries: &'a [f32],
    /// First key.
    pub keys: &'a [f32],
    /// First value.
    pub values: &'a [f32],
    /// Floats from one token to the next.
    pub stride: usize,
    /// Tokens.
    pub len: usize,
    /// Width of the head, padded to a multiple of 16.
    pub width: usize,
    /// What scores are multiplied by; above zero.
    pub scale: f32,
    /// How many tokens away a token looks, to each side.
    reach: usize,
    /// What is added to the score of a key by its distance from the query, before it is multiplied.
    bias: Option<&'a Distances>,
}

impl<'a> Attention<'a> {
    /// Attention of `len` tokens of one head over themselves: first query, key and value, each followed
    /// by the next `stride` floats on.
    #[must_use]
    pub fn new([queries, keys, values]: [&'a [f32]; 3], stride: usize, len: usize, width: usize, scale: f32) -> Self {
        Self { queries, keys, values, stride, len, width, scale, reach: usize::MAX, bias: None }
    }

    /// No token looks farther than `reach` tokens to each side.
    #[must_use]
    pub fn within(self, reach: usize) -> Self {
        Self { reach, ..self }
    }

    /// Scores depend on distances too.
    #[must_use]
    pub fn biased(self, bias: &'a Distances) -> Self {
        Self { bias: Some(bias), ..self }
    }
}

/// What the distance of a key from a query adds to their score.
#[derive(Debug)]
pub struct Distances {
    /// By distance, from the most negative on, with [`PAD`] more behind the last.
    values: Floats,
    /// Where the distance is 0.
    center: usize,
}

impl Distances {
    /// For texts of up to `len` tokens, of which `value` says what a key that is so far behind the query adds.
    #[must_use]
    pub fn new(len: usize, value: impl Fn(isize) -> f32) -> Self {
        let center = len.saturating_sub(1);
        let mut values = Floats::new(2 * center + 1 + PAD);
        for (at, to) in values[..=2 * center].iter_mut().enumerate() {
            *to = value(at.cast_signed() - center.cast_signed());
        }
        Self { values, center }
    }

    /// Most tokens of a text.
    fn longest(&self) -> usize {
        self.center + 1
    }
}

/// Some queries of a head over some of its keys.
#[derive(Debug, Clone)]
struct Part<'a> {
    head: &'a Attention<'a>,
    queries: Range<usize>,
    keys: Range<usize>,
    /// Where the first of all queries' result goes.
    out: *mut f32,
    out_stride: usize,
    /// For each of all queries, the greatest score so far and the sum of weights, if these are not all of their keys.
    running: Option<*mut Running>,
}

/// The softmax of one query over the keys so far (Milakov and Gimelshein 2018): the greatest of its scores, as a power of
/// two, and the sum of weights against that.
#[derive(Debug, Clone, Copy)]
struct Running {
    greatest: f32,
    total: f32,
}

impl Part<'_> {
    /// Whether it is a whole text of which every token looks at every other, and nothing but their product counts.
    fn is_whole(&self) -> bool {
        self.running.is_none() && self.head.bias.is_none() && self.head.reach >= self.keys.len()
    }

    /// The keys, counted from the part's first, that a query looks at.
    fn seen(&self, query: usize) -> Range<usize> {
        let Range { start, end } = self.keys;
        let low = query.saturating_sub(self.head.reach).clamp(start, end);
        let high = query.saturating_add(self.head.reach).saturating_add(1).clamp(low, end);
        low - start..high - start
    }

    /// The keys that any of some queries looks at, made up to multiples of `align`.
    fn span(&self, queries: Range<usize>, align: usize) -> Range<usize> {
        let low = self.seen(queries.start).start / align * align;
        low..self.seen(queries.end - 1).end.next_multiple_of(align)
    }

    /// What distances add to a query's scores of the keys from one on, which is counted from the part's first.
    fn bias(&self, query: usize, key: usize) -> Option<*const f32> {
        let bias = self.head.bias?;
        Some(bias.values.as_ptr().wrapping_add(bias.center + self.keys.start + key - query))
    }
}

/// Where a rotation turns the numbers of a head (Su et al. 2021): those of its first half with those of its second, by an
/// angle for each pair that grows with the position.
#[derive(Debug)]
pub struct Rotation {
    /// For each position, the cosine of each angle.
    cosines: Vec<f32>,
    sines: Vec<f32>,
    /// Pairs of a head.
    half: usize,
}

impl Rotation {
    /// The rotations of heads of `width` numbers, an even number of them, at `positions` positions: by the angle
    /// `position / base^(2i / width)` for pair `i`, computed in f32 as those who train models do.
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
    /// Columns of a matrix that lie together.
    panel: usize,
    /// Numbers rounded to bf16 in a word.
    pair: usize,
    /// Words of the outliers' weights in a column, with zeros after the [`OUTLIERS`].
    extra: usize,
    multiply: Multiply,
    hold: Hold,
    layer_norm: LayerNorm,
    attend: Attend,
    rotate: Rotate,
}

/// Compiles the kernels for an instruction set. The last kind of number before its features is what bf16 are held
/// as: where there are no products of bf16, as floats that are rounded to them.
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
    /// The kernels for an instruction set, if this processor has it.
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

    /// What the linear layers are computed in.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The instruction set.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Rows that should go through several linear layers together: few enough that what lies between the layers
    /// stays in the cache, and enough that reading the weights costs less than multiplying by them.
    #[must_use]
    pub fn rows(&self) -> usize {
        // Tiles multiply so fast that weights must serve more rows.
        if self.isa == Isa::Amx { 128 } else { 48 }
    }

    /// The kernels of the same instruction set in [`Precision::F32`].
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
                            // The same for every row, so it goes to the bias.
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

    /// Numbers in a 32-bit word.
    fn group(&self) -> usize {
        match self.precision {
            Precision::F32 => 1,
            Precision::Bf16 => self.pair,
            Precision::Int8 => 4,
        }
    }

    /// Numbers rounded to bf16, in as many words as they need.
    fn bf16(&self, numbers: &[f32]) -> impl Iterator<Item = u32> {
        let half = |x: f32| u32::from(simd::bf16(x));
        let word = move |numbers: &[f32]| match *numbers {
            [first, second] => half(first) | half(second) << 16,
            [last] if self.pair == 2 => half(last),
            _ => half(numbers[0]) << 16,
        };
        numbers.chunks(self.pair).map(word)
    }

    /// Words of `depth` that are multiplied together.
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

    /// Holds `rows` rows of `width` floats, one after another, as the other factor of a product. The
    /// floats are the same afterwards.
    ///
    /// # Panics
    /// If the width is not a multiple of [`PAD`], or there are fewer floats.
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

    /// Computes a linear layer and what follows it. `out` has rows of the layer's padded width.
    ///
    /// # Panics
    /// If the factors were made for another kernel or another [`Input`]'s blocks, or the lengths do not fit.
    pub fn multiply(&self, a: &Operand, w: &Matrix, then: Then, out: &mut [f32]) {
        let of = (self.isa, self.precision);
        let alike = w.of == of && a.of == Some(of) && a.chunk == w.chunk && a.depth == w.depth;
        assert!(alike && out.len() >= a.rows * w.columns, "factors and product fit");
        // SAFETY: the processor has the instructions (`new`); the operand has rows for the last
        // tile (`hold`), the matrix whole panels (`matrix`), and the product's length was checked.
        unsafe { (self.multiply)(a, w, then, out.as_mut_ptr(), w.columns) }
    }

    /// Layer normalisation in place of rows of `width` floats padded to a multiple of [`PAD`].
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
        let Attention { stride, len, width, reach: farthest, .. } = job;
        assert!(width.is_multiple_of(16) && (16..=ops::MAX_HEAD).contains(&width) && len > 0, "a head's width");
        // Without a product, which a length that makes no sense might carry around to a small one.
        let reach =
            |floats: usize, stride: usize| floats >= width && stride >= width && (floats - width) / stride >= len - 1;
        assert!([job.queries, job.keys, job.values].iter().all(|x| reach(x.len(), stride)), "a row for each token");
        assert!(reach(out.len(), out_stride), "room for the result");
        assert!(job.bias.is_none_or(|bias| len <= bias.longest()), "a bias for each distance");
        let head = &job;
        let pointer = out.as_mut_ptr();
        let mut attend = |queries: Range<usize>, keys: Range<usize>, running: Option<*mut Running>| {
            let part = Part { head, queries, keys, out: pointer, out_stride, running };
            // SAFETY: the processor has the instructions (`new`); the lengths were checked.
            unsafe { (self.attend)(&part, scratch) }
        };
        if farthest < len - 1 {
            for first in (0..len).step_by(QUERIES) {
                let queries = first..len.min(first + QUERIES);
                let keys = first.saturating_sub(farthest)..len.min(queries.end.saturating_add(farthest));
                attend(queries, keys, None);
            }
        } else if len <= KEYS {
            attend(0..len, 0..len, None);
        } else {
            let mut running = vec![Running { greatest: f32::NEG_INFINITY, total: 0.0 }; len];
            for first in (0..len).step_by(KEYS) {
                attend(0..len, first..len.min(first + KEYS), Some(running.as_mut_ptr()));
            }
            for (row, Running { total, .. }) in out.chunks_mut(out_stride).zip(&running) {
                row[..width].iter_mut().for_each(|x| *x /= total);
            }
        }
    }

    /// Turns `heads` heads of `width` numbers, one after another from the start of each row on, by the angles of the row's
    /// position; rows are `stride` floats apart, the first at position 0.
    ///
    /// # Panics
    /// If the lengths do not fit, or there are more rows than positions.
    pub fn rotate(&self, x: &mut [f32], stride: usize, heads: usize, width: usize, rotation: &Rotation) {
        let Rotation { cosines, sines, half } = rotation;
        assert!(2 * half <= width && heads * width <= stride && *half > 0, "heads of one width");
        assert!(x.len().div_ceil(stride) <= cosines.len() / half, "a position for each row");
        for ((row, cosines), sines) in x.chunks_mut(stride).zip(cosines.chunks(*half)).zip(sines.chunks(*half)) {
            for head in row[..heads * width].chunks_exact_mut(width) {
                // SAFETY: the processor has the instructions (`new`); a head holds both halves.
                unsafe { (self.rotate)(head.as_mut_ptr(), *half, cosines.as_ptr(), sines.as_ptr()) }
            }
        }
    }
}

/// Holds weights as signed bytes: returns their scale and the sum of the bytes.
///
/// The scale is the one, of a few about that of the largest weight, with the least squared error: often it pays to cut a
/// large weight off.
fn quantize(row: &[f32], saturates: bool, words: &mut [u32]) -> (f32, i32) {
    const SHARES: [f32; 9] = [1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6];
    // More than the largest weight needs, where pairs would be cut; with the last, none is.
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

/// Two weights as whole numbers from -127 to 127. Where products of two bytes are summed in 16 bits, their sum is kept so
/// small that with the greatest unsigned bytes nothing is lost.
fn bytes(pair: &[f32], inverse: f32, saturates: bool) -> [f32; 2] {
    /// `i16::MAX / 255`, rounded down.
    const MOST: f32 = 128.0;
    let byte = |x: &f32| (x * inverse).round_ties_even().clamp(-127.0, 127.0);
    let [first, second] = [0, 1].map(|at| pair.get(at).map_or(0.0, byte));
    let excess = if saturates { ((first + second).abs() - MOST).max(0.0) } else { 0.0 };
    // Only two of one sign are too much, so neither is taken below zero.
    let half = (excess / 2.0).floor();
    let less = |x: f32, by: f32| x - by.copysign(x);
    if first.abs() > second.abs() {
        [less(first, excess - half), less(second, half)]
    } else {
        [less(first, half), less(second, excess - half)]
    }
}
