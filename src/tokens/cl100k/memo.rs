//! Where tokens end in the pieces met before: most of a text is pieces met before.

use std::ops::Range;

/// How many slots a piece may be in. None is looked for longer, whatever was put in before.
const PROBES: usize = 4;

/// The tables of a thread.
pub(super) struct Memo {
    short: Table<2>,
    long: Table<4>,
}

impl Memo {
    /// Pieces longer than this many bytes are not remembered.
    pub(super) const LONGEST: usize = Table::<4>::LONGEST;

    pub(super) fn new() -> Self {
        Self { short: Table::new(16), long: Table::new(12) }
    }

    /// The tokens of `text[piece]`, of at most [`LONGEST`](Self::LONGEST) bytes: bit `n` says that one but
    /// the last ends after byte `n` of it. `find` finds those of a piece that is new.
    #[inline]
    pub(super) fn get(&mut self, text: &[u8], piece: Range<usize>, find: impl FnOnce(&[u8]) -> u32) -> u32 {
        if piece.len() <= Table::<2>::LONGEST {
            self.short.get(text, piece, find)
        } else {
            self.long.get(text, piece, find)
        }
    }
}

/// Pieces that fit `W` words with their length, which is the last byte.
struct Table<const W: usize> {
    slots: Vec<Slot<W>>,
    bits: u32,
}

#[derive(Clone, Copy)]
struct Slot<const W: usize> {
    /// All zero while it is free.
    key: [u64; W],
    inner_ends: u32,
}

impl<const W: usize> Table<W> {
    const LONGEST: usize = 8 * W - 1;

    fn new(bits: u32) -> Self {
        Self { slots: vec![Slot { key: [0; W], inner_ends: 0 }; (1 << bits) + PROBES], bits }
    }

    #[inline]
    fn get(&mut self, text: &[u8], piece: Range<usize>, find: impl FnOnce(&[u8]) -> u32) -> u32 {
        let key = key(text, &piece);
        let home = usize::try_from(hash(&key) >> (u64::BITS - self.bits)).unwrap_or(0);
        let slots = &mut self.slots[home..][..PROBES];
        let mut free = 0;
        for (at, slot) in slots.iter().enumerate() {
            if slot.key == key {
                return slot.inner_ends;
            }
            if slot.key[W - 1] == 0 {
                free = at;
                break;
            }
        }
        let inner_ends = find(&text[piece]);
        slots[free] = Slot { key, inner_ends };
        inner_ends
    }
}

/// The bytes of a piece, and its length in the last one.
#[inline]
fn key<const W: usize>(text: &[u8], piece: &Range<usize>) -> [u64; W] {
    let mut key = [0; W];
    // Whole words are read where the text is long enough, which is nearly everywhere.
    let words = text[piece.start..].as_chunks::<8>().0;
    let mut left = piece.len();
    if let Some(words) = words.first_chunk::<W>() {
        for (word, bytes) in key.iter_mut().zip(words) {
            *word = u64::from_le_bytes(*bytes) & LOW[left.min(8)];
            left = left.saturating_sub(8);
        }
    } else {
        for (word, bytes) in key.iter_mut().zip(text[piece.clone()].chunks(8)) {
            *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
    }
    key[W - 1] |= (piece.len() as u64) << 56;
    key
}

/// Masks of the first bytes of a word.
const LOW: [u64; 9] = {
    let mut masks = [u64::MAX; 9];
    let mut bytes = 0;
    while bytes < 8 {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

/// The high bits are the good ones.
#[inline]
fn hash<const W: usize>(key: &[u64; W]) -> u64 {
    // The golden ratio, as Knuth's multiplicative hashing has it.
    key.iter().fold(0_u64, |hash, word| (hash.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
