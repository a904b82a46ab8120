//! The ends of the atoms of a text, one bit for every byte: half the size of a list of offsets, and the number of
//! ends in a range is available without counting.

use std::ops::Range;

/// Ascending byte offsets in a text; some may be equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// Bit `n` is set if something ends after byte `n`.
    bits: Vec<u64>,
    /// Number of bits set before each of these words; the last entry is the number of all bits set.
    before: Vec<u32>,
    /// All but the first of equal offsets.
    again: Vec<u32>,
}

impl Ends {
    /// Creates the ends of a text of `len` bytes from the lengths of its tokens in bytes.
    pub(super) fn of_lengths(len: usize, lengths: Vec<u32>) -> Self {
        let ends = lengths.into_iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        Self::new(len, ends)
    }

    /// Creates the ends of a text of `len` bytes. An offset of 0 is changed to 1, the end of the first byte.
    ///
    /// # Panics
    /// If an offset is larger than `len`.
    #[must_use]
    pub fn new(len: usize, ends: impl IntoIterator<Item = u32>) -> Self {
        let mut bits = vec![0; len.div_ceil(WORD)];
        let mut again = Vec::new();
        for end in ends {
            let end = end.max(1);
            let (word, bit) = place(end as usize - 1);
            if bits[word] & bit != 0 {
                again.push(end);
            }
            bits[word] |= bit;
        }
        Self { again, ..Self::of_bits(bits) }
    }

    /// Creates the ends from their bits.
    pub(super) fn of_bits(bits: Vec<u64>) -> Self {
        let mut sum = 0;
        let sums = bits.iter().map(|word| {
            sum += word.count_ones();
            sum
        });
        let before = std::iter::once(0).chain(sums).collect();
        Self { bits, before, again: Vec::new() }
    }

    /// Returns the number of ends.
    pub fn len(&self) -> usize {
        self.before.last().map_or(0, |&all| all as usize) + self.again.len()
    }

    /// Returns whether there are no ends.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all ends in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.after(0)
    }

    /// Returns how many ends are after the start of a range and at or before its end.
    pub(super) fn within(&self, range: &Range<usize>) -> usize {
        self.until(range.end) - self.until(range.start)
    }

    /// Returns whether something ends just before `byte`.
    pub(super) fn is_end(&self, byte: usize) -> bool {
        byte.checked_sub(1).is_some_and(|last| {
            let (word, bit) = place(last);
            self.bits.get(word).is_some_and(|bits| bits & bit != 0)
        })
    }

    /// Returns the ends after `byte`.
    pub(super) fn after(&self, byte: usize) -> impl Iterator<Item = usize> {
        let first = byte / WORD;
        let seen = (1 << (byte % WORD)) - 1;
        let words = (first..).zip(self.bits.get(first..).unwrap_or_default());
        let ends = words.flat_map(move |(at, &word)| {
            let mut left = if at == first { word & !seen } else { word };
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                (left != 0).then(|| {
                    left &= left - 1;
                    at * WORD + bit + 1
                })
            })
        });
        let mut again = self.again[self.again_until(byte)..].iter().peekable();
        ends.flat_map(move |end| {
            let same = std::iter::from_fn(|| again.next_if(|&&again| again as usize == end)).count();
            std::iter::repeat_n(end, 1 + same)
        })
    }

    /// Returns the `count`th end after `byte`, or an offset at or past the end of the text if there are fewer.
    /// Equal ends count as one.
    pub(super) fn nth_after(&self, byte: usize, count: usize) -> usize {
        let (word, bit) = place(byte);
        let inside = self.bits.get(word).map_or(0, |bits| (bits & (bit - 1)).count_ones());
        let before = self.before.get(word).map_or(0, |before| before + inside);
        let nth = u32::try_from(count).unwrap_or(u32::MAX).saturating_add(before);
        let word = self.before.partition_point(|&before| before < nth);
        let Some(word) = word.checked_sub(1) else { return byte };
        let Some(&bits) = self.bits.get(word) else { return word * WORD };
        let left = (1..nth - self.before[word]).fold(bits, |left, _| left & left.wrapping_sub(1));
        word * WORD + left.trailing_zeros() as usize + 1
    }

    /// Returns how many ends are at or before `byte`.
    fn until(&self, byte: usize) -> usize {
        let (word, bit) = place(byte);
        let inside = self.bits.get(word).map_or(0, |bits| (bits & (bit - 1)).count_ones());
        let before = self.before.get(word).or(self.before.last()).copied().unwrap_or(0);
        (before + inside) as usize + self.again_until(byte)
    }

    fn again_until(&self, byte: usize) -> usize {
        self.again.partition_point(|&again| again as usize <= byte)
    }
}

/// Bits in a word.
const WORD: usize = u64::BITS as usize;

/// Returns the word of a bit, and its mask in the word.
fn place(bit: usize) -> (usize, u64) {
    (bit / WORD, 1 << (bit % WORD))
}
