//! Writes the table of tokens that `ranks` reads. It is a module of the build script, not of the library: what it takes
//! from the tokenizer at build time need not be computed in each run.

use super::layout;

/// Returns the table of the tokens of `cl100k_base`, in the layout of [`layout`].
pub(crate) fn cl100k() -> Vec<u8> {
    let tokenizer = toktok::Tokenizer::builtin("cl100k_base").expect("an embedded vocabulary");
    let vocabulary = tokenizer.vocab();
    let tokens: Vec<&[u8]> =
        vocabulary.tstart.windows(2).map(|at| &vocabulary.all[at[0] as usize..at[1] as usize]).collect();
    assert!(tokens.len() < 1 << layout::RANK_BITS);
    let mut slots = vec![0_u32; layout::SLOTS];
    for (rank, token) in (1..).zip(&tokens) {
        // A special token has no bytes of its own: nothing is ever split into it.
        if token.is_empty() {
            continue;
        }
        let padded = [token, &[0; layout::PADDING][..]].concat();
        let (mut slot, part) = layout::place(layout::hash(&padded, 0, token.len()));
        while slots[slot] != 0 {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = part | rank;
    }
    let first = 4 * (slots.len() + tokens.len() + 1);
    let starts = tokens.iter().scan(first, |at, token| Some(std::mem::replace(at, *at + token.len())));
    let end = first + tokens.iter().map(|token| token.len()).sum::<usize>();
    let numbers = starts.chain([end]).map(|at| u32::try_from(at).expect("a few megabytes"));
    let mut table: Vec<u8> = slots.into_iter().chain(numbers).flat_map(u32::to_le_bytes).collect();
    table.extend(tokens.concat());
    table
}
