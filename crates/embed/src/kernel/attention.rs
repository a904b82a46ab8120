//! Attention: what a head reads, and the parts in which it is computed.

use std::ops::Range;

use super::buffer::Floats;
use super::factors::PAD;

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
    pub(super) reach: usize,
    /// Biases of the scores by the distance between key and query, added before scaling.
    pub(super) bias: Option<&'a Distances>,
    /// Number of tokens, from the first on, whose result is computed.
    pub(super) queried: usize,
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
    pub(super) values: Floats,
    /// Index of distance 0.
    pub(super) center: usize,
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
    pub(super) fn longest(&self) -> usize {
        self.center + 1
    }
}

/// Attention of some queries of a head over some of its keys.
#[derive(Debug, Clone)]
pub(super) struct Part<'a> {
    pub(super) head: &'a Attention<'a>,
    pub(super) queries: Range<usize>,
    pub(super) keys: Range<usize>,
    /// Destination of the result of the head's first query.
    pub(super) out: *mut f32,
    pub(super) out_stride: usize,
    /// Softmax of each query of the head over the keys so far, unless `keys` contains all keys they attend to.
    pub(super) running: Option<*mut Running>,
}

/// The softmax of one query over the keys so far (Milakov and Gimelshein 2018): its greatest score, as an exponent
/// of two, and the sum of the weights relative to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    pub(super) greatest: f32,
    pub(super) total: f32,
}

impl Part<'_> {
    /// Returns whether it covers a whole text, every token attends to every other, and scores have no biases.
    pub(super) fn is_whole(&self) -> bool {
        self.running.is_none() && self.head.bias.is_none() && self.head.reach >= self.keys.len()
    }

    /// Returns the keys that a query attends to, counted from the first key of the part.
    pub(super) fn seen(&self, query: usize) -> Range<usize> {
        let Range { start, end } = self.keys;
        let low = query.saturating_sub(self.head.reach).clamp(start, end);
        let high = query.saturating_add(self.head.reach).saturating_add(1).clamp(low, end);
        low - start..high - start
    }

    /// Returns the keys that at least one of the queries attends to, extended to multiples of `align`.
    pub(super) fn span(&self, queries: Range<usize>, align: usize) -> Range<usize> {
        let low = self.seen(queries.start).start / align * align;
        low..self.seen(queries.end - 1).end.next_multiple_of(align)
    }

    /// Returns the biases of a query's scores from `key` on, which is counted from the first key of the part.
    pub(super) fn bias(&self, query: usize, key: usize) -> Option<*const f32> {
        let bias = self.head.bias?;
        Some(bias.values.as_ptr().wrapping_add(bias.center + self.keys.start + key - query))
    }
}
