//! Many questions at once: which vectors does each of them have to be compared with?
//!
//! A vector v is s·n + e: whole numbers n from -127 to 127, a scale s, and what is left, e. The product of a question q and a
//! vector v differs from that of their whole numbers, times both scales, by at most |e(q)|·|v| + |q - e(q)|·|e(v)|
//! (Cauchy and Schwarz). Processors multiply bytes many times as fast as floats, and few vectors come that near to the best
//! ones, so only those are multiplied exactly. Nothing that belongs to the best is missed.

use std::ops::Range;

use chunkmill_embed::kernel::{Floats, Input, Isa, Kernel, Matrix, Operand, PAD, Precision, Then};

use super::column::Column;

/// Number of vectors that are multiplied at a time: enough for every kernel, and their products stay in a core's cache.
pub(super) const ROWS: usize = 96;

/// The largest whole number.
const MOST: f32 = 127.0;

/// Number of values that are summed side by side; divides [`PAD`].
const LANES: usize = 16;

/// With 1.5 · 2²³ added, a float has no digits behind the point. Without the processor's own rounding, which not all have.
const ROUNDS: f32 = 12_582_912.0;

/// Several questions in whole numbers.
pub(super) struct Questions {
    kernel: Kernel,
    input: Input,
    /// A column for each question.
    matrix: Matrix,
    whole: Vec<Whole>,
    /// Number of values of a question, padded.
    width: usize,
    /// What each product may differ by from the sum of the exact one's parts, as a share of both lengths: roundings of floats.
    rounding: f32,
}

/// What is known about a vector as whole numbers.
#[derive(Debug, Clone, Copy)]
struct Whole {
    scale: f32,
    /// Length of the vector.
    length: f32,
    /// Length of what is left.
    left: f32,
}

/// Memory that is used for one block of vectors after the other.
#[derive(Default)]
pub(super) struct Scratch {
    vectors: Floats,
    operand: Operand,
    products: Floats,
    whole: Vec<Whole>,
}

impl Questions {
    /// Prepares questions of `dim` values.
    pub(super) fn new(questions: &[&[f32]], dim: usize) -> Option<Self> {
        // Whole numbers are exact in floats, too, but only as long as their sums are.
        let isa = Isa::best();
        let precision = if isa.is_fast_in(Precision::Int8) { Precision::Int8 } else { Precision::F32 };
        let kernel = Kernel::new(isa, precision)?;
        let width = dim.next_multiple_of(PAD);
        let mut values = vec![0.0; questions.len() * width];
        let places = values.chunks_exact_mut(width.max(1));
        let whole = questions.iter().zip(places).map(|(question, to)| Whole::of(&question[..dim], to)).collect();
        let input = Input::unknown(width);
        let matrix = kernel.matrix(&values, &vec![0.0; questions.len()], &input);
        #[expect(clippy::cast_precision_loss, reason = "dimensions are few")]
        let rounding = 4.0 * f32::EPSILON * width as f32;
        Some(Self { kernel, input, matrix, whole, width, rounding })
    }

    /// Passes each pair of one of these rows, at most [`ROWS`], and a question to `near` whose product may be at least as
    /// large as the question's number in `least`.
    pub(super) fn near(
        &self,
        column: &Column,
        rows: Range<usize>,
        least: &[f64],
        scratch: &mut Scratch,
        mut near: impl FnMut(usize, usize),
    ) {
        let Scratch { vectors, operand, products, whole } = scratch;
        let stride = self.whole.len().next_multiple_of(PAD);
        vectors.grow(ROWS * self.width);
        products.grow(ROWS * stride);
        whole.clear();
        let places = vectors.chunks_exact_mut(self.width);
        whole.extend(rows.clone().zip(places).map(|(row, to)| Whole::of(&column.vector(row), to)));
        self.kernel.hold(vectors, self.width, rows.len(), &self.input, operand);
        self.kernel.multiply(operand, &self.matrix, Then::Store, products);
        let longest = whole.iter().map(|whole| whole.length).fold(0.0, f32::max);
        let left = whole.iter().map(|whole| whole.left).fold(0.0, f32::max);
        // How large a product of whole numbers must be, times the scale of the vector.
        let least: Vec<f32> =
            self.whole.iter().zip(least).map(|(question, least)| self.least(question, *least, longest, left)).collect();
        for ((row, products), whole) in rows.zip(products.chunks_exact(stride)).zip(whole) {
            let is_near = |(product, least): (&f32, &f32)| product * whole.scale >= *least;
            for (group, (products, least)) in products.chunks(PAD).zip(least.chunks(PAD)).enumerate() {
                // The compiler compares several at a time if it need not stop at the first.
                if products.iter().zip(least).fold(false, |any, pair| any | is_near(pair)) {
                    let near_ones = products.iter().zip(least).enumerate().filter(|(_, pair)| is_near(*pair));
                    near_ones.for_each(|(at, _)| near(row, group * PAD + at));
                }
            }
        }
    }

    /// Returns how large the product of a question's whole numbers with a vector's must be, times the vector's scale, if the
    /// product of both is to be `least` and the vector is no longer than `longest`, with no more than `left` left.
    fn least(&self, question: &Whole, least: f64, longest: f32, left: f32) -> f32 {
        let differs = question.left * longest
            + (question.length + question.left) * left
            + self.rounding * (question.length + question.left) * (longest + left);
        #[expect(clippy::cast_possible_truncation, reason = "rounding is part of what it may differ by")]
        let least = (least - f64::from(differs)) as f32;
        match question.scale > 0.0 {
            true => least / question.scale,
            false if least < f32::INFINITY => f32::NEG_INFINITY,
            false => least,
        }
    }
}

impl Whole {
    /// Turns a vector into whole numbers, of which the largest is 127 or -127 unless all are zeros, followed by zeros.
    fn of(vector: &[f32], to: &mut [f32]) -> Self {
        let (parts, rest) = vector.as_chunks::<LANES>();
        let mut last = [0.0; LANES];
        last[..rest.len()].copy_from_slice(rest);
        let parts = || parts.iter().chain([&last]);
        let mut lanes = [0.0_f32; LANES];
        for part in parts() {
            lanes.iter_mut().zip(part).for_each(|(lane, value)| *lane = lane.max(value.abs()));
        }
        let largest = lanes.into_iter().fold(0.0, f32::max);
        let (mut scale, mut inverse) = (largest / MOST, MOST / largest);
        if scale < f32::MIN_POSITIVE || !inverse.is_finite() {
            // Next to zero, a quotient is not exact.
            (scale, inverse) = (0.0, 0.0);
        }
        let (mut squares, mut left) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        for (part, to) in parts().zip(to.as_chunks_mut::<LANES>().0) {
            for lane in 0..LANES {
                to[lane] = (part[lane] * inverse + ROUNDS) - ROUNDS;
                let rest = part[lane] - to[lane] * scale;
                squares[lane] += part[lane] * part[lane];
                left[lane] += rest * rest;
            }
        }
        let length = |squares: [f32; LANES]| squares.iter().sum::<f32>().sqrt();
        Self { scale, length: length(squares), left: length(left) }
    }
}
