//! The vectors of all chunks in one number type, and their dot products with a question.
//!
//! The values of a column are in one block of memory, row after row; bits lie as a [`BitLayout`] says. Products with floats are
//! summed in a fixed order, and those with bytes and bits in integers, so the score of a pair is the same on every machine and
//! any number of threads.

use std::borrow::Cow;

use arrow::buffer::{Buffer, ScalarBuffer};
use chunkmill_embed::kernel::{BitLayout, BitQuestion, Scan};
use chunkmill_embed::{EmbeddingType, INT8_ONE, Representation, StoredVectors};

use super::cache::numbers;

/// Number of rows whose sums are computed together: a few blocks of bits.
const ROWS: usize = 4 * BitLayout::ROWS;

/// The vectors of all chunks in one number type.
#[derive(Debug)]
pub(super) struct Column {
    dim: usize,
    values: Values,
    scan: Scan,
}

#[derive(Debug)]
enum Values {
    F32(ScalarBuffer<f32>),
    Int8(ScalarBuffer<i8>),
    /// Blocks of bits, and which rows are zeros instead, if some are.
    Bits(ScalarBuffer<u8>, Vec<bool>),
}

/// A question, prepared for a column.
pub(super) enum Prepared<'q> {
    F32(&'q [f32]),
    /// Whole numbers; `scale` is what a product with a byte counts.
    Int8 {
        values: Vec<i16>,
        scale: f32,
    },
    /// Whole numbers; `scale` is what one of them counts.
    Bits {
        question: BitQuestion,
        scale: f32,
    },
}

impl Column {
    /// Creates a column of vectors that are stored as `of` says.
    pub(super) fn new(of: Representation, stored: StoredVectors) -> Self {
        let values = match stored {
            StoredVectors::F32(values) => Values::F32(values.into()),
            half @ StoredVectors::F16(_) => Values::F32(half.floats(of.dim).into()),
            StoredVectors::Int8(values) => Values::Int8(values.into()),
            StoredVectors::Bits(values) => Values::Bits(BitLayout::new(of.dim).blocks(&values).into(), Vec::new()),
        };
        Self { dim: of.dim, values, scan: Scan::best() }
    }

    /// Creates a column of `rows` vectors from [`bytes`](Self::bytes) of one that was stored as `of` says; `None` if they have
    /// another length.
    pub(super) fn of_bytes(of: Representation, rows: usize, bytes: Buffer) -> Option<Self> {
        let values = match of.stored {
            EmbeddingType::F32 | EmbeddingType::List | EmbeddingType::F16 => Values::F32(numbers(bytes)?),
            EmbeddingType::Int8 => Values::Int8(numbers(bytes)?),
            EmbeddingType::Bits => Values::Bits(numbers(bytes)?, Vec::new()),
        };
        let has_all = match &values {
            Values::F32(values) => values.len() == rows * of.width(),
            Values::Int8(values) => values.len() == rows * of.width(),
            Values::Bits(values, _) => values.len() == BitLayout::new(of.dim).bytes(rows),
        };
        has_all.then(|| Self { dim: of.dim, values, scan: Scan::best() })
    }

    /// Returns its values as they are in memory. They do not say which rows are zeros instead of bits.
    pub(super) fn bytes(&self) -> Buffer {
        match &self.values {
            Values::F32(values) => values.inner().clone(),
            Values::Int8(values) => values.inner().clone(),
            Values::Bits(values, _) => values.inner().clone(),
        }
    }

    /// Takes the vectors of some rows for zeros, which bits cannot say.
    pub(super) fn mark_zeros(&mut self, zeros: &[bool]) {
        if let Values::Bits(_, are_zeros) = &mut self.values {
            *are_zeros = if zeros.contains(&true) { zeros.to_vec() } else { Vec::new() };
        }
    }

    /// Returns whether bits are stored.
    pub(super) fn is_bits(&self) -> bool {
        matches!(self.values, Values::Bits(..))
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the number of rows, a multiple of [`ROWS`], in about as many bytes.
    pub(super) fn rows_in(&self, bytes: usize) -> usize {
        let width = match &self.values {
            Values::F32(_) => self.dim * size_of::<f32>(),
            Values::Int8(_) => self.dim,
            Values::Bits(..) => self.dim.div_ceil(8),
        };
        (bytes / width.max(1)).next_multiple_of(ROWS).max(ROWS)
    }

    /// Returns the vector of a row.
    pub(super) fn vector(&self, row: usize) -> Cow<'_, [f32]> {
        let decoded = |stored: StoredVectors| Cow::Owned(stored.floats(self.dim));
        let place = row * self.dim..(row + 1) * self.dim;
        match &self.values {
            Values::F32(values) => Cow::Borrowed(&values[place]),
            Values::Int8(values) => decoded(StoredVectors::Int8(values[place].to_vec())),
            Values::Bits(_, zeros) if zeros.get(row) == Some(&true) => Cow::Owned(vec![0.0; self.dim]),
            Values::Bits(values, _) => decoded(StoredVectors::Bits(BitLayout::new(self.dim).row(values, row))),
        }
    }

    /// Returns the dot product of two vectors of the same length.
    pub(super) fn dot(&self, a: &[f32], b: &[f32]) -> f32 {
        let mut sum = [0.0];
        self.scan.floats(a, b, &mut sum);
        sum[0]
    }

    /// Returns the question that the vectors are multiplied with: bytes and bits take one of whole numbers.
    pub(super) fn rounded<'q>(&self, question: &'q [f32]) -> Cow<'q, [f32]> {
        let question = &question[..self.dim];
        let Some(most) = self.most() else { return Cow::Borrowed(question) };
        let (values, scale) = whole(question, most);
        Cow::Owned(values.into_iter().map(|value| f32::from(value) * scale).collect())
    }

    /// Returns the largest whole number of a question; `None` if it stays in floats.
    #[expect(clippy::cast_precision_loss, reason = "dimensions are few")]
    fn most(&self) -> Option<f32> {
        match self.values {
            Values::F32(_) => None,
            // The sum of all products fits in 32 bits.
            Values::Int8(_) => Some((i32::MAX as f32 / 2.0 / (INT8_ONE * self.dim as f32)).min(f32::from(i16::MAX))),
            Values::Bits(..) => Some(INT8_ONE),
        }
    }

    /// Prepares a question, which has at least as many values as the vectors; further ones do not count.
    pub(super) fn prepare<'q>(&self, question: &'q [f32]) -> Prepared<'q> {
        let question = &question[..self.dim];
        let Some(most) = self.most() else { return Prepared::F32(question) };
        let (values, scale) = whole(question, most);
        if !self.is_bits() {
            return Prepared::Int8 { values, scale: scale / INT8_ONE };
        }
        #[expect(clippy::cast_precision_loss, reason = "dimensions are few")]
        let size = 1.0 / (self.dim as f32).sqrt();
        #[expect(clippy::cast_possible_truncation, reason = "at most 127")]
        let numbers: Vec<i8> = values.into_iter().map(|value| value as i8).collect();
        Prepared::Bits { question: BitQuestion::new(&numbers), scale: scale * size }
    }

    /// Returns the score of a row. `question` was prepared for this column.
    pub(super) fn score(&self, row: usize, question: &Prepared<'_>) -> f32 {
        let mut score = [0.0];
        self.scores(row, question, &mut score);
        score[0]
    }

    /// Computes the scores of rows from `first` on, one for each place. `question` was prepared for this column.
    pub(super) fn scores(&self, first: usize, question: &Prepared<'_>, scores: &mut [f32]) {
        let place = first * self.dim..(first + scores.len()) * self.dim;
        match (&self.values, question) {
            (Values::F32(values), Prepared::F32(question)) => self.scan.floats(&values[place], question, scores),
            (Values::Int8(values), Prepared::Int8 { values: question, scale }) => {
                let mut sums = [0; ROWS];
                let vectors = values[place].chunks((self.dim * ROWS).max(1));
                for (vectors, scores) in vectors.zip(scores.chunks_mut(ROWS)) {
                    self.scan.bytes(vectors, question, &mut sums[..scores.len()]);
                    scaled(&sums, *scale, scores);
                }
            }
            (Values::Bits(values, zeros), Prepared::Bits { question, scale }) => {
                let block = BitLayout::new(self.dim).block();
                let mut sums = [0; ROWS];
                let (mut row, mut rest) = (first, &mut *scores);
                while !rest.is_empty() {
                    let (number, skipped) = (row / BitLayout::ROWS, row % BitLayout::ROWS);
                    let count = (ROWS - skipped).min(rest.len());
                    let blocks = (skipped + count).div_ceil(BitLayout::ROWS);
                    let sums = &mut sums[..blocks * BitLayout::ROWS];
                    self.scan.bits(&values[number * block..(number + blocks) * block], question, sums);
                    let (here, behind) = rest.split_at_mut(count);
                    scaled(&sums[skipped..], *scale, here);
                    (row, rest) = (row + count, behind);
                }
                let zeros = zeros.get(first..).unwrap_or_default();
                scores.iter_mut().zip(zeros).filter(|(_, is_zero)| **is_zero).for_each(|(score, _)| *score = 0.0);
            }
            _ => debug_assert!(false, "the question was prepared for another column"),
        }
    }
}

/// Returns values as whole numbers up to `most`, and what 1 stands for.
fn whole(values: &[f32], most: f32) -> (Vec<i16>, f32) {
    let most = most.floor();
    let scale = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs())) / most;
    // Next to zero, a quotient is not exact.
    #[expect(clippy::cast_possible_truncation, reason = "at most `most`")]
    let round = |value: &f32| {
        if scale >= f32::MIN_POSITIVE { (value / scale).round_ties_even().clamp(-most, most) as i16 } else { 0 }
    };
    (values.iter().map(round).collect(), scale)
}

/// Writes sums as scores, each one of which counts `scale`.
fn scaled(sums: &[i32], scale: f32, scores: &mut [f32]) {
    #[expect(clippy::cast_precision_loss, reason = "a score has fewer digits")]
    scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = *sum as f32 * scale);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_many_rows_are_those_of_each() {
        let (dim, rows) = (100, 3 * ROWS + 17);
        let values = |seed: u16, len: usize| {
            (0..201_u16).cycle().map(move |at| f32::from((at * 37 + seed * 11) % 201) / 100.0 - 1.0).take(len)
        };
        let question: Vec<f32> = values(5, dim).collect();
        for stored in [EmbeddingType::F32, EmbeddingType::Int8, EmbeddingType::Bits] {
            let of = Representation { dim, stored };
            let mut column = Column::new(of, of.store(&values(1, dim * rows).collect::<Vec<f32>>()));
            let zeros: Vec<bool> = (0..rows).map(|row| row % 50 == 9).collect();
            column.mark_zeros(&zeros);
            let question = column.prepare(&question);
            let each: Vec<f32> = (0..rows).map(|row| column.score(row, &question)).collect();
            let copy = Column::of_bytes(of, rows, column.bytes()).expect("as many rows");
            assert!(Column::of_bytes(of, rows + BitLayout::ROWS, column.bytes()).is_none());
            assert_eq!(copy.vector(rows - 1), column.vector(rows - 1));
            for first in [0, 1, 31, 32, 127, 128, 200, rows - 1] {
                for len in [0, 1, 2, 40, 129, 300].map(|len| len.min(rows - first)) {
                    let mut scores = vec![f32::NAN; len];
                    column.scores(first, &question, &mut scores);
                    assert_eq!(scores, each[first..first + len], "{stored:?} {first} {len}");
                }
            }
        }
    }
}
