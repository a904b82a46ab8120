//! Many questions at once: which vectors does each of them have to be compared with?
//!
//! A vector v is s·n + e: whole numbers n from -127 to 127, a scale s, and what is left, e. The product of a question q and a
//! vector v differs from that of their whole numbers, times both scales, by at most |e(q)|·|v| + |q - e(q)|·|e(v)|
//! (Cauchy and Schwarz). Processors multiply bytes many times as fast as floats, and few vectors come that near to the best
//! ones, so only those are multiplied exactly. Nothing that belongs to the best is missed.

use std::borrow::Cow;
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
    whole: Vec<WholeVector>,
    /// Number of values of a question, padded.
    width: usize,
    /// By how much roundings of floats change a product, as a share of both lengths.
    rounding: f64,
}

/// A vector's scale as whole numbers, and two lengths.
#[derive(Debug, Clone, Copy)]
struct WholeVector {
    scale: f32,
    /// Length of the vector, or more.
    length: f64,
    /// Length of what is left, or more; infinite if the vector is.
    left: f64,
}

/// Memory that is used for one block of vectors after the other.
#[derive(Default)]
pub(super) struct Scratch {
    vectors: Floats,
    operand: Operand,
    products: Floats,
    whole: Vec<WholeVector>,
}

impl Questions {
    /// Prepares questions of `dim` values: those that a column multiplies its vectors with.
    pub(super) fn new<'q>(questions: impl ExactSizeIterator<Item = Cow<'q, [f32]>>, dim: usize) -> Option<Self> {
        // Whole numbers are exact in floats, too, but only as long as their sums are.
        let isa = Isa::best();
        let precision = if isa.is_fast_in(Precision::Int8) { Precision::Int8 } else { Precision::F32 };
        let kernel = Kernel::new(isa, precision)?;
        let width = dim.next_multiple_of(PAD);
        let count = questions.len();
        let mut values = vec![0.0; count * width];
        let places = values.chunks_exact_mut(width.max(1));
        let whole = questions.zip(places).map(|(question, to)| WholeVector::of(&question, to)).collect();
        let input = Input::unknown(width);
        let matrix = kernel.matrix(&values, &vec![0.0; count], &input);
        #[expect(clippy::cast_precision_loss, reason = "dimensions are few")]
        let rounding = 4.0 * f64::from(f32::EPSILON) * width as f64;
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
        whole.extend(rows.clone().zip(places).map(|(row, to)| WholeVector::of(&column.vector(row), to)));
        self.kernel.hold(vectors, self.width, rows.len(), &self.input, operand);
        self.kernel.multiply(operand, &self.matrix, Then::Store, products);
        let longest = whole.iter().map(|whole| whole.length).fold(0.0, f64::max);
        let left = whole.iter().map(|whole| whole.left).fold(0.0, f64::max);
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
    fn least(&self, question: &WholeVector, least: f64, longest: f64, left: f64) -> f32 {
        let differs = question.left * longest
            + (question.length + question.left) * left
            + self.rounding * (question.length + question.left) * (longest + left);
        // The sum of products of floats may be infinite even if the product is not.
        let is_known = question.length * longest + differs < f64::from(f32::MAX / 2.0) && least.is_finite();
        if question.scale == 0.0 || !is_known {
            return f32::NEG_INFINITY;
        }
        #[expect(clippy::cast_possible_truncation, reason = "rounding is part of what it may differ by")]
        let least = ((least - differs) / f64::from(question.scale)) as f32;
        least
    }
}

impl WholeVector {
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
        let (scale, inverse) = (largest / MOST, MOST / largest);
        let (mut squares, mut left) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        for (part, to) in parts().zip(to.as_chunks_mut::<LANES>().0) {
            for lane in 0..LANES {
                let value = part[lane] * inverse;
                to[lane] = (value + ROUNDS) - ROUNDS;
                squares[lane] += value * value;
                left[lane] += (value - to[lane]) * (value - to[lane]);
            }
        }
        let length = |squares: [f32; LANES]| f64::from(squares.iter().sum::<f32>().sqrt()) * f64::from(scale);
        let (length, left) = (length(squares), length(left));
        if scale >= f32::MIN_POSITIVE && inverse >= f32::MIN_POSITIVE && length.is_finite() {
            return Self { scale, length, left };
        }
        // Next to zero, a quotient is not exact; and a value may be infinite or none. There are fewer than 2³² values.
        to.fill(0.0);
        let is_finite = vector.iter().all(|value| value.is_finite());
        let length = if is_finite { f64::from(largest) * f64::from(u32::MAX).sqrt() } else { f64::INFINITY };
        Self { scale: 0.0, length, left: length }
    }
}

#[cfg(test)]
mod tests {
    use chunkmill_embed::{EmbeddingType, Representation};

    use super::*;

    /// Returns pseudo-random numbers from -1 to 1 (splitmix64).
    fn random(seed: u64) -> impl Iterator<Item = f32> {
        (1..).map(move |at: u64| {
            let mut x = (seed << 32 | at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            #[expect(clippy::cast_precision_loss, reason = "24 bits")]
            let unit = ((x ^ (x >> 31)) >> 40) as f32 / (1_u32 << 23) as f32;
            unit - 1.0
        })
    }

    /// Returns vectors of all kinds: random ones of any length, whole numbers, one value, zeros, and what no vector should be.
    fn vectors(dim: usize, seed: u64) -> Vec<Vec<f32>> {
        let sized = |size: f32, seed: u64| random(seed).take(dim).map(|x| x * size).collect::<Vec<f32>>();
        let lengths = [1.0, 0.05, 1e-3, 1e-20, 1e-24, 1e-37, 1e-42, 0.0, 1e5, 1e18];
        let mut all: Vec<Vec<f32>> = (seed..).zip(lengths).map(|(seed, size)| sized(size, seed)).collect();
        all.extend((seed + 20..seed + 30).map(|seed| sized(1.0, seed)));
        for whole in [3.0_f32, 4.0, 127.0] {
            let mut vector: Vec<f32> = sized(1.0, seed + 40).iter().map(|x| whole.copysign(*x) / 127.0).collect();
            all.push(vector.clone());
            vector[0] = 1.0;
            all.push(vector);
        }
        let one = |at: usize| (0..dim).map(|place| if place == at { 1.0 } else { 0.0 }).collect();
        all.extend([one(0), one(dim - 1)]);
        for odd in [f32::NAN, f32::INFINITY, f32::MAX] {
            let mut vector = sized(1.0, seed + 50);
            vector[dim / 2] = odd;
            all.push(vector);
        }
        all
    }

    #[test]
    fn no_pair_is_missed_whose_product_is_large_enough() {
        for dim in [1, 3, 64, 100, 384, 1536, 3000] {
            for stored in [EmbeddingType::F32, EmbeddingType::Int8, EmbeddingType::Bits] {
                let of = Representation { dim, stored };
                let column = Column::new(of, of.store(&vectors(dim, 1).concat()));
                let asked = vectors(dim, 200);
                let questions = Questions::new(asked.iter().map(|question| column.rounded(question)), dim);
                let questions = questions.expect("this processor has kernels");
                let rows = vectors(dim, 1).len();
                let prepared: Vec<_> = asked.iter().map(|question| column.prepare(question)).collect();
                let mut scratch = Scratch::default();
                for row in 0..rows {
                    let scores = prepared.iter().map(|question| f64::from(column.score(row, question)));
                    let scores: Vec<f64> = scores.collect();
                    let mut found = vec![false; asked.len()];
                    questions.near(&column, 0..rows, &scores, &mut scratch, |near, question| {
                        found[question] |= near == row;
                    });
                    for (question, found) in found.into_iter().enumerate() {
                        assert!(found || scores[question].is_nan(), "{stored:?} {dim}: {row} and {question}");
                    }
                }
            }
        }
    }

    #[test]
    fn few_pairs_are_near() {
        let dim = 384;
        let of = Representation { dim, stored: EmbeddingType::F32 };
        let column = Column::new(of, of.store(&random(7).take(ROWS * dim).collect::<Vec<f32>>()));
        let asked: Vec<Vec<f32>> = (300..350).map(|seed| random(seed).take(dim).collect()).collect();
        let questions = Questions::new(asked.iter().map(|question| column.rounded(question)), dim);
        let questions = questions.expect("this processor has kernels");
        let highest = asked.iter().map(|question| {
            let question = column.prepare(question);
            (0..ROWS).map(|row| f64::from(column.score(row, &question))).fold(f64::MIN, f64::max)
        });
        let highest: Vec<f64> = highest.collect();
        let mut near = 0;
        questions.near(&column, 0..ROWS, &highest, &mut Scratch::default(), |_, _| near += 1);
        assert!((50..150).contains(&near), "{near} of {} pairs", 50 * ROWS);
    }
}
