//! Long runs of one punctuation mark, such as lines drawn with `-` and `=`. toktok's encoder tries about twenty
//! tokens at every byte of these runs, because the longest token that fits is not the one it needs: a megabyte of
//! `/` takes a quarter of a second, fifty times as long as a megabyte of a letter.
//!
//! Long runs are therefore shortened before encoding, and the omitted part is put back as tokens. This is exact: a
//! sequence of tokens is the byte pair encoding of its bytes if and only if the same is true of every two
//! consecutive tokens. Between two equal consecutive tokens, any number of copies can therefore be inserted.

use std::ops::Range;

/// Minimum number of bytes to keep of a run.
const KEPT: usize = 1024;

/// Computes the lengths of the tokens of a text; `encode` appends those of a text to a list.
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

/// A part of a run that is omitted.
struct RunCut {
    left_out: Range<usize>,
    /// The rest of the run, in the shortened text.
    kept: Range<usize>,
    /// Length of the token that repeats in it.
    token: u32,
}

/// Returns the parts to omit from a text: from each long run, as many tokens as possible while at least [`KEPT`]
/// bytes remain.
fn cuts(text: &[u8], encode: &mut impl FnMut(&[u8], &mut Vec<u32>), scratch: &mut Vec<u32>) -> Vec<RunCut> {
    let mut cuts: Vec<RunCut> = Vec::new();
    let mut left_out = 0;
    let mut at = 0;
    // Only one byte in `KEPT` is checked; a long run contains at least two of these.
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
            // The tokens at the ends of a run may be different.
            let token = scratch[scratch.len() / 2];
            let tokens = (end - start - KEPT) / token as usize;
            let cut = start + KEPT / 2..start + KEPT / 2 + tokens * token as usize;
            let kept = start - left_out..end - left_out - cut.len();
            left_out += cut.len();
            cuts.push(RunCut { left_out: cut, kept, token });
        }
        at = end;
    }
    cuts
}

/// Computes the token lengths of the whole text from those of the shortened one. Returns `None` if a run does not
/// contain two equal consecutive tokens.
fn put_back(cuts: &[RunCut], short: &[u32], lengths: &mut Vec<u32>) -> Option<()> {
    let mut cuts = cuts.iter().peekable();
    let (mut start, mut last) = (0, 0);
    for &length in short {
        let end = start + length as usize;
        let repeats = |cut: &&RunCut| {
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

/// Returns whether a byte is a mark used for drawing lines. Other bytes have no long tokens.
fn is_mark(byte: u8) -> bool {
    byte.is_ascii_punctuation()
}
