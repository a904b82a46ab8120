//! Words: which words of a text can be found, and which words of a question are searched for.
//!
//! A text is split into Unicode words, in compatibility form and lower case, and also at ASCII punctuation.
//! Characters that Unicode calls default ignorable (soft hyphens, joiners, marks of direction) are not there for the
//! reader, so they are not there for a search. Some words are also found in other ways:
//!
//! | written | found as |
//! | --- | --- |
//! | `getUserById2` | `getuserbyid2`, `get`, `user`, `by`, `id`, `2` |
//! | `e-mail`, `Node.js`, `snake_case` | their parts, and as a whole: `email`, `nodejs`, `snakecase` |
//! | `C++`, `C#`, `.NET` | `c++`, `c#`, `.net`, and `c`, `net` |
//! | `Straße`, `résumé`, `Łódź` | as written, and in plain letters: `strasse`, `resume`, `lodz` |
//! | `🎉`, `🇩🇪` | emoji and flags are words, without the colour of a skin |
//!
//! Text written without spaces (Chinese, Japanese, Korean) is indexed by single characters and by pairs; a question
//! searches for pairs. In a document whose language is known, words are reduced to their Snowball stems, without
//! accents.
//!
//! A question is stemmed in every language of the corpus, so any word of a document is found by the same word in a
//! question. A word of a question counts once: of its forms, the one with the highest score. As a form with accents
//! is rarer than the one in plain letters, the spelling of the question comes first. Stop words (`what`, `the`) are
//! removed from a question, unless it has no others.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::props::{
    DefaultIgnorableCodePoint, ExtendedPictographic, GeneralCategory, RegionalIndicator, Script,
};
use icu_properties::{CodePointMapData, CodePointSetData};
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
    fold: Option<TextAnalyzer>,
}

/// The forms of a word of a question, in order. Each form is searched for, but only one counts.
pub(super) type Forms = BTreeSet<String>;

impl Analyser {
    /// Returns the words of a document in this language, each in all its forms.
    pub(super) fn words(&mut self, text: &str, language: Option<Language>) -> Vec<String> {
        let words = lower(&split(text, true), language);
        let mut reduced = self.reduced(&words, language);
        let others = self.others(&words, &reduced, language);
        reduced.extend(others.into_iter().map(|(_, form)| form));
        reduced
    }

    /// Returns the words of a question, each once, for a corpus in these languages, the most frequent first.
    pub(super) fn question(&mut self, text: &str, languages: &[Option<Language>]) -> BTreeSet<Forms> {
        let words = split(text, false);
        let known: Vec<Language> = languages.iter().copied().flatten().collect();
        // A short question rarely shows which of several languages it is in.
        let spoken = match known[..] {
            [] | [_] => None,
            _ => Language::of_question(text, &known),
        };
        let words = match spoken.or(known.first().copied()) {
            Some(language) => without_function_words(words, language),
            None => words,
        };
        let mut forms = vec![Forms::new(); words.len()];
        for &language in languages {
            let words = lower(&words, language);
            let reduced = self.reduced(&words, language);
            for (at, form) in self.others(&words, &reduced, language) {
                forms[at].insert(form);
            }
            for (forms, form) in forms.iter_mut().zip(reduced) {
                forms.insert(form);
            }
        }
        forms.into_iter().collect()
    }

    /// Reduces words to a form in which words with the same meaning are mostly equal.
    fn reduced(&mut self, words: &[String], language: Option<Language>) -> Vec<String> {
        let Some(language) = language else { return words.to_vec() };
        let reduce = self.reduce.entry(language).or_insert_with(|| {
            let words = TextAnalyzer::builder(WhitespaceTokenizer::default());
            words.filter(Stemmer::new(language.stemming())).filter(AsciiFoldingFilter).build()
        });
        collect(&mut reduce.token_stream(&words.join(" ")))
    }

    /// Returns the other forms of the words with accents, each with the number of its word: as it is written, and the
    /// stem of the word in plain letters, because a stemmer may read an accent as part of an ending.
    fn others(&mut self, words: &[String], reduced: &[String], language: Option<Language>) -> Vec<(usize, String)> {
        let spaced = |word: &str| !word.is_ascii() && !word.starts_with(is_unspaced);
        let at: Vec<usize> = (0..words.len()).filter(|&at| spaced(&words[at])).collect();
        let plain: Vec<String> = at.iter().map(|&at| without_marks(&words[at])).collect();
        let fold = self.fold.get_or_insert_with(|| {
            TextAnalyzer::builder(WhitespaceTokenizer::default()).filter(AsciiFoldingFilter).build()
        });
        let plain = collect(&mut fold.token_stream(&plain.join(" ")));
        let (at, plain): (Vec<usize>, Vec<String>) =
            at.into_iter().zip(plain).filter(|(at, plain)| *plain != words[*at]).unzip();
        let stems = self.reduced(&plain, language);
        let forms = at.into_iter().zip(stems).flat_map(|(at, stem)| [(at, stem), (at, words[at].clone())]);
        forms.filter(|(at, form)| *form != reduced[*at]).collect()
    }
}

/// Finds the words of a question in texts, as a keyword search would. The language is that of the question, or English
/// if the question does not show it.
pub struct Marker {
    analyser: RefCell<Analyser>,
    language: Option<Language>,
    wanted: HashSet<String>,
}

impl Marker {
    /// Analyses a question.
    pub fn new(question: &str) -> Self {
        let known: Vec<Language> = Language::all().collect();
        let language = Language::of_question(question, &known).or_else(|| Language::named("en"));
        let mut analyser = Analyser::default();
        let wanted = analyser.question(question, &[language]).into_iter().flatten().collect();
        Self { analyser: RefCell::new(analyser), language, wanted }
    }

    /// Returns the ranges of the question's words in a text, in order.
    pub fn marks(&self, text: &str) -> Vec<Range<usize>> {
        let mut analyser = self.analyser.borrow_mut();
        let mut is_found =
            |word: &str| analyser.words(word, self.language).iter().any(|form| self.wanted.contains(form));
        let words = text.unicode_word_indices().filter(|(_, word)| is_found(word));
        words.map(|(start, word)| start..start + word.len()).collect()
    }

    /// Returns the question's words that a text has, in lower case.
    pub fn words(&self, text: &str) -> BTreeSet<String> {
        self.marks(text).into_iter().map(|mark| text[mark].to_lowercase()).collect()
    }
}

/// Removes the stop words of a language from a question, unless it has no other words.
fn without_function_words(words: Vec<String>, language: Language) -> Vec<String> {
    let filter = if language.code() == "en" {
        Some(StopWordFilter::remove(ENGLISH.iter().map(|&word| word.to_owned())))
    } else {
        StopWordFilter::new(language.stemming())
    };
    let Some(filter) = filter else { return words };
    let lowered = lower(&words, Some(language));
    let mut rest = TextAnalyzer::builder(WhitespaceTokenizer::default()).filter(filter).build();
    let rest: HashSet<String> = collect(&mut rest.token_stream(&lowered.join(" "))).into_iter().collect();
    if rest.is_empty() {
        return words;
    }
    words.into_iter().zip(lowered).filter(|(_, word)| rest.contains(word)).map(|(word, _)| word).collect()
}

/// Writes words in lower case. Turkish has an `I` of its own without a dot; that with a dot is an `i` everywhere.
fn lower(words: &[String], language: Option<Language>) -> Vec<String> {
    let turkish = language.is_some_and(|language| language.code() == "tr");
    let lower = |word: &String| {
        let word = if turkish { word.replace('I', "ı") } else { word.clone() };
        word.replace('İ', "i").to_lowercase()
    };
    words.iter().map(lower).collect()
}

/// Removes the accents of Latin and Greek letters, and those of Cyrillic that are often left out. In other scripts, a
/// mark is a letter.
fn without_marks(word: &str) -> String {
    let (scripts, categories) = (CodePointMapData::<Script>::new(), CodePointMapData::<GeneralCategory>::new());
    let mut base = '\0';
    let mut plain = String::with_capacity(word.len());
    for c in DecomposingNormalizerBorrowed::new_nfd().normalize(word).chars() {
        if matches!(categories.get(c), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark) {
            let goes = match scripts.get(base) {
                Script::Latin | Script::Greek => true,
                Script::Cyrillic => matches!((base, c), (_, '\u{300}' | '\u{301}') | ('е', '\u{308}')),
                _ => base.is_ascii(),
            };
            if goes {
                continue;
            }
        } else {
            base = c;
        }
        plain.push(if c == 'ς' { 'σ' } else { c });
    }
    ComposingNormalizerBorrowed::new_nfc().normalize(&plain).into_owned()
}

fn collect(stream: &mut dyn TokenStream) -> Vec<String> {
    let mut words = Vec::new();
    while let Some(token) = stream.next() {
        words.push(token.text.clone());
    }
    words
}

/// Returns the words of a text in the case in which they are written. Runs written without spaces become characters
/// and pairs; without `characters`, only pairs, if there are any.
fn split(text: &str, characters: bool) -> Vec<String> {
    let mut words = Vec::new();
    if text.is_ascii() {
        spaced(text, &mut words);
        return words;
    }
    let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let text: String = text.chars().filter(|&c| !ignorable.contains(c)).collect();
    let text = ComposingNormalizerBorrowed::new_nfkc().normalize(&text);
    let mut rest = &*text;
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

/// Adds the words of a text in which spaces separate words.
fn spaced(text: &str, words: &mut Vec<String>) {
    let (pictures, flags) =
        (CodePointSetData::new::<ExtendedPictographic>(), CodePointSetData::new::<RegionalIndicator>());
    let mut compound = Compound::default();
    for (at, segment) in text.split_word_bound_indices() {
        let is_joint = |c: char| matches!(c, '-' | '‐');
        if !segment.contains(char::is_alphanumeric) {
            if !segment.starts_with(is_joint) || text[..at].ends_with(is_joint) {
                compound.end(words);
            }
            match segment.chars().next() {
                Some(c) if flags.contains(c) => words.push(segment.to_owned()),
                Some(c) if !c.is_ascii() && pictures.contains(c) => words.push(c.to_string()),
                _ => {}
            }
            continue;
        }
        let (before, behind) = (&text[..at], &text[at + segment.len()..]);
        if !before.ends_with(is_joint) {
            compound.end(words);
        }
        let between = |c: char| c == '\u{2019}' || (c.is_ascii() && !c.is_ascii_alphanumeric());
        let mut parts = segment.split_inclusive(between).peekable();
        while let Some(part) = parts.next() {
            let joint = part.chars().next_back().filter(|&c| between(c));
            let part = part.trim_end_matches(between);
            compound.add(part, words);
            if parts.peek().is_some() && !matches!(joint, Some('_' | '.')) {
                compound.end(words);
            }
            if parts.peek().is_none() {
                words.extend(signed(before, part, behind));
            }
        }
    }
    compound.end(words);
}

/// The parts of a word that is written in several: `e-mail`, `snake_case`, `Node.js`.
#[derive(Default)]
struct Compound {
    parts: usize,
    whole: String,
}

impl Compound {
    /// Adds a part to the compound, and to the words.
    fn add(&mut self, part: &str, words: &mut Vec<String>) {
        if part.is_empty() || part.len() > LONGEST_WORD {
            return;
        }
        self.parts += 1;
        if self.whole.len() <= LONGEST_WORD {
            self.whole.push_str(part);
        }
        words.push(part.to_owned());
        if is_camel(part) {
            words.extend(humps(part).into_iter().map(str::to_owned));
        }
    }

    /// Ends the compound, and adds it to the words as a whole. Numbers have no name in common: `2024-01-15`.
    fn end(&mut self, words: &mut Vec<String>) {
        let Self { parts, whole } = std::mem::take(self);
        if parts > 1 && whole.len() <= LONGEST_WORD && whole.contains(char::is_alphabetic) {
            words.push(whole);
        }
    }
}

/// Returns a word with the signs that belong to its name: `C++`, `C#`, `.NET`.
fn signed(before: &str, word: &str, behind: &str) -> Option<String> {
    if !word.starts_with(char::is_alphabetic) || word.len() > LONGEST_WORD {
        return None;
    }
    let next = |rest: &str| rest.chars().next();
    if let Some(rest) = behind.strip_prefix("++")
        && next(rest) != Some('+')
    {
        return Some(format!("{word}++"));
    }
    if let Some(rest) = behind.strip_prefix(['#', '♯'])
        && next(rest).is_none_or(|c| c != '#' && !c.is_alphanumeric())
    {
        return Some(format!("{word}#"));
    }
    let opens = |c: char| c.is_whitespace() || (c.is_ascii_punctuation() && !matches!(c, '.' | ')' | ']' | '}'));
    before.strip_suffix('.').filter(|before| before.chars().next_back().is_none_or(opens)).map(|_| format!(".{word}"))
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

/// Returns the words of a path without its last extension. A number in a name is a word of its own.
///
/// `docs/getUserName-v2.md` becomes `docs getUserName v2 v 2`.
pub(super) fn of_path(path: &str) -> String {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
    let path = format!("{folders}/{stem}");
    let mut words = Vec::new();
    for word in path.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        words.push(word);
        let parts = humps(word);
        if parts.len() > 1 && !is_camel(word) {
            words.extend(parts);
        }
    }
    words.join(" ")
}

/// Returns whether a word is a name that is written `likeThis` or `LIKEThis`, and not encoded data.
fn is_camel(word: &str) -> bool {
    let capital = |(before, here): (char, char)| here.is_uppercase() && !before.is_uppercase();
    let has_hump = || {
        humps(word).windows(2).any(|around| {
            let ends = around[0].chars().next_back().zip(around[1].chars().next());
            ends.is_some_and(|(before, here)| capital((before, here)) || (before.is_uppercase() && here.is_uppercase()))
        })
    };
    let letters = || word.chars().any(char::is_lowercase) && word.chars().any(char::is_uppercase);
    letters() && has_hump() && word.chars().count() >= 2 * humps(word).len()
}

/// Returns the parts of a name that is written `likeThis`, `LIKEThis` or `like2this`. The plural `URLs` is one part.
fn humps(word: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let mut starts = vec![0];
    for at in 1..letters.len() {
        let (before, here) = (letters[at - 1].1, letters[at].1);
        let next = letters.get(at + 1).map(|(_, c)| *c);
        let is_plural = next == Some('s') && letters.get(at + 2).is_none_or(|(_, c)| !c.is_lowercase());
        let hump = here.is_uppercase()
            && (before.is_lowercase() || (before.is_uppercase() && next.is_some_and(char::is_lowercase) && !is_plural));
        if hump || before.is_numeric() != here.is_numeric() {
            starts.push(letters[at].0);
        }
    }
    starts.push(word.len());
    starts.windows(2).map(|around| &word[around[0]..around[1]]).collect()
}
