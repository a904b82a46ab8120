//! The usual values in a document: headings, code and words with a hyphen are found by comparison with them.

use std::collections::{BTreeMap, HashSet};

use super::word::Word;

/// The usual values in a document.
#[derive(Debug, Default)]
pub(super) struct Usual {
    /// Size of most of its text.
    pub(super) body: f32,
    /// Whether most of its text is bold, and whether it is of a typewriter.
    pub(super) bold: bool,
    pub(super) mono: bool,
    /// Words with a hyphen inside a line.
    hyphenated: HashSet<String>,
}

impl Usual {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "sizes are small"
    )]
    pub(super) fn of<'w>(words: impl Iterator<Item = &'w Word>) -> Self {
        let mut sizes = BTreeMap::<u32, usize>::new();
        let (mut all, mut bold, mut mono) = (0, 0, 0);
        let mut hyphenated = HashSet::new();
        for word in words {
            let chars = word.chars();
            *sizes.entry((word.size * 4.0).round() as u32).or_default() += chars;
            all += chars;
            bold += if word.look.bold { chars } else { 0 };
            mono += if word.look.mono { chars } else { 0 };
            let bare = bare(&word.text);
            if bare.len() < 64 && bare.char_indices().any(|(at, c)| c == '-' && at > 0 && at + 1 < bare.len()) {
                hyphenated.insert(bare.to_lowercase());
            }
        }
        // Sizes that differ by rounding are one.
        let weight = |size: u32| -> usize { (size - 1..=size + 1).filter_map(|size| sizes.get(&size)).sum() };
        let body = sizes.keys().filter(|size| **size > 0).max_by(|a, b| weight(**a).cmp(&weight(**b)).then(b.cmp(a)));
        let body = body.map_or(10.0, |size| *size as f32 / 4.0);
        Self { body, bold: bold * 2 > all, mono: mono * 8 > all * 7, hyphenated }
    }

    /// Returns whether the hyphen at the end of a line belongs to the word.
    pub(super) fn keeps_hyphen(&self, before: &str, after: &str) -> bool {
        let before = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        let word = format!("{}{}", before, after.split(char::is_whitespace).next().unwrap_or_default());
        self.hyphenated.contains(&bare(&word).to_lowercase())
    }
}

/// Returns a word without punctuation at its ends.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}
