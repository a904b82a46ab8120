//! Words: which words of a text can be found, and which words of a question are searched for.
//!
//! A text is split into Unicode words, in compatibility form and lower case, and also at ASCII punctuation. Text
//! written without spaces (Chinese, Japanese, Korean) is indexed by single characters and by pairs; a question
//! searches for pairs. In a document whose language is known, words are reduced to their Snowball stems, without
//! accents.
//!
//! A question is stemmed in every language of the corpus, so any word of a document is found by the same word in a
//! question. Stop words (`what`, `the`) are removed from a question, unless it has no others.

use std::collections::{BTreeSet, HashMap};

use icu_normalizer::ComposingNormalizerBorrowed;
use tantivy::tokenizer::{AsciiFoldingFilter, Stemmer, StopWordFilter, TextAnalyzer, TokenStream, WhitespaceTokenizer};
use unicode_segmentation::UnicodeSegmentation;

use super::language::Language;

/// Largest number of bytes in a word. Longer words are encoded data and are not searched for.
const LONGEST_WORD: usize = 128;

/// English stop words, which say how a question is asked, not what it is about: articles, pronouns, prepositions,
/// auxiliary verbs. The library has Lucene's 33 for English, and lists like this one for other languages.
#[rustfmt::skip]
const ENGLISH: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by", "can", "could", "did",
    "do", "does", "doing", "for", "from", "had", "has", "have", "having", "he", "her", "hers", "him", "his", "how", "i",
    "if", "in", "into", "is", "it", "its", "me", "my", "no", "nor", "not", "of", "on", "or", "our", "ours", "shall", "she",
    "should", "so", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to",
    "too", "us", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your", "yours",
    // Parts of words that were split at apostrophes.
    "d", "ll", "m", "re", "s", "t", "ve", "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "haven", "isn",
    "shouldn", "wasn", "weren", "wouldn",
];

/// An analyser that splits texts into words and stems them.
#[derive(Default)]
pub(super) struct Analyser {
    reduce: HashMap<Language, TextAnalyzer>,
}

impl Analyser {
    /// Returns the words of a document in this language.
    pub(super) fn words(&mut self, text: &str, language: Option<Language>) -> Vec<String> {
        let words = words(text, true);
        match language {
            Some(language) => self.reduced(&words, language),
            None => words,
        }
    }

    /// Returns the words of a question, each once, for a corpus in these languages, the most frequent first.
    pub(super) fn question(&mut self, text: &str, languages: &[Option<Language>]) -> BTreeSet<String> {
        let words = words(text, false);
        let known: Vec<Language> = languages.iter().copied().flatten().collect();
        // A short question rarely shows which of several languages it is in.
        let spoken = match known[..] {
            [] | [_] => None,
            _ => Language::of_question(text, &known),
        };
        let spoken = spoken.or(known.first().copied());
        let telling = spoken.map(|language| without_function_words(&words, language)).filter(|words| !words.is_empty());
        let words = telling.unwrap_or(words);
        languages
            .iter()
            .flat_map(|language| language.map_or_else(|| words.clone(), |l| self.reduced(&words, l)))
            .collect()
    }

    /// Reduces words to a form in which words with the same meaning are mostly equal.
    fn reduced(&mut self, words: &[String], language: Language) -> Vec<String> {
        let reduce = self.reduce.entry(language).or_insert_with(|| {
            let words = TextAnalyzer::builder(WhitespaceTokenizer::default());
            words.filter(Stemmer::new(language.stemming())).filter(AsciiFoldingFilter).build()
        });
        collect(&mut reduce.token_stream(&words.join(" ")))
    }
}

/// Returns the words that are not stop words of a language.
fn without_function_words(words: &[String], language: Language) -> Vec<String> {
    let filter = if language.code() == "en" {
        Some(StopWordFilter::remove(ENGLISH.iter().map(|&word| word.to_owned())))
    } else {
        StopWordFilter::new(language.stemming())
    };
    let Some(filter) = filter else { return words.to_vec() };
    let mut rest = TextAnalyzer::builder(WhitespaceTokenizer::default()).filter(filter).build();
    collect(&mut rest.token_stream(&words.join(" ")))
}

fn collect(stream: &mut dyn TokenStream) -> Vec<String> {
    let mut words = Vec::new();
    while let Some(token) = stream.next() {
        words.push(token.text.clone());
    }
    words
}

/// Returns the words of a text. Runs written without spaces become characters and pairs; without `characters`,
/// only pairs, if there are any.
fn words(text: &str, characters: bool) -> Vec<String> {
    let text = ComposingNormalizerBorrowed::new_nfkc().normalize(text).to_lowercase();
    let mut words = Vec::new();
    if text.is_ascii() {
        spaced(&text, &mut words);
        return words;
    }
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let unspaced = is_unspaced(first);
        let end = rest.find(|c| is_unspaced(c) != unspaced).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        if unspaced {
            pairs(run, characters, &mut words);
        } else {
            spaced(run, &mut words);
        }
        rest = behind;
    }
    words
}

fn spaced(text: &str, words: &mut Vec<String>) {
    let between = |c: char| c == '\u{2019}' || (c.is_ascii() && !c.is_ascii_alphanumeric());
    let parts = text.unicode_words().flat_map(|word| word.split(between));
    words.extend(parts.filter(|word| !word.is_empty() && word.len() <= LONGEST_WORD).map(str::to_owned));
}

fn pairs(run: &str, characters: bool, words: &mut Vec<String>) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    if characters || starts.len() == 2 {
        words.extend(starts.windows(2).map(|around| run[around[0]..around[1]].to_owned()));
    }
    words.extend(starts.windows(3).map(|around| run[around[0]..around[2]].to_owned()));
}

/// Returns whether a character belongs to a script in which spaces do not separate words, or separate units larger
/// than words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' |
        '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' |
        '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// Returns the words of a path without its last extension.
///
/// `docs/getUserName-v2.md` becomes `docs getUserName get User Name v2 v 2`.
pub(super) fn of_path(path: &str) -> String {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
    let path = format!("{folders}/{stem}");
    let mut words = Vec::new();
    for word in path.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        words.push(word);
        let parts = humps(word);
        if parts.len() > 1 {
            words.extend(parts);
        }
    }
    words.join(" ")
}

/// Returns the parts of a name that is written `likeThis`, `LIKEThis` or `like2this`.
fn humps(word: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let mut starts = vec![0];
    for at in 1..letters.len() {
        let (before, here) = (letters[at - 1].1, letters[at].1);
        let next = letters.get(at + 1).map(|(_, c)| *c);
        let hump = here.is_uppercase()
            && (before.is_lowercase() || (before.is_uppercase() && next.is_some_and(char::is_lowercase)));
        if hump || before.is_numeric() != here.is_numeric() {
            starts.push(letters[at].0);
        }
    }
    starts.push(word.len());
    starts.windows(2).map(|around| &word[around[0]..around[1]]).collect()
}
