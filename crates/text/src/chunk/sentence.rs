//! Where sentences start: by Unicode's rules (UAX #29), but with the knowledge of words that these rules leave out.
//!
//! By the rules alone, every full stop before a capital ends a sentence: `Dr. Ames`, `the U.S. Army`, `29. Juli`. A
//! list of abbreviations says which full stops do not. No list can be complete, and some abbreviations can be the
//! last word of a sentence, so three kinds are told apart, and the word after the stop decides for most of them: a
//! short list of words that open sentences (articles, pronouns, conjunctions) is the same for all. Initials and
//! ordinal numbers need no list. All languages share the lists: a paragraph can quote another language, and the
//! result does not depend on a guess.
//!
//! The other differences are due to markup and code. A mark of ASCII ends a sentence only before white space, unless
//! the script has no spaces: not in `vec![1]`, `.NET` or `?a=B`. Marks of emphasis and references to footnotes after
//! the stop belong to the sentence. A line feed is a space. If in doubt, a sentence goes on: a long sentence reads
//! better than half of one, and what is too long is cut elsewhere.
//!
//! Only places with a mark are examined, so the time is that of a search, and linear.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Quotes, brackets and emphasis that close a sentence after its stop.
const CLOSING: &str = ")]}\"'”’“‘»«›‹*_~`）］｝」』】〉》〕〗〟＂";

/// Longest text in bytes that is read before a stop as an abbreviation, or after it as its closing marks.
const LONGEST: usize = 32;

/// The marks outside ASCII that can end a sentence (`ATerm` and `STerm` of Unicode 16's property `Sentence_Break`), and
/// the separators of lines and paragraphs: first and last of each run.
#[rustfmt::skip]
const STOPS: [(char, char); 87] = [
    ('\u{85}', '\u{85}'), ('\u{589}', '\u{589}'), ('\u{61d}', '\u{61f}'), ('\u{6d4}', '\u{6d4}'),
    ('\u{700}', '\u{702}'), ('\u{7f9}', '\u{7f9}'), ('\u{837}', '\u{837}'), ('\u{839}', '\u{839}'),
    ('\u{83d}', '\u{83e}'), ('\u{964}', '\u{965}'), ('\u{104a}', '\u{104b}'), ('\u{1362}', '\u{1362}'),
    ('\u{1367}', '\u{1368}'), ('\u{166e}', '\u{166e}'), ('\u{1735}', '\u{1736}'), ('\u{17d4}', '\u{17d5}'),
    ('\u{1803}', '\u{1803}'), ('\u{1809}', '\u{1809}'), ('\u{1944}', '\u{1945}'), ('\u{1aa8}', '\u{1aab}'),
    ('\u{1b4e}', '\u{1b4f}'), ('\u{1b5a}', '\u{1b5b}'), ('\u{1b5e}', '\u{1b5f}'), ('\u{1b7d}', '\u{1b7f}'),
    ('\u{1c3b}', '\u{1c3c}'), ('\u{1c7e}', '\u{1c7f}'), ('\u{2024}', '\u{2024}'), ('\u{2028}', '\u{2029}'),
    ('\u{203c}', '\u{203d}'), ('\u{2047}', '\u{2049}'), ('\u{2cf9}', '\u{2cfb}'), ('\u{2e2e}', '\u{2e2e}'),
    ('\u{2e3c}', '\u{2e3c}'), ('\u{2e53}', '\u{2e54}'), ('\u{3002}', '\u{3002}'), ('\u{a4ff}', '\u{a4ff}'),
    ('\u{a60e}', '\u{a60f}'), ('\u{a6f3}', '\u{a6f3}'), ('\u{a6f7}', '\u{a6f7}'), ('\u{a876}', '\u{a877}'),
    ('\u{a8ce}', '\u{a8cf}'), ('\u{a92f}', '\u{a92f}'), ('\u{a9c8}', '\u{a9c9}'), ('\u{aa5d}', '\u{aa5f}'),
    ('\u{aaf0}', '\u{aaf1}'), ('\u{abeb}', '\u{abeb}'), ('\u{fe12}', '\u{fe12}'), ('\u{fe15}', '\u{fe16}'),
    ('\u{fe52}', '\u{fe52}'), ('\u{fe56}', '\u{fe57}'), ('\u{ff01}', '\u{ff01}'), ('\u{ff0e}', '\u{ff0e}'),
    ('\u{ff1f}', '\u{ff1f}'), ('\u{ff61}', '\u{ff61}'), ('\u{10a56}', '\u{10a57}'), ('\u{10f55}', '\u{10f59}'),
    ('\u{10f86}', '\u{10f89}'), ('\u{11047}', '\u{11048}'), ('\u{110be}', '\u{110c1}'), ('\u{11141}', '\u{11143}'),
    ('\u{111c5}', '\u{111c6}'), ('\u{111cd}', '\u{111cd}'), ('\u{111de}', '\u{111df}'), ('\u{11238}', '\u{11239}'),
    ('\u{1123b}', '\u{1123c}'), ('\u{112a9}', '\u{112a9}'), ('\u{113d4}', '\u{113d5}'), ('\u{1144b}', '\u{1144c}'),
    ('\u{115c2}', '\u{115c3}'), ('\u{115c9}', '\u{115d7}'), ('\u{11641}', '\u{11642}'), ('\u{1173c}', '\u{1173e}'),
    ('\u{11944}', '\u{11944}'), ('\u{11946}', '\u{11946}'), ('\u{11a42}', '\u{11a43}'), ('\u{11a9b}', '\u{11a9c}'),
    ('\u{11c41}', '\u{11c42}'), ('\u{11ef7}', '\u{11ef8}'), ('\u{11f43}', '\u{11f44}'), ('\u{16a6e}', '\u{16a6f}'),
    ('\u{16af5}', '\u{16af5}'), ('\u{16b37}', '\u{16b38}'), ('\u{16b44}', '\u{16b44}'), ('\u{16d6e}', '\u{16d6f}'),
    ('\u{16e98}', '\u{16e98}'), ('\u{1bc9f}', '\u{1bc9f}'), ('\u{1da88}', '\u{1da88}'),
];

/// The bytes that these marks and `.`, `!` and `?` start with.
static FIRST_BYTES: LazyLock<[bool; 256]> = LazyLock::new(|| {
    let mut first = [false; 256];
    for c in STOPS.iter().flat_map(|&(first, last)| first..=last).chain(['.', '!', '?']) {
        first[usize::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
    }
    first
});

/// The text after an abbreviation and its full stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// The rest of the sentence.
    Within,
    /// The next sentence, if it starts with a word that opens sentences.
    Maybe,
    /// The same, but a name can begin with some of these words, as in `J. Le Carré`.
    Initial,
    /// The rest of the sentence before a number; otherwise it is a word like others.
    Number,
}

/// The lists: abbreviations without their last full stop, and words that open sentences.
struct Lists {
    abbreviations: HashMap<&'static str, After>,
    /// With whether names can begin with the word.
    openers: HashMap<&'static str, bool>,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    let mut lists = Lists { abbreviations: HashMap::new(), openers: HashMap::new() };
    for line in include_str!("sentence.txt").lines().filter(|line| !line.starts_with('#')) {
        let Some((head, words)) = line.split_once(':') else { continue };
        let after = match head.split(' ').next() {
            Some("within") => After::Within,
            Some("maybe") => After::Maybe,
            Some("number") => After::Number,
            kind => {
                let in_names = kind == Some("opens-text");
                lists.openers.extend(words.split_whitespace().map(|word| (word, in_names)));
                continue;
            }
        };
        lists.abbreviations.extend(words.split_whitespace().map(|word| (word, after)));
    }
    lists
});

/// Returns where the sentences of a text start, in ascending order, except the first.
pub fn sentence_starts(text: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(ahead) = text.as_bytes()[at..].iter().position(|&byte| FIRST_BYTES[usize::from(byte)]) {
        let stop = at + ahead;
        let marks = text[stop..].find(|c| !is_stop(c)).unwrap_or(text.len() - stop);
        if marks == 0 {
            at = text.ceil_char_boundary(stop + 1);
            continue;
        }
        at = stop + marks;
        if let Some(next) = next_sentence(text, start, stop, at) {
            // What closes a sentence can contain a stop: `…in section 9.[^9.1.] Next`.
            (start, at) = (next, next);
            starts.push(start);
        }
    }
    starts
}

/// Returns where the next sentence starts, if the one from `start` ends with the marks at `stop..after`.
fn next_sentence(text: &str, start: usize, stop: usize, after: usize) -> Option<usize> {
    let closed = after + closing(&text[after..]);
    let next = closed + text[closed..].find(|c: char| !c.is_whitespace())?;
    let mark = text[..after].chars().next_back()?;
    if matches!(mark, '\u{85}' | '\u{2028}' | '\u{2029}') {
        return Some(next);
    }
    let first = text[next..].chars().next()?;
    if continues(first) || is_stop(first) {
        return None;
    }
    let is_dot = matches!(mark, '.' | '․' | '﹒' | '．');
    if next == closed && is_dot && first.is_numeric() {
        return None;
    }
    if next == closed && mark.is_ascii() {
        // `3.5`, `a.B`, `x?y=1`; but also `什么?我`.
        let before = text[..stop].chars().next_back();
        return (is_uncased(first) && (!is_dot || before.is_some_and(is_uncased))).then_some(next);
    }
    let follows = |c: char| c.is_alphabetic() || (!is_dot && c.is_numeric());
    let ahead = text[next..].chars().find(|&c| follows(c) || is_stop(c));
    if ahead.is_some_and(char::is_lowercase) && (is_dot || (mark.is_ascii() && closed > after)) {
        return None;
    }
    if !is_dot {
        return Some(next);
    }
    let is_omission = || text[..stop].ends_with(|c: char| c.is_whitespace() || matches!(c, '[' | '('));
    let goes_on = match &text[stop..after] {
        "." => goes_on(text, start, stop, next),
        dots => dots.len() > 1 && is_omission(),
    };
    (!goes_on).then_some(next)
}

/// Returns whether the full stop at `stop` belongs to an abbreviation, an initial or an ordinal number that the
/// sentence from `start` does not end with. The text goes on at `next`.
fn goes_on(text: &str, start: usize, stop: usize, next: usize) -> bool {
    let emphasis = ['*', '_', '~'];
    let text_before = text[..stop].trim_end_matches(emphasis);
    let window = &text_before[text_before.ceil_char_boundary(text_before.len().saturating_sub(LONGEST))..];
    let word_at = window.char_indices().rev().take_while(|&(_, c)| is_word(c)).last().map(|(at, _)| at);
    let Some(at) = word_at.filter(|&at| at > 0 || window.len() == text_before.len()) else { return false };
    let word = &window[at..];
    let before = window[..at].chars().next_back();
    // `1. Open it. 2. Close it.`
    let above = &text[start..text_before.len() - word.len()];
    if is_enumerator(word) && above.len() <= LONGEST && !above.contains(is_word) {
        return true;
    }
    let Some(known) = abbreviation(word, before) else { return false };
    let following = text[next..].trim_start_matches(|c: char| !c.is_alphanumeric());
    match known {
        After::Within => true,
        After::Maybe => opener(following).is_none(),
        After::Initial => opener(following) != Some(false),
        After::Number => is_number(following),
    }
}

/// Returns what is known about a word before a full stop, and after another character.
fn abbreviation(word: &str, before: Option<char>) -> Option<After> {
    let listed = &LISTS.abbreviations;
    let follows = |marks: &str| before.is_none_or(|c| c.is_whitespace() || marks.contains(c));
    if !follows("([{\"“”„‘‚«»*_~-‐–—/'’") {
        return None;
    }
    if let Some(&after) = listed.get(word) {
        return Some(after);
    }
    let mut chars = word.chars();
    let rest_is_small = chars.next().is_some() && chars.all(|c| !c.is_uppercase());
    if (rest_is_small || word.contains('.'))
        && let Some(&after) = listed.get(word.to_lowercase().as_str())
    {
        return Some(after);
    }
    let is_cased = |c: char| c.is_lowercase() || c.is_uppercase();
    let short = |part: &str, most: usize| part.chars().all(is_cased) && (1..=most).contains(&part.chars().count());
    if short(word, 1) {
        // `J.-P. Sartre`, but not `I can't.`
        return follows("([{\"“”„‘‚«»*_~-‐").then_some(After::Initial);
    }
    let is_ordinal = word.len() <= 2 && word.bytes().all(|b| b.is_ascii_digit()) && follows("([{\"“”„‘‚«»*_~");
    let is_dotted = word.contains('.') && word.split('.').all(|part| short(part, 2));
    (is_ordinal || is_dotted).then_some(After::Maybe)
}

/// Returns whether the first word of a text can be part of a name, if it is one that opens sentences. Any word of a
/// script without capitals is.
fn opener(text: &str) -> Option<bool> {
    let first = text.chars().next()?;
    if is_uncased(first) {
        return Some(false);
    }
    let len = text.char_indices().take(LONGEST).find(|&(_, c)| !c.is_alphanumeric()).map_or(text.len(), |(at, _)| at);
    let (word, after) = text.split_at(len.min(text.floor_char_boundary(4 * LONGEST)));
    // `L'armée`, but `D'Angelo`; `It's`. `A.` is an initial.
    let elided = after.starts_with(['\'', '’']);
    if elided && matches!(word, "L" | "C" | "N" | "S" | "J" | "Qu") {
        return Some(false);
    }
    let is_capitals = word.chars().nth(1).is_some_and(char::is_uppercase);
    if is_capitals || after.starts_with('.') {
        return None;
    }
    LISTS.openers.get(word.to_lowercase().as_str()).copied()
}

/// Returns whether a text starts with a number, in digits or Roman.
fn is_number(text: &str) -> bool {
    let roman = text.bytes().take_while(|b| b"IVXLC".contains(b)).count();
    text.starts_with(char::is_numeric) || (roman > 1 && !text[roman..].starts_with(char::is_alphanumeric))
}

/// Returns whether a word only counts: `3`, `3.1`, `b`, `iv`.
fn is_enumerator(word: &str) -> bool {
    word.chars().count() == 1
        || (word.len() <= 6 && word.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
        || (word.len() <= 4 && word.bytes().all(|b| b"ivxIVX".contains(&b)))
}

/// Returns the length of what closes a sentence after its stop: quotes, brackets, emphasis, references to footnotes
/// and closing tags.
fn closing(text: &str) -> usize {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = match c {
            c if CLOSING.contains(c) => c.len_utf8(),
            '[' if rest[1..].starts_with(|c: char| c == '^' || c.is_ascii_digit()) => enclosed(rest, ']'),
            '<' if rest.starts_with("</") => enclosed(rest, '>'),
            _ => 0,
        };
        if len == 0 {
            break;
        }
        rest = &rest[len..];
    }
    text.len() - rest.len()
}

/// Returns the length of a short text without spaces up to a closing mark; 0 if it is none.
fn enclosed(text: &str, close: char) -> usize {
    let near = text.char_indices().take(LONGEST).take_while(|(_, c)| !c.is_whitespace());
    near.into_iter().find(|&(_, c)| c == close).map_or(0, |(at, _)| at + close.len_utf8())
}

/// Returns whether a sentence goes on with a character after its stop (`SContinue` of UAX #29).
fn continues(c: char) -> bool {
    ",-:;–—՝،؍߸᠂᠈、，－：；､︐︑︓︔︱︲﹐﹑﹔﹕﹘﹣\u{37e}".contains(c)
}

/// Returns whether a character can end a sentence.
fn is_stop(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, '.' | '!' | '?');
    }
    STOPS
        .binary_search_by(|&(first, last)| {
            if last < c {
                Less
            } else if first > c {
                Greater
            } else {
                Equal
            }
        })
        .is_ok()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '.'
}

/// Returns whether a character is a letter of a script without capitals.
fn is_uncased(c: char) -> bool {
    c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase()
}
