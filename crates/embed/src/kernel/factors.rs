//! The factors of a product in the layouts that kernels read, and what is done with the product.

use super::buffer::{Floats, WordBuffer};
use super::isa::{Isa, Precision};

/// Widths are padded to multiples of this: the size of four of the widest float vectors, or one of bytes.
pub const PAD: usize = 64;

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
    pub(super) of: (Isa, Precision),
    /// Panels of columns, each stored row by row.
    pub(super) words: WordBuffer,
    /// Number of words in a row of the other factor.
    pub(super) depth: usize,
    /// Number of outputs, padded.
    pub(super) columns: usize,
    /// Bias of each output.
    pub(super) bias: Floats,
    /// Number of words of the depth that are multiplied before the next ones. For bytes, those that share a scale.
    pub(super) chunk: usize,
    /// For bytes: the scale of each output's sum, for each block.
    pub(super) scales: Floats,
    /// For bytes: each output's sum for a row of zeros, for each block.
    pub(super) zeros: Vec<i32>,
    /// For bytes: panels of the weights of outliers, as bf16.
    pub(super) extra: WordBuffer,
}

/// Known properties of a linear layer's inputs, used to quantize them to bytes.
///
/// A few inputs of these networks are many times as large as the others. They would coarsen the scale of all
/// inputs, so they are stored separately (Dettmers et al. 2022). The others share one scale per block.
#[derive(Debug, Clone)]
pub struct Input {
    /// Positions of outliers, at most [`OUTLIERS`].
    pub(super) outliers: Vec<usize>,
    /// Lower bound of the values, if known; otherwise they are assumed to be symmetric about zero.
    pub(super) floor: Option<f32>,
    /// Number of inputs that share a scale; divides the padded width.
    pub(super) block: usize,
}

/// Lower limit for the greatest value of a block: the inverse of a smaller step might be infinite.
pub(super) const SMALLEST: f32 = 1e-30;

/// Maximum number of inputs that are stored separately from the bytes.
pub const OUTLIERS: usize = 8;

impl Input {
    /// Creates an input about which nothing is known.
    #[must_use]
    pub fn unknown(width: usize) -> Self {
        Self { outliers: Vec::new(), floor: None, block: width.next_multiple_of(PAD) }
    }

    /// Creates an input from observed values: `sizes` contains, for each position, how much it can add to an
    /// output. At most `largest` inputs share a scale, see [`Kernel::largest_block`](super::Kernel::largest_block).
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
    pub(super) fn words(&self) -> *const u32 {
        self.words.as_ptr()
    }
}

/// Rows of numbers in the layout that a kernel reads.
#[derive(Debug, Default)]
pub struct Operand {
    /// The kernel that it was prepared for.
    pub(super) of: Option<(Isa, Precision)>,
    /// [`Matrix::chunk`] of the matrices that it can be multiplied by.
    pub(super) chunk: usize,
    pub(super) words: WordBuffer,
    pub(super) extra: WordBuffer,
    pub(super) scales: Vec<f32>,
    pub(super) depth: usize,
    pub(super) rows: usize,
}

impl Operand {
    pub(super) fn words(&self) -> *const u32 {
        self.words.as_ptr()
    }

    pub(super) fn words_mut(&mut self) -> *mut u32 {
        self.words.as_mut_ptr()
    }
}
