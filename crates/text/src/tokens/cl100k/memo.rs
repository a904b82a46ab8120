//! A cache of the token ends of pieces seen before, which make up most of a text.

use crate::document::padded;

/// Number of slots that a piece may be in at each of its two places. No search takes longer, regardless of
/// what the table contains.
const PROBES: usize = 4;

/// The tables of a thread.
pub(super) struct Memo {
    short: Short,
    long: Long,
    longest: Longest,
}

type Short = Table<2, { 1 << 16 }>;
type Long = Table<4, { 1 << 13 }>;
type Longest = Table<8, { 1 << 10 }>;

impl Memo {
    /// Pieces longer than this many bytes are not remembered.
    pub(super) const LONGEST: usize = Longest::LONGEST;

    pub(super) fn new() -> Self {
        Self { short: Table::new(), long: Table::new(), longest: Table::new() }
    }

    /// Returns the token ends in the `len` bytes of a text from `start` on, at most [`LONGEST`](Self::LONGEST): bit
    /// `n` is set if a token other than the last ends after byte `n` of them. `find` computes them for a new piece.
    #[inline]
    pub(super) fn get(&mut self, text: &[u8], start: usize, len: usize, find: impl FnOnce(&[u8]) -> u64) -> u64 {
        match len {
            len if len <= Short::LONGEST => self.short.get(text, start, len, find),
            len if len <= Long::LONGEST => self.long.get(text, start, len, find),
            _ => self.longest.get(text, start, len, find),
        }
    }
}

/// Pieces that fit in `W` words together with their length, which is the last byte. `N`, the number of slots, is a
/// power of two.
struct Table<const W: usize, const N: usize> {
    slots: Box<[Slot<W>; N]>,
}

#[derive(Clone, Copy)]
struct Slot<const W: usize> {
    /// All zeros if the slot is free.
    key: [u64; W],
    inner_ends: u64,
}

impl<const W: usize, const N: usize> Table<W, N> {
    const LONGEST: usize = 8 * W - 1;

    fn new() -> Self {
        let slots = vec![Slot { key: [0; W], inner_ends: 0 }; N].into_boxed_slice();
        #[expect(clippy::expect_used, reason = "it was made with this length")]
        let slots = slots.try_into().ok().expect("N slots");
        Self { slots }
    }

    #[inline]
    fn get(&mut self, text: &[u8], start: usize, len: usize, find: impl FnOnce(&[u8]) -> u64) -> u64 {
        let key = key(text, start, len);
        let hash = hash(&key);
        let slot = &self.slots[place::<N>(hash)];
        if slot.key == key {
            slot.inner_ends
        } else {
            self.get_elsewhere(key, hash, || find(&text[start..start + len]))
        }
    }

    /// Does the same for a piece that is not in its first slot, because another piece is there or because it is
    /// new.
    #[cold]
    fn get_elsewhere(&mut self, key: [u64; W], hash: u64, find: impl FnOnce() -> u64) -> u64 {
        let (home, other) = (place::<N>(hash), place::<N>(hash << N.ilog2()));
        for at in (home..home + PROBES).chain(other..other + PROBES).map(|at| at % N) {
            let slot = &mut self.slots[at];
            if slot.key == key {
                let inner_ends = slot.inner_ends;
                // If there are many more pieces than slots, those seen repeatedly end up in their first slot.
                self.slots.swap(home, at);
                return inner_ends;
            }
            if slot.key[W - 1] == 0 {
                *slot = Slot { key, inner_ends: find() };
                return slot.inner_ends;
            }
        }
        let inner_ends = find();
        self.slots[home] = Slot { key, inner_ends };
        inner_ends
    }
}

/// Returns the first words of a text, if it is long enough.
#[inline]
fn words<const W: usize>(text: &[u8]) -> Option<[u64; W]> {
    text.as_chunks().0.first_chunk().map(|words| words.map(u64::from_le_bytes))
}

/// Returns the bytes of a piece, with its length in the last one.
#[inline]
fn key<const W: usize>(text: &[u8], start: usize, len: usize) -> [u64; W] {
    // Whole words are read if the text is long enough, which is nearly always so.
    let mut key: [u64; W] =
        words(&text[start..]).or_else(|| words(&padded(&text[start..start + len]))).unwrap_or([0; W]);
    let mask = words::<W>(&MASK[ONES - len..]).unwrap_or([0; W]);
    for (word, mask) in key.iter_mut().zip(mask) {
        *word &= mask;
    }
    key[W - 1] |= (len as u64) << 56;
    key
}

/// Number of bytes in the longest key.
const ONES: usize = Memo::LONGEST + 1;

/// Bytes of ones, then as many bytes of zeros. A slice of it is a mask of the first bytes, for any number of them.
const MASK: [u8; 2 * ONES] = {
    let mut mask = [0; 2 * ONES];
    let mut at = 0;
    while at < ONES {
        mask[at] = u8::MAX;
        at += 1;
    }
    mask
};

/// Returns the hash of a key. The high bits are the good ones.
#[inline]
fn hash<const W: usize>(key: &[u64; W]) -> u64 {
    // The golden ratio, as in Knuth's multiplicative hashing.
    key.iter().fold(0_u64, |hash, word| (hash.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Returns the slot of a hash among `N` slots.
#[inline]
fn place<const N: usize>(hash: u64) -> usize {
    usize::try_from(hash >> (u64::BITS - N.ilog2())).unwrap_or(0)
}
