//! The tokens of short pieces, by byte pair encoding as it is defined: of all neighbours that together are a token,
//! the pair of the lowest rank is merged, until no pair is left.
//!
//! The library for long pieces needs tables that take a fifth of a second of processor time to build, more than
//! cutting five megabytes takes. This one looks up tokens in a table that the build script has made, and needs no
//! time to start. It takes a time that grows with the square of a piece's length, which does not matter up to
//! [`LONGEST`] bytes.

use super::layout::{PADDING, RANK_BITS, SLOTS, hash, place};

/// The longest piece that is split here. The longest pieces take 60 ns for each byte, about three times as long as
/// prose does altogether.
pub(super) const LONGEST: usize = 2048;

/// The table, in the layout of [`layout`](super::layout).
static TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cl100k.table"));

/// The rank of what is not a token.
const NONE: u32 = u32::MAX;

/// Buffers for the parts of a piece.
#[derive(Default)]
pub(super) struct Parts {
    /// The piece, followed by zeros.
    padded: Vec<u8>,
    /// Where the parts start.
    starts: Vec<u32>,
    /// The rank of each part together with the next one.
    ranks: Vec<u32>,
}

impl Parts {
    /// Returns where the tokens of a piece start, of at most [`LONGEST`] bytes.
    pub(super) fn of(&mut self, piece: &[u8]) -> &[u32] {
        let Self { padded, starts, ranks } = self;
        padded.clear();
        padded.extend_from_slice(piece);
        padded.extend_from_slice(&[0; PADDING]);
        starts.clear();
        if piece.len() < 2 || rank(padded, 0, piece.len()) != NONE {
            starts.push(0);
            return starts;
        }
        let len = u32::try_from(piece.len()).unwrap_or(u32::MAX);
        starts.extend(0..=len);
        let together = |starts: &[u32], from: usize| match starts.get(from + 2) {
            Some(&end) => rank(padded, starts[from] as usize, end as usize),
            None => NONE,
        };
        ranks.clear();
        ranks.extend((0..piece.len()).map(|from| together(starts, from)));
        loop {
            let lowest = ranks.iter().copied().min().unwrap_or(NONE);
            if lowest == NONE {
                break;
            }
            let at = ranks.iter().position(|&rank| rank == lowest).unwrap_or(0);
            starts.remove(at + 1);
            ranks.remove(at + 1);
            ranks[at] = together(starts, at);
            if let Some(before) = at.checked_sub(1) {
                ranks[before] = together(starts, before);
            }
        }
        starts.pop();
        starts
    }
}

/// Returns the rank of the token with the bytes `start..end`, or [`NONE`].
#[inline]
fn rank(padded: &[u8], start: usize, end: usize) -> u32 {
    let (mut slot, part) = place(hash(padded, start, end));
    loop {
        let found = number(slot);
        if found == 0 {
            return NONE;
        }
        if found & !MASK == part {
            let rank = (found & MASK) - 1;
            if token(rank) == &padded[start..end] {
                return rank;
            }
        }
        slot = (slot + 1) % SLOTS;
    }
}

/// The bits of a rank in a slot.
const MASK: u32 = (1 << RANK_BITS) - 1;

/// Returns a number of the table.
#[inline]
fn number(at: usize) -> u32 {
    TABLE[4 * at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Returns the bytes of a token.
#[inline]
fn token(rank: u32) -> &'static [u8] {
    let at = SLOTS + rank as usize;
    &TABLE[number(at) as usize..number(at + 1) as usize]
}
