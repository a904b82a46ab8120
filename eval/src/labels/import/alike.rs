//! Which questions ask the same? Those that differ in case, white space or punctuation at most, and those with the same
//! words apart from stop words, in any form: `restore a file` and `How do I restore files?`.
//!
//! Words that stop words hide can turn a question around. Two questions therefore stay apart if they ask for different
//! things (`when`, `where`), or if only one of them says `not`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use chunkmill::search::Marker;

/// Words that say what is asked for.
const ASKS: [&str; 9] = ["who", "whom", "whose", "what", "when", "where", "which", "why", "how"];

/// Words that turn a question around.
const DENIES: [&str; 8] = ["not", "no", "never", "without", "cannot", "nor", "none", "nothing"];

/// Number of characters that the forms of a word have in common.
const STEM: usize = 3;

/// A question in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AskedBefore {
    pub(super) text: String,
    pub(super) count: u64,
    /// The number of its file.
    pub(super) file: usize,
}

/// All wordings of a question.
struct Wordings {
    /// How often each was asked, in order of appearance.
    texts: Vec<(String, u64)>,
    count: u64,
    file: usize,
}

impl Wordings {
    /// Returns the most frequent wording, the first of equally frequent ones.
    fn best(&self) -> &str {
        let most = self.texts.iter().map(|(_, count)| *count).max();
        self.texts.iter().find(|(_, count)| Some(*count) == most).map_or("", |(text, _)| text)
    }

    fn add(&mut self, other: Self) {
        for (text, count) in other.texts {
            match self.texts.iter_mut().find(|(known, _)| *known == text) {
                Some((_, known)) => *known = known.saturating_add(count),
                None => self.texts.push((text, count)),
            }
        }
        self.count = self.count.saturating_add(other.count);
    }
}

/// Merges questions that ask the same. Returns them with the most frequent first, the number of repeats, and those that
/// were merged although their words differ, each with the wording that stays.
pub(super) fn distinct(asked: Vec<AskedBefore>) -> (Vec<AskedBefore>, usize, Vec<(String, String)>) {
    let mut exact: Vec<Wordings> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let all = asked.len();
    for AskedBefore { text, count, file } in asked {
        let next = Wordings { texts: vec![(text.clone(), count)], count, file };
        let at = *known.entry(letters(&text)).or_insert(exact.len());
        if at == exact.len() { exact.push(next) } else { exact[at].add(next) }
    }
    let repeats = all - exact.len();
    // The most frequent question of those that ask the same keeps its place.
    exact.sort_by_key(|one| Reverse(one.count));
    let mut kept: Vec<(Wordings, Said)> = Vec::new();
    let mut places: BTreeMap<BTreeSet<String>, Vec<usize>> = BTreeMap::new();
    let mut alike: Vec<(String, usize)> = Vec::new();
    for next in exact {
        let said = Said::of(next.best());
        let near = places.entry(said.stems.clone()).or_default();
        if let Some(&at) = near.iter().find(|&&at| said.is_like(&kept[at].1)) {
            alike.push((next.best().to_owned(), at));
            kept[at].0.count = kept[at].0.count.saturating_add(next.count);
        } else {
            near.push(kept.len());
            kept.push((next, said));
        }
    }
    let alike = alike.into_iter().map(|(text, at)| (text, kept[at].0.best().to_owned())).collect();
    kept.sort_by_key(|(one, _)| Reverse(one.count));
    let question =
        |(one, _): (Wordings, Said)| AskedBefore { text: one.best().to_owned(), count: one.count, file: one.file };
    (kept.into_iter().map(question).collect(), repeats, alike)
}

/// Returns the words of a text without case and punctuation.
fn letters(text: &str) -> String {
    let plain: String = text.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    // Signs alone may be what is asked about, as in `C++` and `C#`.
    let signs: String = text.chars().filter(|c| matches!(c, '+' | '#' | '$' | '%' | '/' | '\\')).collect();
    format!("{} {signs}", words.join(" "))
}

/// The words of a question, by what they do.
struct Said {
    text: String,
    marker: Marker,
    /// The beginnings of the words that a search would look for.
    stems: BTreeSet<String>,
    /// Number of these words.
    words: usize,
    asks: BTreeSet<String>,
    denies: bool,
    /// Numbers and signs, which have no other forms.
    exact: BTreeSet<String>,
}

impl Said {
    fn of(text: &str) -> Self {
        let marker = Marker::new(text);
        let found = marker.words(text);
        let all = text.to_lowercase().replace("n't", " not");
        let words: BTreeSet<&str> = all.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        Self {
            stems: found.iter().map(|word| word.chars().take(STEM).collect()).collect(),
            words: found.len(),
            asks: words.iter().filter(|word| ASKS.contains(word)).map(|word| (*word).to_owned()).collect(),
            denies: words.iter().any(|word| DENIES.contains(word)),
            exact: text
                .split_whitespace()
                .filter(|word| word.chars().any(|c| !c.is_alphabetic() && !",.?!;:'’\"()-".contains(c)))
                .map(|word| word.trim_matches([',', '.', '?', '!', ';', ':']).to_lowercase())
                .collect(),
            text: text.to_owned(),
            marker,
        }
    }

    /// Returns whether another question asks the same. Both have the same beginnings of words.
    fn is_like(&self, other: &Self) -> bool {
        let found = |one: &Self, in_other: &Self| one.marker.words(&in_other.text).len() == in_other.words;
        let asks = self.asks == other.asks || self.asks.is_empty() || other.asks.is_empty();
        let says = self.words > 0 && self.denies == other.denies && self.exact == other.exact;
        asks && says && found(self, other) && found(other, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(one: &str, other: &str) -> bool {
        let asked = [one, other].map(|text| AskedBefore { text: text.to_owned(), count: 1, file: 0 });
        distinct(asked.to_vec()).0.len() == 1
    }

    #[test]
    fn questions_that_ask_the_same_become_one() {
        for (one, other) in [
            ("How do I restore a file?", "how do i restore a file"),
            ("How do I restore a file?", "restore file"),
            ("how to restore files", "How do I restore a file?"),
            ("restoring a vault", "restore vaults"),
            ("What is a plan?", "plan"),
            ("  too   much space ", "too much space!"),
        ] {
            assert!(alike(one, other) && alike(other, one), "{one} / {other}");
        }
    }

    #[test]
    fn questions_that_ask_something_else_stay() {
        for (one, other) in [
            ("When are backups kept?", "Where are backups kept?"),
            ("why can I delete a vault", "why can I not delete a vault"),
            ("why does it stop", "why doesn't it stop"),
            ("restore from Windows", "restore from Linux"),
            ("error 3011", "error 3012"),
            ("use C++", "use C#"),
            ("what is it", "why is it"),
            ("Wo ist der Schlüssel", "Wo ist die Tür"),
        ] {
            assert!(!alike(one, other) && !alike(other, one), "{one} / {other}");
        }
    }

    #[test]
    fn the_most_frequent_wording_stays_and_comes_first() {
        let asked = [("a rare thing", 2), ("restore file", 1), ("How do I restore a file?", 4), ("Restore file", 1)];
        let asked = asked.map(|(text, count)| AskedBefore { text: text.to_owned(), count, file: 0 });
        let (kept, repeats, alike) = distinct(asked.to_vec());
        let kept: Vec<(&str, u64)> = kept.iter().map(|one| (one.text.as_str(), one.count)).collect();
        assert_eq!(kept, [("How do I restore a file?", 6), ("a rare thing", 2)]);
        assert_eq!(repeats, 1);
        assert_eq!(alike, [("restore file".to_owned(), "How do I restore a file?".to_owned())]);
    }
}
