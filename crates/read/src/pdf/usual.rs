//! The usual values in a document: headings, code and words that were cut are found by comparison with them.

use std::collections::{BTreeMap, HashSet};

use super::font::Look;
use super::word::Word;

/// Compounds at the ends of lines that show that the others are compounds, too.
const LEAST: usize = 2;

/// Lines with a word that goes on in the next, for each that has a hyphen at its end. Where words are cut, every tenth to
/// thirtieth is.
const CUTS: usize = 30;

/// Where less than every so many characters are not code, code is the text.
const PROSE: usize = 5;

pub(super) const HYPHENS: [char; 2] = ['-', '‐'];

/// The usual values in a document.
#[derive(Debug, Default)]
pub(super) struct Usual {
    /// Size of most of its text, without code.
    pub(super) body: f32,
    /// How most of its text looks. Where some of it is in proportional letters, those of a typewriter are code.
    pub(super) look: Look,
    /// Words inside a line, in lower case; those with a hyphen are compounds.
    words: HashSet<String>,
    /// Whether more of the hyphens at ends of lines are part of a compound than cut a word.
    compounds: bool,
    /// Whether words are cut at all. Where they are, many are.
    cuts: bool,
}

impl Usual {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "sizes are small"
    )]
    pub(super) fn of<'w>(words: impl Iterator<Item = &'w Word>) -> Self {
        // Characters of each size, in quarters of a point; those of a typewriter apart.
        let mut sizes: [BTreeMap<u32, usize>; 2] = Default::default();
        let (mut all, mut bold, mut italic, mut mono) = (0, 0, 0, 0);
        let (mut inside, mut cut): (HashSet<String>, Vec<(&str, &str)>) = Default::default();
        // How many lines go on in the next.
        let mut goes_on = 0;
        let mut before: Option<&Word> = None;
        for word in words {
            let chars = word.chars();
            // Numbers of lines may be most that is not code.
            if word.text.contains(char::is_alphabetic) {
                *sizes[usize::from(word.look.mono)].entry((word.size * 4.0).round() as u32).or_default() += chars;
            }
            all += chars;
            bold += if word.look.bold { chars } else { 0 };
            italic += if word.look.italic { chars } else { 0 };
            mono += if word.look.mono { chars } else { 0 };
            let before = before.replace(word).filter(|before| word.y > before.y);
            if let Some(before) = before.filter(|_| word.text.starts_with(char::is_lowercase)) {
                goes_on += 1;
                if before.text.ends_with(HYPHENS) && !before.look.mono {
                    cut.push((&before.text, &word.text));
                    continue;
                }
            }
            if !word.text.ends_with(HYPHENS)
                && let bare = bare(&word.text).to_lowercase()
                && (2..64).contains(&bare.len())
            {
                inside.insert(bare);
            }
        }
        let known = |between| cut.iter().filter(|cut| inside.contains(&whole(cut.0, between, cut.1))).count();
        let (compounds, joined) = (known("-"), known(""));
        let compounds = compounds >= LEAST && compounds > joined;
        let cuts = joined > 0 || cut.len() * CUTS > goes_on;
        let look = Look { bold: bold * 2 > all, italic: italic * 2 > all, mono: mono * 8 > all * 7 };
        let [mut sizes, code] = sizes;
        if sizes.values().sum::<usize>() * PROSE < code.values().sum() {
            for (size, chars) in code {
                *sizes.entry(size).or_default() += chars;
            }
        }
        // Sizes that differ by rounding are one.
        let weight = |size: u32| -> usize { (size - 1..=size + 1).filter_map(|size| sizes.get(&size)).sum() };
        let body = sizes.keys().filter(|size| **size > 0).max_by(|a, b| weight(**a).cmp(&weight(**b)).then(b.cmp(a)));
        let body = body.map_or(10.0, |size| *size as f32 / 4.0);
        Self { body, look, words: inside, compounds, cuts }
    }

    /// Returns whether text that looks so is code.
    pub(super) fn is_code(&self, look: Look) -> bool {
        look.mono && !self.look.mono
    }

    /// Returns whether the hyphen at the end of a line belongs to the word. It does if the document has the word with a hyphen
    /// elsewhere. It does not if the document has it without. Otherwise it does if what the document cuts elsewhere are
    /// compounds, or if it cuts nothing elsewhere and has a part of the word. `before` ends with the hyphen.
    pub(super) fn keeps_hyphen(&self, before: &str, after: &str) -> bool {
        let before = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        let has = |between| self.words.contains(&whole(before, between, after));
        let is_word = |part: &str| part.len() > 2 && self.words.contains(&bare(part).to_lowercase());
        let cut = before.trim_end_matches(HYPHENS).rsplit(HYPHENS).next().unwrap_or_default();
        // Nobody cuts behind capital letters.
        let capitals = cut.len() > 1 && cut.bytes().all(|byte| byte.is_ascii_uppercase());
        has("-") || capitals || !has("") && (self.compounds || !self.cuts && (is_word(cut) || is_word(after)))
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
