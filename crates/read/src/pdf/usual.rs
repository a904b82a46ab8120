//! The usual values in a document: headings, code and words that were cut are found by comparison with them.

use std::collections::{BTreeMap, HashSet};

use super::word::Word;

/// Compounds at the ends of lines that show that the others are compounds, too.
const LEAST: usize = 2;

/// The usual values in a document.
#[derive(Debug, Default)]
pub(super) struct Usual {
    /// Size of most of its text.
    pub(super) body: f32,
    /// Whether most of its text is bold, and whether it is of a typewriter.
    pub(super) bold: bool,
    pub(super) mono: bool,
    /// Words inside a line, in lower case; those with a hyphen are compounds.
    words: HashSet<String>,
    /// Whether more of the hyphens at ends of lines are part of a compound than cut a word.
    compounds: bool,
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
        let (mut inside, mut cut): (HashSet<String>, Vec<(&str, &str)>) = Default::default();
        let mut open: Option<&Word> = None;
        for word in words {
            let chars = word.chars();
            *sizes.entry((word.size * 4.0).round() as u32).or_default() += chars;
            all += chars;
            bold += if word.look.bold { chars } else { 0 };
            mono += if word.look.mono { chars } else { 0 };
            if let Some(before) = open.take().filter(|before| word.y > before.y)
                && word.text.starts_with(char::is_lowercase)
            {
                cut.push((&before.text, &word.text));
            }
            if word.text.ends_with(['-', '‐']) {
                open = Some(word);
            } else if let bare = bare(&word.text).to_lowercase()
                && (2..64).contains(&bare.len())
            {
                inside.insert(bare);
            }
        }
        let known = |between| cut.iter().filter(|cut| inside.contains(&whole(cut.0, between, cut.1))).count();
        let compounds = known("-") >= LEAST && known("-") > known("");
        // Sizes that differ by rounding are one.
        let weight = |size: u32| -> usize { (size - 1..=size + 1).filter_map(|size| sizes.get(&size)).sum() };
        let body = sizes.keys().filter(|size| **size > 0).max_by(|a, b| weight(**a).cmp(&weight(**b)).then(b.cmp(a)));
        let body = body.map_or(10.0, |size| *size as f32 / 4.0);
        Self { body, bold: bold * 2 > all, mono: mono * 8 > all * 7, words: inside, compounds }
    }

    /// Returns whether the hyphen at the end of a line belongs to the word: the document has the word with a hyphen elsewhere,
    /// or it does not have it without, and what it cuts elsewhere are compounds. `before` ends with the hyphen.
    pub(super) fn keeps_hyphen(&self, before: &str, after: &str) -> bool {
        let before = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        let has = |between| self.words.contains(&whole(before, between, after));
        has("-") || self.compounds && !has("")
    }
}

/// Returns a word that was cut, in lower case, with this between its parts: a hyphen or nothing.
fn whole(before: &str, between: &str, after: &str) -> String {
    format!("{}{between}{after}", bare(before)).trim_end_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// Returns a word without punctuation at its ends.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}
