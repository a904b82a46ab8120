//! The arithmetic of the encoder: linear layers with the operations that follow them, layer normalisation,
//! attention; and of a search: products of a question with stored vectors.
//!
//! Kernels are written once over `simd::Simd` and compiled for every instruction set. [`Kernel`] contains the ones
//! chosen at run time, and [`Scan`] those of a search. Their methods are safe because they check the lengths of their
//! arguments. All `unsafe` code of chunkmill's encoder is in this folder.
//!
//! Widths (of hidden states, heads, layers) are padded with zeros to multiples of [`PAD`] numbers, so no kernel has
//! to handle a partial vector; zeros add nothing to a sum.

#[cfg(target_arch = "x86_64")]
mod amx;
mod attention;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bits;
mod buffer;
mod compile;
mod factors;
mod isa;
#[cfg(target_arch = "aarch64")]
mod neon;
mod ops;
#[cfg(target_arch = "x86_64")]
mod permission;
mod portable;
mod quantize;
mod rotation;
mod scan;
mod simd;
mod table;

use std::ops::Range;

pub use attention::{Attention, Distances};
use attention::{Part, Running};
pub use bits::{BitLayout, BitQuestion};
use buffer::WordBuffer;
pub use buffer::{Floats, Scratch};
pub use factors::{Input, Matrix, OUTLIERS, Operand, PAD, Then};
pub use isa::{Isa, Precision};
pub(crate) use ops::MAX_HEAD;
use quantize::quantize;
pub use rotation::Rotation;
pub use scan::Scan;
pub use table::Kernel;

/// Maximum number of keys processed at once: their transposed and paired copies stay in a core's second-level
/// cache. Longer texts are processed in parts of this size, so no buffer grows with the square of their length.
const KEYS: usize = 1024;

/// Number of queries that share a window of keys.
const QUERIES: usize = 128;

/// Rows of an operand are padded to a multiple of this, so register tiles of any height fit.
const ROW_PAD: usize = 96;

impl Kernel {
    /// Returns the kernels for an instruction set, if this processor supports it. There are none for
    /// [`Precision::F16`].
    #[must_use]
    pub fn new(isa: Isa, precision: Precision) -> Option<Self> {
        if !isa.is_available() || precision == Precision::F16 {
            return None;
        }
        let kernel = match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => compile::avx2_kernels::kernel,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2Vnni => compile::avx2_vnni_kernels::kernel,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => compile::avx512_kernels::kernel,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Vnni => compile::avx512_vnni_kernels::kernel,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Bf16 => compile::avx512_bf16_kernels::kernel,
            #[cfg(target_arch = "x86_64")]
            Isa::Amx => amx::kernel,
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => compile::neon_kernels::kernel,
            _ => compile::portable_kernels::kernel,
        };
        Some(kernel(isa, precision))
    }

    /// Returns the precision of the linear layers.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Returns the instruction set.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Returns how many rows to pass through several linear layers together: few enough that the data between the
    /// layers stays in the cache, and enough that reading the weights costs less than multiplying by them.
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
    pub fn matrix(&self, weight: &[f32], bias: &[f32], input: &Input) -> Matrix {
        let fits = !weight.is_empty() && !bias.is_empty() && weight.len().is_multiple_of(bias.len());
        assert!(fits, "a row of weights for each bias");
        let inputs = weight.len() / bias.len();
        let depth = inputs.next_multiple_of(PAD) / self.group();
        let columns = bias.len().next_multiple_of(PAD);
        let mut matrix = Matrix {
            of: (self.isa, self.precision),
            words: WordBuffer::new(depth * columns),
            depth,
            columns,
            bias: Floats::new(columns),
            chunk: self.chunk(depth, input),
            scales: Floats::default(),
            zeros: Vec::new(),
            extra: WordBuffer::default(),
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
                Precision::F32 | Precision::F16 => held.iter_mut().zip(row).for_each(|(word, x)| *word = x.to_bits()),
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
            Precision::F32 | Precision::F16 => 1,
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
