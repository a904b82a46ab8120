//! Long runs of one mark, such as the lines that people draw with `-` and `=`. The encoder of toktok tries some twenty
//! tokens at every byte of such a run, because the longest that fits is not the one that is taken: a megabyte of `/`
//! takes it a quarter of a second, fifty times as long as a megabyte of a letter.
//!
//! So a run is shortened before it is encoded, and what was left out is put back as tokens. That is exact: a row of tokens
//! is what byte pair encoding makes of their bytes if and only if that holds for each two that follow each other. Where two
//! equal tokens follow each other, any number of the same may stand between them.

use std::ops::Range;

/// Bytes that a run keeps at least. Longer ones are shortened.
const KEPT: usize = 1024;

/// Lengths of the tokens of a text; `encode` adds those of a text to a list.
pub(super) fn token_lengths(text: &[u8], mut encode: impl FnMut(&[u8], &mut Vec<u32>), lengths: &mut Vec<u32>) {
    lengths.clear();
    let cuts = cuts(text, &mut encode, lengths);
    lengths.clear();
    if cuts.is_empty() {
        encode(text, lengths);
        return;
    }
    let mut short = Vec::with_capacity(text.len() - cuts.iter().map(|cut| cut.left_out.len()).sum::<usize>());
    let mut from = 0;
    for cut in &cuts {
        short.extend_from_slice(&text[from..cut.left_out.start]);
        from = cut.left_out.end;
    }
    short.extend_from_slice(&text[from..]);
    let mut of_short = Vec::new();
    encode(&short, &mut of_short);
    if put_back(&cuts, &of_short, lengths).is_none() {
        lengths.clear();
        encode(text, lengths);
    }
}

/// A part of a run that is left out.
struct Cut {
    left_out: Range<usize>,
    /// What stays of the run, in the shortened text.
    kept: Range<usize>,
    /// Length of a token that repeats itself in it.
    token: u32,
}

/// What is left out of a text: of each long run as many of its tokens as leave a little more than is kept.
fn cuts(text: &[u8], encode: &mut impl FnMut(&[u8], &mut Vec<u32>), scratch: &mut Vec<u32>) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = Vec::new();
    let mut left_out = 0;
    let mut at = 0;
    // Of a long run one byte in so many is looked at, and the next one is in it too.
    while let Some(&byte) = text.get(at + KEPT) {
        at += KEPT;
        if !is_mark(byte) || text[at - KEPT] != byte {
            continue;
        }
        let start = at - text[..at].iter().rev().take_while(|&&other| other == byte).count();
        let end = at + text[at..].iter().take_while(|&&other| other == byte).count();
        if end - start >= 2 * KEPT {
            scratch.clear();
            encode(&text[start..start + KEPT], scratch);
            // The ends of a run may be cut otherwise.
            let token = scratch[scratch.len() / 2];
            let tokens = (end - start - KEPT) / token as usize;
            let cut = start + KEPT / 2..start + KEPT / 2 + tokens * token as usize;
            let kept = start - left_out..end - left_out - cut.len();
            left_out += cut.len();
            cuts.push(Cut { left_out: cut, kept, token });
        }
        at = end;
    }
    cuts
}

/// The tokens of the whole text from those of the shortened one; nothing if a run has no two equal ones.
fn put_back(cuts: &[Cut], short: &[u32], lengths: &mut Vec<u32>) -> Option<()> {
    let mut cuts = cuts.iter().peekable();
    let (mut start, mut last) = (0, 0);
    for &length in short {
        let end = start + length as usize;
        let repeats = |cut: &&Cut| {
            length == cut.token && last == length && start >= cut.kept.start + length as usize && end <= cut.kept.end
        };
        if let Some(cut) = cuts.next_if(repeats) {
            lengths.extend(std::iter::repeat_n(length, cut.left_out.len() / length as usize));
        }
        if cuts.peek().is_some_and(|cut| end > cut.kept.end) {
            return None;
        }
        lengths.push(length);
        (start, last) = (end, length);
    }
    cuts.next().is_none().then_some(())
}

/// Marks that are drawn with. Others have no long tokens.
fn is_mark(byte: u8) -> bool {
    byte.is_ascii_punctuation()
}
