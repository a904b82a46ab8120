//! Finds a few dozen words, in upper or lower case, in one pass. That is faster than a search for each word or for
//! all.
//!
//! A text is read in pairs of bytes. For each pair, a table says which sets contain a word that may begin with it,
//! and which contain one that may continue with it. If both are true of two consecutive pairs, the words of these
//! sets are compared.

use std::ops::Range;

/// Number of possible pairs of bytes.
const PAIRS: usize = 1 << 16;

/// Number of sets: half of a table entry has one bit for each.
const SETS: usize = 32;

/// Number of bytes processed together.
const BLOCK: usize = 8;

/// The letters of a pair; `None` stands for any byte.
type Letters = [Option<u8>; 2];

/// Words of at least three letters, and the tables to find them.
pub(super) struct Finder {
    words: Vec<&'static [u8]>,
    /// For each pair, one bit in the lower half for each set that it may begin, and one in the upper half for each
    /// set that it may continue.
    pairs: Box<[u64; PAIRS]>,
    sets: [Vec<Beginning>; SETS],
}

/// A word begins in one of two ways: with the first byte of a pair, or with the second.
struct Beginning {
    /// The word's index in the list.
    word: usize,
    /// The two pairs that indicate it.
    pairs: [Letters; 2],
    /// How many bytes the word begins before the second pair.
    back: usize,
}

impl Finder {
    /// Builds a finder. Returns `None` if a word has fewer than three letters, or if too many have fewer than
    /// five.
    pub(super) fn new(words: Vec<&'static [u8]>) -> Option<Self> {
        let beginnings: Option<Vec<_>> = words.iter().enumerate().map(|(at, word)| beginnings(at, word)).collect();
        let is_vague = |beginning: &Beginning| beginning.pairs.as_flattened().contains(&None);
        let (vague, exact): (Vec<_>, Vec<_>) = beginnings?.into_iter().flatten().partition(is_vague);
        let mut sets: [Vec<_>; SETS] = Default::default();
        // Beginnings that match many pairs get sets of their own.
        let (own, shared) = sets.split_at_mut_checked(vague.len()).filter(|(_, shared)| !shared.is_empty())?;
        own.iter_mut().zip(vague).for_each(|(set, beginning)| set.push(beginning));
        let count = shared.len();
        exact.into_iter().enumerate().for_each(|(number, beginning)| shared[number % count].push(beginning));
        let mut pairs: Box<[u64; PAIRS]> = vec![0; PAIRS].into_boxed_slice().try_into().ok()?;
        for (number, set) in sets.iter().enumerate() {
            for [start, rest] in set.iter().map(|beginning| beginning.pairs) {
                mark(&mut pairs, start, 1 << number);
                mark(&mut pairs, rest, 1 << (SETS + number));
            }
        }
        Some(Self { words, pairs, sets })
    }

    /// Returns whether a text contains a word for which `found` returns true, given the word's index in the list
    /// and its byte range. Every occurrence is checked, even if they overlap.
    pub(super) fn any(&self, text: &[u8], found: impl Fn(usize, Range<usize>) -> bool) -> bool {
        let (blocks, rest) = text.as_chunks::<BLOCK>();
        let mut begun = 0;
        for (number, block) in blocks.iter().enumerate() {
            let (pairs, before) = (block.as_chunks::<2>().0, begun);
            let mut both = 0;
            for pair in pairs {
                let marks = self.pairs[index(*pair)];
                both |= begun & (marks >> SETS);
                begun = marks;
            }
            if both != 0 && self.any_in(text, number * BLOCK, pairs, before, &found) {
                return true;
            }
        }
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        self.any_in(text, blocks.len() * BLOCK, last.as_chunks::<2>().0, begun, &found)
    }

    /// Does the same for words whose second pair is one of these, the first of which is at `at`. `begun` contains
    /// the marks of the pair before them.
    #[cold]
    fn any_in(
        &self,
        text: &[u8],
        at: usize,
        pairs: &[[u8; 2]],
        mut begun: u64,
        found: impl Fn(usize, Range<usize>) -> bool,
    ) -> bool {
        pairs.iter().zip((at..).step_by(2)).any(|(pair, at)| {
            let marks = self.pairs[index(*pair)];
            let mut both = std::mem::replace(&mut begun, marks) & (marks >> SETS);
            while both != 0 {
                let set = &self.sets[both.trailing_zeros() as usize];
                if set
                    .iter()
                    .any(|beginning| self.stands(text, at, beginning).is_some_and(|place| found(beginning.word, place)))
                {
                    return true;
                }
                both &= both - 1;
            }
            false
        })
    }

    /// Returns the range of the word of a beginning, if the word is there; its second pair is at `at`.
    fn stands(&self, text: &[u8], at: usize, beginning: &Beginning) -> Option<Range<usize>> {
        let (start, word) = (at.checked_sub(beginning.back)?, self.words[beginning.word]);
        let place = start..start + word.len();
        let there = text.get(place.clone())?;
        // The letters of the pairs match, or nearly match, so the last letter is the best one to compare first.
        let ends = there.last().zip(word.last()).is_some_and(|(last, of_word)| last.eq_ignore_ascii_case(of_word));
        (ends && there.eq_ignore_ascii_case(word)).then_some(place)
    }
}

/// Returns the two ways in which a word can begin.
fn beginnings(at: usize, word: &[u8]) -> Option<[Beginning; 2]> {
    let &[first, second, third, ..] = word else { return None };
    let even = [[Some(first), Some(second)], [Some(third), word.get(3).copied()]];
    let (odd, back) = match *word {
        [_, _, _, fourth, fifth, ..] => ([[Some(second), Some(third)], [Some(fourth), Some(fifth)]], 3),
        _ => ([[None, Some(first)], [Some(second), Some(third)]], 1),
    };
    Some([Beginning { word: at, pairs: even, back: 2 }, Beginning { word: at, pairs: odd, back }])
}

/// Marks the pairs of these letters, in upper and lower case.
fn mark(pairs: &mut [u64; PAIRS], letters: Letters, mark: u64) {
    let [first, second] = letters.map(|letter| {
        let is = move |byte: &u8| letter.is_none_or(|letter| letter.eq_ignore_ascii_case(byte));
        (0..=u8::MAX).filter(is)
    });
    for first in first {
        second.clone().for_each(|second| pairs[index([first, second])] |= mark);
    }
}

fn index(pair: [u8; 2]) -> usize {
    usize::from(u16::from_le_bytes(pair))
}
