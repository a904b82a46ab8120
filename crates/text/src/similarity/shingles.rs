//! The runs of words of a text.

use std::ops::Range;

use icu_normalizer::ComposingNormalizerBorrowed;
use twox_hash::XxHash32;

/// Number of words in a shingle.
pub const SHINGLE_WORDS: usize = 5;

/// The shingles of a text: hashes of all runs of five words, each once.
///
/// A word is a run of letters and digits in compatibility form and lower case, or a single character of a script that is
/// written without spaces. The hash is XXH32 with seed 0 of the words with a space between them, in UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shingles(Vec<u32>);

impl Shingles {
    /// Returns the shingles of a text; none if it has fewer than five words.
    pub fn of(text: &str) -> Self {
        let (words, places) = words(text);
        let run = |run: &[Range<usize>]| XxHash32::oneshot(0, &words.as_bytes()[run[0].start..run[run.len() - 1].end]);
        let mut hashes: Vec<u32> = places.windows(SHINGLE_WORDS).map(run).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }

    /// Returns the hashes, ascending.
    pub fn hashes(&self) -> &[u32] {
        &self.0
    }

    /// Returns how many shingles there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how many shingles two texts share.
    pub fn shared(&self, other: &Self) -> usize {
        let (mut own, mut other_ones) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut shared = 0;
        while let (Some(hash), Some(other)) = (own.peek(), other_ones.peek()) {
            let order = hash.cmp(other);
            shared += usize::from(order.is_eq());
            if order.is_le() {
                own.next();
            }
            if order.is_ge() {
                other_ones.next();
            }
        }
        shared
    }

    /// Returns the share of all shingles of two texts that both have, the Jaccard similarity; 0 if there are none.
    pub fn jaccard(&self, other: &Self) -> f64 {
        let shared = self.shared(other);
        ratio(shared, self.len() + other.len() - shared)
    }

    /// Returns the share of the shingles that another text has too; 0 if there are none.
    pub fn contained_in(&self, other: &Self) -> f64 {
        ratio(self.shared(other), self.len())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a text has far fewer than 2^52 words")]
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Returns the words of a text with a space between them, and where each is.
fn words(text: &str) -> (String, Vec<Range<usize>>) {
    let nfkc = ComposingNormalizerBorrowed::new_nfkc();
    let text = if text.is_ascii() { text.into() } else { nfkc.normalize(text) };
    let mut words = String::with_capacity(text.len());
    let mut places = Vec::with_capacity(text.len() / 6);
    let mut start = 0;
    let mut end = |words: &mut String, start: &mut usize| {
        if words.len() > *start {
            places.push(*start..words.len());
            words.push(' ');
            *start = words.len();
        }
    };
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            words.push(c.to_ascii_lowercase());
        } else if !c.is_alphanumeric() {
            end(&mut words, &mut start);
        } else if is_unspaced(c) {
            end(&mut words, &mut start);
            words.push(c);
            end(&mut words, &mut start);
        } else {
            words.extend(c.to_lowercase());
        }
    }
    end(&mut words, &mut start);
    (words, places)
}

/// Returns whether a letter is of a script that is written without spaces: Thai, Lao, Burmese, Khmer, Chinese, Japanese.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_and_digits_in_lower_case() {
        let of = |text: &str| {
            let (words, places) = words(text);
            places.into_iter().map(|place| words[place].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of("Don't PANIC, a-b_2!"), ["don", "t", "panic", "a", "b", "2"]);
        assert_eq!(of("Cafe\u{301} CAFÉ ﬁn ２"), ["café", "café", "fin", "2"]);
        assert_eq!(of("你好world ไทย"), ["你", "好", "world", "ไ", "ท", "ย"]);
        assert_eq!(of(" ,. "), Vec::<String>::new());
    }

    #[test]
    fn shares_are_of_runs_of_five_words() {
        let [a, b] = ["one two three four five six", "Two three, four five six seven!"].map(Shingles::of);
        assert_eq!((a.len(), b.len(), a.shared(&b)), (2, 2, 1));
        assert_eq!((a.jaccard(&b), a.contained_in(&b)), (1.0 / 3.0, 0.5));
        let long = Shingles::of("zero one two three four five six seven");
        assert_eq!((a.contained_in(&long), long.contained_in(&a)), (1.0, 0.5));
        let none = Shingles::of("one two three four");
        assert!(none.is_empty() && none.jaccard(&none) == 0.0 && none.contained_in(&a) == 0.0);
        assert_eq!(Shingles::of("a b c d e a b c d e").len(), 5);
    }
}
