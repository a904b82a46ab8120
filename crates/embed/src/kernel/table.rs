//! The table of functions that make up the kernels of an instruction set.

use super::attention::Part;
use super::buffer::Scratch;
use super::factors::{Input, Matrix, Operand, Then};
use super::isa::{Isa, Precision};

pub(super) type Multiply = unsafe fn(&Operand, &Matrix, Then, *mut f32, usize);
pub(super) type Hold = unsafe fn(*mut f32, usize, &Input, &mut Operand);
pub(super) type LayerNorm = unsafe fn(&mut [f32], usize, usize, *const f32, *const f32, f32);
pub(super) type Attend = unsafe fn(&Part<'_>, &mut Scratch);
pub(super) type Rotate = unsafe fn(*mut f32, usize, *const f32, *const f32);

/// The kernels of one instruction set and precision.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    pub(super) isa: Isa,
    pub(super) precision: Precision,
    /// Number of columns of a matrix that are stored together.
    pub(super) panel: usize,
    /// Number of bf16 values in a word.
    pub(super) pair: usize,
    /// Number of words of the outliers' weights in a column, including zeros after the [`OUTLIERS`](super::OUTLIERS).
    pub(super) extra: usize,
    pub(super) multiply: Multiply,
    pub(super) hold: Hold,
    pub(super) layer_norm: LayerNorm,
    pub(super) attend: Attend,
    pub(super) rotate: Rotate,
}
