//! Converts byte offsets to characters and lines, exactly and in near-constant time.

use std::ops::Range;

/// Bytes between two stored character counts.
const STRIDE: usize = 1024;

/// Number of bytes processed together.
const WORD: usize = 64;

/// Bytes per line assumed when reserving space, fewer than the average in most documents, and the maximum number
/// of lines to reserve.
const LINE: usize = 24;
const MAX_RESERVED: usize = 4096;

/// The positions of the lines and characters of one text.
///
/// A line ends with a line feed, with a carriage return alone, or with the two together, as in `CommonMark`. A
/// character is a Unicode scalar value. A byte order mark at the start counts as three bytes and one character.
/// Memory: 4 bytes per line plus, unless the text is ASCII, an eighth of the text.
#[derive(Debug, Clone)]
pub struct Positions {
    /// The last byte of each end of a line.
    line_ends: Vec<u32>,
    /// Characters before every multiple of [`STRIDE`]; empty if the text is ASCII.
    chars_before: Vec<u32>,
    /// One bit per byte, set if the byte does not start a character; empty if the text is ASCII.
    continuation_bits: Vec<u64>,
    len: usize,
}

impl Positions {
    /// Scans a text of at most [`MAX_BYTES`](super::MAX_BYTES) bytes once.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut line_ends = Vec::with_capacity((text.len() / LINE).min(MAX_RESERVED));
        let bytes = text.as_bytes();
        let returns = memchr::memchr(b'\r', bytes).is_some();
        let (words, rest) = bytes.as_chunks::<WORD>();
        let last = padded(rest);
        for (word, start) in words.iter().chain([&last]).zip((0..).step_by(WORD)) {
            let mut ends = bits(word, |byte| byte == b'\n');
            if returns {
                // A carriage return before a line feed is not an end by itself.
                let next = bytes.get(start as usize + WORD) == Some(&b'\n');
                let before_feed = ends >> 1 | u64::from(next) << (WORD - 1);
                ends |= bits(word, |byte| byte == b'\r') & !before_feed;
            }
            while ends != 0 {
                line_ends.push(start + ends.trailing_zeros());
                ends &= ends - 1;
            }
        }
        let (chars_before, continuation_bits) = (Vec::new(), Vec::new());
        let mut positions = Self { line_ends, chars_before, continuation_bits, len: text.len() };
        if !text.is_ascii() {
            positions.count_chars(text.as_bytes());
        }
        positions
    }

    /// Records the positions of the characters of a text that is not ASCII.
    fn count_chars(&mut self, bytes: &[u8]) {
        let mut chars = 0;
        for stride in bytes.chunks(STRIDE) {
            self.chars_before.push(offset(chars));
            chars += stride.len();
            for bytes in stride.chunks(WORD) {
                let continuations = bits(&padded(bytes), |byte| byte & 0b1100_0000 == 0b1000_0000);
                chars -= continuations.count_ones() as usize;
                self.continuation_bits.push(continuations);
            }
        }
    }

    /// Returns whether the text is ASCII.
    pub(super) fn is_ascii(&self) -> bool {
        self.continuation_bits.is_empty()
    }

    /// Returns the number of characters before a byte offset, which must be a character boundary.
    pub fn char_at(&self, byte: usize) -> usize {
        if self.continuation_bits.is_empty() {
            return byte;
        }
        let stride = (byte / STRIDE).min(self.chars_before.len() - 1);
        let first = stride * STRIDE / 64;
        let last = byte / 64;
        let mut continuations: usize =
            self.continuation_bits[first..last].iter().map(|word| word.count_ones() as usize).sum();
        if !byte.is_multiple_of(64) {
            let mask = (1u64 << (byte % 64)) - 1;
            continuations += (self.continuation_bits[last] & mask).count_ones() as usize;
        }
        self.chars_before[stride] as usize + (byte - stride * STRIDE) - continuations
    }

    /// Returns the 1-based number of the line that contains the byte at this offset.
    pub fn line_at(&self, byte: usize) -> usize {
        self.line_ends.partition_point(|&end| (end as usize) < byte) + 1
    }

    /// Returns the first and last line that a range touches, 1-based and inclusive.
    pub fn lines_of(&self, range: &Range<usize>) -> (usize, usize) {
        let first = self.line_at(range.start);
        (first, if range.is_empty() { first } else { self.line_at(range.end - 1) })
    }

    /// Returns the range of a line by its 1-based number, with its end, or `None` if the text has fewer.
    pub fn line(&self, number: usize) -> Option<Range<usize>> {
        let end_of = |line: usize| self.line_ends.get(line).map_or(self.len, |&end| end as usize + 1);
        let before = number.checked_sub(1)?;
        let start = if before == 0 { 0 } else { *self.line_ends.get(before - 1)? as usize + 1 };
        (start < self.len).then(|| start..end_of(before))
    }

    /// Returns the number of lines in a range: the ends of lines in it, plus one if it does not end with one.
    pub(crate) fn lines_in(&self, range: Range<usize>) -> usize {
        let before = |byte: usize| self.line_ends.partition_point(|&end| (end as usize) < byte);
        if range.is_empty() {
            return 0;
        }
        let ends = before(range.end) - before(range.start);
        let ended = self.line_ends.binary_search(&offset(range.end - 1)).is_ok();
        ends + usize::from(!ended)
    }

    /// Returns the byte offset just after each line of a range.
    pub(crate) fn line_ends(&self, range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let first = self.line_ends.partition_point(|&end| (end as usize) < range.start);
        let ends = self.line_ends[first..].iter().map(|&end| end as usize + 1);
        let inside = ends.take_while(move |&end| end <= range.end);
        let open = !range.is_empty() && self.line_ends.binary_search(&offset(range.end - 1)).is_err();
        inside.chain(open.then_some(range.end))
    }

    /// Returns the length of the text in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Returns up to 64 bytes, padded with zeros.
pub(crate) fn padded(bytes: &[u8]) -> [u8; WORD] {
    let mut word = [0; WORD];
    word[..bytes.len()].copy_from_slice(bytes);
    word
}

/// Returns one bit for each of 64 bytes. The compiler compares many at a time.
#[inline]
fn bits(word: &[u8; WORD], is: impl Fn(u8) -> bool) -> u64 {
    let mut marks = [0; WORD];
    marks.iter_mut().zip(word).for_each(|(mark, byte)| *mark = u8::from(is(*byte)));
    let eights = marks.as_chunks::<8>().0.iter().enumerate();
    eights.fold(0, |bits, (number, eight)| {
        // The highest byte of the product contains the lowest bit of each byte, side by side.
        let side_by_side = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits | side_by_side << (8 * number)
    })
}

/// Converts an offset. Documents are at most [`super::MAX_BYTES`] long.
#[expect(clippy::cast_possible_truncation, reason = "the corpus refuses longer documents")]
fn offset(at: usize) -> u32 {
    at as u32
}
